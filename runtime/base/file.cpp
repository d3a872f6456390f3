// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/file.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace tiny {
namespace {

constexpr size_t kMaxWrite_B = size_t{1} << 30;  // Linux moves less than 2 GiB a call

struct stat status_of(const Fd& fd, const std::string& path) {
  struct stat st;
  if (fstat(fd.get(), &st) != 0) throw_system_error(fmt::format("fstat({})", path), errno);
  return st;
}

void write_all(const Fd& fd, const std::string& path, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), std::min(bytes.size(), kMaxWrite_B));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_error(fmt::format("write({}, {} B)", path, bytes.size()), errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

/// A rename would replace a device or a pipe by a regular file: refuse, nobody means that.
void refuse_special_file(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode))
    throw_system_error(fmt::format("write({})", path), S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
                       "the path names something other than a regular file");
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> serial{0};
  return fmt::format("{}.{}.{}.tmp", path, getpid(), serial.fetch_add(1));
}

void write_and_rename(const std::string& temporary, const std::string& path,
                      std::span<const uint8_t> bytes, FileSync sync) {
  Fd fd = Fd::open(temporary, O_WRONLY | O_CREAT | O_EXCL);
  try {
    write_all(fd, temporary, bytes);
    if (sync == FileSync::yes && fsync(fd.get()) != 0)
      throw_system_error(fmt::format("fsync({})", temporary), errno);
    if (rename(temporary.c_str(), path.c_str()) != 0)
      throw_system_error(fmt::format("rename({}, {})", temporary, path), errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

Fd Fd::open(const std::string& path, int flags, int mode) {
  int fd;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) throw_system_error(fmt::format("open({})", path), errno);
  return Fd(fd);
}

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_B_(std::exchange(other.size_B_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_B_ = std::exchange(other.size_B_, 0);
  }
  return *this;
}

Mapping Mapping::anonymous(size_t size_B) {
  if (size_B == 0) return {};
  void* p = mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw_system_error(fmt::format("mmap({} B)", size_B), errno);
  return adopt(p, size_B);
}

Mapping Mapping::of_file(const std::string& path) {
  const Fd fd = Fd::open(path, O_RDONLY);
  const size_t size_B = static_cast<size_t>(status_of(fd, path).st_size);
  if (size_B == 0) return {};
  void* p = mmap(nullptr, size_B, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (p == MAP_FAILED) throw_system_error(fmt::format("mmap({}, {} B)", path, size_B), errno);
  return adopt(p, size_B);
}

Mapping Mapping::adopt(void* data, size_t size_B) {
  Mapping m;
  m.data_ = static_cast<uint8_t*>(data);
  m.size_B_ = size_B;
  return m;
}

void Mapping::protect(size_t offset_B, size_t size_B, int protection) {
  CHECK_INVARIANT(offset_B <= size_B_ && size_B <= size_B_ - offset_B, "outside the mapping");
  if (size_B != 0 && mprotect(data_ + offset_B, size_B, protection) != 0)
    throw_system_error(fmt::format("mprotect({} B, {:#x})", size_B, protection), errno);
}

void Mapping::reset() {
  if (data_) munmap(data_, size_B_);
  data_ = nullptr;
  size_B_ = 0;
}

std::vector<uint8_t> read_file(const std::string& path) {
  const Fd fd = Fd::open(path, O_RDONLY);
  // The size is a hint only: files in /proc say 0, and others may grow meanwhile.
  std::vector<uint8_t> bytes(static_cast<size_t>(std::max<off_t>(0, status_of(fd, path).st_size)));
  size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(used + std::max<size_t>(4096, used / 2));
    const ssize_t n =
        read(fd.get(), bytes.data() + used, std::min(bytes.size() - used, kMaxWrite_B));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_error(fmt::format("read({})", path), errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

void write_file_atomic(const std::string& path, std::span<const uint8_t> bytes, FileSync sync) {
  refuse_special_file(path);
  write_and_rename(temporary_name(path), path, bytes, sync);
}

void write_file_atomic(const std::string& path, std::string_view text, FileSync sync) {
  write_file_atomic(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()),
                    sync);
}

}  // namespace tiny
