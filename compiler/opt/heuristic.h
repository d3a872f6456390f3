// SPDX-License-Identifier: MIT
// The actions a kernel gets without a search: vectors, register tile, loop order, threads.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include "compiler/schedule/kernel.h"

namespace tiny {

/// noopt: no actions, scalar loops in one group.
void optimize(Kernel&, const Target&, bool noopt);

}  // namespace tiny
