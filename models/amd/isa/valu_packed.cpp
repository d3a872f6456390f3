// SPDX-License-Identifier: MIT
// VOP3P: two halves at a time, mixed-precision multiply-add, dot products.
#include "models/amd/isa/lanes.h"

#include <optional>

namespace tiny::models::amd {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using i64 = int64_t;

/// VOP3P modifier bits of an Operand.
enum : uint8_t { kNegLo = 1, kNegHi = 2, kOpSel = 4, kOpSelHi = 8 };

/// Both halves of a source as its lanes see them after op_sel.
struct Halves {
  u16 lo[kMaxLanes], hi[kMaxLanes];
  Halves(const Wave& w, const Op& op, unsigned i, const Active& active, Poison& poison) {
    LaneWords space;
    Poison own;
    const u32* words = fetch_words(w, op, i, 0, active, space, own);
    const uint8_t mods = op.src[i].mods;
    const unsigned lo_at = mods & kOpSel ? 16 : 0, hi_at = mods & kOpSelHi ? 16 : 0;
    poison.lo |= lo_at ? own.hi : own.lo;
    poison.hi |= hi_at ? own.hi : own.lo;
    for (unsigned l = 0; l < w.lanes; ++l) {
      lo[l] = static_cast<u16>(words[l] >> lo_at);
      hi[l] = static_cast<u16>(words[l] >> hi_at);
    }
  }
};

f16 to_f16(const Wave& w, u16 bits, bool negate) {
  if (negate) bits ^= 0x8000;
  return {half_to_double(w.mode.denorm64 & 1 ? bits : flush16(bits))};
}

u16 from_f16(const Wave& w, const Op& op, double v) {
  if (op.clamp) v = std::isnan(v) ? (w.mode.dx10_clamp ? 0 : v) : v > 1 ? 1 : v > 0 ? v : 0;
  const u16 bits = double_to_half(v, w.mode.round64);
  return w.mode.denorm64 & 2 ? bits : flush16(bits);
}

/// F(a, b, c) on each half, as doubles.
template <auto F, unsigned N>
void packed_f16(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  std::optional<Halves> in[3];
  for (unsigned i = 0; i < N; ++i) in[i].emplace(w, op, i, active, poison);
  u32 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    double lo[3] = {}, hi[3] = {};
    for (unsigned i = 0; i < N; ++i) {
      lo[i] = to_f16(w, in[i]->lo[l], op.src[i].mods & kNegLo).value;
      hi[i] = to_f16(w, in[i]->hi[l], op.src[i].mods & kNegHi).value;
    }
    out[l] = from_f16(w, op, F(lo[0], lo[1], lo[2])) | u32(from_f16(w, op, F(hi[0], hi[1], hi[2])))
                                                           << 16;
  }
  commit_words(w, op, op.dst, 0, out, active, poison);
}

/// F(clamp, a, b, c) on each half as 16-bit integers of type T.
template <class T, auto F, unsigned N>
void packed_integer(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  std::optional<Halves> in[3];
  for (unsigned i = 0; i < N; ++i) in[i].emplace(w, op, i, active, poison);
  u32 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    T lo[3] = {}, hi[3] = {};
    for (unsigned i = 0; i < N; ++i) {
      lo[i] = static_cast<T>(in[i]->lo[l]);
      hi[i] = static_cast<T>(in[i]->hi[l]);
    }
    out[l] = static_cast<u16>(F(op.clamp, lo[0], lo[1], lo[2])) |
             u32(static_cast<u16>(F(op.clamp, hi[0], hi[1], hi[2]))) << 16;
  }
  commit_words(w, op, op.dst, 0, out, active, poison);
}

template <class T>
T fit(bool clamp, i64 v) {
  if (!clamp) return static_cast<T>(v);
  constexpr i64 lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  return static_cast<T>(v < lo ? lo : v > hi ? hi : v);
}

double smaller(double a, double b, double) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
double larger(double a, double b, double) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}

// ---- mixed precision: each source is f32, or the half that op_sel names

float mix_source(const Wave& w, const Source& s, u32 word) {
  u32 bits = word;
  if (s.mods & kOpSelHi) {
    const u16 half = static_cast<u16>(word >> (s.mods & kOpSel ? 16 : 0));
    bits = bits_of(static_cast<float>(half_to_double(w.mode.denorm64 & 1 ? half : flush16(half))));
  } else if (!(w.mode.denorm32 & 1)) {
    bits = flush32(bits);
  }
  if (s.mods & kNegHi) bits &= 0x7fffffffu;  // in this encoding neg_hi means abs
  if (s.mods & kNegLo) bits ^= 0x80000000u;
  return float_of(bits);
}

void mix_inputs(Wave& w, const Op& op, const Active& active, Poison& poison,
                float (*in)[kMaxLanes]) {
  for (unsigned i = 0; i < 3; ++i) {
    LaneWords space;
    Poison own;
    const u32* words = fetch_words(w, op, i, 0, active, space, own);
    const Source& s = op.src[i];
    if (s.mods & kOpSelHi)
      add_half_poison(poison, own, s.mods & kOpSel);
    else
      add_word_poison(poison, own);
    for (unsigned l = 0; l < w.lanes; ++l) in[i][l] = mix_source(w, s, words[l]);
  }
}

void mix_f32(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  float in[3][kMaxLanes], out[kMaxLanes];
  mix_inputs(w, op, active, poison, in);
  for (unsigned l = 0; l < w.lanes; ++l) out[l] = std::fma(in[0][l], in[1][l], in[2][l]);
  commit<float>(w, op, out, active, poison);
}

/// param: the half written. Rounded once from the exact value.
void mix_f16(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  float in[3][kMaxLanes];
  mix_inputs(w, op, active, poison, in);
  u16 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    // A double fma of floats loses at most what lies far below f16's last bit; rounding to odd
    // there makes the second rounding exact.
    const double a = in[0][l], b = in[1][l], c = in[2][l];
    const double product = a * b, sum = product + c, back = sum - product;
    const double lost = (product - (sum - back)) + (c - back);
    uint64_t bits = bits_of(sum);
    if (lost != 0 && lost == lost && !(bits & 1)) bits += (lost > 0) == (sum > 0) ? 1 : ~0ull;
    out[l] = from_f16(w, op, double_of(bits));
  }
  Op half = op;
  half.dst_hi = op.param;
  half.form = Form::e64;
  commit_halves(w, half, out, active, poison);
}

// ---- dot products

void dot2_f32_f16(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Halves a(w, op, 0, active, poison), b(w, op, 1, active, poison);
  poison.lo = poison.hi = poison.any();
  const bool accumulate = op.source_count < 3;  // v_dot2c: the destination is the addend
  Op plain = op;
  if (accumulate) plain.src[2] = op.dst;
  plain.src[2].mods &= 1;
  const Input<float> c(InputArguments{w, plain, 2, active, poison});
  float out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const double x = to_f16(w, a.lo[l], op.src[0].mods & kNegLo).value *
                     to_f16(w, b.lo[l], op.src[1].mods & kNegLo).value;
    const double y = to_f16(w, a.hi[l], op.src[0].mods & kNegHi).value *
                     to_f16(w, b.hi[l], op.src[1].mods & kNegHi).value;
    out[l] = static_cast<float>(x + y + double(c[l]));
  }
  commit<float>(w, op, out, active, poison);
}

void dot2_f32_bf16(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Halves a(w, op, 0, active, poison), b(w, op, 1, active, poison);
  poison.lo = poison.hi = poison.any();
  Op plain = op;
  plain.src[2].mods &= 1;
  const Input<float> c(InputArguments{w, plain, 2, active, poison});
  auto value = [](u16 bits, bool neg) {
    return double(bf16_to_float(static_cast<u16>(neg ? bits ^ 0x8000 : bits)));
  };
  float out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const double x =
        value(a.lo[l], op.src[0].mods & kNegLo) * value(b.lo[l], op.src[1].mods & kNegLo);
    const double y =
        value(a.hi[l], op.src[0].mods & kNegHi) * value(b.hi[l], op.src[1].mods & kNegHi);
    out[l] = static_cast<float>(x + y + double(c[l]));
  }
  commit<float>(w, op, out, active, poison);
}

/// v_dot2_f16_f16 and v_dot2_bf16_bf16: VOP3, the destination and third source are halves.
template <bool kBf16>
void dot2_half(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  LaneWords space[3];
  const u32* words[3];
  for (unsigned i = 0; i < 3; ++i) {
    Poison own;
    words[i] = fetch_words(w, op, i, 0, active, space[i], own);
    if (i < 2)
      add_word_poison(poison, own);
    else
      add_half_poison(poison, own, reads_high(op, op.src[2]));
  }
  auto value = [&](u32 bits) {
    const u16 h = static_cast<u16>(bits);
    return kBf16 ? double(bf16_to_float(h)) : half_to_double(h);
  };
  u16 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const double c = value(words[2][l] >> (reads_high(op, op.src[2]) ? 16u : 0u));
    const double sum = value(words[0][l]) * value(words[1][l]) +
                       value(words[0][l] >> 16) * value(words[1][l] >> 16) + c;
    out[l] = kBf16 ? float_to_bf16(static_cast<float>(sum)) : from_f16(w, op, sum);
  }
  commit_halves(w, op, out, active, poison);
}

template <unsigned kBits>
i64 element(u32 word, unsigned i, bool is_signed) {
  const u32 raw = word >> (kBits * i) & ((1u << kBits) - 1);
  if (!is_signed) return raw;
  return static_cast<i32>(raw << (32 - kBits)) >> (32 - kBits);
}

/// Integer dots of kBits-wide elements. Signedness by `kSigned` (0 unsigned, 1 signed) or, 2, by
/// the neg modifiers of each source.
template <unsigned kBits, unsigned kSigned>
void dot_integer(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  Op plain = op;
  if (op.source_count < 3) plain.src[2] = op.dst;
  const Input<u32> a(InputArguments{w, plain, 0, active, poison});
  const Input<u32> b(InputArguments{w, plain, 1, active, poison});
  const Input<u32> c(InputArguments{w, plain, 2, active, poison});
  const bool a_signed = kSigned == 2 ? (op.src[0].mods & kNegLo) != 0 : kSigned != 0;
  const bool b_signed = kSigned == 2 ? (op.src[1].mods & kNegLo) != 0 : kSigned != 0;
  const bool result_signed = kSigned != 0;
  u32 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    i64 sum = result_signed ? i64(static_cast<i32>(c[l])) : i64(c[l]);
    for (unsigned i = 0; i < 32 / kBits; ++i)
      sum += element<kBits>(a[l], i, a_signed) * element<kBits>(b[l], i, b_signed);
    out[l] = static_cast<u32>(!op.clamp       ? sum
                              : result_signed ? i64(fit<i32>(true, sum))
                                              : i64(fit<u32>(true, sum)));
  }
  commit<u32>(w, op, out, active, poison);
}

#define PK_F16(name, n, ...)                                                       \
  {name,                                                                           \
   packed_f16<[](double a, [[maybe_unused]] double b, [[maybe_unused]] double c) { \
     return (__VA_ARGS__);                                                         \
   },                                                                              \
              n>,                                                                  \
   n}
#define PK_INT(name, type, n, ...)                                                           \
  {name,                                                                                     \
   packed_integer<type,                                                                      \
                  []([[maybe_unused]] bool clamp, type a, type b, [[maybe_unused]] type c) { \
                    return (__VA_ARGS__);                                                    \
                  },                                                                         \
                  n>,                                                                        \
   n}

const Row kRows[] = {
    PK_F16("V_PK_ADD_F16", 2, a + b),
    PK_F16("V_PK_MUL_F16", 2, a* b),
    PK_F16("V_PK_FMA_F16", 3, std::fma(a, b, c)),
    PK_F16("V_PK_FMAC_F16", 3, std::fma(a, b, c)),
    {"V_PK_MIN_F16", packed_f16<smaller, 2>, 2},
    {"V_PK_MAX_F16", packed_f16<larger, 2>, 2},
    PK_INT("V_PK_ADD_U16", u16, 2, fit<u16>(clamp, i64(a) + b)),
    PK_INT("V_PK_SUB_U16", u16, 2, fit<u16>(clamp, i64(a) - b)),
    PK_INT("V_PK_ADD_I16", i16, 2, fit<i16>(clamp, i64(a) + b)),
    PK_INT("V_PK_SUB_I16", i16, 2, fit<i16>(clamp, i64(a) - b)),
    PK_INT("V_PK_MUL_LO_U16", u16, 2, static_cast<u16>(u32(a) * b)),
    PK_INT("V_PK_MAD_U16", u16, 3, fit<u16>(clamp, i64(a) * b + c)),
    PK_INT("V_PK_MAD_I16", i16, 3, fit<i16>(clamp, i64(a) * b + c)),
    PK_INT("V_PK_MIN_U16", u16, 2, std::min(a, b)),
    PK_INT("V_PK_MAX_U16", u16, 2, std::max(a, b)),
    PK_INT("V_PK_MIN_I16", i16, 2, std::min(a, b)),
    PK_INT("V_PK_MAX_I16", i16, 2, std::max(a, b)),
    PK_INT("V_PK_LSHLREV_B16", u16, 2, static_cast<u16>(b << (a & 15))),
    PK_INT("V_PK_LSHRREV_B16", u16, 2, static_cast<u16>(b >> (a & 15))),
    PK_INT("V_PK_ASHRREV_I16", i16, 2, static_cast<i16>(b >> (a & 15))),
    {"V_FMA_MIX_F32", mix_f32, 3, 0, 1},
    {"V_FMA_MIXLO_F16", mix_f16, 3, 0},
    {"V_FMA_MIXHI_F16", mix_f16, 3, 1},
    {"V_DOT2_F32_F16", dot2_f32_f16, 3},
    {"V_DOT2C_F32_F16", dot2_f32_f16, 3},
    {"V_DOT2ACC_F32_F16", dot2_f32_f16, 3},
    {"V_DOT2_F32_BF16", dot2_f32_bf16, 3},
    {"V_DOT2_F16_F16", dot2_half<false>, 3},
    {"V_DOT2_BF16_BF16", dot2_half<true>, 3},
    {"V_DOT2_I32_I16", dot_integer<16, 1>, 3},
    {"V_DOT2_U32_U16", dot_integer<16, 0>, 3},
    {"V_DOT4_I32_I8", dot_integer<8, 1>, 3},
    {"V_DOT4_U32_U8", dot_integer<8, 0>, 3},
    {"V_DOT4C_I32_I8", dot_integer<8, 1>, 3},
    {"V_DOT4_I32_IU8", dot_integer<8, 2>, 3},
    {"V_DOT8_I32_I4", dot_integer<4, 1>, 3},
    {"V_DOT8_U32_U4", dot_integer<4, 0>, 3},
    {"V_DOT8C_I32_I4", dot_integer<4, 1>, 3},
    {"V_DOT8_I32_IU4", dot_integer<4, 2>, 3},
};

}  // namespace

std::span<const Row> valu_packed_rows() { return kRows; }

}  // namespace tiny::models::amd
