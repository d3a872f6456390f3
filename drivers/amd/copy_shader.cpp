// SPDX-License-Identifier: MIT
#include "drivers/amd/copy_shader.h"

#include "drivers/amd/registers.h"

namespace tiny::amd {
namespace {

constexpr uint32_t kGfx11[] = {  // copy_gfx11.s
    0xf4080100, 0xf8000000, 0xf4040200, 0xf8000010, 0xd6460001, 0x04011002, 0x7e040280, 0xd73c0001,
    0x00020284, 0xbf89fc07, 0xd7016a03, 0x00020208, 0x42080409, 0xd7006a05, 0x00020206, 0x400c0407,
    0xd7006a07, 0x00020204, 0x40100405, 0x7ca2068f, 0xbe8a206a, 0xbfa50005, 0xdc5e0000, 0x0a7c0005,
    0xbf8903f7, 0xdc760000, 0x007c0a07, 0x917e7e0a, 0x7ca20680, 0x8b7e6a7e, 0xbfa5000f, 0xdc420000,
    0x0a7c0005, 0xbf8903f7, 0xdc620000, 0x007c0a07, 0xd7006a05, 0x00010305, 0x400c0c80, 0xd7006a07,
    0x00010307, 0x40101080, 0xd7016a03, 0x00010303, 0x44080880, 0xbfa0ffee, 0xbfb00000};
constexpr uint32_t kGfx10[] = {  // copy_gfx10.s
    0xf4080100, 0xfa000000, 0xf4040200, 0xfa000010, 0xd7460001, 0x04011002, 0x7e040280, 0xd6ff0001,
    0x00020284, 0xbf8cc07f, 0xd7106a03, 0x00020208, 0x52080409, 0xd70f6a05, 0x00020206, 0x500c0407,
    0xd70f6a07, 0x00020204, 0x50100405, 0x7d42068f, 0xbe8a3c6a, 0xbf880005, 0xdc388000, 0x0a7d0005,
    0xbf8c3f70, 0xdc788000, 0x007d0a07, 0x8a7e7e0a, 0x7d420680, 0x877e6a7e, 0xbf88000f, 0xdc208000,
    0x0a7d0005, 0xbf8c3f70, 0xdc608000, 0x007d0a07, 0xd70f6a05, 0x00010305, 0x500c0c80, 0xd70f6a07,
    0x00010307, 0x50101080, 0xd7106a03, 0x00010303, 0x54080880, 0xbf82ffee, 0xbf810000};

/// 16 VGPRs (in eights, minus 1), float modes as LLVM's default, waves of both halves of a WGP,
/// memory operations complete in order.
constexpr uint32_t kRsrc1 = 0x60af0000 | 1;
constexpr uint32_t kTgidX = 1 << 7;

}  // namespace

std::span<const uint32_t> copy_shader_words(const Generation& g) {
  return g.gfx_target_version >= 110000 ? std::span<const uint32_t>(kGfx11) : kGfx10;
}

KernelRegisters copy_shader_registers(const Generation& g, uint64_t address) {
  KernelRegisters out;
  out.entry = address;
  out.user.kernarg_ptr = true;
  out.kernarg_B = sizeof(CopyKernargs);
  out.rsrc1 = kRsrc1 | (g.privileged_waves ? 1u << regs::COMPUTE_PGM_RSRC1__PRIV_lo : 0);
  out.rsrc2 = out.user.count() << regs::COMPUTE_PGM_RSRC2__USER_SGPR_lo | kTgidX;
  return out;
}

}  // namespace tiny::amd
