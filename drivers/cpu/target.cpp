// SPDX-License-Identifier: MIT
#include "drivers/cpu/target.h"

#include <rt_tiny/runtime/base/host_cpu.h>

#include <unistd.h>

namespace tiny::cpu {

Target host_cpu_target(unsigned threads) {
  Target t;
  t.arch = host_arch();
  t.triple = host_triple();
  t.cpu = "native";
  t.features = host_cpu_key();
  t.is_cpu = true;
  t.vector_B = host_vector_B();
  t.vector_registers = host_vector_registers();
  t.parallelism = threads;
  t.max_buffers = 1024;  // kernargs are plain memory: a sanity limit only
  const long l2_B = sysconf(_SC_LEVEL2_CACHE_SIZE);
  t.cache_B = l2_B > 0 ? static_cast<uint64_t>(l2_B) : 512 << 10;
  const long l1_B = sysconf(_SC_LEVEL1_DCACHE_SIZE);  // beyond it an array is no nearer than others
  t.local_B = l1_B > 0 ? static_cast<uint64_t>(l1_B) : 32 << 10;
  t.has_fma = host_has_fma();
  return t;
}

}  // namespace tiny::cpu
