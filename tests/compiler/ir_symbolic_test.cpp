// SPDX-License-Identifier: MIT
// The index algebra: named cases, and chains of movement ops whose indices must come out short.
#include "compiler/ir/symbolic.h"

#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "tests/compiler/ir_random.h"

using namespace tiny;
using namespace tiny::ir;
using namespace tiny::ir::testing;

namespace {

struct Algebra {
  Arena a;
  const Node* r0 = a.range(0, 6);
  const Node* r1 = a.range(1, 4);
  const Node* r2 = a.range(2, 8);

  const Node* k(int64_t v) { return a.integer(v); }
  const Node* plus(const Node* x, const Node* y) { return a.add(x, y); }
  const Node* plus(const Node* x, int64_t c) { return a.add(x, k(c)); }
  const Node* times(const Node* x, int64_t c) { return a.mul(x, k(c)); }
  const Node* div(const Node* x, int64_t c) { return a.floordiv(x, k(c)); }
  const Node* mod(const Node* x, int64_t c) { return a.floormod(x, k(c)); }
  const Node* flat() { return plus(plus(times(r0, 32), times(r1, 8)), r2); }
  std::string text(const Node* n) { return pretty(simplify(a, n)); }
};

}  // namespace

TEST_CASE("sums are sorted, merged and have their constant last") {
  Algebra x;
  CHECK(x.text(x.plus(x.plus(x.r1, 3), x.plus(x.r0, -1))) == "r0 + r1 + 2");
  CHECK(x.text(x.plus(x.times(x.r1, 3), x.times(x.r1, 2))) == "r1*5");
  CHECK(x.text(x.a.sub(x.plus(x.r1, x.r0), x.r1)) == "r0");
  CHECK(simplify(x.a, x.a.sub(x.r0, x.r1)) == simplify(x.a, x.plus(x.times(x.r1, -1), x.r0)));
}

TEST_CASE("products distribute over sums and gather constants") {
  Algebra x;
  CHECK(x.text(x.times(x.plus(x.times(x.r0, 4), 3), 5)) == "r0*20 + 15");
  CHECK(x.text(x.a.mul(x.times(x.r1, 2), x.times(x.r0, 3))) == "r0*r1*6");
}

TEST_CASE("quotients and remainders of a flattened index are its ranges") {
  Algebra x;
  const Node* f = x.flat();
  CHECK(simplify(x.a, x.mod(f, 8)) == x.r2);
  CHECK(simplify(x.a, x.mod(x.div(f, 8), 4)) == x.r1);
  CHECK(simplify(x.a, x.div(f, 32)) == x.r0);
  CHECK(x.text(x.div(f, 16)) == "r0*2 + r1//2");
  CHECK(x.text(x.mod(f, 16)) == "r1%2*8 + r2");
}

TEST_CASE("a quotient meets its remainder") {
  Algebra x;
  const Node* r = x.a.range(5, 1000);
  CHECK(simplify(x.a, x.plus(x.times(x.div(r, 7), 7), x.mod(r, 7))) == r);
  CHECK(x.text(x.plus(x.times(x.mod(x.div(r, 7), 5), 7), x.mod(r, 7))) == "r5%35");
  CHECK(x.text(x.plus(x.times(x.div(r, 35), 5), x.mod(x.div(r, 7), 5))) == "r5//7");
  CHECK(x.text(x.plus(x.times(x.div(x.plus(r, 3), 7), 7), x.mod(x.plus(r, 3), 7))) == "r5 + 3");
}

TEST_CASE("nested quotients and remainders join") {
  Algebra x;
  const Node* r = x.a.range(5, 1000);
  CHECK(x.text(x.div(x.div(r, 3), 4)) == "r5//12");
  CHECK(x.text(x.mod(x.mod(r, 12), 4)) == "r5%4");
  CHECK(x.text(x.div(x.mod(r, 12), 4)) == "r5//4%3");
  CHECK(x.text(x.div(x.plus(x.times(r, 6), 4), 4)) == "r5*3//2 + 1");
}

TEST_CASE("a reversed axis takes apart like a straight one") {
  Algebra x;
  const Node* reversed = x.a.sub(x.k(6 * 32 - 1), x.flat());
  CHECK(x.text(x.div(reversed, 32)) == "-r0 + 5");
  CHECK(simplify(x.a, x.mod(reversed, 8)) == simplify(x.a, x.a.sub(x.k(7), x.r2)));
}

TEST_CASE("comparisons have their constant on one side and lose what cannot matter") {
  Algebra x;
  CHECK(x.text(x.a.lt(x.plus(x.r0, 3), x.k(5))) == "r0 < 2");
  CHECK(x.text(x.a.le(x.k(3), x.r0)) == "2 < r0");
  CHECK(x.text(x.a.lt(x.plus(x.times(x.r0, 4), x.r1), x.k(8))) == "r0 < 2");
  CHECK(x.text(x.a.lt(x.div(x.r2, 2), x.k(2))) == "r2 < 4");
  CHECK(x.text(x.a.lt(x.r0, x.k(6))) == "true");
  CHECK(x.text(x.a.eq(x.times(x.r0, 4), x.k(6))) == "false");
  CHECK(x.text(x.a.eq(x.plus(x.times(x.r0, 4), x.r1), x.k(6))) == "r0 == 1 & r1 == 2");
  CHECK(x.text(x.a.logical_not(x.a.lt(x.r0, x.k(2)))) == "1 < r0");
  CHECK(x.text(x.a.lt(x.plus(x.r0, x.r1), x.plus(x.r0, x.plus(x.r1, 1)))) == "true");
}

TEST_CASE("and, or and choices absorb") {
  Algebra x;
  const Node *p = x.a.lt(x.r0, x.k(3)), *q = x.a.lt(x.r1, x.k(2));
  CHECK(simplify(x.a, x.a.logical_and(p, x.a.logical_or(p, q))) == p);
  CHECK(simplify(x.a, x.a.logical_or(p, x.a.logical_and(q, p))) == p);
  CHECK(x.text(x.a.logical_and(p, x.a.logical_not(p))) == "false");
  CHECK(x.text(x.a.logical_or(p, x.a.logical_not(p))) == "true");
  CHECK(x.text(x.a.logical_and(p, x.a.lt(x.r0, x.k(5)))) == "r0 < 3");
  CHECK(x.text(x.a.logical_and(x.a.lt(x.k(1), x.r0), p)) == "r0 == 2");
  CHECK(x.text(x.a.where(p, x.a.where(q, x.r0, x.k(0)), x.k(0))) == "r0 < 3 & r1 < 2 ? r0 : 0");
  CHECK(x.text(x.a.where(x.a.logical_not(p), x.r0, x.r1)) == "2 < r0 ? r0 : r1");
}

TEST_CASE("floats keep NaN, infinities and -0") {
  Arena a;
  Arg slot;
  const Node* x = a.make(Op::LOAD, DType::f32, {a.range(0, 4)}, slot);
  const Node* zero = a.real(0.0, DType::f32);
  const Node* times_zero = a.mul(x, zero);
  CHECK(simplify(a, times_zero) == times_zero);
  const Node* minus_itself = a.sub(x, x);
  CHECK(simplify(a, minus_itself) == minus_itself);
  const Node* plus_zero = a.add(x, zero);  // -0 + 0 = 0
  CHECK(simplify(a, plus_zero) == plus_zero);
  CHECK(a.add(x, a.real(-0.0, DType::f32)) == x);
  CHECK(a.mul(x, a.real(1.0, DType::f32)) == x);
  const Node* itself = a.eq(x, x);
  CHECK(simplify(a, itself) == itself);
  const Node* not_less = a.logical_not(a.lt(x, zero));
  CHECK(simplify(a, not_less) == not_less);
}

TEST_CASE("wrap-around keeps division and order honest") {
  Arena a;
  Arg slot;
  const Node* x = a.make(Op::LOAD, DType::i32, {a.range(0, 4)}, slot);
  const Node* one = a.integer(1, DType::i32);
  const Node* less = a.lt(x, a.add(x, one));  // false for the greatest x
  CHECK_FALSE(simplify(a, less)->is_const());
  const Node* two = a.integer(2, DType::i32);
  CHECK_FALSE(simplify(a, a.floordiv(a.mul(x, two), two)) == x);
}

TEST_CASE("a validity condition bounds terms and sums") {
  Algebra x;
  const Node* sum = x.plus(x.r0, x.r1);  // 0 … 8
  const Node* valid = x.a.logical_and(x.a.lt(x.k(0), sum), x.a.lt(sum, x.k(5)));
  CHECK(simplify_given(x.a, x.mod(x.plus(sum, -1), 4), valid) == simplify(x.a, x.plus(sum, -1)));
  CHECK(simplify_given(x.a, x.div(x.r2, 4), x.a.lt(x.r2, x.k(4))) == x.k(0));
  CHECK(simplify_given(x.a, x.a.where(valid, x.r0, x.r1), valid) == x.r0);
  CHECK(simplify_given(x.a, x.a.lt(x.r2, x.k(6)), x.a.lt(x.r2, x.k(4)))->is_int_const(1));
  const Node* joint = x.a.lt(x.plus(x.times(x.r0, 8), x.r2), x.k(16));
  CHECK(simplify_given(x.a, x.div(x.r0, 2), joint) == x.k(0));
}

TEST_CASE("known axis bounds fold guards") {
  Algebra x;
  const Node* guard = x.a.logical_and(x.a.lt(x.k(0), x.r0), x.a.lt(x.plus(x.r0, x.r1), x.k(8)));
  const AxisBound middle[] = {{0, 1, 4}};
  CHECK(simplify_bounds(x.a, guard, middle)->is_int_const(1));
  const AxisBound first[] = {{0, 0, 0}};
  CHECK(simplify_bounds(x.a, guard, first)->is_int_const(0));
  const AxisBound high[] = {{2, 4, 7}};
  CHECK(simplify_bounds(x.a, x.div(x.r2, 4), high)->is_int_const(1));
  CHECK(pretty(simplify_bounds(x.a, x.mod(x.r2, 4), high)) == "r2 - 4");
}

TEST_CASE("linear_in gives the stride of an axis") {
  Algebra x;
  const auto unit = linear_in(x.a, x.flat(), 2);
  REQUIRE(unit);
  CHECK(unit->coefficient == 1);
  CHECK(pretty(unit->rest) == "r0*32 + r1*8");
  CHECK(linear_in(x.a, x.flat(), 1)->coefficient == 8);
  CHECK(linear_in(x.a, x.flat(), 7)->coefficient == 0);
  CHECK_FALSE(linear_in(x.a, x.div(x.flat(), 16), 1));
}

TEST_CASE("substitute renames the axes of a stage") {
  Arena a;
  Arg stage;
  stage.value = 2;
  stage.list = {0, 3};
  const Node* s = a.make(Op::STAGE, DType::f32, {}, stage);
  const Node* split = a.add(a.mul(a.range(7, 2), a.integer(8)), a.range(8, 8));
  const Node* t = substitute(a, a.mul(s, a.real(2, DType::f32)), {{a.range(0, 16), split}});
  CHECK(t->source(0)->arg().list == std::vector<int64_t>{3, 7, 8});
  const AxisBound bounds[] = {{0, 1, 3}};
  const Node* guarded = a.where(a.lt(a.range(0, 16), a.integer(4)), s, a.real(0, DType::f32));
  CHECK(simplify_bounds(a, guarded, bounds) == s);
}

namespace {

/// One dimension of a tensor seen through movement ops: its extent and, as functions of the
/// dimensions, the source index. The reference for a chain is plain arithmetic on positions.
struct View {
  std::vector<int64_t> shape;
  /// Source element for a position of `shape`; -1 in padding.
  std::function<int64_t(const std::vector<int64_t>&)> element;
};

int64_t count(const std::vector<int64_t>& s) {
  int64_t n = 1;
  for (int64_t e : s) n *= e;
  return n;
}

std::vector<int64_t> position(int64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> p(shape.size());
  for (size_t i = shape.size(); i-- > 0; flat /= shape[i]) p[i] = flat % shape[i];
  return p;
}

int64_t flatten(const std::vector<int64_t>& p, const std::vector<int64_t>& shape) {
  int64_t flat = 0;
  for (size_t i = 0; i < p.size(); ++i) flat = flat * shape[i] + p[i];
  return flat;
}

/// A movement op as a map of positions and as a map of index expressions.
struct Move {
  std::vector<int64_t> shape;                                             ///< after the op
  std::function<std::vector<int64_t>(const std::vector<int64_t>&)> back;  ///< empty: padding
  std::function<std::vector<const Node*>(Arena&, const std::vector<const Node*>&,
                                         const Node*& valid)>
      express;
};

std::vector<int64_t> random_factors(Rng& rng, int64_t n) {
  std::vector<int64_t> f;
  while (n > 1 && f.size() < 4) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= n; ++d)
      if (n % d == 0) divisors.push_back(d);
    f.push_back(
        divisors[static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(divisors.size()) - 1))]);
    n /= f.back();
  }
  if (n > 1) f.push_back(n);
  std::shuffle(f.begin(), f.end(), rng);
  if (f.empty()) f.push_back(1);
  return f;
}

const Node* flat_expression(Arena& a, const std::vector<const Node*>& p,
                            const std::vector<int64_t>& shape) {
  const Node* flat = a.integer(0);
  for (size_t i = 0; i < p.size(); ++i) flat = a.add(a.mul(flat, a.integer(shape[i])), p[i]);
  return flat;
}

Move reshape(const std::vector<int64_t>& from, std::vector<int64_t> to) {
  return {to, [=](auto& p) { return position(flatten(p, to), from); },
          [=](Arena& a, auto& p, const Node*&) {
            const Node* flat = flat_expression(a, p, to);
            std::vector<const Node*> out(from.size());
            int64_t stride = 1;
            for (size_t i = from.size(); i-- > 0; stride *= from[i])
              out[i] =
                  simplify(a, a.floormod(a.floordiv(flat, a.integer(stride)), a.integer(from[i])));
            return out;
          }};
}

Move permute(const std::vector<int64_t>& from, std::vector<size_t> order) {
  std::vector<int64_t> to;
  for (size_t a : order) to.push_back(from[a]);
  const auto back = [order](const auto& p) {
    auto out = p;
    for (size_t i = 0; i < order.size(); ++i) out[order[i]] = p[i];
    return out;
  };
  return {to, [=](auto& p) { return back(p); },
          [=](Arena&, auto& p, const Node*&) { return back(p); }};
}

Move flip(const std::vector<int64_t>& from, size_t axis) {
  return {from,
          [=](auto p) {
            p[axis] = from[axis] - 1 - p[axis];
            return p;
          },
          [=](Arena& a, auto p, const Node*&) {
            p[axis] = a.sub(a.integer(from[axis] - 1), p[axis]);
            return p;
          }};
}

Move shrink(const std::vector<int64_t>& from, size_t axis, int64_t begin, int64_t size,
            int64_t step) {
  auto to = from;
  to[axis] = size;
  return {to,
          [=](auto p) {
            p[axis] = begin + p[axis] * step;
            return p;
          },
          [=](Arena& a, auto p, const Node*&) {
            p[axis] = a.add(a.mul(p[axis], a.integer(step)), a.integer(begin));
            return p;
          }};
}

Move pad(const std::vector<int64_t>& from, size_t axis, int64_t lo, int64_t hi) {
  auto to = from;
  to[axis] += lo + hi;
  return {to,
          [=](auto p) {
            p[axis] -= lo;
            if (p[axis] < 0 || p[axis] >= from[axis]) p.clear();
            return p;
          },
          [=](Arena& a, auto p, const Node*& valid) {
            p[axis] = a.sub(p[axis], a.integer(lo));
            valid = a.logical_and(valid, a.logical_and(a.le(a.integer(0), p[axis]),
                                                       a.lt(p[axis], a.integer(from[axis]))));
            return p;
          }};
}

Move window(const std::vector<int64_t>& from, size_t axis, int64_t k, int64_t stride,
            int64_t dilation) {
  auto to = from;
  to[axis] = (from[axis] - dilation * (k - 1) - 1) / stride + 1;
  to.insert(to.begin() + static_cast<ptrdiff_t>(axis) + 1, k);
  return {to,
          [=](auto p) {
            p[axis] = p[axis] * stride + p[axis + 1] * dilation;
            p.erase(p.begin() + static_cast<ptrdiff_t>(axis) + 1);
            return p;
          },
          [=](Arena& a, auto p, const Node*&) {
            p[axis] =
                a.add(a.mul(p[axis], a.integer(stride)), a.mul(p[axis + 1], a.integer(dilation)));
            p.erase(p.begin() + static_cast<ptrdiff_t>(axis) + 1);
            return p;
          }};
}

Move expand(const std::vector<int64_t>& from, size_t axis, int64_t extent) {
  auto to = from;
  to[axis] = extent;
  return {to,
          [=](auto p) {
            p[axis] = 0;
            return p;
          },
          [=](Arena& a, auto p, const Node*&) {
            p[axis] = a.integer(0);
            return p;
          }};
}

Move random_move(Rng& rng, const std::vector<int64_t>& s, bool lossy) {
  const size_t axis = static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(s.size()) - 1));
  const int64_t n = s[axis];
  switch (pick(rng, 0, lossy ? 6 : 2)) {
    case 1: {
      std::vector<size_t> order(s.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), rng);
      return permute(s, order);
    }
    case 2:
      return flip(s, axis);
    case 3: {
      const int64_t begin = pick(rng, 0, n - 1), step = pick(rng, 1, 3);
      return shrink(s, axis, begin, pick(rng, 1, (n - 1 - begin) / step + 1), step);
    }
    case 4:
      return pad(s, axis, pick(rng, 0, 3), pick(rng, 0, 3));
    case 5:
      if (n >= 2 && s.size() < 5) {
        const int64_t k = pick(rng, 1, std::min<int64_t>(3, n));
        const int64_t dilation = k > 1 ? pick(rng, 1, std::max<int64_t>(1, (n - 1) / (k - 1))) : 1;
        return window(s, axis, k, pick(rng, 1, 2), std::min<int64_t>(dilation, 2));
      }
      [[fallthrough]];
    case 6:
      if (n == 1) return expand(s, axis, pick(rng, 2, 4));
      [[fallthrough]];
    default:
      return reshape(s, random_factors(rng, count(s)));
  }
}

/// A reshape, permute or flip and the op that undoes it.
std::pair<Move, Move> random_reversible(Rng& rng, const std::vector<int64_t>& s, bool flips) {
  const size_t axis = static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(s.size()) - 1));
  if (flips && pick(rng, 0, 3) == 0) return {flip(s, axis), flip(s, axis)};
  if (pick(rng, 0, 2)) {
    const auto to = random_factors(rng, count(s));
    return {reshape(s, to), reshape(to, s)};
  }
  std::vector<size_t> order(s.size()), inverse(s.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), rng);
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  const Move move = permute(s, order);
  return {move, permute(move.shape, inverse)};
}

/// The index (with padding's validity) of a chain, against positions one by one.
void check_chain(Arena& a, const std::vector<int64_t>& source, const std::vector<Move>& moves,
                 const Node*& index, const Node*& valid) {
  const auto& shape = moves.back().shape;
  std::vector<const Node*> p, ranges;
  for (size_t i = 0; i < shape.size(); ++i) p.push_back(a.range(static_cast<int64_t>(i), shape[i]));
  ranges = p;
  valid = a.boolean(true);
  for (size_t i = moves.size(); i-- > 0;) p = moves[i].express(a, p, valid);
  index = simplify(a, flat_expression(a, p, source));
  valid = simplify(a, valid);
  const Node* given = simplify_given(a, index, valid);
  for (int64_t flat = 0; flat < count(shape); ++flat) {
    auto at = position(flat, shape);
    Point point;
    for (size_t i = 0; i < at.size(); ++i) point[ranges[i]] = at[i];
    for (size_t i = moves.size(); i-- > 0 && !at.empty();) at = moves[i].back(at);
    REQUIRE(value_at(valid, point) == (at.empty() ? 0 : 1));
    if (at.empty()) continue;
    REQUIRE(value_at(index, point) == flatten(at, source));
    REQUIRE(value_at(given, point) == flatten(at, source));
  }
}

}  // namespace

namespace {

/// Of `rounds` chains that undo themselves, how many indices come out as the plain one.
int chains_undone(uint64_t seed, int rounds, bool flips) {
  Rng rng(seed);
  int undone = 0;
  for (int round = 0; round < rounds; ++round) {
    Arena a;
    const std::vector<int64_t> source{pick(rng, 1, 6), pick(rng, 1, 6), pick(rng, 1, 4)};
    std::vector<int64_t> s = source;
    std::vector<Move> moves, inverses;
    for (int64_t n = pick(rng, 1, 4); n > 0; --n) {
      const auto [move, inverse] = random_reversible(rng, s, flips);
      moves.push_back(move);
      inverses.push_back(inverse);
      s = move.shape;
    }
    moves.insert(moves.end(), inverses.rbegin(), inverses.rend());
    const Node *index, *valid;
    check_chain(a, source, moves, index, valid);
    std::vector<const Node*> ranges;
    for (size_t i = 0; i < 3; ++i) ranges.push_back(a.range(static_cast<int64_t>(i), source[i]));
    const Node* direct = simplify(a, flat_expression(a, ranges, source));
    if (index == direct)
      ++undone;
    else
      UNSCOPED_INFO(pretty(index) << " against " << pretty(direct));
  }
  return undone;
}

}  // namespace

TEST_CASE(
    "all but 1 in 1000 chains of reshapes and permutes that undo themselves come back as the plain "
    "index") {
  CHECK(chains_undone(1, 1000, false) >= 999);
}

TEST_CASE("all but 2 in 1000 such chains come back with flips among them") {
  CHECK(chains_undone(3, 1000, true) >= 998);
}

TEST_CASE("random movement chains give the right element, in few nodes") {
  Rng rng(2);
  size_t total = 0, rounds = 0;
  for (int round = 0; round < 1500; ++round) {
    Arena a;
    std::vector<int64_t> s{pick(rng, 1, 6), pick(rng, 1, 6), pick(rng, 1, 4)};
    const auto source = s;
    std::vector<Move> moves;
    for (int64_t n = pick(rng, 1, 6); n > 0; --n) {
      moves.push_back(random_move(rng, s, true));
      s = moves.back().shape;
      if (count(s) > 2000) break;
    }
    const Node *index, *valid;
    check_chain(a, source, moves, index, valid);
    const Node* roots[] = {index, valid};
    REQUIRE(find_broken(roots).empty());
    total += node_count(index);
    ++rounds;
  }
  INFO("mean nodes of an index " << double(total) / double(rounds));
  CHECK(total < 25 * rounds);
}
