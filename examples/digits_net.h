// SPDX-License-Identifier: MIT
// The network of examples/digits; bench/fusion counts the kernels of its training step.
#pragma once

#include <rt_tiny/rt_tiny.h>

namespace examples {

/// 8×8 grey digits to 10 classes.
struct DigitsNet {
  tiny::nn::Conv2d conv1{1, 16, 3, {.padding = 1}}, conv2{16, 32, 3, {.padding = 1}};
  tiny::nn::Linear classes{32 * 4 * 4, 10};

  tiny::Tensor operator()(const tiny::Tensor& x) const {
    const tiny::Tensor features = conv2(conv1(x).relu()).relu().max_pool2d({.kernel = 2});
    return classes(features.flatten(1));
  }
  tiny::nn::NamedTensors state() const {
    return tiny::nn::named("conv1", conv1, "conv2", conv2, "classes", classes);
  }
};

inline constexpr double kDigitsRate = 5e-3;
inline constexpr int64_t kDigitsBatch = 64;

}  // namespace examples
