// SPDX-License-Identifier: MIT
// The size-class cache of one device's memory.
#pragma once

#include <rt_tiny/runtime/memory.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tiny {

class Backend;

/// Rounded so that at most a quarter is wasted and similar sizes share blocks: 256 B, then four
/// classes an octave; whole 2 MiB pages from 2 MiB on.
size_t size_class_B(size_t size_B);

/// Freed blocks wait here with the timeline values of the work that used them; they are handed out
/// again once that has retired, and go back to the system only on a flush.
class MemoryPool {
 public:
  using Values = std::array<uint64_t, kMaxQueues>;

  explicit MemoryPool(Backend& backend) : backend_(backend) {}
  ~MemoryPool();

  /// Throws SystemError when memory is exhausted after a flush, with what is allocated.
  Block take(size_t size_B, const AllocOptions&);
  Block adopt(Block imported, std::string tag);
  void put(const Block&, const Values& last_use) noexcept;
  void flush();
  MemoryStats stats() const;
  /// "in [tag] 4096 B at 0x…+0x10", "96 B past the end of …".
  std::string describe(uint64_t address) const;

 private:
  struct Free {
    Block block;
    Values last_use{};
  };
  struct Live {
    Block block;
    std::string tag;
    bool host_visible = false, uncached = false;
  };
  struct Key {
    size_t size_B;
    bool host_visible, uncached;
    auto operator<=>(const Key&) const = default;
  };
  using Shelf = std::vector<Free>;  ///< oldest first

  bool retired(const Values&) const;
  std::optional<Block> reuse(const Key&);
  void wait_for_oldest(const Key&);
  Block enlist(Block, std::string tag, bool host_visible, bool uncached);
  void drop_retired();
  void wait_all_pending();
  std::string table() const;

  Backend& backend_;
  mutable std::mutex mutex_;
  std::map<Key, Shelf> free_;
  std::unordered_map<uint64_t, Live> live_;
  uint64_t next_serial_ = 1;
  MemoryStats stats_;
};

}  // namespace tiny
