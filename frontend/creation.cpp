// SPDX-License-Identifier: MIT
// Tensors from nothing: host data, constants, sequences.
#include "engine/realize.h"
#include "frontend/cell.h"

#include <fmt/format.h>
#include <cmath>
#include <cstring>

namespace tiny {

using namespace detail;

namespace {

void nested_shape(const Nested& n, Shape& shape) {
  if (!n.is_list()) return;
  shape.push_back(static_cast<int64_t>(n.items().size()));
  if (!n.items().empty()) nested_shape(n.items().front(), shape);
}

void collect(const Nested& n, const Shape& shape, size_t depth, std::vector<Scalar>& out) {
  if (n.is_list() != (depth < shape.size())) fail("of", "lists and numbers are mixed on one level");
  if (!n.is_list()) {
    out.push_back(n.value());
    return;
  }
  if (static_cast<int64_t>(n.items().size()) != shape[depth])
    fail("of", fmt::format("a list of {} beside one of {}", n.items().size(), shape[depth]));
  for (const Nested& item : n.items()) collect(item, shape, depth + 1, out);
}

DType widest(const std::vector<Scalar>& values) {
  if (values.empty()) return DType::f32;
  Scalar::Kind kind = Scalar::Kind::boolean;
  for (const Scalar& v : values) kind = std::max(kind, v.kind());
  if (kind == Scalar::Kind::boolean) return DType::boolean;
  return kind == Scalar::Kind::integer ? DType::i64 : DType::f32;
}

template <class T>
void store(std::vector<std::byte>& out, T v) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&v);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

void store_scalar(std::vector<std::byte>& out, DType t, const Scalar& v) {
  switch (t) {
    case DType::boolean:
      return store<uint8_t>(out, v.kind() == Scalar::Kind::real ? v.real() != 0 : v.integer() != 0);
    case DType::u8:
    case DType::i8:
      return store(out, static_cast<uint8_t>(v.integer()));
    case DType::u16:
    case DType::i16:
      return store(out, static_cast<uint16_t>(v.integer()));
    case DType::u32:
    case DType::i32:
      return store(out, static_cast<uint32_t>(v.integer()));
    case DType::u64:
    case DType::i64:
      return store(out, v.integer());
    case DType::f16:
      return store(out, Half(static_cast<float>(v.real())).bits);
    case DType::bf16:
      return store(out, BFloat16(static_cast<float>(v.real())).bits);
    case DType::f32:
      return store(out, static_cast<float>(v.real()));
    case DType::f64:
      return store(out, v.real());
  }
}

}  // namespace

Tensor Tensor::of(const Nested& nested, std::optional<DType> dtype) {
  Shape shape;
  nested_shape(nested, shape);
  std::vector<Scalar> values;
  collect(nested, shape, 0, values);
  const DType t = dtype.value_or(widest(values));
  if (shape.empty()) return constant_tensor({}, t, values[0]);
  std::vector<std::byte> bytes;
  for (const Scalar& v : values) store_scalar(bytes, t, v);
  return from_bytes(t, shape, bytes);
}

Tensor Tensor::from_bytes(DType t, const Shape& shape, std::span<const std::byte> bytes) {
  check_shape("from", shape);
  const size_t want_B = static_cast<size_t>(element_count(shape)) * size_B(t);
  if (bytes.size() != want_B)
    fail("from", fmt::format("shape {} of {} needs {} bytes, got {}", text(shape), name(t), want_B,
                             bytes.size()));
  return make_tensor(engine::buffer_node(t, shape, bytes));
}

template <class T>
Tensor Tensor::from(const std::vector<T>& data, std::optional<Shape> shape) {
  const Shape s = shape.value_or(Shape{static_cast<int64_t>(data.size())});
  check_shape("from", s);
  if (element_count(s) != static_cast<int64_t>(data.size()))
    fail("from", fmt::format("shape {} does not hold {} elements", text(s), data.size()));
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(data.begin(), data.end());
    return from_bytes(DType::boolean, s, std::as_bytes(std::span(bytes)));
  } else {
    return from_bytes(dtype_of<T>, s, std::as_bytes(std::span(data)));
  }
}

#define TINY_FROM(T) \
  template TINY_API Tensor Tensor::from<T>(const std::vector<T>&, std::optional<Shape>);
TINY_FROM(bool)
TINY_FROM(uint8_t)
TINY_FROM(uint16_t)
TINY_FROM(uint32_t)
TINY_FROM(uint64_t)
TINY_FROM(int8_t)
TINY_FROM(int16_t)
TINY_FROM(int32_t)
TINY_FROM(int64_t)
TINY_FROM(Half)
TINY_FROM(BFloat16)
TINY_FROM(float)
TINY_FROM(double)
#undef TINY_FROM

Tensor Tensor::full(const Shape& shape, Scalar v, std::optional<DType> t) {
  check_shape("full", shape);
  return constant_tensor(shape, t.value_or(v.dtype()), v);
}

Tensor Tensor::zeros(const Shape& shape, DType t) {
  check_shape("zeros", shape);
  return constant_tensor(shape, t, 0);
}

Tensor Tensor::ones(const Shape& shape, DType t) {
  check_shape("ones", shape);
  return constant_tensor(shape, t, 1);
}

Tensor Tensor::arange(Scalar end, std::optional<DType> t) { return arange(0, end, 1, t); }

Tensor Tensor::arange(Scalar begin, Scalar end, Scalar step, std::optional<DType> dtype) {
  const bool real = begin.kind() == Scalar::Kind::real || end.kind() == Scalar::Kind::real ||
                    step.kind() == Scalar::Kind::real;
  const DType t = dtype.value_or(real ? DType::f32 : DType::i64);
  if (step.real() == 0 || std::isnan(step.real())) fail("arange", "step must not be zero");
  const double span = real ? (end.real() - begin.real()) / step.real()
                           : static_cast<double>(end.integer() - begin.integer()) /
                                 static_cast<double>(step.integer());
  if (!(span >= 0))
    fail("arange", fmt::format("from {} to {} in steps of {} goes the wrong way", begin.real(),
                               end.real(), step.real()));
  if (!(span < 281474976710656.0)) fail("arange", "too many elements");
  const int64_t count = static_cast<int64_t>(std::ceil(span));
  if (t == DType::boolean) fail("arange", "bool has no sequence");
  if (is_float(t)) {
    const DType wide = t == DType::f64 ? t : DType::f32;
    return (iota(count).cast(wide) * step.real() + begin.real()).cast(t);
  }
  if (real) return (iota(count).cast(DType::f64) * step.real() + begin.real()).cast(t);
  return (iota(count) * step.integer() + begin.integer()).cast(t);
}

Tensor Tensor::linspace(double begin, double end, int64_t count, DType t) {
  if (count < 0) fail("linspace", fmt::format("count {} is negative", count));
  if (!is_float(t)) fail("linspace", "needs a floating type");
  if (count == 1) return full({1}, begin, t);
  const double step = (end - begin) / static_cast<double>(count - 1);
  const Tensor up = iota(count).cast(DType::f64);
  // From both ends, so that the last element is `end` exactly.
  const Tensor down = up * -1 + (count - 1);
  return where(up < (count + 1) / 2, up * step + begin, down * -step + end).cast(t);
}

Tensor Tensor::eye(int64_t rows, std::optional<int64_t> columns, DType t) {
  const int64_t m = columns.value_or(rows);
  if (rows < 0 || m < 0) fail("eye", fmt::format("({}, {}) is negative", rows, m));
  return (iota(rows).unsqueeze(1) == iota(m).unsqueeze(0)).cast(t);
}

Tensor Tensor::zeros_like() const { return full_like(0); }
Tensor Tensor::ones_like() const { return full_like(1); }
Tensor Tensor::full_like(Scalar v) const { return constant_tensor(shape(), dtype(), v); }

}  // namespace tiny
