// SPDX-License-Identifier: MIT
// Products of integers: constants outermost, distributed over sums.
#include <algorithm>

#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

/// (c*x + k)*d = (c*d)*x + k*d
const Node* distribute(Arena& arena, const Node* n) {
  if (!is_int(n->dtype()) || !n->source(1)->is_const()) return nullptr;
  const Node* sum = build_sum(arena, linear_terms(n));
  return sum == n ? nullptr : sum;
}

void factors_of(const Node* root, std::vector<const Node*>& factors, int64_t& constant) {
  std::vector<const Node*> stack{root};
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    if (n->op() == Op::MUL) {
      stack.push_back(n->source(1));
      stack.push_back(n->source(0));
    } else if (n->is_const()) {
      constant = static_cast<int64_t>(static_cast<uint64_t>(constant) *
                                      static_cast<uint64_t>(n->arg().value));
    } else {
      factors.push_back(n);
    }
  }
}

/// (c*x)*(d*y) = (x*y)*(c*d), factors in canonical order
const Node* canonical_product(Arena& arena, const Node* n) {
  if (!is_int(n->dtype()) || n->source(1)->is_const()) return nullptr;
  std::vector<const Node*> factors;
  int64_t constant = 1;
  factors_of(n, factors, constant);
  std::stable_sort(factors.begin(), factors.end(), comes_before);
  const Node* product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i)
    product = arena.build(Op::MUL, n->dtype(), {product, factors[i]});
  product = arena.mul(product, arena.integer(constant, n->dtype()));
  return product == n ? nullptr : product;
}

}  // namespace

void add_product_rules(RuleSet& rules) {
  rules.add({Op::MUL}, {"(x + k)*d = x*d + k*d", distribute});
  rules.add({Op::MUL}, {"(c*x)*(d*y) = (x*y)*(c*d), sorted", canonical_product});
}

}  // namespace tiny::ir
