// SPDX-License-Identifier: MIT
#include "tools/trace/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny::trace {
namespace {

/// Longer ranges are no buffers, but arguments that a call made up.
constexpr std::uint64_t kMaxRange_B = std::uint64_t{1} << 48;

}  // namespace

std::uint32_t Names::role_index(std::string_view role) {
  const auto found = std::find(roles_.begin(), roles_.end(), role);
  const auto index = static_cast<std::uint32_t>(found - roles_.begin());
  if (found == roles_.end()) {
    roles_.emplace_back(role);
    used_.push_back(0);
  }
  return index;
}

const std::pair<const std::uint64_t, Names::Segment>* Names::find(std::uint64_t va) const {
  auto after = segments_.upper_bound(va);
  if (after == segments_.begin()) return nullptr;
  --after;
  return va < after->second.end ? &*after : nullptr;
}

/// Makes a segment that covers `at` end there, and another begin.
void Names::split(std::uint64_t at) {
  const auto* found = find(at);
  if (!found || found->first == at) return;
  const Segment right = found->second;
  segments_[found->first].end = at;
  segments_[at] = right;
}

void Names::add(std::uint64_t address, std::uint64_t size_B, std::string_view role) {
  size_B = std::min(size_B, UINT64_MAX - address);
  if (address == 0 || size_B == 0 || size_B > kMaxRange_B) return;
  const auto* known = find(address);
  const std::uint32_t index = role_index(role);
  if (known && known->first == address && known->second.base == address &&
      known->second.end == address + size_B && (known->second.role == index || role == "buf"))
    return;
  remove(address, size_B);
  segments_[address] = {address + size_B, address, index, used_[index]++};
}

void Names::remove(std::uint64_t address, std::uint64_t size_B) {
  size_B = std::min(size_B, UINT64_MAX - address);
  if (size_B == 0) return;
  split(address);
  split(address + size_B);
  segments_.erase(segments_.lower_bound(address), segments_.lower_bound(address + size_B));
}

std::string Names::name_at(std::uint64_t va) const {
  const auto* found = find(va);
  return found ? fmt::format("{}{}", roles_[found->second.role], found->second.number) : "";
}

std::string Names::address(std::uint64_t va) const {
  const auto* found = find(va);
  if (!found) return fmt::format("{:#x}", va);
  const std::uint64_t offset = va - found->second.base;
  return offset ? fmt::format("{}+{:#x}", name_at(va), offset) : name_at(va);
}

}  // namespace tiny::trace
