// SPDX-License-Identifier: MIT
#include "drivers/amd/target.h"

namespace tiny::amd {

Target amd_target(const Generation& g, uint32_t compute_units, uint64_t l2_B) {
  Target t;
  t.arch = g.arch;
  t.triple = "amdgcn-amd-amdhsa";
  t.cpu = g.arch;
  t.vector_B = 16;          // the widest load of a thread
  t.vector_registers = 64;  // of 16 B: 256 VGPRs of a thread
  t.parallelism = compute_units;
  t.max_buffers = 1024;  // kernargs are plain memory: a sanity limit only
  t.local_B = 64 << 10;
  t.cache_B = l2_B ? l2_B : 4 << 20;
  t.has_f16_math = true;
  return t;
}

}  // namespace tiny::amd
