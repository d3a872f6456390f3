// SPDX-License-Identifier: MIT
// Reading sources and writing destinations of vector instructions.
#include "models/amd/isa/lanes.h"

namespace tiny::models::amd {
namespace {

/// A scalar source's dword.
uint32_t scalar_word(const Wave& w, const Source& s, unsigned dword, uint32_t* poison) {
  if (s.kind == Operand::Kind::immediate) {
    *poison = 0;
    return static_cast<uint32_t>(static_cast<uint64_t>(s.imm) >> (32 * dword));
  }
  if (s.dwords < 2 && dword == 1) {  // a 32-bit register where 64 bits are read: M0, VCC_LO
    *poison = 0;
    return 0;
  }
  uint64_t wide_poison = 0;
  const uint64_t wide = s.dwords >= 2 ? read64(w, s, &wide_poison) : read32(w, s, poison);
  if (s.dwords >= 2) *poison = static_cast<uint32_t>(wide_poison >> (32 * dword));
  return static_cast<uint32_t>(wide >> (32 * dword));
}

uint32_t select_bits(uint32_t word, unsigned select, bool sign_extend) {
  if (select >= 6) return word;
  if (select >= 4) {
    const uint32_t half = word >> (select == 5 ? 16 : 0) & 0xffff;
    return sign_extend ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
  }
  const uint32_t byte = word >> (8 * select) & 0xff;
  return sign_extend ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
}

void select_source(const Source& s, unsigned n, const uint32_t* from, LaneWords& to, Poison& p) {
  for (unsigned l = 0; l < n; ++l) to.at[l] = select_bits(from[l], s.select, s.sign_extend);
  if (s.select >= 6) return;
  const uint64_t half = s.select == 5 || s.select == 2 || s.select == 3 ? p.hi : p.lo;
  p.lo = p.hi = half;
}

void permute_lanes(const Wave& w, const Op& op, const Active& active, const uint32_t* from,
                   LaneWords& to, Poison& p) {
  uint32_t out[kMaxLanes];
  Poison moved;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const bool ok = active.source_ok >> l & 1;
    const unsigned at = ok ? static_cast<unsigned>(op.dpp_from[l]) : 0;
    out[l] = ok ? from[at] : 0;
    if (ok) moved.lo |= (p.lo >> at & 1) << l;
    if (ok) moved.hi |= (p.hi >> at & 1) << l;
  }
  std::memcpy(to.at, out, sizeof out);
  p = moved;
}

}  // namespace

bool is_dpp(const Op& op) {
  return op.form == Form::dpp16 || op.form == Form::e64_dpp16 || op.form == Form::dpp8 ||
         op.form == Form::e64_dpp8;
}

Active::Active(const Wave& wave, const Op& op) : mask(wave.exec) {
  if (!is_dpp(op)) [[likely]]
    return;
  source_ok = 0;
  for (unsigned l = 0; l < wave.lanes; ++l) {
    const int from = op.dpp_from[l];
    if (from >= 0 && (op.fetch_inactive || (wave.exec >> from & 1))) source_ok |= 1ull << l;
  }
  const bool dpp8 = op.form == Form::dpp8 || op.form == Form::e64_dpp8;
  if (dpp8) return;
  for (unsigned l = 0; l < wave.lanes; ++l) {
    const bool enabled = (op.row_mask >> (l / 16) & 1) && (op.bank_mask >> (l / 4 % 4) & 1);
    if (!enabled) mask &= ~(1ull << l);
  }
  if (!op.bound_ctrl) mask &= source_ok;
}

const uint32_t* fetch_words(const Wave& w, const Op& op, unsigned index, unsigned dword,
                            const Active& active, LaneWords& space, Poison& poison) {
  const Source& s = op.src[index];
  const uint32_t* from = space.at;
  Poison own;
  if (s.kind == Operand::Kind::vgpr) [[likely]] {
    from = w.vreg(s.reg + dword);
    own = w.vpoison[s.reg + dword];
  } else {
    uint32_t bits = 0;
    const uint32_t value = scalar_word(w, s, dword, &bits);
    if (bits & 0xffffu) own.lo = ~0ull;
    if (bits >> 16) own.hi = ~0ull;
    std::fill_n(space.at, w.lanes, value);
  }
  if (op.form == Form::sdwa) {
    select_source(s, w.lanes, from, space, own);
    from = space.at;
  } else if (index == 0 && is_dpp(op)) {
    permute_lanes(w, op, active, from, space, own);
    from = space.at;
  }
  poison.lo |= own.lo;
  poison.hi |= own.hi;
  return from;
}

namespace {

void blend(uint32_t* to, const uint32_t* from, uint64_t mask, unsigned n) {
  for (unsigned base = 0; base < n; base += 32) {
    const uint32_t bits = static_cast<uint32_t>(mask >> base);
    for (unsigned l = 0; l < 32; ++l) {
      const uint32_t keep = 0u - (bits >> l & 1);
      to[base + l] = (from[base + l] & keep) | (to[base + l] & ~keep);
    }
  }
}

/// SDWA: places a value into the selected part of a dword.
uint32_t place(const Op& op, uint32_t old, uint32_t value) {
  if (op.dst_select >= 6) return value;
  const unsigned width = op.dst_select >= 4 ? 16 : 8;
  const unsigned at = op.dst_select >= 4 ? 16 * (op.dst_select - 4) : 8 * op.dst_select;
  const uint32_t field = (width == 16 ? 0xffffu : 0xffu) << at;
  const uint32_t put = (value << at) & field;
  if (op.dst_unused == 2) return (old & ~field) | put;
  if (op.dst_unused == 0) return put;
  const unsigned up = 32 - width;
  const uint32_t extended = static_cast<uint32_t>(static_cast<int32_t>(value << up) >> up);
  return extended << at;
}

void commit_sdwa(Wave& w, const Op& op, unsigned reg, const uint32_t* values, const Active& active,
                 const Poison& poison) {
  uint32_t* to = w.vreg(reg);
  for (unsigned l = 0; l < w.lanes; ++l)
    if (active.mask >> l & 1) to[l] = place(op, to[l], values[l]);
  Poison& p = w.vpoison[reg];
  const bool preserve = op.dst_unused == 2 && op.dst_select < 6;
  const bool low = op.dst_select != 5 && op.dst_select != 2 && op.dst_select != 3;
  const bool both = op.dst_select >= 6;
  // A selected byte or word is the value's low one.
  auto update = [&](uint64_t& half, bool touched, uint64_t from) {
    const uint64_t fresh = touched ? from & active.mask : 0;
    // A byte written into a poisoned half leaves it poisoned.
    const uint64_t kept = preserve && (!touched || op.dst_select < 4) ? half : half & ~active.mask;
    half = kept | fresh;
  };
  update(p.lo, both || low, poison.lo);
  update(p.hi, both || !low, both ? poison.hi : poison.lo);
}

}  // namespace

void commit_words(Wave& w, const Op& op, const Source& dst, unsigned dword, const uint32_t* values,
                  const Active& active, const Poison& poison) {
  const unsigned reg = dst.reg + dword;
  if (op.form == Form::sdwa) return commit_sdwa(w, op, reg, values, active, poison);
  uint32_t* to = w.vreg(reg);
  if (active.mask == w.lane_mask) [[likely]]
    std::memcpy(to, values, w.lanes * 4);
  else
    blend(to, values, active.mask, w.lanes);
  Poison& p = w.vpoison[reg];
  p.lo = (p.lo & ~active.mask) | (poison.lo & active.mask);
  p.hi = (p.hi & ~active.mask) | (poison.hi & active.mask);
}

void commit_halves(Wave& w, const Op& op, const uint16_t* values, const Active& active,
                   const Poison& poison) {
  if (op.form == Form::sdwa) {
    uint32_t words[kMaxLanes];
    for (unsigned l = 0; l < w.lanes; ++l) words[l] = values[l];
    // A 16-bit result with dst_sel:DWORD still fills 16 bits; the rest becomes 0.
    return commit_sdwa(w, op, op.dst.reg, words, active, poison);
  }
  uint32_t* to = w.vreg(op.dst.reg);
  const unsigned shift = op.dst_hi ? 16 : 0;
  const uint32_t keep = op.dst_hi ? 0xffffu : 0xffff0000u;
  for (unsigned l = 0; l < w.lanes; ++l)
    if (active.mask >> l & 1) to[l] = (to[l] & keep) | uint32_t(values[l]) << shift;
  Poison& p = w.vpoison[op.dst.reg];
  uint64_t& half = op.dst_hi ? p.hi : p.lo;
  half = (half & ~active.mask) | (poison.any() & active.mask);
}

void commit_mask(Wave& w, const Source& dst, uint64_t value, const Active& active,
                 const Poison& poison) {
  write_mask(w, dst, value & active.mask, poison.any() & active.mask);
}

void finish_floats(const Wave& w, const Op& op, float* values) {
  const bool flush = !(w.mode.denorm32 & 2);
  if (!flush && !op.clamp && !op.omod) [[likely]]
    return;
  // Output multipliers are ignored where denormals or IEEE exceptions are asked for.
  static constexpr float kScale[] = {1.0f, 2.0f, 4.0f, 0.5f};
  const float scale = flush && !w.mode.ieee ? kScale[op.omod] : 1.0f;
  for (unsigned l = 0; l < w.lanes; ++l) {
    float v = values[l];
    if (scale != 1.0f) v = v * scale + 0.0f;
    if (op.clamp) {
      if (std::isnan(v))
        v = w.mode.dx10_clamp ? 0.0f : v;
      else
        v = v > 1.0f ? 1.0f : v > 0.0f ? v : 0.0f;
    }
    values[l] = flush ? float_of(flush32(bits_of(v))) : v;
  }
}

void finish_doubles(const Wave& w, const Op& op, double* values) {
  const bool flush = !(w.mode.denorm64 & 2);
  if (!flush && !op.clamp && !op.omod) return;
  static constexpr double kScale[] = {1.0, 2.0, 4.0, 0.5};
  const double scale = flush && !w.mode.ieee ? kScale[op.omod] : 1.0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    double v = values[l];
    if (scale != 1.0) v = v * scale + 0.0;
    if (op.clamp) {
      if (std::isnan(v))
        v = w.mode.dx10_clamp ? 0.0 : v;
      else
        v = v > 1.0 ? 1.0 : v > 0.0 ? v : 0.0;
    }
    values[l] = flush ? double_of(flush64(bits_of(v))) : v;
  }
}

void round_halves(const Wave& w, const Op& op, const f16* values, uint16_t* out) {
  const bool flush = !(w.mode.denorm64 & 2);
  static constexpr double kScale[] = {1.0, 2.0, 4.0, 0.5};
  const double scale = flush && !w.mode.ieee ? kScale[op.omod] : 1.0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    double v = values[l].value;
    if (scale != 1.0) v = half_to_double(double_to_half(v, w.mode.round64)) * scale + 0.0;
    if (op.clamp) {
      if (std::isnan(v))
        v = w.mode.dx10_clamp ? 0.0 : v;
      else
        v = v > 1.0 ? 1.0 : v > 0.0 ? v : 0.0;
    }
    const uint16_t half = double_to_half(v, w.mode.round64);
    out[l] = flush ? flush16(half) : half;
  }
}

}  // namespace tiny::models::amd
