// SPDX-License-Identifier: MIT
// A power-of-two ring of dwords between the host and a queue, with back-pressure: a slot is written
// again only after the fence that retires it. The device's read pointer is never trusted for that.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/timeline.h>

#include "runtime/hwqueue/wrap_space.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tiny {

struct RingConfig {
  std::span<uint32_t> memory;  ///< power-of-two dwords, as the device sees them
  std::shared_ptr<Timeline> timeline;
  /// Fills the dwords skipped at the end with no-operations.
  std::function<void(std::span<uint32_t>)> fill_padding;
  /// Tells the device that dwords below the position (monotonic, 64-bit) are ready. Called after a
  /// store fence: write the write pointer, then the doorbell.
  std::function<void(uint64_t put_dw)> ring_doorbell;
  uint64_t keep_free_dw = 0;
};

class TINY_API Ring {
 public:
  explicit Ring(RingConfig config);

  /// Contiguous dwords to fill; blocks while the device still owns them. Wraps with padding.
  std::span<uint32_t> reserve(size_t count_dw);
  /// Makes all reserved dwords visible; they retire when the timeline reaches `value`.
  void publish(uint64_t value);
  bool fits(size_t count_dw) const { return space_.fits(count_dw); }

  uint64_t put_dw() const { return space_.put(); }
  uint64_t stalls() const { return space_.stalls(); }

 private:
  RingConfig config_;
  WrapSpace space_;
};

/// Orders all earlier stores, also to write-combined memory, before later ones.
inline void store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#elif defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#endif
}

}  // namespace tiny
