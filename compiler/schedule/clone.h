// SPDX-License-Identifier: MIT
// A kernel in an arena of its own, so that a thread can compile it alone.
#pragma once

#include "compiler/schedule/kernel.h"

namespace tiny {

Kernel clone_kernel(const Kernel&);

}  // namespace tiny
