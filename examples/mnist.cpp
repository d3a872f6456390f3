// SPDX-License-Identifier: MIT
// Trains a convolutional network on MNIST, or on Fashion-MNIST, whose files look the same.
#include "examples/training_program.h"

using namespace tiny;

namespace {

/// 28×28 grey images to 10 classes.
struct Net {
  nn::Conv2d conv1{1, 16, 5}, conv2{16, 32, 5};
  nn::Linear classes{32 * 4 * 4, 10};

  Tensor operator()(const Tensor& x) const {
    const Tensor small = conv1(x).relu().max_pool2d({.kernel = 2});
    return classes(conv2(small).relu().max_pool2d({.kernel = 2}).flatten(1));
  }
  nn::NamedTensors state() const {
    return nn::named("conv1", conv1, "conv2", conv2, "classes", classes);
  }
};

struct Options {
  examples::RunOptions run;
  int64_t limit = 0;
  double rate = 1e-3;
  std::string data;
};

data::Dataset first(const data::Dataset& set, int64_t limit) {
  const int64_t count = set.labels.numel();
  const Slice rows{0, limit > 0 ? std::min(limit, count) : count};
  return {.images = set.images[rows], .labels = set.labels[rows]};
}

void train_mnist(const Options& options) {
  examples::begin(options.run);
  const data::Dataset seen = first(data::mnist(options.data, data::train), options.limit);
  const data::Dataset unseen = first(data::mnist(options.data, data::test), options.limit);
  realize({seen.images, seen.labels, unseen.images, unseen.labels});
  const Net net;
  optim::Adam adam{nn::parameters(net), {.lr = options.rate}};
  const auto report = examples::train(net, adam, seen, options.run.training);
  examples::finish(options.run, net, report, unseen);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.run.training = {.epochs = 4, .batch = 128};
  CLI::App app{"Trains a convolutional network on MNIST or Fashion-MNIST", "mnist"};
  app.add_option("--data", options.data, "folder with the four files; default TINY_DATA");
  app.add_option("--rate", options.rate, "the optimizer's step size")->check(CLI::PositiveNumber);
  app.add_option("--limit", options.limit, "use only the first N images; 0 uses all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  examples::add_options(app, options.run);
  return examples::run(app, argc, argv, [&] { train_mnist(options); });
}
