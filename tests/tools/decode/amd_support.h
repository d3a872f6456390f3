// SPDX-License-Identifier: MIT
// Helpers of the AMD decoder tests: a buffer with a name, words as bytes, lines as text.
#pragma once

#include "tools/decode/amd.h"

#include <fmt/format.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace amd_test {

using namespace tiny::decode;

/// 64 KiB at 0x7f0000100000 are buf3.
class OneBuffer final : public Symbols {
 public:
  static constexpr std::uint64_t kBase = 0x7f0000100000;
  std::string address(std::uint64_t va) const override {
    if (va >= kBase && va < kBase + 0x10000) return fmt::format("buf3+{:#x}", va - kBase);
    return fmt::format("{:#x}", va);
  }
};
inline const OneBuffer kSymbols;

inline std::string text(const Lines& lines) {
  std::string all;
  for (const Line& line : lines) all += to_text(line) + "\n";
  return all;
}

inline std::string pm4(std::vector<std::uint32_t> words, Gfx gfx = Gfx::gfx11) {
  return text(decode_pm4(words, gfx, kSymbols));
}

inline std::string sdma(std::vector<std::uint32_t> words, Sdma version = Sdma::v6_0) {
  return text(decode_sdma(words, version, kSymbols));
}

/// A structure filled by offset.
class Blob {
 public:
  explicit Blob(std::size_t size_B) : bytes_(size_B) {}
  template <class T>
  Blob& put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The field of a line by name; empty where there is none.
inline std::string field(const Line& line, std::string_view name) {
  for (const Field& one : line.fields)
    if (one.name == name) return one.text;
  return {};
}

}  // namespace amd_test
