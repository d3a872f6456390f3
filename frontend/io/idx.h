// SPDX-License-Identifier: MIT
// The idx format of the MNIST family: a typed, shaped array of big-endian elements. Parsing only.
#pragma once

#include <rt_tiny/runtime/base/dtype.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tiny::io {

struct IdxArray {
  DType dtype = DType::u8;     ///< u8, i8, i16, i32, f32 or f64
  std::vector<int64_t> shape;  ///< outermost first
  std::span<const uint8_t>
      data;  ///< inside the parsed bytes; elements wider than a byte big-endian
};

/// Reads an uncompressed idx file: 0 0 type rank, rank big-endian u32 dimensions, then the data
/// (yann.lecun.com/exdb/mnist, "The IDX file format"). The data must fill the file exactly.
/// Anything else throws UsageError "[idx] path: reason"; `path` only names the file in errors.
IdxArray parse_idx(std::span<const uint8_t> bytes, const std::string& path);

}  // namespace tiny::io
