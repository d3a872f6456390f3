// SPDX-License-Identifier: MIT
// Between tensors and the container: one tensor's bytes in memory at a time.
#include <rt_tiny/frontend/io/safetensors.h>

#include "frontend/io/safetensors_format.h"
#include "frontend/io/safetensors_rules.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tiny {
namespace {

using io::SafetensorsEntry;
using io::SafetensorsHeader;
static_assert(std::endian::native == std::endian::little, "the format and the host agree on bytes");

std::vector<SafetensorsEntry> entries_of(const std::string& path,
                                         const std::map<std::string, Tensor>& tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined())
      io::safetensors::fail(path, fmt::format("tensor '{}' is undefined", name));
    entries.push_back({.name = name, .dtype = tensor.dtype(), .shape = tensor.shape()});
  }
  return entries;
}

/// A bool is a byte 0 or 1 everywhere in here; another value would break its users silently.
void check_booleans(const SafetensorsEntry& e, std::span<const uint8_t> bytes,
                    const std::string& path) {
  if (e.dtype != DType::boolean) return;
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](uint8_t b) { return b > 1; });
  if (bad != bytes.end())
    io::safetensors::fail(path, fmt::format("tensor '{}': element {} is {}, which is no bool",
                                            e.name, bad - bytes.begin(), *bad));
}

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const SafetensorsHeader header =
      io::layout_safetensors(entries_of(path, tensors), metadata, path);
  std::vector<Tensor> all;
  for (const auto& [name, tensor] : tensors) all.push_back(tensor);
  realize(all);
  std::vector<std::byte> bytes;  // outlives each call of the writer
  io::write_safetensors(path, header, [&](const SafetensorsEntry& e) {
    bytes = tensors.at(e.name).to_bytes();
    return std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  });
}

std::map<std::string, Tensor> load_safetensors(const std::string& path) {
  const Mapping file = Mapping::of_file(path);
  const SafetensorsHeader header = io::parse_safetensors(file.bytes(), path);
  std::map<std::string, Tensor> tensors;
  for (const SafetensorsEntry& e : header.entries) {
    const auto bytes = file.bytes().subspan(header.data_B + e.begin_B, e.end_B - e.begin_B);
    check_booleans(e, bytes, path);
    tensors.emplace(e.name, Tensor::from_bytes(e.dtype, e.shape, std::as_bytes(bytes)));
  }
  return tensors;
}

std::map<std::string, std::string> safetensors_metadata(const std::string& path) {
  const Mapping file = Mapping::of_file(path);
  return io::parse_safetensors(file.bytes(), path).metadata;
}

}  // namespace tiny
