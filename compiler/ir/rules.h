// SPDX-License-Identifier: MIT
// The families of algebraic rules; private to the simplifier (symbolic.h is its face).
//
// Integer laws hold modulo 2^n. Laws of division and order need true integers, so they ask that
// the sums involved are `exact` (linear.h). Floats obey only laws that hold for every value.
#pragma once

#include "compiler/ir/linear.h"
#include "compiler/ir/rewrite.h"

namespace tiny::ir {

void add_sum_rules(RuleSet&);
void add_product_rules(RuleSet&);
void add_division_rules(RuleSet&);
void add_comparison_rules(RuleSet&);
void add_logic_rules(RuleSet&);
void add_choice_rules(RuleSet&);
void add_extremum_rules(RuleSet&);
void add_unary_rules(RuleSet&);

/// The value of a positive constant divisor, else 0.
inline int64_t positive_constant(const Node* n) {
  return n->is_const() && is_int(n->dtype()) && n->arg().value > 0 ? n->arg().value : 0;
}

}  // namespace tiny::ir
