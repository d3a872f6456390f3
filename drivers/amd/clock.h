// SPDX-License-Identifier: MIT
// The GPU's clock on the host's: two samples of both, the later one renewed now and then.
#pragma once

#include <cstdint>
#include <mutex>

namespace tiny::amd {

struct ClockSample {
  uint64_t device_ticks = 0, host_ns = 0;
};

class ClockMap {
 public:
  ClockMap(ClockSample first, uint64_t nominal_Hz) : first_(first), last_(first), Hz_(nominal_Hz) {}
  /// Is the last sample old enough for another?
  bool wants_sample(uint64_t now_ns) const;
  void add(ClockSample);
  uint64_t to_host_ns(uint64_t device_ticks) const;

 private:
  mutable std::mutex mutex_;
  ClockSample first_, last_;
  uint64_t Hz_;
};

}  // namespace tiny::amd
