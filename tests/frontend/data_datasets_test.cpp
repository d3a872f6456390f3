// SPDX-License-Identifier: MIT
// Data sets as tensors: shapes, types, ranges and the split.
#include <rt_tiny/frontend/data/datasets.h>
#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

using namespace tiny;

TEST_CASE("digits are images in [0, 1] with i64 labels, a fifth of them held out") {
  for (const auto& [split, count] : {std::pair(data::train, 1437), std::pair(data::test, 360)}) {
    const auto [images, labels] = data::digits(split);
    CHECK(images.shape() == Shape{count, 1, 8, 8});
    CHECK(images.dtype() == DType::f32);
    CHECK(labels.shape() == Shape{count});
    CHECK(labels.dtype() == DType::i64);
    const auto pixels = images.to_vector<float>();
    const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
    CHECK(*low == 0.0f);
    CHECK(*high == 1.0f);
    const auto classes = labels.to_vector<int64_t>();
    for (int64_t c = 0; c < 10; ++c) CHECK(std::count(classes.begin(), classes.end(), c) > 25);
  }
}

TEST_CASE("the first held-out digit is the zero that begins the file") {
  const auto [images, labels] = data::digits(data::test);
  const auto pixels = images.to_vector<float>();
  CHECK(std::vector<float>(pixels.begin(), pixels.begin() + 8) ==
        std::vector<float>{0, 0, 5 / 16.0f, 13 / 16.0f, 9 / 16.0f, 1 / 16.0f, 0, 0});
  CHECK(labels.to_vector<int64_t>()[0] == 0);
}

TEST_CASE("a missing data set throws a usage error") {
  CHECK_THROWS_AS(data::mnist("/nonexistent"), UsageError);
  CHECK_THROWS_AS(data::fashion_mnist("/nonexistent", data::test), UsageError);
}

TEST_CASE("fashion_mnist is found where Debian installs it") {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")) {
    WARN("skipped: the package dataset-fashion-mnist is not installed");
    return;
  }
  const auto [images, labels] =
      data::fashion_mnist("/usr/share/datasets/fashion-mnist", data::test);
  CHECK(images.shape() == Shape{10000, 1, 28, 28});
  const auto classes = labels.to_vector<int64_t>();
  for (int64_t c = 0; c < 10; ++c) CHECK(std::count(classes.begin(), classes.end(), c) == 1000);
}
