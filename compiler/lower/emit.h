// SPDX-License-Identifier: MIT
// The pass from kernel to linear code: loops, accumulators, vector access, validity.
//
// Each loop opens a scope with its own block and memo. An expression is emitted once, into the
// block of the deepest open loop it depends on, so what does not vary in a loop stands before it.
// Stages are emitted on demand in the same way. Unrolled axes have coordinates, vector axes lanes.
#pragma once

#include "compiler/lower/linear.h"

#include <rt_tiny/runtime/base/target.h>

namespace tiny::lower {

/// The kernel's expressions hold only ops that `emittable` accepts.
LinearCode emit(const Kernel&, const Target&);
/// Ops that linear code takes as they are.
bool emittable(ir::Op);

}  // namespace tiny::lower
