// SPDX-License-Identifier: MIT
// Packets of the copy engine as structs: encoder, decoder and text, all from sdma.def.
#pragma once

#include "runtime/hwqueue/packet.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace tiny::amd::sdma {

constexpr uint32_t header(uint32_t op, uint32_t sub_op, size_t) { return sub_op << 8 | op; }
constexpr bool is_header_of(uint32_t word, uint32_t op, uint32_t sub_op) {
  return (word & 0xffff) == header(op, sub_op, 0);
}

#define PACKET_TABLE "drivers/amd/sdma.def"
#include "drivers/amd/packet_structs.inc"

/// For ever, a poll about every 64 clocks (what Linux uses in its own rings: interval 10).
inline constexpr uint32_t kRetryForEver = 0xfff, kPollInterval = 10;

/// Dwords of the packet that begins with this header; 0 if it is none of the table.
size_t size_dw_of(uint32_t word);
std::string to_string(std::span<const uint32_t> words);
/// One line a packet; a run of single NOPs is one line.
std::string dump(std::span<const uint32_t> words);
/// Throws UsageError unless the words are whole packets of the table.
void validate(std::span<const uint32_t> words);

}  // namespace tiny::amd::sdma
