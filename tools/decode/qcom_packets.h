// SPDX-License-Identifier: MIT
// The framing of Adreno command streams: headers, parity, and where packets go on after words that
// are none. Uses no table.
#pragma once

#include "tools/decode/decode.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tiny::decode::qcom {

/// The bit that makes the parity of `value` and itself odd.
constexpr std::uint32_t odd_parity_bit(std::uint32_t value) {
  value ^= value >> 16;
  value ^= value >> 8;
  value ^= value >> 4;
  return (~0x6996u >> (value & 15)) & 1;
}

enum class PacketKind {
  registers,  ///< type 4: `count` values for registers from `target` on
  command,    ///< type 7: opcode `target` with `count` words
  padding,    ///< `count` zero words, without a header
  bad         ///< `count` words that are no packet, the first of them being `header`
};

struct Packet {
  PacketKind kind = PacketKind::bad;
  std::size_t at = 0;  ///< the word it starts at
  std::uint32_t header = 0, target = 0;
  std::size_t count = 0;
  std::size_t missing = 0;  ///< words that the header promises beyond the end of the stream
  Words body;
};

/// Why a word is no header; empty where it is one.
std::string header_error(std::uint32_t header);

/// Reads packet by packet. After a word that is no header it goes on at the next word from which
/// three packets in a row fit (or as many as there are to the end). A header that promises more
/// words than there are is a packet cut short where it is the first of the stream or follows a
/// packet, else a bad word.
class PacketReader {
 public:
  explicit PacketReader(Words words) : words_(words) {}
  /// False at the end.
  bool next(Packet& packet);

 private:
  bool plausible(std::size_t at) const;

  Words words_;
  std::size_t at_ = 0;
};

}  // namespace tiny::decode::qcom
