// SPDX-License-Identifier: MIT
#include "compiler/ir/scalar.h"

#include <rt_tiny/runtime/base/error.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tiny::ir {

namespace {

using Scalars = std::span<const Scalar>;

Scalar integer(int64_t v) { return {v, 0}; }
Scalar truth(bool v) { return {v ? 1 : 0, 0}; }
Scalar real(DType t, double v) { return {0, round_to(t, v)}; }

template <class T>
T float_unary(Op op, T x) {
  switch (op) {
    case Op::NEG:
      return -x;
    case Op::ABS:
      return std::fabs(x);
    case Op::SQRT:
      return std::sqrt(x);
    case Op::EXP:
      return std::exp(x);
    case Op::EXP2:
      return std::exp2(x);
    case Op::LOG:
      return std::log(x);
    case Op::LOG2:
      return std::log2(x);
    case Op::SIN:
      return std::sin(x);
    case Op::COS:
      return std::cos(x);
    case Op::TANH:
      return std::tanh(x);
    case Op::ERF:
      return std::erf(x);
    case Op::TRUNC:
      return std::trunc(x);
    case Op::FLOOR:
      return std::floor(x);
    case Op::CEIL:
      return std::ceil(x);
    case Op::ROUND:
      return std::nearbyint(x);
    default:
      CHECK_INVARIANT(false, std::string(info(op).name) + " is not a unary float op");
  }
  return x;
}

template <class T>
T float_binary(Op op, T a, T b) {
  switch (op) {
    case Op::ADD:
      return a + b;
    case Op::SUB:
      return a - b;
    case Op::MUL:
      return a * b;
    case Op::FDIV:
      return a / b;
    case Op::FMOD:
      return std::fmod(a, b);
    case Op::POW:
      return std::pow(a, b);
    case Op::MAX:
      return a > b || std::isnan(a) ? a : b;
    case Op::MIN:
      return a < b || std::isnan(a) ? a : b;
    default:
      CHECK_INVARIANT(false, std::string(info(op).name) + " is not a binary float op");
  }
  return a;
}

template <class T>
Scalar float_op(Op op, DType result, Scalars s) {
  const T a = static_cast<T>(s[0].real);
  if (s.size() == 1) return real(result, static_cast<double>(float_unary<T>(op, a)));
  const T b = static_cast<T>(s[1].real);
  if (op == Op::MULACC) return real(result, static_cast<double>(a * b + static_cast<T>(s[2].real)));
  return real(result, static_cast<double>(float_binary<T>(op, a, b)));
}

template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::CMPLT:
      return a < b;
    case Op::CMPLE:
      return a <= b;
    case Op::CMPEQ:
      return a == b;
    default:
      return a != b;
  }
}

bool compare(Op op, DType operand, Scalars s) {
  if (is_float(operand)) return compare<double>(op, s[0].real, s[1].real);
  if (is_unsigned(operand))
    return compare<uint64_t>(op, static_cast<uint64_t>(s[0].integer),
                             static_cast<uint64_t>(s[1].integer));
  return compare<int64_t>(op, s[0].integer, s[1].integer);
}

bool bool_op(Op op, bool a, bool b) {
  switch (op) {
    case Op::ADD:
    case Op::MAX:
    case Op::OR:
      return a || b;
    case Op::MUL:
    case Op::MIN:
    case Op::AND:
      return a && b;
    case Op::XOR:
      return a != b;
    default:
      CHECK_INVARIANT(false, std::string(info(op).name) + " is not a bool op");
  }
  return a;
}

uint64_t unsigned_divide(Op op, uint64_t a, uint64_t b) {
  if (b == 0) return 0;
  return op == Op::IDIV || op == Op::FLOORDIV ? a / b : a % b;
}

int64_t signed_divide(Op op, int64_t a, int64_t b) {
  const bool quotient = op == Op::IDIV || op == Op::FLOORDIV;
  if (b == 0) return 0;
  if (b == -1) return quotient ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : 0;
  const bool down = (op == Op::FLOORDIV || op == Op::FLOORMOD) && a % b != 0 && (a < 0) != (b < 0);
  return quotient ? a / b - (down ? 1 : 0) : a % b + (down ? b : 0);
}

uint64_t repeated_square(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

/// PyTorch's integer power: a negative exponent leaves only 1 and -1 non-zero.
int64_t integer_power(DType t, int64_t a, int64_t b) {
  if (is_unsigned(t) || b >= 0)
    return static_cast<int64_t>(
        repeated_square(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  if (a == 1) return 1;
  return a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
}

int64_t shift(Op op, DType t, int64_t a, int64_t b) {
  const int bits = static_cast<int>(size_B(t) * 8);
  const bool inside = b >= 0 && b < bits;
  if (op == Op::SHL) return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : 0;
  if (is_unsigned(t)) return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) >> b) : 0;
  return inside ? a >> b : a < 0 ? -1 : 0;
}

/// Threefry2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
int64_t threefry(uint64_t counter, uint64_t key) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  uint32_t x0 = static_cast<uint32_t>(counter) + k0;
  uint32_t x1 = static_cast<uint32_t>(counter >> 32) + k1;
  for (uint32_t group = 0; group < 5; ++group) {
    for (int r : rotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, r) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return static_cast<int64_t>(uint64_t(x1) << 32 | x0);
}

int64_t integer_binary(Op op, DType t, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool less = is_unsigned(t) ? ua < ub : a < b;
  switch (op) {
    case Op::ADD:
      return static_cast<int64_t>(ua + ub);
    case Op::SUB:
      return static_cast<int64_t>(ua - ub);
    case Op::MUL:
      return static_cast<int64_t>(ua * ub);
    case Op::IDIV:
    case Op::IMOD:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
      return is_unsigned(t) ? static_cast<int64_t>(unsigned_divide(op, ua, ub))
                            : signed_divide(op, a, b);
    case Op::POW:
      return integer_power(t, a, b);
    case Op::MAX:
      return less ? b : a;
    case Op::MIN:
      return less ? a : b;
    case Op::AND:
      return a & b;
    case Op::OR:
      return a | b;
    case Op::XOR:
      return a ^ b;
    case Op::SHL:
    case Op::SHR:
      return shift(op, t, a, b);
    case Op::THREEFRY:
      return threefry(ua, ub);
    default:
      CHECK_INVARIANT(false, std::string(info(op).name) + " is not an integer op");
  }
  return a;
}

int64_t integer_op(Op op, DType t, Scalars s) {
  const uint64_t a = static_cast<uint64_t>(s[0].integer);
  if (op == Op::NEG) return static_cast<int64_t>(-a);
  if (op == Op::ABS)
    return !is_unsigned(t) && s[0].integer < 0 ? static_cast<int64_t>(-a) : s[0].integer;
  if (op == Op::MULACC)
    return static_cast<int64_t>(a * static_cast<uint64_t>(s[1].integer) +
                                static_cast<uint64_t>(s[2].integer));
  return integer_binary(op, t, s[0].integer, s[1].integer);
}

/// x86's cvttss2si: out of range and NaN give the least integer of the width.
int64_t truncate(double v, int bits) {
  const double limit = std::ldexp(1.0, bits - 1);
  if (!(v < limit) || !(v > -limit - 1 || v == -limit))
    return bits == 32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

/// Float to integer as compilers for x86 do it: narrow types through i32, u32 through i64, u64 by
/// its upper half apart.
int64_t float_to_integer(DType t, double v) {
  if (t == DType::boolean) return v != 0;
  if (t == DType::i64 || t == DType::u32) return wrap(t, truncate(v, 64));
  if (t != DType::u64) return wrap(t, truncate(v, 32));
  const double half = std::ldexp(1.0, 63);
  if (!(v >= half)) return truncate(v, 64);
  return truncate(v - half, 64) ^ std::numeric_limits<int64_t>::min();
}

double integer_to_float(DType from, DType to, int64_t v) {
  const uint64_t u = static_cast<uint64_t>(v);
  if (to == DType::f64) return is_unsigned(from) ? static_cast<double>(u) : static_cast<double>(v);
  return static_cast<double>(is_unsigned(from) ? static_cast<float>(u) : static_cast<float>(v));
}

Scalar cast(DType from, DType to, Scalar x) {
  if (is_float(from))
    return is_float(to) ? real(to, x.real) : integer(float_to_integer(to, x.real));
  if (is_float(to)) return real(to, integer_to_float(from, to, x.integer));
  return integer(wrap(to, x.integer));
}

uint64_t to_bits(DType t, Scalar x) {
  switch (t) {
    case DType::f16:
      return Half(static_cast<float>(x.real)).bits;
    case DType::bf16:
      return BFloat16(static_cast<float>(x.real)).bits;
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(x.real));
    case DType::f64:
      return std::bit_cast<uint64_t>(x.real);
    default:
      return static_cast<uint64_t>(x.integer);
  }
}

Scalar from_bits(DType t, uint64_t bits) {
  switch (t) {
    case DType::f16: {
      Half h;
      h.bits = static_cast<uint16_t>(bits);
      return {0, static_cast<double>(static_cast<float>(h))};
    }
    case DType::bf16: {
      BFloat16 h;
      h.bits = static_cast<uint16_t>(bits);
      return {0, static_cast<double>(static_cast<float>(h))};
    }
    case DType::f32:
      return {0, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))};
    case DType::f64:
      return {0, std::bit_cast<double>(bits)};
    default:
      return integer(wrap(t, static_cast<int64_t>(bits)));
  }
}

}  // namespace

int64_t wrap(DType t, int64_t v) {
  switch (t) {
    case DType::boolean:
      return v != 0;
    case DType::u8:
      return static_cast<uint8_t>(v);
    case DType::u16:
      return static_cast<uint16_t>(v);
    case DType::u32:
      return static_cast<uint32_t>(v);
    case DType::i8:
      return static_cast<int8_t>(v);
    case DType::i16:
      return static_cast<int16_t>(v);
    case DType::i32:
      return static_cast<int32_t>(v);
    default:
      return v;
  }
}

double round_to(DType t, double v) {
  switch (t) {
    case DType::f16:
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(v))));
    case DType::bf16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(v))));
    case DType::f32:
      return static_cast<double>(static_cast<float>(v));
    default:
      return v;
  }
}

Scalar evaluate(Op op, DType operand, DType result, Scalars s) {
  if (op == Op::WHERE) return s[s[0].integer ? 1 : 2];
  if (op == Op::CAST) return cast(operand, result, s[0]);
  if (op == Op::BITCAST) return from_bits(result, to_bits(operand, s[0]));
  if (info(op).kind == OpKind::compare) return truth(compare(op, operand, s));
  if (operand == DType::f64) return float_op<double>(op, result, s);
  if (is_float(operand)) return float_op<float>(op, result, s);
  if (operand == DType::boolean) return truth(bool_op(op, s[0].integer != 0, s[1].integer != 0));
  return integer(wrap(result, integer_op(op, operand, s)));
}

Scalar load_scalar(DType t, const std::byte* bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, size_B(t));
  return from_bits(t, bits);
}

void store_scalar(DType t, Scalar x, std::byte* bytes) {
  const uint64_t bits = to_bits(t, x);
  std::memcpy(bytes, &bits, size_B(t));
}

}  // namespace tiny::ir
