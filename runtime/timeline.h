// SPDX-License-Identifier: MIT
// Timelines: one monotonic 64-bit counter per queue, and fences that name a value of one.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tiny {

/// A counter that only grows. The base class keeps it in host memory and is signalled by the host
/// or by a host thread; a driver overrides `load` and `park` to read what its hardware writes.
/// Fences share it.
class TINY_API Timeline : public std::enable_shared_from_this<Timeline> {
 public:
  explicit Timeline(std::string name);
  virtual ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  const std::string& name() const { return name_; }
  /// The last value that has passed.
  uint64_t value() const { return load(); }
  bool reached(uint64_t value) const { return load() >= value; }
  /// Nothing that was submitted for `value` can still run: it passed, or the queue is dead.
  bool retired(uint64_t value) const { return reached(value) || poisoned(); }
  /// Blocks until `value` passed. Throws DeviceFault if the queue died before, UsageError in a
  /// forked child.
  void wait(uint64_t value);
  /// Same with a deadline; false when it passed first.
  bool wait_for(uint64_t value, uint64_t timeout_ns);
  /// Advances to `value`; smaller values change nothing.
  void signal(uint64_t value);

  /// Marks the queue dead. To be called once nothing of it runs any more; later waits for values
  /// not reached throw `message`. The first message stays.
  void poison(const std::string& message);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  std::string fault() const;

 protected:
  virtual uint64_t load() const { return word_.load(std::memory_order_acquire); }
  /// Sleeps until the value may have changed, at most `timeout_ns`.
  virtual void park(uint64_t value, uint64_t timeout_ns);
  /// Wakes everybody in the default `park`.
  void wake();

 private:
  alignas(64) std::atomic<uint64_t> word_{0};
  std::atomic<int> waiters_{0};
  std::atomic<bool> poisoned_{false};
  std::string name_;
  uint64_t process_;  ///< fork generation of the maker
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string fault_;
};

/// A value of a timeline. An empty fence has always passed.
class TINY_API Fence {
 public:
  Fence() = default;
  Fence(std::shared_ptr<Timeline> timeline, uint64_t value)
      : timeline_(std::move(timeline)), value_(value) {}

  /// Blocks; throws DeviceFault if the work failed.
  void wait() const {
    if (timeline_) timeline_->wait(value_);
  }
  /// Never blocks. Also true for failed work: `wait` then throws at once.
  bool done() const { return !timeline_ || timeline_->retired(value_); }
  const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
  uint64_t value() const { return value_; }
  friend bool operator==(const Fence&, const Fence&) = default;

 private:
  std::shared_ptr<Timeline> timeline_;
  uint64_t value_ = 0;
};

}  // namespace tiny
