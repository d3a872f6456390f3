// SPDX-License-Identifier: MIT
// How many kernels a replay of well-known graphs takes, one line each: `name kernels`. Compiled for
// the NULL device unless DEV says otherwise, so nothing runs and the numbers do not depend on time.
//   fusion [NAME…]   only these graphs
//   fusion --check   also fails where a count that must hold does not
#include <rt_tiny/rt_tiny.h>

#include "examples/digits_net.h"
#include "examples/training.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace tiny;

namespace {

/// Kernels of one replay: the first call is eager, the second one traces and replays.
template <class F, class... Inputs>
size_t kernels(F fn, const Inputs&... inputs) {
  auto jitted = jit(std::move(fn));
  jitted(inputs...);
  jitted(inputs...);
  return jitted.kernel_count();
}

Tensor floats(const Shape& shape) { return Tensor::zeros(shape).contiguous().realize(); }
Tensor integers(int64_t count) { return Tensor::zeros({count}, DType::i64).contiguous().realize(); }

size_t softmax() {
  return kernels([](const Tensor& x) { return x.softmax(-1); }, floats({256, 1000}));
}

size_t layernorm() {
  const nn::LayerNorm norm{{768}};
  return kernels([&](const Tensor& x) { return norm(x); }, floats({512, 768}));
}

size_t cross_entropy() {
  return kernels([](const Tensor& x, const Tensor& y) { return x.cross_entropy(y); },
                 floats({256, 1000}), integers(256));
}

size_t linear_relu() {
  const nn::Linear linear{784, 128};
  realize(nn::parameters(linear));  // a fresh layer's random numbers are not what is counted
  return kernels([&](const Tensor& x) { return linear(x).relu(); }, floats({128, 784}));
}

/// One layer's heads: (batch, heads, tokens, width).
size_t attention() {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return (q.matmul(k.t()) * 0.125).softmax(-1).matmul(v);
  };
  const Shape heads{2, 8, 128, 64};
  return kernels(attend, floats(heads), floats(heads), floats(heads));
}

/// Of a two-layer network's four parameters, their gradients given.
size_t adam_step() {
  const nn::Linear l1{784, 128}, l2{128, 10};
  const std::vector<Tensor> parameters = nn::parameters(l1, l2);
  optim::Adam adam{parameters};
  for (Tensor p : parameters) p.set_grad(floats(p.shape()));
  return kernels([&] { adam.step(); });
}

/// As examples/digits replays it, without the choice of the batch.
size_t digits_train_step() {
  const examples::DigitsNet net;
  optim::Adam adam{nn::parameters(net), {.lr = examples::kDigitsRate}};
  return kernels(
      [&](const Tensor& x, const Tensor& y) { return examples::train_on(net, adam, x, y); },
      floats({examples::kDigitsBatch, 1, 8, 8}), integers(examples::kDigitsBatch));
}

/// The network of tinygrad's examples/beautiful_mnist.py.
struct MnistNet {
  nn::Conv2d c1{1, 32, 5}, c2{32, 32, 5}, c3{32, 64, 3}, c4{64, 64, 3};
  nn::BatchNorm2d n1{32}, n2{64};
  nn::Linear classes{576, 10};

  Tensor operator()(const Tensor& x) const {
    const Tensor half = n1(c2(c1(x).relu()).relu()).max_pool2d({.kernel = 2});
    return classes(n2(c4(c3(half).relu()).relu()).max_pool2d({.kernel = 2}).flatten(1));
  }
  nn::NamedTensors state() const {
    return nn::named("c1", c1, "c2", c2, "n1", n1, "c3", c3, "c4", c4, "n2", n2, "classes",
                     classes);
  }
};

size_t mnist_train_step() {
  constexpr int64_t kBatch = 512;
  const MnistNet net;
  optim::Adam adam{nn::parameters(net)};
  return kernels(
      [&](const Tensor& x, const Tensor& y) { return examples::train_on(net, adam, x, y); },
      floats({kBatch, 1, 28, 28}), integers(kBatch));
}

struct Graph {
  const char* name;
  size_t (*count)();
  std::optional<size_t> required = {};  ///< for --check
};
constexpr Graph kGraphs[] = {
    {"softmax", softmax, 1},
    {"layernorm", layernorm, 1},
    {"cross_entropy", cross_entropy},
    {"linear_relu", linear_relu, 1},
    {"attention", attention},
    {"adam_step", adam_step},
    {"digits_train_step", digits_train_step},
    {"mnist_train_step", mnist_train_step},
};

struct Options {
  bool check = false;
  std::set<std::string> names;
};

Options parse(int argc, char** argv) {
  Options options;
  std::set<std::string> known;
  for (const Graph& graph : kGraphs) known.insert(graph.name);
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--check")
      options.check = true;
    else if (known.contains(text))
      options.names.insert(text);
    else
      throw UsageError(
          fmt::format("unknown argument \"{}\"; usage: fusion [--check] [NAME…]", text));
  }
  return options;
}

int run(const Options& options) {
  int status = 0;
  for (const Graph& graph : kGraphs) {
    if (!options.names.empty() && !options.names.contains(graph.name)) continue;
    const size_t count = graph.count();
    fmt::print("{} {}\n", graph.name, count);
    std::fflush(stdout);
    if (!options.check || !graph.required || count == *graph.required) continue;
    fmt::print(stderr, "fusion: {} takes {} kernels instead of {}\n", graph.name, count,
               *graph.required);
    status = 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("DEV", "NULL", 0);  // only where DEV is not set
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "fusion: {}\n", e.what());
    return dynamic_cast<const UsageError*>(&e) ? 2 : 1;
  }
}
