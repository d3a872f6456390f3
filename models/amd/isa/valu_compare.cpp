// SPDX-License-Identifier: MIT
// Vector compares: a lane mask to a scalar register, or (v_cmpx) to EXEC. Inactive lanes give 0.
#include "models/amd/isa/lanes.h"

namespace tiny::models::amd {
namespace {

using u32 = uint32_t;

/// Class bits of v_cmp_class: sNaN, qNaN, −inf, −normal, −denormal, −0, +0, +denormal, +normal,
/// +inf.
template <unsigned kExponent, unsigned kMantissa>
bool in_class(uint64_t bits, u32 classes) {
  constexpr unsigned kSign = kExponent + kMantissa;
  const bool negative = bits >> kSign & 1;
  const uint64_t mantissa = bits & ((1ull << kMantissa) - 1);
  const uint64_t exponent = bits >> kMantissa & ((1ull << kExponent) - 1);
  unsigned which;
  if (exponent == (1ull << kExponent) - 1)
    which = mantissa ? mantissa >> (kMantissa - 1) & 1 : negative ? 2 : 9;
  else if (exponent)
    which = negative ? 3 : 8;
  else if (mantissa)
    which = negative ? 4 : 7;
  else
    which = negative ? 5 : 6;
  return classes >> which & 1;
}

/// The class tests look at bits: modifiers apply, denormals are not flushed.
template <unsigned kSize>
void compare_class(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  LaneWords low_space, high_space;
  Poison own;
  const u32* low = fetch_words(w, op, 0, 0, active, low_space, own);
  const u32* high = kSize == 64 ? fetch_words(w, op, 0, 1, active, high_space, own) : nullptr;
  const bool upper = kSize == 16 && reads_high(op, op.src[0]);
  if (kSize == 16)
    add_half_poison(poison, own, upper);
  else
    add_word_poison(poison, own);
  const Input<u32> classes(InputArguments{w, op, 1, active, poison});
  const uint64_t sign = 1ull << (kSize - 1);
  bool out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    uint64_t bits = low[l];
    if (kSize == 64) bits |= uint64_t(high[l]) << 32;
    if (kSize == 16) bits = bits >> (upper ? 16 : 0) & 0xffff;
    if (op.src[0].abs()) bits &= ~sign;
    if (op.src[0].neg()) bits ^= sign;
    out[l] = kSize == 16   ? in_class<5, 10>(bits, classes[l])
             : kSize == 32 ? in_class<8, 23>(bits, classes[l])
                           : in_class<11, 52>(bits, classes[l]);
  }
  commit<bool>(w, op, out, active, poison);
}

template <class T>
auto value(T v) {
  if constexpr (std::is_same_v<T, f16>)
    return v.value;
  else
    return v;
}

#define ONE(name, type, expr)                     \
  lane_row<[](type x, type y) -> bool {           \
    [[maybe_unused]] const auto a = value(x);     \
    [[maybe_unused]] const auto b = value(y);     \
    return (expr);                                \
  }>("V_CMP_" name),                              \
      lane_row<[](type x, type y) -> bool {       \
        [[maybe_unused]] const auto a = value(x); \
        [[maybe_unused]] const auto b = value(y); \
        return (expr);                            \
      }>("V_CMPX_" name)
#define FLOATS(suffix, type)                                                                      \
  ONE("F_" suffix, type, false), ONE("LT_" suffix, type, a < b), ONE("EQ_" suffix, type, a == b), \
      ONE("LE_" suffix, type, a <= b), ONE("GT_" suffix, type, a > b),                            \
      ONE("LG_" suffix, type, (a < b) | (a > b)), ONE("GE_" suffix, type, a >= b),                \
      ONE("O_" suffix, type, (a == a) & (b == b)), ONE("U_" suffix, type, (a != a) | (b != b)),   \
      ONE("NGE_" suffix, type, !(a >= b)), ONE("NLG_" suffix, type, !((a < b) | (a > b))),        \
      ONE("NGT_" suffix, type, !(a > b)), ONE("NLE_" suffix, type, !(a <= b)),                    \
      ONE("NEQ_" suffix, type, !(a == b)), ONE("NLT_" suffix, type, !(a < b)),                    \
      ONE("TRU_" suffix, type, true), ONE("T_" suffix, type, true)
#define INTEGERS(suffix, type)                                                                    \
  ONE("F_" suffix, type, false), ONE("LT_" suffix, type, a < b), ONE("EQ_" suffix, type, a == b), \
      ONE("LE_" suffix, type, a <= b), ONE("GT_" suffix, type, a > b),                            \
      ONE("NE_" suffix, type, a != b), ONE("GE_" suffix, type, a >= b),                           \
      ONE("T_" suffix, type, true)

const Row kRows[] = {
    FLOATS("F16", f16),
    FLOATS("F32", float),
    FLOATS("F64", double),
    INTEGERS("I16", int16_t),
    INTEGERS("U16", uint16_t),
    INTEGERS("I32", int32_t),
    INTEGERS("U32", uint32_t),
    INTEGERS("I64", int64_t),
    INTEGERS("U64", uint64_t),
    {"V_CMP_CLASS_F16", compare_class<16>, 2},
    {"V_CMPX_CLASS_F16", compare_class<16>, 2},
    {"V_CMP_CLASS_F32", compare_class<32>, 2},
    {"V_CMPX_CLASS_F32", compare_class<32>, 2},
    {"V_CMP_CLASS_F64", compare_class<64>, 2},
    {"V_CMPX_CLASS_F64", compare_class<64>, 2},
};

}  // namespace

std::span<const Row> valu_compare_rows() { return kRows; }

}  // namespace tiny::models::amd
