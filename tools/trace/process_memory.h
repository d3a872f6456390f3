// SPDX-License-Identifier: MIT
// Reads memory that may not be there: of this process, without ever faulting, or of a test.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <vector>

namespace tiny::trace {

/// Memory by address. What a watcher reads rings and buffers with.
class Memory {
 public:
  virtual ~Memory() = default;
  /// As many bytes from `address` on as can be read, at most size_B; possibly none.
  virtual std::vector<std::byte> read(std::uint64_t address, std::size_t size_B) const = 0;

  /// False where not all of it can be read.
  template <class T>
  bool read_value(std::uint64_t address, T& value) const {
    const std::vector<std::byte> bytes = read(address, sizeof(T));
    if (bytes.size() != sizeof(T)) return false;
    __builtin_memcpy(&value, bytes.data(), sizeof(T));
    return true;
  }
};

/// This process's memory. The kernel does the reading (process_vm_readv on ourselves; a write into
/// a pipe for what that does not reach), so a bad pointer is an answer and not a crash.
const Memory& own_memory();

}  // namespace tiny::trace
