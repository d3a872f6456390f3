// SPDX-License-Identifier: MIT
// Shape rules of ops.def.
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/node.h"

namespace tiny::ir {

namespace {

using Sources = std::span<const Node* const>;
__extension__ typedef __int128 Wide;

std::string complaint(Op op, Sources sources, const Arg& arg) {
  std::string s = fmt::format("[{}] shapes", info(op).name);
  for (const Node* n : sources) s += " " + to_string(n->shape());
  return s + fmt::format(", arg value {} list {}", arg.value, arg.list);
}

struct BrokenShape {
  const char* rule;
};

#define SHAPE_RULE(cond)        \
  do {                          \
    if (!(cond)) [[unlikely]]   \
      throw BrokenShape{#cond}; \
  } while (0)

/// Elements a shape may have, its zero extents apart: products stay inside int64.
constexpr int64_t kMostElements = int64_t{1} << 62;

bool countable(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent != 0 && (__builtin_mul_overflow(count, extent, &count) || count > kMostElements))
      return false;
  return true;
}

bool all_non_negative(const std::vector<int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x >= 0; });
}

Shape stored_shape(Op op, const Arg& arg) {
  SHAPE_RULE(all_non_negative(arg.list));
  if (op == Op::IOTA) SHAPE_RULE(arg.list.size() == 1);
  return arg.list;
}

Shape scalar_leaf(Op op, const Arg& arg) {
  if (op == Op::RANGE) {
    SHAPE_RULE(arg.list.size() == 1 && arg.list[0] >= 0);
    SHAPE_RULE(arg.value >= 0 && arg.value < AxisSet::kMaxAxes);
  }
  if (op == Op::VAR) SHAPE_RULE(arg.list.size() == 2 && arg.list[0] <= arg.list[1]);
  if (op == Op::CONST) SHAPE_RULE(arg.list.empty());
  return {};
}

Shape elementwise(Sources sources) {
  for (const Node* n : sources) SHAPE_RULE(n->shape() == sources[0]->shape());
  return sources[0]->shape();
}

Shape reshape(Sources sources, const Arg& arg) {
  SHAPE_RULE(all_non_negative(arg.list));
  SHAPE_RULE(element_count(arg.list) == element_count(sources[0]->shape()));
  return arg.list;
}

Shape permute(Sources sources, const Arg& arg) {
  const Shape& in = sources[0]->shape();
  SHAPE_RULE(arg.list.size() == in.size());
  std::vector<bool> used(in.size());
  Shape out;
  for (int64_t a : arg.list) {
    SHAPE_RULE(a >= 0 && a < static_cast<int64_t>(in.size()) && !used[static_cast<size_t>(a)]);
    used[static_cast<size_t>(a)] = true;
    out.push_back(in[static_cast<size_t>(a)]);
  }
  return out;
}

Shape expand(Sources sources, const Arg& arg) {
  const Shape& in = sources[0]->shape();
  SHAPE_RULE(arg.list.size() == in.size());
  SHAPE_RULE(all_non_negative(arg.list));
  for (size_t i = 0; i < in.size(); ++i) SHAPE_RULE(in[i] == arg.list[i] || in[i] == 1);
  return arg.list;
}

Shape shrink(Sources sources, const Arg& arg) {
  const Shape& in = sources[0]->shape();
  const size_t rank = in.size();
  SHAPE_RULE(arg.list.size() == 3 * rank);
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t begin = arg.list[i], size = arg.list[rank + i], step = arg.list[2 * rank + i];
    SHAPE_RULE(begin >= 0 && size >= 0 && step >= 1);
    SHAPE_RULE(size == 0 ? begin <= in[i]
                         : begin < in[i] && (in[i] - 1 - begin) / step >= size - 1);
    out[i] = size;
  }
  return out;
}

Shape pad(Sources sources, const Arg& arg) {
  const Shape& in = sources[0]->shape();
  const size_t rank = in.size();
  SHAPE_RULE(arg.list.size() == 3 * rank);
  SHAPE_RULE(all_non_negative(arg.list));
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Wide inner = in[i] == 0 ? 0 : in[i] + Wide(in[i] - 1) * arg.list[2 * rank + i];
    const Wide extent = inner + arg.list[i] + arg.list[rank + i];
    SHAPE_RULE(extent <= kMostElements);
    out[i] = static_cast<int64_t>(extent);
  }
  return out;
}

Shape flip(Sources sources, const Arg& arg) {
  SHAPE_RULE(arg.list.size() == sources[0]->shape().size());
  for (int64_t f : arg.list) SHAPE_RULE(f == 0 || f == 1);
  return sources[0]->shape();
}

int64_t window_count(int64_t length, int64_t k, int64_t stride, int64_t dilation) {
  return (length - dilation * (k - 1) - 1) / stride + 1;
}

Shape window(Sources sources, const Arg& arg) {
  Shape out = sources[0]->shape();
  SHAPE_RULE(arg.value >= 0 && arg.value < static_cast<int64_t>(out.size()));
  SHAPE_RULE(arg.list.size() == 3);
  const int64_t k = arg.list[0], stride = arg.list[1], dilation = arg.list[2];
  const auto at = out.begin() + arg.value;
  SHAPE_RULE(k >= 1 && stride >= 1 && dilation >= 1);
  SHAPE_RULE(Wide(dilation) * (k - 1) + 1 <= *at);
  *at = window_count(*at, k, stride, dilation);
  out.insert(at + 1, k);
  return out;
}

Shape unwindow(Sources sources, const Arg& arg) {
  Shape out = sources[0]->shape();
  SHAPE_RULE(arg.value >= 0 && arg.value + 1 < static_cast<int64_t>(out.size()));
  SHAPE_RULE(arg.list.size() == 3);
  const int64_t length = arg.list[0], stride = arg.list[1], dilation = arg.list[2];
  const auto at = out.begin() + arg.value;
  const int64_t k = *(at + 1);
  SHAPE_RULE(k >= 1 && stride >= 1 && dilation >= 1);
  SHAPE_RULE(Wide(dilation) * (k - 1) + 1 <= length);
  SHAPE_RULE(*at == window_count(length, k, stride, dilation));
  *at = length;
  return out;
}

Shape reduce(Sources sources, const Arg& arg) {
  const Shape& in = sources[0]->shape();
  SHAPE_RULE(arg.value >= 0 && arg.value <= static_cast<int64_t>(ReduceOp::min));
  Shape out;
  size_t next = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (next < arg.list.size() && arg.list[next] == static_cast<int64_t>(i))
      ++next;
    else
      out.push_back(in[i]);
  }
  SHAPE_RULE(next == arg.list.size());
  return out;
}

/// GATHER (x, index) and SCATTER (base, index, update): extents agree off the axis.
Shape indexed(Op op, Sources sources, const Arg& arg) {
  const Shape& x = sources[0]->shape();
  const Shape& index = sources[1]->shape();
  SHAPE_RULE(arg.value >= 0 && arg.value < static_cast<int64_t>(x.size()));
  SHAPE_RULE(index.size() == x.size());
  for (size_t i = 0; i < x.size(); ++i)
    SHAPE_RULE(static_cast<int64_t>(i) == arg.value || x[i] == index[i]);
  if (op == Op::GATHER) return index;
  SHAPE_RULE(sources[2]->shape() == index);
  SHAPE_RULE(arg.list.empty() || (arg.list.size() == 1 && (arg.list[0] == 0 || arg.list[0] == 1)));
  return x;
}

Shape assign(Sources sources) {
  const Op target = sources[0]->op();
  SHAPE_RULE(target == Op::BUFFER || target == Op::PARAM || target == Op::ASSIGN);
  return elementwise(sources);
}

Shape kernel_value(Op op, Sources sources, const Arg& arg) {
  for (const Node* n : sources) SHAPE_RULE(n->shape().empty());
  if (op == Op::STAGE)
    for (int64_t a : arg.list) SHAPE_RULE(a >= 0 && a < AxisSet::kMaxAxes);
  return {};
}

Shape inferred(Op op, Sources sources, const Arg& arg) {
  switch (op) {
    case Op::CONST:
    case Op::VAR:
    case Op::RANGE:
      return scalar_leaf(op, arg);
    case Op::BUFFER:
    case Op::PARAM:
    case Op::IOTA:
      return stored_shape(op, arg);
    case Op::RESHAPE:
      return reshape(sources, arg);
    case Op::PERMUTE:
      return permute(sources, arg);
    case Op::EXPAND:
      return expand(sources, arg);
    case Op::SHRINK:
      return shrink(sources, arg);
    case Op::PAD:
      return pad(sources, arg);
    case Op::FLIP:
      return flip(sources, arg);
    case Op::WINDOW:
      return window(sources, arg);
    case Op::UNWINDOW:
      return unwindow(sources, arg);
    case Op::REDUCE:
      return reduce(sources, arg);
    case Op::GATHER:
    case Op::SCATTER:
      return indexed(op, sources, arg);
    case Op::ASSIGN:
      return assign(sources);
    case Op::LOAD:
    case Op::STAGE:
      return kernel_value(op, sources, arg);
    default:
      return elementwise(sources);
  }
}

}  // namespace

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Shape infer_shape(Op op, Sources sources, const Arg& arg) {
  const char* broken = nullptr;
  try {
    Shape shape = inferred(op, sources, arg);
    if (countable(shape)) return shape;
    broken = "too many elements";
  } catch (const BrokenShape& e) {
    broken = e.rule;
  }
  CHECK_INVARIANT(!broken, complaint(op, sources, arg) + ": " + broken);
  return {};
}

std::string broken_shape(Op op, Sources sources, const Arg& arg) {
  try {
    if (countable(inferred(op, sources, arg))) return {};
    return complaint(op, sources, arg) + ": too many elements";
  } catch (const BrokenShape& e) {
    return complaint(op, sources, arg) + ": " + e.rule;
  }
}

}  // namespace tiny::ir
