// SPDX-License-Identifier: MIT
// Vector f16 arithmetic: sources widened exactly, one rounding when written. Sums and products of
// f16 are exact in double, and so is the product of a fused multiply-add; where its sum is not, the
// discarded part is too small to meet a rounding boundary of f16.
#include "models/amd/isa/lanes.h"

#include <numbers>

namespace tiny::models::amd {
namespace {

using C = Context;

f16 minimum(f16 a, f16 b) {
  if (std::isnan(a.value)) return b;
  if (std::isnan(b.value)) return a;
  if (a.value == b.value) return std::signbit(a.value) ? a : b;
  return a.value < b.value ? a : b;
}
f16 maximum(f16 a, f16 b) {
  if (std::isnan(a.value)) return b;
  if (std::isnan(b.value)) return a;
  if (a.value == b.value) return std::signbit(a.value) ? b : a;
  return a.value > b.value ? a : b;
}
f16 median(f16 x, f16 y, f16 z) {
  if (std::isnan(x.value) || std::isnan(y.value) || std::isnan(z.value))
    return minimum(minimum(x, y), z);
  const f16 top = maximum(maximum(x, y), z);
  if (top.value == x.value) return maximum(y, z);
  if (top.value == y.value) return maximum(x, z);
  return maximum(x, y);
}
double turns(double a, double (*f)(double), double far) {
  if (std::isinf(a)) return double_of(kNan64);
  if (std::fabs(a) > 256) return far;
  return f((a - std::nearbyint(a)) * 2 * std::numbers::pi);
}
double sine(double a) {
  const double turn = std::isfinite(a) ? a - std::nearbyint(a) : a;
  return turn == 0.5 || turn == -0.5 ? 0 : turns(a, [](double x) { return std::sin(x); }, 0);
}
double cosine(double a) {
  const double turn = std::isfinite(a) ? a - std::nearbyint(a) : a;
  return turn == 0.25 || turn == -0.25 ? 0 : turns(a, [](double x) { return std::cos(x); }, 1);
}
double logarithm(double a) { return a == 0 ? -HUGE_VAL : std::log2(a); }
int16_t exponent(double a) {
  if (!std::isfinite(a) || a == 0) return 0;
  int e;
  std::frexp(a, &e);
  return static_cast<int16_t>(e);
}
double mantissa(double a) {
  if (!std::isfinite(a)) return a;
  int e;
  return std::frexp(a, &e);
}
double fraction(double a) {
  const double r = a - std::floor(a);
  return r > 0x1.ffcp-1 ? 0x1.ffcp-1 : r;
}

#define F16_1(name, ...)      \
  lane_row<[](f16 x) {        \
    const double a = x.value; \
    return f16{__VA_ARGS__};  \
  }>(name)
#define F16_2(name, ...)                   \
  lane_row<[](f16 x, f16 y) {              \
    const double a = x.value, b = y.value; \
    return f16{__VA_ARGS__};               \
  }>(name)
#define F16_3(name, ...)                                \
  lane_row<[](f16 x, f16 y, f16 z) {                    \
    const double a = x.value, b = y.value, c = z.value; \
    return f16{__VA_ARGS__};                            \
  }>(name)

const Row kRows[] = {
    F16_2("V_ADD_F16", a + b),
    F16_2("V_SUB_F16", a - b),
    F16_2("V_SUBREV_F16", b - a),
    F16_2("V_MUL_F16", a* b),
    F16_3("V_FMA_F16", std::fma(a, b, c)),
    F16_3("V_FMAC_F16", std::fma(a, b, c)),
    F16_3("V_FMAAK_F16", std::fma(a, b, c)),
    F16_3("V_FMAMK_F16", std::fma(a, b, c)),
    lane_row<[](f16 a, f16 b) { return minimum(a, b); }>("V_MIN_F16"),
    lane_row<[](f16 a, f16 b) { return maximum(a, b); }>("V_MAX_F16"),
    lane_row<[](f16 a, f16 b, f16 c) { return minimum(minimum(a, b), c); }>("V_MIN3_F16"),
    lane_row<[](f16 a, f16 b, f16 c) { return maximum(maximum(a, b), c); }>("V_MAX3_F16"),
    lane_row<[](f16 a, f16 b, f16 c) { return median(a, b, c); }>("V_MED3_F16"),
    lane_row<[](f16 a, f16 b, f16 c) { return minimum(maximum(a, b), c); }>("V_MAXMIN_F16"),
    lane_row<[](f16 a, f16 b, f16 c) { return maximum(minimum(a, b), c); }>("V_MINMAX_F16"),
    F16_1("V_RCP_F16", 1.0 / a),
    F16_1("V_SQRT_F16", std::sqrt(a)),
    F16_1("V_RSQ_F16", 1.0 / std::sqrt(a)),
    F16_1("V_LOG_F16", logarithm(a)),
    F16_1("V_EXP_F16", std::exp2(a)),
    F16_1("V_SIN_F16", sine(a)),
    F16_1("V_COS_F16", cosine(a)),
    F16_1("V_TRUNC_F16", std::trunc(a)),
    F16_1("V_CEIL_F16", std::ceil(a)),
    F16_1("V_FLOOR_F16", std::floor(a)),
    F16_1("V_RNDNE_F16", std::nearbyint(a)),
    F16_1("V_FRACT_F16", fraction(a)),
    F16_1("V_FREXP_MANT_F16", mantissa(a)),
    lane_row<[](f16 a) { return exponent(a.value); }>("V_FREXP_EXP_I16_F16"),
    lane_row<[](f16 a, int16_t e) { return f16{std::ldexp(a.value, e)}; }>("V_LDEXP_F16"),
    // conversions between f16 and 16-bit integers
    lane_row<[](int16_t a) { return f16{static_cast<double>(a)}; }>("V_CVT_F16_I16"),
    lane_row<[](uint16_t a) { return f16{static_cast<double>(a)}; }>("V_CVT_F16_U16"),
    lane_row<[](f16 a) {
      const double v = std::isnan(a.value) ? 0 : std::trunc(a.value);
      return (static_cast<int16_t>(std::fmax(-32768.0, std::fmin(32767.0, v))));
    }>("V_CVT_I16_F16"),
    lane_row<[](f16 a) {
      const double v = std::isnan(a.value) ? 0 : std::trunc(a.value);
      return (static_cast<uint16_t>(std::fmax(0.0, std::fmin(65535.0, v))));
    }>("V_CVT_U16_F16"),
    lane_row<[](f16 a) {
      const double v = std::isnan(a.value) ? 0 : std::fmax(-1.0, std::fmin(1.0, a.value));
      return (static_cast<int16_t>(std::nearbyint(v * 32767)));
    }>("V_CVT_NORM_I16_F16"),
    lane_row<[](f16 a) {
      const double v = std::isnan(a.value) ? 0 : std::fmax(0.0, std::fmin(1.0, a.value));
      return (static_cast<uint16_t>(std::nearbyint(v * 65535)));
    }>("V_CVT_NORM_U16_F16"),
};

}  // namespace

std::span<const Row> valu_f16_rows() { return kRows; }

}  // namespace tiny::models::amd
