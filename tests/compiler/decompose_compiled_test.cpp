// SPDX-License-Identifier: MIT
// Decomposed float functions as machine code: contraction and selects by LLVM keep their accuracy.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/compiler/accuracy.h"
#include "tests/compiler/lower_kernels.h"

namespace tiny::test {

namespace {

constexpr int64_t kCount = 1 << 14;

/// out[i] = op(in[i], ...) over kCount elements.
Binary element_wise_kernel(Op op, DType t) {
  KernelBuilder b("f");
  const Node* i = b.domain(kCount, "i");
  std::vector<const Node*> sources;
  for (int s = 0; s < ir::info(op).sources; ++s)
    sources.push_back(b.load(b.buffer(t, kCount, true, false), i));
  b.store(b.buffer(t, kCount, false, true), i, b.arena().make(op, t, sources));
  return compile(std::move(b.kernel), host_target());
}

template <class T>
std::vector<T> run(Op op, std::initializer_list<std::vector<T>> inputs) {
  const Binary binary = element_wise_kernel(op, dtype_of<T>);
  Bytes buffers;
  for (const auto& x : inputs) {
    buffers.emplace_back(kCount * sizeof(T));
    std::memcpy(buffers.back().data(), x.data(), kCount * sizeof(T));
  }
  buffers.emplace_back(kCount * sizeof(T));
  run_binary(binary, buffers);
  std::vector<T> out(kCount);
  std::memcpy(out.data(), buffers.back().data(), kCount * sizeof(T));
  return out;
}

template <class T>
void check(const Function<T>& f, const std::vector<T>& xs) {
  const std::vector<T> out = run<T>(f.op, {xs});
  double worst = 0;
  T where = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const double e = ulps<T>(out[i], f.exact(xs[i]));
    if (e > worst) worst = e, where = xs[i];
  }
  INFO(fmt::format("{} {}: {} ulp at {:a}", ir::info(f.op).name, sizeof(T) * 8, worst, where));
  CHECK(worst <= f.bound);
}

/// Half of the inputs from all bit patterns, half where results are ordinary.
template <class T>
std::vector<T> inputs() {
  std::vector<T> xs = bit_sweep<T>(kCount / 2);
  const std::vector<T> usual = even_sweep<T>(-12, 12, kCount / 2);
  xs.insert(xs.end(), usual.begin(), usual.end());
  return xs;
}

}  // namespace

TEST_CASE("compiled float functions keep their accuracy") {
  for (const auto& f : single_functions()) check(f, inputs<float>());
  for (const auto& f : double_functions()) check(f, inputs<double>());
}

TEST_CASE("compiled powers and remainders are right") {
  const std::vector<double> a = bit_sweep<double>(kCount), b(a.rbegin(), a.rend());
  const std::vector<double> power = run<double>(Op::POW, {a, b}),
                            rest = run<double>(Op::FMOD, {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(fmt::format("{:a} {:a}", a[i], b[i]));
    REQUIRE(ulps<double>(power[i], std::pow(static_cast<long double>(a[i]),
                                            static_cast<long double>(b[i]))) <= 4);
    const double exact = std::fmod(a[i], b[i]);
    REQUIRE((std::isnan(exact) ? std::isnan(rest[i]) : rest[i] == exact));
  }
}

}  // namespace tiny::test
