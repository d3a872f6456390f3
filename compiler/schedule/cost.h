// SPDX-License-Identifier: MIT
// What running a draft would cost, in nanoseconds of a simple machine: operations at the target's
// vector rate, bytes at memory rate, a launch. Only differences between alternatives matter.
#pragma once

#include <rt_tiny/runtime/base/target.h>
#include "compiler/schedule/expand.h"

namespace tiny {

/// Estimated time of one kernel made of this draft alone.
double draft_cost(const Draft&, const Target&);

/// Why the draft should not become a kernel whatever it costs, or nullptr: stages whose loops
/// cannot nest without repeating work, too many axes, stages or buffers, too little local memory.
const char* draft_obstacle(const Draft&, const Target&);

/// Rough work of one evaluation of an op, in vector instructions.
double op_weight(ir::Op);

/// Product of the extents of `axes`.
double iterations(const Piece&, const ir::AxisSet& axes);
/// Axes a stage's value, or array, depends on.
ir::AxisSet free_axes(const Stage&);

}  // namespace tiny
