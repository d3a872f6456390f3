// SPDX-License-Identifier: MIT
// What the training programs share around the training: their options, and what becomes of the
// result.
#pragma once

#include "examples/command_line.h"
#include "examples/training.h"

#include <string>

namespace examples {

/// What both training programs are told.
struct RunOptions {
  TrainingOptions training;
  uint64_t seed = 1;
  std::string out, device;  ///< out: where the weights go; empty keeps them nowhere
};

inline void add_options(CLI::App& app, RunOptions& options) {
  app.add_option("--epochs", options.training.epochs, "times through the training images")
      ->check(CLI::Range(1, 10000));
  app.add_option("--batch", options.training.batch, "images a step")->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", options.training.steps, "stop after so many steps; 0 does not")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--losses", options.training.losses, "print the loss of every step");
  app.add_option("--seed", options.seed, "of the random numbers")->check(CLI::NonNegativeNumber);
  app.add_option("--out", options.out,
                 "where the weights go; default " +
                     (options.out.empty() ? std::string("nowhere") : options.out));
  app.add_option("--device", options.device, "as DEV: CPU, NULL, …");
}

/// To be called before the library is used otherwise.
inline void begin(const RunOptions& options) {
  choose_device(options.device);
  if (!options.out.empty()) require_writable(options.out);
  print_device();
  tiny::manual_seed(options.seed);
}

/// Judges the network by images it never saw, and keeps its weights.
template <class Net>
void finish(const RunOptions& options, const Net& net, const TrainingReport& report,
            const tiny::data::Dataset& unseen) {
  print_report(report, accuracy(net, unseen));
  if (options.out.empty()) return;
  const tiny::nn::NamedTensors state = net.state();
  tiny::save_safetensors(options.out, {state.begin(), state.end()});
  fmt::print("weights {}\n", options.out);
}

}  // namespace examples
