// SPDX-License-Identifier: MIT
// Rewrites the ops that targets need not supply into those that they must (ops.def: `required`).
//
// Float functions become polynomials without branches, integer divisions that round down become
// machine divisions, shifts or masks, and f16 and bf16 arithmetic becomes f32 arithmetic rounded
// after each op, so that a fused expression equals its ops run one by one, bit for bit. bf16 is
// then only loaded, stored, selected and bit-cast; f16 also converts from and to f32.
//
// The formulas need IEEE arithmetic in the order written: contraction of a*b+c is allowed,
// reassociation is not, and neither is flushing of subnormals to zero.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include <span>
#include <vector>

#include "compiler/ir/arena.h"

namespace tiny::lower {

/// The 0-d kernel expression with every op required; shared parts stay shared.
const ir::Node* decompose(ir::Arena&, const ir::Node* root, const Target&);
/// Several roots that share one memo; results in the same order.
std::vector<const ir::Node*> decompose(ir::Arena&, std::span<const ir::Node* const> roots,
                                       const Target&);

}  // namespace tiny::lower
