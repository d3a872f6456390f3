// SPDX-License-Identifier: MIT
// What the programs that a tracer's tests watch have in common: structures by offsets, and the
// submissions of each vendor.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace tiny::test {

/// The argument structure of a call, filled by offset.
template <std::size_t kSize_B>
struct Frame {
  alignas(8) std::array<std::byte, kSize_B> bytes{};

  Frame& u32(std::size_t at, std::uint64_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    std::memcpy(bytes.data() + at, &narrow, sizeof narrow);
    return *this;
  }
  Frame& u64(std::size_t at, std::uint64_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
  std::uint32_t get32(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  std::uint64_t get64(std::size_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes.data()); }
};

inline int open_or_die(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) return fd;
  std::perror(path);
  std::exit(3);
}

template <std::size_t kSize_B>
void call(int fd, unsigned long request, Frame<kSize_B>& frame) {
  if (::ioctl(fd, request, frame.bytes.data()) == 0) return;
  std::perror("ioctl");
  std::exit(4);
}

inline std::byte* map_or_die(int fd, std::size_t size_B, std::uint64_t offset_B) {
  void* at =
      ::mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset_B));
  if (at != MAP_FAILED) return static_cast<std::byte*>(at);
  std::perror("mmap");
  std::exit(6);
}

inline void put(std::byte* at, std::initializer_list<std::uint32_t> words) {
  std::memcpy(at, words.begin(), words.size() * 4);
}
constexpr std::uint32_t lo(std::uint64_t address) { return static_cast<std::uint32_t>(address); }
constexpr std::uint32_t hi(std::uint64_t address) {
  return static_cast<std::uint32_t>(address >> 32);
}

/// What was stored before is in memory before what is stored after: a device looks at both.
inline void barrier() { asm volatile("" ::: "memory"); }

/// Closes what the program inherited, so that descriptors have the same numbers in every run.
inline void close_inherited() {
  for (int i = 3; i < 64; ++i) ::close(i);
}

// ---- what they submit -----------------------------------------------------------------------
/// A PM4 queue of /dev/kfd with an indirect buffer. `hold`: waits until the file `mark` is there
/// before it destroys the queue.
void submit_amd_pm4(const char* mark);
/// An SDMA queue whose ring wraps, and an AQL queue with a dispatch and a PM4 packet.
void submit_amd_rings();
/// A channel of RM: ring, pushbuffer, launch descriptor. `version`: of the driver, as the library
/// tells it.
void submit_nv(const char* version);
/// A ring of four entries that is filled twice.
void submit_nv_wrap();
void submit_kgsl();
void submit_msm();

}  // namespace tiny::test
