// SPDX-License-Identifier: MIT
// A small client of /dev/kfd for the model's tests: requests and packets as numbers, by the
// kernel's headers and not by any driver's tables.
#pragma once

#include "models/amd/model.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace kfd_test {

using tiny::models::amd::Model;
using tiny::models::amd::Options;
using tiny::models::amd::Report;

constexpr uint64_t kPage = 4096;
constexpr unsigned long kfd_request(unsigned nr, unsigned size) {
  return _IOC(_IOC_READ | _IOC_WRITE, 'K', nr, size);
}

struct Args {  // any struct, as dwords
  uint32_t w[26] = {};
  void put64(unsigned at_B, uint64_t v) { std::memcpy(reinterpret_cast<char*>(w) + at_B, &v, 8); }
  uint64_t get64(unsigned at_B) const {
    uint64_t v;
    std::memcpy(&v, reinterpret_cast<const char*>(w) + at_B, 8);
    return v;
  }
  uint32_t& at(unsigned at_B) { return w[at_B / 4]; }
};

struct Buffer {
  uint64_t va = 0, size_B = 0, handle = 0, mmap_offset = 0;
  template <class T = uint32_t>
  T* cpu(uint64_t at_B = 0) const {
    return reinterpret_cast<T*>(va + at_B);
  }
};

constexpr uint32_t kVramPrivate = 0xd0000001, kVramPublic = 0xf0000001, kGttCoherent = 0xd6000002;
constexpr uint32_t kGttCached = 0xd0000002, kUser = 0xd4000004;

class Client {
 public:
  explicit Client(Model& m, unsigned gpu = 0) : model(m), gpu_id(m.gpu_id(gpu)) {
    kfd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
    drm = ::open(("/dev/dri/renderD" + std::to_string(128 + gpu)).c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Client() {
    for (const Buffer& b : mapped) ::munmap(reinterpret_cast<void*>(b.va), b.size_B);
    ::close(drm);
    ::close(kfd);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// 0 or errno.
  int call(unsigned nr, unsigned size, Args& a) const {
    return ::ioctl(kfd, kfd_request(nr, size), a.w) == 0 ? 0 : errno;
  }
  int acquire() const {
    Args a;
    a.w[0] = uint32_t(drm);
    a.w[1] = gpu_id;
    return call(0x15, 8, a);
  }
  /// A place in our address space, page aligned.
  static uint64_t reserve(uint64_t size_B) {
    void* const at =
        ::mmap(nullptr, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reinterpret_cast<uint64_t>(at);
  }
  int alloc(Buffer& b, uint64_t size_B, uint32_t flags, uint64_t user = 0) {
    b.size_B = size_B;
    b.va = user ? user : reserve((size_B + kPage - 1) / kPage * kPage);
    Args a;
    a.put64(0, b.va);
    a.put64(8, size_B);
    a.put64(24, user);
    a.at(32) = gpu_id;
    a.at(36) = flags;
    const int error = call(0x16, 40, a);
    b.handle = a.get64(16);
    b.mmap_offset = a.get64(24);
    return error;
  }
  int map(const Buffer& b, unsigned nr = 0x18) const { return map_on(b, {gpu_id}, nr); }
  int unmap(const Buffer& b) const { return map(b, 0x19); }
  int map_on(const Buffer& b, const std::vector<uint32_t>& ids, unsigned nr = 0x18) const {
    Args a;
    a.put64(0, b.handle);
    a.put64(8, reinterpret_cast<uint64_t>(ids.data()));
    a.at(16) = uint32_t(ids.size());
    return call(nr, 24, a);
  }
  int free(const Buffer& b) const {
    Args a;
    a.put64(0, b.handle);
    return call(0x17, 8, a);
  }
  bool cpu_map(const Buffer& b) {
    void* const at = ::mmap(reinterpret_cast<void*>(b.va), b.size_B, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED, drm, off_t(b.mmap_offset));
    if (at == MAP_FAILED) return false;
    mapped.push_back(b);
    return true;
  }
  /// Allocated, mapped on the GPU and, unless VRAM is private, on the CPU.
  Buffer buffer(uint64_t size_B, uint32_t flags = kGttCoherent) {
    Buffer b;
    if (alloc(b, size_B, flags) != 0 || map(b) != 0) throw std::runtime_error("buffer");
    const bool visible = !(flags & 1) || (flags & 1u << 29);
    if (visible && !cpu_map(b)) throw std::runtime_error("mmap");
    return b;
  }

  int event_page(Buffer& page) {
    page = buffer(32768);
    return 0;
  }
  /// 0 or errno; the id.
  int create_event(uint32_t type, bool auto_reset, uint32_t& id, uint64_t page_handle = 0) const {
    Args a;
    a.put64(0, page_handle);
    a.at(12) = type;
    a.at(16) = auto_reset;
    const int error = call(0x08, 32, a);
    id = a.at(24);
    return error;
  }
  int event(unsigned nr, uint32_t id) const {
    Args a;
    a.w[0] = id;
    return call(nr, 8, a);
  }
  struct EventData {
    uint32_t w[12] = {};
  };
  /// errno; the result in `result`.
  int wait(std::vector<EventData>& events, uint32_t timeout_ms, uint32_t& result,
           bool all = false) const {
    Args a;
    a.put64(0, reinterpret_cast<uint64_t>(events.data()));
    a.at(8) = uint32_t(events.size());
    a.at(12) = all;
    a.at(16) = timeout_ms;
    const int error = call(0x0c, 24, a);
    result = a.at(20);
    return error;
  }

  Model& model;
  uint32_t gpu_id;
  int kfd = -1, drm = -1;
  std::vector<Buffer> mapped;
};

/// gfx1100 with 96 CUs, from the kernel's formula worked out by hand.
constexpr uint32_t kCtlStack = 0xa000, kCwsr = 0x2bea000, kCwsrBuffer = 0x2c02000;

/// A compute (0), SDMA (1) or AQL (2) queue with all that belongs to it.
struct TestQueue {
  TestQueue(Client& c, uint32_t type, uint32_t ring_B = 4096, unsigned struct_B = 96)
      : client(c), kind(type) {
    ring = c.buffer(ring_B);
    pointers = c.buffer(kPage);
    if (type != 1) {
      eop = c.buffer(kPage, kVramPrivate);
      save = c.buffer(kCwsrBuffer, kVramPublic);
    }
    args = arguments();
    error = c.call(0x02, struct_B, args);
    id = args.at(52);
    if (error) return;
    const uint64_t offset = args.get64(24);
    doorbells = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, c.kfd,
                       off_t(offset & ~0x1fffull));
    doorbell = reinterpret_cast<uint64_t*>(static_cast<char*>(doorbells) + (offset & 0x1fff));
  }
  ~TestQueue() {
    if (doorbells && doorbells != MAP_FAILED) ::munmap(doorbells, 8192);
  }
  TestQueue(const TestQueue&) = delete;
  TestQueue& operator=(const TestQueue&) = delete;

  Args arguments() const {
    Args a;
    a.put64(0, ring.va);
    a.put64(8, pointers.va + 0x38);   // write pointer
    a.put64(16, pointers.va + 0x80);  // read pointer
    a.at(32) = uint32_t(ring.size_B);
    a.at(36) = client.gpu_id;
    a.at(40) = kind;
    a.at(44) = 100;
    a.at(48) = 7;
    if (kind != 1) {
      a.put64(56, eop.va);
      a.put64(64, kPage);
      a.put64(72, save.va);
      a.at(80) = kCwsr;
      a.at(84) = kCtlStack;
    }
    return a;
  }
  uint64_t read() const { return std::atomic_ref<uint64_t>(*pointers.cpu<uint64_t>(0x80)).load(); }
  void ring_doorbell(uint64_t memory, uint64_t value) const {
    std::atomic_ref<uint64_t>(*pointers.cpu<uint64_t>(0x38)).store(memory);
    std::atomic_ref<uint64_t>(*doorbell).store(value);
  }
  void put(const std::vector<uint32_t>& words) {
    for (uint32_t word : words) ring.cpu()[written++ * 4 % ring.size_B / 4] = word;
  }
  void submit() const {
    const uint64_t value = kind == 1 ? written * 4 : written;
    ring_doorbell(value, value);
  }
  void submit(const std::vector<uint32_t>& words) {
    put(words);
    submit();
  }
  int destroy() const {
    Args a;
    a.w[0] = id;
    return client.call(0x03, 8, a);
  }

  Client& client;
  uint32_t kind;
  Buffer ring, pointers, eop, save;
  Args args;
  int error = 0;
  uint32_t id = 0;
  void* doorbells = nullptr;
  uint64_t* doorbell = nullptr;
  uint64_t written = 0;  ///< dwords
};

// ---- packets

inline uint32_t lo(uint64_t v) { return uint32_t(v); }
inline uint32_t hi(uint64_t v) { return uint32_t(v >> 32); }
inline uint32_t pm4(unsigned op, unsigned body_dw) {
  return 0xc0000000u | (body_dw - 1) << 16 | op << 8;
}
using Words = std::vector<uint32_t>;
inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
constexpr uint32_t kGl2Wb = 1u << 21, kReleaseInv = 0xcu << 12;  // GLV_INV, GL1_INV

/// CACHE_FLUSH_AND_INV_TS with GL2 write-back, 64-bit data.
inline Words release(uint64_t va, uint64_t value, uint32_t gcr = kGl2Wb, uint32_t interrupt = 0,
                     uint32_t context = 0, uint32_t data_sel = 2) {
  return {pm4(0x49, 7), 0x514u | gcr, data_sel << 29 | interrupt << 24, lo(va), hi(va), lo(value),
          hi(value),    context};
}
// GLI GLK GLV GL1 GL2, written back
constexpr uint32_t kAcquireAll = 1 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 14 | 1u << 15;
inline Words acquire(uint32_t gcr = kAcquireAll) {
  return {pm4(0x58, 7), 0, 0xffffffff, 0xff, 0, 0, 10, gcr};
}
/// Waits until the dword is >= value.
inline Words wait_mem(uint64_t va, uint32_t value) {
  return {pm4(0x3c, 6), 5 | 1u << 4, lo(va), hi(va), value, 0xffffffff, 4};
}
inline Words write_data(uint64_t va, const Words& data) {
  return Words{pm4(0x37, unsigned(3 + data.size())), 5u << 8 | 1u << 20, lo(va), hi(va)} + data;
}
inline Words set_sh(uint32_t reg, const Words& values) {
  return Words{pm4(0x76, unsigned(1 + values.size())), reg} + values;
}
inline Words dispatch(uint32_t x, uint32_t y, uint32_t z, uint32_t initiator = 0x8005) {
  return {pm4(0x15, 4), x, y, z, initiator};
}
inline Words flush() { return {pm4(0x46, 1), 7u | 4u << 8}; }
inline Words indirect(uint64_t va, uint32_t size_dw) {
  return {pm4(0x3f, 3), lo(va), hi(va), size_dw | 1u << 23};
}
inline Words nop(unsigned dwords) {
  Words w(dwords, 0xabcd);
  w[0] = dwords == 1 ? 0xffff1000u : pm4(0x10, dwords - 1);
  return w;
}

inline Words sdma_copy(uint64_t to, uint64_t from, uint64_t size_B) {
  return {1, uint32_t(size_B - 1), 0, lo(from), hi(from), lo(to), hi(to)};
}
inline Words sdma_fence(uint64_t va, uint32_t value) {
  return {5 | 3u << 16, lo(va), hi(va), value};
}
inline Words sdma_trap(uint32_t context) { return {6, context}; }
inline Words sdma_poll(uint64_t va, uint32_t value) {
  return {8 | 5u << 28 | 1u << 31, lo(va), hi(va), value, 0xffffffff, 0x0fff0004};
}
inline Words sdma_gcr(uint32_t gcr) { return {17 | 1u << 8, 0, gcr << 16, gcr >> 16, 0}; }

inline unsigned count(const Model& m, Report::Kind kind) {
  unsigned n = 0;
  for (const Report& r : m.reports()) n += r.kind == kind;
  return n;
}
inline bool mentions(const Model& m, Report::Kind kind, const std::string& text) {
  for (const Report& r : m.reports())
    if (r.kind == kind && r.text.find(text) != std::string::npos) return true;
  return false;
}

inline Options quiet(bool stepped = true) {
  Options o;
  o.stepped = stepped;
  o.print = false;
  return o;
}

}  // namespace kfd_test
