// SPDX-License-Identifier: MIT
// Expressions with their buffers renumbered.
#pragma once

#include "compiler/ir/arena.h"

#include <unordered_map>

namespace tiny {

/// `root` with every LOAD of buffer b reading buffer numbers.at(b) instead.
const ir::Node* renumber_loads(ir::Arena&, const ir::Node* root,
                               const std::unordered_map<int64_t, int64_t>& numbers);

}  // namespace tiny
