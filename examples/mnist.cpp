// SPDX-License-Identifier: MIT
// Trains a convolutional network on MNIST, or on Fashion-MNIST, whose files look the same.
#include "examples/command_line.h"
#include "examples/training.h"

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
  examples::TrainingOptions training{.epochs = 4, .batch = 128};
  uint64_t seed = 1;
  int64_t limit = 0;
  double rate = 1e-3;
  std::string data, out, device;
};

data::Dataset first(const data::Dataset& set, int64_t limit) {
  const int64_t count = set.labels.numel();
  const Slice rows{0, limit > 0 ? std::min(limit, count) : count};
  return {.images = set.images[rows], .labels = set.labels[rows]};
}

void train_mnist(const Options& options) {
  examples::choose_device(options.device);
  if (!options.out.empty()) examples::require_writable(options.out);
  const data::Dataset seen = first(data::mnist(options.data, data::train), options.limit);
  const data::Dataset unseen = first(data::mnist(options.data, data::test), options.limit);
  realize({seen.images, seen.labels, unseen.images, unseen.labels});
  examples::print_device();
  manual_seed(options.seed);
  const Net net;
  optim::Adam adam{nn::parameters(net), {.lr = options.rate}};
  const auto report = examples::train(net, adam, seen, options.training);
  examples::print_report(report, examples::accuracy(net, unseen));
  if (options.out.empty()) return;
  const nn::NamedTensors state = net.state();
  save_safetensors(options.out, {state.begin(), state.end()});
  fmt::print("weights {}\n", options.out);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains a convolutional network on MNIST or Fashion-MNIST", "mnist"};
  app.add_option("--data", options.data, "folder with the four files; default TINY_DATA");
  app.add_option("--epochs", options.training.epochs, "times through the training images")
      ->check(CLI::Range(1, 10000));
  app.add_option("--batch", options.training.batch, "images a step")->check(CLI::Range(1, 1 << 20));
  app.add_option("--rate", options.rate, "the optimizer's step size")->check(CLI::PositiveNumber);
  app.add_option("--limit", options.limit, "use only the first N images; 0 uses all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  app.add_option("--seed", options.seed, "of the random numbers")->check(CLI::NonNegativeNumber);
  app.add_option("--out", options.out, "where the weights go; default nowhere");
  app.add_option("--device", options.device, "as DEV: CPU, NULL, …");
  return examples::run(app, argc, argv, [&] { train_mnist(options); });
}
