// SPDX-License-Identifier: MIT
// Data files that the build puts into the library (frontend/data/embed.py writes the definitions).
#pragma once

#include <span>

namespace tiny::data {

std::span<const unsigned char> digits_images_gz();
std::span<const unsigned char> digits_labels_gz();

}  // namespace tiny::data
