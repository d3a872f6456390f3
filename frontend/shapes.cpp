// SPDX-License-Identifier: MIT
// Checks of user input and the node helpers that every family of operations builds on.
#include "frontend/cell.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tiny {

int64_t Scalar::integer() const {
  if (kind_ != Kind::real) return integer_;
  if (std::isnan(real_)) return 0;
  if (real_ >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (real_ < -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(real_);
}

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::boolean:
      return DType::boolean;
    case Kind::integer:
      return DType::i64;
    case Kind::real:
      break;
  }
  return DType::f32;
}

namespace detail {

ir::Arg list_arg(std::vector<int64_t> list, int64_t value) {
  ir::Arg arg;
  arg.list = std::move(list);
  arg.value = value;
  return arg;
}

ir::Ref constant(DType t, Scalar s) {
  ir::Arg arg;
  if (is_float(t)) {
    arg.real = s.real();  // ir::make rounds and wraps
  } else if (t == DType::boolean) {
    arg.value = s.kind() == Scalar::Kind::real ? s.real() != 0 : s.integer() != 0;
  } else {
    arg.value = s.integer();
  }
  return ir::make(ir::Op::CONST, t, {}, std::move(arg));
}

ir::Ref reshaped(const ir::Ref& x, const Shape& shape) {
  if (x->shape() == shape) return x;
  if (x->op() == ir::Op::RESHAPE) return reshaped(ir::Ref(x->source(0)), shape);
  return ir::make(ir::Op::RESHAPE, x->dtype(), {x}, list_arg(shape));
}

ir::Ref expanded(const ir::Ref& x, const Shape& shape) {
  if (x->shape() == shape) return x;
  if (x->op() == ir::Op::EXPAND && x->source(0)->is_const())
    return expanded(ir::Ref(x->source(0)), shape);
  Shape padded(shape.size() - x->shape().size(), 1);
  padded.insert(padded.end(), x->shape().begin(), x->shape().end());
  const ir::Ref same_rank = reshaped(x, padded);
  if (padded == shape) return same_rank;
  return ir::make(ir::Op::EXPAND, x->dtype(), {same_rank}, list_arg(shape));
}

ir::Ref casted(const ir::Ref& x, DType t) {
  if (x->dtype() == t) return x;
  return ir::make(ir::Op::CAST, t, {x});
}

Tensor constant_tensor(const Shape& shape, DType t, Scalar s) {
  return make_tensor(expanded(constant(t, s), shape));
}

Tensor iota(int64_t count, DType t) {
  return make_tensor(ir::make(ir::Op::IOTA, t, {}, list_arg({count})));
}

Tensor cast_to(const Tensor& x, DType t) {
  if (x.dtype() == t) return x;
  return build(ir::Op::CAST, t, x);
}

Tensor to_real(const Tensor& x) { return is_float(x.dtype()) ? x : cast_to(x, DType::f32); }

int64_t normal_axis(std::string_view op, int64_t axis, int64_t rank) {
  const int64_t bound = std::max<int64_t>(rank, 1);  // PyTorch: a 0-d tensor has axis 0 and -1
  if (axis < -bound || axis >= bound)
    fail(op, fmt::format("axis {} is outside a tensor of {} axes", axis, rank));
  return axis < 0 ? axis + bound : axis;
}

std::vector<int64_t> normal_axes(std::string_view op, const Axes& axes, int64_t rank) {
  std::vector<int64_t> result;
  if (axes.list.empty()) {
    for (int64_t i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (int64_t a : axes.list) result.push_back(normal_axis(op, a, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    fail(op, fmt::format("axes {} name one axis twice", text(axes.list)));
  if (rank == 0) result.clear();
  return result;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t n = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (m != n && m != 1 && n != 1)
      fail(op, fmt::format("shapes {} and {} do not broadcast", text(a), text(b)));
    result[result.size() - 1 - i] = m == 1 ? n : m;
  }
  return result;
}

void require_float(std::string_view op, const Tensor& x) {
  require_defined(op, x);
  if (!is_float(x.dtype()))
    fail(op, fmt::format("needs a floating tensor, got {} {}", name(x.dtype()), text(x.shape())));
}

std::string text(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : ir::to_string(shape);
}

void check_shape(std::string_view op, const Shape& shape) {
  int64_t count = 1;
  for (int64_t n : shape) {
    if (n < 0) fail(op, fmt::format("shape {} has a negative extent", text(shape)));
    if (__builtin_mul_overflow(count, n, &count) || count > (int64_t{1} << 48))
      fail(op, fmt::format("shape {} has too many elements", text(shape)));
  }
}

}  // namespace detail
}  // namespace tiny
