// SPDX-License-Identifier: MIT
// Optimizers, with PyTorch's formulas. A step assigns every parameter and computes them all
// together; inside jit it only records.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <vector>

namespace tiny::optim {

struct TINY_API SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct TINY_API AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct TINY_API AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
};

/// What all optimizers share. Parameters without a gradient are left alone.
class TINY_API Optimizer {
 public:
  virtual ~Optimizer() = default;
  void zero_grad();
  void step();
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Momenta and counters, realized; a checkpoint needs them.
  const std::vector<Tensor>& state() const { return state_; }

 protected:
  explicit Optimizer(std::vector<Tensor> parameters);
  /// Assigns parameter i (and its state) from its gradient.
  virtual void update(size_t i, Tensor& parameter, const Tensor& gradient) = 0;
  /// Assigns what all parameters share, before any update.
  virtual void begin_step() {}
  /// A stored tensor of zeros that belongs to the state.
  Tensor make_state(const Shape&, DType);
  /// The type of the state's scalars: f64 where a parameter is f64.
  DType scalar_dtype() const;

 private:
  std::vector<Tensor> parameters_, state_;
};

class TINY_API SGD final : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SGDOptions = {});

 private:
  void begin_step() override;
  void update(size_t i, Tensor& parameter, const Tensor& gradient) override;
  SGDOptions options_;
  std::vector<Tensor> momenta_;
  Tensor started_, was_started_;  ///< only where dampening makes the first step different
};

/// Adam; with `decoupled` decay it is AdamW.
class TINY_API Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, AdamOptions = {});

 protected:
  Adam(std::vector<Tensor> parameters, AdamOptions, bool decoupled);

 private:
  void begin_step() override;
  void update(size_t i, Tensor& parameter, const Tensor& gradient) override;
  AdamOptions options_;
  bool decoupled_;
  std::vector<Tensor> first_, second_;
  Tensor correction1_, correction2_;  ///< 1 - betaᵗ
  Tensor rate_, spread_;              ///< of this step: lr / correction1, √correction2
};

class TINY_API AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamWOptions = {});
};

}  // namespace tiny::optim
