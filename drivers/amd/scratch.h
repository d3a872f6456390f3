// SPDX-License-Identifier: MIT
// Memory for what kernels spill: one buffer for all waves that can run, sized for the hungriest
// kernel loaded so far.
#pragma once

#include "drivers/amd/generation.h"

#include <cstdint>

namespace tiny::amd {

struct ScratchInput {
  const Generation* generation = nullptr;
  uint32_t compute_units = 0, shader_engines = 0, slots_per_cu = 0;
};

struct ScratchPlan {
  uint32_t thread_B = 0;  ///< rounded up
  uint64_t total_B = 0;
  uint32_t tmpring = 0;  ///< COMPUTE_TMPRING_SIZE
};

/// Throws UsageError where a thread asks for more than the chip can give.
ScratchPlan plan_scratch(const ScratchInput&, uint32_t thread_B);

}  // namespace tiny::amd
