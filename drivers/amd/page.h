// SPDX-License-Identifier: MIT
// Pages of the GPU's address space, and rounding to them.
#pragma once

#include <cstdint>

namespace tiny::amd {

inline constexpr uint64_t kPage_B = 4096;

/// `align` is a power of two.
constexpr uint64_t align_up(uint64_t value, uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

}  // namespace tiny::amd
