// SPDX-License-Identifier: MIT
#include "drivers/amd/sdma.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

namespace tiny::amd::sdma {
namespace {

#define PACKET_TABLE "drivers/amd/sdma.def"
#include "drivers/amd/packet_text.inc"

}  // namespace

size_t size_dw_of(uint32_t word) {
  const size_t fixed_dw = table_size_dw(word);
  return fixed_dw == NOP::kSize_dw && is_header_of(word, NOP::kOpcode, 0)
             ? fixed_dw + (word >> 16 & 0x3fff)
             : fixed_dw;
}

std::string to_string(std::span<const uint32_t> words) {
  const size_t size_dw = words.empty() ? 0 : size_dw_of(words[0]);
  if (size_dw == 0 || size_dw > words.size())
    return fmt::format("unknown packet {:#x}", words.empty() ? 0 : words[0]);
  return text_of(words.first(size_dw));
}

std::string dump(std::span<const uint32_t> words) {
  std::string out;
  for (size_t at = 0; at < words.size();) {
    size_t zeros = 0;
    while (at + zeros < words.size() && words[at + zeros] == 0) ++zeros;
    if (zeros > 1) {
      out += fmt::format("{:6}: NOP x{}\n", at, zeros);
      at += zeros;
      continue;
    }
    out += fmt::format("{:6}: {}\n", at, to_string(words.subspan(at)));
    const size_t size_dw = size_dw_of(words[at]);
    at += size_dw ? size_dw : words.size();
  }
  return out;
}

void validate(std::span<const uint32_t> words) {
  for (size_t at = 0; at < words.size(); at += size_dw_of(words[at]))
    if (size_dw_of(words[at]) == 0 || size_dw_of(words[at]) > words.size() - at)
      throw UsageError(fmt::format("[sdma] dword {} of {} is no whole packet: {:#x}", at,
                                   words.size(), words[at]));
}

}  // namespace tiny::amd::sdma
