// SPDX-License-Identifier: MIT
#include "runtime/memory_pool.h"

#include <rt_tiny/runtime/base/error.h>

#include "runtime/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace tiny {
namespace {

constexpr size_t kSmallest_B = 256;
constexpr size_t kHugePage_B = size_t{2} << 20;
/// Of one class, how much may wait for running work before a new request waits instead of growing.
constexpr size_t kPendingLimit_B = size_t{64} << 20;
constexpr size_t kPendingLimit = 8;
/// How many of the most recently freed blocks are looked at for one that has retired.
constexpr size_t kScan = 8;

}  // namespace

size_t size_class_B(size_t size_B) {
  if (size_B <= kSmallest_B) return kSmallest_B;
  if (size_B > (size_t{1} << 62)) return size_B;  // cannot exist; the driver says so
  const size_t step_B = std::max(std::bit_floor(size_B - 1) / 4, size_t{64});
  const size_t grain_B = size_B >= kHugePage_B ? std::max(step_B, kHugePage_B) : step_B;
  return (size_B + grain_B - 1) / grain_B * grain_B;
}

MemoryPool::~MemoryPool() = default;

bool MemoryPool::retired(const Values& values) const {
  for (size_t q = 0; q < backend_.queue_count(); ++q)
    if (values[q] && !backend_.timeline(q)->retired(values[q])) return false;
  return true;
}

std::optional<Block> MemoryPool::reuse(const Key& key) {
  const auto shelf = free_.find(key);
  if (shelf == free_.end()) return std::nullopt;
  auto& list = shelf->second;
  auto take = [&](size_t i) {
    const Block block = list[i].block;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    stats_.cached_B -= block.size_B;
    return block;
  };
  const size_t count = std::min(list.size(), kScan);
  for (size_t i = list.size(); i > list.size() - count; --i)
    if (retired(list[i - 1].last_use)) return take(i - 1);
  if (!list.empty() && retired(list.front().last_use)) return take(0);
  return std::nullopt;
}

void MemoryPool::wait_for_oldest(const Key& key) {
  Values values{};
  {
    std::lock_guard lock(mutex_);
    const auto shelf = free_.find(key);
    if (shelf == free_.end() || shelf->second.size() < kPendingLimit) return;
    if (shelf->second.size() * key.size_B < kPendingLimit_B) return;
    values = shelf->second.front().last_use;
  }
  try {
    for (size_t q = 0; q < backend_.queue_count(); ++q) backend_.timeline(q)->wait(values[q]);
  } catch (const DeviceFault&) {  // dead queues run nothing: the memory is free
  }
}

Block MemoryPool::take(size_t size_B, const AllocOptions& options) {
  const Key key{size_class_B(size_B), options.host_visible, options.uncached};
  auto try_reuse = [&]() -> std::optional<Block> {
    std::lock_guard lock(mutex_);
    std::optional<Block> block = reuse(key);
    if (!block) return std::nullopt;
    return enlist(*block, options.tag, key.host_visible, key.uncached);
  };
  if (auto block = try_reuse()) return *block;
  wait_for_oldest(key);
  if (auto block = try_reuse()) return *block;
  std::optional<Block> block = backend_.allocate(key.size_B, options);
  if (!block) {
    wait_all_pending();
    flush();
    block = backend_.allocate(key.size_B, options);
  }
  std::lock_guard lock(mutex_);
  if (!block)
    throw SystemError(fmt::format("[alloc] out of memory: {} B for [{}]; allocated now:\n{}",
                                  size_B, options.tag, table()));
  return enlist(*block, options.tag, key.host_visible, key.uncached);
}

Block MemoryPool::adopt(Block imported, std::string tag) {
  std::lock_guard lock(mutex_);
  imported.imported = true;
  return enlist(imported, std::move(tag), true, false);
}

Block MemoryPool::enlist(Block block, std::string tag, bool host_visible, bool uncached) {
  block.serial = next_serial_++;
  live_.emplace(block.serial, Live{block, std::move(tag), host_visible, uncached});
  if (!block.imported) stats_.in_use_B += block.size_B;
  stats_.peak_in_use_B = std::max(stats_.peak_in_use_B, stats_.in_use_B);
  stats_.allocations = live_.size();
  return block;
}

void MemoryPool::put(const Block& block, const Values& last_use) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = live_.find(block.serial);
  CHECK_INVARIANT(found != live_.end(), "a block was given back twice");
  const Key key{block.size_B, found->second.host_visible, found->second.uncached};
  live_.erase(found);
  stats_.allocations = live_.size();
  if (!block.imported) {
    stats_.in_use_B -= block.size_B;
    stats_.cached_B += block.size_B;
    free_[key].push_back({block, last_use});
    return;
  }
  lock.unlock();
  backend_.release(block);
}

void MemoryPool::drop_retired() {
  for (auto& [key, shelf] : free_) {
    const auto kept = std::stable_partition(shelf.begin(), shelf.end(),
                                            [&](const Free& f) { return !retired(f.last_use); });
    for (auto it = kept; it != shelf.end(); ++it) {
      stats_.cached_B -= it->block.size_B;
      backend_.release(it->block);
    }
    shelf.erase(kept, shelf.end());
  }
  std::erase_if(free_, [](const auto& entry) { return entry.second.empty(); });
}

void MemoryPool::flush() {
  std::lock_guard lock(mutex_);
  drop_retired();
}

void MemoryPool::wait_all_pending() {
  Values latest{};
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, shelf] : free_)
      for (const Free& f : shelf)
        for (size_t q = 0; q < kMaxQueues; ++q) latest[q] = std::max(latest[q], f.last_use[q]);
  }
  for (size_t q = 0; q < backend_.queue_count(); ++q) try {
      backend_.timeline(q)->wait(latest[q]);
    } catch (const DeviceFault&) {  // its memory is free all the same
    }
}

MemoryStats MemoryPool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

std::string MemoryPool::table() const {
  std::map<std::string, std::pair<size_t, size_t>> by_tag;
  for (const auto& [serial, live] : live_) {
    auto& [bytes, count] = by_tag[live.tag.empty() ? "untagged" : live.tag];
    bytes += live.block.size_B;
    ++count;
  }
  std::vector<std::pair<std::string, std::pair<size_t, size_t>>> rows(by_tag.begin(), by_tag.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::string out =
      fmt::format("  {:>16} B in use, {} B cached\n", stats_.in_use_B, stats_.cached_B);
  constexpr size_t kRows = 20;
  for (size_t i = 0; i < std::min(rows.size(), kRows); ++i)
    out += fmt::format("  {:>16} B in {:>6} allocations of [{}]\n", rows[i].second.first,
                       rows[i].second.second, rows[i].first);
  if (rows.size() > kRows) out += fmt::format("  and {} more tags\n", rows.size() - kRows);
  return out;
}

std::string MemoryPool::describe(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const Live* nearest = nullptr;
  uint64_t best = ~uint64_t{0};
  for (const auto& [serial, live] : live_) {
    const uint64_t begin = live.block.address, end = begin + live.block.size_B;
    if (begin == 0) continue;
    const uint64_t distance = address < begin ? begin - address : address < end ? 0 : address - end;
    if (distance < best || !nearest) nearest = &live, best = distance;
  }
  if (!nearest) return "no allocation exists";
  const Block& b = nearest->block;
  const std::string what = fmt::format("[{}] {} B at {:#x}", nearest->tag, b.size_B, b.address);
  if (address < b.address) return fmt::format("{} B before {}", best, what);
  if (address < b.address + b.size_B) return fmt::format("{} B into {}", address - b.address, what);
  return fmt::format("{} B past the end of {}", best, what);
}

}  // namespace tiny
