// SPDX-License-Identifier: MIT
// Sound value ranges of integer and bool expressions; wrap-around gives the dtype's full range.
#include <algorithm>
#include <bit>

#include "compiler/ir/node.h"

namespace tiny::ir {

namespace {

using Sources = std::span<const Node* const>;
__extension__ typedef __int128 Wide;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// [lo, hi] if the dtype holds all of it, else everything the dtype holds: arithmetic wraps.
/// For u64 an upper end of INT64_MAX stands for "no bound known", so the low end stays below it.
Interval fit(DType dtype, Wide lo, Wide hi) {
  const Interval full = full_interval(dtype);
  if (lo < full.lo || hi > full.hi) return full;
  if (dtype == DType::u64 && hi == kMax) lo = std::min<Wide>(lo, kMax - 1);
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Interval hull(DType dtype, std::initializer_list<Wide> points) {
  return fit(dtype, std::min(points), std::max(points));
}

Interval unite(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// A u64 whose upper end is unknown: nothing may be computed from hi.
bool unbounded(DType dtype, const Interval& i) { return dtype == DType::u64 && i.hi == kMax; }

Interval truth(bool always, bool never) { return {always ? 1 : 0, never ? 0 : 1}; }

Interval compare(Op op, Sources s) {
  const DType t = s[0]->dtype();
  if (is_float(t)) return {0, 1};
  const Interval &a = s[0]->interval(), &b = s[1]->interval();
  const bool same = s[0] == s[1];
  const bool a_open = unbounded(t, a), b_open = unbounded(t, b);
  const bool less = !a_open && a.hi < b.lo, less_equal = !a_open && a.hi <= b.lo;
  const bool greater = !b_open && a.lo > b.hi, greater_equal = !b_open && a.lo >= b.hi;
  const bool equal = same || (a.is_point() && a == b);
  switch (op) {
    case Op::CMPLT:
      return truth(less, same || greater_equal);
    case Op::CMPLE:
      return truth(same || less_equal, greater);
    case Op::CMPEQ:
      return truth(equal, less || greater);
    default:
      return truth(less || greater, equal);
  }
}

Wide floor_divide(Wide a, Wide b) {
  const Wide q = a / b;
  return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}

/// Extremes of a quotient lie at ends of a with the divisors nearest and farthest from zero.
Interval quotient(Op op, DType t, const Interval& a, const Interval& b) {
  std::vector<Wide> divisors;
  if (b.lo < 0) divisors.insert(divisors.end(), {b.lo, std::min<Wide>(b.hi, -1)});
  if (b.hi > 0) divisors.insert(divisors.end(), {b.hi, std::max<Wide>(b.lo, 1)});
  Wide lo = kMax, hi = kMin;
  auto take = [&](Wide v) { lo = std::min(lo, v), hi = std::max(hi, v); };
  if (b.lo <= 0 && b.hi >= 0) take(0);
  for (Wide d : divisors)
    for (Wide n : {Wide(a.lo), Wide(a.hi)}) take(op == Op::IDIV ? n / d : floor_divide(n, d));
  return fit(t, lo, hi);
}

Wide largest_remainder(const Interval& b) {
  const Wide magnitude =
      std::max<Wide>(b.lo < 0 ? -Wide(b.lo) : Wide(b.lo), b.hi < 0 ? -Wide(b.hi) : Wide(b.hi));
  return std::max<Wide>(magnitude - 1, 0);
}

Interval truncated_remainder(DType t, const Interval& a, const Interval& b) {
  if (b.is_point() && b.lo > 0 && a.lo >= 0 && a.lo / b.lo == a.hi / b.lo)
    return {a.lo % b.lo, a.hi % b.lo};
  const Wide r = largest_remainder(b);
  const Wide lo = a.lo >= 0 ? 0 : std::max<Wide>(a.lo, -r);
  const Wide hi = a.hi <= 0 ? 0 : std::min<Wide>(a.hi, r);
  return fit(t, lo, hi);
}

Interval floored_remainder(DType t, const Interval& a, const Interval& b) {
  if (b.is_point() && b.lo > 0) {
    const Wide q = floor_divide(a.lo, b.lo);
    if (q == floor_divide(a.hi, b.lo)) return fit(t, a.lo - q * b.lo, a.hi - q * b.lo);
  }
  const Wide r = largest_remainder(b);
  Wide lo = b.lo < 0 ? -r : Wide(0), hi = b.hi > 0 ? r : Wide(0);
  if (a.lo >= 0 && b.lo >= 0) hi = std::min<Wide>(hi, a.hi);
  if (a.hi <= 0 && b.hi <= 0) lo = std::max<Wide>(lo, a.lo);
  return fit(t, lo, hi);
}

/// Smallest 2^k - 1 that covers v >= 0.
int64_t all_ones(int64_t v) {
  return v == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(uint64_t(v)));
}

Interval bitwise(Op op, DType t, const Interval& a, const Interval& b) {
  if (t == DType::boolean) {
    if (op == Op::AND) return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    if (op == Op::OR) return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    return a.is_point() && b.is_point() ? Interval{a.lo ^ b.lo, a.lo ^ b.lo} : Interval{0, 1};
  }
  if (op == Op::AND) {
    if (a.lo >= 0 && b.lo >= 0) return fit(t, 0, std::min(a.hi, b.hi));
    if (a.lo >= 0) return fit(t, 0, a.hi);
    if (b.lo >= 0) return fit(t, 0, b.hi);
  } else if (a.lo >= 0 && b.lo >= 0) {
    return fit(t, op == Op::OR ? std::max(a.lo, b.lo) : 0, all_ones(std::max(a.hi, b.hi)));
  }
  return full_interval(t);
}

int bit_count(DType t) { return static_cast<int>(size_B(t) * 8); }

Interval shift(Op op, DType t, const Interval& a, const Interval& b) {
  if (b.lo < 0 || b.hi >= bit_count(t)) {
    if (op == Op::SHR && !unbounded(t, a))
      return fit(t, std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0));
    return full_interval(t);
  }
  if (op == Op::SHR)
    return hull(t,
                {Wide(a.lo >> b.lo), Wide(a.lo >> b.hi), Wide(a.hi >> b.lo), Wide(a.hi >> b.hi)});
  if (b.hi >= 63) return full_interval(t);
  const Wide low = Wide(1) << b.lo, high = Wide(1) << b.hi;
  return hull(t, {a.lo * low, a.lo * high, a.hi * low, a.hi * high});
}

Interval binary(Op op, DType t, Sources s) {
  const Interval &a = s[0]->interval(), &b = s[1]->interval();
  const bool boolean = t == DType::boolean;
  if (op == Op::AND || op == Op::OR || op == Op::XOR) {
    if (unbounded(t, a) && unbounded(t, b)) return full_interval(t);
    if (op != Op::AND && (unbounded(t, a) || unbounded(t, b))) return full_interval(t);
    return bitwise(op, t, a, b);
  }
  if (boolean) return bitwise(op == Op::ADD || op == Op::MAX ? Op::OR : Op::AND, t, a, b);
  if (op == Op::MAX) return fit(t, std::max(a.lo, b.lo), std::max(a.hi, b.hi));
  if (op == Op::MIN) return fit(t, std::min(a.lo, b.lo), std::min(a.hi, b.hi));
  if (unbounded(t, a) || unbounded(t, b)) return full_interval(t);
  switch (op) {
    case Op::ADD:
      return fit(t, Wide(a.lo) + b.lo, Wide(a.hi) + b.hi);
    case Op::SUB:
      return s[0] == s[1] ? Interval{0, 0} : fit(t, Wide(a.lo) - b.hi, Wide(a.hi) - b.lo);
    case Op::MUL:
      return hull(t, {Wide(a.lo) * b.lo, Wide(a.lo) * b.hi, Wide(a.hi) * b.lo, Wide(a.hi) * b.hi});
    case Op::IDIV:
    case Op::FLOORDIV:
      return quotient(op, t, a, b);
    case Op::IMOD:
      return truncated_remainder(t, a, b);
    case Op::FLOORMOD:
      return floored_remainder(t, a, b);
    case Op::SHL:
    case Op::SHR:
      return shift(op, t, a, b);
    default:
      return full_interval(t);
  }
}

Interval cast(DType t, const Node* x) {
  if (t == DType::boolean && !is_float(x->dtype())) {
    const Interval& i = x->interval();
    return truth(i.lo > 0 || i.hi < 0, i.lo == 0 && i.hi == 0);
  }
  if (is_float(x->dtype()) || unbounded(x->dtype(), x->interval())) return full_interval(t);
  return fit(t, x->interval().lo, x->interval().hi);
}

Interval where(DType, Sources s) {
  const Interval& c = s[0]->interval();
  if (c.is_point()) return s[c.lo ? 1 : 2]->interval();
  return unite(s[1]->interval(), s[2]->interval());
}

Interval reduced(DType t, const Node* x, const Arg& arg) {
  int64_t count = 1;
  for (int64_t axis : arg.list) count *= x->shape()[static_cast<size_t>(axis)];
  const Interval& i = x->interval();
  if (count <= 0 || unbounded(t, i)) return full_interval(t);
  if (t == DType::boolean) return i;
  switch (static_cast<ReduceOp>(arg.value)) {
    case ReduceOp::sum:
      return fit(t, Wide(i.lo) * count, Wide(i.hi) * count);
    case ReduceOp::prod:
      return count == 1 ? i : full_interval(t);
    default:
      return i;
  }
}

Interval unary(Op op, DType t, const Node* x) {
  const Interval& i = x->interval();
  if (unbounded(t, i)) return op == Op::ABS ? i : full_interval(t);
  if (op == Op::NEG) return fit(t, -Wide(i.hi), -Wide(i.lo));
  const Wide least = i.lo > 0 ? Wide(i.lo) : i.hi < 0 ? -Wide(i.hi) : Wide(0);
  return fit(t, least, std::max<Wide>(-Wide(i.lo), i.hi));
}

}  // namespace

Interval full_interval(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {0, 1};
    case DType::u8:
      return {0, 0xff};
    case DType::u16:
      return {0, 0xffff};
    case DType::u32:
      return {0, 0xffffffff};
    case DType::u64:
      return {0, kMax};
    case DType::i8:
      return {-128, 127};
    case DType::i16:
      return {-32768, 32767};
    case DType::i32:
      return {-2147483648LL, 2147483647LL};
    default:
      return {};
  }
}

Interval infer_interval(Op op, DType dtype, Sources sources, const Arg& arg) {
  if (is_float(dtype)) return {};
  switch (op) {
    case Op::CONST:
      return dtype == DType::u64 && arg.value < 0 ? full_interval(dtype)
                                                  : fit(dtype, arg.value, arg.value);
    case Op::IOTA:
      return fit(dtype, 0, std::max<int64_t>(arg.list[0] - 1, 0));
    case Op::VAR:
      return {arg.list[0], arg.list[1]};
    case Op::RANGE:
      return {0, std::max<int64_t>(arg.list[0] - 1, 0)};
    case Op::NEG:
    case Op::ABS:
      return unary(op, dtype, sources[0]);
    case Op::CAST:
      return cast(dtype, sources[0]);
    case Op::CMPLT:
    case Op::CMPLE:
    case Op::CMPEQ:
    case Op::CMPNE:
      return compare(op, sources);
    case Op::WHERE:
      return where(dtype, sources);
    case Op::RESHAPE:
    case Op::PERMUTE:
    case Op::EXPAND:
    case Op::SHRINK:
    case Op::FLIP:
    case Op::WINDOW:
    case Op::CONTIGUOUS:
    case Op::DETACH:
    case Op::COPY:
      return sources[0]->interval();
    case Op::ASSIGN:
      return sources[1]->interval();
    case Op::PAD:
      return dtype == DType::u64 && arg.value < 0
                 ? full_interval(dtype)
                 : unite(sources[0]->interval(), {arg.value, arg.value});
    case Op::UNWINDOW:
      return unite(sources[0]->interval(), {0, 0});
    case Op::GATHER:
      return unite(sources[0]->interval(), {0, 0});
    case Op::REDUCE:
      return reduced(dtype, sources[0], arg);
    default:
      return info(op).kind == OpKind::binary ? binary(op, dtype, sources) : full_interval(dtype);
  }
}

}  // namespace tiny::ir
