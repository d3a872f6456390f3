// SPDX-License-Identifier: MIT
// Rounding to integers and the exact remainder of floats.
#include "compiler/lower/decompose_ops.h"

namespace tiny::lower {

Value floor(Value x) {
  const Value t = trunc(x);
  return select(x < t, t - 1, t);
}

Value ceil(Value x) {
  const Value t = trunc(x);  // keeps the sign of zero: ceil(-0.5) is -0
  return select(t < x, t + 1, t);
}

Value round_half_even(Value x) {
  const double whole = std::ldexp(1.0, format_of(x).mantissa_bits);  // integers from here on
  const Value size = magnitude(x);
  const Value rounded = (size + whole) - whole;
  return select(size < whole, with_sign(rounded, sign_of(x)), x);
}

namespace {

/// How far one division step reaches: with fma the whole quotient, without one as many bits of the
/// quotient as leave both products below exact.
struct FmodSteps {
  int bits;   ///< of the quotient a step removes
  int count;  ///< steps until the operands' farthest exponents have met
};

/// r - q * b, exactly. r and b are multiples of one unit in the last place of b.
Value exact_remainder(Value r, Value q, Value b) {
  if (r.builder->target.has_fma) return mul_add(-q, b, r);
  const uint64_t low = (uint64_t{1} << (b.dtype() == DType::f64 ? 26 : 12)) - 1;
  const Value hi = float_of(bits_of(b) & ~low);
  // The first difference may be one bit too long: its rounding error is put back at the end.
  const Pair first = two_sum(r, -(q * hi));
  return (first.hi - q * (b - hi)) + first.lo;
}

/// r mod b where r < b * 2^bits: the rounded quotient is right or one too large.
Value reduce(Value r, Value b) {
  const Value q = trunc(r / b);
  const Value rest = exact_remainder(r, q, b);
  return select(r < b, r, select(rest < 0, rest + b, rest));
}

/// |a| mod |b| for finite a and b, b not 0: long division, a few digits at a time.
Value reduce_all(Value a, Value b, FmodSteps steps) {
  std::vector<Value> multiples{b};
  const double digit = std::ldexp(1.0, steps.bits);
  for (int i = 1; i < steps.count; ++i) multiples.push_back(multiples.back() * digit);
  Value r = a;
  for (size_t i = multiples.size(); i-- > 0;) r = reduce(r, multiples[i]);
  return r;
}

/// Exponents of a significand and subnormals together span 277 (f32) or 2098 (f64) places.
FmodSteps fmod_steps(Value x, bool single_in_double) {
  const bool fma = x.builder->target.has_fma;
  const int span = single_in_double || x.dtype() == DType::f32 ? 277 : 2098;
  int bits = x.dtype() == DType::f64 ? (fma ? 52 : 24) : (fma ? 23 : 10);
  if (single_in_double && !fma) bits = 28;  // 24 bits of b and 29 of q in 53
  return {bits, (span + bits - 1) / bits};
}

/// NaN, infinities and the sign, given the remainder of the magnitudes.
Value finish_fmod(Value a, Value b, Value rest) {
  const Value size = magnitude(a), divisor = magnitude(b);
  const Value infinity = a.like(HUGE_VAL);
  const Value defined = (size < infinity) & (b != 0) & (b == b);
  const Value reduced = select(divisor < infinity, rest, size);
  return select(defined, with_sign(reduced, sign_of(a)), a.like(NAN));
}

}  // namespace

Value fmod(Value a, Value b) {
  const bool wide = a.dtype() == DType::f32 && a.builder->target.has_f64;
  Value x = magnitude(a), y = magnitude(b);
  if (wide) x = cast(x, DType::f64), y = cast(y, DType::f64);
  Value rest = reduce_all(x, y, fmod_steps(x, wide));
  if (wide) rest = cast(rest, DType::f32);
  return finish_fmod(a, b, rest);
}

}  // namespace tiny::lower
