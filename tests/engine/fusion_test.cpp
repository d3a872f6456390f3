// SPDX-License-Identifier: MIT
// What becomes one kernel.
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/tensor.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "compiler/opt/estimate.h"
#include "compiler/schedule/schedule.h"
#include "engine/executable.h"
#include "frontend/cell.h"

using namespace tiny;

namespace {

size_t kernels(const std::vector<Tensor>& tensors) {
  std::vector<const ir::Node*> roots;
  for (const Tensor& t : tensors) roots.push_back(detail::value(t).get());
  const std::vector<char> in_place(roots.size(), 1);
  return engine::executable_for(view_graph(roots), default_device(), in_place)->plan.steps.size();
}

/// The plan for a CPU with so much local memory; what else costs depend on is fixed.
Plan plan_for(const Tensor& tensor, uint64_t local_B) {
  const ir::Node* root = detail::value(tensor).get();
  Target target = open_device("CPU")->target();
  target.local_B = local_B;
  target.parallelism = 2;
  target.vector_B = 32;
  return schedule(import_graph(view_graph(std::span(&root, 1))), target, {false, {0}});
}

Tensor input(const Shape& shape) { return Tensor::rand(shape).realize(); }

}  // namespace

TEST_CASE("softmax over the last axis is one kernel with its reductions inside") {
  CHECK(kernels({input({64, 100}).softmax(1)}) == 1);
  CHECK(kernels({input({64, 100}).log_softmax(1)}) == 1);
}

TEST_CASE("layer norm, and linear with relu, are one kernel") {
  const nn::LayerNorm norm{{96}};
  CHECK(kernels({norm(input({64, 96}))}) == 1);
  const nn::Linear linear{96, 32};
  realize(nn::parameters(linear));
  CHECK(kernels({linear(input({64, 96})).relu()}) == 1);
}

TEST_CASE("a layer's random weights are drawn once, not wherever they are read") {
  const nn::Linear layer{6, 4};
  const Tensor x = input({3, 6});
  CHECK(layer.weight.is_realized());  // stored with x
  CHECK(kernels({layer(x).relu()}) == 1);
}

TEST_CASE("element-wise chains are one kernel however long and however they move") {
  Tensor x = input({16, 16});
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = (y * 1.5f + x).transpose(0, 1);
  CHECK(kernels({y}) == 1);
}

TEST_CASE("a product of products keeps a row of the inner one where that fits, else stores it") {
  const Tensor a = input({40, 40}), b = input({40, 40}), c = input({40, 40});
  const Tensor product = a.matmul(b).matmul(c);
  CHECK(plan_for(product, 40 * 4 * 4).steps.size() == 1);  // rows are filled four together
  CHECK(plan_for(product, 40 * 4 * 4 - 1).steps.size() == 2);
}

TEST_CASE("attention keeps its scores and weights in local memory and repeats nothing") {
  const Shape heads{2, 4, 32, 16};
  const Tensor q = input(heads), k = input(heads), v = input(heads);
  const Tensor attention = (q.matmul(k.t()) * 0.25).softmax(-1).matmul(v);
  const Plan plan = plan_for(attention, 32 << 10);
  REQUIRE(plan.steps.size() == 1);
  const Kernel& kernel = plan.steps[0].kernel;
  const std::string text = print(kernel);
  CHECK_THAT(text, Catch::Contains(R"(
  s0 : register = f32 sum over i@8 of (f32 b0[(t1 + i@8)] * f32 b1[((t0 + (i@7 * 16)) + i@8)])
  s1[i@7] : local 32 = f32 (s0 * 0.25f32) over i@7
  s2 : register = f32 max over i@9 of s1[i@9]
  s3[i@6] : local 32 = f32 EXP((s1[i@6] - s2)) over i@6
  s4 : register = f32 sum over i@10 of s3[i@10]
  s5[i@5] : local 32 = f32 (s3[i@5] / s4) over i@5
  s6 : register = f32 sum over i@4 of (s5[i@4] * f32 b2[((t0 + i@3) + (i@4 * 16))])
)"));
  // Two products of 2*4*32*32*16 fused operations; the rest is element-wise over the scores.
  CHECK(estimate(kernel).flops < 4 * 8 * 32 * 32 * 16 + 8 * 8 * 32 * 32 + 1000);
  CHECK(plan_for(attention, 0).steps.size() > 1);
}

TEST_CASE("softmax takes each exponential once where a row fits, else twice") {
  const Tensor y = input({64, 1000}).softmax(1);
  const auto exponentials = [&](uint64_t local_B) {
    const Plan plan = plan_for(y, local_B);
    REQUIRE(plan.steps.size() == 1);
    const std::string text = print(plan.steps[0].kernel);
    size_t count = 0;
    for (size_t at = text.find("EXP("); at != std::string::npos; at = text.find("EXP(", at + 1))
      ++count;
    return count;
  };
  CHECK(exponentials(32 << 10) == 1);
  CHECK(exponentials(1 << 10) == 2);
}

TEST_CASE("what is read at shifted and padded places is kept whole") {
  // Each row's soft weights are read three times, beyond both ends too.
  const Tensor x = input({6, 33});
  const Tensor w = x.softmax(1).pad({{0, 0}, {1, 1}}).unfold(1, 3, 1);
  const Tensor y = (w * w).sum(2);
  CHECK(plan_for(y, 32 << 10).steps.size() == 1);
  const std::vector<float> p = x.softmax(1).to_vector<float>(), got = y.to_vector<float>();
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 33; ++c) {
      float sum = 0;
      for (int i = std::max(0, c - 1); i <= std::min(32, c + 1); ++i)
        sum += p[r * 33 + i] * p[r * 33 + i];
      CHECK(got[r * 33 + c] == Approx(sum));
    }
}

TEST_CASE("NOOPT makes each operation a kernel") {
  const ScopedKnobs noopt({{"NOOPT", "1"}});
  const Tensor x = input({4, 4});
  CHECK(kernels({x.exp() + 1}) == 2);
  CHECK(kernels({x.sum(0)}) == 1);
}

TEST_CASE("an optimizer's step over tensors of many shapes is few kernels") {
  std::vector<Tensor> parameters, state;
  for (const Shape& shape : {Shape{8, 3}, Shape{8}, Shape{5, 8}, Shape{5}, Shape{1}}) {
    parameters.push_back(input(shape));
    state.push_back(input(shape));
  }
  Tensor power = input({});
  std::vector<Tensor> all;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor &p = parameters[i], &m = state[i];
    m.assign(m * 0.9f + p * 0.1f);
    p.assign(p - m / (power + 1));
    all.push_back(p);
    all.push_back(m);
  }
  power.assign(power * 0.9f);  // after every reader of the old value
  all.push_back(power);
  CHECK(kernels(all) == 2);
}

TEST_CASE("a plan does not depend on where nodes lie in memory") {
  // Each new value reads another's old one elsewhere: not all can be written in place.
  const auto plan = [](size_t noise) {
    std::vector<std::unique_ptr<char[]>> holes;
    for (size_t i = 0; i < noise; ++i)
      holes.push_back(std::make_unique<char[]>(200 + 8 * (i % 30)));
    for (size_t i = 0; i < holes.size(); i += 2) holes[i].reset();
    Tensor a = input({5, 3}), b = input({5, 3}), m = input({5, 3});
    const Tensor old_a = a * 2, old_b = b * 3, old_m = m * 4;
    a.assign(old_b.flip(0));
    b.assign(old_m.flip(1));
    m.assign(old_a.flip(0).flip(1));
    std::vector<const ir::Node*> roots;
    for (const Tensor* t : {&a, &b, &m}) roots.push_back(detail::value(*t).get());
    return print(
        schedule(import_graph(view_graph(roots)), default_device()->target(), {false, {1, 1, 1}}));
  };
  const std::string first = plan(0);
  for (size_t noise = 1; noise < 800; noise += 13) CHECK(plan(noise) == first);
}

TEST_CASE("a scatter keeps its updates beside stores of the same shape") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3}, Shape{1, 3});
  const Tensor index = Tensor::from(std::vector<int64_t>{0, 0, 0}, Shape{1, 3});
  for (int64_t axis = 0; axis < 2; ++axis) {
    const Tensor sum = x.scatter_add(axis, index, x * 10);
    const Tensor other = x * 2;
    realize({sum, other});
    const auto expected = axis == 0 ? std::vector<float>{11, 22, 33} : std::vector<float>{61, 2, 3};
    CHECK(sum.to_vector<float>() == expected);
    CHECK(other.to_vector<float>() == std::vector<float>{2, 4, 6});
  }
}
