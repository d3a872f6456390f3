// SPDX-License-Identifier: MIT
// A stored tensor node as a kernel piece: walks the expression below it, turns movement into index
// expressions and each reduction into a stage, and stops at what is stored elsewhere.
#pragma once

#include "compiler/schedule/index_map.h"
#include "compiler/schedule/kernel.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tiny {

/// What the expander must know of the plan around it.
struct StoredSet {
  std::unordered_set<const ir::Node*> nodes;  ///< tensor nodes with memory of their own
  /// The memory a PARAM or stored node lives in; nodes with one id share it (in-place outputs).
  std::function<const ir::Node*(const ir::Node*)> memory = [](const ir::Node* n) { return n; };
  /// Per stored node: what its kernel keeps in local memory and reads there, as from a buffer.
  std::unordered_map<const ir::Node*, std::unordered_set<const ir::Node*>> kept;
  bool has(const ir::Node* n) const { return n->op() == ir::Op::PARAM || nodes.contains(n); }
};

/// A piece and what it came from.
struct Draft {
  Piece piece;
  std::vector<const ir::Node*> roots;     ///< tensor node of each store
  std::vector<const ir::Node*> memories;  ///< memory of each kernel buffer
  std::vector<KernelBuffer> buffers;
  std::vector<const ir::Node*> reads;  ///< PARAM and stored nodes loaded
  /// Tensor nodes computed in this piece, with the number of different positions.
  std::unordered_map<const ir::Node*, int> visited;
  /// A read of memory that a store of this piece overwrites, at another index than the store's.
  bool in_place_hazard = false;
};

/// Builds one piece. `roots` are stored nodes of one shape; a root that another root reads at the
/// same position is used from its register, at any other position `in_place_hazard` is set.
/// A node that the roots' kernels keep becomes one stage in local memory: dimensions that all its
/// readers step through in step with the domain are around the array, the others are its own.
Draft expand(ir::Arena&, const StoredSet&, std::span<const ir::Node* const> roots);

/// The two halves of SCATTER: `expand` of a SCATTER node stores its base, this stores the updates.
Draft expand_scatter(ir::Arena&, const StoredSet&, const ir::Node* scatter);

/// The constant every element of `node` has, if it is a CONST seen through movement; else nullptr.
const ir::Node* uniform_value(const ir::Node* node);

}  // namespace tiny
