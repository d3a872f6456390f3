// SPDX-License-Identifier: MIT
#include "engine/object_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

namespace tiny {
namespace {

namespace fs = std::filesystem;

/// Raised with every change of the layout below; older entries then count as misses.
constexpr uint32_t kFormatVersion = 1;
constexpr std::array<char, 8> kMagic{'t', 'i', 'n', 'y', 'o', 'b', 'j', '\n'};
/// Temporaries of writers that died; a living one needs milliseconds.
constexpr std::chrono::hours kStaleTemporary{1};

/// Little-endian, as every host we support is; a foreign one fails the version check.
struct EntryHeader {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kFormatVersion, reserved = 0;
  Hash128 key;
  uint64_t payload_B = 0;
  Hash128 payload_hash;
};
static_assert(sizeof(EntryHeader) == 56);

struct FileOnDisk {
  fs::file_time_type time;
  uint64_t size_B;
  fs::path path;
};

bool is_temporary(const fs::path& path) { return path.extension() == ".tmp"; }

/// Every file below the folder; trouble ends the walk early, as others may delete meanwhile.
std::vector<FileOnDisk> list_files(const std::string& folder) {
  std::vector<FileOnDisk> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone) continue;
    FileOnDisk file{it->last_write_time(gone), 0, it->path()};
    if (!gone) file.size_B = it->file_size(gone);
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

/// A read that cannot be made to allocate more than the cache may hold.
std::optional<std::vector<uint8_t>> read_entry_file(const std::string& path, uint64_t max_B) {
  std::error_code error;
  const uint64_t size_B = fs::file_size(path, error);  // an error also for a folder or a device
  if (error || size_B > max_B) return std::nullopt;
  try {
    return read_file(path);
  } catch (const SystemError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<uint8_t> encode_cache_entry(const Hash128& key, std::span<const uint8_t> object) {
  EntryHeader header;
  header.key = key;
  header.payload_B = object.size();
  header.payload_hash = hash128(object);
  std::vector<uint8_t> file(sizeof header + object.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(object.begin(), object.end(), file.begin() + sizeof header);
  return file;
}

std::optional<std::vector<uint8_t>> decode_cache_entry(const Hash128& key,
                                                       std::span<const uint8_t> file) {
  EntryHeader header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  const auto payload = file.subspan(sizeof header);
  const bool good = header.magic == kMagic && header.version == kFormatVersion &&
                    header.reserved == 0 && header.key == key &&
                    header.payload_B == payload.size() && header.payload_hash == hash128(payload);
  if (!good) return std::nullopt;
  return std::vector<uint8_t>(payload.begin(), payload.end());
}

ObjectCache::ObjectCache(std::string folder, uint64_t max_B)
    : folder_(std::move(folder)), max_B_(max_B), gave_up_(folder_.empty()) {}

std::string ObjectCache::path_of(const Hash128& key) const {
  const std::string hex = key.hex();
  return fmt::format("{}/objects/{}/{}", folder_, hex.substr(0, 2), hex.substr(2));
}

std::optional<std::vector<uint8_t>> ObjectCache::find(const Hash128& key) {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(key);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error)) || error) return std::nullopt;
  if (const auto file = read_entry_file(path, max_B_ + sizeof(EntryHeader)))
    if (auto object = decode_cache_entry(key, *file)) {
      // The time of the last use decides who is evicted. Fails harmlessly on a read-only disk.
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      return object;
    }
  log_at(1, "engine/object_cache", "discarded the bad entry {}", path);
  fs::remove_all(path, error);
  return std::nullopt;
}

void ObjectCache::store(const Hash128& key, std::span<const uint8_t> object) {
  if (gave_up_ || object.size() > max_B_) return;
  try {
    write_entry(key, object);
    account(object.size() + sizeof(EntryHeader));
  } catch (const SystemError& e) {
    give_up(e.what());
  } catch (const fs::filesystem_error& e) {
    give_up(e.what());
  }
}

void ObjectCache::write_entry(const Hash128& key, std::span<const uint8_t> object) {
  const std::string path = path_of(key);
  fs::create_directories(fs::path(path).parent_path());
  // No fsync: after a crash the payload's hash tells a torn entry.
  write_file_atomic(path, encode_cache_entry(key, object), FileSync::no);
}

void ObjectCache::give_up(const char* why) {
  if (!gave_up_.exchange(true))
    fmt::print(stderr, "rt_tiny: warning: compiled kernels are not cached in {}: {}\n", folder_,
               why);
}

/// Looks at the whole folder at the first write and after each eighth of the limit: others write
/// to it as well.
void ObjectCache::account(uint64_t written_B) {
  std::lock_guard lock(mutex_);
  written_B_ += written_B;
  if (scanned_ && written_B_ < max_B_ / 8) return;
  scanned_ = true;
  written_B_ = 0;
  evict();
}

/// Deletes the least recently used entries until an eighth of the limit is free.
void ObjectCache::evict() {
  std::vector<FileOnDisk> files = list_files(folder_ + "/objects");
  const auto stale = fs::file_time_type::clock::now() - kStaleTemporary;
  uint64_t total_B = 0;
  for (const FileOnDisk& file : files) {
    if (is_temporary(file.path) && file.time < stale) remove_quietly(file.path);
    total_B += file.size_B;
  }
  if (total_B <= max_B_ - max_B_ / 8) return;
  std::sort(files.begin(), files.end(), [](const FileOnDisk& a, const FileOnDisk& b) {
    return std::tie(a.time, a.path) < std::tie(b.time, b.path);
  });
  for (const FileOnDisk& file : files) {
    if (total_B <= max_B_ - max_B_ / 8) break;
    if (is_temporary(file.path)) continue;
    remove_quietly(file.path);
    total_B -= file.size_B;
  }
}

ObjectCache& object_cache() {
  static std::mutex mutex;
  static std::map<std::pair<std::string, uint64_t>, std::unique_ptr<ObjectCache>>* const caches =
      new std::map<std::pair<std::string, uint64_t>, std::unique_ptr<ObjectCache>>;
  const Knobs& k = knobs();
  const std::string folder = k.cache ? k.cache_dir : "";
  const uint64_t max_B = static_cast<uint64_t>(k.cache_max_MB) << 20;
  std::lock_guard lock(mutex);
  auto& slot = (*caches)[{folder, max_B}];
  if (!slot) slot = std::make_unique<ObjectCache>(folder, max_B);
  return *slot;
}

}  // namespace tiny
