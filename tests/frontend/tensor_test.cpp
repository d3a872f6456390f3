// SPDX-License-Identifier: MIT
// What Tensor itself promises: aliasing, laziness, promotion, printing, indexing, depth.
#include <rt_tiny/frontend/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

#include "frontend/cell.h"

namespace tiny {
namespace {

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
std::string text(const Tensor& t) {
  std::ostringstream s;
  s << t;
  return s.str();
}

}  // namespace

TEST_CASE("nothing runs until a value is asked for", "[tensor]") {
  const Tensor t = Tensor::of({1, 2}) + 1;
  CHECK_FALSE(t.is_realized());
  CHECK(values(t) == std::vector<double>{2, 3});
  CHECK(t.is_realized());
}

TEST_CASE("copies alias one cell, so an assignment is seen by all", "[tensor]") {
  Tensor a = Tensor::of({1., 2.});
  const Tensor b = a, before = a * 10;
  a.assign(a + 1);
  CHECK(values(b) == std::vector<double>{2, 3});
  CHECK(values(before) == std::vector<double>{10, 20});
  a += 1;
  a *= Tensor::of({1., 2.});
  CHECK(values(b) == std::vector<double>{3, 8});
}

TEST_CASE("assigning twice before a realize keeps both steps", "[tensor]") {
  Tensor a = Tensor::of({1, 2});
  a.assign(a * 3);
  const Tensor middle = a + 0;
  a.assign(a + 1);
  CHECK(values(a) == std::vector<double>{4, 7});
  CHECK(values(middle) == std::vector<double>{3, 6});
}

TEST_CASE("an assigned value is cast and broadcast to the cell", "[tensor]") {
  Tensor a = Tensor::of({1, 2});
  a.assign(Tensor::of(2.75));
  CHECK(a.dtype() == DType::i64);
  CHECK(values(a) == std::vector<double>{2, 2});
}

TEST_CASE("a realize stores pending assignments too", "[tensor]") {
  Tensor statistic = Tensor::of({0.});
  statistic.assign(statistic + 1);
  Tensor::of({5}).realize();
  (Tensor::of({5}) + 1).realize();
  CHECK(statistic.is_realized());
}

TEST_CASE("element types promote as in PyTorch", "[promotion]") {
  using D = DType;
  const D order[] = {D::boolean, D::u8, D::i32, D::i64, D::f16, D::bf16, D::f32, D::f64};
  const D table[8][8] = {
      {D::boolean, D::u8, D::i32, D::i64, D::f16, D::bf16, D::f32, D::f64},
      {D::u8, D::u8, D::i32, D::i64, D::f16, D::bf16, D::f32, D::f64},
      {D::i32, D::i32, D::i32, D::i64, D::f16, D::bf16, D::f32, D::f64},
      {D::i64, D::i64, D::i64, D::i64, D::f16, D::bf16, D::f32, D::f64},
      {D::f16, D::f16, D::f16, D::f16, D::f16, D::f32, D::f32, D::f64},
      {D::bf16, D::bf16, D::bf16, D::bf16, D::f32, D::bf16, D::f32, D::f64},
      {D::f32, D::f32, D::f32, D::f32, D::f32, D::f32, D::f32, D::f64},
      {D::f64, D::f64, D::f64, D::f64, D::f64, D::f64, D::f64, D::f64},
  };
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      INFO(name(order[i]) << " + " << name(order[j]));
      CHECK((Tensor::zeros({2}, order[i]) + Tensor::zeros({2}, order[j])).dtype() == table[i][j]);
    }
}

TEST_CASE("numbers and 0-d tensors are weaker than tensors of the same kind", "[promotion]") {
  const auto t = [](DType d) { return Tensor::ones({2}, d); };
  const auto z = [](DType d) { return Tensor::ones({}, d); };
  CHECK((t(DType::f16) + 2.5).dtype() == DType::f16);
  CHECK((t(DType::f32) + 2).dtype() == DType::f32);
  CHECK((t(DType::i32) + 2).dtype() == DType::i32);
  CHECK((t(DType::i32) + 2.5).dtype() == DType::f32);
  CHECK((t(DType::boolean) + 2).dtype() == DType::i64);
  CHECK((t(DType::boolean) + true).dtype() == DType::boolean);
  CHECK((t(DType::u8) + z(DType::i64)).dtype() == DType::u8);
  CHECK((t(DType::f32) + z(DType::f64)).dtype() == DType::f32);
  CHECK((t(DType::i64) + z(DType::f16)).dtype() == DType::f16);
  CHECK((z(DType::f32) + z(DType::f64)).dtype() == DType::f64);
  CHECK((1 / t(DType::i64)).dtype() == DType::f32);
  CHECK((t(DType::i64) / t(DType::i64)).dtype() == DType::f32);
  CHECK((t(DType::u8) == 1).dtype() == DType::boolean);
  CHECK(where(t(DType::boolean), 1, 2.5).dtype() == DType::f32);
  CHECK(t(DType::boolean).sum().dtype() == DType::i64);
}

TEST_CASE("tensors print as in PyTorch", "[print]") {
  CHECK(text(Tensor::of(3)) == "tensor(3)");
  CHECK(text(Tensor::of(3.)) == "tensor(3.)");
  CHECK(text(Tensor::of({1., 2., 3.})) == "tensor([1., 2., 3.])");
  CHECK(text(Tensor::of({1.5, -2.0})) == "tensor([ 1.5000, -2.0000])");
  CHECK(text(Tensor::of({{1, 20}, {3, 4}})) == "tensor([[ 1, 20],\n        [ 3,  4]])");
  CHECK(text(Tensor::of({true, false})) == "tensor([ True, False])");
  CHECK(text(Tensor::of({1e-5, 1.0})) == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(text(Tensor::of({NAN, HUGE_VAL, -HUGE_VAL, 1.0})) == "tensor([nan, inf, -inf, 1.])");
  CHECK(text(Tensor::of({1., 2.}, DType::f64)) == "tensor([1., 2.], dtype=f64)");
  CHECK(text(Tensor::zeros({0})) == "tensor([])");
  CHECK(text(Tensor::zeros({2, 0, 3})) == "tensor([], size=(2, 0, 3))");
  CHECK(text(Tensor::zeros({2, 1, 2})) == "tensor([[[0., 0.]],\n\n        [[0., 0.]]])");
  CHECK(text(Tensor::arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
}

TEST_CASE("nested lists give shape and type", "[creation]") {
  CHECK(Tensor::of({{1, 2, 3}, {4, 5, 6}}).shape() == Shape{2, 3});
  CHECK(Tensor::of({{1, 2}}).dtype() == DType::i64);
  CHECK(Tensor::of({1, 2.5}).dtype() == DType::f32);
  CHECK(Tensor::of({true}).dtype() == DType::boolean);
  CHECK(Tensor::of({1, 2}, DType::f16).to_vector<float>() == std::vector<float>{1, 2});
  CHECK(Tensor::from(std::vector<double>{1, 2, 3, 4}, Shape{2, 2}).dtype() == DType::f64);
  CHECK(Tensor::from(std::vector<bool>{true, false}).to_vector<bool>() ==
        std::vector<bool>{true, false});
}

TEST_CASE("values convert to the asked C++ type and saturate", "[values]") {
  CHECK(Tensor::of(2.9).item<int>() == 2);
  CHECK(Tensor::of(-5).item<uint8_t>() == static_cast<uint8_t>(-5));
  CHECK(Tensor::of(1e30).item<int32_t>() == std::numeric_limits<int32_t>::max());
  CHECK(Tensor::of(NAN).item<int64_t>() == 0);
  CHECK(Tensor::of(7).item<bool>());
  CHECK(float(Tensor::of(1.5).item<Half>()) == 1.5f);
}

TEST_CASE("indexing follows Python", "[index]") {
  const Tensor x = Tensor::arange(12).reshape({3, 4});
  CHECK(values(x[-1]) == std::vector<double>{8, 9, 10, 11});
  CHECK(values(x[Slice{1, {}}].at({Ellipsis{}, 0})) == std::vector<double>{4, 8});
  CHECK(values(x.slice(1, -3, -1)) == std::vector<double>{1, 2, 5, 6, 9, 10});
  CHECK(values(x.slice(1, {}, {}, -2).select(0, 0)) == std::vector<double>{3, 1});
  CHECK(x.slice(0, 5, 9).shape() == Shape{0, 4});
  CHECK(x.at({NewAxis{}, Slice{0, 2}, 3}).shape() == Shape{1, 2});
  CHECK(values(x[Tensor::of({2, 0})].at({Slice{}, 0})) == std::vector<double>{8, 0});
  CHECK(values(x.at({Tensor::of({0, -1}), Tensor::of({1, 2})})) == std::vector<double>{1, 10});
  CHECK(values(x.take(Tensor::of({{0, 1}, {2, 3}}), 1).at({1})) == std::vector<double>{4, 5, 6, 7});
}

TEST_CASE("a graph of 100000 operations is built, differentiated and destroyed", "[deep]") {
  Tensor w = Tensor::ones({1}).requires_grad_();
  {
    Tensor x = w;
    for (int i = 0; i < 100000; ++i) x = x + 1;
    const std::vector<Tensor> g = grad(x.sum(), {w});
    CHECK(g[0].shape() == Shape{1});
    CHECK(values(x)[0] == 100001);
  }
  CHECK(w.numel() == 1);
}

TEST_CASE("a long chain of realized steps with history is destroyed", "[deep]") {
  const Tensor w = Tensor::ones({1}).requires_grad_();
  Tensor x = w;
  for (int i = 0; i < 20000; ++i) x = (x + 1).realize();
  CHECK(x.requires_grad());
  x = {};
  CHECK(w.numel() == 1);
}

TEST_CASE("building an operation creates few nodes", "[cost]") {
  const Tensor x = Tensor::zeros({2, 3}).realize(), y = x * 2.0;
  const ir::Node& mul = *detail::value(y);
  CHECK(mul.op() == ir::Op::MUL);
  CHECK(mul.source(0) == detail::value(x).get());
  CHECK(x.reshape({2, 3}).cell() == x.cell());
  CHECK(x.cast(DType::f32).cell() == x.cell());
}

TEST_CASE("conv2d and matmul are one multiply and one reduction", "[graph]") {
  const auto count = [](const Tensor& t, ir::Op op) {
    const ir::Node* root = detail::value(t).get();
    int n = 0;
    for (const ir::Node* node : ir::topological_order(std::span(&root, 1))) n += node->op() == op;
    return n;
  };
  const Tensor x = Tensor::zeros({2, 3, 8, 8}).realize(), w = Tensor::zeros({4, 3, 3, 3}).realize();
  for (const Tensor& t :
       {x.conv2d(w, {}, {.stride = 2, .padding = 1}),
        Tensor::zeros({2, 3}).realize().matmul(Tensor::zeros({3, 4}).realize())}) {
    CHECK(count(t, ir::Op::MUL) == 1);
    CHECK(count(t, ir::Op::REDUCE) == 1);
  }
}

}  // namespace tiny
