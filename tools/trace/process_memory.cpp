// SPDX-License-Identifier: MIT
#include "tools/trace/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tiny::trace {
namespace {

constexpr std::size_t kPage_B = 4096;

/// Bytes up to the end of the page: a read that crosses into a hole fails as a whole.
std::size_t piece(std::uint64_t address, std::size_t left_B) {
  return std::min<std::size_t>(left_B, kPage_B - address % kPage_B);
}

/// One piece through a pipe: write() reports EFAULT for memory that is not there. A page always
/// fits an empty pipe.
bool read_by_pipe(std::uint64_t address, std::byte* to, std::size_t size_B) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const auto wanted = static_cast<ssize_t>(size_B);
  const bool done = ::write(ends[1], reinterpret_cast<const void*>(address), size_B) == wanted &&
                    ::read(ends[0], to, size_B) == wanted;
  ::close(ends[0]);
  ::close(ends[1]);
  return done;
}

class OwnMemory : public Memory {
 public:
  std::vector<std::byte> read(std::uint64_t address, std::size_t size_B) const override {
    if (size_B > UINT64_MAX - address) size_B = UINT64_MAX - address;
    std::vector<std::byte> out(size_B);
    const ssize_t got = by_kernel(address, out.data(), size_B);
    std::size_t have_B = got > 0 ? static_cast<std::size_t>(got) : 0;
    while (have_B < size_B) {  // the rest page by page
      const std::size_t part_B = piece(address + have_B, size_B - have_B);
      const ssize_t more = by_kernel(address + have_B, out.data() + have_B, part_B);
      const bool whole = more == static_cast<ssize_t>(part_B) ||
                         (more < 0 && errno != EFAULT &&
                          read_by_pipe(address + have_B, out.data() + have_B, part_B));
      if (!whole) break;
      have_B += part_B;
    }
    out.resize(have_B);
    return out;
  }

 private:
  static ssize_t by_kernel(std::uint64_t address, std::byte* to, std::size_t size_B) {
    const iovec local{to, size_B};
    const iovec remote{reinterpret_cast<void*>(address), size_B};
    return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
  }
};

}  // namespace

const Memory& own_memory() {
  static const OwnMemory memory;
  return memory;
}

}  // namespace tiny::trace
