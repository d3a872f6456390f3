// SPDX-License-Identifier: MIT
#include "compiler/schedule/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace tiny {
namespace {

int64_t aligned(int64_t size_B) {
  return (size_B + kTemporaryAlign_B - 1) / kTemporaryAlign_B * kTemporaryAlign_B;
}

bool meet(const Lifetime& a, const Lifetime& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

/// Lowest offset where `life` fits between `placed` (sorted by offset) that it meets.
int64_t lowest_gap(const Lifetime& life, const std::vector<const Lifetime*>& placed) {
  int64_t offset_B = 0;
  for (const Lifetime* other : placed) {
    if (!meet(life, *other)) continue;
    if (offset_B + aligned(life.size_B) <= other->offset_B) break;
    offset_B = std::max(offset_B, other->offset_B + aligned(other->size_B));
  }
  return offset_B;
}

}  // namespace

int64_t plan_memory(std::vector<Lifetime>& lives) {
  std::vector<size_t> by_size(lives.size());
  std::iota(by_size.begin(), by_size.end(), size_t(0));
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return lives[a].size_B > lives[b].size_B; });
  std::vector<const Lifetime*> placed;
  int64_t total_B = 0;
  for (const size_t i : by_size) {
    lives[i].offset_B = lowest_gap(lives[i], placed);
    total_B = std::max(total_B, lives[i].offset_B + aligned(lives[i].size_B));
    const auto at =
        std::lower_bound(placed.begin(), placed.end(), lives[i].offset_B,
                         [](const Lifetime* l, int64_t offset) { return l->offset_B < offset; });
    placed.insert(at, &lives[i]);
  }
  return total_B;
}

}  // namespace tiny
