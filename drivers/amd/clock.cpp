// SPDX-License-Identifier: MIT
#include "drivers/amd/clock.h"

namespace tiny::amd {
namespace {

constexpr uint64_t kRenew_ns = 500'000'000;
/// Below that the error of the samples weighs more than that of the nominal rate.
constexpr uint64_t kLongEnough_ns = 400'000'000;

}  // namespace

bool ClockMap::wants_sample(uint64_t now_ns) const {
  std::lock_guard lock(mutex_);
  return now_ns - last_.host_ns >= kRenew_ns;
}

void ClockMap::add(ClockSample sample) {
  std::lock_guard lock(mutex_);
  if (sample.host_ns > last_.host_ns && sample.device_ticks > last_.device_ticks) last_ = sample;
}

uint64_t ClockMap::to_host_ns(uint64_t device_ticks) const {
  std::lock_guard lock(mutex_);
  double ns_a_tick = 1e9 / static_cast<double>(Hz_);
  const uint64_t span_ns = last_.host_ns - first_.host_ns;
  if (span_ns >= kLongEnough_ns)
    ns_a_tick = static_cast<double>(span_ns) /
                static_cast<double>(last_.device_ticks - first_.device_ticks);
  const double ticks = static_cast<double>(static_cast<int64_t>(device_ticks - last_.device_ticks));
  return last_.host_ns + static_cast<uint64_t>(static_cast<int64_t>(ticks * ns_a_tick));
}

}  // namespace tiny::amd
