// SPDX-License-Identifier: MIT
// Integer ops, and the ops on any number that need no polynomial.
#include <algorithm>

#include "compiler/lower/decompose_ops.h"

namespace tiny::lower {

namespace {

const ir::Interval& range_of(Value x) { return x.node->interval(); }

/// Neither is negative, so rounding down and toward zero agree.
bool rounds_alike(Value a, Value b) {
  return is_unsigned(a.dtype()) || (range_of(a).lo >= 0 && range_of(b).lo >= 0);
}

/// log2 of a constant positive power of two, else -1.
int constant_log2(Value x) {
  if (!x.node->is_const()) return -1;
  const uint64_t v = static_cast<uint64_t>(x.node->arg().value);
  const bool positive = v > 0 && (is_unsigned(x.dtype()) || x.node->arg().value > 0);
  return positive && std::has_single_bit(v) ? std::countr_zero(v) : -1;
}

int bit_count(DType t) { return static_cast<int>(size_B(t)) * 8; }

/// Bits of the exponent that may be set where it is not negative.
int exponent_bits(Value e) {
  const ir::Interval& i = range_of(e);
  const bool bounded = i.hi < std::numeric_limits<int64_t>::max();  // u64 ends there: unknown
  const int width = bit_count(e.dtype()) - (is_unsigned(e.dtype()) ? 0 : 1);
  if (i.hi < 0) return 0;
  return bounded ? std::min<int>(width, std::bit_width(static_cast<uint64_t>(i.hi))) : width;
}

/// One factor for each bit of the exponent.
Value repeated_square(Value base, Value exponent) {
  Value power = base.like(1);
  const int bits = exponent_bits(exponent);
  for (int bit = 0; bit < bits; ++bit) {
    const Value used = ((exponent >> bit) & 1) != 0;
    power = select(used, power * base, power);
    if (bit + 1 < bits) base = base * base;
  }
  return power;
}

}  // namespace

Value floor_divide(Value a, Value b) {
  const int log2 = constant_log2(b);
  if (log2 >= 0) return a >> log2;  // arithmetic shift rounds down
  const Value quotient = idiv(a, b);
  if (rounds_alike(a, b)) return quotient;
  const Value remainder = imod(a, b);
  const Value down = (remainder != 0) & ((remainder ^ b) < 0);
  return select(down, quotient - 1, quotient);
}

Value floor_remainder(Value a, Value b) {
  const int log2 = constant_log2(b);
  if (log2 >= 0) return a & ((uint64_t{1} << log2) - 1);
  const Value remainder = imod(a, b);
  if (rounds_alike(a, b)) return remainder;
  const Value down = (remainder != 0) & ((remainder ^ b) < 0);
  return select(down, remainder + b, remainder);
}

Value integer_power(Value base, Value exponent) {
  const Value power = repeated_square(base, exponent);
  if (is_unsigned(base.dtype()) || range_of(exponent).lo >= 0) return power;
  // 1 / base^n truncated: only 1 and -1 leave something.
  const Value sign = select((exponent & 1) == 0, base.like(1), base.like(-1));
  const Value one = select(base == 1, base, base.like(0));
  return select(exponent < 0, select(base == -1, sign, one), power);
}

Value threefry(Value counter, Value key) {
  // Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011: rotations and parity word.
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Value k0 = cast(key, DType::u32), k1 = cast(key >> 32, DType::u32);
  const Value keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  Value x0 = cast(counter, DType::u32) + k0;
  Value x1 = cast(counter >> 32, DType::u32) + k1;
  for (int group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      x0 = x0 + x1;
      x1 = ((x1 << r) | (x1 >> (32 - r))) ^ x0;
    }
    x0 = x0 + keys[(group + 1) % 3];
    x1 = x1 + keys[(group + 2) % 3] + (group + 1);
  }
  return cast(x0, DType::u64) | (cast(x1, DType::u64) << 32);
}

Value absolute(Value x) {
  if (is_float(x.dtype())) return magnitude(x);
  if (!is_signed_int(x.dtype()) || range_of(x).lo >= 0) return x;
  return select(x < 0, -x, x);
}

Value minimum(Value a, Value b) {
  if (a.dtype() == DType::boolean) return a & b;
  if (!is_float(a.dtype())) return select(a < b, a, b);
  return select((a < b) | (a != a), a, b);  // NaN in b fails the comparison
}

Value less_equal(Value a, Value b) {
  if (is_float(a.dtype())) return (a < b) | (a == b);
  return !(b < a);
}

}  // namespace tiny::lower
