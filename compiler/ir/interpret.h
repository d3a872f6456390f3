// SPDX-License-Identifier: MIT
// The reference interpreter: what a graph means, element by element on the host. Never fast.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/scalar.h"

namespace tiny::ir {

/// Elements in row-major order, as a device would store them.
struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};

/// The stored elements behind a BUFFER or PARAM node; for kernel expressions, behind a LOAD (by
/// its arg.value). Bytes past the shape are ignored; too few throw std::out_of_range.
using BufferReader = std::function<std::span<const std::byte>(const Node*)>;

/// Values of tensor graphs, root by root. Floats compute as `evaluate` says, op by op; sums and
/// products fold left to right in the dtype, f16 and bf16 in f32 with one rounding at the end. An
/// ASSIGN is its value: nothing is written. Iterative; intermediates die after their last use.
std::vector<HostTensor> interpret(std::span<const Node* const> roots, const BufferReader&);

/// What the leaves of a kernel expression stand for.
struct ScalarEnvironment {
  std::unordered_map<int64_t, int64_t> axes;       ///< RANGE by axis
  std::unordered_map<int64_t, int64_t> variables;  ///< VAR by slot
  BufferReader buffers;  ///< LOAD; an index outside throws std::out_of_range
  /// STAGE: its node and the values of its sources.
  std::function<Scalar(const Node*, std::span<const Scalar>)> stages;
};
/// Value of a 0-d expression. A LOAD that is not valid reads nothing and gives 0.
Scalar eval_scalar(const Node*, const ScalarEnvironment&);

}  // namespace tiny::ir
