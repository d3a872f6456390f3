// SPDX-License-Identifier: MIT
// Whole-file gunzip in memory, with a cap on what may come out. Knows no tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tiny::io {

/// True when the bytes begin with the gzip magic number (RFC 1952, section 2.3.1).
bool is_gzip(std::span<const uint8_t> bytes);

/// Decompresses every member of a gzip file. `path` only names the file in errors.
/// Truncated or corrupt input, bytes after the last member, or more than `max_size_B` bytes of
/// output throw UsageError "[gzip] path: reason".
std::vector<uint8_t> gunzip(std::span<const uint8_t> bytes, const std::string& path,
                            size_t max_size_B);

}  // namespace tiny::io
