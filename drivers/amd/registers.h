// SPDX-License-Identifier: MIT
// Names of the registers and bits in registers.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiny::amd::regs {

/// SH registers are addressed from here (PACKET3_SET_SH_REG_START).
inline constexpr uint32_t kShBase = 0x2c00;

#define REGISTER(NAME, offset) inline constexpr uint32_t NAME = offset;
#define BITS(reg, NAME, hi, lo)
#include "drivers/amd/registers.def"
#undef REGISTER
#undef BITS

#define REGISTER(NAME, offset)
#define BITS(reg, NAME, hi, lo) \
  inline constexpr uint32_t reg##__##NAME##_lo = lo, reg##__##NAME##_width = (hi) - (lo) + 1;
#include "drivers/amd/registers.def"
#undef REGISTER
#undef BITS

/// "COMPUTE_PGM_LO"; empty for one we never write.
std::string_view name_of(uint32_t offset);

}  // namespace tiny::amd::regs
