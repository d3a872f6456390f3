// SPDX-License-Identifier: MIT
// Numbers as the chip computes them: f16 and bf16 with a rounding mode, denormal flushing, min/max
// and clamping rules.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tiny::models::amd {

/// IEEE binary16 as a value: arithmetic is done wider and rounded once when written back.
struct f16 {
  double value = 0;
};
/// bfloat16, likewise.
struct bf16 {
  float value = 0;
};

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }
inline float float_of(uint32_t x) { return std::bit_cast<float>(x); }
inline double double_of(uint64_t x) { return std::bit_cast<double>(x); }

inline constexpr uint32_t kNan32 =
    0xffc00000u;  ///< what an invalid operation gives (ISA documents)
inline constexpr uint64_t kNan64 = 0xfff8000000000000ull;

inline bool is_nan(uint32_t f) { return (f & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan(uint64_t f) { return (f & ~(1ull << 63)) > 0x7ff0000000000000ull; }
inline bool is_snan(uint32_t f) { return is_nan(f) && !(f & 0x400000u); }
inline bool is_snan(uint64_t f) { return is_nan(f) && !(f & 0x8000000000000ull); }
inline uint32_t quiet(uint32_t f) { return f | 0x400000u; }
inline uint64_t quiet(uint64_t f) { return f | 0x8000000000000ull; }
inline bool is_denorm(uint32_t f) { return !(f & 0x7f800000u) && (f & 0x7fffffu); }
inline bool is_denorm(uint64_t f) {
  return !(f & 0x7ff0000000000000ull) && (f & 0xfffffffffffffull);
}
inline uint32_t flush32(uint32_t f) { return (f & 0x7f800000u) ? f : f & 0x80000000u; }
inline uint64_t flush64(uint64_t f) { return (f & 0x7ff0000000000000ull) ? f : f & (1ull << 63); }
inline uint16_t flush16(uint16_t f) { return (f & 0x7c00) ? f : f & 0x8000; }

/// Exact.
double half_to_double(uint16_t bits);
float half_to_float(uint16_t bits);
/// Rounded once, by MODE's encoding (0 nearest even, 1 +inf, 2 -inf, 3 zero). NaN payloads keep
/// their top bits and become quiet.
uint16_t double_to_half(double x, unsigned round);
uint16_t float_to_bf16(float x);
inline float bf16_to_float(uint16_t bits) { return float_of(uint32_t(bits) << 16); }
/// double to float under a rounding mode of MODE's encoding.
float double_to_float(double x, unsigned round);

/// a·b + c rounded once to nearest even, whatever the host has; vectorises. The product is exact in
/// double. The sum is rounded to odd (its last bit is set if bits were lost), which makes the final
/// rounding to float the only one that matters.
inline float fused32(float a, float b, float c) {
  const double product = double(a) * double(b);
  const double wide = double(c);
  const double sum = product + wide;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (wide - back);
  const uint64_t bits = bits_of(sum);
  // A NaN error (the sum is infinite or NaN) changes nothing.
  const uint64_t lost = uint64_t(error > 0) | uint64_t(error < 0);
  const uint64_t change = lost & ~bits & 1;
  const uint64_t away = uint64_t((error > 0) == (sum > 0));
  return static_cast<float>(double_of(bits + change * (2 * away - 1)));
}
inline double fused64(double a, double b, double c) { return std::fma(a, b, c); }

/// Sets the host's rounding while it lives (MODE's encoding).
class HostRounding {
 public:
  explicit HostRounding(unsigned round);
  ~HostRounding();

 private:
  int saved_;
};

}  // namespace tiny::models::amd
