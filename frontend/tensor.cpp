// SPDX-License-Identifier: MIT
#include "frontend/cell.h"

#include "engine/realize.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <mutex>
#include <unordered_set>

namespace tiny {
namespace {

thread_local bool gradients_on = true;
thread_local std::vector<std::weak_ptr<Tensor::Cell>> pending_assigns;
thread_local std::vector<std::weak_ptr<Tensor::Cell>> noted_gradients;

/// The cells that still live, each once, in order.
std::vector<Tensor> take_live(std::vector<std::weak_ptr<Tensor::Cell>>& cells) {
  std::vector<Tensor> result;
  std::unordered_set<const Tensor::Cell*> seen;
  for (const auto& weak : cells)
    if (auto cell = weak.lock(); cell && seen.insert(cell.get()).second) result.emplace_back(cell);
  cells.clear();
  return result;
}

/// The BUFFER below a value: itself, or an unrealized ASSIGN's target.
const ir::Ref assign_target(const ir::Ref& v) {
  if (v->op() == ir::Op::BUFFER) return v;
  if (v->op() == ir::Op::ASSIGN) return ir::Ref(v->source(0));
  return {};
}

/// Keeps the way for gradients of interior cells that are about to become plain memory.
void keep_history(Tensor::Cell& cell) {
  if (!cell.requires_grad || cell.link || cell.spent) return;
  cell.link = std::make_shared<GradLink>();
  cell.link->history = cell.value;
}

}  // namespace

GradLink::~GradLink() {
  thread_local std::vector<ir::Ref> dying;
  thread_local bool draining = false;
  dying.push_back(std::move(history));
  if (draining) return;
  draining = true;
  while (!dying.empty()) {
    ir::Ref last = std::move(dying.back());
    dying.pop_back();
  }
  draining = false;
}

namespace detail {

bool gradient_enabled() { return gradients_on; }

void fail(std::string_view op, const std::string& message) {
  throw UsageError(fmt::format("[{}] {}", op, message));
}

void require_defined(std::string_view op, const Tensor& t) {
  if (!t.defined()) fail(op, "tensor is undefined");
}

ir::Ref use(const Tensor& t) {
  if (!t.defined()) fail("tensor", "is undefined");
  Tensor::Cell& c = *t.cell();
  if (!c.requires_grad) return c.value;
  if (!gradients_on)
    return c.link ? c.value : ir::make(ir::Op::DETACH, c.value->dtype(), {c.value});
  if (!c.link) return c.value;
  // Threads that share a parameter only read it, but the first reader makes the marker.
  static std::mutex marker_mutex;
  const std::lock_guard lock(marker_mutex);
  if (!c.marker) {
    ir::Arg arg;
    arg.object = c.link;
    c.marker = ir::make(ir::Op::DETACH, c.value->dtype(), {c.value}, std::move(arg));
  }
  return c.marker;
}

const ir::Ref& value(const Tensor& t) {
  if (!t.defined()) fail("tensor", "is undefined");
  return t.cell()->value;
}

void set_value(const Tensor& t, ir::Ref v) {
  keep_history(*t.cell());
  t.cell()->value = std::move(v);
  t.cell()->marker = {};
}

Tensor make_tensor(ir::Ref value, bool requires_grad) {
  auto cell = std::make_shared<Tensor::Cell>();
  cell->value = std::move(value);
  cell->requires_grad = requires_grad;
  return Tensor(std::move(cell));
}

bool carries(DType result, const Tensor& a, const Tensor& b, const Tensor& c) {
  if (!gradients_on || !is_float(result)) return false;
  return a.cell()->requires_grad || (b.defined() && b.cell()->requires_grad) ||
         (c.defined() && c.cell()->requires_grad);
}

Tensor with_gradient_of(const Tensor& v, const std::function<Tensor()>& path) {
  if (!v.requires_grad() || !gradients_on) return v;
  const Tensor way = path();
  CHECK_INVARIANT(way.shape() == v.shape() && way.dtype() == v.dtype(), "paths must agree");
  Tensor result = make_tensor(use(v), true);
  result.cell()->link = std::make_shared<GradLink>();
  result.cell()->link->history = use(way);
  return result;
}

void store_with_next_realize(const Tensor& t) { pending_assigns.push_back(t.cell()); }

std::vector<Tensor> take_assigned() { return take_live(pending_assigns); }

std::vector<Tensor> take_pending_assigns() {
  std::vector<Tensor> assigned = take_assigned();
  std::erase_if(assigned, [](const Tensor& t) { return t.is_realized(); });
  return assigned;
}

void note_gradient(const Tensor& leaf) {
  if (engine::tracing()) noted_gradients.push_back(leaf.cell());
}
std::vector<Tensor> take_noted_gradients() { return take_live(noted_gradients); }

Tensor build(ir::Op op, DType dtype, const Tensor& a, ir::Arg arg) {
  return make_tensor(ir::make(op, dtype, {use(a)}, std::move(arg)), carries(dtype, a));
}

Tensor build(ir::Op op, DType dtype, const Tensor& a, const Tensor& b, ir::Arg arg) {
  return make_tensor(ir::make(op, dtype, {use(a), use(b)}, std::move(arg)), carries(dtype, a, b));
}

}  // namespace detail

using namespace detail;

const Shape& Tensor::shape() const {
  require_defined("shape", *this);
  return cell_->value->shape();
}

DType Tensor::dtype() const {
  require_defined("dtype", *this);
  return cell_->value->dtype();
}

int64_t Tensor::dim(int64_t axis) const { return shape()[normal_axis("dim", axis, ndim())]; }
int64_t Tensor::numel() const { return element_count(shape()); }

void realize(const std::vector<Tensor>& tensors) {
  if (engine::tracing()) fail("realize", "values do not exist while jit traces");
  std::vector<Tensor> todo = take_pending_assigns();
  for (const Tensor& t : tensors) {
    require_defined("realize", t);
    if (!t.is_realized()) todo.push_back(t);
  }
  std::vector<ir::Ref*> roots;
  for (const Tensor& t : todo) {
    keep_history(*t.cell());
    t.cell()->marker = {};
    roots.push_back(&t.cell()->value);
  }
  if (!roots.empty()) engine::realize(roots);
}

const Tensor& Tensor::realize() const {
  tiny::realize({*this});
  return *this;
}

bool Tensor::is_realized() const { return defined() && cell_->value->op() == ir::Op::BUFFER; }

std::vector<std::byte> Tensor::to_bytes() const {
  realize();
  return engine::read(cell_->value);
}

std::string Tensor::device() const {
  require_defined("device", *this);
  return engine::device_name(cell_->value);
}

Tensor Tensor::to(std::string_view device) const {
  require_defined("to", *this);
  if (this->device() == device) return *this;
  return make_tensor(engine::copy_node(use(*this), device), carries(dtype(), *this));
}

Tensor Tensor::detach() const {
  require_defined("detach", *this);
  if (!cell_->requires_grad || cell_->link) return make_tensor(cell_->value);
  return make_tensor(ir::make(ir::Op::DETACH, dtype(), {cell_->value}));
}

Tensor Tensor::contiguous() const {
  require_defined("contiguous", *this);
  return is_realized() ? *this : build(ir::Op::CONTIGUOUS, dtype(), *this);
}

Tensor Tensor::clone() const {
  require_defined("clone", *this);
  return build(ir::Op::CONTIGUOUS, dtype(), *this);
}

Tensor& Tensor::assign(const Tensor& from) {
  require_defined("assign", *this);
  require_defined("assign", from);
  const bool is_leaf = cell_->requires_grad && cell_->link && !cell_->link->leaf.expired();
  if (is_leaf && gradients_on)
    fail("assign", "a tensor that requires grad is changed only inside NoGrad");
  if (broadcast_shapes("assign", shape(), from.shape()) != shape())
    fail("assign",
         fmt::format("value of shape {} does not fit {}", text(from.shape()), text(shape())));
  const Tensor fitted = from.cast(dtype());
  ir::Ref next = expanded(use(fitted), shape());
  if (ir::Ref target = assign_target(cell_->value)) {
    next = ir::make(ir::Op::ASSIGN, dtype(), {target, next});
  }
  pending_assigns.push_back(cell_);
  const bool flows = carries(dtype(), fitted);
  cell_->value = std::move(next);
  cell_->marker = {};
  if (!is_leaf) {
    cell_->link.reset();
    cell_->requires_grad = flows;
    cell_->spent = false;
  }
  return *this;
}

Tensor& Tensor::requires_grad_(bool on) {
  require_defined("requires_grad_", *this);
  if (on && !is_float(dtype()))
    fail("requires_grad_",
         fmt::format("only floating tensors have gradients, this is {}", name(dtype())));
  Cell& c = *cell_;
  if (on == c.requires_grad) return *this;
  if (!on && !c.link) c.value = ir::make(ir::Op::DETACH, dtype(), {c.value});
  c.requires_grad = on;
  c.marker = {};
  c.link.reset();
  if (on) {
    c.link = std::make_shared<GradLink>();
    c.link->leaf = cell_;
  }
  return *this;
}

bool Tensor::requires_grad() const {
  require_defined("requires_grad", *this);
  return cell_->requires_grad;
}

Tensor Tensor::grad() const {
  require_defined("grad", *this);
  return cell_->grad;
}

void Tensor::set_grad(const Tensor& g) {
  require_defined("set_grad", *this);
  if (g.defined() && (g.shape() != shape() || g.dtype() != dtype()))
    fail("set_grad", fmt::format("gradient {} {} for a tensor {} {}", name(g.dtype()),
                                 text(g.shape()), name(dtype()), text(shape())));
  cell_->grad = g;
}

void Tensor::zero_grad() {
  require_defined("zero_grad", *this);
  cell_->grad = {};
}

NoGrad::NoGrad() : before_(gradients_on) { gradients_on = false; }
NoGrad::~NoGrad() { gradients_on = before_; }

}  // namespace tiny
