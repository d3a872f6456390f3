// SPDX-License-Identifier: MIT
// Conversions: f16 only from and to f32, bf16 by integer arithmetic.
#include "compiler/lower/decompose_ops.h"

namespace tiny::lower {

namespace {

Value from_bfloat(Value x) {
  return bitcast(cast(bitcast(x, DType::u16), DType::u32) << 16, DType::f32);
}

/// Round to nearest even: adding 0x7fff and the last kept bit carries where it must, up to
/// infinity.
Value to_bfloat(Value x) {
  const Value bits = bits_of(x);
  const Value rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Value quiet = (bits >> 16) | 0x40;
  return bitcast(cast(select(x != x, quiet, rounded), DType::u16), DType::bf16);
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

}  // namespace

Value convert(Value x, DType to) {
  const DType from = x.dtype();
  if (from == to) return x;
  // Through f32 as PyTorch does it, also from f64: two roundings.
  if (is_half(from) && to != DType::f32) return convert(convert(x, DType::f32), to);
  if (is_half(to) && from != DType::f32) return convert(convert(x, DType::f32), to);
  if (from == DType::bf16) return from_bfloat(x);
  return to == DType::bf16 ? to_bfloat(x) : cast(x, to);
}

}  // namespace tiny::lower
