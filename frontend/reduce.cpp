// SPDX-License-Identifier: MIT
// Reductions, scans and the softmax family.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace tiny {

using namespace detail;
using ir::ReduceOp;

namespace {

Shape kept_shape(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape kept = shape;
  for (int64_t a : axes) kept[static_cast<size_t>(a)] = 1;
  return kept;
}

int64_t count_over(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t n = 1;
  for (int64_t a : axes) n *= shape[static_cast<size_t>(a)];
  return n;
}

/// Sums and products of bool and integers are i64.
Tensor to_total(const Tensor& x) { return is_float(x.dtype()) ? x : x.cast(DType::i64); }

std::vector<int64_t> extremum_axes(std::string_view op, const Tensor& x, const Axes& wanted) {
  require_defined(op, x);
  std::vector<int64_t> axes = normal_axes(op, wanted, x.ndim());
  if (count_over(x.shape(), axes) == 0)
    fail(op,
         fmt::format("axes {} of {} are empty and have no extreme", text(axes), text(x.shape())));
  return axes;
}

/// True where x equals the extreme of its row, or is NaN while the extreme is.
Tensor is_extreme(const Tensor& x, const Tensor& extreme) {
  const Tensor equal = x == extreme;
  return is_float(x.dtype()) ? equal.logical_or(x != x) : equal;
}

/// Index of the first extreme along the axis, kept as extent 1.
Tensor first_index(const Tensor& x, const Tensor& extreme, int64_t axis) {
  const int64_t n = x.dim(axis);
  Shape line(x.shape().size(), 1);
  line[static_cast<size_t>(axis)] = n;
  const Tensor candidates = where(is_extreme(x, extreme), iota(n).reshape(line), n);
  return reduce(ReduceOp::min, candidates, {axis}, true);
}

ValuesIndices extreme_along(std::string_view op, ReduceOp kind, const Tensor& given, int64_t axis,
                            bool keepdim) {
  require_defined(op, given);
  const bool scalar = given.ndim() == 0;
  const Tensor x = scalar ? given.reshape({1}) : given;
  axis = normal_axis(op, axis, x.ndim());
  extremum_axes(op, x, axis);
  const Tensor plain = x.detach();
  const Tensor extreme = reduce(kind, plain, {axis}, true);
  const Tensor index = first_index(plain, extreme, axis);
  Tensor values = reduce(kind, x, {axis}, true);
  values = with_gradient_of(values, [&] {
    Shape line(x.shape().size(), 1);
    line[static_cast<size_t>(axis)] = x.dim(axis);
    return reduce(ReduceOp::sum, where(iota(x.dim(axis)).reshape(line) == index, x, 0), {axis},
                  true);
  });
  if (scalar) return {values.reshape({}), index.reshape({})};
  if (keepdim) return {values, index};
  return {values.squeeze(axis), index.squeeze(axis)};
}

Tensor arg_extreme(std::string_view op, ReduceOp kind, const Tensor& x, std::optional<int64_t> axis,
                   bool keepdim) {
  require_defined(op, x);
  if (axis) return extreme_along(op, kind, x.detach(), *axis, keepdim).indices;
  const Tensor index = extreme_along(op, kind, x.detach().reshape({-1}), 0, false).indices;
  return keepdim ? index.reshape(Shape(x.shape().size(), 1)) : index;
}

/// Inclusive sums along the last axis: windows inside blocks, then the totals of the blocks before.
Tensor scan_last(const Tensor& x) {
  constexpr int64_t kBlock = 256;
  const int64_t n = x.dim(-1), axis = x.ndim() - 1;
  if (n <= kBlock) {
    Padding before(x.shape().size(), {0, 0});
    before.back().first = n - 1;
    return reduce(ReduceOp::sum, window(x.pad(before), axis, n, 1, 1), {axis + 1}, false);
  }
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  Padding after(x.shape().size(), {0, 0});
  after.back().second = blocks * kBlock - n;
  const Tensor inner = scan_last(x.pad(after).unflatten(-1, {blocks, kBlock}));
  const Tensor totals = inner.select(-1, kBlock - 1);
  Padding shifted(totals.shape().size(), {0, 0});
  shifted.back() = {1, -1};
  const Tensor carry = scan_last(totals.pad(shifted)).unsqueeze(-1);
  return (inner + carry).flatten(-2, -1).slice(-1, 0, n);
}

/// exp(x - max) and its parts, for the softmax family; x is a real tensor with at least one axis.
struct Shifted {
  Tensor difference, exponent, total;
};
Shifted shifted(const Tensor& x, int64_t axis) {
  const Tensor top = reduce(ReduceOp::max, x.detach(), {axis}, true);
  Shifted s;
  s.difference = x - top;
  s.exponent = s.difference.exp();
  s.total = reduce(ReduceOp::sum, s.exponent, {axis}, true);
  return s;
}

/// Runs fn(x, axis) with a 0-d tensor seen as one element, integers refused, 16 bits in f32.
template <class F>
Tensor softmax_like(std::string_view op, const Tensor& given, int64_t axis, F fn) {
  require_float(op, given);
  axis = normal_axis(op, axis, given.ndim());
  if (given.numel() == 0) return given;
  if (given.ndim() == 0)
    return in_f32(given.reshape({1}), [&](const Tensor& x) { return fn(x, 0); }).reshape({});
  return in_f32(given, [&](const Tensor& x) { return fn(x, axis); });
}

}  // namespace

namespace detail {

Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keepdim) {
  if (axes.empty()) return x;
  const Tensor folded =
      build(ir::Op::REDUCE, x.dtype(), x, list_arg(axes, static_cast<int64_t>(op)));
  return keepdim ? folded.reshape(kept_shape(x.shape(), axes)) : folded;
}

}  // namespace detail

Tensor Tensor::sum(const Axes& wanted, bool keepdim) const {
  require_defined("sum", *this);
  const auto axes = normal_axes("sum", wanted, ndim());
  return reduce(ReduceOp::sum, to_total(*this), axes, keepdim);
}

Tensor Tensor::prod(const Axes& wanted, bool keepdim) const {
  require_defined("prod", *this);
  const auto axes = normal_axes("prod", wanted, ndim());
  return reduce(ReduceOp::prod, to_total(*this), axes, keepdim);
}

Tensor Tensor::mean(const Axes& wanted, bool keepdim) const {
  require_float("mean", *this);
  const auto axes = normal_axes("mean", wanted, ndim());
  const double n = static_cast<double>(count_over(shape(), axes));
  return in_f32(*this,
                [&](const Tensor& x) { return reduce(ReduceOp::sum, x, axes, keepdim) / n; });
}

Tensor Tensor::amax(const Axes& wanted, bool keepdim) const {
  const auto axes = extremum_axes("amax", *this, wanted);
  return reduce(ReduceOp::max, *this, axes, keepdim);
}

Tensor Tensor::amin(const Axes& wanted, bool keepdim) const {
  const auto axes = extremum_axes("amin", *this, wanted);
  return reduce(ReduceOp::min, *this, axes, keepdim);
}

ValuesIndices Tensor::max(int64_t axis, bool keepdim) const {
  return extreme_along("max", ReduceOp::max, *this, axis, keepdim);
}
ValuesIndices Tensor::min(int64_t axis, bool keepdim) const {
  return extreme_along("min", ReduceOp::min, *this, axis, keepdim);
}
Tensor Tensor::argmax(std::optional<int64_t> axis, bool keepdim) const {
  return arg_extreme("argmax", ReduceOp::max, *this, axis, keepdim);
}
Tensor Tensor::argmin(std::optional<int64_t> axis, bool keepdim) const {
  return arg_extreme("argmin", ReduceOp::min, *this, axis, keepdim);
}

Tensor Tensor::any(const Axes& wanted, bool keepdim) const {
  require_defined("any", *this);
  const auto axes = normal_axes("any", wanted, ndim());
  return reduce(ReduceOp::max, cast(DType::boolean), axes, keepdim);
}

Tensor Tensor::all(const Axes& wanted, bool keepdim) const {
  require_defined("all", *this);
  const auto axes = normal_axes("all", wanted, ndim());
  return reduce(ReduceOp::min, cast(DType::boolean), axes, keepdim);
}

Tensor Tensor::var(const Axes& wanted, int64_t correction, bool keepdim) const {
  require_float("var", *this);
  const auto axes = normal_axes("var", wanted, ndim());
  const int64_t n = count_over(shape(), axes);
  return in_f32(*this, [&](const Tensor& x) {
    const Tensor mean = reduce(ReduceOp::sum, x, axes, true) / static_cast<double>(n);
    const Tensor off = x - mean;
    const Tensor total = reduce(ReduceOp::sum, off * off, axes, keepdim);
    return total / static_cast<double>(std::max<int64_t>(n - correction, 0));
  });
}

Tensor Tensor::std(const Axes& wanted, int64_t correction, bool keepdim) const {
  require_float("std", *this);
  return in_f32(*this, [&](const Tensor& x) { return x.var(wanted, correction, keepdim).sqrt(); });
}

Tensor Tensor::logsumexp(const Axes& wanted, bool keepdim) const {
  require_float("logsumexp", *this);
  const auto axes = normal_axes("logsumexp", wanted, ndim());
  if (count_over(shape(), axes) == 0) return exp().sum(wanted, keepdim).log();
  return in_f32(*this, [&](const Tensor& x) {
    const Tensor top = reduce(ReduceOp::max, x.detach(), axes, true);
    const Tensor finite = where(top.isinf(), Scalar(0.0), top);
    const Tensor total = reduce(ReduceOp::sum, (x - finite).exp(), axes, true);
    const Tensor result = total.log() + finite;
    if (keepdim || axes.empty()) return result;
    Shape s;
    for (int64_t i = 0; i < ndim(); ++i)
      if (!std::binary_search(axes.begin(), axes.end(), i))
        s.push_back(shape()[static_cast<size_t>(i)]);
    return result.reshape(s);
  });
}

Tensor Tensor::cumsum(int64_t axis) const {
  require_defined("cumsum", *this);
  axis = normal_axis("cumsum", axis, ndim());
  const Tensor x = to_total(*this);
  if (numel() == 0 || ndim() == 0) return x;
  const DType t = x.dtype();
  return in_f32(x,
                [&](const Tensor& wide) {
                  return scan_last(wide.transpose(axis, -1)).transpose(axis, -1);
                })
      .cast(t);
}

Tensor Tensor::softmax(int64_t axis) const {
  return softmax_like("softmax", *this, axis, [](const Tensor& x, int64_t a) {
    const Shifted s = shifted(x, a);
    return s.exponent / s.total;
  });
}

Tensor Tensor::log_softmax(int64_t axis) const {
  return softmax_like("log_softmax", *this, axis, [](const Tensor& x, int64_t a) {
    const Shifted s = shifted(x, a);
    return s.difference - s.total.log();
  });
}

}  // namespace tiny
