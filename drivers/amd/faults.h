// SPDX-License-Identifier: MIT
// Sleeping until a queue moves, and noticing on the way that the GPU faulted, was reset or hangs:
// then all queues are taken away and every wait throws what is known.
#pragma once

#include "drivers/amd/queue.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tiny::amd {

/// "page fault at 0x…: the page is not present", "GPU reset after a hang; …", "illegal
/// instruction".
std::string to_string(const kfd_hsa_memory_exception_data&);
std::string to_string(const kfd_hsa_hw_exception_data&);
std::string exception_names(uint64_t mask);

class Monitor {
 public:
  Monitor(std::shared_ptr<Kfd>, uint32_t gpu_id, uint64_t hang_ns);

  uint32_t error_event() const { return error_->id; }
  void watch(HwQueue*);
  void forget(HwQueue*);
  /// A timeline's sleep: returns when its queue may have moved.
  void sleep(HwQueue&, uint64_t value, uint64_t timeout_ns);
  /// Ends the device: once, safe from any thread.
  void die(const std::string& what);
  bool dead() const { return dead_.load(std::memory_order_acquire); }

  std::function<std::string(uint64_t address)> describe;  ///< whose memory
  std::function<bool()> waits_for_others;                 ///< then nothing hangs
  std::function<void()> on_death;                         ///< before the timelines are poisoned

 private:
  void check(const kfd_event_data& memory, const kfd_event_data& hardware);
  void check_progress(HwQueue&);

  std::shared_ptr<Kfd> kfd_;
  uint32_t gpu_id_;
  uint64_t hang_ns_;
  OwnedEvent memory_, hardware_, error_;
  std::mutex mutex_;
  std::vector<HwQueue*> queues_;
  std::atomic<bool> dead_{false};
};

}  // namespace tiny::amd
