// SPDX-License-Identifier: MIT
// The driver against a scripted kernel: which calls it makes, in which order, and what it does when
// they fail.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>

#include "drivers/amd/backend.h"
#include "tests/drivers/amd/fake_kfd.h"

#include <errno.h>

#include <algorithm>
#include <numeric>

using namespace tiny;
using namespace tiny::test;
using Catch::Contains;

namespace {

std::vector<int32_t> iota(size_t n, int32_t first = 0) {
  std::vector<int32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

Buffer ints(const std::shared_ptr<Device>& dev, const std::vector<int32_t>& values) {
  Buffer b = dev->alloc(values.size() * 4, {.tag = "ints"});
  b.write(values);
  return b;
}

Binary kernel(const std::string& name, uint32_t buffers) {
  Binary b;
  b.name = name;
  b.code = read_file(TINY_AMD_DATA "/kernels_gfx1100.o");
  for (uint32_t i = 0; i < buffers; ++i)
    b.args.push_back({ArgSlot::Kind::buffer, i * 8, true, true});
  b.kernarg_B = buffers * 8 + 16;
  b.group_size = {256, 1, 1};
  return b;
}

/// What stays for ever: the event page.
constexpr size_t kKept = 1;

}  // namespace

TEST_CASE("a device comes up in the kernel's order and leaves nothing behind") {
  FakeKfd& kfd = FakeKfd::get();
  kfd.take_log();
  {
    auto dev = open_device("AMD");
    REQUIRE(dev->name() == "AMD:0");
    REQUIRE(open_device("amd:0") == dev);
    REQUIRE_THAT(dev->description(), Contains("gfx1100") && Contains("96 CUs") &&
                                         Contains("24576 MiB") && Contains("0000:03:00.0"));
    REQUIRE(dev->target().arch == "gfx1100");
    REQUIRE(!dev->target().is_cpu);
    const auto names = kfd.names(kfd.take_log());
    auto first = [&](const char* name) {
      const auto found = std::find(names.begin(), names.end(), name);
      REQUIRE(found != names.end());
      return found - names.begin();
    };
    REQUIRE(first("GET_VERSION") == 0);
    REQUIRE(first("ACQUIRE_VM") < first("ALLOC_MEMORY_OF_GPU"));
    REQUIRE(first("ACQUIRE_VM") < first("RUNTIME_ENABLE"));
    REQUIRE(first("RUNTIME_ENABLE") < first("CREATE_QUEUE"));
    REQUIRE(first("ALLOC_MEMORY_OF_GPU") < first("CREATE_EVENT"));
    REQUIRE(first("CREATE_EVENT") < first("CREATE_QUEUE"));
    REQUIRE(std::count(names.begin(), names.end(), "CREATE_QUEUE") == 3);
    REQUIRE(kfd.live_queues() == 3);
  }
  REQUIRE(kfd.live_queues() == 0);
  REQUIRE(kfd.live_events() == 0);
  REQUIRE(kfd.live_allocations() == kKept);
  kfd.take_log();
  {
    auto again = open_device("AMD:0");  // same process, same files, no second event page
    const auto names = kfd.names(kfd.take_log());
    REQUIRE(std::count(names.begin(), names.end(), "ACQUIRE_VM") == 0);
    REQUIRE(std::count(names.begin(), names.end(), "GET_VERSION") == 0);
  }
  REQUIRE(kfd.live_allocations() == kKept);
}

TEST_CASE("probing opens nothing") {
  FakeKfd& kfd = FakeKfd::get();
  kfd.take_log();
  const auto rows = probe_devices();
  REQUIRE(std::any_of(rows.begin(), rows.end(), [](const ProbeResult& r) {
    return r.spec == "AMD:0" && r.present && r.reason.find("gfx1100") != std::string::npos;
  }));
  REQUIRE(kfd.take_log().empty());
  REQUIRE_THROWS_WITH(open_device("AMD:1"), Contains("AMD:1 is absent") && Contains("1 GPUs"));
  REQUIRE_THROWS_AS(open_device("AMD:x"), UsageError);
}

TEST_CASE("memory, copies and graphs work with either way to copy") {
  FakeKfd& kfd = FakeKfd::get();
  const bool engine = GENERATE(true, false);
  CAPTURE(engine);
  ScopedKnobs knobs({{"TINY_AMD", engine ? "" : "nosdma"}});
  auto dev = open_device("AMD");
  REQUIRE((dev->description().find("copies by kernel") == std::string::npos) == engine);
  const size_t n = 3 << 20;  // more than both halves of the staging buffer
  Buffer a = ints(dev, iota(n)), b = dev->alloc(n * 4), c = dev->alloc(n * 4);
  REQUIRE(a.host_pointer() == nullptr);
  auto list = dev->make_list();
  list.copy(b, a);
  list.copy(c, b);  // needs the first
  dev->submit(list).wait();
  REQUIRE(c.read<int32_t>() == iota(n));
  REQUIRE(c.slice(4, 12).read<int32_t>() == std::vector<int32_t>{1, 2, 3});

  auto moving = dev->make_list();
  moving.copy(Symbol::buffer(0), a.slice(0, 4000));
  moving.copy(b.slice(0, 4000), Symbol::buffer(0));
  Graph graph(dev, moving);
  for (int i = 0; i < 6; ++i) {
    Buffer x = ints(dev, std::vector<int32_t>(1000, -1));
    const Buffer bound[] = {x};
    graph.replay({.buffers = bound});
    REQUIRE(x.read<int32_t>() == iota(1000));
  }
  REQUIRE(kfd.packets()[engine ? "INDIRECT" : "INDIRECT_BUFFER"] > 0);

  Buffer host = dev->alloc(4096, {.host_visible = true});
  REQUIRE(host.host_pointer() != nullptr);
  host.fill(int32_t{7});
  auto back = dev->make_list();
  back.copy(b.slice(0, 4096), host);
  dev->submit(back).wait();
  REQUIRE(b.slice(0, 8).read<int32_t>() == std::vector<int32_t>{7, 7});
  dev->synchronize();
}

TEST_CASE("queues wait for timelines of the host, and signal them") {
  FakeKfd::get();
  const bool engine = GENERATE(true, false), graph = GENERATE(true, false);
  ScopedKnobs knobs({{"TINY_AMD", engine ? "" : "nosdma"}});
  auto dev = open_device("AMD");
  Buffer a = ints(dev, iota(100)), b = ints(dev, std::vector<int32_t>(100));
  auto gate = dev->make_timeline("gate"), reached = dev->make_timeline("reached");
  auto list = dev->make_list();
  list.signal(Fence(reached, 5));
  list.wait(Fence(gate, 3));
  list.copy(b, a);
  Graph g = graph ? Graph(dev, list) : Graph();
  const Fence done = graph ? g.replay() : dev->submit(list);
  Fence(reached, 5).wait();
  REQUIRE(!done.done());
  REQUIRE(a.read<int32_t>() == iota(100));  // the host reads meanwhile
  gate->signal(2);
  REQUIRE(!done.done());
  gate->signal(3);
  done.wait();
  REQUIRE(b.read<int32_t>() == iota(100));

  auto later = dev->make_timeline();
  const Fence waits[] = {Fence(later, 1)};
  auto plain = dev->make_list();
  plain.copy(a, b);
  const Fence held = dev->submit(plain, {.waits = waits});
  REQUIRE(!held.done());
  later->signal(1);
  held.wait();
}

TEST_CASE("kernels are queued with their arguments, many in flight") {
  FakeKfd& kfd = FakeKfd::get();
  auto dev = open_device("AMD");
  auto program = dev->load(kernel("increment", 1));
  Buffer a = dev->alloc(4096);
  auto list = dev->make_list();
  for (int i = 0; i < 40; ++i) list.dispatch(program, args(a));
  const int before = kfd.packets()["DISPATCH_DIRECT"];
  Fence last;
  for (int i = 0; i < 500; ++i) last = dev->submit(list);  // wraps ring and arguments
  last.wait();
  REQUIRE(kfd.packets()["DISPATCH_DIRECT"] - before >= 500 * 40);
  REQUIRE_THROWS_WITH(
      [&] {
        auto bad = dev->make_list();
        bad.dispatch(program, {.groups = {1}, .group_size = {512, 4}}, args(a));
        dev->submit(bad);
      }(),
      Contains("2048 threads"));
  REQUIRE_THROWS_AS(dev->load(kernel("wants_dispatch_packet", 1)), UsageError);
}

TEST_CASE("scratch memory grows with the kernels that are loaded", "[amd:15]") {
  FakeKfd& kfd = FakeKfd::get();
  auto dev = open_device("AMD");
  kfd.take_log();
  auto program = dev->load(kernel("use_scratch", 1));
  const auto log = kfd.take_log();
  // At least 4096 B for each of 64 threads of 32 waves of 96 CUs.
  REQUIRE(std::any_of(log.begin(), log.end(), [](const FakeKfd::CallLog& c) {
    return c.name == "ALLOC_MEMORY_OF_GPU" && std::stoull(c.arguments) >= 4096ull * 64 * 32 * 96;
  }));
  Buffer a = dev->alloc(4096);
  auto list = dev->make_list();
  list.dispatch(program, args(a));
  dev->submit(list).wait();
}

TEST_CASE("a copy engine that does not work is replaced by kernels") {
  FakeKfd& kfd = FakeKfd::get();
  kfd.copy_engine_works = false;
  {
    auto dev = open_device("AMD");
    REQUIRE_THAT(dev->description(), Contains("copies by kernel"));
    Buffer a = ints(dev, iota(1000));
    REQUIRE(a.read<int32_t>() == iota(1000));
  }
  kfd.copy_engine_works = true;
  kfd.fail_next(0x02, ENOMEM);  // no SDMA queue to be had
  REQUIRE_THAT(open_device("AMD")->description(), Contains("copies by kernel"));
  REQUIRE(kfd.live_allocations() == kKept);
}

TEST_CASE("small BAR and old kernels do as well", "[amd:6]") {
  FakeKfd& kfd = FakeKfd::get();
  amd::Topology t = amd::read_topology();
  REQUIRE(t.gpus.size() == 1);
  t.gpus[0].large_bar = false;
  kfd.large_bar = false;
  {
    amd::AmdBackend backend(t.gpus[0], {});
    const auto block = backend.allocate(10000, {});
    REQUIRE(block);
    const auto data = iota(2500);
    backend.write(*block, 0, data.data(), 10000);
    std::vector<int32_t> back(2500);
    backend.read(*block, 0, back.data(), 10000);
    REQUIRE(back == data);
    backend.release(*block);
  }
  kfd.large_bar = true;
  REQUIRE(kfd.live_allocations() == kKept);
}

TEST_CASE("host memory is pinned where it lies") {
  FakeKfd& kfd = FakeKfd::get();
  auto dev = open_device("AMD");
  const size_t before = kfd.live_allocations();
  std::vector<int32_t> mine = iota(5000);
  {
    Buffer all = dev->from_host_pointer(mine.data(), 20000);
    Buffer part = dev->from_host_pointer(mine.data() + 1000, 400);  // of the same pages
    REQUIRE(kfd.live_allocations() == before + 1);
    Buffer target = dev->alloc(400);
    auto list = dev->make_list();
    list.copy(target, part);
    dev->submit(list).wait();
    REQUIRE(target.read<int32_t>() == iota(100, 1000));
    all = {};
    REQUIRE(kfd.live_allocations() >= before + 1);
  }
  dev->flush_cache();
  REQUIRE(kfd.live_allocations() == before);
}

TEST_CASE("each call that fails at the start is an error that names it, and leaves nothing",
          "[amd:3][amd:5]") {
  FakeKfd& kfd = FakeKfd::get();
  const std::pair<uint32_t, const char*> calls[] = {{0x16, "ALLOC_MEMORY_OF_GPU"},
                                                    {0x18, "MAP_MEMORY_TO_GPU"},
                                                    {0x14, "GET_PROCESS_APERTURES_NEW"},
                                                    {0x08, "CREATE_EVENT"},
                                                    {0x05, "GET_CLOCK_COUNTERS"}};
  ScopedKnobs knobs({{"TINY_AMD", "nosdma"}});
  for (const auto& [number, name] : calls) {
    CAPTURE(name);
    kfd.fail_next(number, EINVAL);
    if (number == 0x16) {  // the flush register is optional: its failure is no error
      REQUIRE(open_device("AMD"));
    } else {
      REQUIRE_THROWS_WITH(open_device("AMD"), Contains(name) && Contains("errno 22"));
    }
    REQUIRE(kfd.live_queues() == 0);
    REQUIRE(kfd.live_allocations() == kKept);
    REQUIRE(kfd.live_events() == 0);
  }
  kfd.fail_next(0x02, EINVAL);
  REQUIRE_THROWS_WITH(open_device("AMD"), Contains("CREATE_QUEUE") && Contains("save area") &&
                                              Contains("cwsr_size not given"));
  REQUIRE(kfd.live_allocations() == kKept);
  REQUIRE(open_device("AMD"));
}

TEST_CASE("out of memory frees what is cached and tries again") {
  FakeKfd& kfd = FakeKfd::get();
  auto dev = open_device("AMD");
  dev->alloc(1 << 20);
  REQUIRE(dev->memory_stats().cached_B > 0);
  kfd.fail_next(0x16, ENOMEM);
  const Buffer large = dev->alloc(5 << 20);
  REQUIRE(dev->memory_stats().cached_B == 0);
  REQUIRE_THROWS_WITH(dev->alloc(size_t{1} << 50, {.tag = "too much"}), Contains("too much"));
}

TEST_CASE("a page fault ends the device with all that is known; its buffers can still be freed",
          "[amd:23]") {
  FakeKfd& kfd = FakeKfd::get();
  {
    auto dev = open_device("AMD");
    Buffer a = dev->alloc(4096, {.tag = "the victim"});
    auto list = dev->make_list();
    list.dispatch(dev->load(kernel("increment", 1)), args(a));
    kfd.processor_stopped = true;
    const Fence fence = dev->submit(list);
    kfd.raise_memory_fault(a.device_address() + 8192, true);
    std::string text;
    try {
      fence.wait();
    } catch (const DeviceFault& fault) {
      text = fault.what();
    }
    kfd.processor_stopped = false;
    CHECK_THAT(text, Contains("page fault") && Contains("read-only") &&
                         Contains("4096 B past the end of [the victim]") &&
                         Contains("kernel increment") && Contains("DISPATCH_DIRECT dim_x=0x1") &&
                         Contains("COMPUTE_PGM_LO="));
    REQUIRE(kfd.live_queues() == 0);
    REQUIRE_THROWS_AS(dev->submit(list), DeviceFault);
    REQUIRE_THROWS_AS(a.read<int32_t>(), DeviceFault);
    REQUIRE_THROWS_AS(dev->synchronize(), DeviceFault);
  }
  REQUIRE(kfd.live_allocations() == kKept);
  Buffer fresh = ints(open_device("AMD"), iota(10));
  REQUIRE(fresh.read<int32_t>() == iota(10));
}

TEST_CASE("a reset and a hang end the device too", "[amd:24]") {
  FakeKfd& kfd = FakeKfd::get();
  const bool reset = GENERATE(true, false);
  ScopedKnobs knobs({{"TINY_AMD", "hang=1"}});
  auto dev = open_device("AMD");
  auto list = dev->make_list();
  list.dispatch(dev->load(kernel("increment", 1)), args(dev->alloc(64)));
  kfd.processor_stopped = true;
  const Fence fence = dev->submit(list);
  if (reset) kfd.raise_reset();
  REQUIRE_THROWS_WITH(
      fence.wait(),
      reset ? Contains("GPU reset after a hang") && Contains("contents of its memory are lost")
            : Contains("hang: the compute queue made no progress") && Contains("increment"));
  kfd.processor_stopped = false;
}

TEST_CASE("a fence outlives its device") {
  FakeKfd::get();
  Fence done;
  {
    auto dev = open_device("AMD");
    auto list = dev->make_list();
    list.copy(dev->alloc(64), dev->alloc(64));
    done = dev->submit(list);
  }
  REQUIRE(done.done());
  done.wait();
}

TEST_CASE("timelines pass 2^32", "[amd:21]") {
  FakeKfd::get();
  open_device("AMD");  // binds the GPU
  const amd::Topology topology = amd::read_topology();
  const amd::Gpu& gpu = topology.gpus.at(0);
  auto kfd = amd::Kfd::open();
  auto memory = std::make_shared<amd::Memory>(
      kfd, gpu.gpu_id, kfd->bind_gpu(gpu.gpu_id, gpu.render_minor), gpu.large_bar);
  amd::Monitor monitor(kfd, gpu.gpu_id, 60'000'000'000);
  for (const amd::Engine engine : {amd::Engine::compute, amd::Engine::copy}) {
    amd::HwQueue queue(memory, gpu, {.engine = engine, .name = "test", .ring_dw = 1 << 10},
                       [&](amd::HwQueue& q, uint64_t value, uint64_t timeout_ns) {
                         monitor.sleep(q, value, timeout_ns);
                       });
    // As if that many submissions had been.
    constexpr uint64_t kStart = 0xfffffffd;
    *reinterpret_cast<uint64_t*>(queue.words().timeline) = kStart;
    for (uint64_t value = kStart + 1; value < kStart + 8; ++value) {
      const std::pair<uint64_t, uint64_t> waits[] = {{queue.words().timeline, value - 1}};
      amd::RingSubmit s;
      s.waits = waits;
      s.value = value;
      queue.submit(s, {});
      if (static_cast<uint32_t>(value + 1) == 0) queue.timeline()->wait(value);  // the drain
    }
    queue.timeline()->wait(kStart + 7);
    REQUIRE(queue.timeline()->value() == kStart + 7);
    REQUIRE(!queue.timeline()->reached(kStart + 8));
  }
}

TEST_CASE("the TINY_AMD knob is checked") {
  REQUIRE(amd::parse_options("").copy_engine);
  REQUIRE(!amd::parse_options("nosdma").copy_engine);
  REQUIRE(amd::parse_options("hang=3,nosdma").hang_ns == 3'000'000'000);
  for (const char* bad : {"no", "hang=", "hang=0", "hang=x", "nosdma;hang=2", "hang=1s"})
    REQUIRE_THROWS_AS(amd::parse_options(bad), UsageError);
}

TEST_CASE("many replays with changed addresses", "[.count]") {  // for callgrind: bench/amd-host
  FakeKfd::get();
  auto dev = open_device("AMD");
  auto program = dev->load(kernel("scale", 2));
  auto list = dev->make_list();
  for (int i = 0; i < 1000; ++i) list.dispatch(program, args(Symbol::buffer(0), Symbol::buffer(1)));
  Graph graph(dev, list);
  Buffer a = dev->alloc(4096), b = dev->alloc(4096);
  const Buffer bound[] = {a, b};
  for (int i = 0; i < 10; ++i) graph.replay({.buffers = bound}).wait();
  auto one = dev->make_list();
  one.dispatch(program, args(a, b));
  for (int i = 0; i < 1000; ++i) dev->submit(one).wait();
}
