// SPDX-License-Identifier: MIT
// The kernel interface: /dev/kfd and render nodes, opened once a process, and each ioctl as a
// function whose failure says what was asked. Knows no packets.
#pragma once

#include <rt_tiny/runtime/base/file.h>

#include "drivers/amd/kfd_abi.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tiny::amd {

class Kfd;

struct KfdAllocation {
  uint64_t handle = 0, mmap_offset = 0;
};

struct KfdEvent {
  uint32_t id = 0;
  uint64_t mailbox = 0;  ///< device address where a signal event's id is written; else 0
};

/// Destroys its event in the end. Move-only.
class OwnedEvent {
 public:
  OwnedEvent() = default;
  OwnedEvent(std::shared_ptr<Kfd> kfd, KfdEvent event) : kfd_(std::move(kfd)), event_(event) {}
  ~OwnedEvent();
  OwnedEvent(OwnedEvent&&) noexcept = default;
  OwnedEvent& operator=(OwnedEvent&& other) noexcept {
    std::swap(kfd_, other.kfd_);
    std::swap(event_, other.event_);
    return *this;
  }
  const KfdEvent& operator*() const { return event_; }
  const KfdEvent* operator->() const { return &event_; }

 private:
  std::shared_ptr<Kfd> kfd_;
  KfdEvent event_;
};

/// What was expected of a queue, for the message when the kernel refuses it.
struct QueueExpectation {
  std::string node;  ///< "gfx1100, 96 CUs, node says cwsr_size 0x…"
};

/// One a process, kept to its end: the kernel binds its memory to the first render file, the
/// event page and the queues to the process, whoever opens the device again.
class Kfd {
 public:
  /// Of this process (a forked child has its own). Throws SystemError.
  static std::shared_ptr<Kfd> open();
  ~Kfd();

  uint32_t minor_version() const { return minor_; }
  /// Waits notice an event that fired between a look at memory and the wait.
  bool has_event_age() const { return minor_ >= 14; }

  /// The render file of this GPU, bound to the process's address space there.
  int bind_gpu(uint32_t gpu_id, uint32_t render_minor);
  /// So that queue exceptions are reported; once, before the first queue. Optional.
  void enable_runtime();
  kfd_process_device_apertures apertures(uint32_t gpu_id) const;

  /// nullopt: out of memory. `user_pointer` for USERPTR.
  std::optional<KfdAllocation> allocate(uint32_t gpu_id, uint64_t va, uint64_t size_B,
                                        uint32_t flags, uint64_t user_pointer = 0) const;
  void free(uint64_t handle) const noexcept;
  void map(uint64_t handle, std::span<const uint32_t> gpu_ids) const;
  void unmap(uint64_t handle, std::span<const uint32_t> gpu_ids) const noexcept;
  /// A hint: memory of other clients is not counted. 0 where the kernel does not say.
  uint64_t available_B(uint32_t gpu_id) const noexcept;

  void create_queue(kfd_ioctl_create_queue_args&, const QueueExpectation&) const;
  void destroy_queue(uint32_t queue_id) const noexcept;
  /// The 8 KiB doorbell page of a queue that has this doorbell_offset.
  void* map_doorbells(uint64_t doorbell_offset, uint64_t page_B) const;
  /// Registers of an MMIO_REMAP allocation, at `at`; nullptr where the kernel refuses.
  void* map_registers(void* at, uint64_t size_B, uint64_t mmap_offset) const noexcept;

  KfdEvent create_event(uint32_t type, uint32_t gpu_id);
  void destroy_event(const KfdEvent&) const noexcept;
  /// KFD_IOC_WAIT_RESULT_*; any of the events ends the wait. FAIL also for an errno.
  uint32_t wait_events(std::span<kfd_event_data>, uint32_t timeout_ms) const noexcept;

  kfd_ioctl_get_clock_counters_args clocks(uint32_t gpu_id) const;
  /// Of the clock that packets write; 100 MHz where the render node does not say.
  uint64_t clock_Hz(int render_fd) const noexcept;

 private:
  struct EventPage {
    uint64_t handle = 0, address = 0;
    std::vector<uint32_t> gpu_ids;  ///< where it is mapped
  };
  Kfd();
  int call(unsigned long request, void* args) const noexcept;
  void make_event_page(uint32_t gpu_id);

  Fd fd_;
  uint32_t minor_ = 0;
  mutable std::mutex mutex_;
  std::map<uint32_t, Fd> render_;  ///< by gpu_id
  EventPage event_page_;
  bool page_announced_ = false, runtime_enabled_ = false;
};

/// Reserves addresses without memory behind them: PROT_NONE. Throws SystemError.
void* reserve_addresses(uint64_t size_B);

}  // namespace tiny::amd
