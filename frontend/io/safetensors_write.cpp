// SPDX-License-Identifier: MIT
// safetensors writing: lay the tensors out, print the header, stream the data.
#include "frontend/io/atomic_file.h"
#include "frontend/io/safetensors_format.h"
#include "frontend/io/safetensors_rules.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace tiny::io {
namespace {

using safetensors::fail;
constexpr size_t kAlign_B = 8;  // of the data in the file: the widest element

std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

/// Printed by hand: entries keep the order of their bytes, and a tree would be a second copy.
std::string header_json(const SafetensorsHeader& header) {
  std::string text, comma;
  for (const auto& [key, value] : header.metadata)
    text += fmt::format("{}{}:{}", std::exchange(comma, ","), json_text(key), json_text(value));
  if (!text.empty()) text = fmt::format("{}:{{{}}}", json_text(safetensors::kMetadataKey), text);
  for (const SafetensorsEntry& e : header.entries)
    text +=
        fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                    text.empty() ? "" : ",", json_text(e.name), safetensors::format_name(e.dtype),
                    fmt::join(e.shape, ","), e.begin_B, e.end_B);
  return "{" + text + "}";
}

void check_names(const std::vector<SafetensorsEntry>& entries, const std::string& path) {
  std::vector<std::string_view> names;
  for (const SafetensorsEntry& e : entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail(path, fmt::format("tensor '{}' appears twice", *twice));
  if (std::binary_search(names.begin(), names.end(), safetensors::kMetadataKey))
    fail(path, fmt::format("'{}' is reserved and cannot name a tensor", safetensors::kMetadataKey));
}

bool before(const SafetensorsEntry& a, const SafetensorsEntry& b) {
  const size_t a_B = size_B(a.dtype), b_B = size_B(b.dtype);
  return a_B != b_B ? a_B > b_B : a.name < b.name;
}

}  // namespace

SafetensorsHeader layout_safetensors(std::vector<SafetensorsEntry> entries,
                                     std::map<std::string, std::string> metadata,
                                     const std::string& path) {
  check_names(entries, path);
  std::sort(entries.begin(), entries.end(), before);
  uint64_t at_B = 0;
  for (SafetensorsEntry& e : entries) {
    e.begin_B = at_B;
    if (__builtin_add_overflow(at_B, safetensors::tensor_size_B(e, path), &at_B))
      fail(path, fmt::format("tensor '{}': the total size overflows", e.name));
    e.end_B = at_B;
  }
  SafetensorsHeader header{std::move(entries), std::move(metadata), 0};
  try {
    header.data_B = serialise_safetensors(header).size();
  } catch (const nlohmann::json::type_error&) {  // dump() refuses what is not UTF-8
    fail(path, "a name or a metadata text is not valid UTF-8");
  }
  if (header.data_B - safetensors::kSizeField_B > safetensors::kMaxHeader_B)
    fail(path, fmt::format("a header of {} bytes is above the limit of {}", header.data_B,
                           safetensors::kMaxHeader_B));
  return header;
}

std::string serialise_safetensors(const SafetensorsHeader& header) {
  std::string json = header_json(header);
  json.resize((json.size() + kAlign_B - 1) / kAlign_B * kAlign_B, ' ');
  std::string bytes;
  for (size_t i = 0; i < safetensors::kSizeField_B; ++i)
    bytes.push_back(static_cast<char>(json.size() >> (8 * i)));
  return bytes + json;
}

uint64_t file_size_B(const SafetensorsHeader& header) {
  return header.data_B + (header.entries.empty() ? 0 : header.entries.back().end_B);
}

void write_safetensors(const std::string& path, const SafetensorsHeader& header,
                       const SafetensorsBytes& bytes_of) {
  AtomicFile file(path);
  const std::string head = serialise_safetensors(header);
  file.write({reinterpret_cast<const uint8_t*>(head.data()), head.size()});
  for (const SafetensorsEntry& e : header.entries) {
    const std::span<const uint8_t> bytes = bytes_of(e);
    CHECK_INVARIANT(bytes.size() == e.end_B - e.begin_B, "bytes of tensor " + e.name);
    file.write(bytes);
  }
  file.commit();
}

}  // namespace tiny::io
