// SPDX-License-Identifier: MIT
// Checks finished graphs against every rule of ops.def again; runs after passes in debug builds.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/node.h"

namespace tiny::ir {

/// What is wrong with the first bad node reachable from the roots, with the node printed; empty
/// when all is well: arity, dtypes, shapes, canonical constants, intervals, axes and hashes.
std::string find_broken(std::span<const Node* const> roots);
/// CHECKs that nothing is.
void verify(std::span<const Node* const> roots);
void verify(const Node* root);

}  // namespace tiny::ir
