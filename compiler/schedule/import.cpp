// SPDX-License-Identifier: MIT
#include "compiler/schedule/import.h"

#include <unordered_map>

namespace tiny {
namespace {

using ir::Node;
using ir::Op;

/// Feeds one node to the key: everything but the storage's identity, sources by position.
void hash_node(Hasher& hasher, const Node* node,
               const std::unordered_map<const Node*, uint32_t>& ids) {
  const ir::Arg& arg = node->arg();
  hasher.add(node->op()).add(node->dtype()).add(arg.value).add(arg.real);
  hasher.add(arg.list.size()).add_raw(arg.list.data(), arg.list.size() * sizeof(int64_t));
  hasher.add(node->sources().size());
  for (const Node* source : node->sources()) hasher.add(ids.at(resolved(source)));
}

}  // namespace

const Node* resolved(const Node* n) {
  const Node* buffer = n->realized();
  return buffer ? buffer : n;
}

GraphView view_graph(std::span<const Node* const> roots) {
  GraphView view;
  for (const Node* root : roots) view.roots.push_back(resolved(root));
  view.order = ir::topological_order(view.roots, resolved);
  std::unordered_map<const Node*, uint32_t> ids;
  ids.reserve(view.order.size());
  Hasher hasher;
  for (const Node* node : view.order) {
    hash_node(hasher, node, ids);
    ids.emplace(node, uint32_t(ids.size()));
    if (node->op() == Op::BUFFER) view.leaves.push_back(node);
  }
  for (const Node* root : view.roots) hasher.add(ids.at(root));
  view.key = hasher.digest();
  return view;
}

ImportedGraph import_graph(const GraphView& view) {
  ImportedGraph graph{std::make_shared<ir::Arena>(), {}};
  std::unordered_map<const Node*, const Node*> imported;
  imported.reserve(view.order.size());
  int64_t slot = 0;
  for (const Node* node : view.order) {
    if (node->op() == Op::BUFFER) {
      imported[node] =
          graph.arena->make(Op::PARAM, node->dtype(), {}, {.value = slot++, .list = node->shape()});
      continue;
    }
    if (node->op() == Op::DETACH) {  // means something to gradients only
      imported[node] = imported.at(resolved(node->source(0)));
      continue;
    }
    std::vector<const Node*> sources;
    sources.reserve(node->sources().size());
    for (const Node* source : node->sources()) sources.push_back(imported.at(resolved(source)));
    imported[node] = graph.arena->make(node->op(), node->dtype(), std::move(sources), node->arg());
  }
  for (const Node* root : view.roots) graph.roots.push_back(imported.at(root));
  return graph;
}

}  // namespace tiny
