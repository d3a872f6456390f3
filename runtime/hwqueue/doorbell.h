// SPDX-License-Identifier: MIT
// A monotonic number that one side raises and a thread waits on: the doorbell of queues whose
// consumer is a host thread. Spins, then parks; ringing costs a store while nobody sleeps.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tiny {

class TINY_API Doorbell {
 public:
  void ring(uint64_t value);
  /// Wakes sleepers without a new value; see `stop`.
  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  uint64_t value() const { return value_.load(std::memory_order_acquire); }
  /// The value, once it differs from `seen` or the doorbell was stopped.
  uint64_t wait_past(uint64_t seen, uint64_t spin_ns);

 private:
  alignas(64) std::atomic<uint64_t> value_{0};
  std::atomic<bool> stopped_{false};
  alignas(64) std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable rung_;
};

}  // namespace tiny
