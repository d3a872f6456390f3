// SPDX-License-Identifier: MIT
// Axis classes of a fresh piece: which axes of different stages walk the same dimension in step.
#pragma once

#include "compiler/schedule/kernel.h"

namespace tiny {

/// Domain axis i opens class i. A reduce axis, or the own axis of a stage in local memory, joins
/// the class of an axis of equal extent whose replacement turns one of its stage's loads into a
/// load of another stage or store; else it opens one.
void assign_axis_classes(ir::Arena&, Piece&);

}  // namespace tiny
