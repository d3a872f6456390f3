// SPDX-License-Identifier: MIT
// PM4 packets as structs: encoder, decoder and text, all from pm4.def.
#pragma once

#include "runtime/hwqueue/packet.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace tiny::amd::pm4 {

/// A type-3 header. Count is the payload's dwords minus 1; a NOP of a single dword has all ones.
constexpr uint32_t header(uint32_t op, uint32_t, size_t size_dw) {
  const auto count = static_cast<uint32_t>(size_dw >= 2 ? size_dw - 2 : 0x3fff);
  return 3u << 30 | count << 16 | op << 8;
}
constexpr bool is_header_of(uint32_t word, uint32_t op, uint32_t) {
  return word >> 30 == 3 && (word >> 8 & 0xff) == op;
}

#define PACKET_TABLE "drivers/amd/pm4.def"
#include "drivers/amd/packet_structs.inc"

/// Dwords of the packet that begins with this header; 0 if it is none of type 3.
constexpr size_t size_dw_of(uint32_t word) {
  if (word >> 30 != 3) return 0;
  const uint32_t count = word >> 16 & 0x3fff;
  return count == 0x3fff && (word >> 8 & 0xff) == NOP::kOpcode ? 1 : size_t{count} + 2;
}

/// "DISPATCH_DIRECT dim_x=0x4 …"; SET_SH_REG with register names; "unknown packet 0x…".
std::string to_string(std::span<const uint32_t> words);
/// One line a packet; follows no INDIRECT_BUFFER.
std::string dump(std::span<const uint32_t> words);
/// Throws UsageError unless the words are whole packets of the table.
void validate(std::span<const uint32_t> words);
/// Fills a gap of any size.
void fill_nops(std::span<uint32_t> gap);

}  // namespace tiny::amd::pm4
