// SPDX-License-Identifier: MIT
#include "drivers/cpu/packets.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace tiny::cpu::packets {
namespace {

bool is_known(uint32_t word) {
  switch (opcode_of(word)) {
#define PACKET(NAME, opcode, body_dw, meaning) \
  case opcode:                                 \
    return opcode == NOP::kOpcode || body_dw_of(word) == body_dw;
#define FIELD(name, type, hi, lo, shift)
#define END(NAME)
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END
    default:
      return false;
  }
}

}  // namespace

std::string to_string(std::span<const uint32_t> words) {
  if (words.empty() || !is_known(words[0]) || words.size() < 1 + size_t{body_dw_of(words[0])})
    return fmt::format("unknown packet {:#x}", words.empty() ? 0 : words[0]);
  std::string out;
  switch (opcode_of(words[0])) {
#define PACKET(NAME, opcode, body_dw, meaning)                \
  case opcode: {                                              \
    [[maybe_unused]] const auto packet = NAME::decode(words); \
    out = #NAME;
#define FIELD(name, type, hi, lo, shift) out += fmt::format(" " #name "={:#x}", packet.name);
#define END(NAME) \
  break;          \
  }
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END
    default:
      break;
  }
  return out;
}

std::string dump(std::span<const uint32_t> words) {
  std::string out;
  for (size_t at = 0; at < words.size();) {
    out += fmt::format("{:6}: {}\n", at, to_string(words.subspan(at)));
    at += is_known(words[at]) ? 1 + size_t{body_dw_of(words[at])} : words.size();
  }
  return out;
}

void validate(std::span<const uint32_t> words) {
  for (size_t at = 0; at < words.size(); at += 1 + size_t{body_dw_of(words[at])})
    if (!is_known(words[at]) || words.size() - at < 1 + size_t{body_dw_of(words[at])})
      throw UsageError(fmt::format("[packets] dword {} of {} is no whole packet: {:#x}", at,
                                   words.size(), words[at]));
}

}  // namespace tiny::cpu::packets
