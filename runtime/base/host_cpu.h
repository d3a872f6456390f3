// SPDX-License-Identifier: MIT
// What the machine we run on is, without LLVM: a fingerprint for cache keys and vector facts.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstdint>
#include <string>

namespace tiny {

/// "x86_64" or "aarch64".
TINY_API std::string host_arch();
/// The LLVM triple of host code, such as "x86_64-unknown-linux-gnu".
TINY_API std::string host_triple();
/// Changes whenever the processor's model or instruction sets do: model name and a hash of the
/// feature flags. For Target::features when the cpu is "native".
TINY_API const std::string& host_cpu_key();
/// Width of the widest usable vector register in bytes.
TINY_API uint32_t host_vector_B();
TINY_API uint32_t host_vector_registers();
/// Fused multiply-add in hardware.
TINY_API bool host_has_fma();

}  // namespace tiny
