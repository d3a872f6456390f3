// SPDX-License-Identifier: MIT
// Slices, NumPy-like indexing, gather and scatter.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <algorithm>

namespace tiny {

using namespace detail;
using ir::Op;

namespace {

/// Python's bounds: negative from the end, then clamped into [low, n + low].
int64_t bound(int64_t v, int64_t n, int64_t low) {
  if (v < 0) v += n;
  return std::clamp(v, low, n + low);
}

void require_index(std::string_view op, const Tensor& index) {
  require_defined(op, index);
  if (!is_int(index.dtype()))
    fail(op, fmt::format("index must be of integers, got {} {}", name(index.dtype()),
                         text(index.shape())));
}

/// Cuts x to the index's extents off the axis, as gather and scatter allow smaller indices.
Tensor cut_to(const Tensor& x, const Shape& index, int64_t axis) {
  Padding ranges;
  for (size_t i = 0; i < index.size(); ++i)
    ranges.emplace_back(0, static_cast<int64_t>(i) == axis ? x.shape()[i] : index[i]);
  return x.shrink(ranges);
}

void check_extents(std::string_view op, const Shape& x, const Shape& index, int64_t axis) {
  bool fits = x.size() == index.size();
  for (size_t i = 0; fits && i < x.size(); ++i)
    fits = static_cast<int64_t>(i) == axis || index[i] <= x[i];
  if (!fits)
    fail(op,
         fmt::format("index of shape {} does not fit {} off axis {}", text(index), text(x), axis));
}

Tensor scattered(std::string_view op, const Tensor& base, int64_t axis, const Tensor& index,
                 const Tensor& source, bool add) {
  require_defined(op, base);
  require_defined(op, source);
  require_index(op, index);
  if (source.dtype() != base.dtype())
    fail(op,
         fmt::format("source is {} but the tensor {}", name(source.dtype()), name(base.dtype())));
  axis = normal_axis(op, axis, base.ndim());
  if (base.ndim() == 0 && index.ndim() == 0)
    return scattered(op, base.reshape({1}), 0, index.reshape({1}), source.reshape({1}), add)
        .reshape({});
  check_extents(op, base.shape(), index.shape(), axis);
  check_extents(op, source.shape(), index.shape(), -1);
  if (index.numel() == 0) return base;
  const Tensor used = cut_to(source, index.shape(), -1);
  Padding missing;
  for (size_t i = 0; i < index.shape().size(); ++i)
    missing.emplace_back(0,
                         static_cast<int64_t>(i) == axis ? 0 : base.shape()[i] - index.shape()[i]);
  // Padded indices are out of range, so the padded sources go nowhere.
  const Tensor where_to = index.cast(DType::i64).pad(missing, -1), what = used.pad(missing, 0);
  return make_tensor(ir::make(Op::SCATTER, base.dtype(), {use(base), use(where_to), use(what)},
                              list_arg({add ? 1 : 0}, axis)),
                     carries(base.dtype(), base, what));
}

}  // namespace

Tensor Tensor::slice(int64_t axis, std::optional<int64_t> begin, std::optional<int64_t> end,
                     int64_t step) const {
  require_defined("slice", *this);
  if (ndim() == 0) fail("slice", "a 0-d tensor has no axis to slice");
  axis = normal_axis("slice", axis, ndim());
  if (step == 0) fail("slice", "step must not be zero");
  const size_t a = static_cast<size_t>(axis), rank = shape().size();
  const int64_t n = shape()[a];
  if (step < 0) {  // x[b:e:-s] is the flipped tensor, sliced forward
    const int64_t first = begin ? bound(*begin, n, -1) : n - 1;
    const int64_t last = end ? bound(*end, n, -1) : -1;
    return flip(axis).slice(axis, n - 1 - first, std::max(n - 1 - first, n - 1 - last), -step);
  }
  const int64_t first = bound(begin.value_or(0), n, 0);
  const int64_t last = std::max(first, bound(end.value_or(n), n, 0));
  const int64_t count = (last - first + step - 1) / step;
  if (first == 0 && count == n && step == 1) return *this;
  std::vector<int64_t> list(3 * rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    list[i] = 0;
    list[rank + i] = shape()[i];
  }
  list[a] = first;
  list[rank + a] = count;
  list[2 * rank + a] = step;
  return build(Op::SHRINK, dtype(), *this, list_arg(std::move(list)));
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  require_defined("select", *this);
  if (ndim() == 0) fail("select", "a 0-d tensor has no axis to index");
  axis = normal_axis("select", axis, ndim());
  const int64_t n = dim(axis);
  if (index < -n || index >= n)
    fail("select", fmt::format("index {} is outside axis {} of {}", index, axis, text(shape())));
  const int64_t i = index < 0 ? index + n : index;
  return slice(axis, i, i + 1).squeeze(axis);
}

Tensor Tensor::operator[](const Tensor& index) const { return at({index}); }

Tensor Tensor::take(const Tensor& index, int64_t axis) const {
  require_defined("take", *this);
  require_index("take", index);
  if (ndim() == 0) fail("take", "a 0-d tensor has no axis to take from");
  axis = normal_axis("take", axis, ndim());
  Shape line(shape().size(), 1), wide = shape(), result(shape().begin(), shape().begin() + axis);
  line[static_cast<size_t>(axis)] = wide[static_cast<size_t>(axis)] = index.numel();
  result.insert(result.end(), index.shape().begin(), index.shape().end());
  result.insert(result.end(), shape().begin() + axis + 1, shape().end());
  return gather(axis, index.reshape(line).expand(wide)).reshape(result);
}

Tensor Tensor::gather(int64_t axis, const Tensor& index) const {
  require_defined("gather", *this);
  require_index("gather", index);
  axis = normal_axis("gather", axis, ndim());
  if (ndim() == 0 && index.ndim() == 0)
    return reshape({1}).gather(0, index.reshape({1})).reshape({});
  check_extents("gather", shape(), index.shape(), axis);
  if (index.numel() == 0) return constant_tensor(index.shape(), dtype(), 0);
  const Tensor base = cut_to(*this, index.shape(), axis), where_from = index.cast(DType::i64);
  return make_tensor(
      ir::make(Op::GATHER, dtype(), {use(base), use(where_from)}, list_arg({}, axis)),
      carries(dtype(), base));
}

Tensor Tensor::scatter(int64_t axis, const Tensor& index, const Tensor& source) const {
  return scattered("scatter", *this, axis, index, source, false);
}

Tensor Tensor::scatter(int64_t axis, const Tensor& index, Scalar v) const {
  require_defined("scatter", *this);
  require_index("scatter", index);
  return scattered("scatter", *this, axis, index, constant_tensor(index.shape(), dtype(), v),
                   false);
}

Tensor Tensor::scatter_add(int64_t axis, const Tensor& index, const Tensor& source) const {
  return scattered("scatter_add", *this, axis, index, source, true);
}

Tensor Tensor::one_hot(int64_t classes) const {
  require_index("one_hot", *this);
  if (classes < 1) fail("one_hot", fmt::format("{} classes", classes));
  return (cast(DType::i64).unsqueeze(-1) == iota(classes)).cast(DType::i64);
}

namespace {

/// Integer tensors of one `at`, and the axes they index.
struct Advanced {
  std::vector<int64_t> axes;
  std::vector<Tensor> indices;
};

/// Several index tensors at once: their axes come to the front as one, indexed by the flat
/// position.
Tensor take_together(const Tensor& x, const Advanced& advanced) {
  Shape common;
  for (const Tensor& i : advanced.indices) common = broadcast_shapes("at", common, i.shape());
  std::vector<int64_t> order = advanced.axes;
  for (int64_t a = 0; a < x.ndim(); ++a)
    if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
  const int64_t count = static_cast<int64_t>(advanced.axes.size());
  const Tensor front = x.permute(order);
  Tensor flat = constant_tensor({}, DType::i64, 0);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t n = front.dim(k);
    const Tensor i = advanced.indices[static_cast<size_t>(k)].cast(DType::i64);
    flat = flat * n + where(i < 0, i + n, i);
  }
  const Tensor taken = front.flatten(0, count - 1).take(flat.expand(common));
  // NumPy: adjacent index tensors leave their axes where the first one was, others at the front.
  const bool adjacent = advanced.axes.back() - advanced.axes.front() == count - 1;
  const int64_t at = adjacent ? advanced.axes.front() : 0;
  if (at == 0) return taken;
  const int64_t rank = static_cast<int64_t>(common.size());
  std::vector<int64_t> back;
  for (int64_t a = 0; a < at; ++a) back.push_back(rank + a);
  for (int64_t a = 0; a < rank; ++a) back.push_back(a);
  for (int64_t a = rank + at; a < taken.ndim(); ++a) back.push_back(a);
  return taken.permute(back);
}

int64_t axes_named(const std::vector<Index>& indices) {
  return std::count_if(indices.begin(), indices.end(), [](const Index& i) {
    return !std::holds_alternative<NewAxis>(i.value) && !std::holds_alternative<Ellipsis>(i.value);
  });
}

}  // namespace

Tensor Tensor::at(const std::vector<Index>& indices) const {
  require_defined("at", *this);
  const int64_t named = axes_named(indices);
  if (named > ndim()) fail("at", fmt::format("{} indices for shape {}", named, text(shape())));
  Tensor x = *this;
  Advanced advanced;
  int64_t axis = 0;
  bool seen_ellipsis = false;
  for (const Index& i : indices) {
    if (const auto* n = std::get_if<int64_t>(&i.value)) {
      x = x.select(axis, *n);
    } else if (const auto* s = std::get_if<Slice>(&i.value)) {
      x = x.slice(axis++, s->begin, s->end, s->step);
    } else if (std::holds_alternative<NewAxis>(i.value)) {
      x = x.unsqueeze(axis++);
    } else if (std::holds_alternative<Ellipsis>(i.value)) {
      if (seen_ellipsis) fail("at", "more than one Ellipsis");
      seen_ellipsis = true;
      axis += ndim() - named;
    } else {
      const Tensor& t = std::get<Tensor>(i.value);
      require_index("at", t);
      advanced.axes.push_back(axis++);
      advanced.indices.push_back(t);
    }
  }
  return advanced.axes.empty() ? x : take_together(x, advanced);
}

}  // namespace tiny
