// SPDX-License-Identifier: MIT
// What the compiler returns and a device loads: code, argument layout, launch shape. Plain data.
#pragma once

#include <rt_tiny/runtime/base/launch_expr.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tiny {

/// One kernel argument in the kernarg block.
struct TINY_API ArgSlot {
  enum class Kind : uint8_t { buffer, variable };
  Kind kind = Kind::buffer;  ///< buffer: 8-byte device address; variable: 8-byte signed integer
  uint32_t offset_B = 0;     ///< from the start of the kernarg block
  bool written = false;      ///< buffer only: the kernel stores to it
  bool read = true;          ///< buffer only: the kernel loads from it
};

/// Machine code (or source text) of one kernel.
///
/// CPU entry point: `void NAME(const void* kernarg, const int64_t group[3], void* scratch)`.
/// `group` is the index of this group in [0, groups); scratch has `scratch_B` bytes, 64-aligned.
struct TINY_API Binary {
  std::string name;           ///< symbol of the entry point
  std::vector<uint8_t> code;  ///< ELF relocatable object, cubin, or UTF-8 source
  std::vector<ArgSlot> args;
  uint32_t kernarg_B = 0;
  std::array<LaunchExpr, 3> groups;  ///< over the launch variables, in argument order
  std::array<uint32_t, 3> group_size{1, 1, 1};
  uint64_t local_B = 0;    ///< shared memory of a group
  uint64_t scratch_B = 0;  ///< per group in flight (CPU)
  // What the kernel does, for profiles and DEBUG=1. Estimates from the expression, not
  // measurements.
  double flops = 0, bytes = 0;
};

}  // namespace tiny
