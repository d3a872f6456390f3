// SPDX-License-Identifier: MIT
// The driver on the device model: kernels run, copies land, and the model has nothing to report.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/graph.h>

#include "tests/drivers/amd/model_harness.h"

#include <fmt/format.h>

#include <cstring>

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

TEST_CASE("local memory, scratch and one-thread groups on the model", "[amd:14][amd:15]") {
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

TEST_CASE("new code at an old address runs, not what a cache kept", "[amd:12]") {
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

TEST_CASE("a wild store ends the device with kernel, address and neighbour", "[amd:23]") {
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

TEST_CASE("the copy kernel moves any number of bytes from anywhere to anywhere", "[amd:17]") {
  machine();
  ScopedKnobs knobs({{"TINY_AMD", "nosdma"}});
  {
    auto dev = open_device("AMD");
    constexpr size_t kBytes = 4200;
    std::vector<uint8_t> from(kBytes), got(kBytes);
    for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
    Buffer source = dev->alloc(kBytes), target = dev->alloc(kBytes);
    source.copy_in(from.data(), kBytes);
    std::vector<size_t> sizes{0, 4080, 4095, 4096, 4097};
    for (size_t n = 1; n < 70; ++n) sizes.push_back(n);
    size_t turn = 0;
    for (const size_t size_B : sizes) {
      const size_t src_B = turn * 5 % 19, dst_B = turn * 3 % 17;
      ++turn;
      CAPTURE(size_B, src_B, dst_B);
      target.fill(uint8_t{0xee});
      auto list = dev->make_list();
      list.copy(target.slice(dst_B, size_B), source.slice(src_B, size_B));
      dev->submit(list).wait();
      std::vector<uint8_t> want(kBytes, 0xee);
      std::copy_n(from.begin() + static_cast<long>(src_B), size_B,
                  want.begin() + static_cast<long>(dst_B));
      target.copy_out(got.data(), kBytes);
      REQUIRE(got == want);
    }
  }
  require_clean();
}

TEST_CASE("a copy larger than one packet of the engine is split", "[amd:21]") {
  machine();
  {
    auto dev = open_device("AMD");
    constexpr size_t kBytes = (4 << 20) + 1;  // gfx10: 22 bits a packet
    std::vector<uint8_t> from(kBytes), got(kBytes);
    for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<uint8_t>(i * 31 + i / 251);
    Buffer source = dev->alloc(kBytes), target = dev->alloc(kBytes);
    source.copy_in(from.data(), kBytes);
    auto list = dev->make_list();
    list.copy(target, source);
    dev->submit(list).wait();
    target.copy_out(got.data(), kBytes);
    REQUIRE(got == from);
  }
  require_clean();
}

TEST_CASE("100000 groups add to one word, in host memory too", "[amd:20]") {
  machine();
  {
    auto dev = open_device("AMD");
    for (const bool host_visible : {false, true}) {
      Buffer count = dev->alloc(64, {.tag = "count", .host_visible = host_visible});
      count.fill(int32_t{0});
      auto list = dev->make_list();
      // With rows of no elements, all groups of one column meet in the same word.
      list.dispatch(dev->load(kernel("mark_group", 1, 2, 1)),
                    {.groups = {1, 1000, 100}, .group_size = {1}}, args(count, 0, 0));
      dev->submit(list).wait();
      REQUIRE(count.read<int32_t>()[0] == 100'000);
    }
  }
  require_clean();
}

TEST_CASE("scratch grows in the middle of the stream", "[amd:15]") {
  machine();
  {
    auto dev = open_device("AMD");
    auto inc = dev->load(kernel("increment", 1, 1));
    Buffer a = ints(dev, iota(300)), sums = dev->alloc(8);
    Fence done;
    for (int i = 0; i < 6; ++i) {
      auto list = dev->make_list();
      list.dispatch(inc, args(a, 300));
      if (i == 3)
        list.dispatch(dev->load(kernel("use_scratch", 1)), {.groups = {1}, .group_size = {32}},
                      args(sums));
      done = dev->submit(list);
    }
    done.wait();
    REQUIRE(a.read<int32_t>() == iota(300, 6));
    REQUIRE(sums.read<int64_t>()[0] == 511 * 256);
  }
  require_clean();
}

namespace {

void require_fault(const std::shared_ptr<Device>& dev, const CommandList& list,
                   const std::string& first, const std::string& second) {
  REQUIRE_THROWS_WITH(dev->submit(list).wait(), Contains(first) && Contains(second));
  REQUIRE_THROWS_AS(dev->submit(list), DeviceFault);  // at once from now on
  machine().clear_reports();
}

/// `increment` whose addition is no instruction of any chip.
Binary illegal_kernel() {
  constexpr uint32_t kAdd = 0x4a000080, kMask = 0xfe0001ff, kIllegal = 0xfffffffc;
  Binary b = kernel("increment", 1, 1);
  for (size_t at = 0; at + 4 <= b.code.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, b.code.data() + at, 4);
    if ((word & kMask) == (kAdd | 1)) std::memcpy(b.code.data() + at, &kIllegal, 4);
  }
  return b;
}

}  // namespace

TEST_CASE("a wild load and an illegal instruction end the device, the next one works", "[amd:23]") {
  machine();
  {
    auto dev = open_device("AMD");
    Buffer small = dev->alloc(4096, {.tag = "the neighbour"}), out = dev->alloc(1 << 20);
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("scale", 2, 2)), args(out, small, 1, 100'000));
    require_fault(dev, list, "page fault", "scale");
  }
  {
    auto dev = open_device("AMD");
    Buffer a = ints(dev, iota(10));
    auto list = dev->make_list();
    list.dispatch(dev->load(illegal_kernel()), args(a, 10));
    require_fault(dev, list, "ILLEGAL_INSTRUCTION", "increment");
  }
  auto again = open_device("AMD");
  REQUIRE(ints(again, iota(9)).read<int32_t>() == iota(9));
}

TEST_CASE("a kernel that never ends, and a reset, end the device with its last packets",
          "[amd:24]") {
  machine();
  ScopedKnobs knobs({{"TINY_AMD", "hang=1"}});
  for (const bool reset : {false, true}) {
    auto dev = open_device("AMD");
    Buffer a = ints(dev, iota(10));
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("increment", 1, 1)), args(a, 10));
    machine().hang_next_dispatch();
    const Fence done = dev->submit(list);
    if (reset) machine().reset_gpu(0, true);
    REQUIRE_THROWS_WITH(done.wait(), Contains(reset ? "the contents of its memory are lost"
                                                    : "made no progress for 1 s") &&
                                         Contains("increment") && Contains("DISPATCH_DIRECT"));
    machine().clear_reports();
  }
  auto again = open_device("AMD");
  REQUIRE(ints(again, iota(9)).read<int32_t>() == iota(9));
}
