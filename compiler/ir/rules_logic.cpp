// SPDX-License-Identifier: MIT
// And, or, not of bools: flat, sorted, without what another member implies.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/rules.h"
#include "compiler/ir/symbolic.h"

namespace tiny::ir {

namespace {

const Node* negated(const Node* n) {
  return n->op() == Op::XOR && n->dtype() == DType::boolean && n->source(1)->is_int_const(1)
             ? n->source(0)
             : nullptr;
}

const Node* changed(const Node* before, const Node* after) {
  return after == before ? nullptr : after;
}

/// bool: a*b = min(a,b) = a & b, a+b = max(a,b) = a | b
const Node* arithmetic_of_bools(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const bool both = n->op() == Op::MUL || n->op() == Op::MIN;
  return both ? arena.logical_and(n->source(0), n->source(1))
              : arena.logical_or(n->source(0), n->source(1));
}

const Node* joined(Arena& arena, Op op, const std::vector<const Node*>& members) {
  const Node* all = arena.boolean(op == Op::AND);
  for (const Node* m : members) all = arena.build(op, DType::boolean, {all, m});
  return all;
}

/// a & a = a, operands in canonical order; the same for |
const Node* canonical_members(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  std::vector<const Node*> members = members_of(n->op(), n);
  std::stable_sort(members.begin(), members.end(), comes_before);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return changed(n, joined(arena, n->op(), members));
}

/// Is b certainly !a?
bool opposite(const Node* a, const Node* b) {
  if (negated(a) == b || negated(b) == a) return true;
  const bool equality = (a->op() == Op::CMPEQ && b->op() == Op::CMPNE) ||
                        (a->op() == Op::CMPNE && b->op() == Op::CMPEQ);
  return equality && a->source(0) == b->source(0) && a->source(1) == b->source(1);
}

/// a & !a = false, a | !a = true
const Node* complement(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const auto members = members_of(n->op(), n);
  std::unordered_set<const Node*> present(members.begin(), members.end());
  for (const Node* m : members) {
    const Node* inside = negated(m);
    const bool equality = m->op() == Op::CMPEQ || m->op() == Op::CMPNE;
    if (inside && present.count(inside)) return arena.boolean(n->op() == Op::OR);
    if (!equality) continue;
    for (const Node* o : members)
      if (opposite(m, o)) return arena.boolean(n->op() == Op::OR);
  }
  return nullptr;
}

/// a & (a | b) = a, a | (a & b) = a
const Node* absorption(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const Op inner = n->op() == Op::AND ? Op::OR : Op::AND;
  auto members = members_of(n->op(), n);
  const std::unordered_set<const Node*> present(members.begin(), members.end());
  const size_t before = members.size();
  std::erase_if(members, [&](const Node* m) {
    if (m->op() != inner) return false;
    const auto parts = members_of(inner, m);
    return std::any_of(parts.begin(), parts.end(), [&](const Node* p) { return present.count(p); });
  });
  return members.size() == before ? nullptr : joined(arena, n->op(), members);
}

/// Members of an AND (or an OR) that bound one integer expression, and their common meaning.
struct Bounds {
  Interval all;  ///< intersection for AND; for OR the widest of each direction
  bool upper = false, lower = false, point = false;
  size_t count = 0;
};

/// x < 5 & x < 3 = x < 3; empty = false; a single point is an equality
const Node* bounds_meet(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const auto members = members_of(Op::AND, n);
  std::unordered_map<const Node*, Bounds> by_expression;
  for (const Node* m : members) {
    const auto b = bound_of(m);
    if (!b) continue;
    Bounds& all =
        by_expression.try_emplace(b->expression, Bounds{b->expression->interval()}).first->second;
    all.upper |= b->interval.hi < all.all.hi;
    all.lower |= b->interval.lo > all.all.lo;
    all.all.lo = std::max(all.all.lo, b->interval.lo);
    all.all.hi = std::min(all.all.hi, b->interval.hi);
    all.point |= m->op() == Op::CMPEQ;
    ++all.count;
    if (all.all.lo > all.all.hi) return arena.boolean(false);
  }
  std::vector<const Node*> kept;
  std::unordered_set<const Node*> written;
  bool any = false;
  for (const Node* m : members) {
    const auto b = bound_of(m);
    const Bounds* all = b ? &by_expression.at(b->expression) : nullptr;
    if (!all || all->count < 2) {
      kept.push_back(m);
      continue;
    }
    if (!written.insert(b->expression).second) continue;
    const Node* x = b->expression;
    const DType t = x->dtype();
    const size_t start = kept.size();
    if (all->all.is_point()) {
      kept.push_back(arena.eq(x, arena.integer(all->all.lo, t)));
    } else {
      if (all->lower) kept.push_back(arena.lt(arena.integer(all->all.lo - 1, t), x));
      if (all->upper) kept.push_back(arena.lt(x, arena.integer(all->all.hi + 1, t)));
    }
    any |= kept.size() - start < all->count;
  }
  return any ? joined(arena, Op::AND, kept) : nullptr;
}

/// x < 5 | x < 3 = x < 5; overlapping bounds from both sides = true
const Node* bounds_join(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const auto members = members_of(Op::OR, n);
  std::unordered_map<const Node*, std::pair<const Node*, const Node*>> widest;  // upper, lower
  for (const Node* m : members) {
    const auto b = bound_of(m);
    if (!b || m->op() != Op::CMPLT) continue;
    auto& [upper, lower] = widest[b->expression];
    const bool is_upper = m->source(0) == b->expression;
    const Node*& best = is_upper ? upper : lower;
    if (!best)
      best = m;
    else if (is_upper ? b->interval.hi > bound_of(best)->interval.hi
                      : b->interval.lo < bound_of(best)->interval.lo)
      best = m;
    if (upper && lower) {
      const Wide gap = Wide(bound_of(lower)->interval.lo) - bound_of(upper)->interval.hi;
      if (gap <= 1) return arena.boolean(true);
    }
  }
  std::vector<const Node*> kept;
  for (const Node* m : members) {
    const auto b = bound_of(m);
    if (b && m->op() == Op::CMPLT) {
      const auto& [upper, lower] = widest.at(b->expression);
      if (m != upper && m != lower) continue;
    }
    kept.push_back(m);
  }
  return kept.size() == members.size() ? nullptr : joined(arena, Op::OR, kept);
}

/// !!a = a; !(x < k) = k-1 < x; !(a == b) = (a != b); integers
const Node* negation(Arena& arena, const Node* n) {
  const Node* a = negated(n);
  if (!a) return nullptr;
  if (const Node* inside = negated(a)) return inside;
  if (a->op() == Op::CMPEQ) return arena.ne(a->source(0), a->source(1));
  if (a->op() == Op::CMPNE) return arena.eq(a->source(0), a->source(1));
  if (a->op() != Op::CMPLT && a->op() != Op::CMPLE) return nullptr;
  if (is_float(a->source(0)->dtype())) return nullptr;
  return a->op() == Op::CMPLT ? arena.le(a->source(1), a->source(0))
                              : arena.lt(a->source(1), a->source(0));
}

/// a ^ a = false
const Node* exclusive(Arena& arena, const Node* n) {
  return n->source(0) == n->source(1) ? arena.integer(0, n->dtype()) : nullptr;
}

}  // namespace

std::vector<const Node*> members_of(Op op, const Node* root) {
  std::vector<const Node*> members, stack{root};
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    if (n->op() == op && n->dtype() == DType::boolean) {
      stack.push_back(n->source(1));
      stack.push_back(n->source(0));
    } else {
      members.push_back(n);
    }
  }
  return members;
}

std::optional<Bound> bound_of(const Node* n) {
  const bool order = n->op() == Op::CMPLT;
  if (!order && n->op() != Op::CMPEQ) return std::nullopt;
  const Node *a = n->source(0), *b = n->source(1);
  if (!is_int(a->dtype()) || a->dtype() == DType::u64 || a->is_const() == b->is_const())
    return std::nullopt;  // the interval of u64 has no upper end to meet
  const Node* x = a->is_const() ? b : a;
  const Interval k = (a->is_const() ? a : b)->interval();
  if (!k.is_point()) return std::nullopt;
  Bound out{x, x->interval()};
  if (!order)
    out.interval = k;
  else if (x == a && k.lo > full_interval(x->dtype()).lo)
    out.interval.hi = std::min(out.interval.hi, k.lo - 1);
  else if (x == b && k.lo < full_interval(x->dtype()).hi)
    out.interval.lo = std::max(out.interval.lo, k.lo + 1);
  else
    return std::nullopt;
  return out;
}

void add_logic_rules(RuleSet& rules) {
  rules.add({Op::MUL, Op::MIN, Op::ADD, Op::MAX},
            {"bool: a*b = a & b, a+b = a | b", arithmetic_of_bools});
  rules.add({Op::AND, Op::OR}, {"a & a = a, sorted", canonical_members});
  rules.add({Op::AND, Op::OR}, {"a & !a = false, a | !a = true", complement});
  rules.add({Op::AND, Op::OR}, {"a & (a | b) = a, a | (a & b) = a", absorption});
  rules.add({Op::AND}, {"x < 5 & x < 3 = x < 3", bounds_meet});
  rules.add({Op::OR}, {"x < 5 | x < 3 = x < 5", bounds_join});
  rules.add({Op::XOR}, {"!!a = a, !(x < k) = k <= x, !(a == b) = (a != b)", negation});
  rules.add({Op::XOR}, {"a ^ a = 0", exclusive});
}

}  // namespace tiny::ir
