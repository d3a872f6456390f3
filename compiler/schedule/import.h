// SPDX-License-Identifier: MIT
// A tensor graph as a compile job sees it: leaves numbered in order of first visit, a key that
// names the whole structure, and on demand the nodes interned in an arena.
#pragma once

#include "compiler/ir/arena.h"
#include "runtime/base/hash.h"

#include <memory>
#include <span>
#include <vector>

namespace tiny {

/// One walk over a reference-counted graph, in which nodes already computed are the BUFFERs that
/// hold them. Valid while the roots live.
struct GraphView {
  std::vector<const ir::Node*> order;   ///< sources before users
  std::vector<const ir::Node*> roots;   ///< as given, or the BUFFER of one already computed
  std::vector<const ir::Node*> leaves;  ///< BUFFER nodes; the position is the PARAM slot
  Hash128 key;  ///< equal keys: same ops, shapes, constants and leaf pattern
};
/// The node itself, or the BUFFER that holds its value.
const ir::Node* resolved(const ir::Node*);
GraphView view_graph(std::span<const ir::Node* const> roots);

/// The graph interned in an arena, each BUFFER a PARAM. Structurally equal nodes become one.
struct ImportedGraph {
  std::shared_ptr<ir::Arena> arena;
  std::vector<const ir::Node*> roots;
};
ImportedGraph import_graph(const GraphView&);

}  // namespace tiny
