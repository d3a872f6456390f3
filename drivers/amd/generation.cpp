// SPDX-License-Identifier: MIT
#include "drivers/amd/generation.h"

#include <cstdio>

namespace tiny::amd {
namespace {

// SDMA 5.2: Linux counts 22 bits, PAL 30; the smaller one is right for both. Multiples of 256 keep
// the pieces of a split copy aligned.
constexpr uint64_t kCopy22_B = 0x3fff00, kCopy30_B = 0x3fffff00;

constexpr Generation gfx10(std::string_view arch, uint32_t version, uint32_t mach) {
  return {arch, version, mach, false, false, 1024, 13, 16, false, kCopy22_B, 2};
}
constexpr Generation gfx11(std::string_view arch, uint32_t version, uint32_t mach) {
  return {arch, version, mach, true, true, 256, 15, 4, true, kCopy30_B, 2};
}

// Numbers of EF_AMDGPU_MACH_AMDGCN_*: LLVM 19, llvm/BinaryFormat/ELF.h.
constexpr Generation kTable[] = {
    gfx10("gfx1030", 100300, 0x36), gfx10("gfx1031", 100301, 0x37), gfx10("gfx1032", 100302, 0x38),
    gfx10("gfx1033", 100303, 0x39), gfx10("gfx1034", 100304, 0x3e), gfx10("gfx1035", 100305, 0x3d),
    gfx10("gfx1036", 100306, 0x45), gfx11("gfx1100", 110000, 0x41), gfx11("gfx1101", 110001, 0x46),
    gfx11("gfx1102", 110002, 0x47), gfx11("gfx1103", 110003, 0x44),
};

}  // namespace

std::span<const Generation> generations() { return kTable; }

const Generation* find_generation(uint32_t gfx_target_version) {
  for (const Generation& g : kTable)
    if (g.gfx_target_version == gfx_target_version) return &g;
  return nullptr;
}

const Generation* find_generation(std::string_view arch) {
  for (const Generation& g : kTable)
    if (g.arch == arch) return &g;
  return nullptr;
}

ArchName arch_name(uint32_t version) {
  ArchName out{};
  std::snprintf(out.text, sizeof out.text, "gfx%u%x%x", version / 10000, version / 100 % 100 & 0xf,
                version % 100 & 0xf);
  return out;
}

}  // namespace tiny::amd
