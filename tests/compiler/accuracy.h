// SPDX-License-Identifier: MIT
// How far float functions may be from the exact value, and the inputs that show it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "compiler/ir/node.h"

namespace tiny::test {

/// Distance of `got` from the exact value, in units in the last place of T at that value.
template <class T, class Exact>
double ulps(T got, Exact exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == rounded)
    return std::isinf(got)
               ? 0
               : 0.5 * (std::signbit(got) != std::signbit(exact) && exact == 0 ? HUGE_VAL : 1);
  if (std::isinf(exact) || std::isinf(got)) {
    // The neighbours of overflow are one place apart.
    const bool close = std::fabs(got) == std::numeric_limits<T>::max() ||
                       std::fabs(rounded) == std::numeric_limits<T>::max();
    return close ? 1 : HUGE_VAL;
  }
  int exponent;
  std::frexp(exact, &exponent);
  const int least = std::numeric_limits<T>::min_exponent;
  const Exact unit =
      std::ldexp(Exact(1), std::max(exponent, least) - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Exact>(got) - exact) / unit);
}

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
struct Function {
  ir::Op op;
  Wider<T> (*exact)(Wider<T>);
  double bound;
};

/// Evenly spaced bit patterns: all exponents, both signs, NaN, infinities and subnormals.
template <class T>
std::vector<T> bit_sweep(size_t count) {
  std::vector<T> xs;
  const Bits<T> stride = std::numeric_limits<Bits<T>>::max() / count | 1;
  for (size_t i = 0; i < count; ++i)
    xs.push_back(std::bit_cast<T>(static_cast<Bits<T>>(i * stride)));
  return xs;
}

template <class T>
std::vector<T> even_sweep(T lo, T hi, size_t count) {
  std::vector<T> xs;
  for (size_t i = 0; i < count; ++i)
    xs.push_back(lo + (hi - lo) * static_cast<T>(i) / static_cast<T>(count));
  return xs;
}

inline const std::vector<Function<float>>& single_functions() {
  static const std::vector<Function<float>> all = {
      {ir::Op::EXP, [](double x) { return std::exp(x); }, 1.5},
      {ir::Op::EXP2, [](double x) { return std::exp2(x); }, 1.5},
      {ir::Op::LOG, [](double x) { return std::log(x); }, 1.5},
      {ir::Op::LOG2, [](double x) { return std::log2(x); }, 1.5},
      {ir::Op::SIN, [](double x) { return std::sin(x); }, 1.5},
      {ir::Op::COS, [](double x) { return std::cos(x); }, 1.5},
      {ir::Op::TANH, [](double x) { return std::tanh(x); }, 1.5},
      {ir::Op::ERF, [](double x) { return std::erf(x); }, 1.5},
  };
  return all;
}

inline const std::vector<Function<double>>& double_functions() {
  using L = long double;
  static const std::vector<Function<double>> all = {
      {ir::Op::EXP, [](L x) { return std::exp(x); }, 2},
      {ir::Op::EXP2, [](L x) { return std::exp2(x); }, 2},
      {ir::Op::LOG, [](L x) { return std::log(x); }, 2},
      {ir::Op::LOG2, [](L x) { return std::log2(x); }, 2},
      {ir::Op::SIN, [](L x) { return std::sin(x); }, 2},
      {ir::Op::COS, [](L x) { return std::cos(x); }, 2},
      {ir::Op::TANH, [](L x) { return std::tanh(x); }, 2},
      {ir::Op::ERF, [](L x) { return std::erf(x); }, 2},
  };
  return all;
}

}  // namespace tiny::test
