// SPDX-License-Identifier: MIT
// One hardware queue: its ring, pointers, doorbell, timeline and interrupt, and what every
// submission adds in front of its packets and behind them.
#pragma once

#include "drivers/amd/encoder.h"
#include "drivers/amd/memory.h"
#include "drivers/amd/stream.h"
#include "drivers/amd/topology.h"
#include "runtime/hwqueue/ring.h"
#include "runtime/hwqueue/signal.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tiny::amd {

enum class Engine : uint8_t { compute, copy };

/// What one submission consists of, for the ring.
struct RingSubmit {
  std::span<const std::pair<uint64_t, uint64_t>> waits;  ///< address and value of counters
  bool new_code = false;                                 ///< compute: drop cached instructions
  std::span<const uint32_t> setup;  ///< compute: registers set once earlier work is done
  std::span<const uint32_t> words;  ///< the packets; empty with `indirect`
  std::span<const Patch> patches;
  uint64_t indirect = 0;  ///< address of packets that lie elsewhere
  uint32_t indirect_dw = 0;
  uint64_t value = 0;  ///< of the timeline, in the end
  // For fault reports.
  const AmdList* list = nullptr;
  uint32_t segment = 0;
};

/// The page of words that packets and the host share. Outlives the queue while somebody holds its
/// timeline.
struct QueueControl {
  OwnedRegion region;
  std::atomic<int> sleepers{0};
  std::atomic<bool> closed{false};  ///< the queue is gone: nobody may sleep for it
};

class HwQueue {
 public:
  struct Config {
    Engine engine = Engine::compute;
    std::string name;
    size_t ring_dw = 1 << 16;
    uint32_t error_event = 0;  ///< signalled on exceptions of the queue; 0: none
  };
  /// `sleep`: see SignalTimeline; called with this queue.
  using Sleep = std::function<void(HwQueue&, uint64_t value, uint64_t timeout_ns)>;
  HwQueue(std::shared_ptr<Memory>, const Gpu&, Config, Sleep);
  ~HwQueue();

  const std::string& name() const { return config_.name; }
  Engine engine() const { return config_.engine; }
  const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
  const QueueWords& words() const { return words_; }
  const KfdEvent& event() const { return *event_; }
  /// Host's view of the gate and post words.
  std::atomic_ref<uint64_t> gate() const {
    return std::atomic_ref(*control_->region->as<uint64_t>(kGate_B));
  }
  std::atomic_ref<uint64_t> post() const {
    return std::atomic_ref(*control_->region->as<uint64_t>(kPost_B));
  }

  /// Can a submission with that many dwords of packets ever be written into the ring?
  bool fits(size_t body_dw) const { return ring_->fits(body_dw + kRoom_dw); }
  /// Queues it; blocks for room. By one thread at a time.
  void submit(const RingSubmit&, const PatchValues&);

  /// Takes the queue away from the GPU: nothing of it runs any more. Once.
  void stop() noexcept;
  /// What stands around the read pointer, decoded: the submission that did not finish.
  std::string report() const;
  /// Exceptions of this queue, a mask of 1 << (code - 1); 0: none.
  uint64_t exceptions() const;
  uint64_t read_pointer_dw() const;
  uint64_t submissions() const { return recent_count_.load(std::memory_order_relaxed); }
  uint64_t stalls() const { return ring_->stalls(); }

  // For the monitor: what it saw last, and the age of the event then.
  std::atomic<uint64_t> seen_key{0}, seen_ns{0}, event_age{1};

 private:
  static constexpr uint64_t kGate_B = 64, kPost_B = 128, kOrder_B = 192, kPayload_B = 256;
  /// Head, tail, waits for a few counters and the padding of an indirect packet.
  static constexpr size_t kRoom_dw = 160;

  struct Recent {
    uint64_t value = 0, begin_dw = 0, end_dw = 0;
    const AmdList* list = nullptr;
    uint32_t segment = 0;
  };

  void make_templates();
  void create(const Gpu&);
  void ring_doorbell(uint64_t put_dw) noexcept;
  uint32_t* put_waits(uint32_t* out, const RingSubmit&) const;
  uint32_t* put_head(uint32_t* out, const RingSubmit&) const;
  uint32_t* put_body(uint32_t* out, uint64_t position_dw, const RingSubmit&,
                     const PatchValues&) const;
  uint32_t* put_tail(uint32_t* out, const RingSubmit&) const;
  uint32_t* put_wait(uint32_t* out, uint64_t address, uint64_t value) const;
  bool carries(const RingSubmit& s) const {
    return config_.engine == Engine::copy && static_cast<uint32_t>(s.value) == 0;
  }
  size_t size_dw(const RingSubmit&) const;
  void log(const RingSubmit&, std::span<const uint32_t> words) const;

  std::shared_ptr<Memory> memory_;
  Config config_;
  OwnedRegion ring_memory_, pointers_, end_of_pipe_, save_area_;
  std::shared_ptr<QueueControl> control_;
  OwnedEvent event_;
  QueueWords words_;
  uint32_t queue_id_ = 0;
  std::atomic<bool> running_{false};
  void* doorbell_page_ = nullptr;
  uint64_t* doorbell_ = nullptr;
  std::shared_ptr<Timeline> timeline_;
  std::unique_ptr<Ring> ring_;
  Words head_, wait_, tail_;  ///< templates
  Words carry_;               ///< copy engine: the high half of the timeline
  size_t gcr_at_ = 0, value_at_ = 0, carry_at_ = 0;
  std::array<Recent, 64> recent_{};
  std::atomic<uint64_t> recent_count_{0};
};

}  // namespace tiny::amd
