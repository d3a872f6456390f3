// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/dtype.h>

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace tiny {
namespace {

struct DTypeRow {
  std::string_view name;
  uint8_t size_B;
};
constexpr std::array<DTypeRow, kDTypeCount> kRows{{{"bool", 1},
                                                   {"u8", 1},
                                                   {"u16", 2},
                                                   {"u32", 4},
                                                   {"u64", 8},
                                                   {"i8", 1},
                                                   {"i16", 2},
                                                   {"i32", 4},
                                                   {"i64", 8},
                                                   {"f16", 2},
                                                   {"bf16", 2},
                                                   {"f32", 4},
                                                   {"f64", 8}}};

const DTypeRow& row(DType t) {
  CHECK_INVARIANT(static_cast<size_t>(t) < kRows.size(), "not an element type");
  return kRows[static_cast<size_t>(t)];
}

/// The narrowest signed type that holds every value of the unsigned type; none for u64.
DType promote_mixed_sign(DType u, DType s) {
  if (u == DType::u64) return DType::f32;
  DType holder = u == DType::u8 ? DType::i16 : u == DType::u16 ? DType::i32 : DType::i64;
  return std::max(holder, s);
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  bool both_half = a <= DType::bf16 && b <= DType::bf16;
  return both_half ? DType::f32 : std::max(a, b);
}

/// Shifts right by `shift` (1..63) and rounds to nearest, ties to even.
constexpr uint32_t shift_round_even(uint32_t value, int shift) {
  if (shift > 31) return 0;
  uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

uint16_t half_from_float(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)  // NaN: quiet it and keep the upper payload, as F16C and FCVT do
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // |f| >= 65536
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -14) {  // subnormal result: count units of 2^-24
    const uint32_t mantissa = (magnitude & 0x7fffff) | (magnitude >= 0x800000 ? 0x800000u : 0u);
    return static_cast<uint16_t>(sign | shift_round_even(mantissa, -exponent - 1));
  }
  // A carry out of the mantissa raises the exponent, up to infinity: that is the right rounding.
  return static_cast<uint16_t>(sign | shift_round_even(magnitude - (112u << 23), 13));
}

float float_from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = (half >> 10) & 31;
  uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) {  // a signalling NaN is quieted, as F16C and FCVT do
    const uint32_t quiet = mantissa ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {  // exact in binary32: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace

size_t size_B(DType t) { return row(t).size_B; }

std::string_view name(DType t) { return row(t).name; }

DType parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == text) return static_cast<DType>(i);
  throw UsageError(fmt::format("[dtype] unknown element type \"{}\"", text));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_float(a) || is_float(b)) {
    if (is_float(a) && is_float(b)) return promote_floats(a, b);
    return is_float(a) ? a : b;
  }
  if (is_unsigned(a) == is_unsigned(b)) return std::max(a, b);
  return is_unsigned(a) ? promote_mixed_sign(a, b) : promote_mixed_sign(b, a);
}

Half::Half(float f) : bits(half_from_float(f)) {}
Half::operator float() const { return float_from_half(bits); }

BFloat16::BFloat16(float f) {
  const uint32_t b = std::bit_cast<uint32_t>(f);
  const bool nan = (b & 0x7fffffff) > 0x7f800000;
  // Adding 0x7fff plus the last kept bit rounds to nearest even; a carry may reach infinity.
  bits = static_cast<uint16_t>(nan ? (b >> 16) | 0x40 : (b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace tiny
