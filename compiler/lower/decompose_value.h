// SPDX-License-Identifier: MIT
// Writes expressions of required ops as arithmetic, so that a decomposition reads as its formula.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include <bit>
#include <cmath>
#include <span>
#include <type_traits>

#include "compiler/ir/arena.h"

namespace tiny::lower {

/// What the nodes of one decomposition are made with.
struct Builder {
  ir::Arena& arena;
  const Target& target;
};

/// A node and its builder. Operators make one node each (the arena folds what is trivial) and take
/// numbers of the left side's dtype. `/` is FDIV; integers divide by name.
struct Value {
  const Builder* builder = nullptr;
  const ir::Node* node = nullptr;

  DType dtype() const { return node->dtype(); }
  Value make(ir::Op op, DType dtype, std::vector<const ir::Node*> sources) const {
    return {builder, builder->arena.build(op, dtype, std::move(sources))};
  }
  Value same(ir::Op op, Value o) const { return make(op, dtype(), {node, o.node}); }
  Value test(ir::Op op, Value o) const { return make(op, DType::boolean, {node, o.node}); }
  /// A constant of this value's dtype; integers wrap.
  template <class T>
  Value like(T v) const {
    static_assert(std::is_arithmetic_v<T>);
    if (is_float(dtype())) return {builder, builder->arena.real(double(v), dtype())};
    return {builder, builder->arena.integer(static_cast<int64_t>(v), dtype())};
  }
};

inline Value cast(Value x, DType t) { return x.make(ir::Op::CAST, t, {x.node}); }
inline Value bitcast(Value x, DType t) { return x.make(ir::Op::BITCAST, t, {x.node}); }
inline Value select(Value c, Value a, Value b) {
  return a.make(ir::Op::WHERE, a.dtype(), {c.node, a.node, b.node});
}
inline Value trunc(Value x) { return x.make(ir::Op::TRUNC, x.dtype(), {x.node}); }
inline Value idiv(Value a, Value b) { return a.same(ir::Op::IDIV, b); }
inline Value imod(Value a, Value b) { return a.same(ir::Op::IMOD, b); }
inline Value operator-(Value x) { return x.make(ir::Op::NEG, x.dtype(), {x.node}); }
inline Value operator!(Value x) { return x.same(ir::Op::XOR, x.like(1)); }

template <class T>
concept Number = std::is_arithmetic_v<T>;

// One row an operator: with a value, and with a number on the right.
#define VALUE_OPERATOR(symbol, method, op)                                           \
  inline Value operator symbol(Value a, Value b) { return a.method(ir::Op::op, b); } \
  template <Number T>                                                                \
  Value operator symbol(Value a, T b) {                                              \
    return a.method(ir::Op::op, a.like(b));                                          \
  }
VALUE_OPERATOR(+, same, ADD)
VALUE_OPERATOR(-, same, SUB)
VALUE_OPERATOR(*, same, MUL)
VALUE_OPERATOR(/, same, FDIV)
VALUE_OPERATOR(&, same, AND)
VALUE_OPERATOR(|, same, OR)
VALUE_OPERATOR(^, same, XOR)
VALUE_OPERATOR(<<, same, SHL)
VALUE_OPERATOR(>>, same, SHR)
VALUE_OPERATOR(<, test, CMPLT)
VALUE_OPERATOR(==, test, CMPEQ)
VALUE_OPERATOR(!=, test, CMPNE)
#undef VALUE_OPERATOR

inline Value operator>(Value a, Value b) { return b < a; }
template <Number T>
Value operator>(Value a, T b) {
  return a.like(b) < a;
}

/// a * b + c; the rounding of the product may be missing, so nothing may rely on it.
inline Value mul_add(Value a, Value b, Value c) {
  if (!a.builder->target.has_fma || !is_float(a.dtype())) return a * b + c;
  return a.make(ir::Op::MULACC, a.dtype(), {a.node, b.node, c.node});
}
template <Number T>
Value mul_add(Value a, T b, Value c) {
  return mul_add(a, a.like(b), c);
}

/// a + b and a - b where a or b may be a product that has to keep its own rounding: compilers
/// contract the operators' `x * y + b` where that is faster.
Value add_rounded(Value a, Value b);
Value sub_rounded(Value a, Value b);

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
Value polynomial(Value x, std::span<const double> coefficients);

/// How a binary float format is laid out.
struct FloatFormat {
  DType unsigned_type;
  int mantissa_bits;
  int bias;
  double round;  ///< 1.5 * 2^mantissa_bits: adding it rounds to an integer, kept in the low bits
  uint64_t sign_bit() const { return uint64_t{1} << (mantissa_bits == 23 ? 31 : 63); }
  uint64_t magnitude_bits() const { return sign_bit() - 1; }
  uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  uint64_t power_of_two(int e) const { return static_cast<uint64_t>(e + bias) << mantissa_bits; }
  double smallest_normal() const { return std::ldexp(1.0, 1 - bias); }
};
inline constexpr FloatFormat kSingle{DType::u32, 23, 127, 0x1.8p23};
inline constexpr FloatFormat kDouble{DType::u64, 52, 1023, 0x1.8p52};
/// Of an f32 or f64 value.
inline const FloatFormat& format_of(Value x) { return x.dtype() == DType::f64 ? kDouble : kSingle; }

inline Value bits_of(Value x) { return bitcast(x, format_of(x).unsigned_type); }
inline Value float_of(Value bits) {
  return bitcast(bits, bits.dtype() == DType::u64 ? DType::f64 : DType::f32);
}
inline Value sign_of(Value x) { return bits_of(x) & format_of(x).sign_bit(); }
inline Value magnitude(Value x) { return float_of(bits_of(x) & format_of(x).magnitude_bits()); }
/// x >= 0 (or NaN) with its sign bit flipped where `sign` has it set.
inline Value with_sign(Value x, Value sign) { return float_of(bits_of(x) ^ sign); }

/// The integer nearest to a small x, as a float and in the low bits of `bits`.
struct Nearest {
  Value value, bits;
};
/// Nearest to a * scale; |a * scale| < 2^(mantissa_bits - 1).
Nearest nearest(Value a, double scale);

/// An unevaluated sum hi + lo, |lo| at most about an ulp of hi.
struct Pair {
  Value hi, lo;
};
/// a + b exactly, |a| >= |b| or a = 0.
Pair fast_two_sum(Value a, Value b);
/// a + b exactly.
Pair two_sum(Value a, Value b);
/// a * b exactly, where nothing overflows (without fma: 2^28 below it) or underflows.
Pair two_product(Value a, Value b);

}  // namespace tiny::lower
