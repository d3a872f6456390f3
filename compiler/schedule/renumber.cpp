// SPDX-License-Identifier: MIT
#include "compiler/schedule/renumber.h"

namespace tiny {

using ir::Node;
using ir::Op;

const Node* renumber_loads(ir::Arena& arena, const Node* root,
                           const std::unordered_map<int64_t, int64_t>& numbers) {
  std::unordered_map<const Node*, const Node*> done;
  for (const Node* n : ir::topological_order(std::span(&root, 1))) {
    std::vector<const Node*> sources;
    for (const Node* source : n->sources()) sources.push_back(done.at(source));
    ir::Arg arg = n->arg();
    if (n->op() == Op::LOAD) arg.value = numbers.at(arg.value);
    done[n] = arena.make(n->op(), n->dtype(), std::move(sources), std::move(arg));
  }
  return done.at(root);
}

}  // namespace tiny
