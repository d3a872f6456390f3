// SPDX-License-Identifier: MIT
#include "tests/engine/random_program.h"

#include <random>

namespace tiny {
namespace {

constexpr int64_t kMaxElements = 4000;

class Program {
 public:
  Program(uint64_t seed, const std::vector<Tensor>& inputs) : random_(seed), pool_(inputs) {}

  void step() {
    Tensor made;
    switch (pick(5)) {
      case 0:
        made = unary(any());
        break;
      case 1:
        made = binary(any(), any());
        break;
      case 2:
        made = reduction(any());
        break;
      case 3:
        made = movement(any());
        break;
      default:
        made = composite(any());
        break;
    }
    if (made.defined() && made.numel() <= kMaxElements && made.ndim() <= 5) pool_.push_back(made);
  }

  std::vector<Tensor> results() {
    std::vector<Tensor> out{pool_.back()};
    for (int i = 0; i < 2; ++i) out.push_back(any());
    return out;
  }

 private:
  int64_t pick(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  const Tensor& any() { return pool_[size_t(pick(int64_t(pool_.size())))]; }
  int64_t axis(const Tensor& t) { return pick(t.ndim()); }

  /// Values stay small, so that every order of summation agrees within a tolerance.
  static Tensor bounded(const Tensor& t) {
    if (is_float(t.dtype())) return t.clamp(-4, 4);
    return t.dtype() == DType::boolean ? t : t % 17;
  }

  Tensor unary(const Tensor& t) {
    const Tensor x = is_float(t.dtype()) ? t : t.cast(DType::f32);
    switch (pick(9)) {
      case 0:
        return -x;
      case 1:
        return x.abs();
      case 2:
        return x.relu();
      case 3:
        return bounded(x).exp();
      case 4:
        return (x.abs() + 0.25).sqrt();  // at 0 it would magnify a rounding without limit
      case 5:
        return x.sigmoid();
      case 6:
        return x.tanh();
      case 7:
        return bounded(x).sin();
      default:
        return t.cast(pick(2) ? DType::i32 : DType::f32);
    }
  }

  /// b brought to broadcast with a: its axes cut to a's extents or to 1.
  static Tensor fit(const Tensor& a, Tensor b) {
    while (b.ndim() > a.ndim()) b = b.dim(0) > 0 ? b.select(0, 0) : b.sum(0);
    for (int64_t i = 0; i < b.ndim(); ++i) {
      const int64_t want = a.dim(a.ndim() - b.ndim() + i);
      if (b.dim(i) != want) b = b.dim(i) > want ? b.slice(i, 0, want) : b.slice(i, 0, 1);
    }
    return b;
  }

  Tensor binary(const Tensor& left, const Tensor& right) {
    if (right.numel() == 0 && left.numel() != 0) return {};  // nothing to broadcast
    const Tensor a = bounded(left), b = bounded(fit(left, right));
    switch (pick(8)) {
      case 0:
        return a + b;
      case 1:
        return a - b.cast(is_float(b.dtype()) ? b.dtype() : DType::i32);
      case 2:
        return a * b;
      case 3:
        return maximum(a, b);
      case 4:
        return minimum(a, b);
      case 5:
        return where(a < b, a, b);
      case 6:
        return (a == b).cast(DType::i32);
      default:
        return a / (b.abs() + 1);
    }
  }

  Tensor reduction(const Tensor& t) {
    if (t.ndim() == 0) return {};
    const bool keep = pick(2);
    const int64_t i = axis(t);
    if (t.dim(i) == 0) return {};  // nothing has no extreme
    const Tensor x = bounded(t);
    switch (pick(5)) {
      case 0:
        return x.sum(i, keep);
      case 1:
        return x.cast(DType::f32).mean(i, keep);
      case 2:
        return x.amax(i, keep);
      case 3:
        return x.amin(i, keep);
      default:
        return x.sum();
    }
  }

  Tensor movement(const Tensor& t) {
    if (t.ndim() == 0) return t.reshape({1, 1});
    const int64_t i = axis(t);
    switch (pick(9)) {
      case 0:
        return t.transpose(i, axis(t));
      case 1:
        return t.flip(i);
      case 2:
        return t.flatten();
      case 3:
        return t.slice(i, pick(2), std::nullopt, 1 + pick(2));
      case 4: {
        Padding p(size_t(t.ndim()), {0, 0});
        p[size_t(i)] = {pick(3), pick(3)};
        return t.pad(p, int(pick(2)));
      }
      case 5:
        return t.unsqueeze(i);
      case 6:
        return Tensor(t).repeat(std::vector<int64_t>(size_t(t.ndim()), 1 + pick(2)));
      case 7:
        return t.dim(i) >= 2 ? t.unfold(i, 2, 1 + pick(2)) : t;
      default:
        return cat({t, t.flip(i)}, i);
    }
  }

  static Padding one_sided(const Tensor& t, int64_t axis) {
    Padding p(size_t(t.ndim()), {0, 0});
    p[size_t(axis)] = {0, 1};
    return p;
  }

  Tensor attention(const Tensor& x) {
    if (x.ndim() < 2) return {};
    const Tensor turned = x.transpose(x.ndim() - 1, x.ndim() - 2);
    const Tensor scores = x.matmul(turned) * 0.125;
    return pick(2) ? scores.softmax(-1).matmul(x) : scores.relu().matmul(x * x);
  }

  Tensor composite(const Tensor& t) {
    if (t.ndim() == 0) return {};
    const Tensor x = bounded(t.cast(DType::f32));
    const int64_t i = axis(t);
    switch (pick(8)) {
      case 6:
        return attention(x);
      case 7:  // soft weights read at shifted and padded places
        return x.dim(i) >= 2 ? x.softmax(i).pad(one_sided(x, i)).unfold(i, 2, 1) : Tensor();
      case 0:
        return x.softmax(i);
      case 1:
        return x.ndim() >= 2 ? x.matmul(x.transpose(x.ndim() - 1, x.ndim() - 2)) : Tensor();
      case 2:
        return x - x.mean(i, true);
      case 3:
        return t.dim(i) > 0 ? t.take(Tensor::arange(t.dim(i)).flip(0), i) : Tensor();
      case 4:
        return x.log_softmax(i);
      default:
        return x.contiguous();
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor> pool_;
};

}  // namespace

std::vector<Tensor> random_program(uint64_t seed, int length, const std::vector<Tensor>& inputs) {
  Program program(seed, inputs);
  for (int i = 0; i < length; ++i) program.step();
  return program.results();
}

std::vector<Tensor> random_inputs(uint64_t seed) {
  std::mt19937_64 random(seed * 77 + 5);
  const auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  std::vector<Tensor> inputs;
  const DType types[] = {DType::f32, DType::f32, DType::i32};
  for (const DType type : types) {
    Shape shape;
    for (int64_t axes = 1 + below(3); axes > 0; --axes) shape.push_back(1 + below(9));
    std::vector<float> values;
    for (int64_t n = 0, total = Tensor::zeros(shape).numel(); n < total; ++n)
      values.push_back(float(below(65) - 32) / 8);
    inputs.push_back(Tensor::from(values, shape).cast(type).realize());
  }
  return inputs;
}

}  // namespace tiny
