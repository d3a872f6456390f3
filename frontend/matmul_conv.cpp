// SPDX-License-Identifier: MIT
// Products over shared axes: matmul, convolution, pooling. Each is one multiply and one reduction.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <cmath>

namespace tiny {

using namespace detail;
using ir::ReduceOp;

namespace {

void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return;
  fail(op, fmt::format("element types {} and {} differ (shapes {} and {})", name(a.dtype()),
                       name(b.dtype()), text(a.shape()), text(b.shape())));
}

/// Sum of products over `axes`; 16-bit floats multiply and add in f32.
Tensor contract(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes) {
  const DType t = a.dtype();
  const bool narrow = t == DType::f16 || t == DType::bf16;
  const DType inner = narrow ? DType::f32 : t;
  return reduce(ReduceOp::sum, a.cast(inner) * b.cast(inner), axes, false).cast(t);
}

int64_t window_count(int64_t length, int64_t size, int64_t stride, int64_t dilation) {
  const int64_t reach = dilation * (size - 1) + 1;
  return length < reach ? 0 : (length - reach) / stride + 1;
}

/// (N, C, H, W) padded, then windowed to (N, C, OH, KH, OW, KW).
Tensor image_windows(std::string_view op, const Tensor& x, Pair kernel, Pair stride, Pair padding,
                     Pair dilation, Scalar fill) {
  if (stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1 || padding.h < 0 ||
      padding.w < 0)
    fail(op, fmt::format("stride ({}, {}), padding ({}, {}), dilation ({}, {})", stride.h, stride.w,
                         padding.h, padding.w, dilation.h, dilation.w));
  const int64_t h = x.dim(2) + 2 * padding.h, w = x.dim(3) + 2 * padding.w;
  if (kernel.h < 1 || kernel.w < 1 || window_count(h, kernel.h, stride.h, dilation.h) < 1 ||
      window_count(w, kernel.w, stride.w, dilation.w) < 1)
    fail(op, fmt::format("input {} with padding ({}, {}) is smaller than the kernel ({}, {})",
                         text(x.shape()), padding.h, padding.w, kernel.h, kernel.w));
  const Tensor padded =
      x.pad({{0, 0}, {0, 0}, {padding.h, padding.h}, {padding.w, padding.w}}, fill);
  return window(window(padded, 2, kernel.h, stride.h, dilation.h), 4, kernel.w, stride.w,
                dilation.w);
}

/// Runs fn on a batch; a single image (C, H, W) is a batch of one.
template <class F>
Tensor batched(std::string_view op, const Tensor& x, F fn) {
  require_defined(op, x);
  if (x.ndim() == 3) return fn(x.unsqueeze(0)).squeeze(0);
  if (x.ndim() != 4)
    fail(op, fmt::format("input must be (N, C, H, W) or (C, H, W), got {}", text(x.shape())));
  return fn(x);
}

void check_conv(const Tensor& x, const Tensor& w, const Tensor& bias, int64_t groups) {
  const auto shapes = fmt::format("input {} and weight {}", text(x.shape()), text(w.shape()));
  if (w.ndim() != 4) fail("conv2d", shapes + ": weight must be (out, in / groups, KH, KW)");
  require_same_dtype("conv2d", x, w);
  if (groups < 1 || w.dim(0) % groups != 0 || x.dim(1) != w.dim(1) * groups)
    fail("conv2d", fmt::format("{} do not fit with {} groups", shapes, groups));
  if (bias.defined() && bias.shape() != Shape{w.dim(0)})
    fail("conv2d", fmt::format("bias {} for weight {}", text(bias.shape()), text(w.shape())));
}

Tensor convolve(const Tensor& x, const Tensor& w, const ConvOptions& o) {
  const int64_t out = w.dim(0), in = w.dim(1), kh = w.dim(2), kw = w.dim(3), g = o.groups;
  const Tensor windows = image_windows("conv2d", x, {kh, kw}, o.stride, o.padding, o.dilation, 0);
  const int64_t n = x.dim(0), oh = windows.dim(2), ow = windows.dim(4);
  if (g == 1) {  // (N, out, OH, OW | in, KH, KW)
    const Tensor image = windows.permute({0, 2, 4, 1, 3, 5}).unsqueeze(1);
    return contract(image, w.reshape({1, out, 1, 1, in, kh, kw}), {4, 5, 6});
  }
  const Tensor image = windows.reshape({n, g, in, oh, kh, ow, kw}).permute({0, 1, 3, 5, 2, 4, 6});
  const Tensor weight = w.reshape({1, g, out / g, 1, 1, in, kh, kw});
  return contract(image.unsqueeze(2), weight, {5, 6, 7}).reshape({n, out, oh, ow});
}

/// Max over (KH, KW), axes 3 and 5; the first maximum has the gradient, as PyTorch's does.
Tensor window_max(const Tensor& windows) {
  const Tensor flat = windows.permute({0, 1, 2, 4, 3, 5});
  Tensor top = reduce(ReduceOp::max, flat, {4, 5}, false);
  return with_gradient_of(top, [&] {
    const int64_t kh = flat.dim(4), kw = flat.dim(5);
    const Tensor plain = flat.detach(), peak = top.detach().unsqueeze(-1).unsqueeze(-1);
    const Tensor position = iota(kh * kw).reshape({kh, kw});
    Tensor is_peak = plain == peak;
    if (is_float(plain.dtype())) is_peak = is_peak.logical_or(plain != plain);
    const Tensor first = reduce(ReduceOp::min, where(is_peak, position, kh * kw), {4, 5}, true);
    return reduce(ReduceOp::sum, where(position == first, flat, 0), {4, 5}, false);
  });
}

void check_pool_padding(std::string_view op, const PoolOptions& o) {
  if (o.padding.h > o.kernel.h / 2 || o.padding.w > o.kernel.w / 2)
    fail(op, fmt::format("padding ({}, {}) is more than half the kernel ({}, {})", o.padding.h,
                         o.padding.w, o.kernel.h, o.kernel.w));
}

}  // namespace

Tensor Tensor::matmul(const Tensor& o) const {
  require_defined("matmul", *this);
  require_defined("matmul", o);
  const auto shapes = [&] {
    return fmt::format("shapes {} and {}", text(shape()), text(o.shape()));
  };
  if (ndim() == 0 || o.ndim() == 0) fail("matmul", shapes() + ": both need at least one axis");
  require_same_dtype("matmul", *this, o);
  if (dtype() == DType::boolean) fail("matmul", "is not defined for bool");
  const Tensor a = ndim() == 1 ? unsqueeze(0) : *this;
  const Tensor b = o.ndim() == 1 ? o.unsqueeze(1) : o;
  const int64_t k = a.dim(-1);
  if (k != b.dim(-2))
    fail("matmul", fmt::format("inner dimensions {} and {} differ: {}", k, b.dim(-2), shapes()));
  const Shape batch_a(a.shape().begin(), a.shape().end() - 2),
      batch_b(b.shape().begin(), b.shape().end() - 2);
  try {
    broadcast_shapes("matmul", batch_a, batch_b);
  } catch (const std::exception&) {
    fail("matmul", shapes() + ": batch axes do not broadcast");
  }
  const Tensor left = a.unsqueeze(-2), right = b.transpose(-1, -2).unsqueeze(-3);
  const int64_t axis = std::max(left.ndim(), right.ndim()) - 1;
  Tensor product = contract(left, right, {axis});
  if (o.ndim() == 1) product = product.squeeze(-1);
  if (ndim() == 1) product = product.squeeze(o.ndim() == 1 ? -1 : -2);
  return product;
}

Tensor matmul(const Tensor& a, const Tensor& b) { return a.matmul(b); }

Tensor Tensor::linear(const Tensor& weight, const Tensor& bias) const {
  require_defined("linear", *this);
  require_defined("linear", weight);
  if (ndim() == 0 || weight.ndim() != 2 || dim(-1) != weight.dim(1))
    fail("linear",
         fmt::format("input {} does not fit weight {}", text(shape()), text(weight.shape())));
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)})
    fail("linear", fmt::format("bias {} for weight {}", text(bias.shape()), text(weight.shape())));
  const Tensor product = matmul(weight.t());
  return bias.defined() ? product + bias : product;
}

Tensor Tensor::conv2d(const Tensor& w, const Tensor& bias) const { return conv2d(w, bias, {}); }

Tensor Tensor::conv2d(const Tensor& w, const Tensor& bias, const ConvOptions& options) const {
  require_defined("conv2d", w);
  return batched("conv2d", *this, [&](const Tensor& x) {
    check_conv(x, w, bias, options.groups);
    const Tensor y = convolve(x, w, options);
    return bias.defined() ? y + bias.reshape({-1, 1, 1}) : y;
  });
}

Tensor Tensor::max_pool2d(const PoolOptions& o) const {
  return batched("max_pool2d", *this, [&](const Tensor& x) {
    if (x.dtype() == DType::boolean) fail("max_pool2d", "is not defined for bool");
    check_pool_padding("max_pool2d", o);
    const Scalar lowest =
        is_float(x.dtype()) ? Scalar(-HUGE_VAL) : Scalar(ir::full_interval(x.dtype()).lo);
    return window_max(image_windows("max_pool2d", x, o.kernel, o.stride.value_or(o.kernel),
                                    o.padding, o.dilation, lowest));
  });
}

Tensor Tensor::avg_pool2d(const PoolOptions& o) const {
  require_float("avg_pool2d", *this);
  return batched("avg_pool2d", *this, [&](const Tensor& given) {
    check_pool_padding("avg_pool2d", o);
    return in_f32(given, [&](const Tensor& x) {
      const auto total = [&](const Tensor& t) {
        const Tensor w =
            image_windows("avg_pool2d", t, o.kernel, o.stride.value_or(o.kernel), o.padding, 1, 0);
        return reduce(ReduceOp::sum, w, {3, 5}, false);
      };
      if (o.count_include_pad || (o.padding.h == 0 && o.padding.w == 0))
        return total(x) / static_cast<double>(o.kernel.h * o.kernel.w);
      return total(x) / total(constant_tensor({1, 1, x.dim(2), x.dim(3)}, x.dtype(), 1));
    });
  });
}

}  // namespace tiny
