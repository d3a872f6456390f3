// SPDX-License-Identifier: MIT
// x^y as 2^(y log2 x), the logarithm in double-length arithmetic of the operand's own format.
#include "compiler/lower/decompose_ops.h"
#include "compiler/lower/decompose_tables.h"

namespace tiny::lower {

namespace {

using Table = std::span<const double>;

bool is_double(Value x) { return x.dtype() == DType::f64; }
Table pick(Value x, Table single, Table wide) { return is_double(x) ? wide : single; }

/// f / (2 + f) and what its rounding lost.
Pair atanh_argument(Value f) {
  const Pair below = fast_two_sum(f.like(2), f);
  const Value s = f / below.hi;
  const Pair back = two_product(s, below.hi);
  const Value rest = (sub_rounded(f, back.hi) - back.lo) - s * below.lo;
  return {s, rest / below.hi};
}

/// log(1 + f) = s (2 + s^2 (2/3 + s^2 T(s^2))), s = f / (2 + f); twice the format's precision down
/// to the error of T.
Pair log_pair(Value f) {
  const Pair s = atanh_argument(f);
  const Pair square = two_product(s.hi, s.hi);
  const Value square_lo = mul_add(s.hi * 2, s.lo, square.lo);
  const Table third = pick(f, kTwoThirdsSingle, kTwoThirdsDouble);
  const Value w = square.hi * polynomial(square.hi, pick(f, kPowLogSingle, kPowLogDouble));
  const Pair a = fast_two_sum(f.like(third[0]), w);
  const Value a_lo = a.lo + third[1];
  const Pair b = two_product(square.hi, a.hi);
  const Value b_lo = b.lo + mul_add(square.hi, a_lo, square_lo * a.hi);
  const Pair g = fast_two_sum(f.like(2), b.hi);
  const Value g_lo = g.lo + b_lo;
  const Pair log = two_product(s.hi, g.hi);
  return {log.hi, log.lo + mul_add(s.hi, g_lo, s.lo * g.hi)};
}

/// log2 of x > 0.
Pair log2_pair(Value x) {
  const auto [fraction, exponent] = split_exponent(x);
  const Pair log = log_pair(fraction);
  const Table log2e = pick(x, kLog2eSingle, kLog2eDouble);
  const Pair product = two_product(log.hi, x.like(log2e[0]));
  const Value product_lo = product.lo + mul_add(log.hi, log2e[1], log.lo * log2e[0]);
  const Pair sum = fast_two_sum(exponent, product.hi);
  return fast_two_sum(sum.hi, sum.lo + product_lo);
}

/// 2^(hi + lo), hi bounded to where the result is 0 or infinity.
Value exp2_pair(Pair t) {
  const double most = is_double(t.hi) ? 1100 : 160;
  const double normal = is_double(t.hi) ? -1020 : -124;
  const Value inside = magnitude(t.hi) < most;
  const Value limit = select(t.hi < 0, t.hi.like(-most), t.hi.like(most));
  const Value hi = select(inside, t.hi, limit);
  const Nearest n = nearest(hi, 1);
  const Value r = (hi - n.value) + select(inside, t.lo, t.lo.like(0));
  const Table table = pick(r, kExp2Single, kExp2Double);
  const Value y = mul_add(r, polynomial(r, table), r.like(1));
  const Value scaled = scale_by_power(y, n.bits, hi < normal);
  // Beyond the format's exponents the bit arithmetic of the scaling wraps.
  const double overflow = is_double(hi) ? 1025 : 129, underflow = is_double(hi) ? -1080 : -155;
  const Value low = select(hi < underflow, hi.like(0), scaled);
  return select(hi > overflow, hi.like(HUGE_VAL), low);
}

/// |x|^y for positive finite |x| and finite y.
Value power_of_magnitude(Value size, Value y) {
  const Pair log = log2_pair(size);
  const Pair t = two_product(y, log.hi);
  return exp2_pair({t.hi, mul_add(y, log.lo, t.lo)});
}

/// |x|^y where |x| is 0, 1 or infinite or y is infinite: 0, 1 or infinity.
Value power_at_limits(Value size, Value y) {
  const Value grows = (size > 1) ^ (y < 0);
  return select(size == 1, y.like(1), select(grows, y.like(HUGE_VAL), y.like(0)));
}

}  // namespace

Value pow(Value x, Value y) {
  const Value size = magnitude(x);
  const Value whole = trunc(y) == y, half = y * 0.5;
  const Value odd = whole & (trunc(half) != half);
  const Value limits = (size == 0) | (size == 1) | (size == HUGE_VAL) | (magnitude(y) == HUGE_VAL);
  const Value p = select(limits, power_at_limits(size, y), power_of_magnitude(size, y));
  const Value sign = sign_of(x);
  const Value signed_p = with_sign(p, select(odd, sign, sign.like(0)));
  const Value no_root = (x < 0) & (x > -HUGE_VAL) & !whole;
  const Value nan = no_root | (x != x) | (y != y);
  const Value result = select(nan, x.like(NAN), signed_p);
  return select((x == 1) | (y == 0), x.like(1), result);
}

}  // namespace tiny::lower
