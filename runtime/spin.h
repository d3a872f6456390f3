// SPDX-License-Identifier: MIT
// Short waits that burn a core instead of sleeping: waking a parked thread costs 13–120 µs.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace tiny {

inline uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls until `ready` or the time is over; says which. On one core it polls once: whoever would
/// make it true needs that core.
template <class Ready>
bool spin_until(Ready&& ready, uint64_t budget_ns) {
  if (ready()) return true;
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (budget_ns == 0 || alone) return false;
  const uint64_t start_ns = steady_ns();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
  } while (steady_ns() - start_ns < budget_ns);
  return ready();
}

}  // namespace tiny
