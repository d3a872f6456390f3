// SPDX-License-Identifier: MIT
// Movement: the same elements in another order or shape, padded, repeated or joined.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>

namespace tiny {

using namespace detail;

namespace {

Tensor moved(const Tensor& x, ir::Ref node) {
  return make_tensor(std::move(node), carries(x.dtype(), x));
}

/// Replaces a -1 by the extent that makes the element counts agree.
Shape solve_shape(const Tensor& x, const Shape& wanted) {
  Shape shape = wanted;
  int64_t known = 1;
  auto unknown = shape.end();
  for (auto it = shape.begin(); it != shape.end(); ++it) {
    if (*it >= 0) {
      if (__builtin_mul_overflow(known, *it, &known)) known = -1;
    } else if (*it != -1 || unknown != shape.end()) {
      fail("reshape",
           fmt::format("{} to {}: at most one extent may be -1", text(x.shape()), text(wanted)));
    } else {
      unknown = it;
    }
  }
  if (unknown != shape.end() && known > 0 && x.numel() % known == 0) *unknown = x.numel() / known;
  if (std::count(shape.begin(), shape.end(), -1) != 0 || known < 0 ||
      element_count(shape) != x.numel())
    fail("reshape", fmt::format("{} cannot become {}", text(x.shape()), text(wanted)));
  return shape;
}

}  // namespace

namespace detail {

Tensor window(const Tensor& x, int64_t axis, int64_t size, int64_t stride, int64_t dilation) {
  return build(ir::Op::WINDOW, x.dtype(), x, list_arg({size, stride, dilation}, axis));
}

}  // namespace detail

Tensor Tensor::cast(DType t) const {
  require_defined("cast", *this);
  return cast_to(*this, t);
}

Tensor Tensor::bitcast(DType t) const {
  require_defined("bitcast", *this);
  if (size_B(t) != size_B(dtype()))
    fail("bitcast", fmt::format("{} and {} differ in size", name(dtype()), name(t)));
  return build(ir::Op::BITCAST, t, *this).detach();
}

Tensor Tensor::reshape(const Shape& wanted) const {
  require_defined("reshape", *this);
  const Shape s = solve_shape(*this, wanted);
  return s == shape() ? *this : moved(*this, reshaped(use(*this), s));
}

Tensor Tensor::permute(const std::vector<int64_t>& axes) const {
  require_defined("permute", *this);
  if (axes.size() != shape().size())
    fail("permute", fmt::format("axes {} for shape {}", text(axes), text(shape())));
  std::vector<int64_t> order;
  for (int64_t a : axes) order.push_back(normal_axis("permute", a, ndim()));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("permute",
         fmt::format("axes {} of shape {} name one axis twice", text(axes), text(shape())));
  if (sorted == order) return *this;
  return build(ir::Op::PERMUTE, dtype(), *this, list_arg(std::move(order)));
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  require_defined("transpose", *this);
  a = normal_axis("transpose", a, ndim());
  b = normal_axis("transpose", b, ndim());
  if (a == b) return *this;
  std::vector<int64_t> order(shape().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return build(ir::Op::PERMUTE, dtype(), *this, list_arg(std::move(order)));
}

Tensor Tensor::t() const {
  if (ndim() < 2) return *this;
  return transpose(-1, -2);
}

Tensor Tensor::expand(const Shape& wanted) const {
  require_defined("expand", *this);
  Shape s = wanted;
  const auto bad = [&] {
    fail("expand", fmt::format("{} cannot become {}", text(shape()), text(wanted)));
  };
  if (s.size() < shape().size()) bad();
  const size_t lead = s.size() - shape().size();
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == -1 && i >= lead) s[i] = shape()[i - lead];
    if (s[i] < 0 || (i >= lead && shape()[i - lead] != s[i] && shape()[i - lead] != 1)) bad();
  }
  check_shape("expand", s);
  return s == shape() ? *this : moved(*this, expanded(use(*this), s));
}

Tensor Tensor::pad(const Padding& amounts, Scalar fill) const {
  require_defined("pad", *this);
  if (amounts.size() != shape().size())
    fail("pad", fmt::format("{} pairs for shape {}", amounts.size(), text(shape())));
  Padding keep;
  std::vector<int64_t> list(3 * amounts.size(), 0);
  bool cuts = false, pads = false;
  for (size_t i = 0; i < amounts.size(); ++i) {
    const auto [before, after] = amounts[i];
    keep.emplace_back(std::max<int64_t>(-before, 0), shape()[i] - std::max<int64_t>(-after, 0));
    if (keep[i].first > keep[i].second)
      fail("pad", fmt::format("({}, {}) leaves nothing of axis {} of {}", before, after, i,
                              text(shape())));
    list[i] = std::max<int64_t>(before, 0);
    list[amounts.size() + i] = std::max<int64_t>(after, 0);
    cuts |= before < 0 || after < 0;
    pads |= before > 0 || after > 0;
  }
  const Tensor base = cuts ? shrink(keep) : *this;
  if (!pads) return base;
  const ir::Ref value = constant(dtype(), fill);
  ir::Arg arg = value->arg();
  arg.list = std::move(list);
  return build(ir::Op::PAD, dtype(), base, std::move(arg));
}

Tensor Tensor::shrink(const Padding& ranges) const {
  require_defined("shrink", *this);
  if (ranges.size() != shape().size())
    fail("shrink", fmt::format("{} ranges for shape {}", ranges.size(), text(shape())));
  const size_t rank = ranges.size();
  std::vector<int64_t> list(3 * rank, 1);
  bool same = true;
  for (size_t i = 0; i < rank; ++i) {
    const auto [begin, end] = ranges[i];
    if (begin < 0 || end < begin || end > shape()[i])
      fail("shrink",
           fmt::format("[{}, {}) is outside axis {} of {}", begin, end, i, text(shape())));
    list[i] = begin;
    list[rank + i] = end - begin;
    same &= begin == 0 && end == shape()[i];
  }
  return same ? *this : build(ir::Op::SHRINK, dtype(), *this, list_arg(std::move(list)));
}

Tensor Tensor::flip(const Axes& axes) const {
  require_defined("flip", *this);
  if (ndim() == 0) return *this;
  std::vector<int64_t> mask(shape().size(), 0);
  for (int64_t a : normal_axes("flip", axes, ndim())) mask[static_cast<size_t>(a)] = 1;
  return build(ir::Op::FLIP, dtype(), *this, list_arg(std::move(mask)));
}

Tensor Tensor::squeeze() const {
  Shape s;
  for (int64_t n : shape())
    if (n != 1) s.push_back(n);
  return reshape(s);
}

Tensor Tensor::squeeze(int64_t axis) const {
  require_defined("squeeze", *this);
  axis = normal_axis("squeeze", axis, ndim());
  if (ndim() == 0 || shape()[static_cast<size_t>(axis)] != 1) return *this;
  Shape s = shape();
  s.erase(s.begin() + axis);
  return reshape(s);
}

Tensor Tensor::unsqueeze(int64_t axis) const {
  require_defined("unsqueeze", *this);
  axis = normal_axis("unsqueeze", axis, ndim() + 1);
  Shape s = shape();
  s.insert(s.begin() + axis, 1);
  return moved(*this, reshaped(use(*this), s));
}

Tensor Tensor::flatten(int64_t first, int64_t last) const {
  require_defined("flatten", *this);
  first = normal_axis("flatten", first, ndim());
  last = normal_axis("flatten", last, ndim());
  if (first > last) fail("flatten", fmt::format("first axis {} is after last {}", first, last));
  if (ndim() == 0) return reshape({1});
  Shape s(shape().begin(), shape().begin() + first);
  s.push_back(std::accumulate(shape().begin() + first, shape().begin() + last + 1, int64_t{1},
                              std::multiplies<>()));
  s.insert(s.end(), shape().begin() + last + 1, shape().end());
  return reshape(s);
}

Tensor Tensor::unflatten(int64_t axis, const Shape& parts) const {
  require_defined("unflatten", *this);
  axis = normal_axis("unflatten", axis, ndim());
  const Tensor probe = constant_tensor({dim(axis)}, DType::boolean, false).reshape(parts);
  Shape s(shape().begin(), shape().begin() + axis);
  s.insert(s.end(), probe.shape().begin(), probe.shape().end());
  s.insert(s.end(), shape().begin() + axis + 1, shape().end());
  return reshape(s);
}

Tensor Tensor::repeat(const std::vector<int64_t>& times) const {
  require_defined("repeat", *this);
  if (times.size() < shape().size())
    fail("repeat", fmt::format("{} counts for shape {}", times.size(), text(shape())));
  Shape own(times.size() - shape().size(), 1);
  own.insert(own.end(), shape().begin(), shape().end());
  Shape split, wide, result;
  for (size_t i = 0; i < own.size(); ++i) {
    if (times[i] < 0) fail("repeat", fmt::format("count {} is negative", times[i]));
    split.insert(split.end(), {1, own[i]});
    wide.insert(wide.end(), {times[i], own[i]});
    result.push_back(times[i] * own[i]);
  }
  check_shape("repeat", result);
  return reshape(split).expand(wide).reshape(result);
}

Tensor Tensor::repeat_interleave(int64_t times, int64_t axis) const {
  require_defined("repeat_interleave", *this);
  axis = normal_axis("repeat_interleave", axis, ndim());
  if (times < 0) fail("repeat_interleave", fmt::format("count {} is negative", times));
  const Tensor column = unsqueeze(axis + 1);
  Shape wide = column.shape(), result = shape();
  wide[static_cast<size_t>(axis) + 1] = times;
  result[static_cast<size_t>(axis)] *= times;
  return column.expand(wide).reshape(result);
}

Tensor Tensor::roll(int64_t shift, int64_t axis) const {
  require_defined("roll", *this);
  axis = normal_axis("roll", axis, ndim());
  const int64_t n = ndim() == 0 ? 1 : dim(axis);
  if (n <= 1) return *this;
  const int64_t cut = ((-shift % n) + n) % n;
  if (cut == 0) return *this;
  return cat({slice(axis, cut), slice(axis, 0, cut)}, axis);
}

namespace {

/// True where column - row <= diagonal, over the last two axes.
Tensor below(std::string_view op, const Tensor& x, int64_t diagonal) {
  require_defined(op, x);
  if (x.ndim() < 2) fail(op, fmt::format("needs two axes, got {}", text(x.shape())));
  return (iota(x.dim(-1)).unsqueeze(0) - iota(x.dim(-2)).unsqueeze(1)) <= diagonal;
}

}  // namespace

Tensor Tensor::tril(int64_t diagonal) const {
  return where(below("tril", *this, diagonal), *this, 0);
}

Tensor Tensor::triu(int64_t diagonal) const {
  return where(below("triu", *this, diagonal - 1), Scalar(0), *this);
}

Tensor Tensor::diagonal() const {
  require_defined("diagonal", *this);
  if (ndim() < 2) fail("diagonal", fmt::format("needs two axes, got {}", text(shape())));
  const int64_t n = std::min(dim(-1), dim(-2));
  const Tensor square = slice(-2, 0, n).slice(-1, 0, n);
  return where(eye(n, n, DType::boolean), square, 0).sum(-1).cast(dtype());
}

Tensor Tensor::unfold(int64_t axis, int64_t size, int64_t step) const {
  require_defined("unfold", *this);
  axis = normal_axis("unfold", axis, ndim());
  if (ndim() == 0) return unsqueeze(0).unfold(0, size, step).squeeze(0);
  if (size < 1 || size > dim(axis) || step < 1)
    fail("unfold",
         fmt::format("windows of {} every {} on axis {} of {}", size, step, axis, text(shape())));
  const Tensor windows = window(*this, axis, size, step, 1);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < windows.ndim(); ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  return windows.permute(order);
}

std::vector<Tensor> Tensor::split(const std::vector<int64_t>& sizes, int64_t axis) const {
  require_defined("split", *this);
  axis = normal_axis("split", axis, ndim());
  int64_t begin = 0;
  std::vector<Tensor> parts;
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t n) { return n < 0; }) || ndim() == 0 ||
      std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != dim(axis))
    fail("split",
         fmt::format("sizes {} do not make axis {} of {}", text(sizes), axis, text(shape())));
  for (int64_t n : sizes) {
    parts.push_back(slice(axis, begin, begin + n));
    begin += n;
  }
  return parts;
}

std::vector<Tensor> Tensor::split(int64_t size, int64_t axis) const {
  require_defined("split", *this);
  if (ndim() == 0) fail("split", "a 0-d tensor has no axis to split");
  const int64_t n = shape()[static_cast<size_t>(normal_axis("split", axis, ndim()))];
  if (size < 1) fail("split", fmt::format("size {} is not positive", size));
  std::vector<int64_t> sizes(static_cast<size_t>(std::max<int64_t>(1, (n + size - 1) / size)),
                             size);
  sizes.back() = n - size * (static_cast<int64_t>(sizes.size()) - 1);
  return split(sizes, axis);
}

std::vector<Tensor> Tensor::chunk(int64_t count, int64_t axis) const {
  if (count < 1) fail("chunk", fmt::format("count {} is not positive", count));
  return split(std::max<int64_t>(1, (dim(axis) + count - 1) / count), axis);
}

Tensor cat(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) fail("cat", "needs at least one tensor");
  for (const Tensor& p : parts) require_defined("cat", p);
  const Shape& first = parts[0].shape();
  axis = normal_axis("cat", axis, parts[0].ndim());
  if (first.empty()) fail("cat", "0-d tensors cannot be joined; use stack");
  DType t = parts[0].dtype();
  int64_t total = 0;
  for (const Tensor& p : parts) {
    Shape other = p.shape();
    if (other.size() == first.size())
      other[static_cast<size_t>(axis)] = first[static_cast<size_t>(axis)];
    if (other != first)
      fail("cat",
           fmt::format("shapes {} and {} differ off axis {}", text(first), text(p.shape()), axis));
    t = promote(t, p.dtype());
    total += p.dim(axis);
  }
  if (parts.size() == 1) return parts[0];
  Tensor joined;
  int64_t begin = 0;
  for (const Tensor& p : parts) {
    Padding around(first.size(), {0, 0});
    around[static_cast<size_t>(axis)] = {begin, total - begin - p.dim(axis)};
    begin += p.dim(axis);
    if (p.dim(axis) == 0) continue;
    const Tensor wide = p.cast(t).pad(around, 0);
    if (!joined.defined()) {
      joined = wide;
      continue;
    }
    const int64_t from = begin - p.dim(axis);
    Shape line(first.size(), 1);
    line[static_cast<size_t>(axis)] = total;
    joined = where((iota(total) < from).reshape(line), joined, wide);
  }
  return joined.defined() ? joined : parts[0].cast(t);
}

Tensor stack(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) fail("stack", "needs at least one tensor");
  require_defined("stack", parts[0]);
  axis = normal_axis("stack", axis, parts[0].ndim() + 1);
  std::vector<Tensor> rows;
  for (const Tensor& p : parts) {
    require_defined("stack", p);
    if (p.shape() != parts[0].shape())
      fail("stack",
           fmt::format("shapes {} and {} differ", text(parts[0].shape()), text(p.shape())));
    rows.push_back(p.unsqueeze(axis));
  }
  return cat(rows, axis);
}

}  // namespace tiny
