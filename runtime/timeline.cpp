// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/timeline.h>

#include <rt_tiny/runtime/base/error.h>

#include "runtime/process.h"
#include "runtime/spin.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tiny {
namespace {

/// A host thread that waits gives its core away early: workers may need it.
constexpr uint64_t kHostSpin_ns = 50'000;
constexpr uint64_t kParkSlice_ns = 100'000'000;

}  // namespace

Timeline::Timeline(std::string name) : name_(std::move(name)), process_(process_generation()) {}
Timeline::~Timeline() = default;

void Timeline::wait(uint64_t value) { wait_for(value, std::numeric_limits<uint64_t>::max()); }

bool Timeline::wait_for(uint64_t value, uint64_t timeout_ns) {
  check_process(process_, "wait", "this fence's device");
  if (spin_until([&] { return retired(value); }, std::min(timeout_ns, kHostSpin_ns)) == false) {
    const uint64_t start_ns = steady_ns();
    while (!retired(value)) {
      const uint64_t elapsed_ns = steady_ns() - start_ns;
      if (elapsed_ns >= timeout_ns) return false;
      park(value, std::min(kParkSlice_ns, timeout_ns - elapsed_ns));
    }
  }
  if (!reached(value)) throw DeviceFault(fault());
  return true;
}

void Timeline::park(uint64_t value, uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  waiters_.fetch_add(1);  // seq_cst, as the load in wake: one of the two sees the other
  if (word_.load() < value && !poisoned_.load())
    changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns));
  waiters_.fetch_sub(1);
}

void Timeline::signal(uint64_t value) {
  uint64_t seen = word_.load(std::memory_order_relaxed);
  while (seen < value && !word_.compare_exchange_weak(seen, value)) {
  }
  wake();
}

void Timeline::wake() {
  if (waiters_.load() == 0) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Timeline::poison(const std::string& message) {
  {
    std::lock_guard lock(mutex_);
    if (!poisoned_.load(std::memory_order_relaxed)) fault_ = message;
    poisoned_.store(true);
  }
  changed_.notify_all();
}

std::string Timeline::fault() const {
  std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace tiny
