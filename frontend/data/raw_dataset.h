// SPDX-License-Identifier: MIT
// Image data sets as bytes: finding, reading and checking the files. Knows no tensors.
#pragma once

#include <rt_tiny/frontend/data/split.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tiny::data {

/// Grey images and their classes, as the files hold them.
struct RawDataset {
  std::vector<uint8_t> images;     ///< count × height × width pixels in [0, max_pixel]
  std::array<int64_t, 3> shape{};  ///< count, height, width
  uint8_t max_pixel = 255;         ///< divide by it to get [0, 1]
  std::vector<uint8_t> labels;     ///< count classes in [0, 9]
};

/// The digits that are part of the library. The test split is every fifth image.
RawDataset raw_digits(Split split);

/// MNIST or one of its look-alikes.
struct MnistFamily {
  const char* op;          ///< begins the error texts
  const char* subfolder;   ///< of TINY_DATA
  const char* system_dir;  ///< where a distribution puts it; "" for nowhere
  const char* how_to_get;  ///< ends the error text about missing files
};
extern const MnistFamily kMnist, kFashionMnist;

/// Reads the folder `dir`; "" means the first of TINY_DATA/subfolder, TINY_DATA (MNIST only) and
/// the system's folder that has the files. They may be gzipped, and named with "-idx" or ".idx".
RawDataset raw_mnist(const MnistFamily& family, const std::string& dir, Split split);

/// Joins an image file and a label file (idx, unpacked) after checking that they fit together.
RawDataset pair_idx(std::span<const uint8_t> images, const std::string& images_path,
                    std::span<const uint8_t> labels, const std::string& labels_path,
                    uint8_t max_pixel);

}  // namespace tiny::data
