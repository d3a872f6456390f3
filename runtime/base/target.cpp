// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/target.h>

#include <fmt/format.h>

namespace tiny {

std::string Target::key() const {
  return fmt::format(
      "arch={} triple={} cpu={} features={} is_cpu={} vector_B={} vector_registers={} "
      "parallelism={} max_buffers={} local_B={} cache_B={} f64={} f16={} bf16={} fma={}",
      arch, triple, cpu, features, is_cpu, vector_B, vector_registers, parallelism, max_buffers,
      local_B, cache_B, has_f64, has_f16_math, has_bf16_math, has_fma);
}

}  // namespace tiny
