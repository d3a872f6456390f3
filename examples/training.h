// SPDX-License-Identifier: MIT
// What the training examples share: a step, the loop over epochs, and the judging afterwards.
#pragma once

#include "examples/progress.h"

#include <rt_tiny/rt_tiny.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace examples {

/// One optimizer step on a batch; returns its loss.
template <class Net>
tiny::Tensor train_on(const Net& net, tiny::optim::Optimizer& optimizer, const tiny::Tensor& images,
                      const tiny::Tensor& labels) {
  const tiny::nn::Training training;
  const tiny::Tensor loss = net(images).cross_entropy(labels);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss;
}

struct TrainingOptions {
  int64_t epochs = 1, batch = 64;
  int64_t steps = 0;    ///< the most that are taken; 0: as many as the epochs have
  bool losses = false;  ///< one line a step, with all digits of the loss
};
struct TrainingReport {
  size_t kernels = 0;    ///< of one replayed step; 0 when nothing was replayed (JIT=0)
  double ms_a_step = 0;  ///< compiling left out, unless there was nothing else
};

/// Shuffles each epoch; what does not fill a batch waits for the next epoch.
template <class Net>
TrainingReport train(const Net& net, tiny::optim::Optimizer& optimizer,
                     const tiny::data::Dataset& set, const TrainingOptions& options) {
  using Clock = std::chrono::steady_clock;
  const int64_t count = set.labels.numel(), steps = count / options.batch;
  if (steps == 0)
    throw tiny::UsageError(
        fmt::format("[train] a batch of {} from {} images", options.batch, count));
  auto step = tiny::jit([&](const tiny::Tensor& pick) {
    return train_on(net, optimizer, set.images.take(pick), set.labels.take(pick));
  });
  // The first call runs eagerly and the second one traces: both compile.
  constexpr int64_t kWarmUp = 2;
  const int64_t limit =
      options.steps > 0 ? std::min(options.steps, options.epochs * steps) : options.epochs * steps;
  const int64_t timed_from = limit > kWarmUp ? kWarmUp : 0;
  int64_t done = 0;
  Clock::duration spent{};
  for (int64_t epoch = 1; epoch <= options.epochs && done < limit; ++epoch) {
    Progress bar(fmt::format("epoch {}/{}", epoch, options.epochs), steps);
    const tiny::Tensor order = tiny::Tensor::randperm(count);
    Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < steps && done < limit; ++i, ++done) {
      const tiny::Tensor loss =
          step(order[tiny::Slice{i * options.batch, (i + 1) * options.batch}]);
      if (options.losses) fmt::print("step {} loss {}\n", done + 1, loss.template item<float>());
      bar.step([&] { return fmt::format("loss {:.4f}", loss.template item<float>()); });
      if (done + 1 == timed_from) {
        loss.realize();
        start = Clock::now();
      }
    }
    spent += Clock::now() - start;
  }
  const double ms = std::chrono::duration<double, std::milli>(spent).count();
  return {step.kernel_count(), ms / static_cast<double>(done - timed_from)};
}

/// Percent of the images whose class the network gets right.
template <class Net>
double accuracy(const Net& net, const tiny::data::Dataset& set, int64_t batch = 1000) {
  const tiny::NoGrad no_grad;
  auto hits = tiny::jit([&](const tiny::Tensor& images, const tiny::Tensor& labels) {
    return (net(images).argmax(1) == labels).sum();
  });
  const int64_t count = set.labels.numel();
  int64_t right = 0;
  for (int64_t i = 0; i < count; i += batch) {
    const tiny::Slice rows{i, std::min(i + batch, count)};
    right += hits(set.images[rows], set.labels[rows]).template item<int64_t>();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(std::max<int64_t>(count, 1));
}

inline void print_device() {
  const auto device = tiny::default_device();
  fmt::print("device {} ({})\n", device->name(), device->description());
  std::fflush(stdout);
}

inline void print_report(const TrainingReport& report, double percent) {
  fmt::print("kernels a step {}\n",
             report.kernels > 0 ? std::to_string(report.kernels) : "- (JIT=0)");
  fmt::print("ms a step {:.2f}\naccuracy {:.1f}\n", report.ms_a_step, percent);
}

}  // namespace examples
