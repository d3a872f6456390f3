// SPDX-License-Identifier: MIT
// jit: traces, replays, state, aliasing, random numbers.
#include <rt_tiny/frontend/jit.h>
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>
#include <rt_tiny/frontend/random.h>
#include <rt_tiny/frontend/tensor.h>
#include <rt_tiny/runtime/base/error.h>
#include <catch2/catch.hpp>

using namespace tiny;

namespace {

Tensor row(std::vector<float> v) { return Tensor::from(v); }
using Values = std::vector<float>;

}  // namespace

TEST_CASE("a jitted function gives what the function gives") {
  auto f = jit([](const Tensor& x, const Tensor& y) { return (x * y + 1).sum(0); });
  for (int i = 0; i < 5; ++i) {
    const float v = float(i);
    CHECK(f(row({v, v + 1}), row({2, 3})).item<float>() == 2 * v + 3 * (v + 1) + 2);
  }
  CHECK(f.trace_count() == 1);
}

TEST_CASE("each shape and dtype has its trace") {
  auto f = jit([](const Tensor& x) { return x + 1; });
  f(row({1}));
  CHECK(f(row({1, 2})).to_vector<float>() == Values{2, 3});
  CHECK(f(row({1, 2, 3})).to_vector<float>() == Values{2, 3, 4});
  CHECK(f(Tensor::from(std::vector<int32_t>{1, 2})).dtype() == DType::i32);
  CHECK(f(row({5, 6})).to_vector<float>() == Values{6, 7});
  CHECK(f.trace_count() == 3);
}

TEST_CASE("numbers are part of the signature") {
  auto f = jit([](const Tensor& x, int n) { return x * n; });
  f(row({1}), 1);
  CHECK(f(row({1}), 2).item<float>() == 2);
  CHECK(f(row({1}), 3).item<float>() == 3);
  CHECK(f(row({2}), 2).item<float>() == 4);
  CHECK(f.trace_count() == 2);
}

TEST_CASE("state advances once a call, traced or not") {
  Tensor count = row({0});
  auto f = jit([&](const Tensor& x) {
    count.assign(count + x);
    return count * 10;
  });
  for (int i = 1; i <= 6; ++i) {
    CHECK(f(row({1})).item<float>() == float(10 * i));
    CHECK(count.item<float>() == float(i));
  }
}

TEST_CASE("outputs of earlier replays keep their values") {
  auto f = jit([](const Tensor& x) { return x + 1; });
  std::vector<Tensor> kept;
  for (int i = 0; i < 6; ++i) kept.push_back(f(row({float(i)})));
  for (int i = 0; i < 6; ++i) CHECK(kept[size_t(i)].item<float>() == float(i + 1));
}

TEST_CASE("an input that is also written") {
  auto f = jit([](Tensor x) {
    x.assign(x * 2);
    return x + 1;
  });
  Tensor x = row({1});
  for (int i = 1; i <= 5; ++i) {
    CHECK(f(x).item<float>() == float((1 << i) + 1));
    CHECK(x.item<float>() == float(1 << i));
  }
}

TEST_CASE("the same tensor as two inputs, and state passed as an input") {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a * 10 + b; });
  const Tensor x = row({3});
  for (int i = 0; i < 3; ++i) CHECK(f(x, x).item<float>() == 33);
  CHECK(f(x, row({4})).item<float>() == 34);

  Tensor w = row({1, 2, 3});
  auto g = jit([&](const Tensor& x_) {
    w.assign(w + x_.flip(0));
    return w.sum();
  });
  Values expected{1, 2, 3};
  for (int i = 0; i < 4; ++i) {
    g(w);
    const Values old = expected;
    for (size_t k = 0; k < 3; ++k) expected[k] = old[k] + old[2 - k];
    CHECK(w.to_vector<float>() == expected);
  }
}

TEST_CASE("a lazy reader of state keeps what it saw across a replay") {
  Tensor w = row({1});
  auto f = jit([&] { w.assign(w + 1); });
  f();
  f();
  f();
  const Tensor seen = w * 100;
  const Tensor alias = w.detach();
  f();
  CHECK(w.item<float>() == 5);
  CHECK(seen.item<float>() == 400);
  CHECK(alias.item<float>() == 4);
}

TEST_CASE("tensors that are only read may be assigned outside") {
  Tensor scale = row({2});
  auto f = jit([&](const Tensor& x) { return x * scale; });
  for (int i = 0; i < 3; ++i) CHECK(f(row({5})).item<float>() == 10);
  scale.assign(row({3}));
  CHECK(f(row({5})).item<float>() == 15);
}

TEST_CASE("returning an input or untouched state gives its value, not its memory") {
  Tensor w = row({1});
  auto f = jit([&](const Tensor& x) {
    const Tensor before = w.detach();
    w.assign(w + x);
    return std::vector<Tensor>{x, before};
  });
  for (int i = 0; i < 4; ++i) {
    const auto out = f(row({1}));
    CHECK(out[0].item<float>() == 1);
    CHECK(out[1].item<float>() == float(i + 1));
  }
}

TEST_CASE("random numbers go on where the last call ended, as eagerly") {
  manual_seed(7);
  std::vector<Values> eager;
  for (int i = 0; i < 5; ++i) eager.push_back(Tensor::rand({4}).to_vector<float>());
  manual_seed(7);
  auto f = jit([] { return Tensor::rand({4}); });
  for (int i = 0; i < 5; ++i) CHECK(f().to_vector<float>() == eager[size_t(i)]);
}

TEST_CASE("values do not exist inside a trace") {
  auto f = jit([](const Tensor& x) { return x * x.sum().item<float>(); });
  f(row({2}));
  CHECK_THROWS_AS(f(row({2})), UsageError);
  CHECK_THROWS_AS(f(row({2})), UsageError);  // and again: nothing was kept
  CHECK((row({2}) + 1).item<float>() == 3);
}

TEST_CASE("an exception in a trace leaves state as it was") {
  Tensor w = row({1});
  bool fail = false;
  auto f = jit([&](const Tensor& x) {
    w.assign(w + x);
    if (fail) throw std::runtime_error("planned");
    return w * 1;
  });
  f(row({1}));
  fail = true;
  CHECK_THROWS_AS(f(row({1})), std::runtime_error);
  CHECK(w.item<float>() == 2);
  fail = false;
  CHECK(f(row({1})).item<float>() == 3);
}

TEST_CASE("a training step: jitted losses are the eager ones") {
  const auto losses = [](bool jitted) {
    manual_seed(1);
    nn::Linear l1{4, 16}, l2{16, 3};
    optim::Adam opt{nn::parameters(l1, l2), {.lr = 1e-2f}};
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const Tensor loss = l2(l1(x).relu()).cross_entropy(y);
      opt.zero_grad();
      loss.backward();
      opt.step();
      return loss;
    };
    auto fast = jit(step);
    Values out;
    for (int i = 0; i < 6; ++i) {
      std::vector<float> x(32);
      std::vector<int64_t> y(8);
      for (size_t k = 0; k < x.size(); ++k) x[k] = float((k * 7) % 11) / 11;
      for (size_t k = 0; k < y.size(); ++k) y[k] = int64_t(k % 3);
      const Tensor tx = Tensor::from(x, Shape{8, 4}), ty = Tensor::from(y);
      out.push_back((jitted ? fast(tx, ty) : step(tx, ty)).item<float>());
    }
    return out;
  };
  const Values eager = losses(false), jitted = losses(true);
  for (size_t i = 0; i < eager.size(); ++i) CHECK(jitted[i] == Approx(eager[i]).epsilon(1e-5));
  CHECK(eager.back() < eager.front());
}
