// SPDX-License-Identifier: MIT
// The contracts of DESIGN §3, one suite for every back end: with DEV, of that device, otherwise of
// those that every machine has.
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>
#include <rt_tiny/runtime/profile.h>

#include "tests/runtime/host_api.h"
#include "tests/runtime/kernels.h"

#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <thread>

using namespace tiny;
using namespace tiny::test;

namespace {

struct Under {
  std::string spec;
  bool computes = true;      ///< NULL compiles and queues, and runs nothing
  bool shares_host = false;  ///< reaches the host's memory, and the host its memory
  bool has_clock = false;
};

const std::vector<Under>& devices() {
  static const std::vector<Under> all = [] {
    const Under cpu{.spec = "CPU", .shares_host = true, .has_clock = true};
    const std::string& spec = knobs().dev;
    if (spec.empty() || spec.starts_with("CPU") || spec.starts_with("NULL"))
      return std::vector{cpu, Under{.spec = "NULL", .computes = false}, Under{.spec = "HOSTAPI"}};
    return std::vector{Under{.spec = spec, .shares_host = true, .has_clock = true}};
  }();
  return all;
}

std::shared_ptr<Device> open(const Under& u) {
  register_host_api();
  return open_device(u.spec);
}

#define EACH_BACKEND                                                            \
  const Under under = GENERATE(from_range(devices().begin(), devices().end())); \
  CAPTURE(under.spec);                                                          \
  const std::shared_ptr<Device> dev = open(under)

Buffer ints(const std::shared_ptr<Device>& dev, const std::vector<int32_t>& values,
            const std::string& tag = "test") {
  Buffer b = dev->alloc(values.size() * 4, {.tag = tag});
  b.write(values);
  return b;
}

std::vector<int32_t> iota(int n) {
  std::vector<int32_t> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

/// What `scale` leaves in each element.
std::vector<int32_t> scaled(std::vector<int32_t> v, int64_t factor) {
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<int32_t>(v[i] * factor + static_cast<int64_t>(i));
  return v;
}

/// On NULL memory reads as zeros.
void require_ints(const Under& u, const Buffer& b, const std::vector<int32_t>& expected) {
  REQUIRE(b.read<int32_t>() == (u.computes ? expected : std::vector<int32_t>(expected.size())));
}

}  // namespace

TEST_CASE("memory reads back what was written, also through slices") {
  EACH_BACKEND;
  Buffer b = ints(dev, iota(100));
  require_ints(under, b, iota(100));
  require_ints(under, b.slice(40, 12), {10, 11, 12});
  b.slice(40, 12).fill(int32_t{-1});
  require_ints(under, b.slice(36, 20), {9, -1, -1, -1, 13});
  b.fill(int32_t{5});
  require_ints(under, b, std::vector<int32_t>(100, 5));
  REQUIRE(b.slice(40, 12).slice(4, 4) == b.slice(44, 4));
  REQUIRE(!(b.slice(0, 4) == b.slice(4, 4)));
  REQUIRE(b.slice(0, 4).allocation() == b.allocation());
  REQUIRE_THROWS_AS(b.slice(399, 2), UsageError);
  REQUIRE_THROWS_AS(b.slice(~size_t{0}, 2), UsageError);
  REQUIRE_THROWS_AS(b.copy_in(nullptr, 401), UsageError);
  REQUIRE_THROWS_AS(b.slice(0, 6).fill(int32_t{1}), UsageError);
}

TEST_CASE("an empty buffer is a buffer") {
  EACH_BACKEND;
  Buffer b = dev->alloc(0);
  REQUIRE(b);
  REQUIRE(b.size_B() == 0);
  b.fill(1.0f);
  REQUIRE(b.read<float>().empty());
  REQUIRE(b.slice(0, 0).size_B() == 0);
  auto list = dev->make_list();
  list.copy(dev->alloc(0), b);
  dev->submit(list).wait();
}

TEST_CASE("a dispatch runs every group with its arguments") {
  EACH_BACKEND;
  auto program = dev->load(scale(*dev));
  Buffer in = ints(dev, iota(1000)), out = ints(dev, std::vector<int32_t>(1000));
  auto list = dev->make_list();
  list.dispatch(program, args(out, in, 3, int64_t{1000}));
  REQUIRE(list.size() == 1);
  require_ints(under, out, std::vector<int32_t>(1000));  // nothing runs before submit
  dev->submit(list).wait();
  require_ints(under, out, scaled(iota(1000), 3));
}

TEST_CASE("raw code takes arguments laid out as a C struct") {
  EACH_BACKEND;
  auto saxpy = dev->load(kernel_object(*dev), "saxpy");
  constexpr uint32_t n = 1024;
  Buffer x = dev->alloc(n * 4), y = dev->alloc(n * 4);
  x.fill(1.0f);
  y.fill(2.0f);
  auto list = dev->make_list();
  list.dispatch(saxpy, {.groups = {n / 256}, .group_size = {256}}, args(x, y, 3.0f, n));
  dev->submit(list).wait();
  REQUIRE(y.read<float>() == std::vector<float>(n, under.computes ? 5.0f : 0.0f));
}

TEST_CASE("symbols are bound at submit, as often as one likes") {
  EACH_BACKEND;
  auto program = dev->load(scale(*dev));
  auto list = dev->make_list();
  list.dispatch(program, args(Symbol::buffer(1), Symbol::buffer(0, 8), Symbol::variable(1),
                              Symbol::variable(0)));
  for (const int64_t n : {0, 1, 255, 256, 257, 1000}) {
    Buffer in = ints(dev, iota(1002));
    Buffer out = ints(dev, std::vector<int32_t>(1000, -1));
    const Buffer buffers[] = {in, out};
    const int64_t variables[] = {n, n + 7};
    dev->submit(list, {.buffers = buffers, .variables = variables}).wait();
    std::vector<int32_t> expected(1000, -1);
    for (int64_t i = 0; i < n; ++i)
      expected[static_cast<size_t>(i)] = static_cast<int32_t>((i + 2) * (n + 7) + i);
    require_ints(under, out, expected);
  }
}

TEST_CASE("commands of a list take effect in order without explicit barriers") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  auto mul = dev->load(scale(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(500)), b = dev->alloc(2000), c = dev->alloc(2000);
  auto list = dev->make_list();
  for (int i = 0; i < 10; ++i) list.dispatch(inc, args(a, 500));  // a = 10
  list.copy(b, a);
  list.dispatch(inc, args(a, 500));  // a = 11, not seen by b
  list.dispatch(mul, args(c, b, 2, 500));
  list.copy(b, a);
  list.barrier();
  list.dispatch(inc, args(b, 500));
  dev->submit(list).wait();
  dev->submit(list).wait();
  require_ints(under, a, std::vector<int32_t>(500, 22));
  require_ints(under, b, std::vector<int32_t>(500, 23));
  require_ints(under, c, scaled(std::vector<int32_t>(500, 21), 2));
}

TEST_CASE("independent copies and dispatches of one list all happen") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(300)), b = ints(dev, iota(300)), c = dev->alloc(1200);
  auto list = dev->make_list();
  list.copy(c, b);
  list.dispatch(inc, args(a, 300));
  list.barrier();
  list.dispatch(inc, args(c, 300));
  list.dispatch(inc, args(a, 300));
  dev->submit(list).wait();
  auto only_copies = dev->make_list();
  only_copies.copy(b, c);
  dev->submit(only_copies).wait();
  auto expected = iota(300);
  for (int32_t& v : expected) ++v;
  require_ints(under, a, std::vector<int32_t>(300, 2));
  require_ints(under, b, expected);
}

TEST_CASE("submissions see each other's results, whichever queue runs them") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(4000)), b = dev->alloc(16000);
  auto compute = dev->make_list(), forth = dev->make_list(), back = dev->make_list();
  compute.dispatch(inc, args(a, 4000));
  forth.copy(b, a);
  back.copy(a, b);
  for (int i = 0; i < 20; ++i) {
    dev->submit(compute);
    dev->submit(forth);
    dev->submit(compute);  // lost: overwritten by `back`
    dev->submit(back);
  }
  require_ints(under, a, std::vector<int32_t>(4000, 20));
  dev->synchronize();
}

TEST_CASE("fences pass in order and never go back") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(10));
  auto list = dev->make_list();
  list.dispatch(inc, args(a, 10));
  REQUIRE(Fence().done());
  Fence().wait();
  Fence first = dev->submit(list), second = dev->submit(list);
  REQUIRE(first.timeline() == second.timeline());
  REQUIRE(first.value() < second.value());
  second.wait();
  REQUIRE(first.done());
  REQUIRE(second.done());
  first.wait();
  Fence empty = dev->submit(dev->make_list());
  empty.wait();
  REQUIRE(empty.done());
}

TEST_CASE("a list waits for a fence that the host passes later, and signals another") {
  EACH_BACKEND;
  if (!under.computes) return;  // NULL does not wait
  auto inc = dev->load(increment(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(10));
  auto gate = dev->make_timeline("gate"), reached = dev->make_timeline("reached");
  auto list = dev->make_list();
  list.dispatch(inc, args(a, 10));
  list.signal(Fence(reached, 5));
  list.wait(Fence(gate, 3));
  list.dispatch(inc, args(a, 10));
  const Fence done = dev->submit(list);
  Fence(reached, 5).wait();
  gate->signal(2);
  REQUIRE(!done.done());
  gate->signal(3);
  done.wait();
  require_ints(under, a, std::vector<int32_t>(10, 2));
  REQUIRE_THROWS_AS(list.signal(Fence()), UsageError);
  REQUIRE_THROWS_AS(list.signal(done), UsageError);
}

TEST_CASE("a submit waits for the fences given to it") {
  EACH_BACKEND;
  if (!under.computes) return;
  auto inc = dev->load(increment(*dev));
  Buffer a = ints(dev, std::vector<int32_t>(10));
  auto gate = dev->make_timeline();
  auto list = dev->make_list();
  list.dispatch(inc, args(a, 10));
  const Fence waits[] = {Fence(gate, 1), Fence()};
  const Fence done = dev->submit(list, {.waits = waits});
  REQUIRE(!done.done());
  gate->signal(1);
  require_ints(under, a, std::vector<int32_t>(10, 1));
}

TEST_CASE("a list keeps its buffers, and work in flight outlives every handle") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  Buffer result = ints(dev, std::vector<int32_t>(2000));
  Fence last;
  for (int i = 0; i < 50; ++i) {
    auto list = dev->make_list();
    {
      Buffer own = ints(dev, std::vector<int32_t>(2000, i));
      list.dispatch(dev->load(increment(*dev)), args(own, 2000));
      list.copy(result, own);
    }
    last = dev->submit(list);
  }  // list, program and buffer die while the work runs
  last.wait();
  require_ints(under, result, std::vector<int32_t>(2000, 50));
}

TEST_CASE("freed memory is not handed out while work uses it") {
  EACH_BACKEND;
  auto mul = dev->load(scale(*dev));
  Buffer in = ints(dev, iota(5000));
  std::vector<Buffer> kept;
  for (int i = 0; i < 40; ++i) {
    Buffer temporary = dev->alloc(20000);
    auto list = dev->make_list();
    list.dispatch(mul, args(temporary, in, i, 5000));
    Buffer out = dev->alloc(20000);
    list.copy(out, temporary);
    dev->submit(list);
    kept.push_back(out);
    temporary = {};
    Buffer next = dev->alloc(20000);  // may be the same memory: the write must come after
    next.fill(int32_t{-9});
  }
  for (int i = 0; i < 40; ++i)
    require_ints(under, kept[static_cast<size_t>(i)], scaled(iota(5000), i));
}

TEST_CASE("a device lives as long as its buffers, and closes with work in flight") {
  const Under under = GENERATE(from_range(devices().begin(), devices().end()));
  CAPTURE(under.spec);
  Buffer a;
  {
    auto dev = open(under);
    a = ints(dev, std::vector<int32_t>(100000));
    auto list = dev->make_list();
    list.dispatch(dev->load(increment(*dev)), args(a, 100000));
    for (int i = 0; i < 5; ++i) dev->submit(list);
  }
  require_ints(under, a, std::vector<int32_t>(100000, 5));
  {
    auto dev = a.device();
    auto list = dev->make_list();
    list.dispatch(dev->load(increment(*dev)), args(a, 100000));
    for (int i = 0; i < 5; ++i) dev->submit(list);
  }
  a = {};  // the last handle: closes the device
  REQUIRE(open(under)->alloc(4));
}

TEST_CASE("two threads submit to one device at once") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  Buffer shared = ints(dev, std::vector<int32_t>(100));
  auto shared_list = dev->make_list();
  shared_list.dispatch(inc, args(shared, 100));
  std::vector<Buffer> own(2);
  auto body = [&](size_t t) {
    own[t] = ints(dev, std::vector<int32_t>(3000, static_cast<int32_t>(t)));
    for (int i = 0; i < 100; ++i) {
      auto list = dev->make_list();
      list.dispatch(inc, args(own[t], 3000));
      Fence f = dev->submit(list);
      dev->submit(shared_list);
      if (i % 10 == 0) f.wait();
      dev->alloc(512);
    }
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  for (size_t t = 0; t < 2; ++t)
    require_ints(under, own[t], std::vector<int32_t>(3000, 100 + static_cast<int32_t>(t)));
  require_ints(under, shared, std::vector<int32_t>(100, 200));
}

TEST_CASE("graph replays may be queued faster than they run") {
  EACH_BACKEND;
  auto mul = dev->load(scale(*dev));
  auto inc = dev->load(increment(*dev));
  Buffer middle = dev->alloc(4000);
  auto first = dev->make_list(), second = dev->make_list();
  first.dispatch(mul, args(middle, Symbol::buffer(0), Symbol::variable(0), 1000));
  second.dispatch(inc, args(middle, 1000));
  second.copy(Symbol::buffer(1), middle);
  const CommandList lists[] = {first, second};
  Graph graph(dev, lists);
  REQUIRE(graph);
  REQUIRE(graph.size() == 3);
  Buffer in = ints(dev, iota(1000));
  std::vector<Buffer> outs;
  for (int i = 0; i < 30; ++i) {
    outs.push_back(dev->alloc(4000));
    const Buffer buffers[] = {in, outs.back()};
    const int64_t variables[] = {i};
    graph.replay({.buffers = buffers, .variables = variables});
  }
  for (int i = 0; i < 30; ++i) {
    auto expected = scaled(iota(1000), i);
    for (int32_t& v : expected) ++v;
    require_ints(under, outs[static_cast<size_t>(i)], expected);
  }
  REQUIRE_THROWS_AS(graph.replay(), UsageError);
  REQUIRE_THROWS_AS(Graph().replay(), UsageError);
}

TEST_CASE("an input of a replay may also be its output") {
  EACH_BACKEND;
  auto inc = dev->load(increment(*dev));
  auto mul = dev->load(scale(*dev));
  Buffer middle = dev->alloc(400);
  auto list = dev->make_list();
  list.dispatch(mul, args(middle, Symbol::buffer(0), 2, 100));
  list.copy(Symbol::buffer(1), middle);
  list.dispatch(inc, args(Symbol::buffer(0), 100));
  Graph graph(dev, list);
  Buffer x = ints(dev, std::vector<int32_t>(100));
  const Buffer buffers[] = {x, x};
  std::vector<int32_t> expected(100);
  for (int i = 0; i < 4; ++i) {
    graph.replay({.buffers = buffers});
    expected = scaled(expected, 2);
    for (int32_t& v : expected) ++v;
  }
  require_ints(under, x, expected);
}

TEST_CASE("random lists give what their commands give one by one") {
  EACH_BACKEND;
  if (!under.computes) return;
  constexpr size_t kBuffers = 6;
  constexpr int kInts = 700;
  auto mul = dev->load(scale(*dev));
  auto inc = dev->load(increment(*dev));
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<std::vector<int32_t>> model(kBuffers, iota(kInts));
    std::vector<Buffer> real;
    for (auto& m : model) real.push_back(ints(dev, m));
    auto list = dev->make_list();
    struct Step {
      int kind;
      size_t a, b;
      int64_t k;
      bool slice;
    };
    std::vector<Step> steps;
    for (size_t i = 0; i < 3 + pick(20); ++i)
      steps.push_back({static_cast<int>(pick(4)), pick(kBuffers), pick(kBuffers),
                       static_cast<int64_t>(pick(5)), pick(2) == 0});
    for (Step& s : steps) {
      if (s.a == s.b) s.b = (s.a + 1) % kBuffers;
      // Half of the operands are symbols, bound to the same memory in slot order.
      const bool symbol = s.k % 2 == 0;
      Arguments a;
      auto add = [&](size_t i) {
        symbol ? a.add(Symbol::buffer(static_cast<uint32_t>(i))) : a.add(real[i]);
      };
      const auto slot = static_cast<uint32_t>(s.b);
      if (s.kind == 0) {
        add(s.a), add(s.b), a.add(s.k).add(kInts);
        list.dispatch(mul, a);
      } else if (s.kind == 1) {
        add(s.a), a.add(kInts);
        list.dispatch(inc, a);
      } else if (s.slice) {
        list.copy(real[s.a].slice(0, 1000), real[s.b].slice(1800, 1000));
      } else {
        symbol ? list.copy(real[s.a], Symbol::buffer(slot)) : list.copy(real[s.a], real[s.b]);
      }
    }
    const bool graph = seed % 2 == 0;
    Graph g = graph ? Graph(dev, list) : Graph();
    for (int run = 0; run < 3; ++run) {
      graph ? g.replay({.buffers = real}) : dev->submit(list, {.buffers = real});
      for (const Step& s : steps) {
        if (s.kind == 0)
          model[s.a] = scaled(model[s.b], s.k);
        else if (s.kind == 1)
          for (int32_t& v : model[s.a]) ++v;
        else if (s.slice)
          std::copy_n(model[s.b].begin() + 450, 250, model[s.a].begin());
        else
          model[s.a] = model[s.b];
      }
    }
    for (size_t i = 0; i < kBuffers; ++i) REQUIRE(real[i].read<int32_t>() == model[i]);
  }
}

TEST_CASE("misuse is reported before anything is queued") {
  EACH_BACKEND;
  auto mul = dev->load(scale(*dev));
  Buffer a = dev->alloc(400), b = dev->alloc(400);
  auto list = dev->make_list();
  REQUIRE_THROWS_WITH(list.dispatch(mul, args(a, b, 1)),
                      Catch::Contains("[dispatch] scale takes 4 arguments, 3 given"));
  REQUIRE_THROWS_WITH(list.dispatch(mul, args(a, 5, 1, 2)), Catch::Contains("must be a buffer"));
  REQUIRE_THROWS_WITH(list.dispatch(mul, args(a, b, a, 2)), Catch::Contains("must be an integer"));
  REQUIRE_THROWS_AS(list.dispatch(mul, args(a, b, 1.5f, 2)), UsageError);
  REQUIRE_THROWS_AS(list.dispatch(nullptr, args(a)), UsageError);
  REQUIRE_THROWS_WITH(list.dispatch(mul, args(a, b, 1, int64_t{-600})),
                      Catch::Contains("groups along axis 0"));
  REQUIRE_THROWS_WITH(list.copy(a, b.slice(0, 8)), Catch::Contains("sizes 400 and 8 differ"));
  REQUIRE_THROWS_AS(list.copy(Buffer(), b), UsageError);
  REQUIRE_THROWS_AS(args(Buffer()), UsageError);
  REQUIRE(list.empty());
  REQUIRE_THROWS_AS(CommandList().barrier(), UsageError);
  REQUIRE_THROWS_AS(dev->submit(CommandList()), UsageError);
  REQUIRE_THROWS_AS(dev->load(kernel_object(*dev), "no_such_kernel"), UsageError);
  REQUIRE_THROWS_AS(dev->load("this is no machine code", "x"), UsageError);

  list.dispatch(mul,
                args(a, Symbol::buffer(0, 200, 200), Symbol::variable(0), Symbol::variable(0)));
  const Buffer small[] = {dev->alloc(399)};
  const int64_t one[] = {1}, negative[] = {-600};
  REQUIRE_THROWS_WITH(dev->submit(list), Catch::Contains("1 buffer and 1 variable symbols"));
  REQUIRE_THROWS_WITH(dev->submit(list, {.buffers = small, .variables = one}),
                      Catch::Contains("needs 400 B, bound are 399 B"));
  const Buffer none[] = {Buffer()};
  REQUIRE_THROWS_AS(dev->submit(list, {.buffers = none, .variables = one}), UsageError);
  const Buffer good[] = {b};
  REQUIRE_THROWS_AS(dev->submit(list, {.buffers = good, .variables = negative}), UsageError);

  auto other = open_device(under.spec == "CPU" ? "NULL" : "CPU");
  REQUIRE_THROWS_WITH(list.copy(a, other->alloc(400)), Catch::Contains(other->name()));
  REQUIRE_THROWS_AS(other->submit(list), UsageError);
  dev->submit(list, {.buffers = good, .variables = one}).wait();
}

TEST_CASE("a kernel with more buffers than the target allows is refused") {
  EACH_BACKEND;
  const size_t limit = dev->target().max_buffers;
  Arguments many;
  Buffer b = dev->alloc(16);
  for (size_t i = 0; i <= limit; ++i) many.add(b);
  auto program = dev->load(kernel_object(*dev), "saxpy");
  auto list = dev->make_list();
  REQUIRE_THROWS_WITH(list.dispatch(program, LaunchShape{}, many),
                      Catch::Contains(std::to_string(limit)));
}

TEST_CASE("out of memory says who holds what, and the device goes on") {
  EACH_BACKEND;
  Buffer held = dev->alloc(1 << 20, {.tag = "the weights"});
  REQUIRE_THROWS_WITH(dev->alloc(size_t{1} << 60, {.tag = "too much"}),
                      Catch::Contains("too much") && Catch::Contains("the weights"));
  REQUIRE_THROWS_AS(dev->alloc(~size_t{0}), SystemError);
  REQUIRE(dev->alloc(100));
}

TEST_CASE("tens of thousands of small buffers live at once") {
  EACH_BACKEND;
  constexpr int32_t kCount = 40'000;
  std::vector<Buffer> all;
  std::set<uint64_t> addresses;
  for (int32_t i = 0; i < kCount; ++i) {
    all.push_back(dev->alloc(static_cast<size_t>(4 + i % 3 * 500)));
    addresses.insert(all.back().device_address());
  }
  if (under.shares_host) REQUIRE(addresses.size() == kCount);  // elsewhere they are handles
  for (int32_t i = 0; i < kCount; i += 997) all[size_t(i)].slice(0, 4).fill(i);
  for (int32_t i = 0; i < kCount; i += 997) require_ints(under, all[size_t(i)].slice(0, 4), {i});
  for (size_t i = 0; i < all.size(); i += 2) all[i] = {};
  dev->flush_cache();
  for (int32_t i = 997; i < kCount; i += 1994) require_ints(under, all[size_t(i)].slice(0, 4), {i});
}

TEST_CASE("freed memory is cached until a flush") {
  EACH_BACKEND;
  dev->flush_cache();
  const MemoryStats before = dev->memory_stats();
  Buffer b = dev->alloc(5000);
  REQUIRE(dev->memory_stats().in_use_B >= before.in_use_B + 5000);
  REQUIRE(dev->memory_stats().allocations == before.allocations + 1);
  const auto address = b.device_address();
  b = {};
  REQUIRE(dev->memory_stats().in_use_B == before.in_use_B);
  REQUIRE(dev->memory_stats().cached_B >= before.cached_B + 5000);
  b = dev->alloc(4900);  // the same class
  REQUIRE(b.device_address() == address);
  REQUIRE(dev->memory_stats().cached_B == before.cached_B);
  b = {};
  dev->flush_cache();
  REQUIRE(dev->memory_stats().cached_B == 0);
  REQUIRE(dev->memory_stats().peak_in_use_B >= 5000);
}

TEST_CASE("the set of buffers touched is known") {
  EACH_BACKEND;
  auto mul = dev->load(scale(*dev));
  Buffer a = dev->alloc(400), b = dev->alloc(400);
  auto list = dev->make_list();
  list.dispatch(mul, args(a, b, 1, 100));
  list.dispatch(mul, args(Symbol::buffer(2), a, 1, 100));
  const auto touched = list.touched();
  REQUIRE(touched.size() == 3);
  for (const Touched& t : touched) {
    if (!t.buffer)
      REQUIRE((t.slot == 2 && t.written && !t.read));
    else if (t.buffer == a)
      REQUIRE((t.written && t.read));
    else
      REQUIRE((t.buffer == b && !t.written && t.read));
  }
}

TEST_CASE("host memory comes in where the device can reach it") {
  EACH_BACKEND;
  std::vector<int32_t> mine = iota(64);
  if (!under.shares_host) {
    REQUIRE_THROWS_AS(dev->from_host_pointer(mine.data(), 256), UsageError);
    REQUIRE(dev->alloc(4).host_pointer() == nullptr);
    REQUIRE_THROWS_AS(dev->alloc(4, {.host_visible = true}), UsageError);
    return;
  }
  {
    Buffer b = dev->from_host_pointer(mine.data(), 256);
    REQUIRE(b.host_pointer() == mine.data());
    auto list = dev->make_list();
    list.dispatch(dev->load(increment(*dev)), args(b, 64));
    dev->submit(list);
  }  // freeing waits: the memory is ours again
  REQUIRE(mine[63] == 64);
}

TEST_CASE("buffers copy between devices") {
  register_host_api();
  auto cpu = open_device("CPU"), api = open(devices().back());
  Buffer a = ints(cpu, iota(1000)), b = api->alloc(4000), c = cpu->alloc(4000),
         d = api->alloc(4000);
  copy(b, a);
  copy(d, b);
  copy(c, d);
  REQUIRE(c.read<int32_t>() == iota(1000));
  REQUIRE_THROWS_AS(copy(a, b.slice(0, 8)), UsageError);
  REQUIRE_THROWS_AS(copy(a, Buffer()), UsageError);
}

TEST_CASE("one device waits for another's fence") {
  register_host_api();
  auto cpu = open_device("CPU"), api = open(devices().back());
  auto gate = cpu->make_timeline();
  Buffer a = ints(cpu, std::vector<int32_t>(10)), b = ints(api, std::vector<int32_t>(10));
  auto on_cpu = cpu->make_list(), on_api = api->make_list();
  on_cpu.wait(Fence(gate, 1));
  on_cpu.dispatch(cpu->load(increment(*cpu)), args(a, 10));
  const Fence first = cpu->submit(on_cpu);
  on_api.wait(first);
  on_api.dispatch(api->load(increment(*api)), args(b, 10));
  const Fence second = api->submit(on_api);
  REQUIRE(!second.done());
  gate->signal(1);
  second.wait();
  REQUIRE(first.done());
}

TEST_CASE("commands are profiled where the device has a clock") {
  EACH_BACKEND;
  Binary b = increment(*dev);
  b.flops = 100;
  b.bytes = 800;
  auto inc = dev->load(b);
  Buffer a = ints(dev, std::vector<int32_t>(100)), c = dev->alloc(400);
  auto list = dev->make_list();
  list.dispatch(inc, args(a, 100));
  list.copy(c, a);
  start_profile();
  dev->submit(list);
  dev->submit(list);
  dev->synchronize();
  stop_profile();
  const auto events = take_profile();
  require_ints(under, c, std::vector<int32_t>(100, 2));
  if (!under.has_clock) {
    REQUIRE(events.empty());
    return;
  }
  REQUIRE(events.size() == 4);
  REQUIRE(events[0].name == "increment");
  REQUIRE(events[0].flops == 100);
  REQUIRE(events[1].name == "copy 400 B");
  for (size_t i = 0; i < 4; ++i) {
    REQUIRE(events[i].start_ns <= events[i].end_ns);
    if (i) REQUIRE(events[i - 1].end_ns <= events[i].start_ns);
  }
  dev->submit(list).wait();
  dev->synchronize();
  REQUIRE(take_profile().empty());
}

TEST_CASE("a forked child gets a clear error, and nothing hangs") {
  EACH_BACKEND;
  Buffer a = ints(dev, std::vector<int32_t>(1000));
  auto inc = dev->load(increment(*dev));
  auto list = dev->make_list();
  list.dispatch(inc, args(a, 1000));
  const Fence fence = dev->submit(list);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    auto refuses = [](auto&& f) {
      try {
        f();
      } catch (const UsageError& e) {
        return std::string(e.what()).find("fork") != std::string::npos;
      }
      return false;
    };
    bool ok = refuses([&] { dev->submit(list); }) && refuses([&] { dev->alloc(4); }) &&
              refuses([&] { a.read<int32_t>(); }) && refuses([&] { fence.wait(); }) &&
              refuses([&] { dev->make_list(); }) && refuses([&] { dev->synchronize(); }) &&
              refuses([&] { list.barrier(); }) && refuses([&] { dev->load(increment(*dev)); });
    a = {};
    list = {};
    inc.reset();
    const_cast<std::shared_ptr<Device>&>(dev).reset();
    _exit(ok ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  dev->submit(list).wait();
  require_ints(under, a, std::vector<int32_t>(1000, 2));
}
