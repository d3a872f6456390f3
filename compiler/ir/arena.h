// SPDX-License-Identifier: MIT
// A compile job's nodes: interned, so equality is pointer equality, and freed in bulk.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/node.h"

namespace tiny::ir {

class RuleSet;
struct RewriteState;

/// Not thread-safe: one job, one arena.
class Arena {
 public:
  Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// The one node with these parts. Aborts on a broken rule of ops.def. Does not simplify.
  const Node* make(Op, DType, std::vector<const Node*> sources = {}, Arg = {});
  /// The same graphs inside this arena (tensor nodes of a job come in this way), root by root.
  std::vector<const Node*> import(std::span<const Node* const> roots);

  /// `make` after folding what is trivial, for 0-d expressions of any op: constants; whatever has
  /// one possible value by its interval; x+0, x*1; same operands; WHERE of a constant. A constant
  /// operand of a commutative op moves to the right. Floats fold only what is exact for every x.
  const Node* build(Op, DType, std::vector<const Node*> sources, Arg = {});

  // Shorthand for kernel and index expressions (0-d), all through `build`.
  const Node* integer(int64_t value, DType = DType::i64);
  const Node* real(double value, DType);
  const Node* boolean(bool value);
  const Node* range(int64_t axis, int64_t extent);
  const Node* add(const Node*, const Node*);
  const Node* sub(const Node*, const Node*);
  const Node* mul(const Node*, const Node*);
  const Node* floordiv(const Node*, const Node*);
  const Node* floormod(const Node*, const Node*);
  const Node* min(const Node*, const Node*);
  const Node* max(const Node*, const Node*);
  const Node* lt(const Node*, const Node*);
  const Node* le(const Node*, const Node*);
  const Node* eq(const Node*, const Node*);
  const Node* ne(const Node*, const Node*);
  const Node* logical_and(const Node*, const Node*);
  const Node* logical_or(const Node*, const Node*);
  const Node* logical_not(const Node*);
  const Node* where(const Node* condition, const Node* yes, const Node* no);
  const Node* cast(const Node*, DType);

  size_t size() const { return nodes_.size(); }

 private:
  bool matches(const Node&, Op, DType, const std::vector<const Node*>&, const Arg&) const;
  /// `make` for parts known to keep the rules on arity and dtypes.
  const Node* intern(Op, DType, std::vector<const Node*> sources, Arg);
  void grow();

  std::vector<Node*> table_;  ///< open addressing, a power of two, at most half full
  std::vector<Node*> nodes_;
  friend RewriteState& rewrite_state(Arena&, const RuleSet&);
  std::vector<std::unique_ptr<RewriteState>> rewrites_;  ///< one for each rule set used
};

}  // namespace tiny::ir
