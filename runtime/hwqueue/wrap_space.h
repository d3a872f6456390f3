// SPDX-License-Identifier: MIT
// Bookkeeping of a circular space whose consumer is a queue: positions grow for ever, and room
// comes back only when the timeline value that retires it has passed. Shared by rings and arenas.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/timeline.h>

#include "runtime/ring_queue.h"

#include <cstdint>
#include <memory>

namespace tiny {

/// Units are the user's (dwords, bytes). One producer at a time.
class TINY_API WrapSpace {
 public:
  /// `capacity` a power of two; `keep_free` units are never filled (a GPFIFO's put may not catch up
  /// with its get).
  WrapSpace(uint64_t capacity, std::shared_ptr<Timeline> timeline, uint64_t keep_free = 0);

  /// Contiguous room for `count` units at a multiple of `align` (a power of two): the position,
  /// monotonic. Blocks until work that used the room has retired. What is skipped at the end of the
  /// space is reported as `padding` units before the position's wrap.
  struct Room {
    uint64_t position = 0;
    uint64_t padding_at = 0, padding = 0;
  };
  Room take(uint64_t count, uint64_t align = 1);
  /// Can `take(count)` ever succeed, whatever the position?
  bool fits(uint64_t count) const { return count <= (capacity_ - keep_free_) / 2; }
  /// Gives back the end of the last `take`.
  void shrink(uint64_t unused) { put_ -= unused; }
  /// All that was taken so far is free once the timeline reaches `value`.
  void retire_at(uint64_t value);

  uint64_t put() const { return put_; }
  uint64_t get() const { return get_; }  ///< first position not known to be free
  uint64_t capacity() const { return capacity_; }
  uint64_t index(uint64_t position) const { return position & (capacity_ - 1); }
  /// How often `take` had to wait.
  uint64_t stalls() const { return stalls_; }

 private:
  struct Mark {
    uint64_t end = 0, value = 0;
  };
  void collect();
  void wait_for_room(uint64_t end);

  uint64_t capacity_, keep_free_, put_ = 0, get_ = 0, stalls_ = 0;
  std::shared_ptr<Timeline> timeline_;
  RingQueue<Mark> marks_;
};

}  // namespace tiny
