// SPDX-License-Identifier: MIT
// Reverse-mode differentiation: graph to graph. One rule per op (gradient_rules.cpp), one iterative
// walk.
#pragma once

#include <span>
#include <vector>

#include "frontend/cell.h"

namespace tiny::detail {

/// Gradients for a node's sources, from the node's own. Entry i belongs to source i; undefined
/// entries carry nothing. `wanted[i]` says whether anybody asks for source i's.
std::vector<Tensor> source_gradients(const ir::Node&, const Tensor& upstream,
                                     const std::vector<bool>& wanted);

/// A leaf cell reached by the walk, with its gradient.
struct LeafGradient {
  Tensor leaf, gradient;
};
/// Gradients of every leaf that `output` depends on.
std::vector<LeafGradient> leaf_gradients(const Tensor& output, const Tensor& upstream);
/// Gradients of given tensors, leaves or not; undefined where there is no path.
std::vector<Tensor> input_gradients(const Tensor& output, const Tensor& upstream,
                                    const std::vector<Tensor>& inputs);

}  // namespace tiny::detail
