// SPDX-License-Identifier: MIT
// Machine code on disk, keyed by content hash. Knows nothing of kernels: whoever asks hashes all
// that the code depends on (text, Target::key(), compiler version, passes).
#pragma once

#include <rt_tiny/runtime/base/hash.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiny {

/// A folder of objects, shared by threads and processes. Trouble is never the caller's: a bad
/// entry is deleted and counts as a miss; a folder that cannot be written costs one warning.
class ObjectCache {
 public:
  /// An empty folder name makes a cache that is always empty.
  ObjectCache(std::string folder, uint64_t max_B);

  std::optional<std::vector<uint8_t>> find(const Hash128& key);
  void store(const Hash128& key, std::span<const uint8_t> object);

  /// Where an entry lives, whether or not it exists.
  std::string path_of(const Hash128& key) const;
  /// Has storing been given up? Reading goes on.
  bool read_only() const { return gave_up_; }

 private:
  void write_entry(const Hash128& key, std::span<const uint8_t> object);
  void give_up(const char* why);
  void account(uint64_t written_B);
  void evict();

  const std::string folder_;
  const uint64_t max_B_;
  std::atomic<bool> gave_up_;
  std::mutex mutex_;  ///< guards the two below
  bool scanned_ = false;
  uint64_t written_B_ = 0;  ///< by this process since the last look at the whole folder
};

/// The cache the knobs name (TINY_CACHE, TINY_CACHE_DIR, TINY_CACHE_MAX_MB).
ObjectCache& object_cache();

/// The bytes of one entry file, and back; nullopt for anything corrupt, truncated, padded, of
/// another version or of another key.
std::vector<uint8_t> encode_cache_entry(const Hash128& key, std::span<const uint8_t> object);
std::optional<std::vector<uint8_t>> decode_cache_entry(const Hash128& key,
                                                       std::span<const uint8_t> file);

}  // namespace tiny
