// SPDX-License-Identifier: MIT
// Builds commands as dwords with relocations. Knows no packet format.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include "runtime/hwqueue/relocation.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tiny {

class TINY_API DwordStream {
 public:
  void emit(uint32_t word) { words_.push_back(word); }
  void emit(std::span<const uint32_t> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  void emit64(uint64_t value) {
    emit(static_cast<uint32_t>(value));
    emit(static_cast<uint32_t>(value >> 32));
  }

  /// The next relocation's fixed value; equal values share an index only by the caller's choice.
  uint32_t add_fixed(uint64_t value);
  /// 64-bit value at dword `at`.
  void relocate64(size_t at_dw, RelocationSource source) {
    relocations_.push_back({static_cast<uint32_t>(at_dw * 4), 8, 0, 0, ~uint64_t{0}, source});
  }
  void relocate32(size_t at_dw, RelocationSource source) {
    relocations_.push_back({static_cast<uint32_t>(at_dw * 4), 4, 0, 0, 0xffffffff, source});
  }
  /// Any field; `offset_B` counts from the start of the stream.
  void relocate(const Relocation& relocation) { relocations_.push_back(relocation); }

  /// Folds in the link-time half.
  void link();

  size_t size_dw() const { return words_.size(); }
  std::span<const uint32_t> words() const { return words_; }
  std::span<const Relocation> relocations() const { return relocations_; }
  std::vector<uint32_t> take_words() { return std::move(words_); }
  std::vector<Relocation> take_relocations() { return std::move(relocations_); }

 private:
  std::vector<uint32_t> words_;
  std::vector<Relocation> relocations_;
  std::vector<uint64_t> fixed_;
};

/// The bytes of dwords, for `apply`.
inline std::span<uint8_t> bytes_of(std::span<uint32_t> words) {
  return {reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()};
}

}  // namespace tiny
