// SPDX-License-Identifier: MIT
// The CPU queue's packets as structs: encoder, decoder and text, all from packets.def.
#pragma once

#include "runtime/hwqueue/packet.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace tiny::cpu::packets {

constexpr uint32_t header(uint32_t opcode, uint32_t body_dw) { return opcode << 24 | body_dw; }
constexpr uint32_t opcode_of(uint32_t header) { return header >> 24; }
constexpr uint32_t body_dw_of(uint32_t header) { return header & 0xffffff; }

#define PACKET(NAME, opcode, body_dw, meaning)                      \
  struct NAME {                                                     \
    static constexpr uint32_t kOpcode = opcode, kBody_dw = body_dw; \
    static constexpr size_t kSize_dw = body_dw + 1;
#define FIELD(name, type, hi, lo, shift) type name{};
#define END(NAME)                                          \
  constexpr std::array<uint32_t, kSize_dw> encode() const; \
  static constexpr NAME decode(std::span<const uint32_t>); \
  }                                                        \
  ;
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END

#define PACKET(NAME, opcode, body_dw, meaning)                          \
  constexpr std::array<uint32_t, NAME::kSize_dw> NAME::encode() const { \
    std::array<uint32_t, kSize_dw> words{};                             \
    words[0] = header(kOpcode, kBody_dw);                               \
    [[maybe_unused]] const std::span<uint32_t> body = std::span(words).subspan(1);
#define FIELD(name, type, hi, lo, shift) put_field(body, hi, lo, shift, name);
#define END(NAME) \
  return words;   \
  }
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END

#define PACKET(NAME, opcode, body_dw, meaning)                                          \
  constexpr NAME NAME::decode(std::span<const uint32_t> words) {                        \
    [[maybe_unused]] const std::span<const uint32_t> body = words.subspan(1, kBody_dw); \
    NAME packet{};
#define FIELD(name, type, hi, lo, shift) \
  packet.name = static_cast<type>(get_field(body, hi, lo, shift));
#define END(NAME) \
  return packet;  \
  }
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END

/// Dword in the packet, header included, where a field begins.
#define PACKET(NAME, opcode, body_dw, meaning) namespace NAME##_dw {
#define FIELD(name, type, hi, lo, shift) inline constexpr size_t name = 1 + (lo) / 32;
#define END(NAME) }
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END

/// "COPY dst=0x… src=0x… size_B=0x40"; "unknown packet 0x…" for what is none.
std::string to_string(std::span<const uint32_t> words);
/// One line a packet; follows no INDIRECT.
std::string dump(std::span<const uint32_t> words);
/// Throws UsageError unless the words are whole, known packets.
void validate(std::span<const uint32_t> words);

}  // namespace tiny::cpu::packets
