// SPDX-License-Identifier: MIT
// Random tensor programs: the same seed gives the same operations on whatever tensors it is given.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <cstdint>
#include <vector>

namespace tiny {

/// Runs about `length` random operations that start from `inputs`; returns a few of the results.
std::vector<Tensor> random_program(uint64_t seed, int length, const std::vector<Tensor>& inputs);

/// Inputs of random small shapes and several dtypes.
std::vector<Tensor> random_inputs(uint64_t seed);

}  // namespace tiny
