// SPDX-License-Identifier: MIT
// The copy engine: SDMA 5.2 (gfx10.3) and 6.0 (gfx11). Masks are the bits that may be set in each
// dword.
#include "models/amd/chip.h"
#include "models/amd/pm4.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr uint32_t kAll = 0xffffffff;
constexpr uint64_t kChunk_B = 64 << 10;

enum Op : unsigned {
  kNop = 0,
  kCopy = 1,
  kWrite = 2,
  kIndirect = 4,
  kFence = 5,
  kTrap = 6,
  kPoll = 8,
  kAtomic = 10,
  kFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};

uint64_t join(uint32_t lo, uint32_t hi) { return uint64_t(hi) << 32 | lo; }

struct Shape {
  unsigned op, sub_op;
  const char* name;
  unsigned dwords;  ///< the fixed part
  std::vector<uint32_t> masks;
};

const std::vector<Shape>& shapes() {
  static const auto& all = *new std::vector<Shape>{
      {kNop, 0, "NOP", 1, {0x3fff00ff}},
      {kCopy, 0, "COPY_LINEAR", 7, {0x0200ffff, 0x3fffffff, 0x1f1f0000, kAll, kAll, kAll, kAll}},
      {kWrite, 0, "WRITE_LINEAR", 4, {0x1000ffff, kAll, kAll, 0x1f0fffff}},
      {kIndirect, 0, "INDIRECT", 6, {0x0000ffff, 0xffffffe0, kAll, 0xfffff, kAll, kAll}},
      {kFence, 0, "FENCE", 4, {0x17dfffff, kAll, kAll, kAll}},
      {kTrap, 0, "TRAP", 2, {0xffff, 0x0fffffff}},
      {kPoll, 0, "POLL_REGMEM", 6, {0xf570ffff, kAll, kAll, kAll, kAll, 0x0fffffff}},
      {kAtomic, 0, "ATOMIC", 8, {0xff71ffff, kAll, kAll, kAll, kAll, kAll, kAll, 0x1fff}},
      {kFill, 0, "CONST_FILL", 5, {0xd703ffff, kAll, kAll, kAll, 0x3fffffff}},
      {kTimestamp, 1, "TIMESTAMP_GET", 3, {0x1700ffff, kAll, kAll}},
      {kTimestamp, 2, "TIMESTAMP_GET_GLOBAL", 3, {0x1700ffff, kAll, kAll}},
      {kGcr, 0, "GCR_REQ", 5, {0xffff, 0xffffff80, kAll, 0xffffff87, 0x0f00ffff}},
      {kGcr, 1, "GCR_REQ", 5, {0xffff, 0xffffff80, kAll, 0xffffff87, 0x0f00ffff}},
  };
  return all;
}

const Shape* find_shape(uint32_t header) {
  for (const Shape& shape : shapes())
    if (shape.op == (header & 0xff) && shape.sub_op == (header >> 8 & 0xff)) return &shape;
  return nullptr;
}

bool compare(unsigned function, uint32_t value, uint32_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    case 6:
      return value > reference;
  }
  return false;
}

class Engine {
 public:
  Engine(Queue& queue, const std::vector<uint32_t>& packet, const Shape& shape)
      : q_(queue), p_(packet), shape_(shape), memory_(queue.gpu.memory) {}

  /// False: it has to wait.
  bool run() {
    if (shape_.op != kNop)
      q_.settle_early_fence(shape_.op == kPoll && address(1) == q_.early_fence);
    switch (shape_.op) {
      case kNop:
        return true;
      case kCopy:
        return copy();
      case kWrite:
        return write();
      case kIndirect:
        return indirect();
      case kFence:
        return fence();
      case kTrap:
        return trap();
      case kPoll:
        return poll();
      case kAtomic:
        return atomic();
      case kFill:
        return fill();
      case kTimestamp:
        return timestamp();
      case kGcr:
        return gcr();
    }
    return refuse("is not modelled");
  }

 private:
  bool refuse(const std::string& why) {
    q_.bad_packet(fmt::format("{} {}", shape_.name, why));
    return true;
  }
  bool fault(const MemoryFault& f) {
    if (f) q_.memory_fault(f, shape_.name);
    return bool(f);
  }
  uint64_t address(unsigned i) const { return join(p_[i], p_[i + 1]); }

  bool copy() {
    if (p_[2] != 0) return refuse("with swaps or cache policies is not modelled");
    if (p_[0] >> 25 & 1) return refuse("backwards is not modelled");
    const uint64_t size = uint64_t(p_[1] & 0x3fffffff) + 1;
    const uint64_t from = address(3), to = address(5);
    const Task task = q_.packet_task(
        fmt::format("{} of {} bytes from 0x{:x} to 0x{:x}", shape_.name, size, from, to));
    std::vector<std::byte> chunk(std::min(size, kChunk_B));
    for (uint64_t at = 0; at < size; at += kChunk_B) {
      const uint64_t n = std::min(size - at, kChunk_B);
      if (fault(memory_.read(task, from + at, chunk.data(), n))) return true;
      if (fault(memory_.write(task, to + at, chunk.data(), n))) return true;
    }
    stored(to);
    return true;
  }

  /// Stores may be in GL2 until it is written back, except in uncached memory.
  void stored(uint64_t to) {
    const GpuRange* const range = memory_.map.find(to);
    if (range && !range->uncached) q_.stored_tick = memory_.tick();
  }

  bool write() {
    if (address(1) % 4 != 0) return refuse(fmt::format("address 0x{:x} is misaligned", address(1)));
    const Task task = q_.packet_task(shape_.name);
    fault(memory_.write(task, address(1), p_.data() + 4, (p_.size() - 4) * 4));
    stored(address(1));
    return true;
  }

  bool fill() {
    const unsigned size_code = p_[0] >> 30;
    if (size_code == 3) return refuse("fillsize 3 does not exist");
    const uint64_t size = uint64_t(p_[4] & 0x3fffffff) + 1, unit = 1u << size_code;
    const uint64_t to = address(1);
    // The count is in bytes, minus one: of dwords, its low two bits are ignored.
    const uint64_t whole = size_code == 2 ? (size + 3) / 4 * 4 : size;
    if (to % unit != 0) return refuse(fmt::format("address 0x{:x} is misaligned", to));
    const Task task = q_.packet_task(shape_.name);
    std::vector<std::byte> chunk(std::min(whole, kChunk_B));
    for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = std::byte(p_[3] >> (i % unit * 8));
    for (uint64_t at = 0; at < whole; at += kChunk_B)
      if (fault(memory_.write(task, to + at, chunk.data(), std::min(whole - at, kChunk_B))))
        return true;
    stored(to);
    return true;
  }

  bool indirect() {
    const uint32_t size = p_[3] & 0xfffff;
    if (size == 0 || size % 8 != 0) return refuse(fmt::format("of {} dwords, not of 8s", size));
    if (!q_.buffers.empty()) return refuse("inside an indirect buffer");
    q_.buffers.push_back({address(1), size, 0});
    return true;
  }

  bool fence() {
    const uint64_t at = address(1);
    if (at % 4 != 0) return refuse(fmt::format("address 0x{:x} is misaligned", at));
    if (fault(memory_.write_word(at, 4, p_[3]))) return true;
    publish(at);
    if (q_.gpu.kernel.is_event_slot(at)) q_.rang_mailbox = true;
    return true;
  }

  /// The word says that all before is done.
  void publish(uint64_t at) {
    q_.gpu.kernel.order.release(memory_.word_host(at), q_.everything());
    if (!memory_.unwritten_since(q_.stored_tick)) return;
    q_.early_fence = at;
    q_.early_text = "copies";
  }

  bool trap() {
    q_.interrupt(p_[1]);
    return true;
  }

  bool poll() {
    const unsigned function = p_[0] >> 28 & 7;
    if (function == 7) return refuse("function 7 does not exist");
    if (!(p_[0] >> 31 & 1)) {
      const bool hdp_flush = p_[1] == 0 && p_[2] == 0x80000000 && function == 0;
      if (hdp_flush || (p_[0] >> 26 & 1)) return true;
      return refuse(fmt::format("of register 0x{:x} is not modelled", p_[1]));
    }
    const uint64_t at = address(1);
    if (at % 4 != 0) return refuse(fmt::format("address 0x{:x} is misaligned", at));
    uint64_t value = 0;
    if (fault(memory_.read_word(at, 4, &value))) return true;
    if (!compare(function, uint32_t(value) & p_[4], p_[3])) return false;
    q_.gpu.kernel.order.acquire(memory_.word_host(at), q_.clock);
    return true;
  }

  bool atomic() {
    const std::optional<PacketAtomic> op = packet_atomic(p_[0] >> 25);
    if (!op) return refuse(fmt::format("operation {} is not modelled", p_[0] >> 25));
    if (p_[0] >> 16 & 1) return refuse("that loops is not modelled");
    const uint64_t at = address(1);
    if (at % op->size_B != 0) return refuse(fmt::format("address 0x{:x} is misaligned", at));
    uint64_t old = 0;
    const Task task = q_.packet_task(shape_.name);
    if (fault(memory_.atomic(task, at, op->size_B, op->op, address(3), address(5), &old)))
      return true;
    publish(at);
    return true;
  }

  bool timestamp() {
    const uint64_t at = address(1);
    if (at % 8 != 0) return refuse(fmt::format("address 0x{:x} is not aligned to 8 bytes", at));
    if (fault(memory_.write_word(at, 8, gpu_clock()))) return true;
    q_.gpu.kernel.order.release(memory_.word_host(at), q_.clock);
    return true;
  }

  bool gcr() {
    const CacheAction action = gcr_action(p_[2] >> 16 | (p_[3] & 7) << 16);
    q_.refuse_to_lose(action, shape_.name);
    memory_.control(action);
    return true;
  }

  Queue& q_;
  const std::vector<uint32_t>& p_;
  const Shape& shape_;
  ChipMemory& memory_;
};

/// Dwords of a packet whose fixed part has been fetched.
uint64_t size_of(const Shape& shape, const std::vector<uint32_t>& fixed) {
  if (shape.op == kNop) return 1 + (fixed[0] >> 16 & 0x3fff);
  if (shape.op == kWrite) return 4 + uint64_t(fixed[3] & 0xfffff) + 1;
  return shape.dwords;
}

}  // namespace

bool Queue::step_sdma() {
  const bool from_ring = buffers.empty();
  Fetch* const ib = from_ring ? nullptr : &buffers.back();
  const uint64_t left_dw = from_ring ? (write - read) / 4 : ib->size_dw - ib->at_dw;
  const uint64_t to_end_dw = from_ring ? (args.ring_size - read % args.ring_size) / 4 : left_dw;
  const uint64_t base =
      from_ring ? args.ring_base_address + read % args.ring_size : ib->va + ib->at_dw * 4;
  if (from_ring && (write - read) % 4 != 0) {
    bad_packet(fmt::format("write pointer {} is not in whole dwords", write));
    return true;
  }
  const auto fetch = [&](uint64_t dwords) {
    if (dwords > left_dw) {
      bad_packet(fmt::format("packet of {} dwords, {} are left", dwords, left_dw));
      return false;
    }
    if (dwords > to_end_dw) {
      bad_packet("packet straddles the end of the ring");
      return false;
    }
    packet.resize(dwords);
    const MemoryFault f = gpu.memory.peek(base, packet.data(), dwords * 4);
    if (f) memory_fault(f, "fetching a packet");
    return !f;
  };
  if (!fetch(1)) return true;
  const Shape* shape = find_shape(packet[0]);
  if (!shape) {
    bad_packet(fmt::format("unknown packet header 0x{:08x}", packet[0]));
    return true;
  }
  if (!fetch(shape->dwords)) return true;
  if (!fetch(size_of(*shape, packet))) return true;
  tamper_with_packet();
  shape = find_shape(packet[0]);
  if (!shape) {
    bad_packet(fmt::format("unknown packet header 0x{:08x}", packet[0]));
    return true;
  }
  for (size_t i = 0; i < shape->masks.size(); ++i)
    if (packet[i] & ~shape->masks[i]) {
      bad_packet(fmt::format("{} dword {} is 0x{:08x}: bits 0x{:x} are reserved", shape->name, i,
                             packet[i], packet[i] & ~shape->masks[i]));
      return true;
    }
  const std::vector<uint32_t> copy = packet;
  if (!Engine(*this, copy, *shape).run()) return false;
  if (state != QueueState::running) return true;
  tampered.reset();
  ++gpu.kernel.stats.sdma_packets;
  if (from_ring) {
    advance(copy.size() * 4);
  } else {
    buffers.back().at_dw += uint32_t(copy.size());
    if (buffers.back().at_dw >= buffers.back().size_dw) buffers.pop_back();
  }
  return true;
}

}  // namespace tiny::models::amd
