// SPDX-License-Identifier: MIT
// WMMA: 16×16×16 matrix multiply-accumulate over a wave. Products and their sum are exact or in
// double, and rounded once; the chips' internal order is not documented.
#include "models/amd/isa/lanes.h"

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr unsigned kSize = 16;

/// Operand registers of a matrix instruction. EXEC is ignored, as by the chips.
class Operands {
 public:
  Operands(Wave& wave, const Op& op, unsigned ab_regs) : w(wave), op(op) {
    for (unsigned s = 0; s < 2; ++s) read_ab(s, ab_regs);
    rows_per_register = w.lanes / kSize;
    c_regs = kSize / rows_per_register;
    if (op.src[2].kind == Operand::Kind::vgpr)
      for (unsigned r = 0; r < c_regs; ++r)
        poisoned |= (w.vpoison[op.src[2].reg + r].any() & w.lane_mask) != 0;
  }
  Wave& w;
  const Op& op;
  /// Row of A or column of B held by lane `i`, dword `r`.
  u32 ab[2][kSize][8];
  unsigned rows_per_register, c_regs;
  bool poisoned = false, ok = true;

  /// The dword of C that holds (row, column); constants are the same everywhere.
  u32 c(unsigned row, unsigned column) const {
    if (op.src[2].kind != Operand::Kind::vgpr) return read32(w, op.src[2]);
    return w.vreg(op.src[2].reg + row / rows_per_register)[lane(row, column)];
  }
  unsigned lane(unsigned row, unsigned column) const {
    return row % rows_per_register * kSize + column;
  }
  void finish() {
    const uint64_t p = poisoned ? w.lane_mask : 0;
    for (unsigned r = 0; r < c_regs; ++r) w.vpoison[op.dst.reg + r] = {p, p};
  }

 private:
  void read_ab(unsigned s, unsigned regs) {
    for (unsigned r = 0; r < regs; ++r) {
      const u32* words = w.vreg(op.src[s].reg + r);
      poisoned |= (w.vpoison[op.src[s].reg + r].any() & w.lane_mask) != 0;
      for (unsigned l = 0; l < w.lanes; ++l) {
        if (l < kSize) {
          ab[s][l][r] = words[l];
        } else if (words[l] != words[l % kSize] && ok) {
          ok = false;
          w.fail(FaultKind::unsupported,
                 fmt::format("lanes 16 and up must repeat lanes 0 to 15 of v{}", op.src[s].reg + r),
                 l);
        }
      }
    }
  }
};

template <bool kBf16>
double element(u32 word, unsigned k, bool negate) {
  const u16 bits = static_cast<u16>(word >> (16 * (k & 1)));
  const double v = kBf16 ? double(bf16_to_float(bits)) : half_to_double(bits);
  return negate ? -v : v;
}

template <bool kBf16>
double dot(const Operands& m, unsigned row, unsigned column) {
  double sum = 0;
  for (unsigned k = 0; k < kSize; ++k) {
    // neg_lo negates the even elements, neg_hi the odd ones.
    const uint8_t bit = k & 1 ? 2 : 1;
    sum += element<kBf16>(m.ab[0][row][k / 2], k, m.op.src[0].mods & bit) *
           element<kBf16>(m.ab[1][column][k / 2], k, m.op.src[1].mods & bit);
  }
  return sum;
}

template <bool kBf16>
void wmma_f32(Wave& w, const Op& op) {
  Operands m(w, op, 8);
  if (!m.ok) return;
  u32 out[kSize][kSize];
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j) {
      float c = float_of(m.c(i, j));
      if (op.src[2].mods & 2) c = std::fabs(c);
      if (op.src[2].mods & 1) c = -c;
      out[i][j] = bits_of(static_cast<float>(dot<kBf16>(m, i, j) + double(c)));
    }
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j)
      w.vreg(op.dst.reg + i / m.rows_per_register)[m.lane(i, j)] = out[i][j];
  m.finish();
}

/// The 16-bit results fill one half of each register: op_sel of the third source says which.
template <bool kBf16>
void wmma_16(Wave& w, const Op& op) {
  Operands m(w, op, 8);
  if (!m.ok) return;
  const unsigned shift = op.src[2].mods & 4 ? 16 : 0;
  u16 out[kSize][kSize];
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j) {
      const u16 bits = static_cast<u16>(m.c(i, j) >> shift);
      double c = kBf16 ? double(bf16_to_float(bits)) : half_to_double(bits);
      if (op.src[2].mods & 2) c = std::fabs(c);
      if (op.src[2].mods & 1) c = -c;
      const double sum = dot<kBf16>(m, i, j) + c;
      out[i][j] =
          kBf16 ? float_to_bf16(static_cast<float>(sum)) : double_to_half(sum, w.mode.round64);
    }
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j) {
      u32& d = w.vreg(op.dst.reg + i / m.rows_per_register)[m.lane(i, j)];
      d = (d & ~(0xffffu << shift)) | u32(out[i][j]) << shift;
    }
  const uint64_t p = m.poisoned ? w.lane_mask : 0;
  for (unsigned r = 0; r < m.c_regs; ++r)
    (shift ? w.vpoison[op.dst.reg + r].hi : w.vpoison[op.dst.reg + r].lo) = p;
}

template <unsigned kBits>
i64 integer(const u32* words, unsigned k, bool is_signed) {
  constexpr unsigned kPerWord = 32 / kBits;
  const u32 raw = words[k / kPerWord] >> (kBits * (k % kPerWord)) & ((1u << kBits) - 1);
  return is_signed ? static_cast<i32>(raw << (32 - kBits)) >> (32 - kBits) : i64(raw);
}

template <unsigned kBits>
void wmma_integer(Wave& w, const Op& op) {
  Operands m(w, op, kSize * kBits / 32);
  if (!m.ok) return;
  const bool a_signed = op.src[0].mods & 1, b_signed = op.src[1].mods & 1;
  u32 out[kSize][kSize];
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j) {
      i64 sum = static_cast<i32>(m.c(i, j));
      for (unsigned k = 0; k < kSize; ++k)
        sum += integer<kBits>(m.ab[0][i], k, a_signed) * integer<kBits>(m.ab[1][j], k, b_signed);
      if (op.clamp) sum = std::clamp<i64>(sum, INT32_MIN, INT32_MAX);
      out[i][j] = static_cast<u32>(sum);
    }
  for (unsigned i = 0; i < kSize; ++i)
    for (unsigned j = 0; j < kSize; ++j)
      w.vreg(op.dst.reg + i / m.rows_per_register)[m.lane(i, j)] = out[i][j];
  m.finish();
}

const Row kRows[] = {
    {"V_WMMA_F32_16X16X16_F16", wmma_f32<false>, 3},
    {"V_WMMA_F32_16X16X16_BF16", wmma_f32<true>, 3},
    {"V_WMMA_F16_16X16X16_F16", wmma_16<false>, 3},
    {"V_WMMA_BF16_16X16X16_BF16", wmma_16<true>, 3},
    {"V_WMMA_I32_16X16X16_IU8", wmma_integer<8>, 3},
    {"V_WMMA_I32_16X16X16_IU4", wmma_integer<4>, 3},
};

}  // namespace

std::span<const Row> valu_matrix_rows() { return kRows; }

}  // namespace tiny::models::amd
