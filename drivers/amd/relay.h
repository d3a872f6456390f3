// SPDX-License-Identifier: MIT
// Between this device's queues and timelines that its packets cannot reach (host memory, other
// devices): a thread that opens a queue's gate when a foreign timeline has passed, and advances
// foreign timelines when a queue says so. Started at the first use.
#pragma once

#include <rt_tiny/runtime/timeline.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "drivers/amd/queue.h"

namespace tiny::amd {

class Relay {
 public:
  /// `died`: a timeline that a queue waits for is dead.
  explicit Relay(std::function<void(const std::string&)> died) : died_(std::move(died)) {}
  ~Relay();

  /// The ticket at which the queue's gate opens: after the fence, and after the tickets before.
  uint64_t wait(HwQueue&, size_t queue, const Fence&);
  /// The ticket that the queue posts to advance the fence's timeline.
  uint64_t signal(HwQueue&, size_t queue, const Fence&);
  /// Somebody outside has to act before a queue can go on.
  bool holds_a_queue() const;
  /// Packets compare the low halves of tickets: before those run out, and while the queue has
  /// nothing left to do, they start anew.
  bool wants_restart(size_t queue) const;
  void restart(HwQueue&, size_t queue);
  /// The device died: nobody waits for it, it signals nobody.
  void abandon();

 private:
  /// Holds the fence's timeline: once the gate is open, its other owners may let go.
  struct Entry {
    Fence fence;
    uint64_t ticket;
    HwQueue* queue;
  };
  void start();
  void loop();
  bool step(std::unique_lock<std::mutex>&);

  std::function<void(const std::string&)> died_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::deque<Entry>, kMaxQueues> waits_, signals_;
  std::array<uint64_t, kMaxQueues> gate_tickets_{}, post_tickets_{};
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tiny::amd
