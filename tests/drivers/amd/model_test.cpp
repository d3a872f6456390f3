// SPDX-License-Identifier: MIT
// The driver on the device model: kernels run, copies land, and the model has nothing to report.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/graph.h>

#include "tests/drivers/amd/model_harness.h"

#include <fmt/format.h>

using namespace model_test;
using Catch::Contains;

model::Model& model_test::machine() {
  static auto* const m = new model::Model([] {
    model::Options o;
    o.target = TINY_AMD_TARGET;
    return o;
  }());
  return *m;
}

namespace {

void require_clean() {
  for (const model::Report& r : machine().reports())
    FAIL_CHECK(model::kind_name(r.kind) << ": " << r.text);
  machine().clear_reports();
}

std::vector<int32_t> scaled(std::vector<int32_t> v, int64_t factor) {
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<int32_t>(v[i] * factor + static_cast<int64_t>(i));
  return v;
}

}  // namespace

TEST_CASE("kernels, copies and graphs on the model") {
  machine();
  const bool engine = GENERATE(true, false);
  CAPTURE(engine);
  ScopedKnobs knobs({{"TINY_AMD", engine ? "" : "nosdma"}});
  {
    auto dev = open_device("AMD");
    REQUIRE((dev->description().find("by kernel") == std::string::npos) == engine);
    REQUIRE(dev->target().arch == TINY_AMD_TARGET);
    auto scale = dev->load(kernel("scale", 2, 2)), inc = dev->load(kernel("increment", 1, 1));
    Buffer in = ints(dev, iota(1000)), out = ints(dev, std::vector<int32_t>(1000));
    REQUIRE(in.read<int32_t>() == iota(1000));
    auto list = dev->make_list();
    list.dispatch(scale, args(out, in, 3, 1000));
    dev->submit(list).wait();
    REQUIRE(out.read<int32_t>() == scaled(iota(1000), 3));

    Buffer middle = dev->alloc(4000);
    auto chain = dev->make_list();
    chain.dispatch(scale, args(middle, Symbol::buffer(0), Symbol::variable(0), 1000));
    chain.dispatch(inc, args(middle, 1000));
    chain.copy(Symbol::buffer(1), middle);
    Graph graph(dev, chain);
    for (int i = 0; i < 6; ++i) {
      const Buffer bound[] = {in, out};
      const int64_t variables[] = {i};
      if (i % 2)
        graph.replay({.buffers = bound, .variables = variables});
      else
        dev->submit(chain, {.buffers = bound, .variables = variables});
      auto expected = scaled(iota(1000), i);
      for (int32_t& v : expected) ++v;
      REQUIRE(out.read<int32_t>() == expected);
    }

    Buffer big = ints(dev, iota(100003)), copy = dev->alloc(400012);
    auto copies = dev->make_list();
    copies.copy(copy, big);
    copies.copy(big.slice(1, 77), copy.slice(2002, 77));
    dev->submit(copies).wait();
    REQUIRE(copy.read<int32_t>() == iota(100003));
    std::vector<uint8_t> bytes(77), there(77);
    big.copy_out(bytes.data(), 77, 1);
    copy.copy_out(there.data(), 77, 2002);
    REQUIRE(bytes == there);
  }
  require_clean();
}

TEST_CASE("local memory, scratch and one-thread groups on the model") {
  machine();
  {
    auto dev = open_device("AMD");
    Buffer in = ints(dev, iota(512)), out = dev->alloc(2048);
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("reverse", 2)), {.groups = {2}, .group_size = {256}},
                  args(out, in));
    dev->submit(list).wait();
    std::vector<int32_t> expected(512);
    for (size_t i = 0; i < 512; ++i)
      expected[i] = static_cast<int32_t>(i / 256 * 256 + 255 - i % 256);
    REQUIRE(out.read<int32_t>() == expected);

    Buffer sums = dev->alloc(5 * 8);
    auto spilling = dev->make_list();
    spilling.dispatch(dev->load(kernel("use_scratch", 1)), {.groups = {5}, .group_size = {32}},
                      args(sums));
    dev->submit(spilling).wait();
    std::vector<int64_t> want;
    for (int64_t g = 0; g < 5; ++g) want.push_back(511 * 256 + 512 * g);
    REQUIRE(sums.read<int64_t>() == want);

    Buffer marks = dev->alloc(24 * 4);
    marks.fill(int32_t{0});
    auto marking = dev->make_list();
    marking.dispatch(dev->load(kernel("mark_group", 1, 2, 1)),
                     {.groups = {2, 3, 4}, .group_size = {1}}, args(marks, 2, 3));
    dev->submit(marking).wait();
    REQUIRE(marks.read<int32_t>() == std::vector<int32_t>(24, 1));
  }
  require_clean();
}

TEST_CASE("new code at an old address runs, not what a cache kept") {
  machine();
  {
    auto dev = open_device("AMD");
    Buffer in = ints(dev, iota(256)), out = dev->alloc(1024);
    for (int i = 0; i < 4; ++i) {
      auto list = dev->make_list();
      if (i % 2)
        list.dispatch(dev->load(kernel("reverse", 2)), {.groups = {1}, .group_size = {256}},
                      args(out, in));
      else
        list.dispatch(dev->load(kernel("scale", 2, 2)), args(out, in, 2, 256));
      dev->submit(list).wait();
      REQUIRE(out.read<int32_t>()[255] == (i % 2 ? 0 : 255 * 3));
    }
  }
  require_clean();
}

TEST_CASE("waits for the host, and profiles, on the model") {
  machine();
  {
    auto dev = open_device("AMD");
    auto inc = dev->load(kernel("increment", 1, 1));
    Buffer a = ints(dev, std::vector<int32_t>(10)), stamps = dev->alloc(64);
    auto gate = dev->make_timeline("gate"), reached = dev->make_timeline("reached");
    auto list = dev->make_list();
    list.timestamp(stamps.slice(0, 8));
    list.dispatch(inc, args(a, 10));
    list.signal(Fence(reached, 5));
    list.wait(Fence(gate, 3));
    list.dispatch(inc, args(a, 10));
    list.timestamp(stamps.slice(8, 8));
    const Fence done = dev->submit(list);
    Fence(reached, 5).wait();
    gate->signal(3);
    done.wait();
    REQUIRE(a.read<int32_t>() == std::vector<int32_t>(10, 2));
    const auto clocks = stamps.read<uint64_t>();
    REQUIRE(clocks[0] > 0);
    REQUIRE(clocks[1] >= clocks[0]);
  }
  require_clean();
}

TEST_CASE("a wild store ends the device with kernel, address and neighbour") {
  machine();
  {
    auto dev = open_device("AMD");
    Buffer a = dev->alloc(4096, {.tag = "the victim"});
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("wild_store", 1, 1, 1)), {.groups = {1}, .group_size = {1}},
                  args(a, int64_t{8192}));
    REQUIRE_THROWS_WITH(dev->submit(list).wait(),
                        Contains("page fault") && Contains("the victim") && Contains("wild_store"));
    REQUIRE_THROWS_AS(dev->submit(list), DeviceFault);
  }
  machine().clear_reports();
  auto again = open_device("AMD");
  REQUIRE(ints(again, iota(9)).read<int32_t>() == iota(9));
}
