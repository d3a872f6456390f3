// SPDX-License-Identifier: MIT
// Elements out of a tensor, as C++ numbers and as text in PyTorch's layout.
#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "frontend/cell.h"

namespace tiny {

using namespace detail;

namespace {

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

template <class T>
constexpr bool is_narrow = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// C++ conversion without its undefined cases: reals saturate, NaN becomes 0.
template <class T, class S>
T convert(S v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != S(0);
  } else if constexpr (is_narrow<T>) {
    return T(static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<S>) {
    if (std::isnan(v)) return 0;
    if (v <= static_cast<S>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (v >= static_cast<S>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  } else {
    return static_cast<T>(v);
  }
}

template <class T>
T element(DType t, const std::byte* p) {
  switch (t) {
    case DType::boolean:
      return convert<T>(static_cast<int>(load<uint8_t>(p) != 0));
    case DType::u8:
      return convert<T>(load<uint8_t>(p));
    case DType::u16:
      return convert<T>(load<uint16_t>(p));
    case DType::u32:
      return convert<T>(load<uint32_t>(p));
    case DType::u64:
      return convert<T>(load<uint64_t>(p));
    case DType::i8:
      return convert<T>(load<int8_t>(p));
    case DType::i16:
      return convert<T>(load<int16_t>(p));
    case DType::i32:
      return convert<T>(load<int32_t>(p));
    case DType::i64:
      return convert<T>(load<int64_t>(p));
    case DType::f16:
      return convert<T>(static_cast<float>(load<Half>(p)));
    case DType::bf16:
      return convert<T>(static_cast<float>(load<BFloat16>(p)));
    case DType::f32:
      return convert<T>(load<float>(p));
    case DType::f64:
      return convert<T>(load<double>(p));
  }
  return T{};
}

}  // namespace

template <class T>
std::vector<T> Tensor::to_vector() const {
  const DType t = dtype();
  const std::vector<std::byte> bytes = to_bytes();
  std::vector<T> out;
  out.reserve(bytes.size() / size_B(t));
  for (size_t at = 0; at < bytes.size(); at += size_B(t)) out.push_back(element<T>(t, &bytes[at]));
  return out;
}

template <class T>
T Tensor::item() const {
  require_defined("item", *this);
  if (numel() != 1) fail("item", fmt::format("needs one element, the shape is {}", text(shape())));
  const std::vector<std::byte> bytes = to_bytes();
  return element<T>(dtype(), bytes.data());
}

#define TINY_ELEMENT(T)                        \
  template TINY_API T Tensor::item<T>() const; \
  template TINY_API std::vector<T> Tensor::to_vector<T>() const;
TINY_ELEMENT(bool)
TINY_ELEMENT(uint8_t)
TINY_ELEMENT(uint16_t)
TINY_ELEMENT(uint32_t)
TINY_ELEMENT(uint64_t)
TINY_ELEMENT(int8_t)
TINY_ELEMENT(int16_t)
TINY_ELEMENT(int32_t)
TINY_ELEMENT(int64_t)
TINY_ELEMENT(Half)
TINY_ELEMENT(BFloat16)
TINY_ELEMENT(float)
TINY_ELEMENT(double)
#undef TINY_ELEMENT

namespace {

constexpr int64_t kSummaryAbove = 1000;  // elements; PyTorch's defaults
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 80;
constexpr int kPrecision = 4;

/// Which positions of an axis are printed; -1 stands for the dots.
std::vector<int64_t> shown(int64_t extent, bool summarize) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < extent; ++i) {
    if (!summarize || extent <= 2 * kEdge || i < kEdge || i >= extent - kEdge)
      list.push_back(i);
    else if (i == kEdge)
      list.push_back(-1);
  }
  return list;
}

/// How the numbers of one tensor look: decided over all that are shown, as PyTorch does.
class Format {
 public:
  Format(DType t, const std::vector<double>& values) : dtype_(t) {
    if (is_float(t)) choose(values);
  }

  std::string operator()(double real, const std::string& exact) const {
    if (!is_float(dtype_)) return exact;
    if (std::isnan(real)) return "nan";
    if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
    if (scientific_) return fmt::format("{:.{}e}", real, kPrecision);
    if (whole_) return fmt::format("{:.0f}.", real);
    return fmt::format("{:.{}f}", real, kPrecision);
  }

 private:
  void choose(const std::vector<double>& values) {
    double largest = 0, least = std::numeric_limits<double>::infinity();
    for (double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, std::fabs(v));
      least = std::min(least, std::fabs(v));
      whole_ &= v == std::ceil(v);
    }
    if (largest == 0) return;
    scientific_ = largest > 1e8 || largest / least > 1000;
    if (!whole_) scientific_ |= least < 1e-4;
  }

  DType dtype_;
  bool whole_ = true, scientific_ = false;
};

class Printer {
 public:
  explicit Printer(const Tensor& t) : shape_(t.shape()), dtype_(t.dtype()), bytes_(t.to_bytes()) {
    summarize_ = t.numel() > kSummaryAbove;
    std::vector<double> values;
    collect(0, 0, values);
    const Format format(dtype_, values);
    cells_.reserve(values.size());
    size_t k = 0;
    fill(0, 0, values, k, format);
  }

  std::string body(size_t indent) {
    next_ = 0;
    return block(0, indent);
  }

 private:
  const std::byte* at(int64_t flat) const {
    return bytes_.data() + static_cast<size_t>(flat) * size_B(dtype_);
  }

  // Recursion below is on the rank, not on a graph.
  void collect(size_t axis, int64_t base, std::vector<double>& out) const {
    if (axis == shape_.size()) return out.push_back(element<double>(dtype_, at(base)));
    for (int64_t i : shown(shape_[axis], summarize_))
      if (i >= 0) collect(axis + 1, base * shape_[axis] + i, out);
  }

  void fill(size_t axis, int64_t base, const std::vector<double>& values, size_t& k,
            const Format& format) {
    if (axis < shape_.size()) {
      for (int64_t i : shown(shape_[axis], summarize_))
        if (i >= 0) fill(axis + 1, base * shape_[axis] + i, values, k, format);
      return;
    }
    const double v = values[k++];
    cells_.push_back(format(v, exact(base)));
    // As in PyTorch, what is not finite or is zero does not widen the others' columns.
    if (!is_float(dtype_) || (std::isfinite(v) && v != 0))
      width_ = std::max(width_, cells_.back().size());
  }

  std::string exact(int64_t flat) const {
    if (is_float(dtype_)) return {};
    if (dtype_ == DType::boolean) return element<bool>(dtype_, at(flat)) ? "True" : "False";
    if (dtype_ == DType::u64) return fmt::format("{}", element<uint64_t>(dtype_, at(flat)));
    return fmt::format("{}", element<int64_t>(dtype_, at(flat)));
  }

  std::string cell() { return fmt::format("{:>{}}", cells_[next_++], width_); }

  std::string row(int64_t extent, size_t indent) {
    const size_t per_line =
        std::max<size_t>(1, (kLineWidth - std::min(kLineWidth, indent)) / (width_ + 2));
    std::string s = "[";
    size_t on_line = 0;
    const std::vector<int64_t> list = shown(extent, summarize_);
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) s += ",";
      if (on_line == per_line) {
        s += "\n" + std::string(indent + 1, ' ');
        on_line = 0;
      } else if (i > 0) {
        s += " ";
      }
      s += list[i] < 0 ? " ..." : cell();
      ++on_line;
    }
    return s + "]";
  }

  std::string block(size_t axis, size_t indent) {
    if (shape_.empty()) return cell();
    if (axis + 1 == shape_.size()) return row(shape_[axis], indent);
    std::string s = "[";
    bool first = true;
    for (int64_t i : shown(shape_[axis], summarize_)) {
      if (!first)
        s += "," + std::string(shape_.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
      first = false;
      s += i < 0 ? "..." : block(axis + 1, indent + 1);
    }
    return s + "]";
  }

  Shape shape_;
  DType dtype_;
  std::vector<std::byte> bytes_;
  bool summarize_ = false;
  std::vector<std::string> cells_;
  size_t width_ = 0, next_ = 0;
};

bool is_default(DType t) { return t == DType::f32 || t == DType::i64 || t == DType::boolean; }

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "tensor(undefined)";
  std::string s = "tensor(";
  if (numel() == 0) {
    s += shape().size() == 1 ? "[]" : fmt::format("[], size={}", text(shape()));
    return s + (dtype() == DType::f32 ? ")" : fmt::format(", dtype={})", name(dtype())));
  }
  s += Printer(*this).body(s.size());
  if (!is_default(dtype())) s += fmt::format(", dtype={}", name(dtype()));
  return s + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.to_string(); }

}  // namespace tiny
