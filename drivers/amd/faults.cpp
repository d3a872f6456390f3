// SPDX-License-Identifier: MIT
#include "drivers/amd/faults.h"

#include "runtime/spin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace tiny::amd {
namespace {

constexpr uint32_t kSliceAged_ms = 100, kSliceAgeless_ms = 2;

}  // namespace

std::string to_string(const kfd_hsa_memory_exception_data& e) {
  if (e.ErrorType) return fmt::format("memory error (ECC, type {}) at {:#x}", e.ErrorType, e.va);
  std::string out = fmt::format("page fault at {:#x}:", e.va);
  if (e.failure.NotPresent) out += " the page is not mapped";
  if (e.failure.ReadOnly) out += " a write to a read-only page";
  if (e.failure.NoExecute) out += " code in a page without execution";
  if (e.failure.imprecise) out += " (the address is imprecise)";
  return out;
}

std::string to_string(const kfd_hsa_hw_exception_data& e) {
  return fmt::format("{} reset after {}{}",
                     e.reset_type == KFD_HW_EXCEPTION_WHOLE_GPU_RESET ? "GPU" : "engine",
                     e.reset_cause == KFD_HW_EXCEPTION_ECC ? "a memory error" : "a hang",
                     e.memory_lost ? "; the contents of its memory are lost" : "");
}

std::string exception_names(uint64_t mask) {
  std::string out;
#define EC(NAME, code) \
  if (mask >> ((code) - 1) & 1) out += (out.empty() ? "" : ", ") + std::string(#NAME);
  TINY_KFD_EXCEPTIONS(EC)
#undef EC
  return out.empty() ? fmt::format("exceptions {:#x}", mask) : out;
}

Monitor::Monitor(std::shared_ptr<Kfd> kfd, uint32_t gpu_id, uint64_t hang_ns)
    : kfd_(std::move(kfd)), gpu_id_(gpu_id), hang_ns_(hang_ns) {
  error_ = {kfd_, kfd_->create_event(KFD_IOC_EVENT_SIGNAL, gpu_id)};
  memory_ = {kfd_, kfd_->create_event(KFD_IOC_EVENT_MEMORY, gpu_id)};
  hardware_ = {kfd_, kfd_->create_event(KFD_IOC_EVENT_HW_EXCEPTION, gpu_id)};
}

void Monitor::watch(HwQueue* queue) {
  std::lock_guard lock(mutex_);
  queues_.push_back(queue);
}

void Monitor::forget(HwQueue* queue) {
  std::lock_guard lock(mutex_);
  std::erase(queues_, queue);
}

void Monitor::sleep(HwQueue& queue, uint64_t value, uint64_t timeout_ns) {
  // The age first: an interrupt between the look at the timeline and the wait then ends the wait.
  const uint64_t age = queue.event_age.load(std::memory_order_acquire);
  if (queue.timeline()->retired(value)) return;
  std::array<kfd_event_data, 4> events{};
  const uint32_t ids[] = {queue.event().id, error_->id, memory_->id, hardware_->id};
  for (size_t i = 0; i < events.size(); ++i) events[i].event_id = ids[i];
  if (kfd_->has_event_age()) events[0].signal_event_data.last_event_age = age;
  const uint32_t slice_ms = kfd_->has_event_age() ? kSliceAged_ms : kSliceAgeless_ms;
  const auto timeout_ms =
      static_cast<uint32_t>(std::clamp<uint64_t>(timeout_ns / 1'000'000, 1, slice_ms));
  const uint32_t result = kfd_->wait_events(events, timeout_ms);
  if (result == KFD_IOC_WAIT_RESULT_FAIL) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (result == KFD_IOC_WAIT_RESULT_COMPLETE && kfd_->has_event_age())
    queue.event_age.store(std::max(age, events[0].signal_event_data.last_event_age),
                          std::memory_order_release);
  check(events[2], events[3]);
  check_progress(queue);
}

void Monitor::check(const kfd_event_data& memory, const kfd_event_data& hardware) {
  if (dead()) return;
  const auto& m = memory.memory_exception_data;
  if (m.gpu_id == gpu_id_)
    return die(to_string(m) + "; the address is " + (describe ? describe(m.va) : "unknown"));
  const auto& h = hardware.hw_exception_data;
  if (h.gpu_id == gpu_id_) return die(to_string(h));
  std::string text;
  {
    std::lock_guard lock(mutex_);
    for (const HwQueue* q : queues_)
      if (const uint64_t mask = q->exceptions())
        text += fmt::format("{} queue: {}; ", q->name(), exception_names(mask));
  }
  if (!text.empty()) die(text.substr(0, text.size() - 2));
}

/// Anything that moves counts: the timeline, the read pointer, another submission.
void Monitor::check_progress(HwQueue& queue) {
  const uint64_t now_ns = steady_ns();
  const uint64_t done = queue.timeline()->value(), read_dw = queue.read_pointer_dw();
  const uint64_t count = queue.submissions();
  const uint64_t key = done * 0x9e3779b97f4a7c15 ^ read_dw * 0xc2b2ae3d27d4eb4f ^ count;
  if (queue.seen_key.exchange(key) != key || (waits_for_others && waits_for_others())) {
    queue.seen_ns.store(now_ns);
    return;
  }
  if (now_ns - queue.seen_ns.load() > hang_ns_)
    die(fmt::format("hang: the {} queue made no progress for {} s", queue.name(),
                    hang_ns_ / 1'000'000'000));
}

void Monitor::die(const std::string& what) {
  std::vector<HwQueue*> queues;
  {
    std::lock_guard lock(mutex_);
    if (dead_.exchange(true)) return;
    queues = queues_;
  }
  std::string text = what + "\n";
  for (const HwQueue* q : queues) text += q->report();
  for (HwQueue* q : queues) q->stop();
  if (on_death) on_death();
  for (HwQueue* q : queues) q->timeline()->poison(text);
}

}  // namespace tiny::amd
