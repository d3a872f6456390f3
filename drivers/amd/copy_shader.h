// SPDX-License-Identifier: MIT
// The copy kernel for devices whose copy engine is off: hand-written, see copy_gfx*.s.
#pragma once

#include "drivers/amd/generation.h"
#include "drivers/amd/kernel_code.h"

#include <cstdint>
#include <span>

namespace tiny::amd {

/// What it reads at the start of its kernargs.
struct CopyKernargs {
  uint64_t dst, src, size_B;
};
inline constexpr uint32_t kCopyGroup = 256, kCopyThread_B = 16;

std::span<const uint32_t> copy_shader_words(const Generation&);
/// Its registers, were the words at `address`.
KernelRegisters copy_shader_registers(const Generation&, uint64_t address);

}  // namespace tiny::amd
