// SPDX-License-Identifier: MIT
// Tensor: what a user computes with. Operations build an expression graph; nothing runs until a
// value is asked for. Knows nothing of kernels or devices.
#pragma once

#include <rt_tiny/frontend/types.h>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tiny {

namespace ir {
class Ref;
}
class Tensor;
struct ValuesIndices;
struct Index;
struct CrossEntropyOptions;
struct ConvOptions;
struct PoolOptions;
struct BackwardOptions;
using Padding = std::vector<std::pair<int64_t, int64_t>>;

/// A shared handle: copies alias one cell {value, gradient}, so `assign` through one is seen by
/// all. Shape and dtype errors throw UsageError before anything is built.
class TINY_API Tensor {
 public:
  struct Cell;

  /// Undefined: only `defined()` and assignment of a handle are allowed.
  Tensor() = default;
  explicit Tensor(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}

  // --- creation ---
  /// From numbers: of(3), of({1, 2}), of({{1., 2.}, {3., 4.}}). Integers give i64, reals f32.
  static Tensor of(const Nested&, std::optional<DType> = {});
  /// From a vector; one axis unless a shape is given. The element type is T's.
  template <class T>
  static Tensor from(const std::vector<T>& data, std::optional<Shape> shape = {});
  static Tensor from_bytes(DType, const Shape&, std::span<const std::byte>);
  static Tensor zeros(const Shape&, DType = DType::f32);
  static Tensor ones(const Shape&, DType = DType::f32);
  static Tensor full(const Shape&, Scalar, std::optional<DType> = {});
  static Tensor arange(Scalar end, std::optional<DType> = {});
  static Tensor arange(Scalar begin, Scalar end, Scalar step = 1, std::optional<DType> = {});
  static Tensor linspace(double begin, double end, int64_t count, DType = DType::f32);
  static Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, DType = DType::f32);
  Tensor zeros_like() const;
  Tensor ones_like() const;
  Tensor full_like(Scalar) const;

  // --- random (random.h): threefry, the same numbers on every device ---
  static Tensor rand(const Shape&, DType = DType::f32);
  static Tensor randn(const Shape&, DType = DType::f32);
  static Tensor randint(const Shape&, int64_t low, int64_t high, DType = DType::i64);
  static Tensor uniform(const Shape&, double low, double high, DType = DType::f32);
  static Tensor normal(const Shape&, double mean, double deviation, DType = DType::f32);
  /// 0 … n-1 in random order; shuffled on the host.
  static Tensor randperm(int64_t n);

  // --- what it is ---
  bool defined() const { return cell_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  int64_t ndim() const { return static_cast<int64_t>(shape().size()); }
  int64_t dim(int64_t axis) const;
  int64_t numel() const;
  std::string device() const;  ///< where it is stored or will be computed: "CPU:0"

  // --- values ---
  /// The only element, converted to T.
  template <class T>
  T item() const;
  /// All elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  /// All elements as stored.
  std::vector<std::byte> to_bytes() const;
  std::string to_string() const;
  /// Computes and stores the value now.
  const Tensor& realize() const;
  bool is_realized() const;

  // --- identity and gradient ---
  Tensor detach() const;
  Tensor contiguous() const;
  Tensor clone() const;
  /// New value for the cell (broadcast and cast to fit); in place once the tensor is realized.
  Tensor& assign(const Tensor& value);
  Tensor& requires_grad_(bool on = true);
  bool requires_grad() const;
  /// Undefined until a backward() reached this tensor.
  Tensor grad() const;
  void set_grad(const Tensor&);
  void zero_grad();
  /// Adds d this / d leaf to every reachable leaf that requires a gradient. A scalar starts from 1.
  void backward() const;
  void backward(const BackwardOptions&) const;

  // --- types ---
  Tensor cast(DType) const;
  Tensor to(DType t) const { return cast(t); }
  Tensor to(std::string_view device) const;  ///< itself if it is there already
  Tensor bitcast(DType) const;

  // --- movement ---
  Tensor reshape(const Shape&) const;  ///< one extent may be -1
  Tensor view(const Shape& s) const { return reshape(s); }
  Tensor permute(const std::vector<int64_t>& axes) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const;                   ///< last two axes swapped
  Tensor expand(const Shape&) const;  ///< -1 keeps an extent; new leading axes may appear
  Tensor broadcast_to(const Shape& s) const { return expand(s); }
  Tensor pad(const Padding& before_after_per_axis, Scalar value = 0) const;
  Tensor shrink(const Padding& begin_end_per_axis) const;
  Tensor flip(const Axes&) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t axis) const;
  Tensor unsqueeze(int64_t axis) const;
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor unflatten(int64_t axis, const Shape&) const;
  Tensor repeat(const std::vector<int64_t>& times) const;
  Tensor repeat_interleave(int64_t times, int64_t axis) const;
  Tensor roll(int64_t shift, int64_t axis) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor diagonal() const;  ///< of the last two axes
  /// Windows of `size` along `axis`, appended as the last axis.
  Tensor unfold(int64_t axis, int64_t size, int64_t step) const;
  std::vector<Tensor> split(int64_t size, int64_t axis = 0) const;
  std::vector<Tensor> split(const std::vector<int64_t>& sizes, int64_t axis = 0) const;
  std::vector<Tensor> chunk(int64_t count, int64_t axis = 0) const;

  // --- indexing ---
  Tensor slice(int64_t axis, std::optional<int64_t> begin = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  Tensor select(int64_t axis, int64_t index) const;
  /// x.at({Slice{1, 5}, -1, NewAxis{}, Ellipsis{}, indices}) is NumPy's x[1:5, -1, None, ...,
  /// indices].
  Tensor at(const std::vector<Index>&) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor operator[](const Slice& s) const { return slice(0, s.begin, s.end, s.step); }
  Tensor operator[](const Tensor& index) const;
  /// Rows (or slices along `axis`) named by `index`, whose shape replaces the axis.
  Tensor take(const Tensor& index, int64_t axis = 0) const;
  Tensor index_select(int64_t axis, const Tensor& index) const { return take(index, axis); }
  Tensor gather(int64_t axis, const Tensor& index) const;
  Tensor scatter(int64_t axis, const Tensor& index, const Tensor& source) const;
  Tensor scatter(int64_t axis, const Tensor& index, Scalar) const;
  Tensor scatter_add(int64_t axis, const Tensor& index, const Tensor& source) const;
  Tensor one_hot(int64_t classes) const;
  Tensor masked_fill(const Tensor& mask, Scalar) const;

  // --- arithmetic ---
  Tensor operator-() const;
  Tensor operator~() const;
  Tensor operator!() const { return logical_not(); }
  Tensor& operator+=(const Tensor& o);
  Tensor& operator-=(const Tensor& o);
  Tensor& operator*=(const Tensor& o);
  Tensor& operator/=(const Tensor& o);
  Tensor& operator+=(Scalar o);
  Tensor& operator-=(Scalar o);
  Tensor& operator*=(Scalar o);
  Tensor& operator/=(Scalar o);
  Tensor floordiv(const Tensor&) const;
  Tensor floordiv(Scalar) const;
  Tensor pow(const Tensor&) const;
  Tensor pow(Scalar) const;
  Tensor logical_not() const;
  Tensor logical_and(const Tensor&) const;
  Tensor logical_or(const Tensor&) const;
  Tensor logical_xor(const Tensor&) const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;

  // --- functions of one element ---
  Tensor abs() const;
  Tensor sign() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor square() const;
  Tensor reciprocal() const;
  Tensor exp() const;
  Tensor exp2() const;
  Tensor expm1() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor log10() const;
  Tensor log1p() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tan() const;
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor tanh() const;
  Tensor erf() const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor round() const;
  Tensor trunc() const;
  Tensor frac() const;
  Tensor clamp(std::optional<Scalar> low, std::optional<Scalar> high) const;
  Tensor sigmoid() const;
  Tensor logsigmoid() const;
  Tensor relu() const;
  Tensor relu6() const;
  Tensor leaky_relu(double slope = 0.01) const;
  Tensor elu(double alpha = 1) const;
  Tensor selu() const;
  Tensor celu(double alpha = 1) const;
  Tensor gelu(bool tanh_approximation = false) const;
  Tensor silu() const;
  Tensor mish() const;
  Tensor softplus(double beta = 1, double threshold = 20) const;
  Tensor softsign() const;
  Tensor hardtanh(double low = -1, double high = 1) const;
  Tensor hardsigmoid() const;
  Tensor hardswish() const;

  // --- reductions ---
  Tensor sum(const Axes& = {}, bool keepdim = false) const;
  Tensor mean(const Axes& = {}, bool keepdim = false) const;
  Tensor prod(const Axes& = {}, bool keepdim = false) const;
  Tensor amax(const Axes& = {}, bool keepdim = false) const;  ///< ties share the gradient
  Tensor amin(const Axes& = {}, bool keepdim = false) const;
  Tensor max() const { return amax(); }
  Tensor min() const { return amin(); }
  ValuesIndices max(int64_t axis,
                    bool keepdim = false) const;  ///< the first of ties has the gradient
  ValuesIndices min(int64_t axis, bool keepdim = false) const;
  Tensor any(const Axes& = {}, bool keepdim = false) const;
  Tensor all(const Axes& = {}, bool keepdim = false) const;
  Tensor var(const Axes& = {}, int64_t correction = 1, bool keepdim = false) const;
  Tensor std(const Axes& = {}, int64_t correction = 1, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> axis = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> axis = {}, bool keepdim = false) const;
  Tensor logsumexp(const Axes&, bool keepdim = false) const;
  Tensor cumsum(int64_t axis) const;
  Tensor softmax(int64_t axis = -1) const;
  Tensor log_softmax(int64_t axis = -1) const;

  // --- linear algebra and layers as functions ---
  Tensor matmul(const Tensor&) const;
  Tensor dot(const Tensor& o) const { return matmul(o); }
  /// x · weightᵀ + bias, weight (out, in).
  Tensor linear(const Tensor& weight, const Tensor& bias = {}) const;
  Tensor conv2d(const Tensor& weight, const Tensor& bias, const ConvOptions&) const;
  Tensor conv2d(const Tensor& weight, const Tensor& bias = {}) const;
  Tensor max_pool2d(const PoolOptions&) const;
  Tensor avg_pool2d(const PoolOptions&) const;
  Tensor layer_norm(const Shape& normalized, const Tensor& weight = {}, const Tensor& bias = {},
                    double epsilon = 1e-5) const;
  /// Over every axis but 1, with given statistics (undefined: those of this batch).
  Tensor batch_norm(const Tensor& mean, const Tensor& variance, const Tensor& weight = {},
                    const Tensor& bias = {}, double epsilon = 1e-5) const;
  Tensor dropout(double p = 0.5) const;  ///< acts whether training or not; nn::Dropout asks

  // --- losses: this is the prediction ---
  Tensor cross_entropy(const Tensor& target, const CrossEntropyOptions&) const;
  Tensor cross_entropy(const Tensor& target) const;
  Tensor nll_loss(const Tensor& target, Reduction = Reduction::mean,
                  int64_t ignore_index = -100) const;
  Tensor mse_loss(const Tensor& target, Reduction = Reduction::mean) const;
  Tensor l1_loss(const Tensor& target, Reduction = Reduction::mean) const;
  Tensor bce_with_logits(const Tensor& target, Reduction = Reduction::mean) const;

  const std::shared_ptr<Cell>& cell() const { return cell_; }

 private:
  std::shared_ptr<Cell> cell_;
};

struct TINY_API ValuesIndices {
  Tensor values, indices;
};

/// One entry of Tensor::at.
struct TINY_API Index {
  std::variant<int64_t, Slice, NewAxis, Ellipsis, Tensor> value;
  template <class T>
    requires std::is_integral_v<T>
  Index(T i) : value(static_cast<int64_t>(i)) {}  // NOLINT(google-explicit-constructor)
  Index(Slice s) : value(s) {}                    // NOLINT(google-explicit-constructor)
  Index(NewAxis n) : value(n) {}                  // NOLINT(google-explicit-constructor)
  Index(Ellipsis e) : value(e) {}                 // NOLINT(google-explicit-constructor)
  Index(Tensor t) : value(std::move(t)) {}        // NOLINT(google-explicit-constructor)
};

/// One number for both image axes, or one each.
struct TINY_API Pair {
  int64_t h, w;
  Pair(int64_t both) : h(both), w(both) {}  // NOLINT(google-explicit-constructor)
  Pair(int64_t height, int64_t width) : h(height), w(width) {}
};
struct TINY_API ConvOptions {
  Pair stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};
struct TINY_API PoolOptions {
  Pair kernel = 2;
  std::optional<Pair> stride = {};  ///< the kernel's extent by default
  Pair padding = 0, dilation = 1;   ///< dilation: max_pool2d only
  bool count_include_pad = true;    ///< avg_pool2d only
};
struct TINY_API CrossEntropyOptions {
  double label_smoothing = 0;
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
struct TINY_API BackwardOptions {
  Tensor gradient = {};       ///< d loss / d this; ones for a scalar
  bool retain_graph = false;  ///< allow a second backward()
  bool create_graph = false;  ///< gradients can be differentiated again
};

// Operators: broadcasting, PyTorch's promotion. `/` is true division, `%` has the divisor's sign.
#define TINY_OPERATOR(symbol)                                    \
  TINY_API Tensor operator symbol(const Tensor&, const Tensor&); \
  TINY_API Tensor operator symbol(const Tensor&, Scalar);        \
  TINY_API Tensor operator symbol(Scalar, const Tensor&);
TINY_OPERATOR(+)
TINY_OPERATOR(-)
TINY_OPERATOR(*)
TINY_OPERATOR(/)
TINY_OPERATOR(%)
TINY_OPERATOR(&)
TINY_OPERATOR(|)
TINY_OPERATOR(^)
TINY_OPERATOR(<<)
TINY_OPERATOR(>>)
TINY_OPERATOR(==)
TINY_OPERATOR(!=)
TINY_OPERATOR(<)
TINY_OPERATOR(<=)
TINY_OPERATOR(>)
TINY_OPERATOR(>=)
#undef TINY_OPERATOR

TINY_API Tensor pow(Scalar base, const Tensor& exponent);
TINY_API Tensor maximum(const Tensor&, const Tensor&);
TINY_API Tensor maximum(const Tensor&, Scalar);
TINY_API Tensor minimum(const Tensor&, const Tensor&);
TINY_API Tensor minimum(const Tensor&, Scalar);
TINY_API Tensor fmod(const Tensor&, const Tensor&);
TINY_API Tensor fmod(const Tensor&, Scalar);
TINY_API Tensor where(const Tensor& condition, const Tensor& yes, const Tensor& no);
TINY_API Tensor where(const Tensor& condition, const Tensor& yes, Scalar no);
TINY_API Tensor where(const Tensor& condition, Scalar yes, const Tensor& no);
TINY_API Tensor where(const Tensor& condition, Scalar yes, Scalar no);
TINY_API Tensor matmul(const Tensor&, const Tensor&);
TINY_API Tensor cat(const std::vector<Tensor>&, int64_t axis = 0);
TINY_API Tensor stack(const std::vector<Tensor>&, int64_t axis = 0);
/// The element type two operands meet in; 0-d tensors are weaker than others.
TINY_API DType result_type(const Tensor&, const Tensor&);
TINY_API DType result_type(const Tensor&, Scalar);

/// Computes several tensors together, sharing work between them.
TINY_API void realize(const std::vector<Tensor>&);
TINY_API std::ostream& operator<<(std::ostream&, const Tensor&);

/// Within its lifetime, results on this thread carry no gradient.
class TINY_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// d output / d input for each input; undefined inputs' gradients are zeros. More graph: may be
/// differentiated again. `output` is a scalar unless its gradient is given.
TINY_API std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs,
                                  const Tensor& output_gradient = {});
/// The function that gives d fn(x) / d x.
TINY_API std::function<Tensor(const Tensor&)> grad(std::function<Tensor(const Tensor&)> fn);
/// The same for several arguments: one gradient each.
TINY_API std::function<std::vector<Tensor>(const std::vector<Tensor>&)> grad(
    std::function<Tensor(const std::vector<Tensor>&)> fn);

}  // namespace tiny
