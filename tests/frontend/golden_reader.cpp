// SPDX-License-Identifier: MIT
// Parsing of golden files and comparison of results; tools/golden/golden_case.py has the format.
#include "tests/frontend/golden_reader.h"

#include "frontend/io/gzip.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tiny::golden {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "TGOLDEN1";
constexpr std::string_view kEnding = ".golden.gz";
constexpr size_t kMaxFile_B = size_t{64} << 20;
constexpr size_t kHeader_B = 12;

template <class T>
T element(std::span<const std::byte> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double number_at(DType dtype, std::span<const std::byte> bytes, size_t i) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return element<uint8_t>(bytes, i);
    case DType::u16:
      return element<uint16_t>(bytes, i);
    case DType::u32:
      return element<uint32_t>(bytes, i);
    case DType::u64:
      return static_cast<double>(element<uint64_t>(bytes, i));
    case DType::i8:
      return element<int8_t>(bytes, i);
    case DType::i16:
      return element<int16_t>(bytes, i);
    case DType::i32:
      return element<int32_t>(bytes, i);
    case DType::i64:
      return static_cast<double>(element<int64_t>(bytes, i));
    case DType::f16:
      return static_cast<float>(element<Half>(bytes, i));
    case DType::bf16:
      return static_cast<float>(element<BFloat16>(bytes, i));
    case DType::f32:
      return element<float>(bytes, i);
    case DType::f64:
      return element<double>(bytes, i);
  }
  return 0;
}

bool close(double got, double want, Tolerance tolerance, bool signed_zero) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  if (signed_zero && got == 0 && want == 0) return std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= tolerance.atol + tolerance.rtol * std::abs(want);
}

/// Integers are compared as bytes: i64 does not fit a double.
bool same_bytes(const Stored& want, std::span<const std::byte> got, size_t i) {
  const size_t element_B = size_B(want.dtype);
  return std::memcmp(want.bytes.data() + i * element_B, got.data() + i * element_B, element_B) == 0;
}

std::string place(size_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<size_t>(shape[axis]);
    index[axis] = static_cast<int64_t>(flat % extent);
    flat /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::vector<std::byte> unpacked(const std::string& path) {
  const std::vector<uint8_t> bytes = io::gunzip(read_file(path), path, kMaxFile_B);
  if (bytes.size() < kHeader_B || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    throw UsageError(fmt::format("[golden] {}: not a golden file", path));
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

uint32_t read_le32(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

void Stored::check_type(DType asked) const {
  CHECK_INVARIANT(asked == dtype,
                  fmt::format("asked for {}, stored is {}", name(asked), name(dtype)));
}

std::vector<double> Stored::numbers() const {
  std::vector<double> all(count());
  for (size_t i = 0; i < all.size(); ++i) all[i] = number_at(dtype, bytes, i);
  return all;
}

File::File(const std::string& path) : path_(path) {
  const std::vector<std::byte> raw = unpacked(path);
  const size_t index_B = read_le32(std::span(raw).subspan(kMagic.size()));
  if (index_B > raw.size() - kHeader_B)
    throw UsageError(fmt::format("[golden] {}: truncated", path));
  const auto* text = reinterpret_cast<const char*>(raw.data()) + kHeader_B;
  blob_.assign(raw.begin() + static_cast<std::ptrdiff_t>(kHeader_B + index_B), raw.end());
  try {
    for (const json& record : json::parse(text, text + index_B))
      cases_.push_back(parse_case(record));
  } catch (const json::exception& e) {
    throw UsageError(fmt::format("[golden] {}: {}", path, e.what()));
  }
}

Stored File::stored(const json& reference) const {
  Stored tensor;
  tensor.dtype = parse_dtype(reference.at("d").get<std::string>());
  tensor.shape = reference.at("s").get<std::vector<int64_t>>();
  const auto offset_B = reference.at("o").get<size_t>();
  size_t wanted_B = size_B(tensor.dtype);
  for (const int64_t extent : tensor.shape) wanted_B *= static_cast<size_t>(extent);
  if (offset_B > blob_.size() || wanted_B > blob_.size() - offset_B)
    throw UsageError(fmt::format("[golden] {}: a tensor lies outside the file", path_));
  tensor.bytes = std::span(blob_).subspan(offset_B, wanted_B);
  if (reference.contains("m")) tensor.moves = reference.at("m");
  return tensor;
}

std::optional<Stored> File::stored_or_none(const json& reference) const {
  if (reference.is_null()) return std::nullopt;
  return stored(reference);
}

Case File::parse_case(const json& record) const {
  Case c;
  c.name = record.at("name").get<std::string>();
  c.op = record.at("op").get<std::string>();
  c.params = record.at("params");
  for (const json& r : record.at("inputs")) c.inputs.push_back(stored(r));
  for (const json& r : record.at("outputs")) c.outputs.push_back(stored(r));
  for (const json& r : record.value("upstream", json::array()))
    c.upstream.push_back(stored_or_none(r));
  for (const json& r : record.value("grads", json::array())) c.grads.push_back(stored_or_none(r));
  const auto tol = record.at("tol").get<std::vector<double>>();
  c.tolerance = {tol.at(0), tol.at(1)};
  c.grad_tolerance = {tol.at(2), tol.at(3)};
  c.signed_zero = record.value("signed_zero", false);
  return c;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(kEnding)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

double real(const json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                           : value.get<double>();
}

std::string mismatch(const Stored& want, DType dtype, const std::vector<int64_t>& shape,
                     std::span<const std::byte> got, Tolerance tolerance, bool signed_zero) {
  if (dtype != want.dtype)
    return fmt::format("element type is {}, expected {}", name(dtype), name(want.dtype));
  if (shape != want.shape)
    return fmt::format("shape is [{}], expected [{}]", fmt::join(shape, ", "),
                       fmt::join(want.shape, ", "));
  if (got.size() != want.bytes.size())
    return fmt::format("{} bytes, expected {}", got.size(), want.bytes.size());
  size_t bad = 0;
  std::string first;
  for (size_t i = 0; i < want.count(); ++i) {
    const double g = number_at(dtype, got, i), w = number_at(dtype, want.bytes, i);
    if (is_float(dtype) ? close(g, w, tolerance, signed_zero) : same_bytes(want, got, i)) continue;
    if (bad++ == 0) first = fmt::format("at {}: {}, expected {}", place(i, shape), g, w);
  }
  return bad == 0 ? ""
                  : fmt::format("{} of {} elements differ, first {}", bad, want.count(), first);
}

}  // namespace tiny::golden
