// SPDX-License-Identifier: MIT
// Element type names and overflow-checked sizes of the safetensors format.
#include "frontend/io/safetensors_rules.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tiny::io::safetensors {
namespace {

constexpr std::pair<std::string_view, DType> kNames[] = {
    {"BOOL", DType::boolean}, {"U8", DType::u8},   {"U16", DType::u16},   {"U32", DType::u32},
    {"U64", DType::u64},      {"I8", DType::i8},   {"I16", DType::i16},   {"I32", DType::i32},
    {"I64", DType::i64},      {"F16", DType::f16}, {"BF16", DType::bf16}, {"F32", DType::f32},
    {"F64", DType::f64}};
static_assert(std::size(kNames) == kDTypeCount);

}  // namespace

void fail(const std::string& path, const std::string& reason) {
  throw UsageError(fmt::format("[safetensors] {}: {}", path, reason));
}

std::optional<DType> dtype_of(std::string_view text) {
  for (const auto& [known, dtype] : kNames)
    if (known == text) return dtype;
  return std::nullopt;
}

std::string_view format_name(DType dtype) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [dtype](const auto& row) { return row.second == dtype; });
  CHECK_INVARIANT(found != std::end(kNames), "every DType has a safetensors name");
  return found->first;
}

uint64_t tensor_size_B(const SafetensorsEntry& entry, const std::string& path) {
  uint64_t total_B = size_B(entry.dtype);
  for (const int64_t dim : entry.shape)
    if (dim < 0 || __builtin_mul_overflow(total_B, static_cast<uint64_t>(dim), &total_B))
      fail(path, fmt::format("tensor '{}': shape [{}] overflows", entry.name,
                             fmt::join(entry.shape, ", ")));
  return total_B;
}

}  // namespace tiny::io::safetensors
