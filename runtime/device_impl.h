// SPDX-License-Identifier: MIT
// The vendor-neutral half of a device: queues, work in flight, memory pool.
#pragma once

#include <rt_tiny/runtime/device.h>

#include "runtime/backend.h"
#include "runtime/memory_pool.h"

#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tiny {

struct Device::Impl {
  std::string name;
  std::unique_ptr<Backend> backend;
  uint64_t process = 0;
  MemoryPool pool;

  /// Guards everything below, and the encodings of this device's lists.
  std::mutex submit_mutex;
  std::vector<uint64_t> submitted;  ///< by queue: the last timeline value handed out
  struct InFlight {
    std::array<uint64_t, kMaxQueues> values{};
    std::shared_ptr<EncodedList> list;
    std::shared_ptr<const ProfileLayout> profile;
    std::vector<std::shared_ptr<Timeline>> waited;
    std::optional<Block> timestamps;
  };
  std::deque<InFlight> in_flight;
  std::vector<SegmentSubmit> segments;  ///< scratch of submit

  Impl(std::string name, std::unique_ptr<Backend> backend);

  bool retired(const std::array<uint64_t, kMaxQueues>& values) const;
  /// Drops what has finished, publishing its profile. Needs the lock.
  void retire();
  void publish_profile(const InFlight&);
  const ListState::Encoded& encode(ListState&, bool profiled);
  void find_waits(const ListState::Encoded&, std::span<const Buffer> bound, const SubmitArgs&);
  void mark_uses(const ListState::Encoded&, std::span<const Buffer> bound,
                 const std::array<uint64_t, kMaxQueues>& values);
  void throw_if_poisoned() const;
  void wait_idle();  ///< swallows faults
};

}  // namespace tiny
