// SPDX-License-Identifier: MIT
// Integer comparisons in one form: terms against a constant, coprime, first coefficient positive.
#include <algorithm>

#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

/// sum REL bound, over true integers; REL is <, == or != by the node's op.
struct Relation {
  LinearTerms sum;  ///< constant 0
  int64_t bound;
};

std::optional<Relation> relation(const Node* n) {
  if (!is_int(n->source(0)->dtype())) return std::nullopt;
  const LinearTerms a = linear_terms(n->source(0)), b = linear_terms(n->source(1));
  if (!exact(a) || !exact(b)) return std::nullopt;
  auto d = difference(a, b);
  Relation r;
  if (!d || __builtin_sub_overflow(int64_t{0}, d->constant, &r.bound)) return std::nullopt;
  r.sum = std::move(*d);
  r.sum.constant = 0;
  if (n->op() == Op::CMPLE && __builtin_add_overflow(r.bound, 1, &r.bound)) return std::nullopt;
  return r;
}

bool is_order(Op op) { return op == Op::CMPLT || op == Op::CMPLE; }

/// The node of sum REL bound with its first coefficient positive; null when it cannot be written.
const Node* written(Arena& arena, Op op, const LinearTerms& sum, int64_t bound) {
  if (sum.terms.empty()) return nullptr;
  const DType t = sum.dtype;
  const bool flip = sum.terms[0].coefficient < 0;
  const auto terms = flip ? scaled(sum, -1) : std::optional(sum);
  if (flip && __builtin_sub_overflow(int64_t{0}, bound, &bound)) return nullptr;
  if (!terms || !exact(*terms) || !fits(t, bound)) return nullptr;
  const Node* x = build_sum(arena, *terms);
  const Node* k = arena.integer(bound, t);
  if (!is_order(op)) return arena.build(op, DType::boolean, {x, k});
  return flip ? arena.lt(k, x) : arena.lt(x, k);
}

const Node* changed(const Node* before, const Node* after) {
  return after == before ? nullptr : after;
}

/// x + k REL y + m = x - y REL m - k, and a <= b = a < b + 1
const Node* terms_against_constant(Arena& arena, const Node* n) {
  const auto r = relation(n);
  if (!r) return nullptr;
  return changed(n, written(arena, n->op(), r->sum, r->bound));
}

/// The truth of sum REL bound by its true range; null when open.
const Node* by_wide_range(Arena& arena, const Node* n) {
  const auto r = relation(n);
  if (!r) return nullptr;
  const auto range = wide_range(r->sum);
  if (!range) return nullptr;
  const bool below = range->hi < r->bound, above = range->lo >= r->bound;
  if (is_order(n->op()))
    return below ? arena.boolean(true) : above ? arena.boolean(false) : nullptr;
  if (!below && range->lo <= r->bound) return nullptr;
  return arena.boolean(n->op() == Op::CMPNE);
}

int64_t ceil_div(int64_t a, int64_t b) {
  return static_cast<int64_t>(-floor_div(-Wide(a), Wide(b)));
}

/// |c| where it may serve as a radix, else 0.
int64_t radix(const Term& t) {
  if (t.coefficient == std::numeric_limits<int64_t>::min()) return 0;
  return t.coefficient < 0 ? -t.coefficient : t.coefficient;
}

/// sum == g*x + y, with y in a known range.
struct Split {
  int64_t g;
  LinearTerms x, y;
  WideRange range;
};

/// The terms whose coefficients g divides, divided by it, and the others; none where that is all.
std::optional<Split> split_by(const LinearTerms& sum, int64_t g) {
  Split s{g, {}, {}, {}};
  s.x.dtype = s.y.dtype = sum.dtype;
  for (const Term& t : sum.terms) {
    if (t.coefficient % g == 0)
      s.x.terms.push_back({t.node, t.coefficient / g});
    else
      s.y.terms.push_back(t);
  }
  const auto range = wide_range(s.y);
  if (s.y.terms.empty() || !range) return std::nullopt;
  s.range = *range;
  return s;
}

/// One split for each coefficient that may serve as a radix.
std::vector<Split> splits(const LinearTerms& sum) {
  std::vector<Split> result;
  for (const Term& pivot : sum.terms)
    if (const int64_t g = radix(pivot); g > 1)
      if (auto s = split_by(sum, g)) result.push_back(std::move(*s));
  return result;
}

/// g*x < k = x < ceil(k/g); g*x == k = false where g does not divide k
const Node* common_factor(Arena& arena, const Node* n) {
  const auto r = relation(n);
  if (!r) return nullptr;
  const int64_t g = common_divisor(r->sum, 0);
  if (g <= 1) return nullptr;
  const auto x = divided(r->sum, g);
  if (is_order(n->op())) return changed(n, written(arena, n->op(), *x, ceil_div(r->bound, g)));
  if (r->bound % g != 0) return arena.boolean(n->op() == Op::CMPNE);
  return changed(n, written(arena, n->op(), *x, r->bound / g));
}

/// g*x + y < k = x < m where every y gives the same m = ceil((k - y)/g)
const Node* small_terms_leave(Arena& arena, const Node* n) {
  if (!is_order(n->op())) return nullptr;
  const auto r = relation(n);
  if (!r) return nullptr;
  for (const auto& [g, x, y, range] : splits(r->sum)) {
    const Wide m = -floor_div(range.lo - r->bound, Wide(g));
    if (m != -floor_div(range.hi - r->bound, Wide(g)) || !fits(DType::i64, m)) continue;
    return changed(n, written(arena, n->op(), x, static_cast<int64_t>(m)));
  }
  return nullptr;
}

/// x//a < k = x < k*a; x//a == k where the sum is a lone quotient stays
const Node* quotient_against_constant(Arena& arena, const Node* n) {
  if (!is_order(n->op())) return nullptr;
  const auto r = relation(n);
  if (!r || r->sum.terms.size() != 1) return nullptr;
  const Term t = r->sum.terms[0];
  if (t.node->op() != Op::FLOORDIV || (t.coefficient != 1 && t.coefficient != -1)) return nullptr;
  const int64_t a = positive_constant(t.node->source(1));
  const LinearTerms x = linear_terms(t.node->source(0));
  if (!a || !exact(x)) return nullptr;
  // x//a < k is x < k*a; -(x//a) < k is x//a > -k, x >= (1-k)*a, -x < (k-1)*a + 1.
  Wide bound = t.coefficient == 1 ? Wide(r->bound) * a : (Wide(r->bound) - 1) * a + 1;
  bound -= Wide(t.coefficient) * x.constant;
  if (!fits(DType::i64, bound)) return nullptr;
  auto sum = scaled(x, t.coefficient);
  if (!sum || sum->terms.empty()) return nullptr;
  sum->constant = 0;
  return changed(n, written(arena, n->op(), *sum, static_cast<int64_t>(bound)));
}

/// g*x + y == k  =  x == k//g and y == k%g, 0 <= y < g
const Node* digits_equal(Arena& arena, const Node* n) {
  if (n->op() != Op::CMPEQ) return nullptr;
  const auto r = relation(n);
  if (!r) return nullptr;
  for (const auto& [g, x, y, range] : splits(r->sum)) {
    if (range.lo < 0 || range.hi >= g) continue;
    const Node* high = written(arena, Op::CMPEQ, x, floor_div(r->bound, g));
    const Node* low = written(arena, Op::CMPEQ, y, floor_mod(r->bound, g));
    if (high && low) return arena.logical_and(high, low);
  }
  return nullptr;
}

/// Bool: a < b = !a & b, a <= b = !a | b, (a == b) = !(a ^ b), (a != b) = a ^ b
const Node* compare_bools(Arena& arena, const Node* n) {
  const Node *a = n->source(0), *b = n->source(1);
  if (a->dtype() != DType::boolean) return nullptr;
  switch (n->op()) {
    case Op::CMPLT:
      return arena.logical_and(arena.logical_not(a), b);
    case Op::CMPLE:
      return arena.logical_or(arena.logical_not(a), b);
    case Op::CMPNE:
      return arena.build(Op::XOR, DType::boolean, {a, b});
    default:
      return arena.logical_not(arena.build(Op::XOR, DType::boolean, {a, b}));
  }
}

/// (a == b) = (b == a) and (a != b) = (b != a), operands in canonical order
const Node* sorted_operands(Arena& arena, const Node* n) {
  const Node *a = n->source(0), *b = n->source(1);
  if (a->is_const() || b->is_const() || !comes_before(b, a)) return nullptr;
  return arena.build(n->op(), DType::boolean, {b, a});
}

}  // namespace

void add_comparison_rules(RuleSet& rules) {
  const std::initializer_list<Op> all{Op::CMPLT, Op::CMPLE, Op::CMPEQ, Op::CMPNE};
  rules.add(all, {"bool: a < b = !a & b, …", compare_bools});
  rules.add(all, {"x < k = true, x.hi < k", by_wide_range});
  rules.add(all, {"g*x < k = x < ceil(k/g)", common_factor});
  rules.add(all, {"g*x + y < k = x < ceil((k - y)/g), one for every y", small_terms_leave});
  rules.add(all, {"x//a < k = x < k*a", quotient_against_constant});
  rules.add(all, {"g*x + y == k = (x == k//g) & (y == k%g), 0 <= y < g", digits_equal});
  rules.add(all, {"x + k < y + m = x - y < m - k", terms_against_constant});
  rules.add({Op::CMPEQ, Op::CMPNE}, {"(a == b) = (b == a), sorted", sorted_operands});
}

}  // namespace tiny::ir
