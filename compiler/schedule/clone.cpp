// SPDX-License-Identifier: MIT
#include "compiler/schedule/clone.h"

namespace tiny {
namespace {

/// Calls visit on every expression slot of the kernel, in a fixed order.
template <class Visit>
void each_expression(Kernel& kernel, Visit visit) {
  for (Piece& piece : kernel.pieces)
    for (const ir::Node** place : expression_places(piece)) visit(*place);
}

}  // namespace

Kernel clone_kernel(const Kernel& kernel) {
  Kernel twin = kernel;
  twin.arena = std::make_shared<ir::Arena>();
  std::vector<const ir::Node*> roots;
  each_expression(twin, [&](const ir::Node* n) { roots.push_back(n); });
  const std::vector<const ir::Node*> imported = twin.arena->import(roots);
  size_t next = 0;
  each_expression(twin, [&](const ir::Node*& n) { n = imported[next++]; });
  return twin;
}

}  // namespace tiny
