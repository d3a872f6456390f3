// SPDX-License-Identifier: MIT
// Trains a small convolutional network on the handwritten digits that are part of the library, and
// judges it by every fifth one, which it never saw.
#include "examples/digits_net.h"
#include "examples/training_program.h"

using namespace tiny;

namespace {

void train_digits(const examples::RunOptions& options) {
  examples::begin(options);
  const examples::DigitsNet net;
  optim::Adam adam{nn::parameters(net), {.lr = examples::kDigitsRate}};
  const auto report = examples::train(net, adam, data::digits(data::train), options.training);
  examples::finish(options, net, report, data::digits(data::test));
}

}  // namespace

int main(int argc, char** argv) {
  examples::RunOptions options;
  options.training = {.epochs = 12, .batch = examples::kDigitsBatch};
  options.out = "digits.safetensors";
  CLI::App app{"Trains a small convolutional network on handwritten digits", "digits"};
  examples::add_options(app, options);
  return examples::run(app, argc, argv, [&] { train_digits(options); });
}
