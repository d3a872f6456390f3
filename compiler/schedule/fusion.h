// SPDX-License-Identifier: MIT
// Decides which tensor nodes get memory of their own, and which a kernel keeps in local memory.
// Everything else is recomputed where it is read.
#pragma once

#include "compiler/schedule/cost.h"
#include "compiler/schedule/import.h"

#include <map>

namespace tiny {

struct FusionOptions {
  bool noopt = false;  ///< each tensor op is its own kernel
};

/// The stored nodes and what computes each.
struct Fusion {
  StoredSet stored;
  std::vector<const ir::Node*> order;  ///< stored nodes, producers first
  /// One draft, two for SCATTER (base, then updates), none for a tensor without elements.
  std::map<const ir::Node*, std::vector<Draft>> drafts;
};

/// The drafts that compute a stored node.
std::vector<Draft> draft_node(ir::Arena&, const StoredSet&, const ir::Node*);

/// Roots, CONTIGUOUS and SCATTER are stored whatever it costs. `StoredSet` brings the memory map.
/// Starts from every reduction stored with its epilogue and merges while the cost model gains; then
/// keeps values in local memory, instead of storing or repeating them, while it gains.
Fusion fuse(ir::Arena&, std::span<const ir::Node* const> roots, StoredSet, const Target&,
            FusionOptions);

}  // namespace tiny
