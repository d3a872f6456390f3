// SPDX-License-Identifier: MIT
#include "compiler/ir/symbolic.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <limits>

#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

using Map = std::unordered_map<const Node*, const Node*>;

/// Slots of variables that stand for bounded terms while something is simplified; no launch
/// variable has such a slot.
constexpr int64_t kScratchSlot = std::numeric_limits<int64_t>::min();

/// An expression without ranges that may only be one value: RANGE of extent 1.
const Node* only_position(Arena& arena, const Node* n) {
  return n->interval().is_point() ? arena.integer(n->interval().lo, n->dtype()) : nullptr;
}

const Node* bounded_variable(Arena& arena, size_t index, const Interval& i) {
  if (i.is_point()) return arena.integer(i.lo);
  Arg arg;
  arg.value = kScratchSlot + static_cast<int64_t>(index);
  arg.list = {i.lo, i.hi};
  return arena.make(Op::VAR, DType::i64, {}, std::move(arg));
}

/// The axes of a STAGE after its ranges were replaced.
class AxisRenaming {
 public:
  explicit AxisRenaming(const Map& map) {
    for (const auto& [from, to] : map)
      if (from->op() == Op::RANGE) to_.emplace(from->arg().value, to->axes());
  }

  Arg renamed(const Node* n) const {
    Arg arg = n->arg();
    if (n->op() != Op::STAGE || to_.empty()) return arg;
    AxisSet axes;
    for (int64_t a : arg.list) {
      const auto at = to_.find(a);
      if (at != to_.end())
        axes = axes | at->second;
      else
        axes.add(a);
    }
    const std::vector<int> list = axes.list();
    arg.list.assign(list.begin(), list.end());
    return arg;
  }

  bool touches(const Node* n) const {
    if (n->op() != Op::STAGE) return false;
    return std::any_of(n->arg().list.begin(), n->arg().list.end(),
                       [&](int64_t a) { return to_.count(a) != 0; });
  }

 private:
  std::unordered_map<int64_t, AxisSet> to_;
};

std::vector<const Node*> replace(Arena& arena, std::span<const Node* const> exprs, const Map& map,
                                 const AxisRenaming* axes) {
  Map done;
  const auto form = [&](const Node* n) {
    const auto given = map.find(n);
    return given != map.end() ? given->second : done.at(n);
  };
  for (const Node* n : topological_order(exprs)) {
    if (map.count(n)) continue;
    bool same = !axes || !axes->touches(n);
    std::vector<const Node*> sources;
    sources.reserve(n->sources().size());
    for (const Node* s : n->sources()) {
      sources.push_back(form(s));
      same &= sources.back() == s;
    }
    const Node* after = n;
    if (!same)
      after =
          arena.build(n->op(), n->dtype(), std::move(sources), axes ? axes->renamed(n) : n->arg());
    done.emplace(n, after);
  }
  std::vector<const Node*> out;
  out.reserve(exprs.size());
  for (const Node* n : exprs) out.push_back(form(n));
  return out;
}

/// Simplifies with terms replaced by others that say more, then puts the terms back. A STAGE keeps
/// its axes throughout: the variables only stand in for them.
class Narrowing {
 public:
  explicit Narrowing(Arena& arena) : arena_(arena) {}

  /// Let `term` lie in `interval`.
  void narrow(const Node* term, const Interval& interval) {
    const Node* v = bounded_variable(arena_, forward_.size(), interval);
    forward_.emplace(term, v);
    if (!v->is_const()) back_.emplace(v, term);
  }

  /// Let `sum` = c*term + rest, c = ±1, lie in `interval`: term = c*(v - rest).
  void solve(const LinearTerms& sum, const Term& term, const Interval& interval) {
    const Node* v = bounded_variable(arena_, forward_.size(), interval);
    LinearTerms rest = sum;
    std::erase_if(rest.terms, [&](const Term& t) { return t.node == term.node; });
    const Node* moved = arena_.sub(v, build_sum(arena_, rest));
    if (term.coefficient < 0) moved = arena_.mul(moved, arena_.integer(-1));
    forward_.emplace(term.node, moved);
    if (!v->is_const()) back_.emplace(v, build_sum(arena_, sum));
  }

  bool empty() const { return forward_.empty(); }

  const Node* run(const Node* expr) const {
    const Node* narrowed = put(expr, forward_);
    if (narrowed == expr) return expr;
    return simplify(arena_, put(simplify(arena_, narrowed), back_));
  }

 private:
  const Node* put(const Node* expr, const Map& map) const {
    const Node* roots[] = {expr};
    return replace(arena_, roots, map, nullptr)[0];
  }

  Arena& arena_;
  Map forward_, back_;
};

/// Facts of a condition: what its members say of sums of i64 terms.
struct Fact {
  LinearTerms sum;
  Interval interval;
};

std::vector<Fact> facts_of(const std::vector<const Node*>& members) {
  std::vector<Fact> facts;
  std::unordered_map<const Node*, size_t> known;
  for (const Node* m : members) {
    const auto b = bound_of(m);
    if (!b || b->expression->dtype() != DType::i64) continue;
    const auto [at, fresh] = known.try_emplace(b->expression, facts.size());
    if (fresh) facts.push_back({linear_terms(b->expression), b->interval});
    Interval& i = facts[at->second].interval;
    i.lo = std::max(i.lo, b->interval.lo);
    i.hi = std::min(i.hi, b->interval.hi);
  }
  std::erase_if(facts,
                [](const Fact& f) { return f.interval.lo > f.interval.hi || !exact(f.sum); });
  return facts;
}

/// Narrows [lo, hi] of one term by lo <= c*term + rest <= hi.
void tighten(Interval& i, const Fact& fact, const Term& term) {
  LinearTerms rest = fact.sum;
  std::erase_if(rest.terms, [&](const Term& t) { return t.node == term.node; });
  const auto r = wide_range(rest);
  if (!r) return;
  Wide lo = Wide(fact.interval.lo) - r->hi, hi = Wide(fact.interval.hi) - r->lo;
  const Wide c = term.coefficient;
  if (c < 0) std::swap(lo, hi);
  const Wide least = -floor_div(-lo, c);
  const Wide most = floor_div(hi, c);
  if (least > i.lo) i.lo = static_cast<int64_t>(std::min<Wide>(least, i.hi));
  if (most < i.hi) i.hi = static_cast<int64_t>(std::max<Wide>(most, i.lo));
}

/// All single terms with tighter intervals at once.
const Node* with_terms_narrowed(Arena& arena, const Node* expr, const std::vector<Fact>& facts) {
  std::vector<std::pair<const Node*, Interval>> narrowed;
  for (const Fact& fact : facts)
    for (const Term& t : fact.sum.terms) {
      auto at = std::find_if(narrowed.begin(), narrowed.end(),
                             [&](auto& p) { return p.first == t.node; });
      if (at == narrowed.end()) at = narrowed.insert(narrowed.end(), {t.node, t.node->interval()});
      tighten(at->second, fact, t);
    }
  Narrowing narrowing(arena);
  for (const auto& [node, interval] : narrowed)
    if (!(interval == node->interval()) && !node->is_const()) narrowing.narrow(node, interval);
  return narrowing.empty() ? expr : narrowing.run(expr);
}

bool better(const Node* a, const Node* b) { return node_count(a) < node_count(b); }

/// One fact on a sum of several terms, solved for each term with coefficient ±1 in turn.
const Node* with_sum_narrowed(Arena& arena, const Node* expr, const Fact& fact) {
  for (const Term& t : fact.sum.terms) {
    if (t.coefficient != 1 && t.coefficient != -1) continue;
    Narrowing narrowing(arena);
    narrowing.solve(fact.sum, t, fact.interval);
    const Node* form = narrowing.run(expr);
    if (better(form, expr)) expr = form;
  }
  return expr;
}

/// Members of the condition are true wherever they appear in the expression.
const Node* with_members_true(Arena& arena, const Node* expr,
                              const std::vector<const Node*>& members) {
  Map truth;
  for (const Node* m : members)
    if (!m->is_const()) truth.emplace(m, arena.boolean(true));
  return simplify(arena, substitute(arena, expr, truth));
}

RuleSet make_rules() {
  RuleSet rules;
  rules.add({Op::RANGE, Op::VAR}, {"r = lo, lo == hi", only_position});
  add_sum_rules(rules);
  add_product_rules(rules);
  add_division_rules(rules);
  add_comparison_rules(rules);
  add_logic_rules(rules);
  add_choice_rules(rules);
  add_extremum_rules(rules);
  add_unary_rules(rules);
  return rules;
}

}  // namespace

const RuleSet& symbolic_rules() {
  static const RuleSet rules = make_rules();
  return rules;
}

const Node* simplify(Arena& arena, const Node* n) { return rewrite(arena, symbolic_rules(), n); }

const Node* simplify_given(Arena& arena, const Node* expr, const Node* valid) {
  expr = simplify(arena, expr);
  const auto members = members_of(Op::AND, simplify(arena, valid));
  expr = with_members_true(arena, expr, members);
  const std::vector<Fact> facts = facts_of(members);
  if (facts.empty() || expr->is_const()) return expr;
  expr = with_terms_narrowed(arena, expr, facts);
  for (const Fact& fact : facts)
    if (fact.sum.terms.size() > 1) expr = with_sum_narrowed(arena, expr, fact);
  return expr;
}

const Node* simplify_bounds(Arena& arena, const Node* expr, std::span<const AxisBound> bounds) {
  expr = simplify(arena, expr);
  std::unordered_map<int64_t, AxisBound> by_axis;
  for (const AxisBound& b : bounds) {
    CHECK_INVARIANT(b.lo <= b.hi, "[simplify_bounds] empty bounds");
    by_axis.emplace(b.axis, b);
  }
  Narrowing narrowing(arena);
  const Node* roots[] = {expr};
  for (const Node* n : topological_order(roots)) {
    if (n->op() != Op::RANGE) continue;
    const auto at = by_axis.find(n->arg().value);
    if (at != by_axis.end()) narrowing.narrow(n, {at->second.lo, at->second.hi});
  }
  return narrowing.empty() ? expr : narrowing.run(expr);
}

std::vector<const Node*> substitute(Arena& arena, std::span<const Node* const> exprs,
                                    const Map& map) {
  const AxisRenaming axes(map);
  return replace(arena, exprs, map, &axes);
}

const Node* substitute(Arena& arena, const Node* expr, const Map& map) {
  const Node* roots[] = {expr};
  return substitute(arena, roots, map)[0];
}

std::optional<LinearForm> linear_in(Arena& arena, const Node* index, int64_t axis) {
  LinearTerms rest = linear_terms(simplify(arena, index));
  int64_t coefficient = 0;
  std::erase_if(rest.terms, [&](const Term& t) {
    const bool range = t.node->op() == Op::RANGE && t.node->arg().value == axis;
    if (range) coefficient = t.coefficient;
    return range;
  });
  for (const Term& t : rest.terms)
    if (t.node->axes().has(axis)) return std::nullopt;
  return LinearForm{coefficient, build_sum(arena, rest)};
}

size_t node_count(const Node* n) {
  const Node* roots[] = {n};
  return topological_order(roots).size();
}

}  // namespace tiny::ir
