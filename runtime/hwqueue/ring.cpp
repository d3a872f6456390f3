// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/ring.h"

namespace tiny {

Ring::Ring(RingConfig config)
    : config_(std::move(config)),
      space_(config_.memory.size(), config_.timeline, config_.keep_free_dw) {}

std::span<uint32_t> Ring::reserve(size_t count_dw) {
  const WrapSpace::Room room = space_.take(count_dw);
  if (room.padding)
    config_.fill_padding(config_.memory.subspan(space_.index(room.padding_at), room.padding));
  return config_.memory.subspan(space_.index(room.position), count_dw);
}

void Ring::publish(uint64_t value) {
  space_.retire_at(value);
  store_fence();
  config_.ring_doorbell(space_.put());
}

}  // namespace tiny
