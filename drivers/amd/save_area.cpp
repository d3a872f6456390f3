// SPDX-License-Identifier: MIT
#include "drivers/amd/save_area.h"

#include <algorithm>

#include "drivers/amd/page.h"

namespace tiny::amd {
namespace {

constexpr uint64_t kSgprs_B = 0x4000, kHwRegisters_B = 0x1000;
constexpr uint64_t kHeader_B = 40, kTrapDebug_B = 8;

/// Vector registers of a CU. The kernel calls gfx11.5.1 default before its fix of 2025; a node of
/// a fixed kernel says its sizes itself.
uint64_t vgprs_B(uint32_t version) {
  switch (version) {
    case 90008:
    case 90010:
    case 90400:
    case 90401:
    case 90402:
    case 90500:
      return 0x80000;
    case 110000:
    case 110001:
    case 110501:
    case 120000:
    case 120001:
      return 0x60000;
    default:
      return 0x40000;
  }
}

uint64_t lds_B(const SaveAreaInput& in) {
  return in.gfx_target_version == 90500 ? uint64_t{in.lds_size_in_kb} << 10 : 0x10000;
}

}  // namespace

SaveAreaSizes save_area_sizes(const SaveAreaInput& in) {
  const uint32_t version = in.gfx_target_version;
  const bool wave32 = version >= 100100;
  const uint64_t cus = in.simd_count / in.simd_per_cu / in.num_xcc;
  const uint64_t waves =
      wave32 ? cus * 32
             : std::min<uint64_t>(cus * 40, in.array_count / in.simd_arrays_per_engine * 512ull);
  uint64_t ctl_B = align_up(kHeader_B + waves * (wave32 ? 12 : 8) + kTrapDebug_B, kPage_B);
  if (version / 10000 == 10) ctl_B = std::min<uint64_t>(ctl_B, 0x7000);
  const uint64_t cu_B = vgprs_B(version) + kSgprs_B + lds_B(in) + kHwRegisters_B;
  SaveAreaSizes out;
  out.ctl_stack_B = in.ctl_stack_size.value_or(static_cast<uint32_t>(ctl_B));
  out.cwsr_B = in.cwsr_size.value_or(static_cast<uint32_t>(ctl_B + align_up(cus * cu_B, kPage_B)));
  out.debug_B = static_cast<uint32_t>(align_up(waves * 32, 64));
  out.total_B = align_up((uint64_t{out.cwsr_B} + out.debug_B) * in.num_xcc, kPage_B);
  return out;
}

}  // namespace tiny::amd
