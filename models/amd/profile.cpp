// SPDX-License-Identifier: MIT
#include "models/amd/profile.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>

namespace tiny::models::amd {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t align(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

Profile navi31() {
  Profile p;
  p.target = "gfx1100";
  p.gfx_target_version = 110000;
  p.device_id = 0x744c;
  p.family = 0x91;
  p.simd_count = 192;
  p.array_count = 12;
  p.cu_per_simd_array = 8;
  p.sdma_queues_per_engine = 6;
  p.engine_clock_MHz = 2482;
  p.fw_version = 550;
  p.sdma_fw_version = 19;
  p.capability = 0x2807a280;
  p.vram_B = 24ull << 30;
  p.vgpr_B_per_cu = 0x60000;
  p.sdma_major = 6;
  p.gc_major = 11;
  return p;
}

Profile navi21() {
  Profile p;
  p.target = "gfx1030";
  p.gfx_target_version = 100300;
  p.device_id = 0x73bf;
  p.family = 0x8f;
  p.simd_count = 160;
  p.array_count = 8;
  p.cu_per_simd_array = 10;
  p.sdma_queues_per_engine = 8;
  p.engine_clock_MHz = 2660;
  p.fw_version = 115;
  p.sdma_fw_version = 80;
  p.capability = 0x2807a280;
  p.vram_B = 16ull << 30;
  p.vgpr_B_per_cu = 0x40000;
  p.sdma_major = 5;
  p.gc_major = 10;
  p.gc_minor = 3;
  return p;
}

const std::vector<Profile>& profiles() {
  static const auto& all = *new std::vector<Profile>{navi31(), navi21()};
  return all;
}

}  // namespace

// Waves that may need saving: 32 a CU from gfx10.1 on; 12 bytes of control stack each, after the
// 40-byte header and 8 bytes of slack. gfx10 hardware caps the stack at 0x7000.
uint32_t Profile::ctl_stack_B() const {
  const uint64_t waves = uint64_t(cu_count()) * 32;
  const uint64_t size = align(40 + waves * 12 + 8, kPage);
  return uint32_t(gc_major == 10 ? std::min<uint64_t>(size, 0x7000) : size);
}

uint32_t Profile::cwsr_B() const {
  constexpr uint64_t kSgpr = 0x4000, kHwReg = 0x1000;
  const uint64_t per_cu = vgpr_B_per_cu + kSgpr + uint64_t(lds_KiB) * 1024 + kHwReg;
  return uint32_t(ctl_stack_B() + align(cu_count() * per_cu, kPage));
}

uint32_t Profile::debug_B() const { return uint32_t(align(uint64_t(cu_count()) * 32 * 32, 64)); }

uint64_t Profile::cwsr_buffer_B() const { return align(uint64_t(cwsr_B()) + debug_B(), kPage); }

const Profile& profile(std::string_view target) {
  for (const Profile& p : profiles())
    if (p.target == target) return p;
  throw UsageError("[model] amd:" + std::string(target) +
                   " is not modelled; gfx1100 and gfx1030 are");
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const Profile& p : profiles()) names.push_back(p.target);
  return names;
}

}  // namespace tiny::models::amd
