// SPDX-License-Identifier: MIT
// Minimum and maximum of integers.
#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

/// max(a, b) = a where a.lo >= b.hi; min(a, b) = a where a.hi <= b.lo
const Node* by_interval(Arena&, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  const Node *a = n->source(0), *b = n->source(1);
  const auto surely_at_least = [](const Node* x, const Node* y) {
    const bool open = y->dtype() == DType::u64 && y->interval().hi == full_interval(DType::u64).hi;
    return !open && x->interval().lo >= y->interval().hi;
  };
  if (surely_at_least(a, b)) return n->op() == Op::MAX ? a : b;
  if (surely_at_least(b, a)) return n->op() == Op::MAX ? b : a;
  return nullptr;
}

/// max(max(x, c), d) = max(x, max(c, d)), operands in canonical order; constants last
const Node* reassociate(Arena& arena, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  const Node *a = n->source(0), *b = n->source(1);
  const auto two = [&](const Node* x, const Node* y) {
    return arena.build(n->op(), n->dtype(), {x, y});
  };
  if (b->is_const()) {
    if (a->op() == n->op() && a->source(1)->is_const())
      return two(a->source(0), two(a->source(1), b));
    return nullptr;
  }
  if (a->op() == n->op() && a->source(1)->is_const())
    return two(two(a->source(0), b), a->source(1));
  if (b->op() == n->op() && b->source(1)->is_const())
    return two(two(a, b->source(0)), b->source(1));
  return comes_before(b, a) ? two(b, a) : nullptr;
}

/// max(max(x, y), y) = max(x, y), max(min(x, y), y) = y
const Node* absorb(Arena&, const Node* n) {
  const Op other = n->op() == Op::MAX ? Op::MIN : Op::MAX;
  if (!is_int(n->dtype())) return nullptr;
  for (size_t i : {0, 1}) {
    const Node *x = n->source(i), *y = n->source(1 - i);
    if (x->op() != Op::MAX && x->op() != Op::MIN) continue;
    if (x->source(0) != y && x->source(1) != y) continue;
    if (x->op() == n->op()) return x;
    if (x->op() == other) return y;
  }
  return nullptr;
}

}  // namespace

void add_extremum_rules(RuleSet& rules) {
  rules.add({Op::MAX, Op::MIN}, {"max(a, b) = a, a.lo >= b.hi", by_interval});
  rules.add({Op::MAX, Op::MIN}, {"max(max(x, y), y) = max(x, y), max(min(x, y), y) = y", absorb});
  rules.add({Op::MAX, Op::MIN}, {"max(max(x, c), d) = max(x, max(c, d)), sorted", reassociate});
}

}  // namespace tiny::ir
