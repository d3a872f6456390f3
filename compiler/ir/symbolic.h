// SPDX-License-Identifier: MIT
// Index algebra: one short canonical form for kernel and index expressions (0-d nodes).
//
// Integer expressions become sorted sums; quotients and remainders fold by congruence, common
// factors and nesting, so an index flattened and taken apart again comes out as its ranges.
// Floats obey only laws that hold for NaN, infinities and -0. Results are memoised in the arena.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/arena.h"
#include "compiler/ir/linear.h"
#include "compiler/ir/rewrite.h"

namespace tiny::ir {

const Node* simplify(Arena&, const Node*);

/// An expression equal to `expr` wherever the bool `valid` is true; elsewhere it may differ.
/// Uses the conjuncts of `valid` as facts and as bounds on (sums of) i64 terms.
const Node* simplify_given(Arena&, const Node* expr, const Node* valid);

/// RANGE `axis` is known to lie in [lo, hi].
struct AxisBound {
  int64_t axis, lo, hi;
};
/// An expression equal to `expr` while the axes keep to their bounds (a peeled loop's body).
const Node* simplify_bounds(Arena&, const Node* expr, std::span<const AxisBound>);

/// `expr` with nodes replaced, rebuilt through Arena::build; replacements are not searched again.
/// A STAGE that depends on an axis whose RANGE is replaced depends on the replacement's axes.
const Node* substitute(Arena&, const Node* expr,
                       const std::unordered_map<const Node*, const Node*>&);
/// The same for several expressions at once, sharing the work.
std::vector<const Node*> substitute(Arena&, std::span<const Node* const> exprs,
                                    const std::unordered_map<const Node*, const Node*>&);

/// index = coefficient * r + rest, where rest does not depend on r.
struct LinearForm {
  int64_t coefficient;
  const Node* rest;
};
/// Null when the simplified index is not linear in RANGE `axis`. The coefficient is
/// index(r + 1) - index(r): 1 is unit stride, 0 independence.
std::optional<LinearForm> linear_in(Arena&, const Node* index, int64_t axis);

/// Members of a chain of bool ANDs (or ORs), left to right.
std::vector<const Node*> members_of(Op, const Node*);
/// What a canonical comparison with a constant says of its other side.
struct Bound {
  const Node* expression;
  Interval interval;
};
std::optional<Bound> bound_of(const Node*);

/// Nodes reachable from one expression: the measure by which forms are compared.
size_t node_count(const Node*);

/// The rules behind `simplify` (for counters and tests).
const RuleSet& symbolic_rules();

}  // namespace tiny::ir
