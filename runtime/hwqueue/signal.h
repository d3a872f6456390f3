// SPDX-License-Identifier: MIT
// Memory words that a device writes and the host polls, each on a line of its own, and timelines
// over them.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/timeline.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tiny {

/// What the device releases: payload, then the clock at that moment. The host does not write the
/// line after the start, or it may read stale data from its own cache (seen on H100).
struct alignas(64) SignalLine {
  uint64_t value = 0;
  uint64_t clock = 0;
  uint64_t reserved[6] = {};
};
static_assert(sizeof(SignalLine) == 64);

/// Hands out lines of device-visible memory.
class TINY_API SignalMemory {
 public:
  SignalMemory(std::span<SignalLine> lines, uint64_t address);

  struct Slot {
    SignalLine* line = nullptr;
    uint64_t address = 0;
  };
  /// Zeroed. Throws SystemError when all lines are in use.
  Slot take();
  void give_back(const Slot&);

 private:
  std::span<SignalLine> lines_;
  uint64_t address_;
  std::mutex mutex_;
  std::vector<uint32_t> free_;
};

/// A timeline whose counter is a signal line. `sleep` blocks until an interrupt or the time is over
/// (an ioctl); without one the host polls.
class TINY_API SignalTimeline : public Timeline {
 public:
  using Sleep = std::function<void(uint64_t value, uint64_t timeout_ns)>;
  SignalTimeline(std::string name, SignalLine* line, Sleep sleep = {});

 protected:
  uint64_t load() const override;
  void park(uint64_t value, uint64_t timeout_ns) override;

 private:
  SignalLine* line_;
  Sleep sleep_;
};

}  // namespace tiny
