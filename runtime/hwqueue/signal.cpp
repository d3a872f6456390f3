// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/signal.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tiny {

SignalMemory::SignalMemory(std::span<SignalLine> lines, uint64_t address)
    : lines_(lines), address_(address) {
  for (size_t i = lines.size(); i > 0; --i) free_.push_back(static_cast<uint32_t>(i - 1));
}

SignalMemory::Slot SignalMemory::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty())
    throw SystemError("[signal] all " + std::to_string(lines_.size()) + " signal lines are in use");
  const uint32_t index = free_.back();
  free_.pop_back();
  lines_[index] = {};
  return {&lines_[index], address_ + index * sizeof(SignalLine)};
}

void SignalMemory::give_back(const Slot& slot) {
  std::lock_guard lock(mutex_);
  free_.push_back(static_cast<uint32_t>(slot.line - lines_.data()));
}

SignalTimeline::SignalTimeline(std::string name, SignalLine* line, Sleep sleep)
    : Timeline(std::move(name)), line_(line), sleep_(std::move(sleep)) {}

uint64_t SignalTimeline::load() const {
  return std::atomic_ref(line_->value).load(std::memory_order_acquire);
}

void SignalTimeline::park(uint64_t value, uint64_t timeout_ns) {
  if (sleep_) return sleep_(value, timeout_ns);
  constexpr uint64_t kPoll_ns = 20'000;
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(timeout_ns, kPoll_ns)));
}

}  // namespace tiny
