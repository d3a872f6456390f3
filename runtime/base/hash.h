// SPDX-License-Identifier: MIT
// 128-bit content hashes (XXH3) for cache keys. Not for adversaries.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

struct XXH3_state_s;

namespace tiny {

struct TINY_API Hash128 {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Hash128&) const = default;
  /// 32 hexadecimal digits, high half first.
  std::string hex() const;
};

/// Hash of the bytes alone.
TINY_API Hash128 hash128(std::span<const uint8_t> bytes);
TINY_API Hash128 hash128(std::string_view text);

/// Hashes a sequence of fields. Texts and byte spans are prefixed with their length, so that
/// ("ab", "c") and ("a", "bc") differ.
class TINY_API Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&& other) noexcept;
  Hasher& operator=(Hasher&& other) noexcept;

  Hasher& add(std::string_view text);
  Hasher& add(const char* text) { return add(std::string_view(text)); }
  Hasher& add(std::span<const uint8_t> bytes);
  Hasher& add(const Hash128& hash);
  /// A number or enumeration by its object bytes (a bool is one byte).
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  Hasher& add(T value) {
    return add_raw(&value, sizeof value);
  }
  /// Bytes without a length prefix.
  Hasher& add_raw(const void* data, size_t size_B);
  Hash128 digest() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace tiny

template <>
struct std::hash<tiny::Hash128> {
  size_t operator()(const tiny::Hash128& h) const noexcept {
    return static_cast<size_t>(h.low ^ (h.high * 0x9e3779b97f4a7c15ull));
  }
};
