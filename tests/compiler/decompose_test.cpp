// SPDX-License-Identifier: MIT
// Decompositions against the reference interpreter (every op, dtype and edge value) and against
// wider arithmetic (accuracy over strided sweeps of all bit patterns).
#include "compiler/lower/decompose.h"

#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/ir/scalar.h"
#include "tests/compiler/accuracy.h"
#include "tests/compiler/lane_evaluator.h"

using namespace tiny;
using ir::Op;
using test::bit_sweep;
using test::Bits;
using test::double_functions;
using test::even_sweep;
using test::Function;
using test::Lanes;
using test::Products;
using test::single_functions;
using test::ulps;

namespace {

Target target(bool fma, bool f64 = true) {
  Target t;
  t.has_fma = fma;
  t.has_f64 = f64;
  return t;
}

std::string label(Products p) {
  return p == Products::separate ? "separate" : p == Products::fused ? "fused" : "contracted";
}

/// An op on lane inputs, decomposed.
const ir::Node* decomposed(ir::Arena& arena, Op op, DType operand, DType result, const Target& t) {
  std::vector<const ir::Node*> sources;
  for (int i = 0; i < ir::info(op).sources; ++i)
    sources.push_back(
        test::lane_input(arena, op == Op::WHERE && i == 0 ? DType::boolean : operand, i));
  return lower::decompose(arena, arena.make(op, result, std::move(sources)), t);
}

Lanes run(Op op, const std::vector<Lanes>& inputs, Products products) {
  ir::Arena arena;
  const DType t = inputs.front().dtype;
  return test::evaluate_lanes(decomposed(arena, op, t, t, target(products != Products::separate)),
                              inputs, products);
}

/// Largest error of the op over the inputs; names the worst input when the bound breaks.
template <class T>
void check_accuracy(const Function<T>& f, const std::vector<T>& xs, Products products) {
  double worst = 0;
  T where = 0, got = 0;
  for (size_t start = 0; start < xs.size(); start += 4096) {
    const std::vector<T> part(xs.begin() + start, xs.begin() + std::min(xs.size(), start + 4096));
    const Lanes out = run(f.op, {Lanes::of(part)}, products);
    for (size_t i = 0; i < part.size(); ++i) {
      const double e = ulps<T>(out.template data<T>()[i], f.exact(part[i]));
      if (e > worst) worst = e, where = part[i], got = out.template data<T>()[i];
    }
  }
  INFO(fmt::format("{} {} at {:a} ({:g}): got {:a}, want {:a}", ir::info(f.op).name,
                   label(products), where, where, got, static_cast<double>(f.exact(where))));
  CHECK(worst <= f.bound);
}

constexpr Products kAllProducts[] = {Products::separate, Products::fused, Products::contracted};

}  // namespace

TEST_CASE("f32 functions stay within 1.5 ulp over all bit patterns") {
  const auto xs = bit_sweep<float>(1 << 20);
  for (const auto& f : single_functions())
    for (Products p : {Products::fused, Products::separate}) check_accuracy(f, xs, p);
}

TEST_CASE("f32 functions stay within 1.5 ulp where their formulas change") {
  auto xs = even_sweep<float>(-12, 12, 100000);
  const auto wide = even_sweep<float>(-160, 130, 100000),
             narrow = even_sweep<float>(0.5f, 2.f, 100000);
  xs.insert(xs.end(), wide.begin(), wide.end());
  xs.insert(xs.end(), narrow.begin(), narrow.end());
  for (const auto& f : single_functions())
    for (Products p : kAllProducts) check_accuracy(f, xs, p);
}

TEST_CASE("f64 functions stay within 2 ulp over all bit patterns") {
  const auto xs = bit_sweep<double>(1 << 15);
  for (const auto& f : double_functions())
    for (Products p : {Products::fused, Products::separate}) check_accuracy(f, xs, p);
}

TEST_CASE("f64 functions stay within 2 ulp where their formulas change") {
  auto xs = even_sweep<double>(-12, 12, 20000);
  const auto wide = even_sweep<double>(-1100, 1100, 20000),
             narrow = even_sweep<double>(0.5, 2., 20000);
  xs.insert(xs.end(), wide.begin(), wide.end());
  xs.insert(xs.end(), narrow.begin(), narrow.end());
  for (const auto& f : double_functions())
    for (Products p : kAllProducts) check_accuracy(f, xs, p);
}

namespace {

template <class T>
struct Operands {
  std::vector<T> a, b;
};

/// Every pair of the values.
template <class T>
Operands<T> pairs(const std::vector<T>& values) {
  Operands<T> all;
  for (T x : values)
    for (T y : values) all.a.push_back(x), all.b.push_back(y);
  return all;
}

template <class T>
std::vector<T> edge_reals() {
  using L = std::numeric_limits<T>;
  std::vector<T> positive = {0,
                             L::denorm_min(),
                             L::min() / 2,
                             L::min(),
                             L::epsilon(),
                             T(0.25),
                             T(1) / 3,
                             T(0.5),
                             T(0.75),
                             T(1),
                             1 + L::epsilon(),
                             1 - L::epsilon() / 2,
                             T(1.5),
                             T(2),
                             T(2.5),
                             T(3),
                             T(3.5),
                             T(7),
                             T(10.25),
                             T(100),
                             T(1e6),
                             T(16777215),
                             T(16777216),
                             T(1e10),
                             T(4503599627370495.5),
                             T(1e30),
                             L::max() / 2,
                             L::max(),
                             L::infinity()};
  std::vector<T> all = {L::quiet_NaN()};
  for (T v : positive) all.push_back(v), all.push_back(-v);
  return all;
}

template <class T>
std::vector<T> edge_integers() {
  using L = std::numeric_limits<T>;
  std::vector<T> all = {0,
                        1,
                        2,
                        3,
                        5,
                        7,
                        8,
                        10,
                        31,
                        63,
                        64,
                        100,
                        L::max(),
                        T(L::max() - 1),
                        L::min(),
                        T(L::min() + 1),
                        T(L::max() / 2),
                        T(L::max() / 3)};
  if (std::is_signed_v<T>)
    for (int v : {-1, -2, -3, -5, -7, -8, -10, -100}) all.push_back(static_cast<T>(v));
  return all;
}

/// Bits that the reference gives for lane i.
uint64_t reference_bits(Op op, DType result, const std::vector<Lanes>& inputs, size_t i) {
  auto raw = [](DType t) {
    return size_B(t) == 1   ? DType::u8
           : size_B(t) == 2 ? DType::u16
           : size_B(t) == 4 ? DType::u32
                            : DType::u64;
  };
  ir::Scalar operands[3];
  for (size_t j = 0; j < inputs.size(); ++j) {
    ir::Scalar bits{static_cast<int64_t>(inputs[j].bits(i)), 0};
    const DType t = inputs[j].dtype;
    operands[j] = t == DType::boolean ? bits : ir::evaluate(Op::BITCAST, raw(t), t, {&bits, 1});
  }
  const ir::Scalar v = ir::evaluate(op, inputs.back().dtype, result, {operands, inputs.size()});
  if (result == DType::boolean) return v.integer != 0;
  const ir::Scalar bits = ir::evaluate(Op::BITCAST, result, raw(result), {&v, 1});
  const uint64_t mask =
      size_B(result) == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size_B(result)) - 1;
  return static_cast<uint64_t>(bits.integer) & mask;
}

bool is_nan_bits(DType t, uint64_t bits) {
  switch (t) {
    case DType::f16:
      return (bits & 0x7fff) > 0x7c00;
    case DType::bf16:
      return (bits & 0x7fff) > 0x7f80;
    case DType::f32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case DType::f64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

/// The decomposed op gives the reference's bits in every lane; any NaN equals any other.
void check_exact(Op op, DType result, const std::vector<Lanes>& inputs, Products products) {
  ir::Arena arena;
  const ir::Node* root =
      decomposed(arena, op, inputs.back().dtype, result, target(products != Products::separate));
  const Lanes out = test::evaluate_lanes(root, inputs, products);
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < out.count; ++i) {
    const uint64_t want = reference_bits(op, result, inputs, i);
    if (out.bits(i) == want || (is_nan_bits(result, want) && is_nan_bits(result, out.bits(i))))
      continue;
    if (wrong++ == 0)
      first = fmt::format("a {:#x}, b {:#x}: got {:#x}, want {:#x}", inputs[0].bits(i),
                          inputs.size() > 1 ? inputs[1].bits(i) : 0, out.bits(i), want);
  }
  INFO(fmt::format("{} {} {}: {}", ir::info(op).name, name(inputs.back().dtype), label(products),
                   first));
  CHECK(wrong == 0);
}

template <class T>
void check_integer_ops() {
  const DType t = dtype_of<T>;
  const auto [a, b] = pairs(edge_integers<T>());
  for (Op op : {Op::ABS, Op::NEG}) check_exact(op, t, {Lanes::of(a)}, Products::fused);
  for (Op op : {Op::FLOORDIV, Op::FLOORMOD, Op::POW, Op::MIN, Op::MAX, Op::ADD, Op::IDIV, Op::IMOD})
    check_exact(op, t, {Lanes::of(a), Lanes::of(b)}, Products::fused);
  for (Op op : {Op::CMPLE, Op::CMPLT, Op::CMPEQ, Op::CMPNE})
    check_exact(op, DType::boolean, {Lanes::of(a), Lanes::of(b)}, Products::fused);
}

template <class T>
void check_exact_real_ops(const Operands<T>& x) {
  const DType t = dtype_of<T>;
  const Lanes a = Lanes::of(x.a), b = Lanes::of(x.b);
  for (Products p : kAllProducts) {
    for (Op op : {Op::ABS, Op::FLOOR, Op::CEIL, Op::ROUND, Op::TRUNC, Op::NEG, Op::SQRT})
      check_exact(op, t, {a}, p);
    for (Op op : {Op::MIN, Op::MAX, Op::ADD, Op::SUB, Op::MUL, Op::FDIV, Op::FMOD})
      check_exact(op, t, {a, b}, p);
    for (Op op : {Op::CMPLE, Op::CMPLT, Op::CMPEQ, Op::CMPNE})
      check_exact(op, DType::boolean, {a, b}, p);
  }
}

/// Half floats by their bits.
template <class T>
std::vector<T> halves(const std::vector<float>& values) {
  std::vector<T> all;
  for (float v : values) all.push_back(T(v));
  return all;
}

template <class T>
std::vector<T> all_halves() {
  std::vector<T> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  return all;
}

template <class T>
void check_half_ops() {
  const DType t = dtype_of<T>;
  const Lanes every = Lanes::of(all_halves<T>());
  for (Op op : {Op::ABS, Op::FLOOR, Op::CEIL, Op::ROUND, Op::TRUNC, Op::NEG, Op::SQRT})
    check_exact(op, t, {every}, Products::fused);
  std::vector<float> edges = edge_reals<float>();
  for (float v : {65504.f, 65520.f, 6e-8f, 6.1e-5f, 2049.f, 1.0078125f}) edges.push_back(v);
  const auto [a, b] = pairs(halves<T>(edges));
  for (Op op : {Op::MIN, Op::MAX, Op::ADD, Op::SUB, Op::MUL, Op::FDIV, Op::FMOD})
    check_exact(op, t, {Lanes::of(a), Lanes::of(b)}, Products::contracted);
  for (Op op : {Op::CMPLE, Op::CMPLT, Op::CMPEQ, Op::CMPNE})
    check_exact(op, DType::boolean, {Lanes::of(a), Lanes::of(b)}, Products::fused);
}

/// Every cast from the lanes' dtype but to itself.
void check_casts(const Lanes& x) {
  for (int to = 0; to < kDTypeCount; ++to)
    if (static_cast<DType>(to) != x.dtype)
      check_exact(Op::CAST, static_cast<DType>(to), {x}, Products::fused);
}

template <class T>
double half_ulps(T got, double exact) {
  // Correctly rounded functions are within half; f32 results rounded again within a little more.
  const double g = static_cast<double>(static_cast<float>(got));
  if (std::isnan(g) || std::isnan(exact)) return std::isnan(g) && std::isnan(exact) ? 0 : HUGE_VAL;
  const double rounded = static_cast<double>(static_cast<float>(T(static_cast<float>(exact))));
  if (g == rounded) return 0;
  T up = got, down = got;
  ++up.bits, --down.bits;
  const bool close = static_cast<double>(static_cast<float>(up)) == rounded ||
                     static_cast<double>(static_cast<float>(down)) == rounded;
  return close ? 1 : HUGE_VAL;
}

template <class T>
void check_half_functions() {
  const auto xs = all_halves<T>();
  for (const auto& f : single_functions()) {
    const Lanes out = run(f.op, {Lanes::of(xs)}, Products::fused);
    size_t off = 0, wrong = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double e = half_ulps(out.template data<T>()[i],
                                 f.exact(static_cast<double>(static_cast<float>(xs[i]))));
      off += e == 1;
      wrong += e > 1;
    }
    INFO(fmt::format("{} {}: {} not rounded correctly", ir::info(f.op).name, name(dtype_of<T>),
                     off));
    CHECK(wrong == 0);
    CHECK(off <= 8);
  }
}

template <class T, class Exact>
void check_pow(const Operands<T>& x, double bound, Exact exact, Products products) {
  double worst = 0;
  std::string where;
  for (size_t start = 0; start < x.a.size(); start += 4096) {
    const size_t stop = std::min(x.a.size(), start + 4096);
    const std::vector<T> a(x.a.begin() + start, x.a.begin() + stop),
        b(x.b.begin() + start, x.b.begin() + stop);
    const Lanes out = run(Op::POW, {Lanes::of(a), Lanes::of(b)}, products);
    for (size_t i = 0; i < a.size(); ++i) {
      const double e = ulps<T>(out.template data<T>()[i], exact(a[i], b[i]));
      if (e <= worst) continue;
      worst = e;
      where = fmt::format("pow({:a}, {:a}) = {:a}, want {:a}", a[i], b[i],
                          out.template data<T>()[i], static_cast<double>(exact(a[i], b[i])));
    }
  }
  INFO(label(products) << ": " << where);
  CHECK(worst <= bound);
}

/// Bases and exponents whose powers are mostly neither 0 nor infinite, and unrelated bit patterns.
template <class T>
Operands<T> pow_operands(size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  const double most = std::numeric_limits<T>::max_exponent;
  Operands<T> x;
  for (size_t i = 0; i < count; ++i) {
    const T base = static_cast<T>(std::exp2((unit(random) - 0.5) * (i % 3 ? 2 * most : 0.01)));
    const double reach = 1.05 * most / std::max(std::fabs(std::log2(double(base))), 1e-300);
    x.a.push_back(base), x.b.push_back(static_cast<T>((2 * unit(random) - 1) * reach));
    x.a.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
    x.b.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  }
  return x;
}

long double exact_pow(long double a, long double b) { return std::pow(a, b); }
double exact_pow_single(double a, double b) { return std::pow(a, b); }

}  // namespace

TEST_CASE("pow stays within its bounds and keeps C's special values") {
  for (Products p : kAllProducts) {
    check_pow(pow_operands<float>(1 << 17), 2, exact_pow_single, p);
    check_pow(pairs(edge_reals<float>()), 2, exact_pow_single, p);
    check_pow(pow_operands<double>(1 << 14), 4, exact_pow, p);
    check_pow(pairs(edge_reals<double>()), 4, exact_pow, p);
  }
}

TEST_CASE("integer ops equal the reference on edge values") {
  check_integer_ops<uint8_t>();
  check_integer_ops<uint16_t>();
  check_integer_ops<uint32_t>();
  check_integer_ops<uint64_t>();
  check_integer_ops<int8_t>();
  check_integer_ops<int16_t>();
  check_integer_ops<int32_t>();
  check_integer_ops<int64_t>();
}

TEST_CASE("exact float ops equal the reference bit for bit") {
  check_exact_real_ops(pairs(edge_reals<float>()));
  check_exact_real_ops(pairs(edge_reals<double>()));
}

TEST_CASE("the float remainder is exact at any ratio") {
  std::mt19937_64 random(11);
  Operands<float> f;
  Operands<double> d;
  for (int i = 0; i < 20000; ++i) {
    f.a.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    f.b.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    d.a.push_back(std::bit_cast<double>(random()));
    d.b.push_back(std::bit_cast<double>(random()));
  }
  for (Products p : kAllProducts) {
    check_exact(Op::FMOD, DType::f32, {Lanes::of(f.a), Lanes::of(f.b)}, p);
    check_exact(Op::FMOD, DType::f64, {Lanes::of(d.a), Lanes::of(d.b)}, p);
  }
}

TEST_CASE("half-precision ops are f32 ops rounded once") {
  check_half_ops<Half>();
  check_half_ops<BFloat16>();
}

TEST_CASE("half-precision functions round correctly on all but a few of the 65536 values") {
  check_half_functions<Half>();
  check_half_functions<BFloat16>();
}

TEST_CASE("casts equal the reference for every pair of dtypes") {
  check_casts(Lanes::of(all_halves<Half>()));
  check_casts(Lanes::of(all_halves<BFloat16>()));
  check_casts(Lanes::of(edge_reals<float>()));
  check_casts(Lanes::of(bit_sweep<float>(20000)));
  check_casts(Lanes::of(edge_reals<double>()));
  check_casts(Lanes::of(bit_sweep<double>(20000)));
  check_casts(Lanes::of(edge_integers<int8_t>()));
  check_casts(Lanes::of(edge_integers<uint16_t>()));
  check_casts(Lanes::of(edge_integers<int32_t>()));
  check_casts(Lanes::of(edge_integers<uint32_t>()));
  check_casts(Lanes::of(edge_integers<int64_t>()));
  check_casts(Lanes::of(edge_integers<uint64_t>()));
}

TEST_CASE("threefry gives the published known answers") {
  // Random123 1.14, tests/kat_vectors: threefry2x32, 20 rounds; counter words, key words, result.
  const std::vector<uint64_t> counters = {0, ~uint64_t{0}, 0x85a308d3'243f6a88};
  const std::vector<uint64_t> keys = {0, ~uint64_t{0}, 0x03707344'13198a2e};
  const std::vector<uint64_t> answers = {0x99ba4efe'6b200159, 0xbb002be7'1cb996fc,
                                         0x483df7a0'c4923a9c};
  const Lanes out = run(Op::THREEFRY, {Lanes::of(counters), Lanes::of(keys)}, Products::fused);
  for (size_t i = 0; i < 3; ++i) CHECK(out.bits(i) == answers[i]);
}

TEST_CASE("division by a constant or of what is not negative needs no correction") {
  ir::Arena arena;
  auto ops_in = [&](const ir::Node* root) {
    std::string all;
    const ir::Node* node = lower::decompose(arena, root, target(true));
    for (const ir::Node* n : ir::topological_order(std::span(&node, 1)))
      if (ir::info(n->op()).kind != ir::OpKind::leaf)
        all += fmt::format("{} ", ir::info(n->op()).name);
    return all;
  };
  const ir::Node* i = arena.range(0, 1000);
  const ir::Node* signed_input = test::lane_input(arena, DType::i64, 0);
  auto make = [&](Op op, const ir::Node* a, const ir::Node* b) {
    return arena.make(op, DType::i64, {a, b});
  };
  CHECK(ops_in(make(Op::FLOORDIV, i, arena.integer(7))) == "IDIV ");
  CHECK(ops_in(make(Op::FLOORMOD, i, arena.integer(7))) == "IMOD ");
  CHECK(ops_in(make(Op::FLOORDIV, signed_input, arena.integer(8))) == "LOAD SHR ");
  CHECK(ops_in(make(Op::FLOORMOD, signed_input, arena.integer(8))) == "LOAD AND ");
}

TEST_CASE("division by constant powers of two rounds down for negative values too") {
  ir::Arena arena;
  const std::vector<int64_t> xs = {-17, -16, -15, -1, 0, 1, 15, 16, 17, INT64_MIN, INT64_MAX};
  const ir::Node* x = test::lane_input(arena, DType::i64, 0);
  const ir::Node* roots[] = {arena.make(Op::FLOORDIV, DType::i64, {x, arena.integer(16)}),
                             arena.make(Op::FLOORMOD, DType::i64, {x, arena.integer(16)})};
  const auto results = lower::decompose(arena, roots, target(true));
  const Lanes q = test::evaluate_lanes(results[0], {Lanes::of(xs)}, Products::fused);
  const Lanes r = test::evaluate_lanes(results[1], {Lanes::of(xs)}, Products::fused);
  for (size_t i = 0; i < xs.size(); ++i) {
    CHECK(r.data<int64_t>()[i] >= 0);
    CHECK(r.data<int64_t>()[i] < 16);
    CHECK(q.data<int64_t>()[i] * 16 + r.data<int64_t>()[i] == xs[i]);
  }
}

TEST_CASE("a fused chain of half-precision ops equals its ops run one by one") {
  const auto xs = all_halves<BFloat16>();
  ir::Arena arena;
  const ir::Node* x = test::lane_input(arena, DType::bf16, 0);
  const ir::Node* y = arena.make(Op::EXP, DType::bf16, {arena.make(Op::MUL, DType::bf16, {x, x})});
  const ir::Node* z = arena.make(Op::ADD, DType::bf16, {y, x});
  const Lanes fused = test::evaluate_lanes(lower::decompose(arena, z, target(true)),
                                           {Lanes::of(xs)}, Products::contracted);
  const Lanes square = run(Op::MUL, {Lanes::of(xs), Lanes::of(xs)}, Products::contracted);
  const Lanes power = run(Op::EXP, {square}, Products::contracted);
  const Lanes sum = run(Op::ADD, {power, Lanes::of(xs)}, Products::contracted);
  CHECK(fused.bytes == sum.bytes);
}

TEST_CASE("deep and shared expressions are rewritten once a node") {
  ir::Arena arena;
  const ir::Node* n = test::lane_input(arena, DType::f32, 0);
  for (int i = 0; i < 20000; ++i) n = arena.make(Op::MIN, DType::f32, {n, n});
  const ir::Node* roots[] = {n, arena.make(Op::ABS, DType::f32, {n})};
  const auto out = lower::decompose(arena, roots, target(true));
  CHECK(out.size() == 2);
  CHECK(arena.size() < 200000);
  for (const ir::Node* m : ir::topological_order(out)) CHECK(ir::info(m->op()).required);
}

TEST_CASE("targets without f64 get f32 functions without it") {
  std::mt19937_64 random(5);
  std::vector<float> a = bit_sweep<float>(1 << 16), b;
  const auto usual = even_sweep<float>(-40, 40, 1 << 16);
  a.insert(a.end(), usual.begin(), usual.end());
  for (size_t i = 0; i < a.size(); ++i)
    b.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  auto evaluate = [&](Op op, bool fma) {
    ir::Arena arena;
    const ir::Node* root = decomposed(arena, op, DType::f32, DType::f32, target(fma, false));
    for (const ir::Node* n : ir::topological_order(std::span(&root, 1)))
      CHECK(n->dtype() != DType::f64);
    return test::evaluate_lanes(root, {Lanes::of(a), Lanes::of(b)},
                                fma ? Products::contracted : Products::separate);
  };
  for (bool fma : {true, false}) {
    const Lanes sine = evaluate(Op::SIN, fma), cosine = evaluate(Op::COS, fma),
                rest = evaluate(Op::FMOD, fma);
    double worst = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      worst = std::max(worst, ulps<float>(sine.data<float>()[i], std::sin(double(a[i]))));
      worst = std::max(worst, ulps<float>(cosine.data<float>()[i], std::cos(double(a[i]))));
      const float exact = std::fmod(a[i], b[i]), got = rest.data<float>()[i];
      wrong += !(got == exact || (std::isnan(got) && std::isnan(exact)));
    }
    CHECK(worst <= 2);  // the polynomial itself is evaluated in f32 here
    CHECK(wrong == 0);
  }
}

TEST_CASE("sine and cosine are accurate next to multiples of pi/2 of any size") {
  // Floats and doubles nearest to k pi/2 for k = 1, 3, 7, 17, ... up to the largest exponents.
  std::vector<float> f;
  std::vector<double> d = {6381956970095103 * 0x1p797};  // the double nearest to a multiple of pi/2
  const long double half_pi = 1.57079632679489661923132169163975144L;
  for (long double k = 1; k < 0x1p1022L; k = std::floor(k * 1.37L) + 1) {
    d.push_back(static_cast<double>(k * half_pi));
    if (k < 0x1p126L) f.push_back(static_cast<float>(k * half_pi));
  }
  for (Products p : kAllProducts) {
    for (const auto& function : single_functions())
      if (function.op == Op::SIN || function.op == Op::COS) check_accuracy(function, f, p);
    for (const auto& function : double_functions())
      if (function.op == Op::SIN || function.op == Op::COS) check_accuracy(function, d, p);
  }
}
