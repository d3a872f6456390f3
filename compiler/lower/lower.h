// SPDX-License-Identifier: MIT
// Kernel to linear code: the ordered list of passes, each verified, timed and printable.
#pragma once

#include "compiler/lower/linear.h"

#include <rt_tiny/runtime/base/target.h>

namespace tiny::lower {

/// The kernel's expressions are rewritten in its own arena.
LinearCode lower(Kernel, const Target&);

}  // namespace tiny::lower
