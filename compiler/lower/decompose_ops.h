// SPDX-License-Identifier: MIT
// The decomposition of each op; operands are decomposed already.
#pragma once

#include "compiler/lower/decompose_value.h"

namespace tiny::lower {

/// Any element-wise op on operands of any dtype it allows.
Value decompose_op(const Builder&, ir::Op, DType result, std::span<const Value> operands);

// Floats: f32 or f64.
Value exp(Value x);
Value exp2(Value x);
/// e^x for -80 <= x <= 0, where neither end of the range needs care.
Value exp_moderate(Value x);
/// y * 2^n for n as `nearest` gives it, from far below the subnormals to the overflow to infinity;
/// `tiny` is true where n is near or below the least normal exponent, false where n is well above.
Value scale_by_power(Value y, Value n_bits, Value tiny);
Value log(Value x);
Value log2(Value x);
Value sin(Value x);
Value cos(Value x);
Value tanh(Value x);
Value erf(Value x);
Value pow(Value x, Value y);
Value fmod(Value a, Value b);
Value floor(Value x);
Value ceil(Value x);
Value round_half_even(Value x);

/// x > 0 as (1 + fraction) * 2^exponent, 1 + fraction in [sqrt(1/2), sqrt(2)); subnormals too.
struct Significand {
  Value fraction, exponent;
};
Significand split_exponent(Value x);

// Integers and bool.
Value floor_divide(Value a, Value b);
Value floor_remainder(Value a, Value b);
Value integer_power(Value base, Value exponent);
/// Threefry 2x32 with 20 rounds of a u64 counter under a u64 key.
Value threefry(Value counter, Value key);

// Any numbers.
Value absolute(Value x);
Value minimum(Value a, Value b);
Value less_equal(Value a, Value b);

/// CAST with bf16 by integer arithmetic and f16 by way of f32.
Value convert(Value x, DType to);

}  // namespace tiny::lower
