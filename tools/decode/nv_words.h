// SPDX-License-Identifier: MIT
// Words that the host engine reads: headers of pushbuffer methods, kinds of classes. Private to the
// NVIDIA decoders.
#pragma once

#include <cstdint>

namespace tiny::decode::nv {

constexpr bool is_channel(std::uint32_t id) { return (id & 0xff) == 0x6f; }
constexpr bool is_copy(std::uint32_t id) { return (id & 0xff) == 0xb5; }
constexpr bool is_compute(std::uint32_t id) { return id >= 0xc300 && (id & 0xff) == 0xc0; }

/// Methods below this address are the host's, whatever the subchannel.
constexpr std::uint32_t kFirstEngineMethod = 0x100;

/// One header word of a pushbuffer (cl*6f.h, DMA_*): `data` is its immediate operand, count the
/// number of words that follow; step is how many of them advance the address.
struct Header {
  std::uint32_t subchannel = 0, address = 0, count = 0, data = 0;
  enum class Step { kNone, kOnce, kEach } step = Step::kNone;
  bool immediate = false;
};

inline Header read_header(std::uint32_t word) {
  Header header;
  header.subchannel = (word >> 13) & 7;
  header.address = (word & 0xfff) << 2;
  const std::uint32_t count = (word >> 16) & 0x1fff;
  switch (word >> 29) {
    case 0:  // the old form of INC_METHOD, where bits 17:16 are 0
    case 2:  // and of NON_INC_METHOD
      header.address = word & 0x1ffc;
      header.count = (word >> 16) & 3 ? 0 : (word >> 18) & 0x7ff;
      header.step = word >> 29 ? Header::Step::kNone : Header::Step::kEach;
      break;
    case 1:
      header.count = count, header.step = Header::Step::kEach;
      break;
    case 3:
      header.count = count;
      break;
    case 4:
      header.data = count, header.immediate = true;
      break;
    case 5:
      header.count = count, header.step = Header::Step::kOnce;
      break;
    default:
      break;
  }
  return header;
}

constexpr std::uint32_t kEndSegment = 7;  ///< opcode of END_PB_SEGMENT

}  // namespace tiny::decode::nv
