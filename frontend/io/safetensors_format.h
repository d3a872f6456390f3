// SPDX-License-Identifier: MIT
// The safetensors container: header parsing, checking and writing. Bytes only; knows no tensors.
#pragma once

#include <rt_tiny/runtime/base/dtype.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tiny::io {

/// One tensor of a file. The byte range counts from the end of the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin_B = 0, end_B = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        ///< in the order of their bytes
  std::map<std::string, std::string> metadata;  ///< the "__metadata__" object
  uint64_t data_B = 0;                          ///< where the data begins in the file
};

/// Reads and checks the header of a whole file (github.com/huggingface/safetensors, "Format"):
/// a little-endian u64 header size of at most 100 MB, a JSON object, then data that the entries
/// cover exactly, without holes or overlaps. A broken rule throws UsageError
/// "[safetensors] path: reason"; `path` only names the file in errors.
SafetensorsHeader parse_safetensors(std::span<const uint8_t> file, const std::string& path);

/// Gives every entry its byte range (widest elements first, then by name, so that each tensor is
/// aligned to its element) and sets `data_B`. Throws UsageError on a name that is taken twice,
/// reserved or not UTF-8, and on a shape that overflows.
SafetensorsHeader layout_safetensors(std::vector<SafetensorsEntry> entries,
                                     std::map<std::string, std::string> metadata,
                                     const std::string& path);

/// The bytes before the data: size and JSON, padded with spaces to a multiple of 8.
std::string serialise_safetensors(const SafetensorsHeader& header);

/// Total size of the file that `header` describes.
uint64_t file_size_B(const SafetensorsHeader& header);

/// Writes a whole file, or nothing: the bytes go to a temporary file in the same folder that takes
/// the name `path` at the end. `bytes_of` is called once an entry, in the order of the header, so
/// that only one tensor need be in memory; it returns exactly the entry's bytes.
using SafetensorsBytes = std::function<std::span<const uint8_t>(const SafetensorsEntry&)>;
void write_safetensors(const std::string& path, const SafetensorsHeader& header,
                       const SafetensorsBytes& bytes_of);

}  // namespace tiny::io
