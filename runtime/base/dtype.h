// SPDX-License-Identifier: MIT
// The element types of tensors, buffers and expressions, and how they promote. Knows no tensors.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tiny {

/// Element type. Order matters inside a family only: wider types come later.
enum class DType : uint8_t { boolean, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr int kDTypeCount = 13;

/// Size of one element in bytes (boolean is one byte holding 0 or 1).
TINY_API size_t size_B(DType);
/// Short name as printed and parsed: "bool", "u8", …, "f32".
TINY_API std::string_view name(DType);
/// Inverse of `name`; throws UsageError on an unknown name.
TINY_API DType parse_dtype(std::string_view);

constexpr bool is_float(DType t) { return t >= DType::f16; }
constexpr bool is_unsigned(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
/// Integers proper: boolean is not one.
constexpr bool is_int(DType t) { return t >= DType::u8 && t <= DType::i64; }

/// PyTorch's promotion of two *tensor* element types. Unsigned types wider than u8 promote like
/// signed ones of the next width (u64 with a signed type gives f32, as there is no wider integer).
TINY_API DType promote(DType, DType);

/// IEEE binary16 stored as its bits; conversions are bit-exact, round to nearest even.
struct TINY_API Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float);
  explicit operator float() const;
};
/// bfloat16 stored as its bits; conversions are bit-exact, round to nearest even, NaN stays NaN.
struct TINY_API BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float);
  explicit operator float() const;
};

/// The DType of a C++ element type.
// clang-format off: a table
template <class T> struct DTypeOf;
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<uint16_t> { static constexpr DType value = DType::u16; };
template <> struct DTypeOf<uint32_t> { static constexpr DType value = DType::u32; };
template <> struct DTypeOf<uint64_t> { static constexpr DType value = DType::u64; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::i16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<Half> { static constexpr DType value = DType::f16; };
template <> struct DTypeOf<BFloat16> { static constexpr DType value = DType::bf16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
// clang-format on
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tiny
