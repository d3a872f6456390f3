// SPDX-License-Identifier: MIT
// Layers: plain structs of tensors with a call operator. A model is a struct of layers; there is no
// base class and no registration.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiny::nn {

/// Within its lifetime the layers on this thread train: dropout drops, batch norm uses and updates
/// batch statistics. Without one they infer.
class TINY_API Training {
 public:
  explicit Training(bool on = true);
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

 private:
  bool before_;
};
TINY_API bool is_training();

/// Names and tensors in a fixed order: "l1.weight", "l1.bias", …
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// y = x · weightᵀ + bias; weight (out, in).
struct TINY_API Linear {
  Tensor weight, bias;  ///< bias is undefined when switched off
  Linear(int64_t in, int64_t out, bool with_bias = true);
  Tensor operator()(const Tensor& x) const { return x.linear(weight, bias); }
  NamedTensors state() const;
};

/// Images (N, C, H, W); weight (out, in / groups, KH, KW).
struct TINY_API Conv2d {
  Tensor weight, bias;
  ConvOptions options;
  Conv2d(int64_t in, int64_t out, Pair kernel, ConvOptions = {}, bool with_bias = true);
  Tensor operator()(const Tensor& x) const { return x.conv2d(weight, bias, options); }
  NamedTensors state() const;
};

/// Per-channel normalisation of (N, C, H, W).
struct TINY_API BatchNorm2d {
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
  double epsilon, momentum;
  explicit BatchNorm2d(int64_t channels, double epsilon = 1e-5, double momentum = 0.1,
                       bool affine = true);
  Tensor operator()(const Tensor& x) const;
  NamedTensors state() const;
};

struct TINY_API LayerNorm {
  Tensor weight, bias;
  Shape normalized;
  double epsilon;
  explicit LayerNorm(Shape normalized, double epsilon = 1e-5, bool affine = true);
  Tensor operator()(const Tensor& x) const {
    return x.layer_norm(normalized, weight, bias, epsilon);
  }
  NamedTensors state() const;
};

/// Rows of a table by integer index.
struct TINY_API Embedding {
  Tensor weight;
  Embedding(int64_t count, int64_t width);
  Tensor operator()(const Tensor& index) const { return weight.take(index); }
  NamedTensors state() const;
};

struct TINY_API Dropout {
  double p;
  explicit Dropout(double probability = 0.5);
  Tensor operator()(const Tensor& x) const { return is_training() ? x.dropout(p) : x; }
  NamedTensors state() const { return {}; }
};

template <class L>
concept HasState = requires(const L& layer) {
  { layer.state() } -> std::convertible_to<NamedTensors>;
};
template <class L>
concept HasParameters = requires(L& layer) {
  { layer.parameters() } -> std::convertible_to<std::vector<Tensor>>;
};

TINY_API void append_parameters(std::vector<Tensor>& out, const NamedTensors& state);
TINY_API void append_named(NamedTensors& out, std::string_view prefix, const NamedTensors& state);

namespace detail {

// A tensor, a list of tensors, a layer, a struct with parameters(), or a container of such.
template <class L>
void add_parameters(std::vector<Tensor>& out, L& layer) {
  if constexpr (std::convertible_to<const L&, Tensor>) {
    append_parameters(out, {{"", layer}});
  } else if constexpr (HasParameters<L>) {
    for (const Tensor& t : layer.parameters()) out.push_back(t);
  } else if constexpr (HasState<L>) {
    append_parameters(out, layer.state());
  } else {
    for (auto& item : layer) add_parameters(out, item);
  }
}

template <class L>
void add_named(NamedTensors& out, std::string_view prefix, const L& layer) {
  if constexpr (std::convertible_to<const L&, Tensor>) {
    append_named(out, prefix, {{"", layer}});
  } else if constexpr (HasState<L>) {
    append_named(out, prefix, layer.state());
  } else {
    int64_t i = 0;
    NamedTensors items;
    for (const auto& item : layer) add_named(items, std::to_string(i++), item);
    append_named(out, prefix, items);
  }
}

inline void add_all_named(NamedTensors&) {}
template <class L, class... Rest>
void add_all_named(NamedTensors& out, std::string_view name, const L& layer, const Rest&... rest) {
  add_named(out, name, layer);
  add_all_named(out, rest...);
}

}  // namespace detail

/// What training changes: nn::parameters(l1, l2, table).
template <class... L>
std::vector<Tensor> parameters(L&&... layers) {
  std::vector<Tensor> out;
  (detail::add_parameters(out, layers), ...);
  return out;
}

/// What a file holds: nn::named("l1", l1, "l2", l2) gives "l1.weight", … A model's own
/// `NamedTensors state() const` may return this and then nests the same way.
template <class... Parts>
NamedTensors named(const Parts&... names_and_layers) {
  NamedTensors out;
  detail::add_all_named(out, names_and_layers...);
  return out;
}

/// Assigns values to `into` by name, as load_safetensors gives them. Every name must be there, with
/// its shape, or nothing is assigned. The other way: save_safetensors(path, {state.begin(),
/// state.end()}).
TINY_API void load_state(const NamedTensors& into, const std::map<std::string, Tensor>& from);

}  // namespace tiny::nn
