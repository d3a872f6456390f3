// SPDX-License-Identifier: MIT
// The derivative of every op, as graph. Rules follow PyTorch where the derivative is a choice.
#include "frontend/gradient.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <cmath>

namespace tiny::detail {

using ir::Node;
using ir::Op;
using ir::ReduceOp;

namespace {

/// One node with its upstream gradient; x(i) is source i as a tensor that may be differentiated.
struct Rule {
  const Node& node;
  const Tensor& g;
  const std::vector<bool>& wanted;

  Tensor x(size_t i) const {
    return make_tensor(ir::Ref(node.source(i)), is_float(node.source(i)->dtype()));
  }
  Tensor y() const { return make_tensor(ir::Ref(&node), true); }
  const std::vector<int64_t>& list() const { return node.arg().list; }
  size_t rank() const { return node.source(0)->shape().size(); }
};

using Parts = std::vector<Tensor>;

Tensor unary_rule(const Rule& r) {
  const Tensor x = r.x(0), &g = r.g;
  switch (r.node.op()) {
    case Op::NEG:
      return -g;
    case Op::ABS:
      return g * x.sign();
    case Op::SQRT:
      return g / (r.y() * 2);
    case Op::EXP:
      return g * r.y();
    case Op::EXP2:
      return g * r.y() * 0.69314718055994530942;
    case Op::LOG:
      return g / x;
    case Op::LOG2:
      return g / (x * 0.69314718055994530942);
    case Op::SIN:
      return g * x.cos();
    case Op::COS:
      return -(g * x.sin());
    case Op::TANH: {
      const Tensor y = r.y();
      return g * (1 - y * y);
    }
    case Op::ERF:
      return g * (-(x * x)).exp() * 1.12837916709551257390;
    case Op::TRUNC:
    case Op::FLOOR:
    case Op::CEIL:
    case Op::ROUND:
      return g.zeros_like();
    case Op::CAST:
      return cast_to(g, x.dtype());
    default:
      break;
  }
  fail("backward", fmt::format("{} has no gradient", ir::info(r.node.op()).name));
}

/// Where two values tie, each has half.
Parts extreme_rule(const Rule& r, bool is_max) {
  const Tensor a = r.x(0), b = r.x(1);
  const Tensor half = where(a == b, r.g / 2, r.g);
  const Tensor a_loses = is_max ? a < b : b < a, b_loses = is_max ? b < a : a < b;
  return {where(a_loses, Scalar(0), half), where(b_loses, Scalar(0), half)};
}

Parts pow_rule(const Rule& r) {
  const Tensor a = r.x(0), b = r.x(1);
  Parts parts(2);
  if (r.wanted[0]) parts[0] = where(b == 0, Scalar(0), r.g * b * a.pow(b - 1));
  if (r.wanted[1]) {
    const Tensor flat = (a == 0).logical_and(b >= 0);
    parts[1] = where(flat, Scalar(0), r.g * r.y() * a.log());
  }
  return parts;
}

Parts binary_rule(const Rule& r) {
  const Tensor& g = r.g;
  const auto a = [&] { return r.x(0); };
  const auto b = [&] { return r.x(1); };
  Parts parts(2);
  const bool left = r.wanted[0], right = r.wanted[1];
  switch (r.node.op()) {
    case Op::ADD:
      return {g, g};
    case Op::SUB:
      parts[0] = g;
      if (right) parts[1] = -g;
      return parts;
    case Op::MUL:
      if (left) parts[0] = g * b();
      if (right) parts[1] = g * a();
      return parts;
    case Op::FDIV:
      if (left) parts[0] = g / b();
      if (right) parts[1] = -(g * (r.y() / b()));
      return parts;
    case Op::FMOD:
      parts[0] = g;
      if (right) parts[1] = -(g * (a() / b()).trunc());
      return parts;
    case Op::POW:
      return pow_rule(r);
    case Op::MAX:
      return extreme_rule(r, true);
    case Op::MIN:
      return extreme_rule(r, false);
    default:
      break;
  }
  fail("backward", fmt::format("{} has no gradient", ir::info(r.node.op()).name));
}

Parts where_rule(const Rule& r) {
  const Tensor condition = r.x(0);
  Parts parts(3);
  if (r.wanted[1]) parts[1] = where(condition, r.g, Scalar(0));
  if (r.wanted[2]) parts[2] = where(condition, Scalar(0), r.g);
  return parts;
}

Tensor expand_rule(const Rule& r) {
  const Shape& from = r.node.source(0)->shape();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != r.node.shape()[i]) axes.push_back(static_cast<int64_t>(i));
  return reduce(ReduceOp::sum, r.g, axes, true);
}

Tensor shrink_rule(const Rule& r) {
  const Shape& from = r.node.source(0)->shape();
  if (r.g.numel() == 0) return constant_tensor(from, r.g.dtype(), 0);
  std::vector<int64_t> list = r.list();  // begin, size, step → before, after, between
  const size_t n = r.rank();
  for (size_t i = 0; i < n; ++i) {
    const int64_t begin = r.list()[i], size = r.list()[n + i], step = r.list()[2 * n + i];
    list[n + i] = from[i] - begin - ((size - 1) * step + 1);
    list[2 * n + i] = step - 1;
  }
  return build(Op::PAD, r.g.dtype(), r.g, list_arg(std::move(list)));
}

Tensor pad_rule(const Rule& r) {
  const Shape& from = r.node.source(0)->shape();
  if (element_count(from) == 0) return constant_tensor(from, r.g.dtype(), 0);
  std::vector<int64_t> list = r.list();  // before, after, between → begin, size, step
  const size_t n = r.rank();
  for (size_t i = 0; i < n; ++i) {
    list[n + i] = from[i];
    list[2 * n + i] = r.list()[2 * n + i] + 1;
  }
  return build(Op::SHRINK, r.g.dtype(), r.g, list_arg(std::move(list)));
}

Tensor permute_rule(const Rule& r) {
  std::vector<int64_t> inverse(r.list().size());
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<size_t>(r.list()[i])] = static_cast<int64_t>(i);
  return r.g.permute(inverse);
}

Tensor window_rule(const Rule& r) {
  const int64_t axis = r.node.arg().value,
                length = r.node.source(0)->shape()[static_cast<size_t>(axis)];
  const Tensor spread =
      build(Op::UNWINDOW, r.g.dtype(), r.g, list_arg({length, r.list()[1], r.list()[2]}, axis));
  return reduce(ReduceOp::sum, spread, {axis + 1}, false);
}

/// out[i, k] = in[(i - k d) / s, k], so in[o, k] meets g[o s + k d, k]: the diagonal of g's
/// windows.
Tensor unwindow_rule(const Rule& r) {
  const int64_t axis = r.node.arg().value,
                size = r.node.source(0)->shape()[static_cast<size_t>(axis) + 1];
  const Tensor windows = window(r.g, axis, size, r.list()[1], r.list()[2]);  // (O, K', K)
  Shape mask(windows.shape().size(), 1);
  mask[static_cast<size_t>(axis) + 1] = mask[static_cast<size_t>(axis) + 2] = size;
  const Tensor diagonal = Tensor::eye(size, size, DType::boolean).reshape(mask);
  return reduce(ReduceOp::sum, where(diagonal, windows, 0), {axis + 1}, false);
}

/// Puts back the axes a reduction removed and repeats along them.
Tensor spread_back(const Tensor& t, const Rule& r) {
  const Shape& from = r.node.source(0)->shape();
  Shape kept = from;
  for (int64_t a : r.list()) kept[static_cast<size_t>(a)] = 1;
  return t.reshape(kept).expand(from);
}

/// The product of the others, also where factors are zero.
Tensor prod_rule(const Rule& r) {
  const Tensor x = r.x(0), is_zero = x == 0;
  const auto over = [&](const Tensor& t, ReduceOp op) {
    return spread_back(reduce(op, t, r.list(), false), r);
  };
  const Tensor zeros = over(is_zero.cast(DType::i32), ReduceOp::sum);
  const Tensor others = over(where(is_zero, Scalar(1), x), ReduceOp::prod);
  const Tensor none = others / where(is_zero, Scalar(1), x);
  const Tensor one = where(is_zero, others, 0);
  return spread_back(r.g, r) * where(zeros == 0, none, where(zeros == 1, one, Scalar(0)));
}

/// Ties share evenly.
Tensor extreme_reduce_rule(const Rule& r) {
  const Tensor x = r.x(0), top = spread_back(r.y(), r);
  const Tensor hits = (x == top).logical_or((top != top).logical_and(x != x));
  const Tensor count = reduce(ReduceOp::sum, hits.cast(r.g.dtype()), r.list(), false);
  return where(hits, spread_back(r.g / count, r), 0);
}

Tensor reduce_rule(const Rule& r) {
  switch (static_cast<ReduceOp>(r.node.arg().value)) {
    case ReduceOp::sum:
      return spread_back(r.g, r);
    case ReduceOp::prod:
      return prod_rule(r);
    case ReduceOp::max:
    case ReduceOp::min:
      break;
  }
  return extreme_reduce_rule(r);
}

Tensor scatter_node(const Tensor& base, const Tensor& index, const Tensor& update, int64_t axis,
                    bool add) {
  return make_tensor(ir::make(Op::SCATTER, base.dtype(), {use(base), use(index), use(update)},
                              list_arg({add ? 1 : 0}, axis)),
                     carries(base.dtype(), base, update));
}

Parts scatter_rule(const Rule& r) {
  const Tensor index = r.x(1);
  const int64_t axis = r.node.arg().value;
  const bool adds = !r.list().empty() && r.list()[0] == 1;
  Parts parts(3);
  if (r.wanted[0]) {
    const Tensor nothing = constant_tensor(index.shape(), r.g.dtype(), 0);
    parts[0] = adds ? r.g : scatter_node(r.g, index, nothing, axis, false);
  }
  if (r.wanted[2]) parts[2] = build(Op::GATHER, r.g.dtype(), r.g, index, list_arg({}, axis));
  return parts;
}

Tensor movement_rule(const Rule& r) {
  switch (r.node.op()) {
    case Op::RESHAPE:
      return r.g.reshape(r.node.source(0)->shape());
    case Op::PERMUTE:
      return permute_rule(r);
    case Op::EXPAND:
      return expand_rule(r);
    case Op::SHRINK:
      return shrink_rule(r);
    case Op::PAD:
      return pad_rule(r);
    case Op::FLIP:
      return build(Op::FLIP, r.g.dtype(), r.g, r.node.arg());
    case Op::WINDOW:
      return window_rule(r);
    case Op::UNWINDOW:
      return unwindow_rule(r);
    default:
      break;
  }
  fail("backward", fmt::format("{} has no gradient", ir::info(r.node.op()).name));
}

Parts tensor_rule(const Rule& r) {
  switch (r.node.op()) {
    case Op::REDUCE:
      return {reduce_rule(r)};
    case Op::GATHER:
      return {scatter_node(constant_tensor(r.node.source(0)->shape(), r.g.dtype(), 0), r.x(1), r.g,
                           r.node.arg().value, true),
              {}};
    case Op::SCATTER:
      return scatter_rule(r);
    case Op::CONTIGUOUS:
      return {r.g};
    case Op::COPY:
      return {r.g.to(r.x(0).device())};
    case Op::ASSIGN:
      return {{}, r.g};
    default:
      break;
  }
  fail("backward", fmt::format("{} has no gradient", ir::info(r.node.op()).name));
}

}  // namespace

std::vector<Tensor> source_gradients(const Node& node, const Tensor& upstream,
                                     const std::vector<bool>& wanted) {
  const Rule r{node, upstream, wanted};
  switch (ir::info(node.op()).kind) {
    case ir::OpKind::leaf:
      return {};
    case ir::OpKind::unary:
      return {unary_rule(r)};
    case ir::OpKind::binary:
      return binary_rule(r);
    case ir::OpKind::ternary:
      return where_rule(r);
    case ir::OpKind::movement:
      return {movement_rule(r)};
    case ir::OpKind::tensor:
      return tensor_rule(r);
    case ir::OpKind::compare:
    case ir::OpKind::kernel:
      break;
  }
  CHECK_INVARIANT(false, fmt::format("{} on a gradient's way", ir::info(node.op()).name));
}

}  // namespace tiny::detail
