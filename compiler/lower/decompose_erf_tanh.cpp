// SPDX-License-Identifier: MIT
// Hyperbolic tangent and the error function: odd functions, computed from |x|.
#include "compiler/lower/decompose_ops.h"
#include "compiler/lower/decompose_tables.h"

namespace tiny::lower {

namespace {

using Table = std::span<const double>;

bool is_double(Value x) { return x.dtype() == DType::f64; }
Table pick(Value x, Table single, Table wide) { return is_double(x) ? wide : single; }

/// |x|, at most `most` (the function rounds to 1 from there); NaN stays.
Value bounded_magnitude(Value x, double most) {
  const Value size = magnitude(x);
  return select(size > most, x.like(most), size);
}

/// log(erfc(t)) for 0.919 <= t.
Value log_erfc(Value t) {
  if (!is_double(t)) return t * polynomial(t, kErfFarSingle);
  // One evaluation whose coefficients depend on the interval.
  const Value far = t > 2;
  const Value u = t - select(far, t.like(2), t.like(0.919));
  constexpr size_t kTerms = std::size(kErfFarDouble);
  static_assert(kTerms == std::size(kErfMiddleDouble));
  auto coefficient = [&](size_t i) {
    return select(far, t.like(kErfFarDouble[i]), t.like(kErfMiddleDouble[i]));
  };
  Value sum = coefficient(kTerms - 1);
  for (size_t i = kTerms - 1; i-- > 0;) sum = mul_add(sum, u, coefficient(i));
  return sum;
}

}  // namespace

Value tanh(Value x) {
  const Value t = bounded_magnitude(x, is_double(x) ? 20 : 10);
  const Value square = t * t;
  const Value near = mul_add(t * square, polynomial(square, pick(x, kTanhSingle, kTanhDouble)), t);
  const Value e = exp_moderate(t * -2);
  const Value far = mul_add(e / (e + 1), -2, x.like(1));  // (1 - e) / (1 + e)
  return with_sign(select(t < 0.55, near, far), sign_of(x));
}

Value erf(Value x) {
  const Value t = bounded_magnitude(x, is_double(x) ? 6 : 4);
  const Value square = t * t;
  const Value near = mul_add(t, polynomial(square, pick(x, kErfNearSingle, kErfNearDouble)), t);
  const Value far = t.like(1) - exp_moderate(log_erfc(t));
  return with_sign(select(t < 0.92, near, far), sign_of(x));
}

}  // namespace tiny::lower
