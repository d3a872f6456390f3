// SPDX-License-Identifier: MIT
#include "models/amd/events.h"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace tiny::models::amd {
namespace {

uint64_t read_slot(uint64_t* slot) {
  return std::atomic_ref<uint64_t>(*slot).load(std::memory_order_acquire);
}
void clear_slot(uint64_t* slot) {
  std::atomic_ref<uint64_t>(*slot).store(abi::kUnsignalled, std::memory_order_release);
}

}  // namespace

void Events::set_page(uint64_t* slots, uint64_t size_B) {
  slots_ = slots;
  slot_count_ = uint32_t(std::min<uint64_t>(size_B / 8, abi::kSignalLimit));
  std::fill_n(slots, slot_count_, abi::kUnsignalled);
}

Events::Event* Events::find(uint32_t id) {
  const auto at = events_.find(id);
  return at == events_.end() ? nullptr : at->second.get();
}

int Events::create(abi::CreateEvent& args) {
  const bool signal = args.event_type == abi::kSignalEvent || args.event_type == abi::kDebugEvent;
  uint32_t id = 0;
  if (signal) {
    // Slot 0 is the kernel's own: ids run from 1.
    id = 1;
    while (id < slot_count_ && events_.count(id)) ++id;
    if (id >= slot_count_) return -ENOSPC;
    ++signals_;
    clear_slot(slots_ + id);
    args.event_slot_index = args.event_trigger_data = id;
    // Also for pages of the process's own: libhsakmt takes it for "there is a slot".
    args.event_page_offset = abi::kMmapEvents;
  } else {
    id = next_other_++;
  }
  auto event = std::make_unique<Event>();
  event->id = args.event_id = id;
  event->type = args.event_type;
  event->auto_reset = args.auto_reset != 0;
  events_[id] = std::move(event);
  return 0;
}

int Events::destroy(uint32_t id) {
  Event* const event = find(id);
  if (!event) return -EINVAL;
  for (Waiter* waiter : event->waiters) waiter->event = nullptr;
  if (id < abi::kFirstOtherEvent) --signals_;
  events_.erase(id);
  changed_.notify_all();
  return 0;
}

void Events::signal(Event& event) {
  event.signalled = !event.auto_reset || event.waiters.empty();
  ++event.age;
  for (Waiter* waiter : event.waiters) waiter->activated = true;
  changed_.notify_all();
}

int Events::set(uint32_t id) {
  Event* const event = find(id);
  if (!event || event->type != abi::kSignalEvent) return -EINVAL;
  signal(*event);
  return 0;
}

int Events::reset(uint32_t id) {
  Event* const event = find(id);
  if (!event || event->type != abi::kSignalEvent) return -EINVAL;
  event->signalled = false;
  return 0;
}

void Events::kernel_set(uint32_t id) {
  if (Event* const event = find(id)) signal(*event);
}

/// An id whose slot was not written is no signal; then all slots are looked through, as the kernel
/// does, for the hardware may have merged interrupts.
bool Events::interrupt(uint32_t context_id) {
  if (!slots_) return true;
  if (context_id < slot_count_ && read_slot(slots_ + context_id) != abi::kUnsignalled) {
    if (Event* const event = find(context_id)) {
      clear_slot(slots_ + context_id);
      signal(*event);
      return true;
    }
  }
  bool any = false;
  for (auto& [id, event] : events_) {
    if (id >= slot_count_ || read_slot(slots_ + id) == abi::kUnsignalled) continue;
    clear_slot(slots_ + id);
    signal(*event);
    any = true;
  }
  return any;
}

void Events::memory_fault(const abi::MemoryException& what) {
  for (auto& [id, event] : events_) {
    if (event->type != abi::kMemoryEvent) continue;
    event->memory = what;
    signal(*event);
  }
}

void Events::gpu_reset(const abi::HwException& what) {
  for (auto& [id, event] : events_) {
    if (event->type != abi::kHwExceptionEvent) continue;
    event->hw = what;
    signal(*event);
  }
}

void Events::clear() {
  while (!events_.empty()) destroy(events_.begin()->first);
  slots_ = nullptr;
  slot_count_ = 0;
  next_other_ = abi::kFirstOtherEvent;
}

int Events::enlist(std::vector<Waiter>& waiters, const abi::EventData* data) {
  for (size_t i = 0; i < waiters.size(); ++i) {
    Event* const event = find(data[i].event_id);
    if (!event) return -EINVAL;
    Waiter& waiter = waiters[i];
    waiter.event = event;
    waiter.activated = event->signalled;
    event->signalled = event->signalled && !event->auto_reset;
    if (event->type == abi::kSignalEvent && data[i].last_event_age != 0) {
      waiter.age_enabled = true;
      if (event->age != data[i].last_event_age) waiter.activated = true;
    }
    if (!waiter.activated) event->waiters.push_back(&waiter);
  }
  return 0;
}

uint32_t Events::condition(const std::vector<Waiter>& waiters, bool all) {
  size_t activated = 0;
  for (const Waiter& waiter : waiters) {
    if (!waiter.event) return abi::kWaitFail;
    if (!waiter.activated) continue;
    if (!all) return abi::kWaitDone;
    ++activated;
  }
  return activated == waiters.size() ? abi::kWaitDone : abi::kWaitTimeout;
}

void Events::report(const std::vector<Waiter>& waiters, abi::EventData* data) {
  for (size_t i = 0; i < waiters.size(); ++i) {
    const Waiter& waiter = waiters[i];
    if (!waiter.event || !waiter.activated) continue;
    if (waiter.event->type == abi::kMemoryEvent) data[i].memory = waiter.event->memory;
    if (waiter.event->type == abi::kHwExceptionEvent) data[i].hw = waiter.event->hw;
    if (waiter.age_enabled) data[i].last_event_age = waiter.event->age;
  }
}

void Events::withdraw(std::vector<Waiter>& waiters) {
  for (Waiter& waiter : waiters)
    if (waiter.event) std::erase(waiter.event->waiters, &waiter);
}

int Events::wait(std::unique_lock<std::mutex>& lock, abi::WaitEvents& args) {
  using Clock = std::chrono::steady_clock;
  auto* const data = reinterpret_cast<abi::EventData*>(args.events_ptr);
  std::vector<Waiter> waiters(args.num_events);
  int error = enlist(waiters, data);
  uint32_t result = abi::kWaitFail;
  if (error == 0) {
    const bool forever = args.timeout == 0xffffffff;
    ++sleepers_;
    const auto until = Clock::now() + std::chrono::milliseconds(args.timeout);
    while ((result = condition(waiters, args.wait_for_all != 0)) == abi::kWaitTimeout) {
      if (forever) {
        changed_.wait(lock);
      } else if (args.timeout == 0 || changed_.wait_until(lock, until) == std::cv_status::timeout) {
        result = condition(waiters, args.wait_for_all != 0);
        break;
      }
    }
    --sleepers_;
    if (result == abi::kWaitDone) report(waiters, data);
    if (result == abi::kWaitFail) error = -EIO;
  }
  withdraw(waiters);
  args.wait_result = result;
  return error;
}

}  // namespace tiny::models::amd
