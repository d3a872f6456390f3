// SPDX-License-Identifier: MIT
// The GPUs that can be modelled: what the kernel's topology says of each, and the sizes it demands
// of queues.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::models::amd {

struct Profile {
  std::string target;               ///< "gfx1100"
  uint32_t gfx_target_version = 0;  ///< major·10000 + minor·100 + stepping
  uint32_t device_id = 0, family = 0;
  uint32_t simd_count = 0, simd_per_cu = 2, array_count = 0, simd_arrays_per_engine = 2;
  uint32_t cu_per_simd_array = 0, max_waves_per_simd = 16, lds_KiB = 64;
  uint32_t sdma_engines = 2, sdma_queues_per_engine = 0, cp_queues = 8;
  uint32_t engine_clock_MHz = 0, fw_version = 0, sdma_fw_version = 0, capability = 0;
  uint64_t vram_B = 0, vgpr_B_per_cu = 0;
  uint32_t sdma_major = 0, gc_major = 0, gc_minor = 0;
  uint32_t user_data_sgprs = 16;

  bool gfx11() const { return gc_major == 11; }
  uint32_t cu_count() const { return simd_count / simd_per_cu; }
  uint32_t shader_engines() const { return array_count / simd_arrays_per_engine; }
  // What kfd_queue.c computes for one XCC.
  uint32_t ctl_stack_B() const;
  uint32_t cwsr_B() const;         ///< with the control stack
  uint32_t debug_B() const;        ///< follows it in the buffer
  uint64_t cwsr_buffer_B() const;  ///< the size the buffer must have
};

/// Throws UsageError for a target that is not modelled.
const Profile& profile(std::string_view target);
std::vector<std::string> profile_names();

}  // namespace tiny::models::amd
