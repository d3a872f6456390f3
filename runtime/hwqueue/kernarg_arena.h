// SPDX-License-Identifier: MIT
// Kernel argument blocks of work in flight: a wrapping bump allocator whose room comes back with
// the fence of the dispatch that read it.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/timeline.h>

#include "runtime/hwqueue/wrap_space.h"

#include <cstdint>
#include <memory>
#include <span>

namespace tiny {

class TINY_API KernargArena {
 public:
  /// `memory`: power-of-two bytes at device address `address`.
  KernargArena(std::span<uint8_t> memory, uint64_t address, std::shared_ptr<Timeline> timeline)
      : memory_(memory), address_(address), space_(memory.size(), std::move(timeline)) {}

  struct Slot {
    std::span<uint8_t> host;
    uint64_t address = 0;
  };
  /// Blocks while the room is in use. Alignment is a power of two.
  Slot allocate(size_t size_B, size_t align_B = 64) {
    const uint64_t at = space_.index(space_.take(size_B, align_B).position);
    return {memory_.subspan(at, size_B), address_ + at};
  }
  /// All that was allocated so far is free once the timeline reaches `value`.
  void retire_at(uint64_t value) { space_.retire_at(value); }
  bool fits(size_t size_B) const { return space_.fits(size_B); }
  uint64_t stalls() const { return space_.stalls(); }

 private:
  std::span<uint8_t> memory_;
  uint64_t address_;
  WrapSpace space_;
};

}  // namespace tiny
