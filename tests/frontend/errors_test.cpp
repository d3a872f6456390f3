// SPDX-License-Identifier: MIT
// Bad input: UsageError before anything is built, beginning with the op and naming the shapes.
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>
#include <rt_tiny/frontend/tensor.h>
#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>

namespace tiny {
namespace {

Tensor f(const Shape& s) { return Tensor::zeros(s); }
Tensor i(const Shape& s) { return Tensor::zeros(s, DType::i64); }

template <class F>
std::string message(F fn) {
  try {
    fn();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

struct Bad {
  const char* text;
  std::function<void()> call;
};

}  // namespace

TEST_CASE("shape errors begin with the op and give both shapes", "[errors]") {
  const Bad cases[] = {
      {"[add] shapes (2, 3) and (4,) do not broadcast", [] { f({2, 3}) + f({4}); }},
      {"[sub] shapes (2, 3) and (3, 2) do not broadcast", [] { f({2, 3}) - f({3, 2}); }},
      {"[mul] shapes (2,) and (3,) do not broadcast", [] { f({2}) * f({3}); }},
      {"[div] shapes (0,) and (3,) do not broadcast", [] { f({0}) / f({3}); }},
      {"[remainder] shapes (2,) and (3,) do not broadcast", [] { i({2}) % i({3}); }},
      {"[floordiv] shapes (2,) and (3,) do not broadcast", [] { i({2}).floordiv(i({3})); }},
      {"[pow] shapes (2,) and (3,) do not broadcast", [] { f({2}).pow(f({3})); }},
      {"[maximum] shapes (2,) and (3,) do not broadcast", [] { maximum(f({2}), f({3})); }},
      {"[lt] shapes (2,) and (3,) do not broadcast", [] { (void)(f({2}) < f({3})); }},
      {"[eq] shapes (2,) and (3,) do not broadcast", [] { (void)(f({2}) == f({3})); }},
      {"[where] shapes (2,) and (3,) do not broadcast", [] { where(f({2}) > 0, f({3}), 0); }},
      {"[assign] value of shape (3,) does not fit (1,)", [] { f({1}).assign(f({3})); }},
      {"[reshape] (2, 3) cannot become (4, 2)", [] { f({2, 3}).reshape({4, 2}); }},
      {"[reshape] (2, 3) cannot become (-1, 4)", [] { f({2, 3}).reshape({-1, 4}); }},
      {"[reshape] (2, 3) to (-1, -1): at most one extent may be -1",
       [] { f({2, 3}).reshape({-1, -1}); }},
      {"[reshape] (0, 3) cannot become (0, -1)", [] { f({0, 3}).reshape({0, -1}); }},
      {"[permute] axes (0,) for shape (2, 3)", [] { f({2, 3}).permute({0}); }},
      {"[permute] axes (0, 0) of shape (2, 3) name one axis twice",
       [] { f({2, 3}).permute({0, 0}); }},
      {"[transpose] axis 2 is outside a tensor of 2 axes", [] { f({2, 3}).transpose(0, 2); }},
      {"[expand] (2, 3) cannot become (2, 4)", [] { f({2, 3}).expand({2, 4}); }},
      {"[expand] (2, 3) cannot become (3,)", [] { f({2, 3}).expand({3}); }},
      {"[pad] 1 pairs for shape (2, 3)", [] { f({2, 3}).pad({{1, 1}}); }},
      {"[pad] (-3, 0) leaves nothing of axis 0 of (2,)", [] { f({2}).pad({{-3, 0}}); }},
      {"[shrink] [1, 4) is outside axis 0 of (3,)", [] { f({3}).shrink({{1, 4}}); }},
      {"[flip] axes (0, 0) name one axis twice", [] { f({2}).flip({0, 0}); }},
      {"[squeeze] axis 5 is outside a tensor of 1 axes", [] { f({2}).squeeze(5); }},
      {"[slice] step must not be zero", [] { f({2}).slice(0, 0, 1, 0); }},
      {"[slice] a 0-d tensor has no axis to slice", [] { f({}).slice(0); }},
      {"[select] index 2 is outside axis 0 of (2,)", [] { f({2})[2]; }},
      {"[at] 2 indices for shape (2,)", [] { f({2}).at({0, 0}); }},
      {"[cat] shapes (2, 3) and (2, 4) differ off axis 0", [] { cat({f({2, 3}), f({2, 4})}); }},
      {"[cat] needs at least one tensor", [] { cat({}); }},
      {"[stack] shapes (2,) and (3,) differ", [] { stack({f({2}), f({3})}); }},
      {"[split] sizes (1, 1) do not make axis 0 of (3,)", [] { f({3}).split({1, 1}); }},
      {"[unfold] windows of 4 every 1 on axis 0 of (3,)", [] { f({3}).unfold(0, 4, 1); }},
      {"[tril] needs two axes, got (3,)", [] { f({3}).tril(); }},
      {"[take] index must be of integers, got f32 (2,)", [] { f({3}).take(f({2})); }},
      {"[gather] index of shape (3, 3) does not fit (2, 3) off axis 1",
       [] { f({2, 3}).gather(1, i({3, 3})); }},
      {"[scatter] source is i64 but the tensor f32", [] { f({2}).scatter(0, i({2}), i({2})); }},
      {"[scatter_add] index of shape (3,) does not fit (2,) off axis -1",
       [] { f({2}).scatter_add(0, i({3}), f({2})); }},
      {"[sum] axis 2 is outside a tensor of 1 axes", [] { f({2}).sum(2); }},
      {"[mean] needs a floating tensor, got i64 (2,)", [] { i({2}).mean(); }},
      {"[amax] axes (0,) of (0, 2) are empty and have no extreme", [] { f({0, 2}).amax(0); }},
      {"[argmax] axes (0,) of (0,) are empty and have no extreme", [] { f({0}).argmax(); }},
      {"[softmax] needs a floating tensor, got i64 (2,)", [] { i({2}).softmax(); }},
      {"[matmul] inner dimensions 3 and 4 differ: shapes (2, 3) and (4, 5)",
       [] { f({2, 3}).matmul(f({4, 5})); }},
      {"[matmul] shapes (2, 2, 3) and (3, 3, 2): batch axes do not broadcast",
       [] { f({2, 2, 3}).matmul(f({3, 3, 2})); }},
      {"[matmul] element types f32 and i64 differ (shapes (2, 3) and (3, 2))",
       [] { f({2, 3}).matmul(i({3, 2})); }},
      {"[linear] input (2, 3) does not fit weight (5, 4)", [] { f({2, 3}).linear(f({5, 4})); }},
      {"[conv2d] input (1, 3, 8, 8) and weight (4, 2, 3, 3) do not fit with 1 groups",
       [] { f({1, 3, 8, 8}).conv2d(f({4, 2, 3, 3})); }},
      {"[conv2d] input (1, 1, 2, 2) with padding (0, 0) is smaller than the kernel (3, 3)",
       [] { f({1, 1, 2, 2}).conv2d(f({1, 1, 3, 3})); }},
      {"[conv2d] bias (3,) for weight (4, 1, 1, 1)",
       [] { f({1, 1, 2, 2}).conv2d(f({4, 1, 1, 1}), f({3})); }},
      {"[max_pool2d] input must be (N, C, H, W) or (C, H, W), got (2,)",
       [] { f({2}).max_pool2d({.kernel = 2}); }},
      {"[avg_pool2d] padding (2, 2) is more than half the kernel (2, 2)",
       [] { f({1, 4, 4}).avg_pool2d({.kernel = 2, .padding = 2}); }},
      {"[layer_norm] normalized shape (4,) does not end (2, 3)", [] { f({2, 3}).layer_norm({4}); }},
      {"[batch_norm] statistics or weights (4,) for input (2, 3)",
       [] { f({2, 3}).batch_norm(f({4}), f({3})); }},
      {"[cross_entropy] scores (2, 3) want a target of shape (2,), got (3,)",
       [] { f({2, 3}).cross_entropy(i({3})); }},
      {"[mse_loss] shapes (2,) and (3,) do not broadcast", [] { f({2}).mse_loss(f({3})); }},
      {"[bce_with_logits] logits (2,) and target (1,)", [] { f({2}).bce_with_logits(f({1})); }},
      {"[item] needs one element, the shape is (2,)", [] { f({2}).item<float>(); }},
  };
  for (const Bad& bad : cases) CHECK(message(bad.call) == bad.text);
}

TEST_CASE("dtype errors name the op", "[errors]") {
  const Tensor b = Tensor::zeros({2}, DType::boolean);
  CHECK(message([&] { b - b; }) == "[sub] is not defined for bool");
  CHECK(message([&] { -b; }) == "[neg] is not defined for bool; use logical_not");
  CHECK(message([&] { f({2}) & f({2}); }) == "[bitwise_and] is not defined for f32");
  CHECK(message([&] { f({2}) << 1; }) == "[shift_left] is not defined for f32");
  CHECK(message([&] { where(f({2}), f({2}), f({2})); }) ==
        "[where] condition must be bool, got f32 (2,)");
  CHECK(message([&] { i({2}).pow(-1); }) ==
        "[pow] i64 to the power -1: integers need a non-negative exponent");
  CHECK(message([&] { f({2}).bitcast(DType::f16); }) == "[bitcast] f32 and f16 differ in size");
  CHECK(message([&] { i({2}).gelu(); }) == "[gelu] needs a floating tensor, got i64 (2,)");
  CHECK(message([&] { f({2}) += f({3}); }).rfind("[add] shapes (2,) and (3,)", 0) == 0);
  CHECK(message([&] { i({2}) += 0.5; }) == "[add] f32 results do not fit a tensor of i64");
}

TEST_CASE("creation refuses what cannot be made", "[errors]") {
  CHECK(message([] { Tensor::zeros({2, -1}); }) == "[zeros] shape (2, -1) has a negative extent");
  CHECK(message([] { Tensor::ones({1 << 30, 1 << 30}); }) ==
        "[ones] shape (1073741824, 1073741824) has too many elements");
  CHECK(message([] { Tensor::from(std::vector<float>{1, 2, 3}, Shape{2, 2}); }) ==
        "[from] shape (2, 2) does not hold 3 elements");
  CHECK(message([] { Tensor::of({{1, 2}, {3}}); }) == "[of] a list of 1 beside one of 2");
  CHECK(message([] { Tensor::of({1, {2}}); }) == "[of] lists and numbers are mixed on one level");
  CHECK(message([] { Tensor::arange(0, 5, 0); }) == "[arange] step must not be zero");
  CHECK(message([] { Tensor::arange(0, 5, -1); }) ==
        "[arange] from 0 to 5 in steps of -1 goes the wrong way");
  CHECK(message([] { Tensor::randint({2}, 3, 3); }) == "[randint] [3, 3) is empty");
  CHECK(message([] { Tensor::rand({2}, DType::i64); }) == "[rand] needs a floating type, got i64");
}

TEST_CASE("gradient errors say what has no gradient", "[errors]") {
  CHECK(message([] { i({}).requires_grad_(); }) ==
        "[requires_grad_] only floating tensors have gradients, this is i64");
  CHECK(message([] { f({}).backward(); }) ==
        "[backward] the output does not depend on any tensor that requires grad");
  CHECK(message([] { i({}).backward(); }) ==
        "[backward] the output is i64 (): only floating values have gradients");
  const Tensor w = f({2}).requires_grad_();
  CHECK(message([&] { (w * 2).backward(); }) ==
        "[backward] the output has shape (2,): give its gradient, or reduce it to one number");
  CHECK(message([&] { (w * 2).backward({.gradient = f({3})}); }) ==
        "[backward] gradient f32 (3,) for an output f32 (2,)");
  CHECK(message([&] { (w * 2).cast(DType::i64).sum().backward(); }) ==
        "[backward] the output is i64 (): only floating values have gradients");
  Tensor loss = (w * w).sum();
  loss.backward();
  CHECK(message([&] { loss.backward(); }) ==
        "[backward] ran already; pass retain_graph to run it again");
  CHECK(message([&] { Tensor(w).assign(f({2})); }) ==
        "[assign] a tensor that requires grad is changed only inside NoGrad");
  CHECK(message([&] { Tensor(w).set_grad(f({3})); }) ==
        "[set_grad] gradient f32 (3,) for a tensor f32 (2,)");
}

TEST_CASE("an undefined tensor is refused by name of the op", "[errors]") {
  const Tensor none;
  CHECK(message([&] { none + f({2}); }) == "[add] tensor is undefined");
  CHECK(message([&] { none.reshape({1}); }) == "[reshape] tensor is undefined");
  CHECK(message([&] { none.sum(); }) == "[sum] tensor is undefined");
  CHECK(message([&] { none.matmul(f({2, 2})); }) == "[matmul] tensor is undefined");
  CHECK(none.to_string() == "tensor(undefined)");
}

TEST_CASE("layers and optimizers refuse impossible options", "[errors]") {
  CHECK(message([] { nn::Linear(0, 3); }) == "[Linear] size 0 is not positive");
  CHECK(message([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }) ==
        "[Conv2d] 3 and 4 channels do not split into 2 groups");
  CHECK(message([] { nn::Dropout(1.5); }) == "[Dropout] probability 1.5 is outside [0, 1]");
  CHECK(message([] { nn::BatchNorm2d(3)(f({2, 3})); }) ==
        "[BatchNorm2d] input must be (N, C, H, W), got (2, 3)");
  CHECK(message([] { optim::SGD({}); }) == "[optim] got no parameters");
  CHECK(message([] { optim::SGD({f({2})}); }) == "[optim] a parameter does not require grad");
}

}  // namespace tiny
