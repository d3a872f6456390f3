// SPDX-License-Identifier: MIT
// Kernels to programs: on threads, through the process's and the disk's caches.
#pragma once

#include <rt_tiny/runtime/device.h>
#include "compiler/schedule/kernel.h"

#include <memory>
#include <span>
#include <vector>

namespace tiny::engine {

/// Programs of the kernels, in order; equal kernels share one. Several kernels compile at once.
std::vector<std::shared_ptr<Program>> compile_kernels(std::span<const Kernel* const> kernels,
                                                      const std::shared_ptr<Device>&);

struct CompileStats {
  uint64_t compiled = 0, from_disk = 0, reused = 0;
};
CompileStats compile_stats();
void clear_programs();

}  // namespace tiny::engine
