// SPDX-License-Identifier: MIT
// idx parsing: nothing in the header is believed before it is checked against the file's size.
#include "frontend/io/idx.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tiny::io {
namespace {

constexpr size_t kMagic_B = 4;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw UsageError(fmt::format("[idx] {}: {}", path, reason));
}

DType dtype_of_code(uint8_t code, const std::string& path) {
  switch (code) {
    case 0x08:
      return DType::u8;
    case 0x09:
      return DType::i8;
    case 0x0b:
      return DType::i16;
    case 0x0c:
      return DType::i32;
    case 0x0d:
      return DType::f32;
    case 0x0e:
      return DType::f64;
  }
  fail(path, fmt::format("unknown element type 0x{:02x}", code));
}

uint32_t read_be32(std::span<const uint8_t> b) {
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | uint32_t{b[3]};
}

uint64_t data_size_B(const IdxArray& array, const std::string& path) {
  uint64_t total_B = size_B(array.dtype);
  for (const int64_t dim : array.shape)
    if (__builtin_mul_overflow(total_B, static_cast<uint64_t>(dim), &total_B))
      fail(path, fmt::format("shape [{}] overflows", fmt::join(array.shape, ", ")));
  return total_B;
}

}  // namespace

IdxArray parse_idx(std::span<const uint8_t> bytes, const std::string& path) {
  if (bytes.size() < kMagic_B)
    fail(path, fmt::format("truncated: {} bytes are no header", bytes.size()));
  if (bytes[0] != 0 || bytes[1] != 0) fail(path, "not an idx file (bad magic number)");
  IdxArray array{.dtype = dtype_of_code(bytes[2], path), .shape = {}, .data = {}};
  const size_t rank = bytes[3], header_B = kMagic_B + 4 * rank;
  if (rank == 0) fail(path, "an idx array has at least one dimension");
  if (bytes.size() < header_B)
    fail(path, fmt::format("truncated: a header of rank {} needs {} bytes, the file has {}", rank,
                           header_B, bytes.size()));
  for (size_t i = 0; i < rank; ++i)
    array.shape.push_back(read_be32(bytes.subspan(kMagic_B + 4 * i)));
  const uint64_t want_B = data_size_B(array, path);
  array.data = bytes.subspan(header_B);
  if (array.data.size() != want_B)
    fail(path,
         fmt::format("{}: {} of shape [{}] needs {} bytes of data, the file has {}",
                     array.data.size() < want_B ? "truncated" : "trailing bytes", name(array.dtype),
                     fmt::join(array.shape, ", "), want_B, array.data.size()));
  return array;
}

}  // namespace tiny::io
