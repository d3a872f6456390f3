// SPDX-License-Identifier: MIT
// Long reductions to few elements become two: partial sums that run in parallel (and round less),
// then the fold of the partials.
#pragma once

#include <rt_tiny/runtime/base/target.h>
#include "compiler/schedule/import.h"

namespace tiny {

/// The graph with such reductions split; everything else is the same node.
void split_long_reductions(ImportedGraph&, const Target&);

}  // namespace tiny
