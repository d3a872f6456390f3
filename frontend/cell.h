// SPDX-License-Identifier: MIT
// Inside of a Tensor, and how operations build graph. Private to the front end and jit.
//
// Where gradients flow. A cell that requires a gradient is either interior (its expression leads to
// leaves) or has a `GradLink`, and is then read by other operations as DETACH(value){link}:
//   - a leaf's link names its cell, so the leaf is found however often its value changes;
//   - a realized interior cell's link keeps the expression it was computed from.
// The same device gives an expression another expression's gradient (`with_gradient_of`). To the
// compiler the marker is an ordinary DETACH.
#pragma once

#include "compiler/ir/node.h"

#include <rt_tiny/frontend/tensor.h>

#include <string>
#include <string_view>

namespace tiny {

struct GradLink final : ir::Object {
  std::weak_ptr<Tensor::Cell> leaf;
  ir::Ref history;
  GradLink() = default;
  GradLink(const GradLink&) = delete;
  GradLink& operator=(const GradLink&) = delete;
  ~GradLink() override;  ///< iterative: chains of links are as long as a training run
};

struct Tensor::Cell {
  ir::Ref value;                   ///< a BUFFER once realized, never a marker
  ir::Ref marker;                  ///< DETACH(value){link}, made when first read
  std::shared_ptr<GradLink> link;  ///< set for leaves and realized interior cells
  Tensor grad;
  std::weak_ptr<Cell> loss;  ///< what the last backward() started from
  bool requires_grad = false;
  bool spent = false;  ///< backward() ran without retain_graph
};

namespace detail {

/// False inside NoGrad.
bool gradient_enabled();

/// What an operation on this tensor should have as its source.
ir::Ref use(const Tensor&);
/// The value alone, without a way for gradients (a BUFFER once realized).
const ir::Ref& value(const Tensor&);
/// Replaces a cell's value by another expression of the same value (jit, realize).
void set_value(const Tensor&, ir::Ref);
Tensor make_tensor(ir::Ref value, bool requires_grad = false);
/// Whether an operation on these (and producing `dtype`) carries a gradient.
bool carries(DType, const Tensor& a, const Tensor& b = {}, const Tensor& c = {});
/// Value of `value`, gradient of `path` (same shape and dtype). `path` is called only if needed.
Tensor with_gradient_of(const Tensor& value, const std::function<Tensor()>& path);

/// Tensors assigned since the last call whose cells still live; the next realize stores them too.
std::vector<Tensor> take_pending_assigns();

/// The next realize on this thread stores this tensor too. For values made once and read often.
void store_with_next_realize(const Tensor&);
/// Every live tensor assigned on this thread since the last call, stored or not (jit).
std::vector<Tensor> take_assigned();
/// Leaves whose gradient backward() set on this thread since the last call (jit).
void note_gradient(const Tensor& leaf);
std::vector<Tensor> take_noted_gradients();

// One-source and two-source operations on tensors of matching shape and dtype.
Tensor build(ir::Op, DType, const Tensor& a, ir::Arg = {});
Tensor build(ir::Op, DType, const Tensor& a, const Tensor& b, ir::Arg = {});

// Node helpers; they skip what would do nothing.
ir::Arg list_arg(std::vector<int64_t> list, int64_t value = 0);
ir::Ref constant(DType, Scalar);
ir::Ref reshaped(const ir::Ref&, const Shape&);
ir::Ref expanded(const ir::Ref&, const Shape&);  ///< ranks may differ: leading axes are added
ir::Ref casted(const ir::Ref&, DType);
Tensor constant_tensor(const Shape&, DType, Scalar);
Tensor iota(int64_t count, DType = DType::i64);

// Checking user input. All throw UsageError beginning with [op].
[[noreturn]] void fail(std::string_view op, const std::string& message);
void require_defined(std::string_view op, const Tensor&);
int64_t normal_axis(std::string_view op, int64_t axis, int64_t rank);
/// Ascending, distinct; empty means all.
std::vector<int64_t> normal_axes(std::string_view op, const Axes&, int64_t rank);
Shape broadcast_shapes(std::string_view op, const Shape&, const Shape&);
void require_float(std::string_view op, const Tensor&);
void check_shape(std::string_view op, const Shape&);
inline int64_t element_count(const Shape& s) { return ir::element_count(s); }
std::string text(const Shape&);  ///< "(2, 3)", "(4,)"

/// Integers and bool become f32, as PyTorch's functions of real numbers do.
Tensor to_real(const Tensor&);
/// Runs fn on x in f32 where x is f16 or bf16, and rounds the result once.
template <class F>
Tensor in_f32(const Tensor& x, F fn) {
  const DType t = x.dtype();
  if (t != DType::f16 && t != DType::bf16) return fn(x);
  return fn(x.cast(DType::f32)).cast(t);
}
/// One reduction over normalized axes, in x's own dtype.
Tensor reduce(ir::ReduceOp, const Tensor&, const std::vector<int64_t>& axes, bool keepdim);
Tensor window(const Tensor&, int64_t axis, int64_t size, int64_t stride, int64_t dilation);
Tensor cast_to(const Tensor&, DType);

}  // namespace detail
}  // namespace tiny
