// SPDX-License-Identifier: MIT
// Small argument types of the Tensor interface: shapes, untyped scalars, axes, slices, nested
// lists.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/dtype.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tiny {

using Shape = std::vector<int64_t>;

/// A C++ number as an operand. It is weaker than any tensor: it changes a tensor's element type
/// only when its kind (bool < integer < real) is above the tensor's.
class TINY_API Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, real };

  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T v)  // NOLINT(google-explicit-constructor): x * 2 must work
      : kind_(std::is_same_v<T, bool>       ? Kind::boolean
              : std::is_floating_point_v<T> ? Kind::real
                                            : Kind::integer) {
    if constexpr (std::is_floating_point_v<T>) {
      real_ = static_cast<double>(v);
    } else {
      integer_ = static_cast<int64_t>(v);
      real_ = static_cast<double>(v);
    }
  }

  Kind kind() const { return kind_; }
  /// Reals truncate toward zero and saturate; NaN is 0.
  int64_t integer() const;
  double real() const { return real_; }
  /// The element type it has by itself: bool, i64 or f32.
  DType dtype() const;

 private:
  Kind kind_;
  int64_t integer_ = 0;
  double real_ = 0;
};

/// Axes of a reduction: one, several, or (empty) all. Negative ones count from the end.
struct TINY_API Axes {
  std::vector<int64_t> list;
  Axes() = default;
  template <class T>
    requires std::is_integral_v<T>
  Axes(T axis) : list{static_cast<int64_t>(axis)} {}  // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int64_t> axes) : list(axes) {}
  Axes(std::vector<int64_t> axes) : list(std::move(axes)) {}  // NOLINT(google-explicit-constructor)
};

/// Python's begin:end:step.
struct TINY_API Slice {
  std::optional<int64_t> begin, end;
  int64_t step = 1;
};
/// In an index: a new axis of extent 1, and "all axes not named".
struct TINY_API NewAxis{};
struct TINY_API Ellipsis{};

/// A number or a list of such: {{1, 2}, {3, 4}}.
class TINY_API Nested {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Nested(T v) : value_(v) {}  // NOLINT(google-explicit-constructor)
  Nested(std::initializer_list<Nested> items) : value_(0), items_(items), is_list_(true) {}

  bool is_list() const { return is_list_; }
  const Scalar& value() const { return value_; }
  const std::vector<Nested>& items() const { return items_; }

 private:
  Scalar value_;
  std::vector<Nested> items_;
  bool is_list_ = false;
};

/// How a loss over many elements becomes one number.
enum class Reduction : uint8_t { none, mean, sum };

}  // namespace tiny
