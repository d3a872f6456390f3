// SPDX-License-Identifier: MIT
// The compute packet processor: PM4 type 3 of gfx10.3 and gfx11. Masks are the bits that may be set
// in each dword of a packet (PAL's MEC packet headers).
#include "models/amd/pm4.h"
#include "models/amd/chip.h"

#include <algorithm>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr uint32_t kAll = 0xffffffff, kAligned4 = 0xfffffffc;
// event 5:0, wait_sync 7, index 11:8, GCR 24:12 (23:12), cache policy 26:25, status 28, GLK_INV 30
constexpr uint32_t kReleaseGfx11 = 0x57ffffbf, kReleaseGfx10 = 0x16ffff3f;
constexpr unsigned kClocks = 3;  ///< data_sel from here on: a clock's value
constexpr unsigned kUconfigBase = 0xc000;
constexpr unsigned kHdpReq = 0xe26, kHdpDone = 0xe27;  ///< BIF_BX_PF0_GPU_HDP_FLUSH_*

enum Register : unsigned {  // dwords from kShBase
  kDispatchInitiator = 0x200,
  kStartX = 0x204,
  kNumThreadX = 0x207,
  kPgmLo = 0x20c,
  kScratchBaseLo = 0x210,
  kRsrc1 = 0x212,
  kRsrc2 = 0x213,
  kResourceLimits = 0x215,
  kTmpringSize = 0x218,
  kRestartX = 0x21b,
  kRsrc3Gfx11 = 0x228,
  kRsrc3Gfx10 = 0x22b,
  kUserData = 0x240,
};

enum Op : unsigned {
  NOP = 0x10,
  DISPATCH_DIRECT = 0x15,
  DISPATCH_INDIRECT = 0x16,
  ATOMIC_MEM = 0x1e,
  COND_EXEC = 0x22,
  PRED_EXEC = 0x23,
  WRITE_DATA = 0x37,
  WAIT_REG_MEM = 0x3c,
  INDIRECT_BUFFER = 0x3f,
  COPY_DATA = 0x40,
  PFP_SYNC_ME = 0x42,
  EVENT_WRITE = 0x46,
  RELEASE_MEM = 0x49,
  DMA_DATA = 0x50,
  ACQUIRE_MEM = 0x58,
  SET_SH_REG = 0x76,
  SET_UCONFIG_REG = 0x79,
  WAIT_REG_MEM64 = 0x93,
};

struct Shape {
  unsigned op;
  const char* name;
  unsigned dwords;              ///< with header; 0: any
  std::vector<uint32_t> masks;  ///< from dword 1
};

const std::vector<Shape>& shapes(bool gfx11) {
  const auto make = [](bool g11) {
    return std::vector<Shape>{
        {NOP, "NOP", 0, {}},
        {DISPATCH_DIRECT, "DISPATCH_DIRECT", 5, {kAll, kAll, kAll, kAll}},
        {DISPATCH_INDIRECT, "DISPATCH_INDIRECT", 4, {kAligned4, kAll, kAll}},
        {ATOMIC_MEM, "ATOMIC_MEM", 9, {0x06000f7f, kAll, kAll, kAll, kAll, kAll, kAll, 0x1fff}},
        {COND_EXEC, "COND_EXEC", 5, {kAligned4, kAll, 0x06000000, 0x3fff}},
        {PRED_EXEC, "PRED_EXEC", 2, {0xff003fff}},
        {WRITE_DATA, "WRITE_DATA", 0, {0x06110f00, kAligned4, kAll}},
        {WAIT_REG_MEM, "WAIT_REG_MEM", 7, {0x07c000f7, kAll, kAll, kAll, kAll, 0x8000ffff}},
        {WAIT_REG_MEM64,
         "WAIT_REG_MEM64",
         9,
         {0x07c000f7, kAll, kAll, kAll, kAll, kAll, kAll, 0x8000ffff}},
        {INDIRECT_BUFFER, "INDIRECT_BUFFER", 4, {kAligned4, kAll, 0x3fbfffff}},
        {COPY_DATA, "COPY_DATA", 6, {0x26116f0f, kAll, kAll, kAll, kAll}},
        {PFP_SYNC_ME, "PFP_SYNC_ME", 2, {kAll}},
        {EVENT_WRITE, "EVENT_WRITE", 0, {0xe0000f3f, 0xfffffff8, kAll}},
        {RELEASE_MEM,
         "RELEASE_MEM",
         8,
         {g11 ? kReleaseGfx11 : kReleaseGfx10, 0xe7f30000, kAligned4, kAll, kAll, kAll, kAll}},
        {DMA_DATA, "DMA_DATA", 7, {0x66306000, kAll, kAll, kAll, kAll, kAll}},
        {ACQUIRE_MEM, "ACQUIRE_MEM", 8, {0, kAll, 0xff, kAll, 0xffffff, 0xffff, 0x7ffff}},
        {SET_SH_REG, "SET_SH_REG", 0, {0xffff}},
        {SET_UCONFIG_REG, "SET_UCONFIG_REG", 0, {0xffff}},
    };
  };
  static const auto& ten = *new std::vector<Shape>(make(false));
  static const auto& eleven = *new std::vector<Shape>(make(true));
  return gfx11 ? eleven : ten;
}

uint64_t join(uint32_t lo, uint32_t hi) { return uint64_t(hi) << 32 | lo; }

bool compare(unsigned function, uint64_t value, uint64_t reference) {
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

/// Executes one whole packet of a queue. Every handler returns false where the packet has to wait.
class Processor {
 public:
  Processor(Queue& queue, const std::vector<uint32_t>& packet, const Shape& shape)
      : q_(queue), p_(packet), shape_(shape), memory_(queue.gpu.memory) {}

  bool run() {
    settle_early_fence();
    switch (shape_.op) {
      case NOP:
      case PFP_SYNC_ME:
        return true;
      case SET_SH_REG:
        return set_sh();
      case SET_UCONFIG_REG:
        return set_uconfig();
      case INDIRECT_BUFFER:
        return indirect();
      case DISPATCH_DIRECT:
        return dispatch({p_[1], p_[2], p_[3]}, p_[4]);
      case DISPATCH_INDIRECT:
        return dispatch_indirect();
      case EVENT_WRITE:
        return event_write();
      case ACQUIRE_MEM:
        return acquire_mem();
      case RELEASE_MEM:
        return release_mem();
      case WAIT_REG_MEM:
        return wait(4, p_[4], p_[5], p_[6]);
      case WAIT_REG_MEM64:
        return wait(8, join(p_[4], p_[5]), join(p_[6], p_[7]), p_[8]);
      case WRITE_DATA:
        return write_data();
      case COPY_DATA:
        return copy_data();
      case ATOMIC_MEM:
        return atomic_mem();
      case DMA_DATA:
        return dma_data();
      case COND_EXEC:
        return cond_exec();
      case PRED_EXEC:
        return pred_exec();
    }
    return refuse("is not modelled");
  }

 private:
  std::string name() const { return shape_.name; }
  bool refuse(const std::string& why) {
    q_.bad_packet(name() + " " + why);
    return true;
  }
  bool fault(const MemoryFault& f) {
    if (f) q_.memory_fault(f, name());
    return bool(f);
  }

  /// Another release to the same word may stand between the fence and its wait.
  void settle_early_fence() {
    const unsigned at = shape_.op == WAIT_REG_MEM ? 2 : shape_.op == RELEASE_MEM ? 3 : 0;
    if (shape_.op == NOP || q_.early_fence == 0) return;
    const bool same = at != 0 && join(p_[at], p_[at + 1]) == q_.early_fence;
    if (!(same && shape_.op == RELEASE_MEM)) q_.settle_early_fence(same);
  }

  bool set_sh() {
    const unsigned first = p_[1];
    for (unsigned i = 2; i < p_.size(); ++i) {
      const unsigned reg = first + i - 2;
      if (reg < 0x200 || reg > 0x27f)
        return refuse(fmt::format("sets register 0x{:x}, which is not a compute register", reg));
      q_.sh[reg] = p_[i];
      q_.sh_written[reg] = true;
    }
    return true;
  }

  bool set_uconfig() {
    if (p_[1] + kUconfigBase + p_.size() - 2 > 0x10000) return refuse("leaves the UCONFIG space");
    return true;
  }

  bool indirect() {
    const uint32_t size = p_[3] & 0xfffff;
    const bool chain = p_[3] >> 20 & 1;
    if (!(p_[3] >> 23 & 1)) return refuse("without VALID");
    if (p_[3] >> 24 & 15) return refuse("with a VMID, which only the kernel may choose");
    if (size == 0) return refuse("of 0 dwords");
    Fetch next{join(p_[1], p_[2]), size, 0};
    if (!memory_.map.find(next.va)) return fault({AccessFault::not_present, next.va});
    if (chain) {
      if (q_.buffers.empty()) return refuse("chains outside an indirect buffer");
      q_.buffers.back() = next;
      return true;
    }
    if (q_.buffers.size() >= 2) return refuse("is nested three deep");
    q_.buffers.push_back(next);
    return true;
  }

  bool event_write() {
    const unsigned type = p_[1] & 0x3f, index = p_[1] >> 8 & 15;
    constexpr unsigned kCsPartialFlush = 7, kThreadTraceFinish = 0x37;
    if (type == kCsPartialFlush) {
      if (index != 4) return refuse(fmt::format("CS_PARTIAL_FLUSH with index {}, not 4", index));
      if (p_.size() != 2) return refuse("CS_PARTIAL_FLUSH has no address");
      // Waves only: stores at the end of the pipe may still be under way.
      if (!q_.dispatches_done()) return false;
      q_.wait_dispatches();
      return true;
    }
    if (type == kThreadTraceFinish) return true;
    return refuse(fmt::format("type 0x{:x} is not modelled", type));
  }

  bool acquire_mem() {
    const uint32_t gcr = p_[7];
    const uint64_t size = join(p_[2], p_[3] & 0xff);
    constexpr uint64_t kEverything = 0xff'ffffffff;
    CacheAction action = gcr_action(gcr);
    if ((gcr >> 11 & 3) != 0 && size != kEverything) {
      // A part of GL2 only: here, nothing at all is guaranteed.
      action.gl2_inv = action.gl2_wb = false;
    }
    if (action.gli_inv) q_.gpu.shaders.invalidate_code();
    q_.refuse_to_lose(action, name());
    memory_.control(action);
    return true;
  }

  bool release_mem() {
    const unsigned event = p_[1] & 0x3f, index = p_[1] >> 8 & 15;
    constexpr unsigned kCacheFlushAndInvTs = 0x14, kBottomOfPipeTs = 0x28, kCsDone = 0x2f;
    if (index == 5 ? event != kCacheFlushAndInvTs && event != kBottomOfPipeTs
                   : index != 6 || event != kCsDone)
      return refuse(fmt::format("event 0x{:x} with index {}", event, index));
    const unsigned data = p_[2] >> 29, interrupt = p_[2] >> 24 & 7, dst = p_[2] >> 16 & 3;
    if (data > 4) return refuse(fmt::format("data_sel {} is not modelled", data));
    if (interrupt > 3) return refuse(fmt::format("int_sel {} is not modelled", interrupt));
    if (dst > 1) return refuse(fmt::format("dst_sel {} is not modelled", dst));
    const uint64_t at = join(p_[3], p_[4]), value = join(p_[5], p_[6]);
    const unsigned size = data == 1 ? 4 : 8;
    if (data != 0 && at % size != 0)
      return refuse(fmt::format("address 0x{:x} is not aligned to {} bytes", at, size));
    if (q_.args.eop_buffer_address == 0) return refuse("in a queue without an EOP buffer");
    if (data != 0 && !memory_.map.find(at)) return fault({AccessFault::not_present, at});
    Task stamp;
    if (data >= kClocks) {
      stamp.line = q_.stamp_line;
      stamp.known = q_.everything();
      stamp.sequence = q_.gpu.kernel.order.add_task(q_.stamp_line, name() + " of a clock");
    }
    q_.issue_event(name(), [this_queue = &q_, word = p_[1], data, interrupt, at, value, size,
                            context = p_[7], clock = q_.everything(), stamp] {
      end_of_pipe(*this_queue, word, data, interrupt, at, value, size, context, clock, stamp);
    });
    return true;
  }

  static void end_of_pipe(Queue& q, uint32_t word, unsigned data, unsigned interrupt, uint64_t at,
                          uint64_t value, unsigned size, uint32_t context, const Clock& clock,
                          const Task& stamp) {
    const CacheAction action = release_action(word);
    q.refuse_to_lose(action, "RELEASE_MEM");
    q.gpu.memory.control(action);
    if (data >= kClocks) {
      value = gpu_clock();
      q.gpu.memory.note_write(stamp, at, size);
    } else if (data != 0) {
      if (q.early_fence != at) q.settle_early_fence();
      q.early_text = q.gpu.memory.not_written_back(q.dispatch_line);
      q.early_fence = q.early_text.empty() ? 0 : at;
    }
    if (data != 0) {
      if (const MemoryFault f = q.gpu.memory.write_word(at, size, value)) {
        q.memory_fault(f, "RELEASE_MEM");
        return;
      }
      q.gpu.kernel.order.release(q.gpu.memory.word_host(at), clock);
    }
    if (data != 0 && q.gpu.kernel.is_event_slot(at)) q.rang_mailbox = true;
    if (interrupt == 1 || interrupt == 2) q.interrupt(context);
  }

  bool wait(unsigned size, uint64_t reference, uint64_t mask, uint32_t) {
    const unsigned function = p_[1] & 7, space = p_[1] >> 4 & 3, operation = p_[1] >> 6 & 3;
    if (function == 7) return refuse("function 7 does not exist");
    if (operation == 1) {
      if (space != 0) return refuse("write-wait-write outside the register space");
      if (p_[2] != kHdpReq || p_[3] != kHdpDone)
        return refuse(fmt::format("registers 0x{:x}, 0x{:x} are not modelled", p_[2], p_[3]));
      return true;
    }
    if (operation == 2) return refuse("operation 2 does not exist");
    if (space != 1) {
      if (p_[2] == kHdpDone || p_[2] == kHdpReq) return true;
      return refuse(fmt::format("polls register 0x{:x}, which is not modelled", p_[2]));
    }
    const uint64_t at = join(p_[2], p_[3]);
    if (at % size != 0)
      return refuse(fmt::format("address 0x{:x} is not aligned to {} bytes", at, size));
    uint64_t value = 0;
    if (fault(memory_.read_word(at, size, &value))) return true;
    if (!compare(function, value & mask, reference)) return false;
    q_.gpu.kernel.order.acquire(memory_.word_host(at), q_.clock);
    return true;
  }

  bool write_data() {
    const unsigned dst = p_[1] >> 8 & 15;
    const bool one = p_[1] >> 16 & 1;
    if (p_.size() < 5) return refuse("without data");
    if (dst == 0) {
      if (p_[2] == kHdpReq) return true;
      return refuse(fmt::format("writes register 0x{:x}, which is not modelled", p_[2]));
    }
    if (dst != 2 && dst != 5) return refuse(fmt::format("dst_sel {} is not modelled", dst));
    const uint64_t at = join(p_[2], p_[3]);
    for (size_t i = 4; i < p_.size(); ++i) {
      const uint64_t to = one ? at : at + (i - 4) * 4;
      if (fault(memory_.write_word(to, 4, p_[i]))) return true;
    }
    q_.gpu.kernel.order.release(memory_.word_host(at), q_.clock);
    return true;
  }

  bool copy_data() {
    const unsigned src = p_[1] & 15, dst = p_[1] >> 8 & 15, size = p_[1] >> 16 & 1 ? 8 : 4;
    uint64_t value = join(p_[2], p_[3]);
    if (src == 1 || src == 2) {
      if (value % size != 0) return refuse(fmt::format("source 0x{:x} is misaligned", value));
      const Task task = q_.packet_task(name());
      const uint64_t at = value;
      value = 0;
      if (fault(memory_.read(task, at, &value, size))) return true;
    } else if (src == 9 || src == 10) {
      value = gpu_clock();
    } else if (src != 5) {
      return refuse(fmt::format("src_sel {} is not modelled", src));
    }
    if (dst != 2 && dst != 5) return refuse(fmt::format("dst_sel {} is not modelled", dst));
    const uint64_t at = join(p_[4], p_[5]);
    if (at % size != 0) return refuse(fmt::format("destination 0x{:x} is misaligned", at));
    if (fault(memory_.write_word(at, size, value))) return true;
    q_.gpu.kernel.order.release(memory_.word_host(at), q_.clock);
    return true;
  }

  bool atomic_mem() {
    const unsigned code = p_[1] & 0x7f, command = p_[1] >> 8 & 15;
    const std::optional<PacketAtomic> atomic = packet_atomic(code);
    if (!atomic) return refuse(fmt::format("operation {} is not modelled", code));
    if (command == 1) return refuse("that loops is not modelled");
    const uint64_t at = join(p_[2], p_[3]);
    if (at % atomic->size_B != 0) return refuse(fmt::format("address 0x{:x} is misaligned", at));
    uint64_t old = 0;
    const Task task = q_.packet_task(name());
    if (fault(memory_.atomic(task, at, atomic->size_B, atomic->op, join(p_[4], p_[5]),
                             join(p_[6], p_[7]), &old)))
      return true;
    q_.gpu.kernel.order.release(memory_.word_host(at), q_.clock);
    return true;
  }

  bool dma_data() {
    const unsigned src = p_[1] >> 29 & 3, dst = p_[1] >> 20 & 3;
    const uint32_t count = p_[6] & 0x3ffffff;
    if (src == 1 || dst == 1) return refuse("with GDS is not modelled");
    if (p_[6] >> 26 & 15) return refuse("with SAS, DAS, SAIC or DAIC is not modelled");
    const Task task = q_.packet_task(name());
    std::vector<std::byte> data(count);
    if (src == 2) {
      for (uint32_t i = 0; i < count; ++i) data[i] = std::byte(p_[2] >> (i % 4 * 8));
    } else if (fault(memory_.read(task, join(p_[2], p_[3]), data.data(), count))) {
      return true;
    }
    if (dst != 2) fault(memory_.write(task, join(p_[4], p_[5]), data.data(), count));
    return true;
  }

  bool cond_exec() {
    uint64_t value = 0;
    if (fault(memory_.read_word(join(p_[1], p_[2]), 4, &value))) return true;
    if (value == 0) q_.skip_dw = p_[4] & 0x3fff;
    return true;
  }

  bool pred_exec() {
    if (q_.buffers.empty()) return refuse("outside an indirect buffer");
    if (!(p_[1] >> 24 & 1)) q_.skip_dw = p_[1] & 0x3fff;
    return true;
  }

  // ---- dispatch

  uint32_t sh(unsigned reg) const { return q_.sh[reg]; }

  bool dispatch_indirect() {
    std::array<uint32_t, 3> groups{};
    const Task task = q_.packet_task(name());
    if (fault(memory_.read(task, join(p_[1], p_[2]), groups.data(), 12))) return true;
    return dispatch(groups, p_[3]);
  }

  bool dispatch(const std::array<uint32_t, 3>& groups, uint32_t initiator) {
    constexpr uint32_t kEnable = 1, kPartial = 1 << 1, kThreads = 1 << 5, kWave32 = 1 << 15;
    constexpr uint32_t kKnown = kEnable | kPartial | 1 << 2 | kThreads | 1 << 6 | kWave32;
    if (!(initiator & kEnable)) return refuse("without COMPUTE_SHADER_EN");
    if (initiator & ~kKnown)
      return refuse(fmt::format("initiator 0x{:x} has bits that are not modelled", initiator));
    for (const unsigned reg : {0x207u, 0x208u, 0x209u, 0x20cu, 0x20du, 0x212u, 0x213u})
      if (!q_.sh_written[reg]) return refuse(fmt::format("before SH register 0x{:x} was set", reg));
    if (sh(kStartX) || sh(kStartX + 1) || sh(kStartX + 2))
      return refuse("with a start is not modelled");
    Launch l = launch(groups, initiator);
    if (initiator & kThreads) return refuse("with USE_THREAD_DIMENSIONS is not modelled");
    if (uint64_t(groups[0]) * groups[1] * groups[2] == 0) return true;
    if (initiator & kPartial)
      for (unsigned d = 0; d < 3; ++d) l.last_size[d] = sh(kNumThreadX + d) >> 16;
    const std::string text =
        fmt::format("{} of 0x{:x} ({}x{}x{} groups of {}x{}x{})", name(), l.pc, groups[0],
                    groups[1], groups[2], l.group_size[0], l.group_size[1], l.group_size[2]);
    q_.issue_dispatch(std::move(l), text, {});
    return true;
  }

  Launch launch(const std::array<uint32_t, 3>& groups, uint32_t initiator) const {
    Launch l;
    l.groups = groups;
    for (unsigned d = 0; d < 3; ++d) l.group_size[d] = sh(kNumThreadX + d) & 0xffff;
    l.pc = join(sh(kPgmLo), sh(kPgmLo + 1)) << 8;
    l.rsrc1 = sh(kRsrc1);
    l.rsrc2 = sh(kRsrc2);
    l.rsrc3 = sh(q_.gpu.profile.gfx11() ? kRsrc3Gfx11 : kRsrc3Gfx10);
    std::copy_n(q_.sh.begin() + kUserData, 16, l.user_data.begin());
    l.wave32 = initiator >> 15 & 1;
    l.lds_B = (l.rsrc2 >> 15 & 0x1ff) * 512;
    fill_scratch(l, sh(kTmpringSize), join(sh(kScratchBaseLo), sh(kScratchBaseLo + 1)) << 8,
                 q_.gpu.profile);
    return l;
  }

  Queue& q_;
  const std::vector<uint32_t>& p_;
  const Shape& shape_;
  ChipMemory& memory_;
};

const Shape* find_shape(unsigned op, bool gfx11) {
  for (const Shape& shape : shapes(gfx11))
    if (shape.op == op) return &shape;
  return nullptr;
}

}  // namespace

CacheAction gcr_action(uint32_t gcr) {
  CacheAction a;
  a.gli_inv = (gcr & 3) != 0;
  a.glk_inv = gcr >> 7 & 1;
  a.glv_inv = gcr >> 8 & 1;
  a.gl1_inv = gcr >> 9 & 1;
  a.gl2_inv = gcr >> 14 & 1;
  a.gl2_wb = gcr >> 15 & 1;
  return a;
}

CacheAction release_action(uint32_t word) {
  CacheAction a;
  a.glv_inv = word >> 14 & 1;
  a.gl1_inv = word >> 15 & 1;
  a.gl2_inv = word >> 20 & 1;
  a.gl2_wb = word >> 21 & 1;
  a.glk_inv = word >> 30 & 1;
  return a;
}

/// gfx11 counts waves per shader engine and sizes in 256 bytes; gfx10 the whole GPU and in KiB.
void fill_scratch(Launch& l, uint32_t tmpring, uint64_t base, const Profile& profile) {
  const uint32_t waves = tmpring & 0xfff;
  if (profile.gfx11()) {
    l.scratch_waves = waves * profile.shader_engines();
    l.scratch_wave_B = (tmpring >> 12 & 0x7fff) * 256;
    l.scratch_base = base;
    return;
  }
  l.scratch_waves = waves;
  l.scratch_wave_B = (tmpring >> 12 & 0x1fff) * 1024;
  // The buffer descriptor in the first user SGPRs: 48 bits of address.
  l.scratch_base = join(l.user_data[0], l.user_data[1] & 0xffff);
}

std::optional<PacketAtomic> packet_atomic(unsigned code) {
  // TC_OP of the shader's atomics with return; 64-bit ones 32 above.
  constexpr unsigned kSwap = 7, kCmpSwap = 8;
  const unsigned wide = code >= 0x20 && code < 0x40 ? 0x20 : 0;
  const unsigned size = wide ? 8 : 4;
  switch (code - wide) {
    case kSwap:
      return PacketAtomic{AtomicOp::swap, size};
    case kCmpSwap:
      return PacketAtomic{AtomicOp::cmpswap, size};
    case 15:
      return PacketAtomic{AtomicOp::add, size};
    case 16:
      return PacketAtomic{AtomicOp::sub, size};
    case 17:
      return PacketAtomic{AtomicOp::smin, size};
    case 18:
      return PacketAtomic{AtomicOp::umin, size};
    case 19:
      return PacketAtomic{AtomicOp::smax, size};
    case 20:
      return PacketAtomic{AtomicOp::umax, size};
    case 21:
      return PacketAtomic{AtomicOp::and_, size};
    case 22:
      return PacketAtomic{AtomicOp::or_, size};
    case 23:
      return PacketAtomic{AtomicOp::xor_, size};
  }
  return std::nullopt;
}

bool Queue::step_pm4() { return step_packet(buffers.empty()); }

bool Queue::step_packet(bool from_ring) {
  const uint64_t ring_dw = args.ring_size / 4;
  Fetch* const ib = from_ring ? nullptr : &buffers.back();
  const uint64_t left = from_ring ? write - read : ib->size_dw - ib->at_dw;
  const auto dword = [&](uint64_t i, uint32_t* out) {
    const uint64_t at = from_ring ? args.ring_base_address + (read + i) % ring_dw * 4
                                  : ib->va + (ib->at_dw + i) * 4;
    const MemoryFault f = gpu.memory.peek(at, out, 4);
    if (f) memory_fault(f, "fetching a packet");
    return !f;
  };
  uint32_t header = 0;
  if (!dword(0, &header)) return true;
  if (header >> 30 != 3) {
    bad_packet(fmt::format("0x{:08x} is not a type 3 packet header", header));
    return true;
  }
  unsigned op = header >> 8 & 0xff;
  const uint32_t count = header >> 16 & 0x3fff;
  const uint64_t size = op == NOP && count == 0x3fff ? 1 : count + 2;
  if (size > left) {
    bad_packet(fmt::format("header 0x{:08x} asks for {} dwords, {} are left", header, size, left));
    return true;
  }
  packet.resize(size);
  for (uint64_t i = 0; i < size; ++i)
    if (!dword(i, &packet[i])) return true;
  tamper_with_packet();
  header = packet[0];
  op = header >> 8 & 0xff;

  const auto consume = [&] {
    tampered.reset();
    ++gpu.kernel.stats.pm4_packets;
    if (from_ring) {
      advance(size);
    } else {
      // The packet may have pushed a buffer: the one it came from is no longer the last.
      ib->at_dw += uint32_t(size);
    }
  };
  const auto leave_finished = [&] {
    while (!buffers.empty() && buffers.back().at_dw >= buffers.back().size_dw) buffers.pop_back();
  };
  if (skip_dw > 0) {
    skip_dw -= uint32_t(std::min<uint64_t>(skip_dw, size));
    consume();
    leave_finished();
    return true;
  }
  const Shape* const shape = find_shape(op, gpu.profile.gfx11());
  if (!shape) {
    bad_packet(fmt::format("unknown opcode 0x{:x} (header 0x{:08x})", op, header));
    return true;
  }
  if (header & 3) {
    bad_packet(fmt::format("{} header 0x{:08x}: predicate and shader type must be 0", shape->name,
                           header));
    return true;
  }
  if (shape->dwords != 0 && size != shape->dwords) {
    bad_packet(fmt::format("{} has {} dwords, not {}", shape->name, size, shape->dwords));
    return true;
  }
  if (size < 1 + std::min<size_t>(shape->masks.size(), 1)) {
    bad_packet(fmt::format("{} has only {} dwords", shape->name, size));
    return true;
  }
  for (size_t i = 0; i < shape->masks.size() && i + 1 < size; ++i)
    if (packet[i + 1] & ~shape->masks[i]) {
      bad_packet(fmt::format("{} dword {} is 0x{:08x}: bits 0x{:x} are reserved", shape->name,
                             i + 1, packet[i + 1], packet[i + 1] & ~shape->masks[i]));
      return true;
    }
  // An indirect buffer is entered after its packet was consumed, so that it is left to the next.
  const size_t depth = buffers.size();
  const std::vector<uint32_t> copy = packet;
  const bool chain = op == INDIRECT_BUFFER && copy.size() == 4 && (copy[3] >> 20 & 1);
  if (op == INDIRECT_BUFFER) {
    if (!Processor(*this, copy, *shape).run() || state != QueueState::running) return true;
    tampered.reset();
    if (from_ring) {
      ++gpu.kernel.stats.pm4_packets;
      advance(size);
    } else if (!chain) {
      buffers[depth - 1].at_dw += uint32_t(size);
    }
    return true;
  }
  if (!Processor(*this, copy, *shape).run()) return false;
  if (state != QueueState::running) return true;
  consume();
  leave_finished();
  return true;
}

}  // namespace tiny::models::amd
