// SPDX-License-Identifier: MIT
// The random numbers' state. Every draw is threefry2x32 of a counter that counts numbers drawn, so
// a seed gives the same numbers on every device, eager or replayed.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <cstdint>

namespace tiny {

/// Restarts the numbers of every thread.
TINY_API void manual_seed(uint64_t seed);

/// Where the next numbers come from. Untraced, the counter is a number on the host and each draw
/// stores its own copy of it. Traced (one per thread, set by jit), it is the tensor `counter()`,
/// read and assigned by each draw, so that a replay continues where the last one ended.
class TINY_API RandomState {
 public:
  /// u64, shape {1}. Setting `traced` is the caller's business; see `begin_trace`.
  Tensor& counter() { return counter_; }
  bool traced = false;

  /// Makes the counter a stored tensor holding the next position; draws on this thread use it.
  void begin_trace();
  /// Back to the host counter. Returns how many numbers one replay of the trace draws.
  uint64_t end_trace();

  /// u64, shape {1}: the first of `count` counters that nobody else gets.
  Tensor take(uint64_t count);

 private:
  Tensor counter_;
  uint64_t drawn_ = 0;
};
/// This thread's.
TINY_API RandomState& random_state();

/// The host's position, for all threads together: replaying a trace advances it by what it draws.
TINY_API uint64_t random_position();
TINY_API void advance_random(uint64_t count);

}  // namespace tiny
