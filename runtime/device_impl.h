// SPDX-License-Identifier: MIT
// The vendor-neutral half of a device: queues, work in flight, memory pool.
#pragma once

#include <rt_tiny/runtime/device.h>

#include "runtime/backend.h"
#include "runtime/memory_pool.h"
#include "runtime/ring_queue.h"

#include <array>
#include <mutex>
#include <string>
#include <vector>

namespace tiny {

struct Device::Impl {
  std::string name;
  std::unique_ptr<Backend> backend;
  uint64_t process = 0;
  MemoryPool pool;
  std::array<Timeline*, kMaxQueues> timelines{};  ///< by queue; the back end's own

  /// Guards everything below, and the encodings of this device's lists.
  std::mutex submit_mutex;
  std::vector<uint64_t> submitted;  ///< by queue: the last timeline value handed out
  struct InFlight {
    std::array<uint64_t, kMaxQueues> values{};
    std::shared_ptr<EncodedList> list;
    std::shared_ptr<const ProfileLayout> profile;
    std::vector<std::shared_ptr<Timeline>> waited;
    std::optional<Block> timestamps;

    void clear();  ///< what it keeps alive; its vector keeps its memory
  };
  RingQueue<InFlight> in_flight;
  std::vector<SegmentSubmit> segments;  ///< scratch of submit

  Impl(std::string name, std::unique_ptr<Backend> backend);

  bool retired(const std::array<uint64_t, kMaxQueues>& values) const;
  /// Drops what has finished, publishing its profile. Needs the lock.
  void retire();
  void publish_profile(const InFlight&);
  const ListState::Encoded& encode(ListState&, bool profiled);
  /// Gives each segment its timeline value and what it waits for, and marks the memory touched.
  /// Returns the values that retire it all.
  std::array<uint64_t, kMaxQueues> order(const ListState::Encoded&, std::span<const Buffer> bound,
                                         const SubmitArgs&);
  void wait_for_touched(const std::vector<QueueTouch>&, size_t queue, std::span<const Buffer> bound,
                        SegmentSubmit& segment) const;
  void mark_uses(const std::vector<QueueTouch>&, size_t queue, std::span<const Buffer> bound,
                 uint64_t value) const;
  /// Memory for a profiled list's timestamps, as one more buffer behind the bound ones.
  std::shared_ptr<Allocation> add_clock(const std::shared_ptr<Device>&, const ListState&,
                                        const ProfileLayout&, std::span<const Buffer> bound,
                                        std::vector<Buffer>& out);
  void throw_if_poisoned() const;
  void wait_idle();  ///< swallows faults
};

}  // namespace tiny
