// SPDX-License-Identifier: MIT
// What each element-wise op means on one element: constant folding and the interpreter share it.
#pragma once

#include <cstddef>
#include <span>

#include "compiler/ir/node.h"

namespace tiny::ir {

/// One element: `integer` for integers and bool (u64 by its bits), `real` for floats, held exactly.
struct Scalar {
  int64_t integer = 0;
  double real = 0;
};

/// The value modulo the dtype's width; bool is v != 0.
int64_t wrap(DType, int64_t);
/// Rounded to the dtype to nearest even; f16 and bf16 go through f32, as PyTorch does.
double round_to(DType, double);

/// One stored element; size_B(dtype) bytes, in the host's order.
Scalar load_scalar(DType, const std::byte*);
void store_scalar(DType, Scalar, std::byte*);

/// Element-wise op (unary, binary, compare, ternary kinds) on operands of one dtype. For WHERE,
/// `operand` is the dtype of the two choices; for CAST and BITCAST that of the source.
/// f16, bf16 and f32 compute in float, f64 in double; then one rounding to `result`.
Scalar evaluate(Op, DType operand, DType result, std::span<const Scalar>);

}  // namespace tiny::ir
