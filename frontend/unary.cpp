// SPDX-License-Identifier: MIT
// Functions of one element: math and activations.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <cmath>

namespace tiny {

using namespace detail;
using ir::Op;

namespace {

Tensor real_function(std::string_view label, Op op, const Tensor& x) {
  require_defined(label, x);
  const Tensor r = to_real(x);
  return build(op, r.dtype(), r);
}

/// Rounding ops leave integers as they are.
Tensor rounding(std::string_view label, Op op, const Tensor& x) {
  require_defined(label, x);
  if (x.dtype() == DType::boolean) fail(label, "is not defined for bool");
  return is_float(x.dtype()) ? build(op, x.dtype(), x) : x;
}

/// -|x| with derivative -1 at 0, which the stable forms below want.
Tensor minus_abs(const Tensor& x) { return where(x < 0, x, -x); }

/// e^(-|x|), in (0, 1].
Tensor decay(const Tensor& x) { return minus_abs(x).exp(); }

/// A composite activation: real input, f32 inside for 16-bit types.
template <class F>
Tensor activation(std::string_view label, const Tensor& x, F fn) {
  require_defined(label, x);
  return in_f32(to_real(x), fn);
}

}  // namespace

Tensor Tensor::abs() const {
  require_defined("abs", *this);
  return dtype() == DType::boolean ? *this : build(Op::ABS, dtype(), *this);
}

Tensor Tensor::sign() const {
  require_defined("sign", *this);
  if (dtype() == DType::boolean) return *this;
  return ((*this > 0).cast(DType::i8) - (*this < 0).cast(DType::i8)).cast(dtype());
}

Tensor Tensor::sqrt() const { return real_function("sqrt", Op::SQRT, *this); }
Tensor Tensor::exp() const { return real_function("exp", Op::EXP, *this); }
Tensor Tensor::exp2() const { return real_function("exp2", Op::EXP2, *this); }
Tensor Tensor::log() const { return real_function("log", Op::LOG, *this); }
Tensor Tensor::log2() const { return real_function("log2", Op::LOG2, *this); }
Tensor Tensor::sin() const { return real_function("sin", Op::SIN, *this); }
Tensor Tensor::cos() const { return real_function("cos", Op::COS, *this); }
Tensor Tensor::tanh() const { return real_function("tanh", Op::TANH, *this); }
Tensor Tensor::erf() const { return real_function("erf", Op::ERF, *this); }
Tensor Tensor::floor() const { return rounding("floor", Op::FLOOR, *this); }
Tensor Tensor::ceil() const { return rounding("ceil", Op::CEIL, *this); }
Tensor Tensor::round() const { return rounding("round", Op::ROUND, *this); }
Tensor Tensor::trunc() const { return rounding("trunc", Op::TRUNC, *this); }

Tensor Tensor::rsqrt() const {
  return activation("rsqrt", *this, [](const Tensor& x) { return 1 / x.sqrt(); });
}
Tensor Tensor::square() const { return *this * *this; }
Tensor Tensor::reciprocal() const { return 1 / *this; }

Tensor Tensor::expm1() const {
  return activation("expm1", *this, [](const Tensor& x) {
    // Kahan: the error of u = e^x cancels in (u - 1) * x / log(u).
    const Tensor u = x.detach().exp(), less = u - 1;
    const Tensor near = where(u == 1, x, where(less == -1, Scalar(-1.0), less * x / u.log()));
    return with_gradient_of(where(u == HUGE_VAL, u, near), [&] { return x.exp() - 1; });
  });
}

Tensor Tensor::log1p() const {
  return activation("log1p", *this, [](const Tensor& x) {
    const Tensor u = x + 1;
    const Tensor near = where(u == 1, x, where(u == HUGE_VAL, u, u.log() * x / (u - 1)));
    return with_gradient_of(near, [&] { return u.log(); });
  });
}

Tensor Tensor::log10() const {
  return activation("log10", *this, [](const Tensor& x) {
    const DType t = x.dtype();  // through f64 so that powers of ten come out whole
    const Tensor exact = (x.cast(DType::f64).log() * 0.43429448190325182765).cast(t);
    return exact;
  });
}

Tensor Tensor::tan() const {
  return activation("tan", *this, [](const Tensor& x) { return x.sin() / x.cos(); });
}

Tensor Tensor::sinh() const {
  return activation("sinh", *this, [](const Tensor& x) {
    const Tensor m = x.expm1();  // exact near 0; (m + m / (m + 1)) / 2
    return where(m.detach().isinf(), m,
                 where(m.detach() == -1, -((-x).exp() / 2), (m + m / (m + 1)) / 2));
  });
}

Tensor Tensor::cosh() const {
  return activation("cosh", *this, [](const Tensor& x) { return (x.exp() + (-x).exp()) / 2; });
}

Tensor Tensor::frac() const { return *this - trunc(); }

Tensor Tensor::clamp(std::optional<Scalar> low, std::optional<Scalar> high) const {
  require_defined("clamp", *this);
  if (!low && !high) fail("clamp", "needs at least one bound");
  DType t = dtype();
  if (low) t = promote(t, result_type(*this, *low));
  if (high) t = promote(t, result_type(*this, *high));
  const Tensor x = cast(t);
  Tensor y = x;
  if (low) y = maximum(y, *low);
  if (high) y = minimum(y, *high);
  return with_gradient_of(y, [&] {  // both bounds pass the gradient, NaN does not
    Tensor inside = x == x;
    if (low) inside = inside.logical_and(x >= *low);
    if (high) inside = inside.logical_and(x <= *high);
    return where(inside, x, 0);
  });
}

Tensor Tensor::sigmoid() const {
  return activation("sigmoid", *this, [](const Tensor& x) {
    const Tensor e = decay(x);
    return where(x < 0, e, Scalar(1.0)) / (e + 1);
  });
}

Tensor Tensor::logsigmoid() const {
  return activation("logsigmoid", *this,
                    [](const Tensor& x) { return minimum(x, 0) - (-x.abs()).exp().log1p(); });
}

Tensor Tensor::relu() const {
  require_defined("relu", *this);
  if (dtype() == DType::boolean) fail("relu", "is not defined for bool");
  return where(*this <= 0, Scalar(0), *this);
}

Tensor Tensor::relu6() const { return hardtanh(0, 6); }

Tensor Tensor::leaky_relu(double slope) const {
  require_float("leaky_relu", *this);
  return where(*this > 0, *this, *this * slope);
}

Tensor Tensor::elu(double alpha) const {
  require_float("elu", *this);
  return in_f32(*this, [&](const Tensor& x) {
    return where(x > 0, x, where(x > 0, Scalar(0.0), x).expm1() * alpha);
  });
}

Tensor Tensor::selu() const {
  require_float("selu", *this);
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return in_f32(*this, [&](const Tensor& x) { return x.elu(kAlpha) * kScale; });
}

Tensor Tensor::celu(double alpha) const {
  require_float("celu", *this);
  return in_f32(*this, [&](const Tensor& x) {
    return where(x > 0, x, (where(x > 0, Scalar(0.0), x) / alpha).expm1() * alpha);
  });
}

Tensor Tensor::gelu(bool tanh_approximation) const {
  require_float("gelu", *this);
  return in_f32(*this, [&](const Tensor& x) {
    if (!tanh_approximation) return x * 0.5 * ((x * 0.70710678118654752440).erf() + 1);
    const Tensor inner = (x + x * x * x * 0.044715) * 0.79788456080286535588;
    return x * 0.5 * (inner.tanh() + 1);
  });
}

Tensor Tensor::silu() const {
  require_float("silu", *this);
  return in_f32(*this, [](const Tensor& x) { return x * x.sigmoid(); });
}

Tensor Tensor::mish() const {
  require_float("mish", *this);
  return in_f32(*this, [](const Tensor& x) { return x * x.softplus().tanh(); });
}

Tensor Tensor::softplus(double beta, double threshold) const {
  require_float("softplus", *this);
  return in_f32(*this, [&](const Tensor& x) {
    const Tensor z = x * beta;
    return where(z > threshold, x, (maximum(z, 0) + (-z.abs()).exp().log1p()) / beta);
  });
}

Tensor Tensor::softsign() const {
  require_float("softsign", *this);
  return in_f32(*this, [](const Tensor& x) { return x / (x.abs() + 1); });
}

Tensor Tensor::hardtanh(double low, double high) const {
  require_float("hardtanh", *this);
  const Tensor raised = where(*this <= low, Scalar(low), *this);  // no gradient on the bounds
  return where(*this >= high, Scalar(high), raised);
}

Tensor Tensor::hardsigmoid() const {
  require_float("hardsigmoid", *this);
  return in_f32(*this, [](const Tensor& x) { return (x + 3).hardtanh(0, 6) / 6; });
}

Tensor Tensor::hardswish() const {
  require_float("hardswish", *this);
  return in_f32(*this, [](const Tensor& x) {
    return where(x <= -3, x * 0, where(x < 3, x * (x + 3) / 6, x));
  });
}

}  // namespace tiny
