// SPDX-License-Identifier: MIT
#include "drivers/amd/relay.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace tiny::amd {

Relay::~Relay() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

/// Deaf to signals meant for the program. Needs the lock.
void Relay::start() {
  changed_.notify_all();
  if (thread_.joinable()) return;
  sigset_t block, old;
  sigfillset(&block);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&block, fault);
  pthread_sigmask(SIG_SETMASK, &block, &old);
  thread_ = std::thread([this] { loop(); });
  pthread_setname_np(thread_.native_handle(), "tiny-amd-relay");
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

uint64_t Relay::wait(HwQueue& queue, size_t index, const Fence& fence) {
  std::lock_guard lock(mutex_);
  waits_[index].push_back({fence, ++gate_tickets_[index], &queue});
  start();
  return gate_tickets_[index];
}

uint64_t Relay::signal(HwQueue& queue, size_t index, const Fence& fence) {
  std::lock_guard lock(mutex_);
  signals_[index].push_back({fence, ++post_tickets_[index], &queue});
  start();
  return post_tickets_[index];
}

bool Relay::holds_a_queue() const {
  std::lock_guard lock(mutex_);
  return std::any_of(waits_.begin(), waits_.end(), [](const auto& w) { return !w.empty(); });
}

bool Relay::wants_restart(size_t queue) const {
  constexpr uint64_t kMany = 0xf000'0000;
  std::lock_guard lock(mutex_);
  return gate_tickets_[queue] > kMany || post_tickets_[queue] > kMany;
}

void Relay::restart(HwQueue& queue, size_t index) {
  std::unique_lock lock(mutex_);
  while (!signals_[index].empty()) step(lock);  // all are posted
  gate_tickets_[index] = post_tickets_[index] = 0;
  queue.gate().store(0);
  queue.post().store(0);
}

void Relay::abandon() {
  std::lock_guard lock(mutex_);
  for (auto& waits : waits_) waits.clear();
  for (auto& signals : signals_) signals.clear();
}

void Relay::loop() {
  constexpr auto kNap = std::chrono::microseconds(50);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool idle =
        std::all_of(waits_.begin(), waits_.end(), [](const auto& w) { return w.empty(); }) &&
        std::all_of(signals_.begin(), signals_.end(), [](const auto& s) { return s.empty(); });
    if (idle)
      changed_.wait(lock);
    else if (!step(lock))
      changed_.wait_for(lock, kNap);
  }
}

/// One pass over the heads; false when nothing could be done.
bool Relay::step(std::unique_lock<std::mutex>& lock) {
  bool moved = false;
  std::string death;
  for (auto& waits : waits_) {
    const auto passed = [](const Entry& w) { return w.fence.timeline()->reached(w.fence.value()); };
    while (!waits.empty() && passed(waits.front())) {
      waits.front().queue->gate().store(waits.front().ticket, std::memory_order_release);
      waits.pop_front();
      moved = true;
    }
    if (waits.empty()) continue;
    if (const auto& timeline = waits.front().fence.timeline(); timeline->poisoned()) {
      death = "waited for " + timeline->name() + ", which died: " + timeline->fault();
      waits.clear();
    }
  }
  for (auto& signals : signals_) {
    while (!signals.empty() && signals.front().queue->post().load(std::memory_order_acquire) >=
                                   signals.front().ticket) {
      const Fence fence = signals.front().fence;
      signals.pop_front();
      moved = true;
      lock.unlock();
      fence.timeline()->signal(fence.value());
      lock.lock();
    }
  }
  if (!death.empty()) {
    lock.unlock();
    died_(death);
    lock.lock();
  }
  return moved;
}

}  // namespace tiny::amd
