// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/doorbell.h"

#include "runtime/spin.h"

namespace tiny {

void Doorbell::ring(uint64_t value) {
  value_.store(value);  // seq_cst, as the pair in wait_past: one of the two sees the other
  if (sleepers_.load() == 0) return;
  std::lock_guard lock(mutex_);
  rung_.notify_all();
}

void Doorbell::stop() {
  std::lock_guard lock(mutex_);
  stopped_.store(true);
  rung_.notify_all();
}

uint64_t Doorbell::wait_past(uint64_t seen, uint64_t spin_ns) {
  auto ready = [&] { return value() != seen || stopped(); };
  if (!spin_until(ready, spin_ns)) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    rung_.wait(lock, [&] { return value_.load() != seen || stopped_.load(); });
    sleepers_.fetch_sub(1);
  }
  return value();
}

}  // namespace tiny
