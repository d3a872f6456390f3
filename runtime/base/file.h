// SPDX-License-Identifier: MIT
// Owners of file descriptors and mappings, and whole-file reads and atomic writes.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

/// Move-only owner of a file descriptor.
class TINY_API Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;

  /// open(2) with O_CLOEXEC added; throws SystemError.
  static Fd open(const std::string& path, int flags, int mode = 0644);

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// Move-only owner of an mmap'd region.
class TINY_API Mapping {
 public:
  Mapping() = default;
  ~Mapping() { reset(); }
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  /// Fresh zeroed pages, readable and writable. Throws SystemError.
  static Mapping anonymous(size_t size_B);
  /// A read-only private view of a whole file (an empty file gives an empty mapping).
  static Mapping of_file(const std::string& path);
  /// Takes over a region made by mmap.
  static Mapping adopt(void* data, size_t size_B);

  uint8_t* data() const { return data_; }
  size_t size_B() const { return size_B_; }
  std::span<const uint8_t> bytes() const { return {data_, size_B_}; }
  /// mprotect of [offset, offset + size); both multiples of the page size.
  void protect(size_t offset_B, size_t size_B, int protection);
  void reset();

 private:
  uint8_t* data_ = nullptr;
  size_t size_B_ = 0;
};

/// All bytes of a file; throws SystemError.
TINY_API std::vector<uint8_t> read_file(const std::string& path);

/// Whether bytes must be on the disk before the call returns, so that they survive a power cut.
enum class FileSync : uint8_t { no, yes };

/// Writes a file so that readers see the old bytes or the new ones, never a part: a temporary in
/// the same folder, fsync, rename. On failure the temporary is removed and SystemError thrown.
TINY_API void write_file_atomic(const std::string& path, std::span<const uint8_t> bytes,
                                FileSync sync = FileSync::yes);
TINY_API void write_file_atomic(const std::string& path, std::string_view text,
                                FileSync sync = FileSync::yes);

}  // namespace tiny
