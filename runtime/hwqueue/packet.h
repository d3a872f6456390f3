// SPDX-License-Identifier: MIT
// Bit fields of packets and descriptors, by the manual's numbers: used by each vocabulary's .def
// table to make the encoder and the decoder from the same row.
#pragma once

#include <rt_tiny/runtime/base/error.h>

#include <cstdint>
#include <span>

namespace tiny {

/// Writes `value >> shift` to bits hi..lo, counted from the first dword of `words`; a field may
/// straddle dwords. An over-wide or misaligned value is our bug: it fails to compile in a constant.
constexpr void put_field(std::span<uint32_t> words, unsigned hi, unsigned lo, unsigned shift,
                         uint64_t value) {
  const unsigned width = hi - lo + 1;
  CHECK_INVARIANT((value & ((uint64_t{1} << shift) - 1)) == 0, "a packet field is misaligned");
  value >>= shift;
  CHECK_INVARIANT(width >= 64 || value >> width == 0, "a packet field is too wide");
  for (unsigned bit = lo; bit <= hi;) {
    const unsigned at = bit % 32, take = at + (hi - bit) >= 31 ? 32 - at : hi - bit + 1;
    const uint64_t mask = (uint64_t{1} << take) - 1;
    uint32_t& word = words[bit / 32];
    word = static_cast<uint32_t>((word & ~(mask << at)) | ((value & mask) << at));
    value >>= take;
    bit += take;
  }
}

constexpr uint64_t get_field(std::span<const uint32_t> words, unsigned hi, unsigned lo,
                             unsigned shift) {
  uint64_t value = 0;
  for (unsigned bit = lo, have = 0; bit <= hi;) {
    const unsigned at = bit % 32, take = at + (hi - bit) >= 31 ? 32 - at : hi - bit + 1;
    const uint64_t mask = (uint64_t{1} << take) - 1;
    value |= ((words[bit / 32] >> at) & mask) << have;
    have += take;
    bit += take;
  }
  return value << shift;
}

}  // namespace tiny
