// SPDX-License-Identifier: MIT
// Sizes of the memory where the kernel saves a queue's waves when it takes the GPU away (CWSR).
// The kernel compares them exactly, so they follow its own formula (amdkfd/kfd_queue.c).
#pragma once

#include <cstdint>
#include <optional>

namespace tiny::amd {

/// Of a topology node.
struct SaveAreaInput {
  uint32_t gfx_target_version = 0;  ///< 110000
  uint32_t simd_count = 0, simd_per_cu = 0, num_xcc = 1;
  uint32_t array_count = 0, simd_arrays_per_engine = 0;
  uint32_t lds_size_in_kb = 64;
  /// Newer kernels say it in the node; then that is right whatever the formula gives.
  std::optional<uint32_t> cwsr_size{}, ctl_stack_size{};
};

struct SaveAreaSizes {
  uint32_t ctl_stack_B = 0;  ///< queue argument ctl_stack_size
  uint32_t cwsr_B = 0;       ///< queue argument ctx_save_restore_size, for one XCC
  uint32_t debug_B = 0;      ///< behind the save area, for one XCC
  uint64_t total_B = 0;      ///< the buffer, for all XCCs
};

SaveAreaSizes save_area_sizes(const SaveAreaInput&);

}  // namespace tiny::amd
