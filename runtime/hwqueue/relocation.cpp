// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/relocation.h"

#include <rt_tiny/runtime/base/error.h>

#include <cstring>

namespace tiny {
namespace {

template <class Word>
void patch(uint8_t* at, const Relocation& r, uint64_t value) {
  const auto mask = static_cast<Word>(r.mask);
  const auto field = static_cast<Word>((value >> r.shift) & r.mask);
  Word word;
  std::memcpy(&word, at, sizeof word);
  word = static_cast<Word>((word & ~static_cast<Word>(mask << r.lsb)) |
                           static_cast<Word>(field << r.lsb));
  std::memcpy(at, &word, sizeof word);
}

void apply_one(const Relocation& r, std::span<uint8_t> target, std::span<const uint64_t> values) {
  CHECK_INVARIANT(r.source.index < values.size(), "a relocation has no value");
  CHECK_INVARIANT(r.offset_B + uint64_t{r.width_B} <= target.size(), "a relocation is outside");
  const uint64_t value = values[r.source.index] + static_cast<uint64_t>(r.source.addend);
  uint8_t* at = target.data() + r.offset_B;
  if (r.width_B == 8)
    patch<uint64_t>(at, r, value);
  else
    patch<uint32_t>(at, r, value);
}

}  // namespace

void apply(std::span<const Relocation> relocations, std::span<uint8_t> target,
           const RelocationValues& values) {
  for (const Relocation& r : relocations)
    apply_one(r, target, values.by_kind[static_cast<size_t>(r.source.kind)]);
}

std::vector<Relocation> fold(std::span<const Relocation> relocations, std::span<uint8_t> target,
                             const RelocationValues& values) {
  std::vector<Relocation> rest;
  for (const Relocation& r : relocations) {
    const auto& known = values.by_kind[static_cast<size_t>(r.source.kind)];
    if (known.empty())
      rest.push_back(r);
    else
      apply_one(r, target, known);
  }
  return rest;
}

}  // namespace tiny
