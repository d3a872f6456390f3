// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>
#include <rt_tiny/runtime/profile.h>

#include "drivers/cpu/backend.h"
#include "tests/runtime/kernels.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

using namespace tiny;
using namespace tiny::test;

namespace {

/// A device of its own, with rings as small as a test wants.
std::shared_ptr<Device> make_device(cpu::CpuConfig config = {.threads = 2}) {
  return std::make_shared<Device>("CPU:test", std::make_unique<cpu::CpuBackend>(config));
}

Buffer ints(const std::shared_ptr<Device>& dev, size_t n, int32_t value = 0,
            const std::string& tag = "test") {
  Buffer b = dev->alloc(n * 4, {.tag = tag});
  b.fill(value);
  return b;
}

/// Memory whose word a kernel waits for: holds a queue up until `open`.
struct Gate {
  std::shared_ptr<std::atomic<int32_t>> word = std::make_shared<std::atomic<int32_t>>(0);
  Buffer buffer;
  explicit Gate(const std::shared_ptr<Device>& dev)
      : buffer(dev->from_host_pointer(word.get(), sizeof *word)) {}
  void open() { word->store(1); }
};
const Binary kWaitGate = kernel("wait_gate", {kIn, kOut});

}  // namespace

TEST_CASE("the raw kernel program of the style guide prints 5") {
  auto dev = open_device("CPU:0");
  auto saxpy = dev->load(kernel_object(), "saxpy");
  constexpr uint32_t n = 1 << 20;
  auto x = dev->alloc(n * sizeof(float)), y = dev->alloc(n * sizeof(float));
  x.fill(1.0f);
  y.fill(2.0f);
  auto list = dev->make_list();
  list.dispatch(saxpy, {.groups = {n / 256}, .group_size = {256}}, tiny::args(x, y, 3.0f, n));
  dev->submit(list).wait();
  const auto result = y.read<float>();
  REQUIRE(std::count(result.begin(), result.end(), 5.0f) == n);
}

TEST_CASE("every group runs exactly once, on any number of threads") {
  const unsigned threads = GENERATE(1u, 2u, 5u);
  auto dev = make_device({.threads = threads});
  auto mark = dev->load(kernel("mark_group", {kInOut, kVariable, kVariable}));
  for (const auto& [x, y, z] : {std::array{1u, 1u, 1u},
                                {7u, 1u, 1u},
                                {3u, 5u, 2u},
                                {0u, 4u, 4u},
                                {1u, 1u, 300u},
                                {1000u, 3u, 1u}}) {
    Buffer counts = ints(dev, 3000);
    auto list = dev->make_list();
    for (int i = 0; i < 5; ++i)
      list.dispatch(mark, {.groups = {x, y, z}}, args(counts, int64_t{x}, int64_t{y}));
    dev->submit(list);
    std::vector<int32_t> expected(3000);
    std::fill_n(expected.begin(), x * y * z, 5);
    REQUIRE(counts.read<int32_t>() == expected);
  }
}

TEST_CASE("each thread has its own aligned scratch") {
  auto dev = make_device({.threads = 3});
  Binary b = kernel("use_scratch", {kOut});
  b.scratch_B = 4096;
  auto program = dev->load(b);
  Buffer out = dev->alloc(400 * 8);
  auto list = dev->make_list();
  list.dispatch(program, {.groups = {400}}, args(out));
  dev->submit(list);
  const auto got = out.read<int64_t>();
  for (int64_t g = 0; g < 400; ++g) REQUIRE(got[static_cast<size_t>(g)] == 512 * 511 / 2 + 512 * g);
}

TEST_CASE("a small ring wraps, fills and blocks, and loses nothing") {
  auto backend = std::make_unique<cpu::CpuBackend>(
      cpu::CpuConfig{.threads = 2, .ring_dw = 128, .kernarg_B = 512});
  auto* raw = backend.get();
  auto dev = std::make_shared<Device>("CPU:small", std::move(backend));
  auto inc = dev->load(increment());
  Buffer a = ints(dev, 64), b = ints(dev, 64), flag = ints(dev, 1);
  Gate gate(dev);
  auto blocked = dev->make_list();
  blocked.dispatch(dev->load(kWaitGate), args(gate.buffer, flag));
  dev->submit(blocked);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  auto compute = dev->make_list(), copy = dev->make_list();
  compute.dispatch(inc, args(a, 64));
  copy.copy(b, a);
  for (int i = 0; i < 500; ++i) {
    dev->submit(compute);
    if (i % 3 == 0) dev->submit(copy);
  }
  REQUIRE(a.read<int32_t>() == std::vector<int32_t>(64, 500));
  REQUIRE(b.read<int32_t>() == std::vector<int32_t>(64, 499));
  opener.join();
  REQUIRE(raw->stalls() > 0);
}

TEST_CASE("a list larger than the ring runs from memory of its own") {
  auto dev = make_device({.threads = 2, .ring_dw = 64, .kernarg_B = 256});
  auto inc = dev->load(increment());
  Buffer a = ints(dev, 64);
  auto list = dev->make_list();
  for (int i = 0; i < 200; ++i) list.dispatch(inc, args(a, Symbol::variable(0)));
  const int64_t n[] = {64};
  for (int i = 0; i < 5; ++i) dev->submit(list, {.variables = n});
  REQUIRE(a.read<int32_t>() == std::vector<int32_t>(64, 1000));
}

TEST_CASE("freed memory comes back only after the fence that last used it") {
  auto dev = make_device();
  Gate gate(dev);
  Buffer out = dev->alloc(3 << 20, {.tag = "victim"});
  const uint64_t address = out.device_address();
  auto list = dev->make_list();
  list.dispatch(dev->load(kWaitGate), args(gate.buffer, out.slice(0, 4)));
  const Fence fence = dev->submit(list);
  list = {};
  out = {};
  Buffer other = dev->alloc(3 << 20);
  REQUIRE(other.device_address() != address);
  const size_t cached = dev->memory_stats().cached_B;
  dev->flush_cache();  // what is in flight stays
  REQUIRE(dev->memory_stats().cached_B == cached);
  gate.open();
  fence.wait();
  REQUIRE(dev->alloc(3 << 20).device_address() == address);
}

TEST_CASE("a graph queues its next replay while one runs, and no further") {
  auto dev = make_device();
  Gate gate(dev);
  Buffer flag = ints(dev, 1), a = ints(dev, 256);
  auto list = dev->make_list();
  list.dispatch(dev->load(kWaitGate), args(Symbol::buffer(0), flag));
  list.dispatch(dev->load(increment()), args(a, Symbol::variable(0)));
  Graph graph(dev, list);
  const Buffer buffers[] = {gate.buffer};
  const int64_t two[] = {2}, five[] = {5};
  const Fence first = graph.replay({.buffers = buffers, .variables = two});
  const Fence second = graph.replay({.buffers = buffers, .variables = five});  // does not block
  REQUIRE(!first.done());
  REQUIRE(!second.done());
  std::atomic<bool> third_queued{false};
  std::thread third([&] {
    graph.replay({.buffers = buffers, .variables = two});
    third_queued = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  REQUIRE(!third_queued);  // its memory is the first one's
  gate.open();
  third.join();
  const auto got = a.read<int32_t>();
  REQUIRE(std::vector(got.begin(), got.begin() + 6) == std::vector<int32_t>{3, 3, 1, 1, 1, 0});
}

TEST_CASE("copies overlap compute on their own queue") {
  auto dev = make_device();
  Gate gate(dev);
  Buffer flag = ints(dev, 1), a = ints(dev, 64, 3), b = ints(dev, 64);
  auto blocked = dev->make_list(), copies = dev->make_list();
  blocked.dispatch(dev->load(kWaitGate), args(gate.buffer, flag));
  const Fence first = dev->submit(blocked);
  copies.copy(b, a);
  dev->submit(copies).wait();  // compute still stands at the gate
  REQUIRE(!first.done());
  REQUIRE(b.read<int32_t>() == std::vector<int32_t>(64, 3));
  auto dependent = dev->make_list();
  dependent.copy(b.slice(0, 4), flag);
  const Fence after = dev->submit(dependent);
  REQUIRE(!after.done());
  gate.open();
  after.wait();
  REQUIRE(b.read<int32_t>()[0] == 7);
}

TEST_CASE("timestamps come in order on the host's clock") {
  auto dev = make_device();
  Buffer clocks = dev->alloc(24);
  Buffer a = ints(dev, 1000);
  auto list = dev->make_list();
  list.timestamp(clocks.slice(0, 8));
  list.dispatch(dev->load(increment()), args(a, 1000));
  list.timestamp(clocks.slice(8, 8));
  list.timestamp(clocks.slice(16, 8));
  dev->submit(list).wait();
  const auto t = clocks.read<uint64_t>();
  REQUIRE((t[0] <= t[1] && t[1] <= t[2] && t[0] > 0));
  REQUIRE_THROWS_AS(list.timestamp(clocks.slice(4, 8)), UsageError);
  REQUIRE_THROWS_AS(list.timestamp(clocks.slice(0, 4)), UsageError);
}

#if defined(__SANITIZE_THREAD__)
#define TINY_FAULTS 0  // TSan defers signals: a kernel's fault cannot be cut short
#else
#define TINY_FAULTS 1
#endif

#if TINY_FAULTS
TEST_CASE("a kernel's fault poisons the device and names the culprit") {
  auto dev = make_device();
  auto inc = dev->load(increment());
  Buffer a = ints(dev, 64, 0, "the victim"), b = ints(dev, 64);
  auto good = dev->make_list(), bad = dev->make_list(), copies = dev->make_list();
  good.dispatch(inc, args(b, 64));
  // 8 TiB beyond the buffer: in no mapped page, yet an address that exists. ASan reserves the 4 TiB
  // around its heap.
  bad.dispatch(dev->load(kernel("wild_store", {kOut, kVariable})), {.groups = {64}},
               args(a, int64_t{1} << 43));
  copies.copy(b, a);
  const Fence before = dev->submit(good);
  const Fence fault = dev->submit(bad);
  before.wait();
  REQUIRE_THROWS_AS(fault.wait(), DeviceFault);
  REQUIRE_THROWS_WITH(fault.wait(), Catch::Contains("wild_store") && Catch::Contains("SIGSEGV") &&
                                        Catch::Contains("past the end of") &&
                                        Catch::Contains("DISPATCH"));
  REQUIRE(fault.done());
  REQUIRE_THROWS_AS(dev->submit(good), DeviceFault);
  REQUIRE_THROWS_AS(dev->submit(copies), DeviceFault);
  REQUIRE_THROWS_AS(dev->synchronize(), DeviceFault);
  REQUIRE(b.read<int32_t>()[0] == 1);                 // its fence passed before
  REQUIRE_THROWS_AS(a.read<int32_t>(), DeviceFault);  // written by what failed
  a = {};
  b = {};
  dev->flush_cache();
  REQUIRE(dev->memory_stats().cached_B == 0);
}

TEST_CASE("what waits for a dead queue dies too instead of hanging") {
  auto dev = make_device();
  Gate gate(dev);
  Buffer a = ints(dev, 64), b = ints(dev, 64);
  auto bad = dev->make_list(), copies = dev->make_list();
  bad.dispatch(dev->load(kWaitGate), args(gate.buffer, a));
  bad.dispatch(dev->load(kernel("wild_store", {kOut, kVariable})), args(a, int64_t{1} << 43));
  copies.copy(b, a);
  dev->submit(bad);
  const Fence copied = dev->submit(copies);
  gate.open();
  REQUIRE_THROWS_WITH(copied.wait(), Catch::Contains("wild_store"));
}

TEST_CASE("division by zero and a stack overflow are device faults") {
  {
    auto dev = make_device();
    Buffer a = dev->alloc(8);
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("divide", {kOut, kVariable})), args(a, 5));
    dev->submit(list);
    REQUIRE(a.read<int64_t>()[0] == 20);
    auto zero = dev->make_list();
    zero.dispatch(dev->load(kernel("divide", {kOut, kVariable})), args(a, 0));
    REQUIRE_THROWS_WITH(dev->submit(zero).wait(), Catch::Contains("SIGFPE"));
  }
  auto dev = make_device();
  Buffer a = dev->alloc(8);
  auto list = dev->make_list();
  list.dispatch(dev->load(kernel("overflow_stack", {kInOut})), args(a));
  REQUIRE_THROWS_WITH(dev->submit(list).wait(), Catch::Contains("overflow_stack"));
}
#endif

TEST_CASE("big buffers are on 2 MiB boundaries and come back from the cache") {
  auto dev = make_device();
  Buffer b = dev->alloc(5 << 20);
  REQUIRE(b.device_address() % (2 << 20) == 0);
  REQUIRE(dev->alloc(100).device_address() % 256 == 0);
  const uint64_t address = b.device_address();
  b = {};
  REQUIRE(dev->alloc(5 << 20).device_address() == address);
}

TEST_CASE("PROFILE writes a trace when the device closes") {
  const std::string path = "/tmp/tiny_profile_test." + std::to_string(getpid()) + ".json";
  {
    ScopedKnobs knobs({{"PROFILE", path}});
    auto dev = make_device();
    auto list = dev->make_list();
    list.dispatch(dev->load(increment()), args(ints(dev, 64), 64));
    dev->submit(list);
    list = {};
  }
  const auto bytes = read_file(path);
  std::remove(path.c_str());
  const std::string text(bytes.begin(), bytes.end());
  REQUIRE(text.find("traceEvents") != std::string::npos);
  REQUIRE(text.find("\"increment\"") != std::string::npos);
}
