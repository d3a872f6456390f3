// SPDX-License-Identifier: MIT
// Gradients against central differences in f64, second derivatives, and what survives realizing.
#include <rt_tiny/frontend/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace tiny {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Tensor f64(const std::vector<double>& v, const Shape& s) { return Tensor::from(v, s); }

/// Numbers without order or ties, away from kinks.
Tensor sample(const Shape& shape, double phase = 0.3) {
  const int64_t n = Tensor::zeros(shape).numel();
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i)
    v.push_back(1.2 * std::sin(1.7 * static_cast<double>(i) + phase) + 0.05);
  return f64(v, shape);
}

/// d sum(fn(x) * weights) / dx by central differences.
std::vector<double> numeric(const Function& fn, const Tensor& x) {
  const std::vector<double> base = x.to_vector<double>();
  const auto at = [&](size_t i, double step) {
    std::vector<double> v = base;
    v[i] += step;
    return fn(f64(v, x.shape())).item<double>();
  };
  std::vector<double> result;
  const double h = 1e-5;
  for (size_t i = 0; i < base.size(); ++i) result.push_back((at(i, h) - at(i, -h)) / (2 * h));
  return result;
}

/// Weighs every element differently, so that a permuted gradient is noticed.
Tensor weigh(const Tensor& y) {
  return (y * Tensor::arange(1, y.numel() + 1, 1, DType::f64).reshape(y.shape())).sum();
}

void check_close(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-6));
}

void check_first_and_second(const std::string& name, const Function& fn, const Tensor& x) {
  INFO(name);
  const Function loss = [&](const Tensor& t) { return weigh(fn(t)); };
  check_close(grad(loss)(x).to_vector<double>(), numeric(loss, x));
  const Function slope = [&](const Tensor& t) { return weigh(grad(loss)(t)); };
  check_close(grad(slope)(x).to_vector<double>(), numeric(slope, x));
}

}  // namespace

TEST_CASE("first and second derivatives agree with differences", "[gradient]") {
  const Tensor x = sample({2, 3}), p = sample({2, 3}).abs() + 0.2;
  const Tensor image = sample({1, 2, 5, 4}), kernel = sample({2, 2, 3, 2}, 1.1);
  const std::pair<const char*, Function> smooth[] = {
      {"exp", [](const Tensor& t) { return t.exp(); }},
      {"exp2", [](const Tensor& t) { return t.exp2(); }},
      {"expm1", [](const Tensor& t) { return t.expm1(); }},
      {"sin", [](const Tensor& t) { return t.sin() * t.cos(); }},
      {"tanh", [](const Tensor& t) { return t.tanh(); }},
      {"erf", [](const Tensor& t) { return t.erf(); }},
      {"sigmoid", [](const Tensor& t) { return t.sigmoid(); }},
      {"gelu", [](const Tensor& t) { return t.gelu(); }},
      {"silu", [](const Tensor& t) { return t.silu(); }},
      {"softplus", [](const Tensor& t) { return t.softplus(); }},
      {"division", [](const Tensor& t) { return t / (t * t + 1); }},
      {"softmax", [](const Tensor& t) { return t.softmax(1); }},
      {"log_softmax", [](const Tensor& t) { return t.log_softmax(0); }},
      {"logsumexp", [](const Tensor& t) { return t.logsumexp(1); }},
      {"var", [](const Tensor& t) { return t.var(1); }},
      {"prod", [](const Tensor& t) { return t.prod(1); }},
      {"layer_norm", [](const Tensor& t) { return t.layer_norm({3}); }},
      {"matmul", [](const Tensor& t) { return t.matmul(t.t()); }},
      {"max", [](const Tensor& t) { return t.max(1).values.square(); }},
      {"amax", [](const Tensor& t) { return t.amax(0).square(); }},
      {"cumsum", [](const Tensor& t) { return t.cumsum(1).square(); }},
      {"pad, flip, slice",
       [](const Tensor& t) { return t.pad({{1, 0}, {0, 2}}).flip(0).slice(1, 0, 5, 2).square(); }},
      {"cat", [](const Tensor& t) { return cat({t, t * t}, 1); }},
      {"gather",
       [](const Tensor& t) { return t.gather(1, Tensor::of({{0, 0}, {2, 1}})).square(); }},
      {"scatter",
       [](const Tensor& t) {
         return t.scatter(1, Tensor::of({{1}, {0}}), t.slice(1, 2, 3)).square();
       }},
      {"scatter_add",
       [](const Tensor& t) {
         return t.scatter_add(0, Tensor::of({{1, 1, 0}}), t.square()).square();
       }},
  };
  for (const auto& [name, fn] : smooth) check_first_and_second(name, fn, x);
  const std::pair<const char*, Function> positive[] = {
      {"sqrt", [](const Tensor& t) { return t.sqrt(); }},
      {"rsqrt", [](const Tensor& t) { return t.rsqrt(); }},
      {"log", [](const Tensor& t) { return t.log(); }},
      {"log2", [](const Tensor& t) { return t.log2(); }},
      {"log1p", [](const Tensor& t) { return t.log1p(); }},
      {"pow", [](const Tensor& t) { return t.pow(t); }},
      {"pow 2.5", [](const Tensor& t) { return t.pow(2.5); }},
  };
  for (const auto& [name, fn] : positive) check_first_and_second(name, fn, p);
  check_first_and_second(
      "conv2d by image",
      [&](const Tensor& t) {
        return t.conv2d(kernel, {}, {.stride = {2, 1}, .padding = 1, .dilation = {1, 2}}).square();
      },
      image);
  check_first_and_second(
      "conv2d by weight", [&](const Tensor& t) { return image.conv2d(t).square(); }, kernel);
  check_first_and_second(
      "max_pool2d",
      [](const Tensor& t) {
        return t.max_pool2d({.kernel = 3, .stride = 2, .padding = 1}).square();
      },
      image);
  check_first_and_second(
      "avg_pool2d", [](const Tensor& t) { return t.avg_pool2d({.kernel = 2}).square(); }, image);
}

TEST_CASE("backward accumulates into leaves and into nothing else", "[gradient]") {
  const Tensor w = Tensor::of({1., 2.}).requires_grad_(), x = Tensor::of({3., 4.});
  const Tensor y = w * x;
  y.sum().backward();
  CHECK(w.grad().to_vector<float>() == std::vector<float>{3, 4});
  (w * w).sum().backward();
  CHECK(w.grad().to_vector<float>() == std::vector<float>{5, 8});
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(y.grad().defined());
  CHECK_FALSE(w.grad().requires_grad());
  Tensor(w).zero_grad();
  CHECK_FALSE(w.grad().defined());
}

TEST_CASE("reading the loss before backward does not cut the graph", "[gradient]") {
  const Tensor w = Tensor::of({1., 2.}).requires_grad_();
  const Tensor y = (w * w).realize();
  const Tensor loss = (y * 3).sum();
  CHECK(loss.item<float>() == 15);
  loss.backward();
  CHECK(w.grad().to_vector<float>() == std::vector<float>{6, 12});
}

TEST_CASE("a leaf is found after it was realized and after it was assigned", "[gradient]") {
  Tensor w = (Tensor::ones({2}) * 2).requires_grad_();
  const Tensor before = (w * w).sum();
  w.realize();
  {
    NoGrad no_grad;
    w.assign(w + 1);
  }
  const Tensor after = (w * w).sum();
  after.backward();
  CHECK(w.grad().to_vector<float>() == std::vector<float>{6, 6});
  before.backward();  // built from the old version
  CHECK(w.grad().to_vector<float>() == std::vector<float>{10, 10});
}

TEST_CASE("detach, NoGrad and comparisons stop gradients", "[gradient]") {
  const Tensor w = Tensor::of({2.}).requires_grad_();
  CHECK_FALSE(w.detach().requires_grad());
  CHECK_FALSE((w > 1).requires_grad());
  Tensor inside;
  {
    NoGrad no_grad;
    inside = w * 5;
  }
  CHECK_FALSE(inside.requires_grad());
  const Tensor y = w * 3;
  {
    NoGrad no_grad;
    inside = y * 2;  // y is interior: the graph behind it must stay out
  }
  (inside * w + y.detach() * w).sum().backward();
  CHECK(w.grad().item<float>() == 18);
}

TEST_CASE("grad finds interior tensors, realized or not", "[gradient]") {
  const Tensor w = Tensor::of({3.}).requires_grad_();
  const Tensor a = w * w, b = (a * 2).realize();
  const Tensor loss = (b * b).sum();
  const auto g = grad(loss, {a, b, w, Tensor::of({1.})});
  CHECK(g[0].item<float>() == 72);   // 2 b · 2
  CHECK(g[1].item<float>() == 36);   // 2 b
  CHECK(g[2].item<float>() == 432);  // 72 · 2 w
  CHECK(g[3].item<float>() == 0);
}

TEST_CASE("create_graph lets gradients be differentiated", "[gradient]") {
  const Tensor w = Tensor::of({2.}).requires_grad_();
  w.pow(3).sum().backward({.create_graph = true});
  const Tensor slope = w.grad();
  CHECK(slope.item<float>() == 12);
  CHECK(grad(slope.sum(), {w})[0].item<float>() == 12);
}

TEST_CASE("PyTorch's choices at ties and kinks", "[gradient]") {
  const auto slope = [](const Tensor& x, const Function& fn) {
    return grad(std::function<Tensor(const Tensor&)>([&](const Tensor& t) { return fn(t).sum(); }))(
               x)
        .to_vector<float>();
  };
  const Tensor ties = Tensor::of({1., 3., 3., 0.});
  CHECK(slope(ties, [](const Tensor& t) { return t.amax(); }) ==
        std::vector<float>{0, 0.5, 0.5, 0});
  CHECK(slope(ties, [](const Tensor& t) { return t.max(0).values; }) ==
        std::vector<float>{0, 1, 0, 0});
  CHECK(slope(Tensor::of({0.}), [](const Tensor& t) { return t.relu(); })[0] == 0);
  CHECK(slope(Tensor::of({0.}), [](const Tensor& t) { return t.abs(); })[0] == 0);
  CHECK(slope(Tensor::of({1.}), [](const Tensor& t) { return maximum(t, Tensor::of({1.})); })[0] ==
        0.5f);
  CHECK(slope(Tensor::of({1.}), [](const Tensor& t) { return t.clamp(-1, 1); })[0] == 1);
  CHECK(slope(Tensor::of({0., 2.}), [](const Tensor& t) { return t.prod(); }) ==
        std::vector<float>{2, 0});
  const auto flat = slope(Tensor::of({-100., 100.}), [](const Tensor& t) { return t.sigmoid(); });
  CHECK(flat[0] == Approx(0).margin(1e-40));
  CHECK(flat[1] == Approx(0).margin(1e-40));
}

}  // namespace tiny
