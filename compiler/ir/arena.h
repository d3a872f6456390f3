// SPDX-License-Identifier: MIT
// A compile job's nodes: interned, so equality is pointer equality, and freed in bulk.
#pragma once

#include "compiler/ir/node.h"

#include <deque>
#include <unordered_set>

namespace tiny::ir {

/// Not thread-safe: one job, one arena.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// The one node with these parts. Aborts on a broken rule of ops.def. Does not simplify.
  const Node* make(Op, DType, std::vector<const Node*> sources = {}, Arg = {});

  // Shorthand for kernel and index expressions (0-d). These fold what is trivial: constants,
  // x+0, x*1, x*0 for integers, identical operands of comparisons, WHERE of a constant.
  const Node* integer(int64_t value, DType = DType::i64);
  const Node* real(double value, DType);
  const Node* boolean(bool value);
  const Node* range(int64_t axis, int64_t extent);
  const Node* add(const Node*, const Node*);
  const Node* sub(const Node*, const Node*);
  const Node* mul(const Node*, const Node*);
  const Node* floordiv(const Node*, const Node*);
  const Node* floormod(const Node*, const Node*);
  const Node* lt(const Node*, const Node*);
  const Node* eq(const Node*, const Node*);
  const Node* logical_and(const Node*, const Node*);
  const Node* where(const Node* condition, const Node* yes, const Node* no);
  const Node* cast(const Node*, DType);

  size_t size() const { return nodes_.size(); }

 private:
  struct Hash { size_t operator()(const Node* n) const { return n->hash(); } };
  struct Same { bool operator()(const Node*, const Node*) const; };
  std::unordered_set<const Node*, Hash, Same> interned_;
  std::deque<Node*> nodes_;
};

}  // namespace tiny::ir
