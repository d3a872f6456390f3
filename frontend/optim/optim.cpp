// SPDX-License-Identifier: MIT
#include <rt_tiny/frontend/optim/optim.h>

#include <fmt/format.h>

#include "engine/realize.h"
#include "frontend/cell.h"

namespace tiny::optim {

using tiny::detail::fail;

namespace {

void require(bool ok, std::string_view optimizer, std::string_view option, double v) {
  if (!ok) fail(optimizer, fmt::format("{} = {} is out of range", option, v));
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  if (parameters_.empty()) fail("optim", "got no parameters");
  for (const Tensor& p : parameters_) {
    if (!p.defined() || !p.requires_grad()) fail("optim", "a parameter does not require grad");
  }
  // Stored now: jit must find memory to advance, and later copies must not draw new random numbers.
  if (!engine::tracing()) realize(parameters_);
}

Tensor Optimizer::make_state(const Shape& shape, DType t) {
  const size_t size = static_cast<size_t>(tiny::detail::element_count(shape)) * size_B(t);
  state_.push_back(Tensor::from_bytes(t, shape, std::vector<std::byte>(size)));
  return state_.back();
}

DType Optimizer::scalar_dtype() const {
  for (const Tensor& p : parameters_)
    if (p.dtype() == DType::f64) return DType::f64;
  return DType::f32;
}

void Optimizer::zero_grad() {
  for (Tensor& p : parameters_) p.zero_grad();
}

void Optimizer::step() {
  NoGrad no_grad;
  std::vector<Tensor> together;
  begin_step();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor g = parameters_[i].grad();
    if (!g.defined()) continue;
    update(i, parameters_[i], g);
    // The loss and the gradients share this step's work; later they would need the old parameters.
    together.push_back(g);
    if (auto loss = parameters_[i].cell()->loss.lock()) together.emplace_back(std::move(loss));
    parameters_[i].cell()->loss.reset();
  }
  if (engine::tracing()) return;
  together.insert(together.end(), parameters_.begin(), parameters_.end());
  together.insert(together.end(), state_.begin(), state_.end());
  realize(together);
}

SGD::SGD(std::vector<Tensor> parameters, SGDOptions o)
    : Optimizer(std::move(parameters)), options_(o) {
  require(o.lr >= 0, "SGD", "lr", o.lr);
  require(o.momentum >= 0, "SGD", "momentum", o.momentum);
  require(o.weight_decay >= 0, "SGD", "weight_decay", o.weight_decay);
  if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
    fail("SGD", "nesterov needs a momentum and no dampening");
  if (o.momentum == 0) return;
  for (const Tensor& p : this->parameters()) momenta_.push_back(make_state(p.shape(), p.dtype()));
  if (o.dampening != 0) started_ = make_state({}, DType::boolean);
}

void SGD::begin_step() {
  if (!started_.defined()) return;
  was_started_ = started_.detach();
  started_.assign(Tensor::full({}, true));
}

void SGD::update(size_t i, Tensor& p, const Tensor& gradient) {
  const SGDOptions& o = options_;
  Tensor g = o.weight_decay == 0 ? gradient : gradient + p * o.weight_decay;
  if (o.momentum != 0) {
    Tensor next = momenta_[i] * o.momentum + g * (1 - o.dampening);
    if (was_started_.defined()) next = where(was_started_, next, g);
    momenta_[i].assign(next);
    g = o.nesterov ? g + next * o.momentum : next;
  }
  p.assign(p - g * o.lr);
}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions o) : Adam(std::move(parameters), o, false) {}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions o, bool decoupled)
    : Optimizer(std::move(parameters)), options_(o), decoupled_(decoupled) {
  const std::string_view who = decoupled ? "AdamW" : "Adam";
  require(o.lr >= 0, who, "lr", o.lr);
  require(o.beta1 >= 0 && o.beta1 < 1, who, "beta1", o.beta1);
  require(o.beta2 >= 0 && o.beta2 < 1, who, "beta2", o.beta2);
  require(o.eps >= 0, who, "eps", o.eps);
  require(o.weight_decay >= 0, who, "weight_decay", o.weight_decay);
  for (const Tensor& p : this->parameters()) {
    first_.push_back(make_state(p.shape(), p.dtype()));
    second_.push_back(make_state(p.shape(), p.dtype()));
  }
  correction1_ = make_state({}, scalar_dtype());
  correction2_ = make_state({}, scalar_dtype());
}

void Adam::begin_step() {
  // c = 1 - betaᵗ without a power and without cancellation: c' = beta c + (1 - beta).
  const Tensor c1 = correction1_ * options_.beta1 + (1 - options_.beta1);
  const Tensor c2 = correction2_ * options_.beta2 + (1 - options_.beta2);
  correction1_.assign(c1);
  correction2_.assign(c2);
  rate_ = options_.lr / c1;
  spread_ = c2.sqrt();
}

void Adam::update(size_t i, Tensor& p, const Tensor& gradient) {
  const AdamOptions& o = options_;
  Tensor g = gradient, from = p;
  if (o.weight_decay != 0) {
    if (decoupled_)
      from = p * (1 - o.lr * o.weight_decay);
    else
      g = g + p * o.weight_decay;
  }
  const Tensor m = first_[i] * o.beta1 + g * (1 - o.beta1);
  const Tensor v = second_[i] * o.beta2 + g * g * (1 - o.beta2);
  first_[i].assign(m);
  second_[i].assign(v);
  const Tensor denominator = v.sqrt() / spread_.cast(p.dtype()) + o.eps;
  p.assign(from - m / denominator * rate_.cast(p.dtype()));
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions o)
    : Adam(std::move(parameters), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay}, true) {}

}  // namespace tiny::optim
