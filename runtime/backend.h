// SPDX-License-Identifier: MIT
// What a driver implements. The device (device.cpp) does everything vendor-neutral: caching memory,
// validation, hazards between queues, timeline values, lifetimes, profiles.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/target.h>
#include <rt_tiny/runtime/memory.h>
#include <rt_tiny/runtime/program.h>
#include <rt_tiny/runtime/timeline.h>

#include "runtime/list_state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiny {

/// A list in the driver's own form, kept for many submits. Holds no Buffer, Program or Device: work
/// in flight keeps it alive, and must not keep its own device alive.
class TINY_API EncodedList {
 public:
  virtual ~EncodedList();
};

/// One segment's share of a submission.
struct SegmentSubmit {
  uint64_t signal_value = 0;  ///< its queue's timeline reaches this when it finished
  std::vector<std::pair<Timeline*, uint64_t>> waits;  ///< before it starts
};

struct Submission {
  std::span<const Buffer> buffers;     ///< values of buffer symbols, validated
  std::span<const int64_t> variables;  ///< values of variable symbols
  std::span<const SegmentSubmit> segments;
};

class TINY_API Backend {
 public:
  virtual ~Backend();

  virtual const Target& target() const = 0;
  virtual std::string description() const = 0;

  // Memory. Reads, writes and fills are called after the work touching the block has retired.
  /// nullopt: out of memory. The device then frees its cache and asks once more.
  virtual std::optional<Block> allocate(size_t size_B, const AllocOptions&) = 0;
  /// nullopt: host memory cannot be reached.
  virtual std::optional<Block> import_host(void* pointer, size_t size_B) = 0;
  virtual void release(const Block&) noexcept = 0;
  virtual void read(const Block&, size_t offset_B, void* dst, size_t size_B) = 0;
  virtual void write(const Block&, size_t offset_B, const void* src, size_t size_B) = 0;

  virtual std::shared_ptr<ProgramCode> load(const Binary&) = 0;

  // Queues. Queue 0 computes; a queue runs its submissions in order.
  virtual size_t queue_count() const = 0;
  /// The queue that copies overlapping compute; 0 where there is none.
  virtual size_t copy_queue() const = 0;
  virtual std::string queue_name(size_t queue) const = 0;
  virtual const std::shared_ptr<Timeline>& timeline(size_t queue) const = 0;
  virtual std::unique_ptr<EncodedList> encode(const ListPlan&) = 0;
  /// Queues it; called by one thread at a time. Blocks only for room in rings. Must not throw: the
  /// timeline values are already promised.
  virtual void submit(EncodedList&, const Submission&) = 0;

  /// False: no timestamp command, no profile.
  virtual bool has_timestamps() const { return true; }
  /// Device clock to the host's steady clock.
  virtual uint64_t to_host_ns(uint64_t device_clock) const { return device_clock; }

  /// Says which allocation an address is in or near; set by the device, callable on any thread.
  std::function<std::string(uint64_t address)> describe_address;
};

}  // namespace tiny
