// SPDX-License-Identifier: MIT
// A chip as a compile target.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include "drivers/amd/generation.h"

namespace tiny::amd {

Target amd_target(const Generation&, uint32_t compute_units, uint64_t l2_B);

}  // namespace tiny::amd
