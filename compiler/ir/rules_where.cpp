// SPDX-License-Identifier: MIT
// Choices between two values by a condition.
#include "compiler/ir/rules.h"
#include "compiler/ir/symbolic.h"

namespace tiny::ir {

namespace {

bool is_not(const Node* n) {
  return n->op() == Op::XOR && n->dtype() == DType::boolean && n->source(1)->is_int_const(1);
}

/// !c ? a : b = c ? b : a
const Node* negated_condition(Arena& arena, const Node* n) {
  if (!is_not(n->source(0))) return nullptr;
  return arena.where(n->source(0)->source(0), n->source(2), n->source(1));
}

/// bool: c ? true : b = c | b, c ? a : false = c & a, c ? false : b = !c & b, c ? a : true = !c | a
const Node* choice_of_bools(Arena& arena, const Node* n) {
  if (n->dtype() != DType::boolean) return nullptr;
  const Node *c = n->source(0), *a = n->source(1), *b = n->source(2);
  if (a->is_int_const(1)) return arena.logical_or(c, b);
  if (b->is_int_const(0)) return arena.logical_and(c, a);
  if (a->is_int_const(0)) return arena.logical_and(arena.logical_not(c), b);
  if (b->is_int_const(1)) return arena.logical_or(arena.logical_not(c), a);
  return nullptr;
}

/// Does `known` being true decide c? 1: c is true, 0: c is false, -1: open.
int decided(const Node* c, const Node* known) {
  for (const Node* m : members_of(Op::AND, known)) {
    if (m == c) return 1;
    if ((is_not(m) && m->source(0) == c) || (is_not(c) && c->source(0) == m)) return 0;
  }
  return -1;
}

/// c ? (c ? a : b) : d = c ? a : d, c ? a : (c ? b : d) = c ? a : d
const Node* repeated_condition(Arena& arena, const Node* n) {
  const Node *c = n->source(0), *a = n->source(1), *b = n->source(2);
  if (a->op() == Op::WHERE)
    if (const int known = decided(a->source(0), c); known >= 0)
      return arena.where(c, a->source(known ? 1 : 2), b);
  if (b->op() == Op::WHERE && b->source(0) == c) return arena.where(c, a, b->source(2));
  return nullptr;
}

/// c ? (d ? a : b) : b = (c & d) ? a : b, c ? a : (d ? a : b) = (c | d) ? a : b
const Node* shared_alternative(Arena& arena, const Node* n) {
  const Node *c = n->source(0), *a = n->source(1), *b = n->source(2);
  if (a->op() == Op::WHERE && a->source(2) == b)
    return arena.where(arena.logical_and(c, a->source(0)), a->source(1), b);
  if (b->op() == Op::WHERE && b->source(1) == a)
    return arena.where(arena.logical_or(c, b->source(0)), a, b->source(2));
  return nullptr;
}

}  // namespace

void add_choice_rules(RuleSet& rules) {
  rules.add({Op::WHERE}, {"!c ? a : b = c ? b : a", negated_condition});
  rules.add({Op::WHERE}, {"c ? true : b = c | b, c ? a : false = c & a", choice_of_bools});
  rules.add({Op::WHERE}, {"c ? (c ? a : b) : d = c ? a : d", repeated_condition});
  rules.add({Op::WHERE}, {"c ? (d ? a : b) : b = c & d ? a : b", shared_alternative});
}

}  // namespace tiny::ir
