// SPDX-License-Identifier: MIT
// What a compiler must know of an accelerator, published by its driver. Plain data.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstdint>
#include <string>

namespace tiny {

struct TINY_API Target {
  std::string arch;      ///< "x86_64", "aarch64", "gfx1100", "sm_90", …
  std::string triple;    ///< LLVM triple, empty where LLVM is not used
  std::string cpu;       ///< LLVM cpu name; "native" asks the plugin for the host's own
  std::string features;  ///< LLVM features ("+avx2,+fma"); for "native" also part of cache keys
  bool is_cpu = false;   ///< threads are groups; no local axes; scratch is the stack

  uint32_t vector_B = 16;          ///< width of a vector register in bytes; 4 means scalar
  uint32_t vector_registers = 16;  ///< how many of them
  uint32_t parallelism = 1;        ///< groups that run at the same time
  uint32_t max_buffers = 1024;     ///< buffers one kernel may bind
  uint64_t local_B = 32 << 10;     ///< shared memory of a group, or thread scratch on a CPU
  uint64_t cache_B = 512 << 10;    ///< cache near one group
  bool has_f64 = true, has_f16_math = false, has_bf16_math = false, has_fma = true;

  /// Every field that changes generated code, as one line: part of each compile-cache key.
  std::string key() const;
};

}  // namespace tiny
