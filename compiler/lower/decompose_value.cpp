// SPDX-License-Identifier: MIT
#include "compiler/lower/decompose_value.h"

namespace tiny::lower {

namespace {

/// A product that an addition could absorb. MULACC by +-1 is not absorbed, and costs no more.
bool contracts(Value x) { return x.builder->target.has_fma && x.node->op() == ir::Op::MUL; }

}  // namespace

Value add_rounded(Value a, Value b) {
  if (contracts(a)) return mul_add(a, 1, b);
  return contracts(b) ? mul_add(b, 1, a) : a + b;
}

Value sub_rounded(Value a, Value b) {
  if (contracts(a)) return mul_add(a, 1, -b);
  return contracts(b) ? mul_add(b, -1, a) : a - b;
}

Value polynomial(Value x, std::span<const double> coefficients) {
  Value sum = x.like(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = mul_add(sum, x, x.like(coefficients[i]));
  return sum;
}

Nearest nearest(Value a, double scale) {
  const FloatFormat& f = format_of(a);
  const Value shifted = scale == 1 ? a + f.round : mul_add(a, scale, a.like(f.round));
  return {shifted - f.round, bits_of(shifted)};
}

Pair fast_two_sum(Value a, Value b) {
  const Value sum = add_rounded(a, b);
  return {sum, sub_rounded(b, sub_rounded(sum, a))};
}

Pair two_sum(Value a, Value b) {
  const Value sum = add_rounded(a, b);
  const Value b_part = sub_rounded(sum, a);
  return {sum, sub_rounded(a, sum - b_part) + sub_rounded(b, b_part)};
}

namespace {

/// x as two halves of its significand, exactly (Veltkamp); needs |x| 28 bits below overflow.
Pair halves(Value x) {
  const Value scaled = x * (x.dtype() == DType::f64 ? 0x1p27 + 1 : 0x1p12 + 1);
  const Value hi = scaled - (scaled - x);
  return {hi, x - hi};
}

}  // namespace

Pair two_product(Value a, Value b) {
  const Value product = a * b;
  if (a.builder->target.has_fma) return {product, mul_add(a, b, -product)};
  const Pair x = halves(a), y = halves(b);  // Dekker's product
  return {product, ((x.hi * y.hi - product) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

}  // namespace tiny::lower
