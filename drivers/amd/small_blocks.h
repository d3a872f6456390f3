// SPDX-License-Identifier: MIT
// Small buffers, many to a slab. A buffer of its own costs a page, an ioctl or two and three of the
// mappings that a process may have (vm.max_map_count, 65530): a program that keeps tens of
// thousands of scalars would run out of them. The price is that no gap lies between neighbours.
#pragma once

#include "drivers/amd/memory.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tiny::amd {

/// Safe from several threads.
class SmallBlocks {
 public:
  static constexpr uint64_t kLargest_B = 1024;
  static constexpr uint64_t kSlab_B = 64 << 10;

  explicit SmallBlocks(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~SmallBlocks();
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;

  /// At most kLargest_B. nullopt: out of memory.
  std::optional<Region> allocate(MemoryKind kind, uint64_t size_B);
  /// False: it is none of ours. A slab without buffers goes back at once.
  bool release(const Region&) noexcept;

 private:
  struct Slab {
    Region region;
    uint64_t slot_B = 0;
    std::vector<uint64_t> free;  ///< offsets
  };
  using Key = std::pair<MemoryKind, uint64_t>;  ///< and slot size
  static constexpr uint64_t kSlotAlign_B = 256;

  Slab* slab_with_room(const Key& key);

  std::shared_ptr<Memory> memory_;
  std::mutex mutex_;
  std::map<uint64_t, Slab> slabs_;              ///< by address
  std::map<Key, std::vector<uint64_t>> roomy_;  ///< addresses of slabs with a free slot
};

}  // namespace tiny::amd
