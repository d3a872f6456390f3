// SPDX-License-Identifier: MIT
// Packs temporaries whose lifetimes do not meet into one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace tiny {

struct Lifetime {
  int64_t size_B = 0;
  int first_step = 0, last_step = 0;  ///< both inclusive
  int64_t offset_B = 0;               ///< result, a multiple of kTemporaryAlign_B
};
inline constexpr int64_t kTemporaryAlign_B = 256;

/// Fills offset_B; returns the arena's size. Largest first, lowest gap that fits.
int64_t plan_memory(std::vector<Lifetime>&);

}  // namespace tiny
