// SPDX-License-Identifier: MIT
// Program control: branches, waits, barriers, messages, hardware registers.
#include "models/amd/isa/number.h"
#include "models/amd/isa/op.h"

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

uint32_t constant(const Op& op) {
  return op.source_count ? static_cast<uint32_t>(op.src[op.source_count - 1].imm) & 0xffffu : 0;
}

void nothing(Wave&, const Op&) {}

// ---- branches

void take(Wave& w, const Op& op) {
  w.next_pc += static_cast<uint64_t>(int64_t(static_cast<int16_t>(constant(op))) * 4);
}

void poisoned(Wave& w, const char* what) {
  if (w.policy.poison_control)
    w.fail(FaultKind::uninitialized, fmt::format("the branch condition {} is uninitialised", what));
}

template <bool kOn>
void branch_scc(Wave& w, const Op& op) {
  if (w.scc_poison) poisoned(w, "SCC");
  if (w.scc == kOn) take(w, op);
}

template <bool kZero>
void branch_vcc(Wave& w, const Op& op) {
  const uint64_t vcc = w.sgprs[kVccLo] | uint64_t(w.sgprs[kVccHi]) << 32;
  const uint64_t unknown = (w.spoison[kVccLo] | uint64_t(w.spoison[kVccHi]) << 32) & w.lane_mask;
  if (unknown && !(vcc & ~unknown & w.lane_mask)) poisoned(w, "VCC");
  if (((vcc & w.lane_mask) == 0) == kZero) take(w, op);
}

template <bool kZero>
void branch_exec(Wave& w, const Op& op) {
  if ((w.exec == 0) == kZero) take(w, op);
}

// ---- waits

void waitcnt(Wave& w, const Op& op) {
  const uint32_t v = constant(op);
  const unsigned vm = op.gfx11 ? v >> 10 & 63 : (v & 15) | (v >> 14 & 3) << 4;
  const unsigned lgkm = op.gfx11 ? v >> 4 & 63 : v >> 8 & 63;
  w.wait_vm(vm);
  w.wait_lgkm(lgkm);
}

uint32_t wait_limit(Wave& w, const Op& op) {
  // SOPK: a register (usually NULL) and a constant are added.
  const Source& reg = op.src[0];
  return constant(op) + (op.source_count > 1 ? read32(w, reg) : 0);
}
void wait_vscnt(Wave& w, const Op& op) { w.wait_vs(wait_limit(w, op)); }
void wait_vmcnt(Wave& w, const Op& op) { w.wait_vm(wait_limit(w, op)); }
void wait_lgkmcnt(Wave& w, const Op& op) { w.wait_lgkm(wait_limit(w, op)); }
void wait_all(Wave& w, const Op&) {
  w.wait_vm(0);
  w.wait_vs(0);
  w.wait_lgkm(0);
}

// ---- stopping

void barrier(Wave& w, const Op&) {
  if (w.policy.hazards)
    for (const Outstanding& o : w.outstanding)
      if (o.lds_write)
        return w.fail(FaultKind::hazard,
                      fmt::format("the LDS write issued at pc {:#x} was not waited for before the "
                                  "barrier",
                                  o.pc));
  w.stop_for(StopReason::barrier);
}

void end_program(Wave& w, const Op&) {
  w.wait_vs(0);
  w.stop_for(StopReason::end);
}
void sleep(Wave& w, const Op& op) {
  w.cycles += 64ull * (constant(op) & 127);
  w.stop_for(StopReason::yield, constant(op));
}
void trap(Wave& w, const Op& op) {
  w.trap_status |= 1;
  w.stop_for(StopReason::trap, constant(op) & 0xff);
}
void halt(Wave& w, const Op& op) {
  if (constant(op) & 1) w.stop_for(StopReason::yield, constant(op));
}
void send_message(Wave& w, const Op& op) { w.stop_for(StopReason::message, constant(op)); }

/// Messages that return a value: only those that a compute program can use without a trap handler.
void send_message_return(Wave& w, const Op& op) {
  constexpr uint32_t kDoorbell = 128, kDdid = 129, kTma = 130, kRealtime = 131, kSaveWave = 132,
                     kTba = 133;
  const uint32_t message = constant(op);
  uint64_t value = 0;
  switch (message) {
    case kRealtime:
      value = w.cycles / 20 + 1;
      break;  // 100 MHz against about 2 GHz
    case kDoorbell:
    case kDdid:
    case kTma:
    case kTba:
      break;
    default:
      (void)kSaveWave;
      return w.fail(FaultKind::unsupported, fmt::format("message {} is not modelled", message));
  }
  const bool wide = op.dst.dwords == 2;
  if (wide)
    write64(w, op.dst, value, 0);
  else
    write32(w, op.dst, static_cast<uint32_t>(value), 0);
  w.issue({Outstanding::Kind::message, false, false, true, false, 0, 0, op.dst.reg, op.dst.dwords,
           0, 0});
}

// ---- hardware registers

struct Field {
  unsigned id, offset, width;
};
Field field_of(const Op& op) {
  const uint32_t v = constant(op);
  return {v & 63, v >> 6 & 31, (v >> 11 & 31) + 1};
}

/// Register numbers of the "Hardware register" tables of the RDNA2/RDNA3 documents.
enum HardwareRegister : unsigned {
  kMode = 1,
  kStatus = 2,
  kTrapSts = 3,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kShMemBases = 15,
  kFlatScratchLo = 20,
  kFlatScratchHi = 21,
  kHwId1 = 23,
  kHwId2 = 24,
  kPopsPacker = 25,
  kShaderCycles = 29,
};

bool read_hardware(Wave& w, unsigned id, uint32_t* value) {
  switch (id) {
    case kMode:
      *value = w.mode.bits();
      return true;
    case kStatus: {
      const bool vccz = ((w.sgprs[kVccLo] | uint64_t(w.sgprs[kVccHi]) << 32) & w.lane_mask) == 0;
      *value = uint32_t(w.scc) | uint32_t(w.exec == 0) << 9 | uint32_t(vccz) << 10 |
               uint32_t(w.config.waves_in_group > 1) << 11 | uint32_t(w.config.trap_handler) << 6;
      return true;
    }
    case kTrapSts:
      *value = w.trap_status;
      return true;
    case kGprAlloc:
      *value = (w.config.vgprs / 8 - 1) << 8;
      return true;
    case kLdsAlloc:
      *value = w.lds ? (w.lds->size_B() / 256) << 12 : 0;
      return true;
    case kIbSts:
      *value = w.vm_count() | w.lgkm_count() << 8;
      return true;
    case kShMemBases:
      *value = static_cast<uint32_t>(w.config.private_base >> 48 & 0xffff) |
               static_cast<uint32_t>(w.config.shared_base >> 48 & 0xffff) << 16;
      return true;
    case kFlatScratchLo:
      *value = static_cast<uint32_t>(w.flat_scratch);
      return true;
    case kFlatScratchHi:
      *value = static_cast<uint32_t>(w.flat_scratch >> 32);
      return true;
    case kHwId1:
      *value = w.config.hw_id1;
      return true;
    case kHwId2:
      *value = w.config.hw_id2;
      return true;
    case kShaderCycles:
      *value = static_cast<uint32_t>(w.cycles) & 0xfffff;
      return true;
    default:
      return false;
  }
}

bool write_hardware(Wave& w, unsigned id, uint32_t value) {
  switch (id) {
    case kMode:
      w.mode.set_bits(value);
      return true;
    case kTrapSts:
      w.trap_status = value;
      return true;
    case kFlatScratchLo:
      w.flat_scratch = (w.flat_scratch & ~0xffffffffull) | value;
      return true;
    case kFlatScratchHi:
      w.flat_scratch = (w.flat_scratch & 0xffffffffull) | uint64_t(value) << 32;
      return true;
    default:
      return false;
  }
}

uint32_t field_mask(const Field& f) { return f.width == 32 ? ~0u : (1u << f.width) - 1; }

void getreg(Wave& w, const Op& op) {
  const Field f = field_of(op);
  uint32_t value = 0;
  if (!read_hardware(w, f.id, &value))
    return w.fail(FaultKind::unsupported,
                  fmt::format("hardware register {} is not modelled", f.id));
  write32(w, op.dst, value >> f.offset & field_mask(f), 0);
}

void set_field(Wave& w, const Field& f, uint32_t value) {
  uint32_t old = 0;
  const uint32_t mask = field_mask(f) << f.offset;
  if (!read_hardware(w, f.id, &old) ||
      !write_hardware(w, f.id, (old & ~mask) | (value << f.offset & mask)))
    w.fail(FaultKind::unsupported, fmt::format("hardware register {} is not writable here", f.id));
}

/// s_setreg_b32 has (source, field); s_setreg_imm32_b32 has (constant, field). LLVM lists the
/// destination field last in both.
void setreg(Wave& w, const Op& op) {
  uint32_t p = 0;
  const uint32_t value = read32(w, op.src[0], &p);
  if (p && w.policy.poison_control)
    return w.fail(FaultKind::uninitialized, "a hardware register is set from uninitialised bits");
  set_field(w, field_of(op), value);
}

void round_mode(Wave& w, const Op& op) {
  w.mode.round32 = constant(op) & 3;
  w.mode.round64 = constant(op) >> 2 & 3;
}
void denorm_mode(Wave& w, const Op& op) {
  w.mode.denorm32 = constant(op) & 3;
  w.mode.denorm64 = constant(op) >> 2 & 3;
}

void instruction_cache_invalidate(Wave& w, const Op&) {
  w.memory->cache_control(w.config.id, CacheControl::icache_inv);
}

// s_delay_alu and s_waitcnt_depctr change timing only: the dependencies they name are interlocked,
// but for errata that the compiler's hazard recogniser covers and this model does not show.
const Row kRows[] = {
    {"S_NOP", nothing},
    {"S_CLAUSE", nothing},
    {"S_DELAY_ALU", nothing},
    {"S_WAITCNT_DEPCTR", nothing},
    {"S_SET_INST_PREFETCH_DISTANCE", nothing},
    {"S_INST_PREFETCH", nothing},
    {"S_SETPRIO", nothing},
    {"S_WAKEUP", nothing},
    {"S_TTRACEDATA", nothing},
    {"S_TTRACEDATA_IMM", nothing},
    {"S_INCPERFLEVEL", nothing},
    {"S_DECPERFLEVEL", nothing},
    {"S_VERSION", nothing},
    {"S_WAIT_EVENT", nothing},
    {"S_SINGLEUSE_VDST", nothing},
    {"S_BRANCH", take},
    {"S_CBRANCH_SCC0", branch_scc<false>},
    {"S_CBRANCH_SCC1", branch_scc<true>},
    {"S_CBRANCH_VCCZ", branch_vcc<true>},
    {"S_CBRANCH_VCCNZ", branch_vcc<false>},
    {"S_CBRANCH_EXECZ", branch_exec<true>},
    {"S_CBRANCH_EXECNZ", branch_exec<false>},
    {"S_CBRANCH_CDBGSYS", nothing},
    {"S_CBRANCH_CDBGUSER", nothing},
    {"S_CBRANCH_CDBGSYS_OR_USER", nothing},
    {"S_CBRANCH_CDBGSYS_AND_USER", nothing},
    {"S_WAITCNT", waitcnt},
    {"S_WAITCNT_VSCNT", wait_vscnt},
    {"S_WAITCNT_VMCNT", wait_vmcnt},
    {"S_WAITCNT_LGKMCNT", wait_lgkmcnt},
    {"S_WAITCNT_EXPCNT", nothing},
    {"S_WAIT_IDLE", wait_all},
    {"S_BARRIER", barrier},
    {"S_ENDPGM", end_program},
    {"S_SLEEP", sleep},
    {"S_TRAP", trap},
    {"S_SETHALT", halt},
    {"S_SENDMSG", send_message},
    {"S_SENDMSGHALT", send_message},
    {"S_SENDMSG_RTN_B32", send_message_return},
    {"S_SENDMSG_RTN_B64", send_message_return},
    {"S_GETREG_B32", getreg},
    {"S_SETREG_B32", setreg},
    {"S_SETREG_IMM32_B32", setreg},
    {"S_ROUND_MODE", round_mode},
    {"S_DENORM_MODE", denorm_mode},
    {"S_ICACHE_INV", instruction_cache_invalidate},
};

}  // namespace

std::span<const Row> sopp_rows() { return kRows; }

}  // namespace tiny::models::amd
