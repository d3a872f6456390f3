// SPDX-License-Identifier: MIT
// A file that is written piece by piece and appears under its name only when it is complete.
#pragma once

#include <rt_tiny/runtime/base/file.h>

#include <cstdint>
#include <span>
#include <string>

namespace tiny::io {

/// write_file_atomic for content that is never whole in memory. Without `commit` the destructor
/// removes what was written, and the file that had the name before is untouched.
class AtomicFile {
 public:
  /// Creates a temporary in the same folder; throws SystemError.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const uint8_t> bytes);
  /// fsync and rename. Nothing may be written afterwards.
  void commit();

 private:
  std::string path_, temporary_;
  Fd fd_;
};

}  // namespace tiny::io
