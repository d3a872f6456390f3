// SPDX-License-Identifier: MIT
// AQL queues: kernel dispatches by descriptor, barriers, AMD's vendor packets, completion signals,
// and the errors that go to the queue's inactive signal.
#include "models/amd/chip.h"
#include "models/amd/pm4.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

enum Type : unsigned { kVendor = 0, kInvalid = 1, kDispatch = 2, kBarrierAnd = 3, kBarrierOr = 5 };

// amd_queue_t, from its start.
constexpr uint64_t kWriteDispatchId = 0x38, kTmpring = 0x8c, kScratchSrd = 0x90, kScratchAt = 0xa0;
constexpr uint64_t kScratchLane_B = 0xb0, kInactiveSignal = 0xc0;
// amd_signal_t
constexpr uint64_t kValue = 8, kMailbox = 0x10, kEventId = 0x18, kStartTs = 0x20, kEndTs = 0x28;

enum QueueError : uint64_t {
  kScratchWave64 = 1,
  kBadDims = 2,
  kNullCode = 8,
  kBadFormat = 32,
  kTooLargeGroup = 64,
  kScratchWave32 = 0x400,
};

template <class T>
T field(const std::array<std::byte, 64>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

using Bytes = std::array<std::byte, 64>;

class Aql {
 public:
  Aql(Queue& queue, const Bytes& packet) : q_(queue), p_(packet), memory_(queue.gpu.memory) {}

  bool run() {
    const auto header = field<uint16_t>(p_, 0);
    if ((header >> 8 & 1) && !q_.aql_entered) {  // barrier bit: everything before is complete
      if (!q_.idle()) return false;
      q_.wait_dispatches();
    }
    switch (header & 0xff) {
      case kVendor:
        return vendor();
      case kDispatch:
        return dispatch();
      case kBarrierAnd:
        return barrier(true);
      case kBarrierOr:
        return barrier(false);
    }
    return error(kBadFormat, fmt::format("packet type {} is not modelled", header & 0xff));
  }

 private:
  uint64_t amd_queue() const { return q_.args.write_pointer_address - kWriteDispatchId; }

  template <class T>
  T queue_field(uint64_t at) {
    T value{};
    if (const MemoryFault f = memory_.peek(amd_queue() + at, &value, sizeof value))
      q_.memory_fault(f, "amd_queue_t");
    return value;
  }

  /// Bits of the inactive signal: a runtime waits for it to become non-zero.
  void raise(uint64_t code) {
    const auto signal = queue_field<uint64_t>(kInactiveSignal);
    if (signal == 0 || q_.state != QueueState::running) return;
    uint64_t value = 0;
    if (memory_.read_word(signal + kValue, 8, &value)) return;
    memory_.write_word(signal + kValue, 8, value | code);
    notify(signal);
  }

  void notify(uint64_t signal) {
    uint64_t mailbox = 0, id = 0;
    if (memory_.read_word(signal + kMailbox, 8, &mailbox) || mailbox == 0) return;
    if (memory_.read_word(signal + kEventId, 4, &id)) return;
    if (memory_.write_word(mailbox, 8, id)) return;
    ++q_.gpu.kernel.stats.interrupts;
    q_.gpu.kernel.events.interrupt(uint32_t(id));
  }

  bool error(uint64_t code, const std::string& text) {
    q_.report(Report::Kind::packet, text);
    raise(code);
    q_.die(text);
    return true;
  }

  void acquire() const {
    const unsigned scope = field<uint16_t>(p_, 0) >> 9 & 3;
    if (scope == 0) return;
    CacheAction a;
    a.glv_inv = a.gl1_inv = a.glk_inv = true;
    a.gl2_inv = scope == 2;
    memory_.control(a);
  }

  /// What happens when the packet's work is done.
  std::function<void()> completion(Clock clock) {
    const unsigned scope = field<uint16_t>(p_, 0) >> 11 & 3;
    const auto signal = field<uint64_t>(p_, 0x38);
    const uint64_t started = gpu_clock();
    return [q = &q_, packet = p_, scope, signal, started, clock] {
      CacheAction a;
      a.gl2_wb = scope == 2;
      if (scope != 0) q->gpu.memory.control(a);
      if (signal != 0) Aql(*q, packet).complete(signal, started, clock);
    };
  }

  void complete(uint64_t signal, uint64_t started, const Clock& clock) {
    if (const MemoryFault f = memory_.write_word(signal + kStartTs, 8, started))
      return q_.memory_fault(f, "completion signal");
    memory_.write_word(signal + kEndTs, 8, gpu_clock());
    const std::byte* const word = memory_.word_host(signal + kValue);
    std::atomic_ref<int64_t>(*reinterpret_cast<int64_t*>(const_cast<std::byte*>(word)))
        .fetch_sub(1);
    q_.gpu.kernel.order.release(word, clock);
    notify(signal);
  }

  bool barrier(bool all) {
    unsigned given = 0, passed = 0;
    for (unsigned i = 0; i < 5; ++i) {
      const auto signal = field<uint64_t>(p_, 8 + i * 8);
      if (signal == 0) continue;
      ++given;
      uint64_t value = 0;
      if (const MemoryFault f = memory_.read_word(signal + kValue, 8, &value)) {
        q_.memory_fault(f, "barrier packet");
        return true;
      }
      if (value != 0) continue;
      ++passed;
      q_.gpu.kernel.order.acquire(memory_.word_host(signal + kValue), q_.clock);
    }
    if (given != 0 && (all ? passed < given : passed == 0)) return false;
    acquire();
    q_.issue_event("barrier packet", completion(q_.everything()));
    return true;
  }

  bool vendor() {
    const auto format = field<uint16_t>(p_, 2) & 0xff;
    constexpr unsigned kPm4Ib = 1, kBarrierValue = 2;
    if (format == kPm4Ib) return pm4_ib();
    if (format == kBarrierValue) return barrier_value();
    return error(kBadFormat, fmt::format("vendor packet format {} is not modelled", format));
  }

  bool pm4_ib() {
    if (!q_.aql_entered) {
      acquire();
      const auto header = field<uint32_t>(p_, 4);
      if (header != 0xc0023f00)
        return error(kBadFormat, fmt::format("PM4-IB packet with header 0x{:08x}", header));
      const uint64_t va = uint64_t(field<uint32_t>(p_, 12)) << 32 | field<uint32_t>(p_, 8);
      q_.buffers.push_back({va, field<uint32_t>(p_, 16) & 0xfffff, 0});
      q_.aql_entered = true;
    }
    if (!q_.buffers.empty()) return q_.step_packet(false) ? again() : false;
    q_.aql_entered = false;
    q_.issue_event("PM4-IB packet", completion(q_.everything()));
    return true;
  }

  /// Some progress, but the packet is not finished.
  bool again() {
    unfinished = true;
    return true;
  }

  bool barrier_value() {
    const auto signal = field<uint64_t>(p_, 8);
    const auto reference = field<int64_t>(p_, 0x10), mask = field<int64_t>(p_, 0x18);
    const auto condition = field<uint32_t>(p_, 0x20);
    uint64_t value = 0;
    if (signal != 0) {
      if (const MemoryFault f = memory_.read_word(signal + kValue, 8, &value)) {
        q_.memory_fault(f, "barrier-value packet");
        return true;
      }
      const int64_t masked = int64_t(value) & mask;
      const bool pass = condition == 0   ? masked == reference
                        : condition == 1 ? masked != reference
                        : condition == 2 ? masked < reference
                                         : masked >= reference;
      if (!pass) return false;
      q_.gpu.kernel.order.acquire(memory_.word_host(signal + kValue), q_.clock);
    }
    acquire();
    q_.issue_event("barrier-value packet", completion(q_.everything()));
    return true;
  }

  // ---- kernel dispatch

  bool dispatch() {
    const auto object = field<uint64_t>(p_, 0x20);
    const unsigned dims = field<uint16_t>(p_, 2) & 3;
    if (dims == 0) return error(kBadDims, "dispatch with 0 dimensions");
    if (object == 0) return error(kNullCode, "dispatch of a null kernel object");
    Bytes kd{};
    if (const MemoryFault f = memory_.peek(object, kd.data(), kd.size())) {
      q_.memory_fault(f, "kernel descriptor");
      return true;
    }
    Launch l;
    for (unsigned d = 0; d < 3; ++d) {
      const auto group = field<uint16_t>(p_, 4 + d * 2);
      const auto grid = field<uint32_t>(p_, 0x0c + d * 4);
      if (group == 0 || grid == 0) return error(kBadDims, "dispatch with an empty dimension");
      l.group_size[d] = group;
      l.groups[d] = (grid + group - 1) / group;
      l.last_size[d] = grid % group;
    }
    if (uint64_t(l.group_size[0]) * l.group_size[1] * l.group_size[2] > 1024)
      return error(kTooLargeGroup, "workgroup of more than 1024 work-items");
    l.pc = object + field<uint64_t>(kd, 16);
    l.rsrc1 = field<uint32_t>(kd, 48);
    l.rsrc2 = field<uint32_t>(kd, 52);
    l.rsrc3 = field<uint32_t>(kd, 44);
    const auto properties = field<uint16_t>(kd, 56);
    l.wave32 = properties >> 10 & 1;
    l.lds_B = field<uint32_t>(p_, 0x1c);
    if (!scratch(l)) return q_.state != QueueState::running;
    user_sgprs(l, properties);
    if (q_.state != QueueState::running) return true;
    acquire();
    const std::string text = fmt::format("AQL dispatch {} of kernel 0x{:x}", q_.read, object);
    Clock clock = q_.clock;
    clock.set(q_.dispatch_line, q_.gpu.kernel.order.last(q_.dispatch_line) + 1);
    q_.issue_dispatch(std::move(l), text, completion(clock));
    return true;
  }

  /// False: not enough; the runtime has been asked, the packet waits.
  bool scratch(Launch& l) {
    const auto needed = field<uint32_t>(p_, 0x18);
    if (needed == 0) {
      l.rsrc2 &= ~1u;
      return true;
    }
    const auto lane_B = queue_field<uint32_t>(kScratchLane_B) * (l.wave32 ? 2 : 1);
    if (needed > lane_B) {
      const auto signal = queue_field<uint64_t>(kInactiveSignal);
      uint64_t value = 0;
      if (memory_.read_word(signal + kValue, 8, &value)) return false;
      if (value == 0 && q_.aql_scratch_asked != q_.read + 1) {
        q_.aql_scratch_asked = q_.read + 1;
        raise(l.wave32 ? kScratchWave32 : kScratchWave64);
      } else if (value == 0) {
        q_.aql_scratch_asked = 0;  // answered, and still too little
      }
      return false;
    }
    l.rsrc2 |= 1;
    fill_scratch(l, queue_field<uint32_t>(kTmpring), queue_field<uint64_t>(kScratchAt),
                 q_.gpu.profile);
    l.scratch_base = queue_field<uint64_t>(kScratchAt);
    return true;
  }

  /// The runtime leaves INDEX_STRIDE to the processor, which alone knows the wave's size (ROCr,
  /// FillBufRsrcWord3_Gfx10): 32 or 64 lanes.
  uint32_t scratch_srd3(bool wave32) {
    constexpr unsigned kIndexStride = 21;
    return (queue_field<uint32_t>(kScratchSrd + 12) & ~(3u << kIndexStride)) | (wave32 ? 2u : 3u)
                                                                                   << kIndexStride;
  }

  void user_sgprs(Launch& l, uint16_t properties) {
    unsigned next = 0;
    const auto push = [&](uint32_t value) {
      if (next < l.user_data.size()) l.user_data[next++] = value;
    };
    const auto push64 = [&](uint64_t value) {
      push(uint32_t(value));
      push(uint32_t(value >> 32));
    };
    if (properties & 1 << 0) {
      for (unsigned i = 0; i < 3; ++i) push(queue_field<uint32_t>(kScratchSrd + i * 4));
      push(scratch_srd3(l.wave32));
    }
    const uint64_t slots = q_.args.ring_size / 64;
    if (properties & 1 << 1) push64(q_.args.ring_base_address + q_.read % slots * 64);
    if (properties & 1 << 2) push64(amd_queue());
    if (properties & 1 << 3) push64(field<uint64_t>(p_, 0x28));
    if (properties & 1 << 4) push64(q_.read);
    if (properties & 1 << 5) {
      // gfx10: where this queue's scratch is; the kernel adds its wave's offset.
      push64(queue_field<uint64_t>(kScratchAt));
    }
    if (properties & 1 << 6) push(field<uint32_t>(p_, 0x18));
  }

  Queue& q_;
  const Bytes p_;
  ChipMemory& memory_;

 public:
  bool unfinished = false;
};

}  // namespace

bool Queue::step_aql() {
  if (read >= write) return false;
  const uint64_t at = args.ring_base_address + read % (args.ring_size / 64) * 64;
  uint64_t header = 0;
  if (const MemoryFault f = gpu.memory.read_word(at, 4, &header)) {
    memory_fault(f, "fetching an AQL packet");
    return true;
  }
  if ((header & 0xff) == kInvalid) return false;  // its producer has not finished it
  Bytes bytes{};
  if (const MemoryFault f = gpu.memory.peek(at, bytes.data(), bytes.size())) {
    memory_fault(f, "fetching an AQL packet");
    return true;
  }
  Aql aql(*this, bytes);
  if (!aql.run()) return false;
  if (aql.unfinished || state != QueueState::running) return true;
  ++gpu.kernel.stats.aql_packets;
  const uint16_t invalid = kInvalid;
  gpu.memory.poke(at, &invalid, sizeof invalid);
  advance(1);
  return true;
}

}  // namespace tiny::models::amd
