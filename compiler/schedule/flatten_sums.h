// SPDX-License-Identifier: MIT
// A sum of sums is one sum over both: sum_k sum_j x = sum_kj x. The gradient of a convolution
// becomes one reduction over channels and taps, without a partial result for each tap.
#pragma once

#include "compiler/schedule/kernel.h"

namespace tiny {

/// Merges each sum stage whose only reader is another sum stage that adds it as it is, or where a
/// condition holds (else zero). Stages are renumbered.
void flatten_sums(ir::Arena&, Piece&);

}  // namespace tiny
