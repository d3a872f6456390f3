// SPDX-License-Identifier: MIT
#include "tools/trace/writer.h"

#include <fcntl.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tiny::trace {
namespace {

constexpr std::uint64_t kLastWords_B = 64 << 10;  // above max_B, for limit and exit records
constexpr int kHighFd = 700;  // out of the way of programs that count descriptors

}  // namespace

void create_trace(const std::string& path, const FileHeader& header) {
  const Fd fd = Fd::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const auto bytes = to_bytes(header);
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw_system_error("write(" + path + ")", errno);
}

Writer::Writer(const std::string& path) : path_(path) { reopen(); }

bool Writer::reopen() {
  int fd = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<std::byte, kFileHeader_B> bytes{};
  struct stat status{};
  const bool is_trace = ::pread(fd, bytes.data(), bytes.size(), 0) == kFileHeader_B &&
                        parse_header(bytes, header_).empty() && ::fstat(fd, &status) == 0;
  const int high = is_trace ? ::fcntl(fd, F_DUPFD_CLOEXEC, kHighFd) : -1;
  if (high >= 0 || !is_trace) ::close(fd);
  if (!is_trace) return false;
  if (high >= 0) fd = high;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  fd_ = fd;
  return true;
}

bool Writer::is_ours(std::uint64_t& size_B) const {
  struct stat status{};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) return false;
  size_B = static_cast<std::uint64_t>(status.st_size);
  return status.st_dev == device_ && status.st_ino == inode_;
}

void Writer::drop(std::size_t size_B) {
  dropped_ += 1;
  dropped_B_ += size_B;
}

void Writer::put(std::span<const std::byte> encoded) {
  const ssize_t written = ::write(fd_, encoded.data(), encoded.size());
  if (written != static_cast<ssize_t>(encoded.size())) drop(encoded.size());
}

void Writer::append(std::span<const std::byte> encoded) {
  const int kept = errno;
  std::uint64_t size_B = 0;
  if (full_ || (!is_ours(size_B) && !(reopen() && is_ours(size_B)))) {
    drop(encoded.size());
  } else if (header_.max_B != 0 && size_B + encoded.size() > header_.max_B) {
    drop(encoded.size());
    if (!full_.exchange(true)) say_full(size_B);
  } else {
    put(encoded);
  }
  errno = kept;
}

void Writer::append_last(std::span<const std::byte> encoded) {
  std::uint64_t size_B = 0;
  if (!is_ours(size_B) && !(reopen() && is_ours(size_B))) return;
  if (header_.max_B == 0 || size_B + encoded.size() <= header_.max_B + kLastWords_B) put(encoded);
}

void Writer::say_full(std::uint64_t size_B) {
  Record record;
  record.type = Type::limit;
  record.pid = static_cast<std::uint32_t>(::getpid());
  record.tid = static_cast<std::uint32_t>(::gettid());
  record.start_ns = monotonic_ns();
  record.numbers = {size_B};
  append_last(to_bytes(record));
}

}  // namespace tiny::trace
