// SPDX-License-Identifier: MIT
#include <rt_tiny/frontend/nn/nn.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "frontend/cell.h"

namespace tiny::nn {

using tiny::detail::fail;

namespace {

thread_local bool training = false;

/// Drawn once, together with the other layers' numbers, not again wherever it is read.
Tensor parameter(Tensor drawn) {
  drawn.requires_grad_();
  tiny::detail::store_with_next_realize(drawn);
  return drawn;
}

/// PyTorch's default: kaiming uniform with a = √5, which is uniform within ±1/√fan_in.
Tensor initial(const Shape& shape, int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return parameter(Tensor::uniform(shape, -bound, bound));
}

void require_positive(std::string_view layer, std::initializer_list<int64_t> sizes) {
  for (int64_t n : sizes)
    if (n < 1) fail(layer, fmt::format("size {} is not positive", n));
}

/// Stored at once: an assigned statistic must be memory, so that jit sees it as state.
Tensor stored(const Shape& shape, float v) {
  return Tensor::from(
      std::vector<float>(static_cast<size_t>(tiny::detail::element_count(shape)), v), shape);
}

NamedTensors defined_only(NamedTensors all) {
  std::erase_if(all, [](const auto& entry) { return !entry.second.defined(); });
  return all;
}

}  // namespace

Training::Training(bool on) : before_(training) { training = on; }
Training::~Training() { training = before_; }
bool is_training() { return training; }

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  require_positive("Linear", {in, out});
  weight = initial({out, in}, in);
  if (with_bias) bias = initial({out}, in);
}
NamedTensors Linear::state() const { return defined_only({{"weight", weight}, {"bias", bias}}); }

Conv2d::Conv2d(int64_t in, int64_t out, Pair kernel, ConvOptions o, bool with_bias) : options(o) {
  require_positive("Conv2d", {in, out, kernel.h, kernel.w, o.groups});
  if (in % o.groups != 0 || out % o.groups != 0)
    fail("Conv2d",
         fmt::format("{} and {} channels do not split into {} groups", in, out, o.groups));
  const int64_t fan_in = in / o.groups * kernel.h * kernel.w;
  weight = initial({out, in / o.groups, kernel.h, kernel.w}, fan_in);
  if (with_bias) bias = initial({out}, fan_in);
}
NamedTensors Conv2d::state() const { return defined_only({{"weight", weight}, {"bias", bias}}); }

BatchNorm2d::BatchNorm2d(int64_t channels, double eps, double m, bool affine)
    : epsilon(eps), momentum(m) {
  require_positive("BatchNorm2d", {channels});
  if (affine) {
    weight = stored({channels}, 1).requires_grad_();
    bias = stored({channels}, 0).requires_grad_();
  }
  running_mean = stored({channels}, 0);
  running_var = stored({channels}, 1);
  num_batches_tracked = Tensor::from(std::vector<int64_t>{0}, Shape{});
}

Tensor BatchNorm2d::operator()(const Tensor& x) const {
  if (!x.defined() || x.ndim() != 4)
    fail("BatchNorm2d", "input must be (N, C, H, W), got " +
                            (x.defined() ? tiny::detail::text(x.shape()) : "nothing"));
  if (!is_training()) return x.batch_norm(running_mean, running_var, weight, bias, epsilon);
  const Tensor wide = x.dtype() == DType::f64 ? x : x.cast(DType::f32);
  const Tensor mean = wide.mean({0, 2, 3}), off = wide - mean.reshape({1, -1, 1, 1});
  const Tensor variance = (off * off).mean({0, 2, 3});
  const double n = static_cast<double>(x.numel() / std::max<int64_t>(1, x.dim(1)));
  if (x.numel() > 0 && n < 2)
    fail("BatchNorm2d",
         "training needs more than one value per channel, got " + tiny::detail::text(x.shape()));
  {
    NoGrad no_grad;
    const auto blend = [&](Tensor running, const Tensor& batch) {
      running.assign(running * (1 - momentum) + batch.detach() * momentum);
    };
    blend(running_mean, mean);
    blend(running_var, variance * (n / (n - 1)));
    Tensor count = num_batches_tracked;
    count.assign(count + 1);
  }
  return x.batch_norm(mean, variance, weight, bias, epsilon);
}

NamedTensors BatchNorm2d::state() const {
  return defined_only({{"weight", weight},
                       {"bias", bias},
                       {"running_mean", running_mean},
                       {"running_var", running_var},
                       {"num_batches_tracked", num_batches_tracked}});
}

LayerNorm::LayerNorm(Shape shape, double eps, bool affine)
    : normalized(std::move(shape)), epsilon(eps) {
  for (int64_t n : normalized) require_positive("LayerNorm", {n});
  if (!affine) return;
  weight = stored(normalized, 1).requires_grad_();
  bias = stored(normalized, 0).requires_grad_();
}
NamedTensors LayerNorm::state() const { return defined_only({{"weight", weight}, {"bias", bias}}); }

Embedding::Embedding(int64_t count, int64_t width) {
  require_positive("Embedding", {count, width});
  weight = parameter(Tensor::randn({count, width}));
}
NamedTensors Embedding::state() const { return {{"weight", weight}}; }

Dropout::Dropout(double probability) : p(probability) {
  if (!(p >= 0 && p <= 1)) fail("Dropout", fmt::format("probability {} is outside [0, 1]", p));
}

void append_parameters(std::vector<Tensor>& out, const NamedTensors& state) {
  for (const auto& [name, tensor] : state)
    if (tensor.defined() && tensor.requires_grad()) out.push_back(tensor);
}

void append_named(NamedTensors& out, std::string_view prefix, const NamedTensors& state) {
  for (const auto& [name, tensor] : state) {
    if (!tensor.defined()) continue;
    const bool joins = !prefix.empty() && !name.empty();
    out.emplace_back(std::string(prefix) + (joins ? "." : "") + name, tensor);
  }
}

void load_state(const NamedTensors& into, const std::map<std::string, Tensor>& from) {
  for (const auto& [name, tensor] : into) {
    const auto it = from.find(name);
    if (it == from.end()) fail("load_state", fmt::format("\"{}\" is missing", name));
    if (it->second.shape() != tensor.shape())
      fail("load_state",
           fmt::format("\"{}\" has shape {} but the model wants {}", name,
                       tiny::detail::text(it->second.shape()), tiny::detail::text(tensor.shape())));
  }
  NoGrad no_grad;
  for (const auto& [name, tensor] : into) {
    Tensor target = tensor;
    target.assign(from.at(name));
  }
}

}  // namespace tiny::nn
