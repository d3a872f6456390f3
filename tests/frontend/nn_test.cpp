// SPDX-License-Identifier: MIT
// Layers, training mode, named parameters, and optimizers around a whole training step.
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>
#include <rt_tiny/frontend/random.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace tiny {
namespace {

struct Net {
  nn::Linear l1{2, 8}, l2{8, 2};
  Tensor operator()(const Tensor& x) const { return l2(l1(x).tanh()); }
  auto parameters() { return nn::parameters(l1, l2); }
  nn::NamedTensors state() const { return nn::named("l1", l1, "l2", l2); }
};

std::vector<std::string> names(const nn::NamedTensors& state) {
  std::vector<std::string> result;
  for (const auto& entry : state) result.push_back(entry.first);
  return result;
}

}  // namespace

TEST_CASE("layers start as PyTorch's do: uniform within 1 / sqrt(fan in)", "[nn]") {
  manual_seed(1);
  const nn::Linear linear(100, 50);
  const nn::Conv2d conv(4, 8, {3, 3}, {.groups = 2});
  CHECK(linear.weight.shape() == Shape{50, 100});
  CHECK(conv.weight.shape() == Shape{8, 2, 3, 3});
  CHECK(linear.weight.abs().max().item<float>() <= 0.1f);
  CHECK(linear.weight.abs().max().item<float>() > 0.09f);
  CHECK(linear.bias.abs().max().item<float>() <= 0.1f);
  CHECK(conv.weight.abs().max().item<double>() <= 1 / std::sqrt(18.0));
  CHECK(conv.weight.abs().max().item<double>() > 0.8 / std::sqrt(18.0));
  CHECK(linear.weight.requires_grad());
  const nn::Embedding table(200, 20);
  CHECK(table.weight.std().item<double>() == Approx(1).margin(0.05));
  CHECK(table(Tensor::of({{3, 4}, {5, 3}})).shape() == Shape{2, 2, 20});
}

TEST_CASE("parameters and names follow the order they are given in", "[nn]") {
  Net net;
  CHECK(net.parameters().size() == 4);
  CHECK(names(net.state()) ==
        std::vector<std::string>{"l1.weight", "l1.bias", "l2.weight", "l2.bias"});
  const nn::BatchNorm2d norm(3);
  CHECK(nn::parameters(norm).size() == 2);
  const std::vector<nn::Linear> stack{nn::Linear(1, 1, false), nn::Linear(1, 1, false)};
  CHECK(names(nn::named("net", net, "stack", stack, "norm", norm)) ==
        std::vector<std::string>{"net.l1.weight", "net.l1.bias", "net.l2.weight", "net.l2.bias",
                                 "stack.0.weight", "stack.1.weight", "norm.weight", "norm.bias",
                                 "norm.running_mean", "norm.running_var",
                                 "norm.num_batches_tracked"});
  const Tensor bare = Tensor::ones({2}).requires_grad_();
  CHECK(nn::parameters(net, bare, stack).size() == 7);
}

TEST_CASE("load_state assigns by name, or nothing at all", "[nn]") {
  Net a, b;
  const nn::NamedTensors state = a.state();
  nn::load_state(b.state(), {state.begin(), state.end()});
  const Tensor x = Tensor::of({{1., 2.}});
  CHECK(a(x).to_vector<float>() == b(x).to_vector<float>());
  CHECK(b.l1.weight.requires_grad());
  const auto before = b.l1.weight.to_vector<float>();
  CHECK_THROWS_WITH(nn::load_state(b.state(), {{"l1.weight", Tensor::zeros({8, 2})}}),
                    "[load_state] \"l1.bias\" is missing");
  std::map<std::string, Tensor> wrong{state.begin(), state.end()};
  wrong["l2.bias"] = Tensor::zeros({3});
  CHECK_THROWS_WITH(nn::load_state(b.state(), wrong),
                    "[load_state] \"l2.bias\" has shape (3,) but the model wants (2,)");
  CHECK(b.l1.weight.to_vector<float>() == before);
}

TEST_CASE("training mode is scoped and dropout asks for it", "[nn]") {
  const nn::Dropout dropout(0.5);
  const Tensor x = Tensor::ones({1000});
  CHECK_FALSE(nn::is_training());
  CHECK(dropout(x).sum().item<float>() == 1000);
  {
    const nn::Training training;
    CHECK(nn::is_training());
    CHECK((dropout(x) == 0).sum().item<int>() > 350);
    {
      const nn::Training evaluating(false);
      CHECK_FALSE(nn::is_training());
    }
    CHECK(nn::is_training());
  }
  CHECK_FALSE(nn::is_training());
}

TEST_CASE("batch norm learns its statistics only while training", "[nn]") {
  const nn::BatchNorm2d norm(2);
  const Tensor x = Tensor::arange(16, DType::f32).reshape({2, 2, 2, 2});
  norm(x).realize();
  CHECK(norm.running_mean.to_vector<float>() == std::vector<float>{0, 0});
  const nn::Training training;
  norm(x).realize();
  const auto mean = norm.running_mean.to_vector<double>();
  CHECK(mean[0] == Approx(0.55));  // a tenth of 5.5
  CHECK(mean[1] == Approx(0.95));
  CHECK(norm.num_batches_tracked.item<int>() == 1);
}

TEST_CASE("a training loop learns xor", "[nn]") {
  manual_seed(5);
  const Tensor x = Tensor::of({{0., 0.}, {0., 1.}, {1., 0.}, {1., 1.}}),
               y = Tensor::of({0, 1, 1, 0});
  Net net;
  optim::Adam optimizer{net.parameters(), {.lr = 0.05f}};
  float first = 0, last = 0;
  for (int i = 0; i < 120; ++i) {
    const Tensor loss = net(x).cross_entropy(y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    CHECK(loss.is_realized());  // computed with the step, not again from old parameters
    last = loss.item<float>();
    if (i == 0) first = last;
  }
  CHECK(first > 0.5f);
  CHECK(last < 0.05f);
  CHECK(net(x).argmax(1).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 1, 0});
}

TEST_CASE("an optimizer leaves parameters without gradient alone", "[optim]") {
  const Tensor used = Tensor::ones({2}).requires_grad_(),
               unused = Tensor::ones({2}).requires_grad_();
  optim::SGD optimizer{{used, unused}, {.lr = 0.5}};
  used.sum().backward();
  optimizer.step();
  CHECK(used.to_vector<float>() == std::vector<float>{0.5f, 0.5f});
  CHECK(unused.to_vector<float>() == std::vector<float>{1, 1});
  CHECK(used.requires_grad());
  CHECK(used.is_realized());
}

TEST_CASE("an optimizer's step is seen by the layer that owns the parameter", "[optim]") {
  nn::Linear layer(1, 1, false);
  const float before = layer.weight.item<float>();
  optim::SGD optimizer{nn::parameters(layer), {.lr = 1}};
  layer(Tensor::of({{2.}})).sum().backward();
  optimizer.step();
  CHECK(layer.weight.item<float>() == Approx(before - 2));
}

}  // namespace tiny
