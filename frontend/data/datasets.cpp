// SPDX-License-Identifier: MIT
// From bytes to tensors: scale the pixels, widen the labels.
#include <rt_tiny/frontend/data/datasets.h>

#include "frontend/data/raw_dataset.h"

#include <array>

namespace tiny::data {
namespace {

std::vector<float> scaled(const RawDataset& raw) {
  std::array<float, 256> value{};
  for (size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<float>(i) / static_cast<float>(raw.max_pixel);
  std::vector<float> pixels(raw.images.size());
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = value[raw.images[i]];
  return pixels;
}

Dataset to_tensors(const RawDataset& raw) {
  const auto [count, height, width] = raw.shape;
  const std::vector<int64_t> labels(raw.labels.begin(), raw.labels.end());
  return {.images = Tensor::from(scaled(raw), Shape{count, 1, height, width}),
          .labels = Tensor::from(labels)};
}

}  // namespace

Dataset digits(Split split) { return to_tensors(raw_digits(split)); }

Dataset mnist(const std::string& dir, Split split) {
  return to_tensors(raw_mnist(kMnist, dir, split));
}

Dataset fashion_mnist(const std::string& dir, Split split) {
  return to_tensors(raw_mnist(kFashionMnist, dir, split));
}

}  // namespace tiny::data
