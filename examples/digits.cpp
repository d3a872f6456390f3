// SPDX-License-Identifier: MIT
// Trains a small convolutional network on the handwritten digits that are part of the library, and
// judges it by every fifth one, which it never saw.
#include "examples/command_line.h"
#include "examples/digits_net.h"
#include "examples/training.h"

using namespace tiny;

namespace {

struct Options {
  examples::TrainingOptions training{.epochs = 12, .batch = examples::kDigitsBatch};
  uint64_t seed = 1;
  std::string out = "digits.safetensors", device;
};

void train_digits(const Options& options) {
  examples::choose_device(options.device);
  examples::require_writable(options.out);
  examples::print_device();
  manual_seed(options.seed);
  const examples::DigitsNet net;
  optim::Adam adam{nn::parameters(net), {.lr = examples::kDigitsRate}};
  const auto report = examples::train(net, adam, data::digits(data::train), options.training);
  examples::print_report(report, examples::accuracy(net, data::digits(data::test)));
  const nn::NamedTensors state = net.state();
  save_safetensors(options.out, {state.begin(), state.end()});
  fmt::print("weights {}\n", options.out);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains a small convolutional network on handwritten digits", "digits"};
  app.add_option("--epochs", options.training.epochs, "times through the training images")
      ->check(CLI::Range(1, 10000));
  app.add_option("--batch", options.training.batch, "images a step")->check(CLI::Range(1, 1 << 20));
  app.add_option("--seed", options.seed, "of the random numbers")->check(CLI::NonNegativeNumber);
  app.add_option("--out", options.out, "where the weights go");
  app.add_option("--device", options.device, "as DEV: CPU, NULL, …");
  return examples::run(app, argc, argv, [&] { train_digits(options); });
}
