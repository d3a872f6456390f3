// SPDX-License-Identifier: MIT
// Dwords that are not final yet: where a value goes, and where it comes from. Link-time sources are
// folded in once; run-time ones are patched on every submit.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tiny {

enum class SourceKind : uint8_t {
  fixed,     ///< link time: code, constants, fixed buffers
  argument,  ///< run time: address of the buffer bound to a slot
  variable,  ///< run time: value bound to a slot
  launch,    ///< run time: an evaluated launch expression
  timeline,  ///< run time: a timeline value of this submission
  kernarg,   ///< run time: start of the kernarg block
};
inline constexpr size_t kSourceKinds = 6;
constexpr bool is_link_time(SourceKind kind) { return kind == SourceKind::fixed; }

struct RelocationSource {
  SourceKind kind = SourceKind::fixed;
  uint32_t index = 0;
  int64_t addend = 0;
};

/// bits [lsb, lsb + popcount(mask)) of the `width_B`-byte word at `offset_B` become
/// ((source + addend) >> shift) & mask. An address split in two fields is two relocations.
struct Relocation {
  uint32_t offset_B = 0;
  uint8_t width_B = 8;  ///< 4 or 8
  uint8_t shift = 0;
  uint8_t lsb = 0;
  uint64_t mask = ~uint64_t{0};
  RelocationSource source;
};

/// Values by kind and index.
struct RelocationValues {
  std::array<std::span<const uint64_t>, kSourceKinds> by_kind{};

  RelocationValues& set(SourceKind kind, std::span<const uint64_t> values) {
    by_kind[static_cast<size_t>(kind)] = values;
    return *this;
  }
};

/// Patches every relocation. CHECKs that they are inside `target` and have a value.
TINY_API void apply(std::span<const Relocation> relocations, std::span<uint8_t> target,
                    const RelocationValues& values);

/// Patches those whose kind has values in `values` and returns the rest.
TINY_API std::vector<Relocation> fold(std::span<const Relocation> relocations,
                                      std::span<uint8_t> target, const RelocationValues& values);

}  // namespace tiny
