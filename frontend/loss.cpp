// SPDX-License-Identifier: MIT
// Losses and normalisation.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <algorithm>

namespace tiny {

using namespace detail;
using ir::ReduceOp;

namespace {

Tensor reduced(const Tensor& x, Reduction how) {
  if (how == Reduction::none) return x;
  return how == Reduction::mean ? x.mean() : x.sum();
}

/// Class scores with the class axis first to last: (N, C, d…) → (N, d…, C); (C) → (C).
Tensor classes_last(const Tensor& x) {
  if (x.ndim() <= 2) return x;
  std::vector<int64_t> order{0};
  for (int64_t i = 2; i < x.ndim(); ++i) order.push_back(i);
  order.push_back(1);
  return x.permute(order);
}

void check_classes(std::string_view op, const Tensor& x, const Tensor& target) {
  require_float(op, x);
  require_defined(op, target);
  if (x.ndim() == 0) fail(op, "scores need a class axis");
  Shape want = x.shape();
  want.erase(want.begin() + (x.ndim() == 1 ? 0 : 1));
  if (target.shape() != want)
    fail(op, fmt::format("scores {} want a target of shape {}, got {}", text(x.shape()), text(want),
                         text(target.shape())));
}

/// Value of the target's class along the last axis. A mask instead of a gather keeps both this and
/// its gradient element-wise; an index that names no class gives 0.
Tensor pick(const Tensor& x, const Tensor& target) {
  const Tensor hit = target.cast(DType::i64).unsqueeze(-1) == iota(x.dim(-1));
  return where(hit, x, 0).sum(-1);
}

/// Mean over the rows that count, or sum, or each row.
Tensor weigh_rows(const Tensor& rows, const Tensor& target, int64_t ignore_index, Reduction how) {
  const Tensor counts = target != ignore_index;
  const Tensor kept = where(counts, rows, 0);
  if (how == Reduction::none) return kept;
  if (how == Reduction::sum) return kept.sum();
  return kept.sum() / counts.cast(rows.dtype()).sum();
}

Tensor smoothed(const Tensor& x, const Tensor& target, double smoothing) {
  const Tensor top = reduce(ReduceOp::max, x.detach(), {x.ndim() - 1}, true);
  const Tensor centred = x - top;
  const Tensor lse = reduce(ReduceOp::sum, centred.exp(), {x.ndim() - 1}, false).log();
  const Tensor loss = lse - pick(centred, target);
  if (smoothing == 0) return loss;
  return loss * (1 - smoothing) + (lse - centred.mean(-1)) * smoothing;
}

Tensor against_probabilities(const Tensor& x, const Tensor& target, const CrossEntropyOptions& o) {
  if (target.shape() != x.shape())
    fail("cross_entropy", fmt::format("scores {} and class probabilities {}", text(x.shape()),
                                      text(target.shape())));
  const double classes = static_cast<double>(x.dim(x.ndim() == 1 ? 0 : 1));
  const Tensor t = o.label_smoothing == 0
                       ? target
                       : target * (1 - o.label_smoothing) + o.label_smoothing / classes;
  const Tensor rows = -(classes_last(x).log_softmax(-1) * classes_last(t)).sum(-1);
  if (o.reduction != Reduction::mean) return reduced(rows, o.reduction);
  return rows.sum() / static_cast<double>(std::max<int64_t>(1, rows.numel()));
}

void check_pair(std::string_view op, const Tensor& x, const Tensor& target) {
  require_float(op, x);
  require_float(op, target);
  broadcast_shapes(op, x.shape(), target.shape());
}

Tensor per_channel(const Tensor& t, int64_t rank) {
  Shape s(static_cast<size_t>(rank), 1);
  s[1] = t.numel();
  return t.reshape(s);
}

}  // namespace

Tensor Tensor::cross_entropy(const Tensor& target) const { return cross_entropy(target, {}); }

Tensor Tensor::cross_entropy(const Tensor& target, const CrossEntropyOptions& o) const {
  require_float("cross_entropy", *this);
  require_defined("cross_entropy", target);
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail("cross_entropy", fmt::format("label_smoothing {} is outside [0, 1]", o.label_smoothing));
  if (target.dtype() == DType::boolean)
    fail("cross_entropy", "target must hold class indices or probabilities");
  const DType t = dtype();
  const Tensor x = t == DType::f16 || t == DType::bf16 ? cast(DType::f32) : *this;
  if (is_float(target.dtype())) return against_probabilities(x, target, o).cast(t);
  check_classes("cross_entropy", *this, target);
  const Tensor rows = smoothed(classes_last(x), target, o.label_smoothing);
  return weigh_rows(rows, target, o.ignore_index, o.reduction).cast(t);
}

Tensor Tensor::nll_loss(const Tensor& target, Reduction how, int64_t ignore_index) const {
  check_classes("nll_loss", *this, target);
  if (!is_int(target.dtype())) fail("nll_loss", "target must hold class indices");
  return weigh_rows(-pick(classes_last(*this), target), target, ignore_index, how);
}

Tensor Tensor::mse_loss(const Tensor& target, Reduction how) const {
  check_pair("mse_loss", *this, target);
  const Tensor off = *this - target;
  return reduced(off * off, how);
}

Tensor Tensor::l1_loss(const Tensor& target, Reduction how) const {
  check_pair("l1_loss", *this, target);
  return reduced((*this - target).abs(), how);
}

Tensor Tensor::bce_with_logits(const Tensor& target, Reduction how) const {
  check_pair("bce_with_logits", *this, target);
  if (shape() != target.shape())
    fail("bce_with_logits",
         fmt::format("logits {} and target {}", text(shape()), text(target.shape())));
  return reduced((1 - target) * *this - logsigmoid(), how);
}

Tensor Tensor::layer_norm(const Shape& normalized, const Tensor& weight, const Tensor& bias,
                          double epsilon) const {
  require_float("layer_norm", *this);
  const size_t n = normalized.size(), rank = shape().size();
  if (n == 0 || n > rank ||
      !std::equal(normalized.begin(), normalized.end(), shape().end() - static_cast<int64_t>(n)))
    fail("layer_norm",
         fmt::format("normalized shape {} does not end {}", text(normalized), text(shape())));
  for (const Tensor* p : {&weight, &bias})
    if (p->defined() && p->shape() != normalized)
      fail("layer_norm",
           fmt::format("weight or bias {} for {}", text(p->shape()), text(normalized)));
  std::vector<int64_t> axes;
  for (size_t i = rank - n; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return in_f32(*this, [&](const Tensor& x) {
    const Tensor off = x - x.mean(axes, true);
    Tensor y = off * ((off * off).mean(axes, true) + epsilon).rsqrt();
    if (weight.defined()) y = y * weight;
    return bias.defined() ? y + bias : y;
  });
}

Tensor Tensor::batch_norm(const Tensor& mean, const Tensor& variance, const Tensor& weight,
                          const Tensor& bias, double epsilon) const {
  require_float("batch_norm", *this);
  if (ndim() < 2) fail("batch_norm", fmt::format("input {} has no channel axis", text(shape())));
  for (const Tensor* p : {&mean, &variance, &weight, &bias})
    if (p->defined() && p->shape() != Shape{dim(1)})
      fail("batch_norm",
           fmt::format("statistics or weights {} for input {}", text(p->shape()), text(shape())));
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < ndim(); ++i) axes.push_back(i);
  return in_f32(*this, [&](const Tensor& x) {
    const Tensor off = x - (mean.defined() ? per_channel(mean, ndim()) : x.mean(axes, true));
    const Tensor spread =
        variance.defined() ? per_channel(variance, ndim()) : (off * off).mean(axes, true);
    Tensor y = off * (spread + epsilon).rsqrt();
    if (weight.defined()) y = y * per_channel(weight, ndim());
    return bias.defined() ? y + per_channel(bias, ndim()) : y;
  });
}

}  // namespace tiny
