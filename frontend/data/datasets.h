// SPDX-License-Identifier: MIT
// Data sets as tensors: digits that are always there, MNIST and Fashion-MNIST from a folder.
#pragma once

#include <rt_tiny/frontend/data/split.h>
#include <rt_tiny/frontend/tensor.h>

#include <string>

namespace tiny::data {

/// Grey images in [0, 1] as f32 (n, 1, h, w), and their classes as i64 (n).
struct TINY_API Dataset {
  Tensor images, labels;
};

/// 1797 handwritten digits of 8×8 pixels, part of the library (UCI "Optical Recognition of
/// Handwritten Digits", CC BY 4.0). The test split is every fifth image.
TINY_API Dataset digits(Split split = train);

/// MNIST, from the folder with its four files (packed or not). Without a folder: TINY_DATA/mnist or
/// TINY_DATA itself. Throws UsageError on files that are missing, damaged or do not fit together.
TINY_API Dataset mnist(const std::string& dir = "", Split split = train);

/// Fashion-MNIST likewise. Without a folder: TINY_DATA/fashion-mnist, then where the Debian package
/// dataset-fashion-mnist puts it.
TINY_API Dataset fashion_mnist(const std::string& dir = "", Split split = train);

}  // namespace tiny::data
