// SPDX-License-Identifier: MIT
#include "tools/trace/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace tiny::trace {
namespace {

constexpr std::size_t kPage_B = 4096;
constexpr std::size_t kMaxRead_B = 16u << 20;  // no record is longer

/// Bytes up to the end of the page: holes begin at pages.
std::size_t piece(std::uint64_t address, std::size_t left_B) {
  return std::min<std::size_t>(left_B, kPage_B - address % kPage_B);
}

/// Reads through a pipe: write() reports EFAULT for memory that is not there. A page always fits an
/// empty pipe. Slower than process_vm_readv, but also reads what a device mapped.
class PipeReader {
 public:
  PipeReader() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  ~PipeReader() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  bool read(std::uint64_t address, std::byte* to, std::size_t size_B) {
    const auto wanted = static_cast<ssize_t>(size_B);
    const ssize_t written = ::write(ends_[1], reinterpret_cast<const void*>(address), size_B);
    return written > 0 && ::read(ends_[0], to, static_cast<std::size_t>(written)) == written &&
           written == wanted;
  }

 private:
  int ends_[2];
};

ssize_t read_by_kernel(std::uint64_t address, std::byte* to, std::size_t size_B) {
  const iovec local{to, size_B};
  const iovec remote{reinterpret_cast<void*>(address), size_B};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
}

class OwnMemory : public Memory {
 public:
  std::vector<std::byte> read(std::uint64_t address, std::size_t size_B) const override {
    if (address == 0 || size_B == 0) return {};
    size_B = std::min<std::uint64_t>({size_B, UINT64_MAX - address, kMaxRead_B});
    std::vector<std::byte> out(size_B);
    const ssize_t got = read_by_kernel(address, out.data(), size_B);
    std::size_t have_B = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (have_B < size_B) {
      PipeReader pipe;
      while (have_B < size_B) {
        const std::size_t part_B = piece(address + have_B, size_B - have_B);
        if (!pipe.read(address + have_B, out.data() + have_B, part_B)) break;
        have_B += part_B;
      }
    }
    out.resize(have_B);
    return out;
  }
};

}  // namespace

const Memory& own_memory() {
  static const OwnMemory memory;
  return memory;
}

}  // namespace tiny::trace
