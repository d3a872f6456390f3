// SPDX-License-Identifier: MIT
// The three instructions of a correctly rounded division, as the RDNA3 document defines them,
// except that v_div_fmas undoes the scaling in the direction the quotient needs (the document's
// constant factor would not give a correct division).
#include "models/amd/isa/lanes.h"

namespace tiny::models::amd {
namespace {

using u64 = uint64_t;

template <class F>
struct Format;
template <>
struct Format<float> {
  static constexpr int kBias = 127, kMantissa = 23, kScale = 64, kNearMax = 96, kTiny = 23,
                       kUnderflow = -150;
  static constexpr int kMost = 255;
  using Bits = uint32_t;
};
template <>
struct Format<double> {
  static constexpr int kBias = 1023, kMantissa = 52, kScale = 128, kNearMax = 768, kTiny = 53,
                       kUnderflow = -1075;
  static constexpr int kMost = 2047;
  using Bits = uint64_t;
};

template <class F>
int exponent(F v) {
  using T = Format<F>;
  return static_cast<int>(bits_of(v) >> T::kMantissa & T::kMost);
}
/// Denormal, or so small that it became 0: the quotient of finite nonzero numbers.
template <class F>
bool denormal_result(F v) {
  return exponent(v) == 0;
}

template <class F>
F scale(F s0, F den, F num, bool& vcc) {
  using T = Format<F>;
  vcc = false;
  if (num == 0 || den == 0) return sizeof(F) == 4 ? F(float_of(kNan32)) : F(double_of(kNan64));
  const bool is_den = bits_of(s0) == bits_of(den), is_num = bits_of(s0) == bits_of(num);
  const bool tiny_inverse = denormal_result(F(1) / den), tiny_quotient = denormal_result(num / den);
  if (exponent(num) - exponent(den) >= T::kNearMax) {
    vcc = true;
    return is_den ? std::ldexp(s0, T::kScale) : s0;
  }
  if (is_denorm(bits_of(den))) return std::ldexp(s0, T::kScale);
  if (tiny_inverse && tiny_quotient) {
    vcc = true;  // a huge denominator goes down (the document says up, which would overflow)
    return is_den ? std::ldexp(s0, -T::kScale) : s0;
  }
  if (tiny_inverse) return std::ldexp(s0, -T::kScale);
  if (tiny_quotient) {
    vcc = true;
    return is_num ? std::ldexp(s0, T::kScale) : s0;
  }
  if (exponent(num) <= T::kTiny) return std::ldexp(s0, T::kScale);
  return s0;
}

template <class F>
void div_scale(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Input<F> s0(InputArguments{w, op, 0, active, poison});
  const Input<F> den(InputArguments{w, op, 1, active, poison});
  const Input<F> num(InputArguments{w, op, 2, active, poison});
  F out[kMaxLanes];
  u64 mask = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    bool vcc;
    out[l] = scale(s0[l], den[l], num[l], vcc);
    mask |= u64(vcc) << l;
  }
  commit<F>(w, op, out, active, poison);
  commit_mask(w, op.sdst, mask, active, poison);
}

/// fma(a, b, c)·2^by with one rounding: where the scaled value is denormal and the rounded sum lies
/// half way between two of them, what the sum lost decides.
template <class F>
F scaled_fma(F a, F b, F c, int by) {
  const F sum = std::fma(a, b, c), near = std::ldexp(sum, by);
  if (!std::isfinite(near) || !is_denorm(bits_of(near))) return near;
  const F product = a * b, low = std::fma(a, b, -product), s = product + c, back = s - product;
  const F lost = (s - sum) + (((product - (s - back)) + (c - back)) + low);
  const F rounded = std::ldexp(near, -by), off = sum - rounded;
  const F half = std::ldexp(std::numeric_limits<F>::denorm_min(), -by) / 2;
  if (lost == 0 || std::fabs(off) != half) return near;
  const bool up = lost > 0, is_upper = rounded > sum;
  if (up == is_upper) return near;
  return std::nextafter(near, up ? F(HUGE_VAL) : F(-HUGE_VAL));
}

template <class F>
void div_fmas(Wave& w, const Op& op) {
  using T = Format<F>;
  const Active active(w, op);
  Poison poison;
  const Input<F> a(InputArguments{w, op, 0, active, poison});
  const Input<F> b(InputArguments{w, op, 1, active, poison});
  const Input<F> c(InputArguments{w, op, 2, active, poison});
  Source vcc = op.sdst;
  vcc.reg = kVccLo;
  u64 unknown = 0;
  const u64 mask = read_mask(w, vcc, &unknown);
  poison.lo |= unknown;
  poison.hi |= unknown;
  F out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    if (!(mask >> l & 1)) {
      out[l] = std::fma(a[l], b[l], c[l]);
      continue;
    }
    const int by = exponent(c[l]) > T::kBias ? T::kScale : -T::kScale;
    out[l] = scaled_fma(a[l], b[l], c[l], by);
  }
  commit<F>(w, op, out, active, poison);
}

template <class F>
F fixup(F q, F den, F num) {
  using T = Format<F>;
  using B = typename T::Bits;
  constexpr B kSign = B(1) << (sizeof(F) * 8 - 1);
  const B sign = (bits_of(den) ^ bits_of(num)) & kSign;
  const B invalid = sizeof(F) == 4 ? B(kNan32) : B(kNan64);
  const B infinity = B(T::kMost) << T::kMantissa;
  auto make = [](B bits) { return std::bit_cast<F>(bits); };
  if (std::isnan(num)) return make(quiet(bits_of(num)));
  if (std::isnan(den)) return make(quiet(bits_of(den)));
  if (den == 0 && num == 0) return make(invalid);
  if (std::isinf(den) && std::isinf(num)) return make(invalid);
  if (den == 0 || std::isinf(num)) return make(sign | infinity);
  if (std::isinf(den) || num == 0) return make(sign);
  if (exponent(num) - exponent(den) < T::kUnderflow) return make(sign);
  // The steps before overflow to infinities and their NaN only where the quotient does.
  if (std::isnan(q)) return make(sign | infinity);
  return make(sign | (bits_of(q) & ~kSign));
}

f16 fixup16(f16 q, f16 den, f16 num) {
  const double d = den.value, n = num.value;
  const bool negative = std::signbit(d) != std::signbit(n);
  auto signed_value = [&](double v) { return f16{negative ? -v : v}; };
  if (std::isnan(n)) return num;
  if (std::isnan(d)) return den;
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return f16{double_of(kNan64)};
  if (d == 0 || std::isinf(n)) return signed_value(HUGE_VAL);
  if (std::isinf(d) || n == 0) return signed_value(0);
  return signed_value(std::fabs(q.value));
}

const Row kRows[] = {
    {"V_DIV_SCALE_F32", div_scale<float>, 3, 0, 1},
    {"V_DIV_SCALE_F64", div_scale<double>, 3, 0, 2},
    {"V_DIV_FMAS_F32", div_fmas<float>, 3, 0, 1},
    {"V_DIV_FMAS_F64", div_fmas<double>, 3, 0, 2},
    lane_row<[](float a, float b, float c) { return fixup(a, b, c); }>("V_DIV_FIXUP_F32"),
    lane_row<[](double a, double b, double c) { return fixup(a, b, c); }>("V_DIV_FIXUP_F64"),
    lane_row<[](f16 a, f16 b, f16 c) { return fixup16(a, b, c); }>("V_DIV_FIXUP_F16"),
};

}  // namespace

std::span<const Row> valu_division_rows() { return kRows; }

}  // namespace tiny::models::amd
