// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/wrap_space.h"

#include <rt_tiny/runtime/base/error.h>

#include <bit>

namespace tiny {

WrapSpace::WrapSpace(uint64_t capacity, std::shared_ptr<Timeline> timeline, uint64_t keep_free)
    : capacity_(capacity), keep_free_(keep_free), timeline_(std::move(timeline)) {
  CHECK_INVARIANT(std::has_single_bit(capacity) && keep_free < capacity, "capacity of a ring");
}

void WrapSpace::collect() {
  while (!marks_.empty() && timeline_->retired(marks_.front().value)) {
    get_ = marks_.front().end;
    marks_.pop();
  }
}

void WrapSpace::wait_for_room(uint64_t end) {
  auto full = [&] { return end + keep_free_ - get_ > capacity_; };
  if (!full()) return;
  collect();
  while (full()) {
    CHECK_INVARIANT(!marks_.empty(), "one submission needs more than the whole ring");
    ++stalls_;
    try {
      timeline_->wait(marks_.front().value);
    } catch (const DeviceFault&) {  // a dead queue reads nothing: its room is free
    }
    collect();
  }
}

WrapSpace::Room WrapSpace::take(uint64_t count, uint64_t align) {
  Room room;
  room.position = (put_ + align - 1) & ~(align - 1);
  if (index(room.position) + count > capacity_ ||
      (index(room.position) == 0 && room.position != put_ && index(put_) != 0)) {
    const uint64_t wrapped = (put_ + capacity_ - 1) & ~(capacity_ - 1);
    room.padding_at = put_;
    room.padding = wrapped - put_;
    room.position = wrapped;
  }
  wait_for_room(room.position + count);
  put_ = room.position + count;
  return room;
}

void WrapSpace::retire_at(uint64_t value) {
  if (!marks_.empty() && marks_.back().value == value)
    marks_.back().end = put_;
  else
    marks_.push() = {put_, value};
}

}  // namespace tiny
