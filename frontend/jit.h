// SPDX-License-Identifier: MIT
// jit: a function of tensors is traced once per signature and then replayed as one command list.
//
// The first call runs eagerly (state such as an optimizer's moments comes into being); the next
// call with a new signature traces; later ones replay. A signature is the shapes, dtypes and
// devices of the tensor arguments, the values of other arguments, training mode and NoGrad.
//
// Part of the trace: arguments, returned tensors, every tensor that the function assigns
// (parameters, running statistics; also an argument), and the random numbers' counter. Tensors that
// the function only reads are looked up at each replay, so assigning them outside works. A gradient
// computed inside does not outlive the call: return it if it is needed. Reading a value inside the
// function throws.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tiny {

namespace detail {

/// The untyped half: tensors in, tensors out.
class TINY_API JitFunction {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  JitFunction();
  ~JitFunction();
  JitFunction(JitFunction&&) noexcept;
  JitFunction& operator=(JitFunction&&) noexcept;

  /// `scalars` is whatever else the call depends on, as text. `body` is called unless a trace for
  /// this signature exists.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs, const std::string& scalars,
                           const Body& body);

  size_t trace_count() const;
  /// Kernels of one replay of the last trace used; 0 before the first replay.
  size_t kernel_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class T>
inline constexpr bool is_tensor = std::is_same_v<std::remove_cvref_t<T>, Tensor>;

/// Results as a list, and back.
template <class R>
struct JitResult;
template <>
struct JitResult<void> {};
template <>
struct JitResult<Tensor> {
  static std::vector<Tensor> list(Tensor t) { return {std::move(t)}; }
  static Tensor build(std::vector<Tensor> v) { return std::move(v[0]); }
};
template <>
struct JitResult<std::vector<Tensor>> {
  static std::vector<Tensor> list(std::vector<Tensor> v) { return v; }
  static std::vector<Tensor> build(std::vector<Tensor> v) { return v; }
};
template <class... T>
struct JitResult<std::tuple<T...>> {
  static_assert((is_tensor<T> && ...), "a jitted function returns tensors");
  static std::vector<Tensor> list(std::tuple<T...> t) {
    return std::apply([](auto&... x) { return std::vector<Tensor>{x...}; }, t);
  }
  static std::tuple<T...> build(std::vector<Tensor> v) {
    return build(v, std::index_sequence_for<T...>{});
  }

 private:
  template <size_t... I>
  static std::tuple<T...> build(std::vector<Tensor>& v, std::index_sequence<I...>) {
    return {std::move(v[I])...};
  }
};
template <class A, class B>
struct JitResult<std::pair<A, B>> {
  static_assert(is_tensor<A> && is_tensor<B>, "a jitted function returns tensors");
  static std::vector<Tensor> list(std::pair<A, B> p) { return {p.first, p.second}; }
  static std::pair<A, B> build(std::vector<Tensor> v) { return {std::move(v[0]), std::move(v[1])}; }
};

/// The argument itself, or for a tensor the next placeholder.
template <class T>
decltype(auto) jit_argument(const T& value, const std::vector<Tensor>& inputs, size_t& next) {
  if constexpr (is_tensor<T>)
    return static_cast<const Tensor&>(inputs[next++]);
  else
    return static_cast<const T&>(value);
}
template <class T>
void jit_signature(const T& value, std::string& text) {
  if constexpr (!is_tensor<T>) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "arguments are tensors or numbers");
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

}  // namespace detail

/// What `jit` returns. Callable like the function; move-only. Safe to call from several threads,
/// one call at a time.
template <class F>
class Jitted {
 public:
  explicit Jitted(F fn) : fn_(std::move(fn)) {}

  template <class... Args>
  auto operator()(const Args&... arguments) {
    using R = std::invoke_result_t<F&, const Args&...>;
    std::vector<Tensor> inputs;
    std::string scalars;
    ((collect(arguments, inputs), detail::jit_signature(arguments, scalars)), ...);
    auto body = [&](const std::vector<Tensor>& given) -> std::vector<Tensor> {
      [[maybe_unused]] size_t next = 0;  // unused where nothing is a tensor
      std::tuple<const Args&...> bound{detail::jit_argument(arguments, given, next)...};
      if constexpr (std::is_void_v<R>) {
        std::apply(fn_, bound);
        return {};
      } else {
        return detail::JitResult<R>::list(std::apply(fn_, bound));
      }
    };
    std::vector<Tensor> results = function_.call(inputs, scalars, body);
    if constexpr (!std::is_void_v<R>) return detail::JitResult<R>::build(std::move(results));
  }

  size_t trace_count() const { return function_.trace_count(); }
  size_t kernel_count() const { return function_.kernel_count(); }

 private:
  template <class T>
  static void collect(const T& value, std::vector<Tensor>& inputs) {
    if constexpr (detail::is_tensor<T>) inputs.push_back(value);
  }
  F fn_;
  detail::JitFunction function_;
};

template <class F>
Jitted<std::decay_t<F>> jit(F&& fn) {
  return Jitted<std::decay_t<F>>(std::forward<F>(fn));
}

}  // namespace tiny
