// SPDX-License-Identifier: MIT
// The action `keep`: what a loop nest reads of a buffer again and again is copied to local memory
// first, a block for each turn of a loop around it.
#pragma once

#include <string>

#include "compiler/schedule/kernel.h"

namespace tiny {

/// Reads of the buffer by folds inside a loop of the class, or over one, become reads of an array
/// that a new local stage fills, for each turn of that loop, along one new axis of a class of its
/// own. Returns why not, or an empty text; the piece is then changed.
std::string keep_reads(ir::Arena&, Piece&, int axis_class, int64_t buffer);

}  // namespace tiny
