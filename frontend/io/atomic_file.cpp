// SPDX-License-Identifier: MIT
// Temporary, fsync, rename; the temporary goes when anything fails.
#include "frontend/io/atomic_file.h"

#include <rt_tiny/runtime/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace tiny::io {
namespace {

constexpr size_t kMaxWrite_B = size_t{1} << 30;  // Linux moves less than 2 GiB a call

/// A rename would replace a device or a pipe by a regular file: refuse, nobody means that.
std::string refuse_special_file(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode))
    throw_system_error(fmt::format("write({})", path), S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
                       "the path names something other than a regular file");
  return path;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> serial{0};
  return fmt::format("{}.{}.{}.part", path, getpid(), serial.fetch_add(1));
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(refuse_special_file(path)),
      temporary_(temporary_name(path)),
      fd_(Fd::open(temporary_, O_WRONLY | O_CREAT | O_EXCL)) {}

AtomicFile::~AtomicFile() {
  if (fd_) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const uint8_t> bytes) {
  CHECK_INVARIANT(fd_, "written after commit");
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), std::min(bytes.size(), kMaxWrite_B));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_error(fmt::format("write({}, {} B)", path_, bytes.size()), errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFile::commit() {
  CHECK_INVARIANT(fd_, "committed twice");
  if (fsync(fd_.get()) != 0) throw_system_error(fmt::format("fsync({})", temporary_), errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw_system_error(fmt::format("rename({}, {})", temporary_, path_), errno);
  fd_.reset();
}

}  // namespace tiny::io
