// SPDX-License-Identifier: MIT
// Vector f32 and f64 arithmetic. The transcendental functions are computed in double and rounded
// once, better than the chips' 1 ulp; f32 ones treat denormals as zero, as the chips do.
#include "models/amd/isa/lanes.h"

#include <numbers>

namespace tiny::models::amd {
namespace {

using C = Context;

template <class F>
using BitsOf = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;

/// v_min / v_max: a signalling NaN is quieted and returned in IEEE mode, a quiet one loses against
/// a number, and −0 is below +0.
template <class F>
F minimum(const C& c, F a, F b) {
  using B = BitsOf<F>;
  const B x = bits_of(a), y = bits_of(b);
  if (c.ieee && is_snan(x)) return std::bit_cast<F>(quiet(x));
  if (c.ieee && is_snan(y)) return std::bit_cast<F>(quiet(y));
  if (is_nan(x)) return b;
  if (is_nan(y)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class F>
F maximum(const C& c, F a, F b) {
  using B = BitsOf<F>;
  const B x = bits_of(a), y = bits_of(b);
  if (c.ieee && is_snan(x)) return std::bit_cast<F>(quiet(x));
  if (c.ieee && is_snan(y)) return std::bit_cast<F>(quiet(y));
  if (is_nan(x)) return b;
  if (is_nan(y)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
float median(const C& c, float x, float y, float z) {
  if (std::isnan(x) || std::isnan(y) || std::isnan(z)) return minimum(c, minimum(c, x, y), z);
  const float top = maximum(c, maximum(c, x, y), z);
  if (top == x) return maximum(c, y, z);
  if (top == y) return maximum(c, x, z);
  return maximum(c, x, y);
}

float zero_wins(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }

/// A function of f32 through double, denormals flushed both ways.
template <auto F>
float transcendental(float a) {
  const float in = float_of(flush32(bits_of(a)));
  return float_of(flush32(bits_of(static_cast<float>(F(static_cast<double>(in))))));
}
double reciprocal(double a) { return 1.0 / a; }
double invalid_or(double a, double r) {
  return std::isnan(r) ? (std::isnan(a) ? double_of(quiet(bits_of(a))) : double_of(kNan64)) : r;
}
double reciprocal_sqrt(double a) { return invalid_or(a, 1.0 / std::sqrt(a)); }
double square_root(double a) { return invalid_or(a, std::sqrt(a)); }
double logarithm(double a) { return invalid_or(a, a == 0 ? -HUGE_VAL : std::log2(a)); }
double power_of_two(double a) { return std::exp2(a); }
/// The argument is in turns; outside ±256 the chips give sin 0 and cos 1.
double sine(double a) {
  if (std::isinf(a)) return double_of(kNan64);
  if (std::fabs(a) > 256) return 0;
  const double turn = a - std::nearbyint(a);
  if (turn == 0.5 || turn == -0.5) return 0;
  return std::sin(turn * 2 * std::numbers::pi);
}
double cosine(double a) {
  if (std::isinf(a)) return double_of(kNan64);
  if (std::fabs(a) > 256) return 1;
  const double turn = a - std::nearbyint(a);
  if (turn == 0.25 || turn == -0.25) return 0;
  return std::cos(turn * 2 * std::numbers::pi);
}

template <class F>
F fraction(F a) {
  constexpr F kMost = sizeof(F) == 4 ? F(0x1.fffffep-1) : F(0x1.fffffffffffffp-1);
  const F r = a - std::floor(a);
  return r > kMost ? kMost : r;
}
template <class F>
F mantissa(F a) {
  if (!std::isfinite(a)) return a;
  int e;
  return std::frexp(a, &e);
}
template <class F>
int32_t exponent(F a) {
  if (!std::isfinite(a)) return 0;
  int e;
  std::frexp(a, &e);
  return a == 0 ? 0 : e;
}

float fused(const C& context, float a, float b, float c) {
  return context.round32 ? std::fma(a, b, c) : fused32(a, b, c);
}
void fma32(Wave& w, const Op& op) {
  if (w.mode.round32 == 0)
    lanes<[](float a, float b, float c) { return fused32(a, b, c); }>(w, op);
  else
    lanes<[](float a, float b, float c) { return std::fma(a, b, c); }>(w, op);
}

/// The unfused multiply-add of gfx10: two roundings, no denormals.
float mad(float a, float b, float c) {
  const float product =
      float_of(flush32(bits_of(float_of(flush32(bits_of(a))) * float_of(flush32(bits_of(b))))));
  return float_of(flush32(bits_of(product + float_of(flush32(bits_of(c))))));
}

#define F32_1(name, ...) lane_row<[](float a) -> float { return (__VA_ARGS__); }>(name, 1)
#define F32_2(name, ...) lane_row<[](float a, float b) -> float { return (__VA_ARGS__); }>(name, 1)
#define F64_1(name, ...) lane_row<[](double a) -> double { return (__VA_ARGS__); }>(name, 2)
#define F64_2(name, ...) \
  lane_row<[](double a, double b) -> double { return (__VA_ARGS__); }>(name, 2)

const Row kRows[] = {
    F32_2("V_ADD_F32", a + b),
    F32_2("V_SUB_F32", a - b),
    F32_2("V_SUBREV_F32", b - a),
    F32_2("V_MUL_F32", a* b),
    F32_2("V_MUL_LEGACY_F32", zero_wins(a, b)),
    F32_2("V_MUL_DX9_ZERO_F32", zero_wins(a, b)),
    {"V_FMA_F32", fma32, 3, 0, 1},
    {"V_FMAC_F32", fma32, 3, 0, 1},
    {"V_FMAAK_F32", fma32, 3, 0, 1},
    lane_row<[](C c, float a, float k, float b) { return fused(c, a, k, b); }>("V_FMAMK_F32", 1),
    lane_row<[](C k, float a, float b, float c) {
      return a == 0 || b == 0 ? c : fused(k, a, b, c);
    }>("V_FMA_LEGACY_F32", 1),
    lane_row<[](C k, float a, float b, float c) {
      return a == 0 || b == 0 ? c : fused(k, a, b, c);
    }>("V_FMA_DX9_ZERO_F32", 1),
    lane_row<[](C k, float a, float b, float c) {
      return a == 0 || b == 0 ? c : fused(k, a, b, c);
    }>("V_FMAC_LEGACY_F32", 1),
    lane_row<[](C k, float a, float b, float c) {
      return a == 0 || b == 0 ? c : fused(k, a, b, c);
    }>("V_FMAC_DX9_ZERO_F32", 1),
    lane_row<[](float a, float b, float c) { return mad(a, b, c); }>("V_MAD_F32"),
    lane_row<[](float a, float b, float c) { return mad(a, b, c); }>("V_MAC_F32"),
    lane_row<[](float a, float b, float c) { return mad(a, b, c); }>("V_MADAK_F32"),
    lane_row<[](float a, float b, float c) { return mad(a, b, c); }>("V_MADMK_F32"),
    lane_row<[](C c, float a, float b) { return minimum(c, a, b); }>("V_MIN_F32"),
    lane_row<[](C c, float a, float b) { return maximum(c, a, b); }>("V_MAX_F32"),
    lane_row<[](C c, float x, float y, float z) { return minimum(c, minimum(c, x, y), z); }>(
        "V_MIN3_F32"),
    lane_row<[](C c, float x, float y, float z) { return maximum(c, maximum(c, x, y), z); }>(
        "V_MAX3_F32"),
    lane_row<[](C c, float x, float y, float z) { return median(c, x, y, z); }>("V_MED3_F32"),
    lane_row<[](C c, float x, float y, float z) { return minimum(c, maximum(c, x, y), z); }>(
        "V_MAXMIN_F32"),
    lane_row<[](C c, float x, float y, float z) { return maximum(c, minimum(c, x, y), z); }>(
        "V_MINMAX_F32"),
    lane_row<[](float a) { return std::trunc(a); }>("V_TRUNC_F32"),
    lane_row<[](float a) { return std::ceil(a); }>("V_CEIL_F32"),
    lane_row<[](float a) { return std::floor(a); }>("V_FLOOR_F32"),
    lane_row<[](float a) { return std::nearbyint(a); }>("V_RNDNE_F32"),
    lane_row<[](float a) { return fraction(a); }>("V_FRACT_F32"),
    lane_row<[](float a) { return mantissa(a); }>("V_FREXP_MANT_F32"),
    lane_row<[](float a) { return exponent(a); }>("V_FREXP_EXP_I32_F32"),
    lane_row<[](float a, int32_t e) { return std::ldexp(a, e); }>("V_LDEXP_F32", 1),
    lane_row<[](float a) { return (transcendental<reciprocal>(a)); }>("V_RCP_F32"),
    lane_row<[](float a) { return (transcendental<reciprocal>(a)); }>("V_RCP_IFLAG_F32"),
    lane_row<[](float a) { return (transcendental<reciprocal_sqrt>(a)); }>("V_RSQ_F32"),
    lane_row<[](float a) { return (transcendental<square_root>(a)); }>("V_SQRT_F32"),
    lane_row<[](float a) { return (transcendental<logarithm>(a)); }>("V_LOG_F32"),
    lane_row<[](float a) { return (transcendental<power_of_two>(a)); }>("V_EXP_F32"),
    lane_row<[](float a) { return (transcendental<sine>(a)); }>("V_SIN_F32"),
    lane_row<[](float a) { return (transcendental<cosine>(a)); }>("V_COS_F32"),
    // f64
    F64_2("V_ADD_F64", a + b),
    F64_2("V_MUL_F64", a* b),
    lane_row<[](double a, double b, double c) { return fused64(a, b, c); }>("V_FMA_F64", 2),
    lane_row<[](C c, double a, double b) { return minimum(c, a, b); }>("V_MIN_F64"),
    lane_row<[](C c, double a, double b) { return maximum(c, a, b); }>("V_MAX_F64"),
    lane_row<[](double a) { return std::trunc(a); }>("V_TRUNC_F64"),
    lane_row<[](double a) { return std::ceil(a); }>("V_CEIL_F64"),
    lane_row<[](double a) { return std::floor(a); }>("V_FLOOR_F64"),
    lane_row<[](double a) { return std::nearbyint(a); }>("V_RNDNE_F64"),
    lane_row<[](double a) { return fraction(a); }>("V_FRACT_F64"),
    lane_row<[](double a) { return mantissa(a); }>("V_FREXP_MANT_F64"),
    lane_row<[](double a) { return exponent(a); }>("V_FREXP_EXP_I32_F64"),
    lane_row<[](double a, int32_t e) { return std::ldexp(a, e); }>("V_LDEXP_F64", 2),
    lane_row<[](double a) { return reciprocal(a); }>("V_RCP_F64"),
    lane_row<[](double a) { return reciprocal_sqrt(a); }>("V_RSQ_F64"),
    lane_row<[](double a) { return square_root(a); }>("V_SQRT_F64", 2),
};

}  // namespace

std::span<const Row> valu_float_rows() { return kRows; }

}  // namespace tiny::models::amd
