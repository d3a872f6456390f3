// SPDX-License-Identifier: MIT
#include "tools/decode/nv.h"

#include "tools/decode/nv_tables.h"

#include <fmt/format.h>
#include <charconv>
#include <unordered_set>
#include <utility>

namespace tiny::decode {
namespace {

/// The branches of the tables; a newer driver of unknown branch keeps to the nearest below.
struct Branch {
  std::uint32_t major;
  std::string_view name;
};
constexpr Branch kBranches[] = {{550, "550"}, {570, "570"}, {580, "580"},
                                {590, "590"}, {595, "595"}, {610, "610"}};

std::uint64_t key(std::uint32_t client, std::uint32_t handle) {
  return std::uint64_t{client} << 32 | handle;
}

/// Where a broken trace invents handles without end, the oldest knowledge goes.
constexpr std::size_t kMaxObjects = 1 << 20;

}  // namespace

void NvState::set_driver_version(std::string_view version) {
  std::uint32_t major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major == 0 || version == version_) return;
  version_ = version;
  const Branch* nearest = &kBranches[0];
  for (const Branch& branch : kBranches)
    if (branch.major <= major) nearest = &branch;
  branch_ = nearest->name;
  note_.clear();
  if (nearest->major != major)
    note_ = fmt::format("driver {} is not in the tables: layouts of {}", version, branch_);
}

std::string NvState::take_note() { return std::exchange(note_, {}); }

void NvState::add_object(std::uint32_t client, std::uint32_t handle, std::uint32_t parent,
                         std::uint32_t class_id) {
  if (handle == 0) return;
  if (objects_.size() >= kMaxObjects) objects_.clear();
  objects_[key(client, handle)] = {class_id, parent};
}

void NvState::remove_object(std::uint32_t client, std::uint32_t handle) {
  std::unordered_set<std::uint32_t> gone = {handle};
  for (std::size_t before = 0; before != gone.size();) {
    before = gone.size();
    std::erase_if(objects_, [&](const auto& entry) {
      if (entry.first >> 32 != client) return false;
      const auto own = static_cast<std::uint32_t>(entry.first);
      const bool below = client == handle || own == handle || gone.contains(entry.second.parent);
      if (below) gone.insert(own);
      return below;
    });
  }
}

std::optional<std::uint32_t> NvState::object_class(std::uint32_t client,
                                                   std::uint32_t handle) const {
  const auto found = objects_.find(key(client, handle));
  if (found == objects_.end()) return std::nullopt;
  return found->second.class_id;
}

std::string NvState::handle_text(std::uint32_t client, std::uint32_t handle) const {
  if (handle == 0) return "0";
  const auto class_id = object_class(client, handle);
  if (!class_id || client == handle) return fmt::format("{:#x}", handle);
  return fmt::format("{:#x}({})", handle, nv::name_text("class", *class_id, branch_));
}

}  // namespace tiny::decode
