// SPDX-License-Identifier: MIT
// Random index expressions and their evaluation, for the simplifier's fuzzers.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "compiler/ir/arena.h"
#include "compiler/ir/scalar.h"
#include "compiler/ir/symbolic.h"

namespace tiny::ir::testing {

using Rng = std::mt19937_64;
inline int64_t pick(Rng& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

/// Values of the leaves (RANGE, VAR and LOAD nodes) of one evaluation.
using Point = std::unordered_map<const Node*, int64_t>;

/// Evaluates an integer or bool expression; null where a leaf has no value.
inline std::optional<int64_t> value_at(const Node* root, const Point& point) {
  const Node* roots[] = {root};
  std::unordered_map<const Node*, Scalar> values;
  for (const Node* n : topological_order(roots)) {
    if (n->is_const()) {
      values[n] = {n->arg().value, n->arg().real};
    } else if (const auto leaf = point.find(n); leaf != point.end()) {
      values[n] = {leaf->second, 0};
    } else {
      if (n->sources().empty()) return std::nullopt;
      std::vector<Scalar> operands;
      for (const Node* s : n->sources()) operands.push_back(values.at(s));
      values[n] = evaluate(n->op(), n->sources().back()->dtype(), n->dtype(), operands);
    }
  }
  return values.at(root).integer;
}

inline void leaves_of(const Node* root, std::vector<const Node*>& out) {
  const Node* roots[] = {root};
  for (const Node* n : topological_order(roots))
    if (n->op() == Op::RANGE || n->op() == Op::VAR || n->op() == Op::LOAD) out.push_back(n);
}

/// A random value of a leaf; ends of its interval more often than others.
inline int64_t leaf_value(Rng& rng, const Node* n) {
  Interval i = n->interval();
  if (n->dtype() == DType::u64 && pick(rng, 0, 3) == 0) return static_cast<int64_t>(rng());
  switch (pick(rng, 0, 5)) {
    case 0:
      return i.lo;
    case 1:
      return i.hi;
    case 2:
      return std::clamp<int64_t>(pick(rng, -4, 4), i.lo, i.hi);
    default:
      return pick(rng, i.lo, i.hi);
  }
}

inline Point random_point(Rng& rng, const std::vector<const Node*>& leaves) {
  Point p;
  for (const Node* n : leaves) p[n] = leaf_value(rng, n);
  return p;
}

}  // namespace tiny::ir::testing
