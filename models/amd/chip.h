// SPDX-License-Identifier: MIT
// The machine's state behind the ioctls: GPUs with their queues, and the one process that uses
// them. Everything here is touched under Kernel::lock only.
#pragma once

#include "models/amd/abi.h"
#include "models/amd/chip_memory.h"
#include "models/amd/events.h"
#include "models/amd/model.h"
#include "models/amd/order.h"
#include "models/amd/profile.h"
#include "models/amd/shader.h"
#include "models/interpose/interpose.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace tiny::models::amd {

struct Gpu;
struct Kernel;

constexpr uint64_t kDoorbellSlice_B = 8192;  ///< a process's doorbells of one GPU
constexpr uint64_t kNotRung = ~0ull;         ///< in a doorbell the chip has taken
constexpr uint64_t kLdsAperture = 1ull << 48, kScratchAperture = 2ull << 48;
constexpr uint64_t kGpuVmBase = 16ull << 20, kGpuVmLimit = (1ull << 47) - 1;
constexpr uint64_t kClock_Hz = 100'000'000;  ///< of GPU timestamps

uint64_t gpu_clock();  ///< 100 MHz, runs with CLOCK_MONOTONIC_RAW

/// A dispatch or an end-of-pipe event that has been issued and is not complete.
struct InFlight {
  bool is_dispatch = false;             ///< else an event
  std::unique_ptr<Execution> dispatch;  ///< null where shaders do not run
  Task task;                            ///< of the dispatch
  std::function<void()> when_done;      ///< event: its effect; dispatch: completion signal
  std::string text;
  bool hung = false;
};

/// Where packets come from: the ring, then indirect buffers inside it.
struct Fetch {
  uint64_t va = 0;
  uint32_t size_dw = 0, at_dw = 0;
};

enum class QueueState : uint8_t { running, stopped, dead };
enum class Progress : uint8_t { none, some };

struct Queue {
  Queue(Gpu& owner, const abi::CreateQueue& args);

  Gpu& gpu;
  uint32_t id = 0;
  abi::QueueType type = abi::kCompute;
  abi::CreateQueue args{};
  QueueState state = QueueState::running;
  bool mapped = true;  ///< percentage and ring size are not zero
  std::string why_dead;
  std::vector<std::shared_ptr<Bo>> vital;
  uint64_t* doorbell = nullptr;
  uint64_t read = 0;  ///< dwords (PM4), bytes (SDMA), packets (AQL)
  uint64_t write = 0;
  // PM4
  std::vector<Fetch> buffers;  ///< indirect, innermost last
  std::vector<uint32_t> packet;
  std::optional<std::vector<uint32_t>> tampered;  ///< Model::tamper's version of the packet
  std::array<uint32_t, 0x400> sh{};
  std::array<bool, 0x400> sh_written{};
  uint32_t skip_dw = 0;  ///< COND_EXEC, PRED_EXEC
  std::deque<InFlight> in_flight;
  std::optional<uint64_t> poll_since;  ///< of the packet that waits
  bool aql_entered = false;            ///< the current AQL packet's IB runs
  uint64_t aql_scratch_asked = 0;
  // ordering
  unsigned packet_line = 0, dispatch_line = 0;
  unsigned stamp_line = 0;    ///< end-of-pipe stores of clocks: data like any other
  Clock clock;                ///< what the packet processor knows to be complete
  uint32_t stored_tick = 0;   ///< SDMA: of the last store that may have gone to GL2; 0: none
  uint64_t early_fence = 0;   ///< written ahead of the write-back, and nothing happened since
  std::string early_text;     ///< what it tells of
  bool rang_mailbox = false;  ///< an event's slot was written, and no interrupt raised since

  bool sdma() const { return type != abi::kCompute && type != abi::kComputeAql; }
  uint32_t ring_unit_B() const { return type == abi::kComputeAql ? 64 : sdma() ? 1 : 4; }
  std::string place() const;  ///< "queue 2 (PM4) ring offset 0x40"

  void take_doorbell();
  Progress step();  ///< one packet, or one slice of what is in flight
  bool has_work() const;
  void die(const std::string& why);

  // ---- for the packet processors
  void report(Report::Kind kind, const std::string& text);
  /// Reports, stops the queue, and tells the process.
  void bad_packet(const std::string& text);
  void memory_fault(const MemoryFault& fault, const std::string& text);
  void exception(unsigned code);
  void interrupt(uint32_t context_id);
  /// A fence ahead of the write-back is for this queue alone, which must wait for it at once.
  void settle_early_fence(bool waits_for_it = false);
  /// GL2 lines that are dropped without being written back are lost.
  void refuse_to_lose(const CacheAction& action, const std::string& packet_name);
  Task packet_task(const std::string& text);
  void issue_event(std::string text, std::function<void()> effect);
  void issue_dispatch(Launch launch, std::string text, std::function<void()> when_done);
  /// Dispatches that are in flight are complete and known.
  void wait_dispatches();
  /// So is everything.
  bool idle() const { return in_flight.empty(); }
  bool dispatches_done() const;
  /// What a fence behind everything issued so far tells.
  Clock everything() const;
  /// The words of the packet, through Model::tamper.
  void tamper_with_packet();
  void advance(uint64_t units);
  bool step_pm4();
  bool step_aql();
  bool step_sdma();
  bool step_in_flight();
  /// PM4 from buffers or ring; shared with AQL's indirect buffers.
  bool step_packet(bool from_ring);
};

struct Gpu {
  Gpu(Kernel& kernel, unsigned index);
  Kernel& kernel;
  unsigned index;
  uint32_t id;
  const Profile& profile;
  ChipMemory memory;
  ShaderEngine shaders;
  std::vector<std::unique_ptr<Queue>> queues;
  Bo doorbells, mmio;
  uint64_t vm_description = 0;  ///< of the render file whose VM is in use
  uint64_t vram_used_B = 0;
  std::map<uint64_t, std::pair<uint64_t, uint32_t>> svm;  ///< start → size, flags
  bool paused = false, hang_next = false;
  std::optional<uint64_t> fault_next;
  size_t turn = 0;
};

struct Failure {
  char type;
  unsigned nr, nth;
  int error;
};

struct Kernel {
  explicit Kernel(Options o);
  ~Kernel();
  void halt();  ///< ends the thread

  Options options;
  const Profile& prof;
  mutable std::mutex lock;
  std::condition_variable work;
  MemoryFile file;
  Events events;
  OrderBook order;
  Shadow shadow;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::map<uint64_t, std::shared_ptr<Bo>> bos;  ///< by handle
  uint64_t next_handle = 1, next_mmap_offset = 1ull << 32;
  uint32_t next_queue = 0;
  std::shared_ptr<Bo> event_page;
  bool runtime_enabled = false;
  unsigned open_files = 0;
  std::vector<Failure> failures;
  std::vector<Report> reports;
  Stats stats;
  Tamper tamper;
  std::shared_ptr<interpose::Tree> tree;
  int pid = 0;

  // the chip's thread
  std::thread thread;
  bool stop = false;
  std::atomic<int> callers{0};  ///< waiting for the lock: the chip gives way
  void start_thread();
  void run_thread();
  bool step();
  bool look_at_doorbells();
  bool resting();  ///< Options::delay_us
  std::chrono::steady_clock::time_point rest_until{};

  Gpu* gpu_by_id(uint32_t id);
  Queue* queue_by_id(uint32_t id);
  std::shared_ptr<Bo> bo(uint64_t handle);
  void report(Report::Kind kind, const std::string& text);
  int refuse(int error, const std::string& text);  ///< reports, returns -error
  int injected(char type, unsigned nr);            ///< 0, or -errno to fail with
  bool is_event_slot(uint64_t va) const;           ///< on the page of signal events
  void free_bo(const std::shared_ptr<Bo>& bo);
  void unmap_bo(Bo& bo, Gpu& gpu);
  void release_process();  ///< the last descriptor of /dev/kfd is gone
  void memory_exception(Gpu& gpu, const MemoryFault& fault);

  // kfd.cpp, drm.cpp
  interpose::Result kfd_ioctl(unsigned long request, void* argument);
  interpose::Result kfd_map(const interpose::MapRequest& request);
  interpose::Result drm_ioctl(Gpu& gpu, unsigned long request, void* argument);
  interpose::Result drm_map(Gpu& gpu, const interpose::MapRequest& request);
  void add_devices();
};

/// Locks as a caller that the chip's thread gives way to.
class CallerLock {
 public:
  explicit CallerLock(Kernel& kernel);
  std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tiny::models::amd
