// SPDX-License-Identifier: MIT
// safetensors header parsing: a strict event-driven JSON reader, then the rules on byte ranges.
// No JSON tree is built, so a hostile header costs no more memory than the tensors it declares.
#include "frontend/io/safetensors_format.h"
#include "frontend/io/safetensors_rules.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace tiny::io {
namespace {

using safetensors::fail;
using Json = nlohmann::json;

/// Consumes the JSON events of a header; any event that the format does not allow at its place
/// throws. The nesting is fixed: { name: { dtype, shape: [..], data_offsets: [..] } }.
class HeaderReader : public Json::json_sax_t {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& path) : header_(header), path_(path) {}

  bool start_object(std::size_t) override {
    if (place_ == Place::start) return enter(Place::top);
    if (place_ != Place::top) unexpected("an object");
    if (key_ == safetensors::kMetadataKey) return enter(Place::metadata);
    if (header_.entries.size() == safetensors::kMaxEntries) fail(path_, "too many tensors");
    header_.entries.push_back({.name = key_, .dtype = {}, .shape = {}});
    seen_ = {};
    return enter(Place::tensor);
  }

  bool end_object() override {
    if (place_ == Place::top) return enter(Place::end);
    if (place_ == Place::tensor) check_fields();
    return enter(Place::top);
  }

  bool key(string_t& key) override {
    if (place_ == Place::top) return top_key(key);
    if (place_ == Place::metadata && !header_.metadata.try_emplace(key).second)
      fail(path_, fmt::format("metadata '{}' appears twice", key));
    key_ = key;
    if (place_ == Place::tensor) field_key();
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape") return enter(Place::shape);
    if (place_ == Place::tensor && key_ == "data_offsets") return enter(Place::offsets);
    unexpected("an array");
  }

  bool end_array() override {
    if (place_ == Place::offsets && offset_count_ != 2)
      fail(path_, fmt::format("tensor '{}': data_offsets needs 2 numbers", entry().name));
    return enter(Place::tensor);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) return add_dim(value);
    if (place_ == Place::offsets) return add_offset(value);
    unexpected("a number");
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = value;
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") unexpected("a string");
    const auto dtype = safetensors::dtype_of(value);
    if (!dtype)
      fail(path_, fmt::format("tensor '{}': dtype '{}' is not supported", entry().name, value));
    entry().dtype = *dtype;
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a fraction"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    fail(path_, fmt::format("the header is not valid JSON in UTF-8 (at byte {} of it)", at));
  }

 private:
  enum class Place { start, top, metadata, tensor, shape, offsets, end };
  struct Seen {
    bool dtype = false, shape = false, data_offsets = false;
  };

  [[noreturn]] void unexpected(const char* what) const {
    fail(path_, fmt::format("the header has {} where none belongs (near '{}')", what, key_));
  }
  bool enter(Place place) {
    place_ = place;
    return true;
  }
  SafetensorsEntry& entry() { return header_.entries.back(); }

  bool top_key(const std::string& key) {
    key_ = key;
    if (!names_.insert(key).second) fail(path_, fmt::format("tensor '{}' appears twice", key));
    return true;
  }

  void field_key() {
    bool* seen = key_ == "dtype"          ? &seen_.dtype
                 : key_ == "shape"        ? &seen_.shape
                 : key_ == "data_offsets" ? &seen_.data_offsets
                                          : nullptr;
    if (!seen) fail(path_, fmt::format("tensor '{}': unknown field '{}'", entry().name, key_));
    if (*seen) fail(path_, fmt::format("tensor '{}': '{}' appears twice", entry().name, key_));
    *seen = true;
    if (key_ == "data_offsets") offset_count_ = 0;
  }

  void check_fields() {
    const char* missing = !seen_.dtype          ? "dtype"
                          : !seen_.shape        ? "shape"
                          : !seen_.data_offsets ? "data_offsets"
                                                : nullptr;
    if (missing) fail(path_, fmt::format("tensor '{}': no '{}'", entry().name, missing));
  }

  bool add_dim(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail(path_, fmt::format("tensor '{}': dimension {} is too large", entry().name, value));
    if (entry().shape.size() == safetensors::kMaxRank)
      fail(path_, fmt::format("tensor '{}': more than {} dimensions", entry().name,
                              safetensors::kMaxRank));
    entry().shape.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool add_offset(uint64_t value) {
    if (offset_count_ == 2)
      fail(path_, fmt::format("tensor '{}': data_offsets needs 2 numbers", entry().name));
    (offset_count_++ == 0 ? entry().begin_B : entry().end_B) = value;
    return true;
  }

  SafetensorsHeader& header_;
  const std::string& path_;
  Place place_ = Place::start;
  std::string key_;
  std::set<std::string> names_;
  Seen seen_;
  int offset_count_ = 0;
};

uint64_t header_size_B(std::span<const uint8_t> file, const std::string& path) {
  if (file.size() < safetensors::kSizeField_B)
    fail(path, fmt::format("truncated: {} bytes are no header", file.size()));
  uint64_t size_B = 0;
  for (size_t i = 0; i < safetensors::kSizeField_B; ++i) size_B |= uint64_t{file[i]} << (8 * i);
  if (size_B > safetensors::kMaxHeader_B)
    fail(path, fmt::format("header of {} bytes is above the limit of {}", size_B,
                           safetensors::kMaxHeader_B));
  if (size_B > file.size() - safetensors::kSizeField_B)
    fail(path, fmt::format("truncated: the header has {} bytes, the file {}", size_B, file.size()));
  return size_B;
}

void check_entry(const SafetensorsEntry& e, uint64_t expected_begin_B, const std::string& path) {
  const uint64_t want_B = safetensors::tensor_size_B(e, path);
  if (e.end_B < e.begin_B || e.end_B - e.begin_B != want_B)
    fail(path,
         fmt::format("tensor '{}': {} of shape [{}] needs {} bytes, data_offsets are [{}, {}]",
                     e.name, name(e.dtype), fmt::join(e.shape, ", "), want_B, e.begin_B, e.end_B));
  if (e.begin_B != expected_begin_B)
    fail(path, fmt::format("tensor '{}': {} at byte {} of the data, expected to begin at {}",
                           e.name, e.begin_B < expected_begin_B ? "overlap" : "hole", e.begin_B,
                           expected_begin_B));
}

/// The entries, in the order of their bytes, must tile the data exactly.
void check_ranges(SafetensorsHeader& header, uint64_t data_size_B, const std::string& path) {
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin_B, a.end_B) < std::pair(b.begin_B, b.end_B);
  });
  uint64_t at_B = 0;
  for (const SafetensorsEntry& e : header.entries) {
    check_entry(e, at_B, path);
    at_B = e.end_B;
  }
  if (at_B == data_size_B) return;
  fail(path, fmt::format("{}: the tensors need {} bytes of data, the file has {}",
                         at_B > data_size_B ? "truncated" : "trailing bytes", at_B, data_size_B));
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const uint8_t> file, const std::string& path) {
  const uint64_t size_B = header_size_B(file, path);
  const auto text = file.subspan(safetensors::kSizeField_B, size_B);
  if (text.empty() || text[0] != '{') fail(path, "the header does not begin with '{'");
  SafetensorsHeader header;
  header.data_B = safetensors::kSizeField_B + size_B;
  HeaderReader reader(header, path);
  Json::sax_parse(text.begin(), text.end(), &reader);
  check_ranges(header, file.size() - header.data_B, path);
  return header;
}

}  // namespace tiny::io
