// SPDX-License-Identifier: MIT
// Which members of AMD and DRM call arguments point to memory worth recording: shared by the
// recorder's side (follow_amd) and the decoder's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tiny::decode::amd {

/// `type << 8 | nr` of a request.
constexpr std::uint32_t call_key(std::uint32_t request) { return request & 0xffff; }

/// An array that an argument points to. Offsets are those of members in the argument.
struct Pointer {
  std::uint32_t call = 0;         ///< call_key
  std::uint32_t pointer_B = 0;    ///< offset of the 64-bit pointer
  std::uint32_t count_B = 0;      ///< offset of the count
  std::uint32_t count_size = 4;   ///< bytes of the count
  std::uint32_t element_B = 0;    ///< 0: the count is in bits
  std::string_view element = {};  ///< structure, or u32, u64, bytes, text
  std::string_view pointer_member = {}, count_member = {};
};
std::span<const Pointer> pointers();

inline constexpr std::uint32_t kInfoCall = 0x6445, kCsCall = 0x6444, kSvmCall = 0x4b20,
                               kDbgTrapCall = 0x4b26, kAperturesCall = 0x4b06;
/// Submission chunks that are followed; more are possible but not seen.
inline constexpr std::uint32_t kMaxChunks = 64;
inline constexpr std::uint32_t kCsCount_B = 8, kCsChunks_B = 16, kChunk_B = 16;

}  // namespace tiny::decode::amd
