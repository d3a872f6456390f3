// SPDX-License-Identifier: MIT
// Appends records to a trace file: one write() a record, never beyond the size it may have, also
// with several threads and processes at once. Never throws and never fails the program.
#pragma once

#include "tools/trace/format.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace tiny::trace {

/// Makes the file with its header, replacing what was there. Throws SystemError.
void create_trace(const std::string& path, const FileHeader& header);

class Writer {
 public:
  /// Opens a file made by create_trace. Where that fails, everything is counted as dropped.
  explicit Writer(const std::string& path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The first record that would go beyond the size is replaced by a `limit` record of `pid`.
  void append(std::span<const std::byte> encoded);
  bool is_open() const { return fd_.load() >= 0; }
  bool is_full() const { return full_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(); }
  std::uint64_t dropped_B() const { return dropped_B_.load(); }
  /// Room kept for the last words of every process: appended even where the file is full.
  void append_last(std::span<const std::byte> encoded);
  std::uint32_t flags() const { return header_.flags; }
  /// Our descriptor, which is not the program's to close; -1 if none.
  int fd() const { return fd_.load(); }

 private:
  bool reopen();
  /// Is `fd_` still our file? A program may close descriptors that it does not know, and open
  /// others in their place. Gives the size where it is.
  bool is_ours(std::uint64_t& size_B) const;
  void put(std::span<const std::byte> encoded);
  void drop(std::size_t size_B);
  void say_full(std::uint64_t size_B);

  std::string path_;
  FileHeader header_;
  std::atomic<int> fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<bool> full_ = false;
  std::atomic<std::uint64_t> dropped_ = 0, dropped_B_ = 0;
};

}  // namespace tiny::trace
