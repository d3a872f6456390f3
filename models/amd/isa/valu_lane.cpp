// SPDX-License-Identifier: MIT
// Vector instructions that move data: moves and selects, between lanes, between vector and scalar
// registers, and through M0.
#include "models/amd/isa/lanes.h"

#include <fmt/format.h>
#include <bit>

namespace tiny::models::amd {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

void move(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  LaneWords space;
  const u32* words = fetch_words(w, op, 0, 0, active, space, poison);
  commit_words(w, op, op.dst, 0, words, active, poison);
}

/// The selecting mask: the third source, or VCC.
u64 select_mask(const Wave& w, const Op& op, u64* poison) {
  Source mask = op.sdst;
  mask.reg = kVccLo;
  mask.kind = Operand::Kind::scalar;
  mask.dwords = 2;
  return read_mask(w, op.source_count > 2 ? op.src[2] : mask, poison);
}

/// v_cndmask: exact poison, since compilers select away what was never written. `neg` and `abs`
/// act on the bits.
void select(Wave& w, const Op& op) {
  const Active active(w, op);
  LaneWords space[2];
  Poison poison[2];
  const u32* words[2];
  u32 changed[2][kMaxLanes];
  for (unsigned i = 0; i < 2; ++i) {
    words[i] = fetch_words(w, op, i, 0, active, space[i], poison[i]);
    const Source& s = op.src[i];
    if (!(s.mods & 3)) continue;
    const u32 keep = s.abs() ? 0x7fffffffu : ~0u, flip = s.neg() ? 0x80000000u : 0;
    for (unsigned l = 0; l < w.lanes; ++l) changed[i][l] = (words[i][l] & keep) ^ flip;
    words[i] = changed[i];
  }
  u64 unknown = 0;
  const u64 mask = select_mask(w, op, &unknown);
  u32 out[kMaxLanes];
  for (unsigned base = 0; base < w.lanes; base += 32) {
    const u32 bits = static_cast<u32>(mask >> base);
    for (unsigned l = 0; l < 32; ++l) {
      const u32 second = 0u - (bits >> l & 1);
      out[base + l] = (words[1][base + l] & second) | (words[0][base + l] & ~second);
    }
  }
  const Poison sum{(poison[1].lo & mask) | (poison[0].lo & ~mask) | unknown,
                   (poison[1].hi & mask) | (poison[0].hi & ~mask) | unknown};
  commit_words(w, op, op.dst, 0, out, active, sum);
}

void select16(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison[2];
  const Input<uint16_t> a(InputArguments{w, op, 0, active, poison[0]});
  const Input<uint16_t> b(InputArguments{w, op, 1, active, poison[1]});
  u64 unknown = 0;
  const u64 mask = select_mask(w, op, &unknown);
  uint16_t out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) out[l] = mask >> l & 1 ? b[l] : a[l];
  const Poison sum{(poison[1].lo & mask) | (poison[0].lo & ~mask) | unknown, 0};
  commit_halves(w, op, out, active, sum);
}

// ---- between scalar and vector registers

u32 poison_word(const Wave& w, unsigned reg, unsigned lane) {
  const Poison& p = w.vpoison[reg];
  return (p.lo >> lane & 1 ? 0xffffu : 0) | (p.hi >> lane & 1 ? 0xffff0000u : 0);
}

/// A scalar that selects a lane.
unsigned lane_index(Wave& w, const Source& s) {
  u32 p = 0;
  const u32 lane = read32(w, s, &p);
  if (p && w.policy.poison_address)
    w.fail(FaultKind::uninitialized, "the lane index is uninitialised");
  return lane & (w.lanes - 1);
}

void read_lane_to(Wave& w, const Op& op, unsigned lane) {
  const Source& s = op.src[0];
  if (s.kind != Operand::Kind::vgpr) {
    u32 p = 0;
    const u32 value = read32(w, s, &p);
    return write32(w, op.dst, value, p);
  }
  write32(w, op.dst, w.vreg(s.reg)[lane], poison_word(w, s.reg, lane));
}
void readlane(Wave& w, const Op& op) { read_lane_to(w, op, lane_index(w, op.src[1])); }
void readfirstlane(Wave& w, const Op& op) {
  read_lane_to(w, op, w.exec ? static_cast<unsigned>(std::countr_zero(w.exec)) : 0);
}
void writelane(Wave& w, const Op& op) {
  const unsigned lane = lane_index(w, op.src[1]);
  u32 p = 0;
  w.vreg(op.dst.reg)[lane] = read32(w, op.src[0], &p);
  Poison& d = w.vpoison[op.dst.reg];
  const u64 bit = 1ull << lane;
  d.lo = (d.lo & ~bit) | (p & 0xffffu ? bit : 0);
  d.hi = (d.hi & ~bit) | (p >> 16 ? bit : 0);
}

// ---- between lanes

/// Writes lane l from lane from[l] (−1: the lane keeps its value, −2: zero).
void permute(Wave& w, const Op& op, const int* from, u64 writes) {
  const u32* source = w.vreg(op.src[0].reg);
  const Poison p = w.vpoison[op.src[0].reg];
  u32 out[kMaxLanes];
  Poison moved;
  Active active(w, op);
  active.mask &= writes;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const bool real = from[l] >= 0;
    out[l] = real ? source[from[l]] : 0;
    moved.lo |= real ? (p.lo >> from[l] & 1) << l : 0;
    moved.hi |= real ? (p.hi >> from[l] & 1) << l : 0;
  }
  commit_words(w, op, op.dst, 0, out, active, moved);
}

/// v_permlane16 / v_permlanex16: within a row of 16, or from the other row of a pair. op_sel's
/// bits: fetch inactive lanes, and zero (rather than keep) where the source lane is inactive.
void permlane16(Wave& w, const Op& op) {
  const bool cross = op.param, fetch_inactive = op.src[0].mods & 4, zero = op.src[1].mods & 4;
  u32 p[2] = {0, 0};
  const u64 select = read32(w, op.src[1], &p[0]) | u64(read32(w, op.src[2], &p[1])) << 32;
  if ((p[0] | p[1]) && w.policy.poison_address)
    w.fail(FaultKind::uninitialized, "the lane selection is uninitialised");
  int from[kMaxLanes];
  u64 writes = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const unsigned row = (l & ~15u) ^ (cross ? 16 : 0);
    const unsigned at = row | (select >> (4 * (l & 15)) & 15);
    const bool ok = fetch_inactive || (w.exec >> at & 1);
    from[l] = ok ? static_cast<int>(at) : -2;
    if (ok || zero) writes |= 1ull << l;
  }
  permute(w, op, from, writes);
}

void permlane64(Wave& w, const Op& op) {
  int from[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) from[l] = static_cast<int>(w.lanes == 64 ? l ^ 32 : l);
  permute(w, op, from, ~0ull);
}

void swap(Wave& w, const Op& op) {
  const Active active(w, op);
  u32 a[kMaxLanes], b[kMaxLanes];
  const unsigned ra = op.dst.reg, rb = op.sdst.reg;
  std::copy_n(w.vreg(ra), w.lanes, a);
  std::copy_n(w.vreg(rb), w.lanes, b);
  const Poison pa = w.vpoison[ra], pb = w.vpoison[rb];
  commit_words(w, op, op.dst, 0, b, active, pb);
  commit_words(w, op, op.sdst, 0, a, active, pa);
}

// ---- through M0

bool relative_register(Wave& w, unsigned reg, u32 by, unsigned* out) {
  if (w.spoison[kM0] && w.policy.poison_control) {
    w.fail(FaultKind::uninitialized, "M0 is uninitialised");
    return false;
  }
  const u64 at = u64(reg) + by;
  if (at >= w.config.vgprs) {
    w.fail(FaultKind::register_range,
           fmt::format("v{} through M0, {} allocated", at, w.config.vgprs));
    return false;
  }
  *out = static_cast<unsigned>(at);
  return true;
}

/// param bit 0: relative source, bit 1: relative destination, bit 2: two 10-bit indices in M0.
void move_relative(Wave& w, const Op& op) {
  const u32 m0 = w.sgprs[kM0];
  const bool two = op.param & 4;
  const u32 source_by = two ? m0 & 0x3ff : m0, dst_by = two ? m0 >> 16 & 0x3ff : m0;
  Op moved = op;
  unsigned reg = 0;
  if (op.param & 1) {
    if (op.src[0].kind != Operand::Kind::vgpr)
      return w.fail(FaultKind::unsupported, "a relative move of a scalar");
    if (!relative_register(w, op.src[0].reg, source_by, &reg)) return;
    moved.src[0].reg = static_cast<uint16_t>(reg);
  }
  if (op.param & 2) {
    const unsigned base = op.dst.reg;
    if (!relative_register(w, base, dst_by, &reg)) return;
    moved.dst.reg = static_cast<uint16_t>(reg);
  }
  if (w.vpending[moved.dst.reg] ||
      (moved.src[0].kind == Operand::Kind::vgpr && w.vpending[moved.src[0].reg]))
    return w.fail(FaultKind::hazard, "a register reached through M0 has a load outstanding");
  move(w, moved);
}

const Row kRows[] = {
    {"V_NOP", [](Wave&, const Op&) {}, 0},
    {"V_PIPEFLUSH", [](Wave&, const Op&) {}, 0},
    {"V_MOV_B32", move, 1},
    {"V_CNDMASK_B32", select, 3},
    {"V_CNDMASK_B16", select16, 3},
    {"V_READLANE_B32", readlane, 2},
    {"V_READFIRSTLANE_B32", readfirstlane, 1},
    {"V_WRITELANE_B32", writelane, 2},
    {"V_PERMLANE16_B32", permlane16, 3, 0},
    {"V_PERMLANEX16_B32", permlane16, 3, 1},
    {"V_PERMLANE64_B32", permlane64, 1},
    {"V_SWAP_B32", swap, 2},
    {"V_MOVRELS_B32", move_relative, 1, 1},
    {"V_MOVRELD_B32", move_relative, 1, 2},
    {"V_MOVRELSD_B32", move_relative, 1, 3},
    {"V_MOVRELSD_2_B32", move_relative, 1, 7},
};

}  // namespace

std::span<const Row> valu_lane_rows() { return kRows; }

}  // namespace tiny::models::amd
