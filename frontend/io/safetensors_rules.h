// SPDX-License-Identifier: MIT
// Limits, names and size arithmetic that the safetensors reader and writer share.
#pragma once

#include "frontend/io/safetensors_format.h"

#include <optional>
#include <string_view>

namespace tiny::io::safetensors {

inline constexpr size_t kSizeField_B = 8;
inline constexpr uint64_t kMaxHeader_B = 100'000'000;  // reference implementation, MAX_HEADER_SIZE
inline constexpr size_t kMaxRank = 64;                 // ours; real files stay below 8
inline constexpr size_t kMaxEntries = 1'000'000;       // ours; keeps a hostile header cheap
inline constexpr std::string_view kMetadataKey = "__metadata__";

/// Throws UsageError "[safetensors] path: reason".
[[noreturn]] void fail(const std::string& path, const std::string& reason);

/// The element type that the format calls `text` ("F32"), if there is one here.
std::optional<DType> dtype_of(std::string_view text);
/// The format's name of an element type; the format names all of ours.
std::string_view format_name(DType dtype);

/// Bytes of the tensor; throws where the product overflows.
uint64_t tensor_size_B(const SafetensorsEntry& entry, const std::string& path);

}  // namespace tiny::io::safetensors
