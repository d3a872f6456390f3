// SPDX-License-Identifier: MIT
#include <rt_tiny/frontend/random.h>

#include <fmt/format.h>
#include <atomic>
#include <numeric>

#include "frontend/cell.h"

namespace tiny {

using namespace detail;
using ir::Op;

namespace {

// The key is fixed and the seed chooses where counting begins, so that the one counter is all the
// state: a replayed trace follows manual_seed too. 2^64 positions keep seeds apart.
constexpr uint64_t kKey = 0x1BD11BDAA9FC1A22;  // the constant of Threefish's key schedule

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): neighbouring seeds start far apart.
uint64_t start_of(uint64_t seed) {
  uint64_t z = seed + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::atomic<uint64_t> position{start_of(0)};

Tensor wide(uint64_t v) { return constant_tensor({1}, DType::u64, static_cast<int64_t>(v)); }

/// One u64 of random bits for each element.
Tensor random_bits(std::string_view op, const Shape& shape) {
  check_shape(op, shape);
  const int64_t n = element_count(shape);
  const Tensor counters = iota(n, DType::u64) + random_state().take(static_cast<uint64_t>(n));
  const Tensor key = constant_tensor({n}, DType::u64, static_cast<int64_t>(kKey));
  return build(Op::THREEFRY, DType::u64, counters, key).reshape(shape);
}

/// In [0, 1): 24 bits for f32 and narrower, 53 for f64.
Tensor unit(const Tensor& bits, DType t) {
  if (t == DType::f64) return (bits >> 11).cast(t) * 0x1p-53;
  return (bits >> 40).cast(DType::f32) * 0x1p-24;
}

void require_real(std::string_view op, DType t) {
  if (!is_float(t)) fail(op, fmt::format("needs a floating type, got {}", name(t)));
}

/// Rounding to 16 bits may reach the open end; such draws fall back to the largest value below.
Tensor narrowed(const Tensor& u, DType t) {
  if (t == DType::f16) return minimum(u, 1 - 0x1p-11).cast(t);
  return t == DType::bf16 ? minimum(u, 1 - 0x1p-8).cast(t) : u;
}

}  // namespace

void manual_seed(uint64_t seed) { position = start_of(seed); }
uint64_t random_position() { return position; }
void advance_random(uint64_t count) { position += count; }

RandomState& random_state() {
  thread_local RandomState state;
  return state;
}

void RandomState::begin_trace() {
  const uint64_t next = position;
  counter_ = Tensor::from(std::vector<uint64_t>{next});
  drawn_ = 0;
  traced = true;
}

uint64_t RandomState::end_trace() {
  traced = false;
  return drawn_;
}

Tensor RandomState::take(uint64_t count) {
  // Stored, not a constant: each draw would otherwise be a kernel of its own.
  if (!traced) return Tensor::from(std::vector<uint64_t>{position.fetch_add(count)});
  const Tensor base = counter_.detach();
  counter_.assign(base + wide(count));
  drawn_ += count;
  return base;
}

Tensor Tensor::rand(const Shape& shape, DType t) {
  require_real("rand", t);
  return narrowed(unit(random_bits("rand", shape), t), t);
}

Tensor Tensor::uniform(const Shape& shape, double low, double high, DType t) {
  require_real("uniform", t);
  if (!(low <= high)) fail("uniform", fmt::format("[{}, {}) is empty", low, high));
  return (unit(random_bits("uniform", shape), t) * (high - low) + low).cast(t);
}

Tensor Tensor::randn(const Shape& shape, DType t) {
  require_real("randn", t);
  const Tensor bits = random_bits("randn", shape);
  // Box-Muller from the two halves of one draw; the radius' half is never 0.
  const DType inner = t == DType::f64 ? t : DType::f32;
  const Tensor radius = ((bits >> 40).cast(inner) + 1) * 0x1p-24;
  const Tensor angle = ((bits & int64_t{0xFFFFFF}).cast(inner)) * (6.283185307179586 * 0x1p-24);
  return ((radius.log() * -2).sqrt() * angle.cos()).cast(t);
}

Tensor Tensor::normal(const Shape& shape, double mean, double deviation, DType t) {
  require_real("normal", t);
  if (!(deviation >= 0)) fail("normal", fmt::format("deviation {} is negative", deviation));
  const DType inner = t == DType::f64 ? t : DType::f32;
  return (randn(shape, inner) * deviation + mean).cast(t);
}

Tensor Tensor::randint(const Shape& shape, int64_t low, int64_t high, DType t) {
  if (low >= high) fail("randint", fmt::format("[{}, {}) is empty", low, high));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Tensor bits = random_bits("randint", shape);
  Tensor offset;
  if (range <= (uint64_t{1} << 32)) {  // multiply-high: no division
    offset = ((bits >> 32) * static_cast<int64_t>(range)) >> 32;
  } else {
    offset = bits % static_cast<int64_t>(range);
  }
  return (offset.cast(DType::i64) + low).cast(t);
}

Tensor Tensor::randperm(int64_t n) {
  if (n < 0) fail("randperm", fmt::format("{} elements", n));
  const std::vector<uint64_t> bits = random_bits("randperm", {n}).to_vector<uint64_t>();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[bits[i - 1] % i]);
  return from(order);
}

Tensor Tensor::dropout(double p) const {
  require_float("dropout", *this);
  if (!(p >= 0 && p <= 1)) fail("dropout", fmt::format("probability {} is outside [0, 1]", p));
  if (p == 0) return *this;
  if (p == 1) return *this * 0;
  const Tensor keep = unit(random_bits("dropout", shape()), DType::f32) >= p;
  return where(keep, *this * (1 / (1 - p)), 0);
}

}  // namespace tiny
