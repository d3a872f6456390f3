// SPDX-License-Identifier: MIT
// Wave state: registers, MODE, and the counters of outstanding memory operations.
#include "models/amd/isa/wave.h"

#include "models/amd/isa/op.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tiny::models::amd {

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::unknown_opcode:
      return "unknown opcode";
    case FaultKind::illegal:
      return "illegal instruction";
    case FaultKind::fetch:
      return "instruction fetch";
    case FaultKind::memory:
      return "memory";
    case FaultKind::lds_range:
      return "LDS out of range";
    case FaultKind::scratch_range:
      return "scratch out of range";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::register_range:
      return "register out of range";
    case FaultKind::hazard:
      return "hazard";
    case FaultKind::uninitialized:
      return "uninitialized";
    case FaultKind::race:
      return "LDS race";
    case FaultKind::unsupported:
      return "unsupported";
  }
  return "?";
}

std::string Fault::message() const {
  return fmt::format("[amd isa] {}: `{}` at pc {:#x}, lane {}, address {:#x}: {}", fault_name(kind),
                     text, pc, lane, address, detail);
}

uint32_t Mode::bits() const {
  return round32 | uint32_t(round64) << 2 | uint32_t(denorm32) << 4 | uint32_t(denorm64) << 6 |
         uint32_t(dx10_clamp) << 8 | uint32_t(ieee) << 9 | rest;
}

void Mode::set_bits(uint32_t bits) {
  round32 = bits & 3;
  round64 = bits >> 2 & 3;
  denorm32 = bits >> 4 & 3;
  denorm64 = bits >> 6 & 3;
  dx10_clamp = bits >> 8 & 1;
  ieee = bits >> 9 & 1;
  rest = bits & ~0x3ffu;
}

Wave::Wave(const WaveConfig& c)
    : lanes(c.lanes),
      lane_mask(c.lanes == 64 ? ~0ull : (1ull << c.lanes) - 1),
      pc(c.pc),
      next_pc(c.pc),
      exec(c.exec),
      config(c),
      flat_scratch(c.scratch_base) {
  if (c.lanes != 32 && c.lanes != 64)
    throw UsageError(fmt::format("[amd isa] a wave of {} lanes (32 or 64)", c.lanes));
  if (c.vgprs == 0 || c.vgprs > 256)
    throw UsageError(fmt::format("[amd isa] a wave with {} vector registers (1 to 256)", c.vgprs));
  exec &= lane_mask;
  mode.set_bits(c.float_mode | uint32_t(c.dx10_clamp) << 8 | uint32_t(c.ieee) << 9);
  const size_t count = size_t(c.vgprs) * lanes;
  vgprs_.reset(new (std::align_val_t(64)) uint32_t[count]);
  std::fill_n(vgprs_.get(), count, 0xdeadbeefu);
  vpoison.assign(c.vgprs, {lane_mask, lane_mask});
  vpending.assign(c.vgprs, 0);
  std::fill_n(spoison, kScalarRegCount, ~0u);
  std::fill_n(sgprs, kScalarRegCount, 0xdeadbeefu);
  sgprs[kNull] = 0;
  spoison[kNull] = 0;
}

uint32_t Wave::sgpr(unsigned reg) const {
  if (reg == kExecLo) return static_cast<uint32_t>(exec);
  if (reg == kExecHi) return static_cast<uint32_t>(exec >> 32);
  return sgprs[reg];
}

void Wave::set_sgpr(unsigned reg, uint32_t value, uint32_t poison) {
  if (reg == kNull) return;
  if (reg == kExecLo || reg == kExecHi) {
    const unsigned shift = reg == kExecHi ? 32 : 0;
    exec = ((exec & ~(0xffffffffull << shift)) | uint64_t(value) << shift) & lane_mask;
    const uint32_t used = static_cast<uint32_t>(lane_mask >> shift);
    if ((poison & used) && policy.poison_control)
      fail(FaultKind::uninitialized,
           fmt::format("EXEC is set from uninitialised bits {:#x}", poison));
    return;
  }
  sgprs[reg] = value;
  spoison[reg] = poison;
}

void Wave::set_vgpr(unsigned reg, unsigned lane, uint32_t value) {
  vgprs_[reg * lanes + lane] = value;
  vpoison[reg].lo &= ~(1ull << lane);
  vpoison[reg].hi &= ~(1ull << lane);
}

void Wave::stop_for(StopReason reason, uint32_t value) {
  if (stopped) return;
  stopped = true;
  stop.reason = reason;
  stop.value = value;
}

void Wave::fail(FaultKind kind, std::string detail, unsigned lane, uint64_t address) {
  if (stopped) return;
  stopped = true;
  stop.reason = StopReason::fault;
  stop.fault = {kind, pc, "", address, lane, std::move(detail)};
}

// ---- counters

unsigned Wave::vm_count() const {
  return static_cast<unsigned>(
      std::count_if(outstanding.begin(), outstanding.end(), [](auto& o) { return o.vm; }));
}
unsigned Wave::vs_count() const {
  return static_cast<unsigned>(
      std::count_if(outstanding.begin(), outstanding.end(), [](auto& o) { return o.vs; }));
}
unsigned Wave::lgkm_count() const {
  return static_cast<unsigned>(
      std::count_if(outstanding.begin(), outstanding.end(), [](auto& o) { return o.lgkm; }));
}

void Wave::issue(Outstanding what) {
  // The counters have 6 bits; the hardware stalls the issue until the oldest one is done.
  constexpr unsigned kMost = 63;
  if (what.vm && vm_count() >= kMost) wait_vm(kMost - 1);
  if (what.vs && vs_count() >= kMost) wait_vs(kMost - 1);
  if (what.lgkm && lgkm_count() >= kMost) wait_lgkm(0);
  for (unsigned i = 0; i < what.vgprs; ++i) ++vpending[what.vgpr + i];
  for (unsigned i = 0; i < what.sgprs; ++i)
    if (what.sgpr + i < kScalarRegCount) ++spending[what.sgpr + i];
  what.pc = pc;
  outstanding.push_back(what);
}

void Wave::retire() {
  uint64_t stores = 0;
  auto arrive = [&](Outstanding& o) {
    for (unsigned i = 0; i < o.vgprs; ++i) --vpending[o.vgpr + i];
    for (unsigned i = 0; i < o.sgprs; ++i)
      if (o.sgpr + i < kScalarRegCount) --spending[o.sgpr + i];
    o.vgprs = o.sgprs = 0;
    stores = std::max(stores, o.sequence);
  };
  auto done = [&](Outstanding& o) {
    // A flat access without LDS holds lgkmcnt too, but nothing comes from there.
    const bool vector =
        o.kind == Outstanding::Kind::vector_load || o.kind == Outstanding::Kind::vector_store;
    if (!o.vm && !o.vs && (vector || !o.lgkm)) arrive(o);
    return !o.vm && !o.vs && !o.lgkm;
  };
  std::erase_if(outstanding, done);
  if (stores && memory) memory->stores_complete(config.id, stores);
}

void Wave::wait_vm(unsigned limit) {
  unsigned count = vm_count();
  for (Outstanding& o : outstanding)
    if (o.vm && count > limit) o.vm = false, --count;
  retire();
}

void Wave::wait_vs(unsigned limit) {
  unsigned count = vs_count();
  for (Outstanding& o : outstanding)
    if (o.vs && count > limit) o.vs = false, --count;
  retire();
}

void Wave::wait_lgkm(unsigned limit) {
  // LDS operations finish in order among themselves; scalar loads and messages in any order, so
  // only a wait for 0 covers them, and an LDS operation is covered only if those after it exceed
  // the limit by themselves.
  unsigned lds_count = 0;
  for (const Outstanding& o : outstanding)
    lds_count +=
        o.lgkm && o.kind != Outstanding::Kind::scalar && o.kind != Outstanding::Kind::message;
  for (Outstanding& o : outstanding) {
    if (!o.lgkm) continue;
    const bool any_order =
        o.kind == Outstanding::Kind::scalar || o.kind == Outstanding::Kind::message;
    if (any_order) {
      if (limit == 0) o.lgkm = false;
      continue;
    }
    if (lds_count > limit) o.lgkm = false;
    --lds_count;
  }
  retire();
}

// ---- scalar operands

namespace {

uint64_t special64(const Wave& w, const Source& s) {
  using Kind = Operand::Kind;
  constexpr uint64_t kApertureLast = 0xffffffffull;
  switch (s.kind) {
    case Kind::vccz: {
      const uint64_t vcc = w.sgprs[kVccLo] | uint64_t(w.sgprs[kVccHi]) << 32;
      return (vcc & w.lane_mask) == 0;
    }
    case Kind::execz:
      return w.exec == 0;
    case Kind::scc:
      return w.scc;
    // As a 32-bit operand an aperture register reads its high half, the only one that matters.
    case Kind::shared_base:
      return w.config.shared_base;
    case Kind::shared_limit:
      return w.config.shared_base | kApertureLast;
    case Kind::private_base:
      return w.config.private_base;
    case Kind::private_limit:
      return w.config.private_base | kApertureLast;
    case Kind::flat_scratch_lo:
      return w.flat_scratch;
    case Kind::flat_scratch_hi:
      return w.flat_scratch >> 32;
    default:
      return 0;
  }
}

bool is_aperture(Operand::Kind kind) {
  return kind >= Operand::Kind::shared_base && kind <= Operand::Kind::private_limit;
}

}  // namespace

uint32_t read32(const Wave& w, const Source& s, uint32_t* poison) {
  if (s.kind == Operand::Kind::scalar) {
    if (poison) *poison = s.reg == kExecLo || s.reg == kExecHi ? 0 : w.spoison[s.reg];
    return w.sgpr(s.reg);
  }
  if (poison) *poison = s.kind == Operand::Kind::scc && w.scc_poison ? ~0u : 0;
  if (s.kind == Operand::Kind::immediate) return static_cast<uint32_t>(s.imm);
  const uint64_t wide = special64(w, s);
  return static_cast<uint32_t>(is_aperture(s.kind) ? wide >> 32 : wide);
}

uint64_t read64(const Wave& w, const Source& s, uint64_t* poison) {
  if (s.kind == Operand::Kind::scalar) {
    if (s.reg == kNull || s.dwords < 2) {
      uint32_t p = 0;
      const uint32_t value = read32(w, s, &p);
      if (poison) *poison = p;
      return value;
    }
    if (poison)
      *poison = s.reg == kExecLo ? 0 : w.spoison[s.reg] | uint64_t(w.spoison[s.reg + 1]) << 32;
    return w.sgpr(s.reg) | uint64_t(w.sgpr(s.reg + 1)) << 32;
  }
  if (poison) *poison = 0;
  if (s.kind == Operand::Kind::immediate) return static_cast<uint64_t>(s.imm);
  return special64(w, s);
}

void write32(Wave& w, const Source& dst, uint32_t value, uint32_t poison) {
  if (dst.kind == Operand::Kind::scalar) return w.set_sgpr(dst.reg, value, poison);
  if (dst.kind == Operand::Kind::flat_scratch_lo) {
    w.flat_scratch = (w.flat_scratch & ~0xffffffffull) | value;
    return;
  }
  if (dst.kind == Operand::Kind::flat_scratch_hi) {
    w.flat_scratch = (w.flat_scratch & 0xffffffffull) | uint64_t(value) << 32;
    return;
  }
  w.fail(FaultKind::unsupported, "scalar destination is not modelled");
}

void write64(Wave& w, const Source& dst, uint64_t value, uint64_t poison) {
  if (dst.kind != Operand::Kind::scalar)
    return w.fail(FaultKind::unsupported, "scalar destination is not modelled");
  w.set_sgpr(dst.reg, static_cast<uint32_t>(value), static_cast<uint32_t>(poison));
  if (dst.reg == kNull) return;
  w.set_sgpr(dst.reg + 1, static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(poison >> 32));
}

uint64_t read_mask(const Wave& w, const Source& s, uint64_t* poison) {
  if (w.lanes == 64) return read64(w, s, poison);
  uint32_t p = 0;
  const uint32_t value = read32(w, s, &p);
  if (poison) *poison = p;
  return value;
}

void write_mask(Wave& w, const Source& dst, uint64_t value, uint64_t poison) {
  if (w.lanes == 64) return write64(w, dst, value, poison);
  write32(w, dst, static_cast<uint32_t>(value), static_cast<uint32_t>(poison));
}

}  // namespace tiny::models::amd
