// SPDX-License-Identifier: MIT
// Exponentials, logarithms and powers: reduce to a short interval, polynomial, scale back.
//
// Tables and split constants come from tools/minimax/minimax.py.
#include "compiler/lower/decompose_ops.h"
#include "compiler/lower/decompose_tables.h"

namespace tiny::lower {

namespace {

using Table = std::span<const double>;

bool is_double(Value x) { return x.dtype() == DType::f64; }
Table pick(Value x, Table single, Table wide) { return is_double(x) ? wide : single; }

/// x with values below `least` replaced by it; NaN stays.
Value at_least(Value x, double least) { return select(x < least, x.like(least), x); }

struct Reduced {
  Value rest;     ///< in [-ln2/2, ln2/2]
  Nearest power;  ///< x = rest + power * ln2
};

Reduced reduce_by_ln2(Value x) {
  const Table ln2 = pick(x, kLn2Single, kLn2Double);
  const Nearest n = nearest(x, pick(x, kLog2eSingle, kLog2eDouble)[0]);
  // The high part is short enough for n * ln2[0] to be exact.
  return {mul_add(n.value, -ln2[1], mul_add(n.value, -ln2[0], x)), n};
}

/// (e^r - 1 - r) / r^2
Value exp_tail(Value r) { return polynomial(r, pick(r, kExpSingle, kExpDouble)); }

/// 2^n where it is a normal number.
Value power_of_two(Value n_bits) {
  const FloatFormat& f = n_bits.dtype() == DType::u64 ? kDouble : kSingle;
  return float_of((n_bits << f.mantissa_bits) + f.power_of_two(0));
}

}  // namespace

Value scale_by_power(Value y, Value n_bits, Value tiny) {
  // Normal: 2^(n-1), then 2, as 2^n may be just beyond the format. Tiny: 2^(n+up), then 2^-up,
  // which is the one rounding into the subnormals.
  const FloatFormat& f = format_of(y);
  const int up = f.bias / 2;
  const Value offset =
      select(tiny, n_bits.like(f.power_of_two(up)), n_bits.like(f.power_of_two(-1)));
  const Value first = float_of((n_bits << f.mantissa_bits) + offset);
  const Value second = select(tiny, y.like(std::ldexp(1.0, -up)), y.like(2));
  return (y * first) * second;
}

Value exp(Value x) {
  const double least = is_double(x) ? -746 : -104;  // 0 from here down
  const double most = is_double(x) ? 710 : 89;      // infinity from here up
  const double normal = is_double(x) ? -708 : -86;
  const Value bounded = at_least(x, least);
  const auto [r, n] = reduce_by_ln2(bounded);
  const Value y = mul_add(r * r, exp_tail(r), r) + 1;
  const Value scaled = scale_by_power(y, n.bits, bounded < normal);
  return select(x > most, x.like(HUGE_VAL), scaled);
}

Value exp2(Value x) {
  const double least = is_double(x) ? -1076 : -151;
  const double most = is_double(x) ? 1024.25 : 128.25;
  const double normal = is_double(x) ? -1021 : -125;
  const Value bounded = at_least(x, least);
  const Nearest n = nearest(bounded, 1);
  const Value r = bounded - n.value;
  const Value y = mul_add(r, polynomial(r, pick(x, kExp2Single, kExp2Double)), x.like(1));
  const Value scaled = scale_by_power(y, n.bits, bounded < normal);
  return select(x > most, x.like(HUGE_VAL), scaled);
}

Value exp_moderate(Value x) {
  const auto [r, n] = reduce_by_ln2(x);
  return (mul_add(r * r, exp_tail(r), r) + 1) * power_of_two(n.bits);
}

Significand split_exponent(Value x) {
  const FloatFormat& f = format_of(x);
  const int up = f.mantissa_bits + 1;
  const Value subnormal = x < f.smallest_normal();
  const Value bits = bits_of(select(subnormal, x * std::ldexp(1.0, up), x));
  // Moving sqrt(1/2) to 1 makes the exponent field count from there.
  const uint64_t root = is_double(x) ? std::bit_cast<uint64_t>(std::sqrt(0.5))
                                     : std::bit_cast<uint32_t>(std::sqrt(0.5f));
  const Value moved = bits + (f.power_of_two(0) - root);
  const Value fraction = float_of((moved & f.mantissa_mask()) + root) - 1;
  // The field becomes a float inside the mantissa of 2^mantissa_bits.
  const double whole = std::ldexp(1.0, f.mantissa_bits);
  const Value field = float_of((moved >> f.mantissa_bits) | f.power_of_two(f.mantissa_bits));
  const Value bias = select(subnormal, x.like(whole + f.bias + up), x.like(whole + f.bias));
  return {fraction, field - bias};
}

namespace {

/// log(1 + f) - f in f32: -f^2/2 + f^3 P(f), plus what else is small.
Value log_tail_single(Value f, Value more) {
  const Value square = f * f;
  const Value cube = mul_add(f * square, polynomial(f, kLogSingle), more);
  return mul_add(square, -0.5, cube);
}

/// With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))).
struct LogDouble {
  Value half_square;  ///< f^2 / 2
  Value product;      ///< s (f^2/2 + R)
};

LogDouble log_double(Value f) {
  const Value s = f / (f + 2);
  const Value z = s * s;
  const Value half_square = f * f * 0.5;
  return {half_square, s * mul_add(z, polynomial(z, kLogDouble), half_square)};
}

/// What a logarithm is at 0, below 0, at infinity and NaN.
Value with_log_limits(Value x, Value result) {
  const Value positive = select(x == 0, x.like(-HUGE_VAL), x.like(NAN));
  return select(x < HUGE_VAL, select(x > 0, result, positive), x);
}

Value log2_single(const Significand& s) {
  // log2 e is 1 + kRest: f and the tail themselves are added without rounding a product.
  constexpr double kRest = kLog2eDouble[0] - 1;
  const Value f = s.fraction;
  const Value tail = log_tail_single(f, f.like(0));
  const Value small = mul_add(f, kRest, tail * kRest) + tail;
  return (small + f) + s.exponent;
}

Value log2_double(const Significand& s) {
  const Value f = s.fraction;
  const LogDouble log = log_double(f);
  // A high part of 21 bits, so that its product with the short log2 e is exact.
  const Value head = float_of(bits_of(f - log.half_square) & ~((uint64_t{1} << 32) - 1));
  const Value tail = ((f - head) - log.half_square) + log.product;
  const double* log2e = kLog2eShortDouble;
  const Value low = mul_add(tail + head, log2e[1], tail * log2e[0]);
  const Pair sum = fast_two_sum(s.exponent, head * log2e[0]);
  return (sum.lo + low) + sum.hi;
}

}  // namespace

Value log(Value x) {
  const auto [f, e] = split_exponent(x);
  const Table ln2 = pick(x, kLn2Single, kLn2Double);
  if (!is_double(x)) {
    const Value tail = log_tail_single(f, e * ln2[1]);
    return with_log_limits(x, mul_add(e, ln2[0], f + tail));
  }
  const LogDouble log = log_double(f);
  const Value low = log.half_square - mul_add(e, ln2[1], log.product);
  return with_log_limits(x, mul_add(e, ln2[0], -(low - f)));
}

Value log2(Value x) {
  const Significand s = split_exponent(x);
  return with_log_limits(x, is_double(x) ? log2_double(s) : log2_single(s));
}

}  // namespace tiny::lower
