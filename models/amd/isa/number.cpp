// SPDX-License-Identifier: MIT
// Conversions with explicit rounding, and a fused multiply-add that needs no host instruction.
#include "models/amd/isa/number.h"

#include <cfenv>

namespace tiny::models::amd {

double half_to_double(uint16_t bits) { return half_to_float(bits); }

float half_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return float_of(sign | ((magnitude << 13) + ((127u - 15) << 23)));
  return float_of(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24f));
}

namespace {

/// Does a value with discarded bits `rest` of `half`-way weight go one up in magnitude?
bool rounds_up(bool negative, bool odd, uint64_t rest, uint64_t half, unsigned round) {
  switch (round) {
    case 0:
      return rest > half || (rest == half && odd);
    case 1:
      return rest != 0 && !negative;
    case 2:
      return rest != 0 && negative;
    default:
      return false;
  }
}

/// The value overflows: infinity or the largest finite number, by the mode.
bool overflows_to_infinity(bool negative, unsigned round) {
  return round == 0 || (round == 1 && !negative) || (round == 2 && negative);
}

/// Rounds a double to a format of `mantissa` stored bits and smallest normal exponent
/// `min_exponent`. The result has the format's layout, without sign.
uint64_t narrow(double x, int mantissa, int min_exponent, int max_exponent, unsigned round) {
  const uint64_t bits = bits_of(x);
  const bool negative = bits >> 63;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t infinity = uint64_t(max_exponent - min_exponent + 2) << mantissa;
  uint64_t fraction = bits & 0xfffffffffffffull;
  if (exponent == 1024) {
    if (fraction == 0) return infinity;
    return infinity | 1ull << (mantissa - 1) | fraction >> (52 - mantissa);
  }
  if ((bits & ~(1ull << 63)) == 0) return 0;
  if (exponent != -1023) fraction |= 1ull << 52;
  const int shift_for_denormal = exponent < min_exponent ? min_exponent - exponent : 0;
  const int shift = std::min(52 - mantissa + shift_for_denormal, 63);
  uint64_t kept = fraction >> shift;
  const uint64_t rest = fraction & ((1ull << shift) - 1);
  if (rounds_up(negative, kept & 1, rest, 1ull << (shift - 1), round)) ++kept;
  if (!shift_for_denormal) kept += uint64_t(exponent - min_exponent) << mantissa;
  if (kept >= infinity) return overflows_to_infinity(negative, round) ? infinity : infinity - 1;
  return kept;
}

}  // namespace

uint16_t double_to_half(double x, unsigned round) {
  return static_cast<uint16_t>(narrow(x, 10, -14, 15, round) | (bits_of(x) >> 63) << 15);
}

float double_to_float(double x, unsigned round) {
  return float_of(
      static_cast<uint32_t>(narrow(x, 23, -126, 127, round) | (bits_of(x) >> 63) << 31));
}

uint16_t float_to_bf16(float x) {
  return static_cast<uint16_t>(narrow(x, 7, -126, 127, 0) | (bits_of(x) >> 31) << 15);
}

HostRounding::HostRounding(unsigned round) : saved_(std::fegetround()) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(kModes[round & 3]);
}
HostRounding::~HostRounding() { std::fesetround(saved_); }

}  // namespace tiny::models::amd
