// SPDX-License-Identifier: MIT
// What differs between the chips we know, as a table: one row an ISA.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tiny::amd {

struct Generation {
  std::string_view arch;        ///< "gfx1100": LLVM's name
  uint32_t gfx_target_version;  ///< as the node says it: 110000
  uint32_t elf_mach;            ///< e_flags & 0xff of its objects (EF_AMDGPU_MACH_AMDGCN_*)

  // Scratch, and how a kernel finds it.
  bool architected_scratch;         ///< base in a register; else a buffer descriptor in SGPRs
  bool scratch_waves_per_engine;    ///< TMPRING_SIZE.WAVES counts one shader engine's waves
  uint32_t scratch_granule_B;       ///< unit of TMPRING_SIZE.WAVESIZE
  uint32_t scratch_wavesize_bits;   ///< of that field
  uint32_t scratch_thread_align_B;  ///< size of one thread's scratch

  bool privileged_waves;     ///< waves need RSRC1.PRIV, or saving them fails (gfx11 firmware)
  uint64_t sdma_max_copy_B;  ///< of one COPY_LINEAR
  uint32_t simds_per_cu;
};

/// nullptr: no such chip in the table.
const Generation* find_generation(uint32_t gfx_target_version);
const Generation* find_generation(std::string_view arch);
std::span<const Generation> generations();

/// 90010 → "gfx90a": the stepping is hexadecimal.
struct ArchName {
  char text[16];
};
ArchName arch_name(uint32_t gfx_target_version);

}  // namespace tiny::amd
