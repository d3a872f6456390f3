// SPDX-License-Identifier: MIT
#include "drivers/amd/pm4.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/amd/registers.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny::amd {

std::string_view regs::name_of(uint32_t offset) {
  switch (offset) {
#define REGISTER(NAME, at) \
  case at:                 \
    return #NAME;
#define BITS(reg, NAME, hi, lo)
#include "drivers/amd/registers.def"
#undef REGISTER
#undef BITS
    default:
      return {};
  }
}

namespace pm4 {
namespace {

#define PACKET_TABLE "drivers/amd/pm4.def"
#include "drivers/amd/packet_text.inc"

/// "SET_SH_REG COMPUTE_PGM_LO=0x… COMPUTE_PGM_HI=0x…".
std::string set_sh_reg_text(std::span<const uint32_t> packet) {
  std::string out = "SET_SH_REG";
  const uint32_t first = SET_SH_REG::decode(packet).reg_offset;
  for (size_t i = SET_SH_REG::kSize_dw; i < packet.size(); ++i) {
    const auto at = first + static_cast<uint32_t>(i - SET_SH_REG::kSize_dw);
    std::string_view name = regs::name_of(at);
    if (name.empty() && at > regs::COMPUTE_USER_DATA_0 && at < regs::COMPUTE_USER_DATA_0 + 16)
      out += fmt::format(" COMPUTE_USER_DATA_{}", at - regs::COMPUTE_USER_DATA_0);
    else
      out += name.empty() ? fmt::format(" register {:#x}", at) : fmt::format(" {}", name);
    out += fmt::format("={:#x}", packet[i]);
  }
  return out;
}

}  // namespace

std::string to_string(std::span<const uint32_t> words) {
  const size_t size_dw = words.empty() ? 0 : size_dw_of(words[0]);
  if (size_dw == 0 || size_dw > words.size())
    return fmt::format("unknown packet {:#x}", words.empty() ? 0 : words[0]);
  const auto packet = words.first(size_dw);
  if (is_header_of(packet[0], SET_SH_REG::kOpcode, 0)) return set_sh_reg_text(packet);
  std::string text = text_of(packet);
  return text.empty() ? fmt::format("unknown packet {:#x}", words[0]) : text;
}

std::string dump(std::span<const uint32_t> words) {
  std::string out;
  for (size_t at = 0; at < words.size();) {
    out += fmt::format("{:6}: {}\n", at, to_string(words.subspan(at)));
    const size_t size_dw = size_dw_of(words[at]);
    at += size_dw ? size_dw : words.size();
  }
  return out;
}

void validate(std::span<const uint32_t> words) {
  for (size_t at = 0, size_dw = 0; at < words.size(); at += size_dw) {
    size_dw = size_dw_of(words[at]);
    const size_t least_dw = table_size_dw(words[at]);
    if (least_dw == 0 || size_dw < least_dw || size_dw > words.size() - at)
      throw UsageError(fmt::format("[pm4] dword {} of {} is no whole packet: {:#x}", at,
                                   words.size(), words[at]));
  }
}

void fill_nops(std::span<uint32_t> gap) {
  constexpr size_t kLargest_dw = 0x3fff + 1;
  while (!gap.empty()) {
    const size_t take_dw = std::min(gap.size(), kLargest_dw);
    gap[0] = header(NOP::kOpcode, 0, take_dw);
    std::fill(gap.begin() + 1, gap.begin() + static_cast<std::ptrdiff_t>(take_dw), 0u);
    gap = gap.subspan(take_dw);
  }
}

}  // namespace pm4
}  // namespace tiny::amd
