// SPDX-License-Identifier: MIT
// How much a kernel computes and moves, from its expressions.
#pragma once

#include "compiler/schedule/kernel.h"

namespace tiny {

struct Work {
  double flops = 0;  ///< arithmetic on floats; a transcendental counts as one
  double bytes = 0;  ///< each buffer once, but no more than is accessed
  double cost = 0;   ///< as flops, but with integer ops and weights of slow functions
};

/// Of a kernel without vector or unroll axes (before actions).
Work estimate(const Kernel&);
Work estimate(const Kernel&, const Piece&);

/// Time of an op in additions; 0 for what is no arithmetic.
double op_weight(const ir::Node*);

}  // namespace tiny
