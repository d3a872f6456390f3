// SPDX-License-Identifier: MIT
// Events of one process, with the semantics of the kernel's kfd_events.c. The caller holds the lock
// given to wait() during every call; wait() releases it while it sleeps.
#pragma once

#include "models/amd/abi.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tiny::models::amd {

class Events {
 public:
  /// The page of slots, in our memory; null: none yet. Sets all slots unsignalled.
  void set_page(uint64_t* slots, uint64_t size_B);
  bool has_page() const { return slots_ != nullptr; }
  uint64_t* slots() const { return slots_; }

  /// 0, or -errno. Fills ids.
  int create(abi::CreateEvent& args);
  int destroy(uint32_t id);
  int set(uint32_t id);  ///< by the CPU: signal events only
  int reset(uint32_t id);
  /// A WAIT_EVENTS call. 0, or -errno; args.wait_result is set.
  int wait(std::unique_lock<std::mutex>& lock, abi::WaitEvents& args);

  /// The GPU raised an interrupt with this context id: a slot must have been written before.
  /// False where none was.
  bool interrupt(uint32_t context_id);
  void memory_fault(const abi::MemoryException& what);
  void gpu_reset(const abi::HwException& what);
  void kernel_set(uint32_t id);  ///< as the kernel does it for exceptions of queues
  bool awaited() const { return sleepers_ > 0; }
  void clear();  ///< everybody gone; waiters fail

 private:
  struct Waiter;
  struct Event {
    uint32_t id = 0, type = 0;
    bool auto_reset = false, signalled = false;
    uint64_t age = 1;
    abi::MemoryException memory{};
    abi::HwException hw{};
    std::vector<Waiter*> waiters;
  };
  struct Waiter {
    Event* event = nullptr;
    bool activated = false, age_enabled = false;
  };
  Event* find(uint32_t id);
  void signal(Event& event);
  int enlist(std::vector<Waiter>& waiters, const abi::EventData* data);
  static uint32_t condition(const std::vector<Waiter>& waiters, bool all);
  static void report(const std::vector<Waiter>& waiters, abi::EventData* data);
  static void withdraw(std::vector<Waiter>& waiters);

  std::map<uint32_t, std::unique_ptr<Event>> events_;
  uint32_t signals_ = 0, next_other_ = abi::kFirstOtherEvent;
  uint64_t* slots_ = nullptr;
  uint32_t slot_count_ = 0;
  unsigned sleepers_ = 0;  ///< threads inside wait()
  std::condition_variable changed_;
};

}  // namespace tiny::models::amd
