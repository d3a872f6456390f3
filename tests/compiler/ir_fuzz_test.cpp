// SPDX-License-Identifier: MIT
// Random integer expressions: both sides of every firing of every rule are evaluated apart.
#include <catch2/catch.hpp>

#include "compiler/ir/symbolic.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "tests/compiler/ir_random.h"

using namespace tiny;
using namespace tiny::ir;
using namespace tiny::ir::testing;

namespace {

/// Random expressions over a few leaves of one dtype, in an arena of their own.
class Source {
 public:
  Source(Arena& arena, Rng& rng) : arena_(arena), rng_(rng) {
    constexpr DType others[] = {DType::i32, DType::i8,  DType::u8,
                                DType::u32, DType::u64, DType::i16};
    const bool index = pick(rng, 0, 9) < 6;
    type_ = index ? DType::i64 : others[static_cast<size_t>(pick(rng, 0, 5))];
    for (int64_t i = 0; i < 3; ++i) leaves_.push_back(index ? range(i) : load(i));
    if (index && pick(rng, 0, 3) == 0) leaves_.push_back(variable());
  }

  const Node* integer(int depth) {
    if (depth == 0 || pick(rng_, 0, 9) == 0)
      return pick(rng_, 0, 3) == 0 ? constant() : any(leaves_);
    const Node* x = integer(depth - 1);
    switch (pick(rng_, 0, 22)) {
      case 0:
      case 1:
      case 2:
        return raw(Op::ADD, x, integer(depth - 1));
      case 3:
        return raw(Op::SUB, x, integer(depth - 1));
      case 4:
      case 5:
      case 6:
        return raw(Op::MUL, x, constant());
      case 7:
        return raw(Op::MUL, x, integer(depth - 1));
      case 8:
      case 9:
      case 10:
        return raw(Op::FLOORDIV, x, divisor());
      case 11:
      case 12:
      case 13:
        return raw(Op::FLOORMOD, x, divisor());
      case 14:
        return raw(pick(rng_, 0, 1) ? Op::IDIV : Op::IMOD, x, divisor());
      case 15:
        return raw(pick(rng_, 0, 1) ? Op::MAX : Op::MIN, x,
                   pick(rng_, 0, 1) ? integer(depth - 1) : constant());
      case 16:
        return arena_.make(Op::WHERE, type_, {boolean(depth - 1), x, integer(depth - 1)});
      case 17:
        return arena_.make(
            pick(rng_, 0, 1) ? Op::NEG : Op::ABS, type_,
            {pick(rng_, 0, 2) ? x : arena_.make(pick(rng_, 0, 1) ? Op::NEG : Op::ABS, type_, {x})});
      case 18:
        return quotient_and_remainder(x);
      case 20:
        return shared_choice(x, depth);
      case 21:
        return nested_extremum(x, integer(depth - 1));
      case 19:
        return arena_.make(Op::CAST, type_, {arena_.make(Op::CAST, wide(), {x})});
      default:
        return raw(Op::ADD, x, constant());
    }
  }

  const Node* boolean(int depth) {
    if (depth == 0) return comparison(1);
    switch (pick(rng_, 0, 9)) {
      case 0:
        return raw(Op::AND, boolean(depth - 1), boolean(depth - 1));
      case 1:
        return raw(Op::OR, boolean(depth - 1), boolean(depth - 1));
      case 2:
        return raw(Op::XOR, boolean(depth - 1),
                   pick(rng_, 0, 2) ? arena_.boolean(true) : boolean(depth - 1));
      case 3:
        return absorbing(depth);
      case 4:
        return arena_.make(
            Op::WHERE, DType::boolean,
            {boolean(depth - 1), boolean(depth - 1),
             pick(rng_, 0, 1) ? arena_.boolean(pick(rng_, 0, 1)) : boolean(depth - 1)});
      case 5:
        return bounded_pair();
      case 6:
        return of_bools(depth);
      default:
        return comparison(depth);
    }
  }

 private:
  const Node* range(int64_t i) {
    constexpr int64_t extents[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 100};
    return arena_.range(i, extents[pick(rng_, 0, 9)]);
  }
  const Node* load(int64_t i) {
    Arg slot;
    slot.value = i;
    return arena_.make(Op::LOAD, type_, {arena_.integer(0)}, slot);
  }
  const Node* variable() {
    Arg arg;
    const int64_t lo = pick(rng_, -10, 10);
    arg.list = {lo, lo + pick(rng_, 0, 30)};
    return arena_.make(Op::VAR, DType::i64, {}, arg);
  }
  const Node* any(const std::vector<const Node*>& v) {
    return v[static_cast<size_t>(pick(rng_, 0, static_cast<int64_t>(v.size()) - 1))];
  }
  const Node* constant() {
    if (pick(rng_, 0, 30) == 0) return arena_.integer(static_cast<int64_t>(rng_()), type_);
    return arena_.integer(pick(rng_, -13, 25), type_);
  }
  const Node* divisor() {
    constexpr int64_t common[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};
    if (pick(rng_, 0, 9) == 0) return pick(rng_, 0, 1) ? constant() : any(leaves_);
    return arena_.integer(common[pick(rng_, 0, 8)], type_);
  }
  DType wide() { return pick(rng_, 0, 1) ? DType::i64 : DType::i16; }
  /// Unfolded: the rules shall see everything.
  const Node* raw(Op op, const Node* a, const Node* b) {
    return arena_.make(op, a->dtype(), {a, b});
  }
  const Node* compare(Op op, const Node* a, const Node* b) {
    return arena_.make(op, DType::boolean, {a, b});
  }

  const Node* comparison(int depth) {
    constexpr Op ops[] = {Op::CMPLT, Op::CMPLE, Op::CMPEQ, Op::CMPNE};
    const Node* a = integer(depth - 1);
    const Node* b = pick(rng_, 0, 2) ? constant() : integer(depth - 1);
    if (pick(rng_, 0, 2) == 0) std::swap(a, b);
    if (pick(rng_, 0, 12) == 0) return arena_.make(Op::CAST, DType::boolean, {a});
    return compare(ops[pick(rng_, 0, 3)], a, b);
  }
  const Node* absorbing(int depth) {
    if (pick(rng_, 0, 3) == 0) {
      const Node* x = boolean(depth - 1);
      return raw(Op::XOR, x, x);
    }
    const Node *a = boolean(depth - 1), *b = boolean(depth - 1);
    const bool both = pick(rng_, 0, 1);
    return raw(both ? Op::AND : Op::OR, a, raw(both ? Op::OR : Op::AND, a, b));
  }
  const Node* bounded_pair() {
    const Node* x = any(leaves_);
    const Op op = pick(rng_, 0, 1) ? Op::AND : Op::OR;
    const Node* first = compare(pick(rng_, 0, 1) ? Op::CMPLT : Op::CMPLE, x, constant());
    const Node* second =
        pick(rng_, 0, 1) ? compare(Op::CMPLT, constant(), x) : compare(Op::CMPLT, x, constant());
    return raw(op, first, pick(rng_, 0, 5) ? second : compare(Op::CMPEQ, x, constant()));
  }
  const Node* of_bools(int depth) {
    constexpr Op ops[] = {Op::ADD, Op::MUL, Op::MAX, Op::MIN};
    constexpr Op tests[] = {Op::CMPLT, Op::CMPLE, Op::CMPEQ, Op::CMPNE};
    const Node *a = boolean(depth - 1), *b = boolean(depth - 1);
    if (pick(rng_, 0, 1)) return raw(ops[pick(rng_, 0, 3)], a, b);
    return compare(tests[pick(rng_, 0, 3)], a, b);
  }
  /// (a*(x % b) + y)//b + a*(x//b)
  const Node* remainder_in_quotient(const Node* x, int64_t a, int64_t b) {
    const Node *ka = arena_.integer(a, type_), *kb = arena_.integer(b, type_);
    const Node* inside = raw(Op::ADD, raw(Op::MUL, raw(Op::FLOORMOD, x, kb), ka), any(leaves_));
    const Node* q = raw(Op::FLOORDIV, inside, kb);
    return raw(Op::ADD, q, raw(Op::MUL, raw(Op::FLOORDIV, x, kb), ka));
  }
  const Node* choice(const Node* c, const Node* a, const Node* b) {
    return arena_.make(Op::WHERE, a->dtype(), {c, a, b});
  }
  const Node* shared_choice(const Node* x, int depth) {
    const Node *c = boolean(depth - 1), *d = boolean(depth - 1), *y = integer(depth - 1);
    if (pick(rng_, 0, 2) == 0) d = c;
    switch (pick(rng_, 0, 2)) {
      case 0:
        return choice(c, choice(d, x, y), y);
      case 1:
        return choice(c, x, choice(d, x, y));
      default:
        return choice(arena_.make(Op::XOR, DType::boolean, {c, arena_.boolean(true)}), x, y);
    }
  }
  const Node* nested_extremum(const Node* x, const Node* y) {
    const Op outer = pick(rng_, 0, 1) ? Op::MAX : Op::MIN,
             inner = pick(rng_, 0, 1) ? Op::MAX : Op::MIN;
    return raw(outer, raw(inner, x, y), pick(rng_, 0, 1) ? x : y);
  }
  /// What reshapes leave behind.
  const Node* quotient_and_remainder(const Node* x) {
    const int64_t a = pick(rng_, 2, 6), b = pick(rng_, 2, 6);
    const Node* ka = arena_.integer(a, type_);
    if (pick(rng_, 0, 3) == 0) return remainder_in_quotient(x, a, b);
    const Node* q = raw(Op::FLOORDIV, x, ka);
    if (pick(rng_, 0, 1)) q = raw(Op::FLOORMOD, q, arena_.integer(b, type_));
    return raw(Op::ADD, raw(Op::MUL, q, ka), raw(Op::FLOORMOD, x, ka));
  }

  Arena& arena_;
  Rng& rng_;
  DType type_;
  std::vector<const Node*> leaves_;
};

bool holds_at(const Node* before, const Node* after, Rng& rng, int points) {
  std::vector<const Node*> leaves;
  leaves_of(before, leaves);
  leaves_of(after, leaves);
  for (int i = 0; i < points; ++i) {
    const Point p = random_point(rng, leaves);
    const auto x = value_at(before, p), y = value_at(after, p);
    if (x != y) {
      for (const auto& [n, v] : p)
        UNSCOPED_INFO(pretty(n) << " = " << v << " in " << name(n->dtype()));
      UNSCOPED_INFO(pretty(before) << " = " << *x << "\n  " << pretty(after) << " = " << *y << "\n"
                                   << print(before) << print(after));
      return false;
    }
  }
  return true;
}

/// Values must lie in their node's interval.
bool interval_holds(const Node* n, Rng& rng) {
  std::vector<const Node*> leaves;
  leaves_of(n, leaves);
  for (int i = 0; i < 5; ++i) {
    const Point p = random_point(rng, leaves);
    const int64_t v = *value_at(n, p);
    const bool open = n->dtype() == DType::u64 && n->interval().hi == full_interval(DType::u64).hi;
    const bool inside =
        open ? v < 0 || v >= n->interval().lo : v >= n->interval().lo && v <= n->interval().hi;
    if (!inside) {
      UNSCOPED_INFO(pretty(n) << " = " << v << " outside [" << n->interval().lo << ", "
                              << n->interval().hi << "]\n"
                              << print(n));
      return false;
    }
  }
  return true;
}

void watch(Arena& arena, Rng& rng) {
  rewrite_state(arena, symbolic_rules()).observer = [&rng](const Rule& rule, const Node* before,
                                                           const Node* after) {
    INFO(rule.name);
    REQUIRE(before->dtype() == after->dtype());
    REQUIRE(holds_at(before, after, rng, 6));
  };
}

void fuzz(uint64_t seed, int rounds, std::vector<uint64_t>& counts) {
  Rng rng(seed);
  counts.resize(symbolic_rules().rules().size());
  for (int round = 0; round < rounds; ++round) {
    Arena arena;
    watch(arena, rng);
    Source source(arena, rng);
    const Node* n = pick(rng, 0, 1) ? source.integer(4) : source.boolean(3);
    const Node* s = simplify(arena, n);
    REQUIRE(holds_at(n, s, rng, 20));
    REQUIRE(interval_holds(n, rng));
    REQUIRE(interval_holds(s, rng));
    REQUIRE(simplify(arena, s) == s);
    const auto& fired = rewrite_state(arena, symbolic_rules()).counts;
    for (size_t i = 0; i < fired.size(); ++i) counts[i] += fired[i];
  }
}

/// expr under a condition and under axis bounds, at points where those hold.
void fuzz_given(uint64_t seed, int rounds) {
  Rng rng(seed);
  for (int round = 0; round < rounds; ++round) {
    Arena arena;
    watch(arena, rng);
    Source source(arena, rng);
    const Node* n = pick(rng, 0, 3) ? source.integer(3) : source.boolean(2);
    const Node* valid = source.boolean(2);
    const Node* given = simplify_given(arena, n, valid);
    std::vector<const Node*> leaves;
    for (const Node* x : {n, valid, given}) leaves_of(x, leaves);
    std::vector<AxisBound> bounds;
    for (const Node* l : leaves) {
      if (l->op() != Op::RANGE || pick(rng, 0, 1)) continue;
      const int64_t lo = pick(rng, 0, l->interval().hi);
      bounds.push_back({l->arg().value, lo, pick(rng, lo, l->interval().hi)});
    }
    const Node* bounded = simplify_bounds(arena, n, bounds);
    for (int i = 0; i < 20; ++i) {
      Point p = random_point(rng, leaves);
      INFO(pretty(n) << "\n given " << pretty(valid) << "\n is " << pretty(given) << "\n"
                     << print(n));
      if (*value_at(valid, p)) REQUIRE(value_at(n, p) == value_at(given, p));
      for (auto& [l, v] : p)
        for (size_t b = bounds.size(); b-- > 0;)  // the first bound of an axis counts
          if (l->op() == Op::RANGE && l->arg().value == bounds[b].axis)
            v = pick(rng, bounds[b].lo, bounds[b].hi);
      INFO("bounded " << pretty(bounded));
      REQUIRE(value_at(n, p) == value_at(bounded, p));
    }
  }
}

}  // namespace

TEST_CASE("both sides of every rule agree on random integers, and every rule fires") {
  std::vector<uint64_t> counts;
  fuzz(7, 5000, counts);
  for (size_t i = 0; i < counts.size(); ++i) {
    const Rule& rule = symbolic_rules().rules()[i];
    INFO(rule.name);
    CHECK(counts[i] > 0);
  }
}

TEST_CASE("conditions and bounds change nothing where they hold") { fuzz_given(8, 2000); }

TEST_CASE("both sides of every rule agree on many more random integers", "[.long]") {
  std::vector<uint64_t> counts;
  for (uint64_t seed = 100; seed < 110; ++seed) {
    fuzz(seed, 20000, counts);
    fuzz_given(seed, 10000);
  }
}
