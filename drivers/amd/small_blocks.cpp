// SPDX-License-Identifier: MIT
#include "drivers/amd/small_blocks.h"

#include <algorithm>

namespace tiny::amd {

SmallBlocks::~SmallBlocks() {
  for (const auto& [address, slab] : slabs_) memory_->release(slab.region);
}

SmallBlocks::Slab* SmallBlocks::slab_with_room(const Key& key) {
  std::vector<uint64_t>& roomy = roomy_[key];
  if (!roomy.empty()) return &slabs_.at(roomy.back());
  const std::optional<Region> region = memory_->allocate(key.first, kSlab_B);
  if (!region) return nullptr;
  Slab& slab = slabs_[region->address] = {*region, key.second, {}};
  for (uint64_t at_B = kSlab_B / key.second * key.second; at_B > 0; at_B -= key.second)
    slab.free.push_back(at_B - key.second);  // the lowest is handed out first
  roomy.push_back(region->address);
  return &slab;
}

std::optional<Region> SmallBlocks::allocate(MemoryKind kind, uint64_t size_B) {
  const Key key{kind, align_up(std::max<uint64_t>(size_B, 1), kSlotAlign_B)};
  const std::lock_guard guard(mutex_);
  Slab* const slab = slab_with_room(key);
  if (!slab) return std::nullopt;
  const uint64_t at_B = slab->free.back();
  slab->free.pop_back();
  if (slab->free.empty()) roomy_[key].pop_back();
  Region r;
  r.address = slab->region.address + at_B;
  r.host = slab->region.host ? slab->region.as<uint8_t>(at_B) : nullptr;
  r.size_B = key.second;
  r.kind = kind;
  return r;
}

bool SmallBlocks::release(const Region& r) noexcept {
  const std::lock_guard guard(mutex_);
  auto at = slabs_.upper_bound(r.address);
  if (at == slabs_.begin()) return false;
  --at;
  Slab& slab = at->second;
  if (r.address - at->first >= kSlab_B) return false;
  std::vector<uint64_t>& roomy = roomy_[{r.kind, slab.slot_B}];
  if (slab.free.empty()) roomy.push_back(at->first);
  slab.free.push_back(r.address - at->first);
  if (slab.free.size() < kSlab_B / slab.slot_B) return true;
  std::erase(roomy, at->first);
  memory_->release(slab.region);
  slabs_.erase(at);
  return true;
}

}  // namespace tiny::amd
