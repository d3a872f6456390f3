// SPDX-License-Identifier: MIT
// Integer expressions as sums: coefficient * term + … + constant, in one canonical order.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/arena.h"

namespace tiny::ir {

__extension__ typedef __int128 Wide;

struct Term {
  const Node* node;  ///< no sum, no constant multiple
  int64_t coefficient;
};

/// Sum of terms plus constant, modulo the dtype's width. Terms are sorted (loop-invariant and
/// outer axes first) and distinct, coefficients are not zero.
struct LinearTerms {
  DType dtype = DType::i64;
  std::vector<Term> terms;
  int64_t constant = 0;

  int64_t coefficient_of(const Node*) const;
  bool is_constant() const { return terms.empty(); }
};

/// What the sum can be as a true integer, before any wrap-around.
struct WideRange {
  Wide lo, hi;
};

/// Canonical order of terms and operands, the same in every arena: by innermost axis, then hash.
bool comes_before(const Node*, const Node*);
/// Takes an integer expression apart through ADD, SUB, NEG and multiplication by constants.
LinearTerms linear_terms(const Node*);
/// The canonical expression of a sum.
const Node* build_sum(Arena&, const LinearTerms&);

/// a + factor * b, modulo the width.
LinearTerms plus(const LinearTerms& a, const LinearTerms& b, int64_t factor = 1);
/// Every coefficient and the constant; null when one leaves int64.
std::optional<LinearTerms> scaled(const LinearTerms&, int64_t factor);
/// a - b without wrap-around; null when a coefficient leaves int64.
std::optional<LinearTerms> difference(const LinearTerms& a, const LinearTerms& b);
/// Null when a part is not divisible.
std::optional<LinearTerms> divided(const LinearTerms&, int64_t divisor);

/// Range of the true integer sum; null when unknown or absurdly wide.
std::optional<WideRange> wide_range(const LinearTerms&);
/// Does the true sum always fit the dtype, so that the wrapped sum is the true one?
bool exact(const LinearTerms&);
bool fits(DType, Wide);

int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);
Wide floor_div(Wide a, Wide b);
/// gcd of all coefficients (not the constant) and `with`.
int64_t common_divisor(const LinearTerms&, int64_t with);

}  // namespace tiny::ir
