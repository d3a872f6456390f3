// SPDX-License-Identifier: MIT
// The kernel's half of the model: topology, memory, events, queue creation.
#include "tests/models/amd/client.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

using namespace kfd_test;

namespace {

const std::string kTopology = "/sys/devices/virtual/kfd/kfd/topology/";

std::string text_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  if (fd < 0) return "open failed";
  char buffer[8192];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  const int error = errno;
  ::close(fd);
  return n < 0 ? "read failed " + std::to_string(error) : std::string(buffer, size_t(n));
}

std::map<std::string, uint64_t> properties(const std::string& path) {
  std::istringstream in(text_of(path));
  std::map<std::string, uint64_t> map;
  std::string key;
  uint64_t value;
  while (in >> key >> value) map[key] = value;
  return map;
}

}  // namespace

TEST_CASE("The topology describes 96 compute units of gfx1100 and their save area") {
  Model model(quiet());
  auto p = properties(kTopology + "nodes/1/properties");
  CHECK(p["gfx_target_version"] == 110000);
  CHECK(p["simd_count"] / p["simd_per_cu"] == 96);
  CHECK(p["cwsr_size"] == kCwsr);
  CHECK(p["ctl_stack_size"] == kCtlStack);
  CHECK((p["capability"] >> 12 & 3) == 2);
  CHECK(p["drm_render_minor"] == 128);
  CHECK(text_of(kTopology + "nodes/0/gpu_id") == "0\n");
  CHECK(text_of(kTopology + "nodes/1/gpu_id") == std::to_string(model.gpu_id(0)) + "\n");
  CHECK(properties(kTopology + "nodes/1/mem_banks/0/properties")["heap_type"] == 1);
  CHECK(text_of("/sys/class/drm/renderD128/device/ip_discovery/die/0/11/0/major") == "11\n");
  struct stat st{};
  REQUIRE(::stat("/dev/dri/renderD128", &st) == 0);
  CHECK(S_ISCHR(st.st_mode));
  CHECK(st.st_rdev == makedev(226, 128));
}

TEST_CASE("Zero, two and eight GPUs are listed, hidden ones and missing render nodes too",
          "[amd:1]") {
  for (unsigned gpus : {0u, 2u, 8u}) {
    Options o = quiet();
    o.gpus = gpus;
    Model model(o);
    unsigned nodes = 0;
    DIR* const dir = ::opendir((kTopology + "nodes").c_str());
    REQUIRE(dir);
    while (const dirent* e = ::readdir(dir)) nodes += e->d_name[0] != '.';
    ::closedir(dir);
    CHECK(nodes == gpus + 1);
  }
  Options o = quiet();
  o.gpus = 3;
  o.hidden = {1};
  o.without_render_node = {2};
  Model model(o);
  CHECK(text_of(kTopology + "nodes/2/gpu_id") == "read failed " + std::to_string(EPERM));
  CHECK(text_of(kTopology + "nodes/1/gpu_id") != "read failed " + std::to_string(EPERM));
  CHECK(::open("/dev/dri/renderD130", O_RDWR) == -1);
  Client c(model);
  Args a;
  REQUIRE(c.call(0x14, 16, a) == 0);
  CHECK(a.at(8) == 2);  // the hidden GPU has no apertures
}

TEST_CASE("The sizes of gfx1030 follow the formula with its capped control stack", "[amd:3]") {
  Options o = quiet();
  o.target = "gfx1030";
  Model model(o);
  auto p = properties(kTopology + "nodes/1/properties");
  CHECK(p["gfx_target_version"] == 100300);
  // 80 CUs: 40 + 2560 * 12 + 8 = 30768 -> 0x8000, capped; 80 * 0x55000 bytes of registers and LDS.
  CHECK(p["ctl_stack_size"] == 0x7000);
  CHECK(p["cwsr_size"] == 0x7000 + 80 * 0x55000);
}

TEST_CASE("Calls are told apart by number, and a short struct is enough", "[amd:2]") {
  Model model(quiet());
  Client c(model);
  Args a;
  REQUIRE(c.call(0x01, 8, a) == 0);
  CHECK(a.w[0] == 1);
  CHECK(a.w[1] == 17);
  REQUIRE(c.acquire() == 0);
  TestQueue small(c, 0, 4096, 88), large(c, 0, 4096, 96);
  CHECK(small.error == 0);
  CHECK(large.error == 0);
  CHECK(small.id != large.id);
  Args unknown;
  CHECK(c.call(0x7f, 8, unknown) == EINVAL);
}

TEST_CASE("A VM belongs to one open of the render node", "[amd:5]") {
  Model model(quiet());
  Client c(model);
  Buffer b;
  CHECK(c.alloc(b, kPage, kGttCoherent) == ESRCH);
  CHECK(c.acquire() == 0);
  CHECK(c.acquire() == 0);
  const int other = ::open("/dev/dri/renderD128", O_RDWR);
  std::swap(c.drm, const_cast<int&>(other));
  CHECK(c.acquire() == EBUSY);
  std::swap(c.drm, const_cast<int&>(other));
  ::close(other);
  Args a;
  a.w[0] = uint32_t(c.drm);
  a.w[1] = 12345;
  CHECK(c.call(0x15, 8, a) == EINVAL);
  a.w[0] = uint32_t(c.kfd);
  a.w[1] = c.gpu_id;
  CHECK(c.call(0x15, 8, a) == EINVAL);
}

TEST_CASE("Wrong allocations are refused with a reason") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  Buffer b;
  CHECK(c.alloc(b, 0, kGttCoherent) == EINVAL);
  CHECK(c.alloc(b, kPage, 0xd0000003) == EINVAL);  // two domains
  CHECK(c.alloc(b, kPage, 0xd0000000) == EINVAL);
  CHECK(c.alloc(b, kPage, kVramPrivate | 1u << 12) == EINVAL);
  CHECK(c.alloc(b, 4096, 0x94000008) == EINVAL);  // doorbells are 8192
  CHECK(c.alloc(b, 8192, 0x94000010) == EINVAL);  // MMIO is 4096
  CHECK(c.alloc(b, kPage, kUser, Client::reserve(kPage) + 8) == EINVAL);
  CHECK(c.alloc(b, 1ull << 40, kVramPrivate) == ENOMEM);
  CHECK(count(model, Report::Kind::ioctl) == 7);
  REQUIRE(c.alloc(b, kPage, kVramPrivate) == 0);
  CHECK(c.map_on(b, {}) == EINVAL);
  CHECK(c.map_on(b, {77}) == EINVAL);
  REQUIRE(c.map(b) == 0);
  CHECK(c.free(b) == EBUSY);
  CHECK(::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, c.drm, off_t(b.mmap_offset)) == MAP_FAILED);
  CHECK(errno == EPERM);
  CHECK(c.unmap(b) == 0);
  CHECK(c.free(b) == 0);
  CHECK(c.free(b) == EINVAL);
}

TEST_CASE("Visible VRAM needs a large BAR", "[amd:6]") {
  Options o = quiet();
  o.large_bar = false;
  Model model(o);
  // All memory is then one private bank, and no link leads to the GPU: that is how ROCr and HIP
  // know what the CPU may touch.
  CHECK(properties(kTopology + "nodes/0/properties")["io_links_count"] == 0);
  CHECK(properties(kTopology + "nodes/1/properties")["io_links_count"] == 1);
  CHECK(properties(kTopology + "nodes/1/properties")["mem_banks_count"] == 1);
  auto bank = properties(kTopology + "nodes/1/mem_banks/0/properties");
  CHECK(bank["heap_type"] == 2);
  CHECK(bank["size_in_bytes"] == 24ull << 30);
  Client c(model);
  REQUIRE(c.acquire() == 0);
  Buffer b;
  CHECK(c.alloc(b, kPage, kVramPublic) == EINVAL);
  CHECK(mentions(model, Report::Kind::ioctl, "large BAR"));
  CHECK(c.alloc(b, kPage, kVramPrivate) == 0);
}

TEST_CASE("Memory is shared between mappings, VRAM starts poisoned and GTT zero") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  const Buffer vram = c.buffer(2 * kPage, kVramPublic), gtt = c.buffer(kPage);
  CHECK(vram.cpu()[0] == 0x7fff7fff);
  CHECK(gtt.cpu()[0] == 0);
  vram.cpu()[5] = 42;
  auto* again = static_cast<uint32_t*>(
      ::mmap(nullptr, vram.size_B, PROT_READ, MAP_SHARED, c.drm, off_t(vram.mmap_offset)));
  REQUIRE(again != MAP_FAILED);
  CHECK(again[5] == 42);
  ::munmap(again, vram.size_B);
}

TEST_CASE("AVAILABLE_MEMORY falls by what is allocated, and out of memory is an error") {
  Options o = quiet();
  o.vram_B = 1 << 20;
  Model model(o);
  Client c(model);
  REQUIRE(c.acquire() == 0);
  Args a;
  a.at(8) = c.gpu_id;
  REQUIRE(c.call(0x23, 16, a) == 0);
  CHECK(a.get64(0) == 1 << 20);
  Buffer first, second;
  REQUIRE(c.alloc(first, 768 << 10, kVramPrivate) == 0);
  CHECK(c.alloc(second, 512 << 10, kVramPrivate) == ENOMEM);
  REQUIRE(c.free(first) == 0);
  CHECK(c.alloc(second, 512 << 10, kVramPrivate) == 0);
}

// ---- queues

TEST_CASE("Queue buffers must have exactly the sizes that the kernel computes", "[amd:3][amd:4]") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  TestQueue good(c, 0);
  REQUIRE(good.error == 0);
  const Buffer two_pages = c.buffer(2 * kPage), vram = c.buffer(kPage, kVramPublic);
  const Buffer short_save = c.buffer(kCwsrBuffer - kPage, kVramPrivate);
  const auto refused = [&](const char* reason, auto change) {
    Args a = good.arguments();
    change(a);
    model.clear_reports();
    CHECK(c.call(0x02, 96, a) == EINVAL);
    CHECK(mentions(model, Report::Kind::ioctl, reason));
  };
  refused("eop_buffer_size", [](Args& a) { a.put64(64, 2 * kPage); });
  refused("no EOP", [](Args& a) { a.put64(56, 0); });
  refused("ctl_stack_size is 0x9000, expected 0xa000", [](Args& a) { a.at(84) = 0x9000; });
  refused("ctx_save_restore_size is 0x2be9000", [](Args& a) { a.at(80) = kCwsr - kPage; });
  refused("expected 0x2c02000", [&](Args& a) { a.put64(72, short_save.va); });
  refused("the write pointer is in a buffer", [&](Args& a) { a.put64(8, two_pages.va); });
  refused("the read pointer begins", [&](Args& a) { a.put64(16, two_pages.va + kPage); });
  refused("VRAM", [&](Args& a) { a.put64(8, vram.va); });
  refused("the ring is in a buffer", [&](Args& a) { a.put64(0, two_pages.va); });
  refused("is not mapped", [](Args& a) { a.put64(0, 0x7fff0000); });
  refused("no power of 2", [](Args& a) { a.at(32) = 3000; });
  refused("ring_size 512", [](Args& a) { a.at(32) = 512; });
  refused("priority", [](Args& a) { a.at(48) = 16; });
  refused("queue_type", [](Args& a) { a.at(40) = 9; });
}

TEST_CASE("What a live queue needs can neither be unmapped nor freed") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  TestQueue q(c, 0);
  REQUIRE(q.error == 0);
  for (const Buffer* b : {&q.ring, &q.pointers, &q.eop, &q.save}) CHECK(c.unmap(*b) == EBUSY);
  CHECK(q.destroy() == 0);
  CHECK(q.destroy() == EINVAL);
  CHECK(c.unmap(q.ring) == 0);
}

TEST_CASE("SDMA queues run out, and their doorbells are apart from those of compute") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  std::vector<std::unique_ptr<TestQueue>> queues;
  for (unsigned i = 0; i < 12; ++i) {  // 2 engines of 6 queues
    queues.push_back(std::make_unique<TestQueue>(c, 1));
    REQUIRE(queues.back()->error == 0);
    CHECK((queues.back()->args.get64(24) & 0x1fff) >= 0x800);
    CHECK((queues.back()->args.get64(24) >> 62) == 3);
  }
  TestQueue last(c, 1);
  CHECK(last.error == ENOMEM);
}

TEST_CASE("RUNTIME_ENABLE comes before the first queue, once") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  const auto enable = [&](uint32_t mode) {
    Args a;
    a.at(8) = mode;
    return c.call(0x25, 16, a);
  };
  CHECK(enable(1) == 0);
  CHECK(enable(1) == EBUSY);
  CHECK(enable(0) == 0);
  TestQueue q(c, 0);
  CHECK(enable(1) == EBUSY);
}

TEST_CASE("Every ioctl can be made to fail") {
  Model model(quiet());
  Client c(model);
  Args a;
  model.fail_ioctl('K', 0x01, 2, ENODEV);
  CHECK(c.call(0x01, 8, a) == 0);
  CHECK(c.call(0x01, 8, a) == ENODEV);
  CHECK(c.call(0x01, 8, a) == 0);
  model.fail_ioctl('K', 0x15, 0, EPERM);
  CHECK(c.acquire() == EPERM);
  CHECK(c.acquire() == EPERM);
  model.clear_failures();
  CHECK(c.acquire() == 0);
}

TEST_CASE("A forked child may not use the parent's descriptors") {
  Model model(quiet());
  Client c(model);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Args a;
    ::_exit(c.call(0x01, 8, a) == EBADF ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  Args a;
  CHECK(c.call(0x01, 8, a) == 0);
}

TEST_CASE("The last close of /dev/kfd takes everything with it") {
  Model model(quiet());
  for (int round = 0; round < 2; ++round) {
    Client c(model);
    REQUIRE(c.acquire() == 0);
    TestQueue q(c, 0);
    CHECK(q.error == 0);
  }
}

// ---- events

namespace {

struct EventBench {
  Model model{quiet()};
  Client c{model};
  Buffer page;
  EventBench() {
    REQUIRE(c.acquire() == 0);
    page = c.buffer(32768);
  }
  uint32_t create(uint32_t type = 0, bool auto_reset = true) {
    uint32_t id = 0;
    REQUIRE(c.create_event(type, auto_reset, id, first_ ? page.handle : 0) == 0);
    first_ = false;
    return id;
  }
  uint32_t wait(std::vector<Client::EventData>& data, uint32_t timeout_ms, bool all = false) {
    uint32_t result = 99;
    REQUIRE(c.wait(data, timeout_ms, result, all) == 0);
    return result;
  }
  uint32_t wait(uint32_t id, uint32_t timeout_ms) {
    std::vector<Client::EventData> data(1);
    data[0].w[10] = id;
    return wait(data, timeout_ms);
  }
  bool first_ = true;
};

}  // namespace

TEST_CASE("Signal events have slots from 1, others ids from 0x40000000") {
  EventBench b;
  CHECK(b.create() == 1);
  CHECK(b.create() == 2);
  CHECK(b.create(8) == 0x40000000);
  CHECK(b.create(3) == 0x40000001);
  CHECK(b.page.cpu<uint64_t>()[1] == ~0ull);
  uint32_t id;
  CHECK(b.c.create_event(0, true, id, b.page.handle) == EINVAL);  // the page is set
}

TEST_CASE("There are 4095 signal events, and no more", "[amd:22]") {
  EventBench b;
  for (uint32_t i = 1; i < 4096; ++i) REQUIRE(b.create() == i);
  uint32_t id = 0;
  CHECK(b.c.create_event(0, true, id) == ENOSPC);
  CHECK(b.c.event(0x09, 77) == 0);
  REQUIRE(b.c.create_event(0, true, id) == 0);
  CHECK(id == 77);
}

TEST_CASE("Set, reset and auto-reset") {
  EventBench b;
  const uint32_t manual = b.create(0, false), automatic = b.create();
  CHECK(b.wait(manual, 0) == 1);
  CHECK(b.c.event(0x0a, manual) == 0);
  CHECK(b.wait(manual, 0) == 0);
  CHECK(b.wait(manual, 0) == 0);
  CHECK(b.c.event(0x0b, manual) == 0);
  CHECK(b.wait(manual, 0) == 1);
  CHECK(b.c.event(0x0a, automatic) == 0);
  CHECK(b.wait(automatic, 0) == 0);
  CHECK(b.wait(automatic, 0) == 1);
  const uint32_t memory = b.create(8);
  CHECK(b.c.event(0x0a, memory) == EINVAL);
  CHECK(b.c.event(0x0a, 999) == EINVAL);
}

TEST_CASE("All of several events, and any of them") {
  EventBench b;
  const uint32_t x = b.create(0, false), y = b.create(0, false);
  std::vector<Client::EventData> data(2);
  data[0].w[10] = x;
  data[1].w[10] = y;
  CHECK(b.c.event(0x0a, x) == 0);
  CHECK(b.wait(data, 0, false) == 0);
  CHECK(b.wait(data, 5, true) == 1);
  CHECK(b.c.event(0x0a, y) == 0);
  CHECK(b.wait(data, 0, true) == 0);
  data[1].w[10] = 1000;
  uint32_t result = 0;
  CHECK(b.c.wait(data, 0, result) == EINVAL);
  CHECK(result == 2);
}

TEST_CASE("Two waiters on one auto-reset event both wake", "[amd:22]") {
  EventBench b;
  const uint32_t id = b.create();
  std::atomic<int> woken = 0, begun = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      std::vector<Client::EventData> data(1);
      data[0].w[10] = id;
      uint32_t result = 9;
      ++begun;
      b.c.wait(data, 10'000, result);
      if (result == 0) ++woken;
    });
  while (begun < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // both inside the call
  CHECK(b.c.event(0x0a, id) == 0);
  for (auto& thread : threads) thread.join();
  CHECK(woken == 2);
}

TEST_CASE("An event age that is not the current one returns at once", "[amd:22]") {
  EventBench b;
  const uint32_t id = b.create();
  std::vector<Client::EventData> data(1);
  data[0].w[10] = id;
  data[0].w[0] = 1;  // the age of a new event
  CHECK(b.wait(data, 0) == 1);
  CHECK(b.c.event(0x0a, id) == 0);
  CHECK(b.wait(id, 0) == 0);  // somebody else consumed it
  CHECK(b.wait(data, 1000) == 0);
  CHECK(data[0].w[0] == 2);
  CHECK(b.wait(data, 0) == 1);
}

TEST_CASE("No wake-up is lost when ages are passed on, 100000 times", "[amd:22]") {
  EventBench b;
  const uint32_t id = b.create();
  constexpr uint64_t kRounds = 100'000;
  std::thread setter([&] {
    for (uint64_t i = 0; i < kRounds; ++i) b.c.event(0x0a, id);
  });
  std::vector<Client::EventData> data(1);
  uint64_t age = 1;
  bool failed = false;
  while (age <= kRounds && !failed) {
    data[0].w[10] = id;
    std::memcpy(data[0].w, &age, 8);
    uint32_t result = 9;
    failed = b.c.wait(data, 10'000, result) != 0 || result != 0;
    std::memcpy(&age, data[0].w, 8);
  }
  setter.join();
  CHECK_FALSE(failed);
  CHECK(age == kRounds + 1);
}

TEST_CASE("Destroying an event fails its waiters") {
  EventBench b;
  const uint32_t id = b.create();
  std::atomic<bool> begun = false;
  int error = 0;
  uint32_t result = 9;
  std::thread waiter([&] {
    std::vector<Client::EventData> data(1);
    data[0].w[10] = id;
    begun = true;
    error = b.c.wait(data, 10'000, result);
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(b.c.event(0x09, id) == 0);
  waiter.join();
  CHECK(error == (result == 2 && error == EINVAL ? EINVAL : EIO));
  CHECK(result == 2);
}

TEST_CASE("A reset GPU tells HW_EXCEPTION events", "[amd:24]") {
  EventBench b;
  b.create();
  const uint32_t id = b.create(3, false);
  CHECK(b.wait(id, 0) == 1);
  b.model.reset_gpu(0, true);
  std::vector<Client::EventData> data(1);
  data[0].w[10] = id;
  CHECK(b.wait(data, 0) == 0);
  CHECK(data[0].w[2] == 1);  // memory_lost
  CHECK(data[0].w[3] == b.c.gpu_id);
}
