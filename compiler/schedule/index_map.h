// SPDX-License-Identifier: MIT
// Movement ops as index expressions: which element of the source a position of the result reads.
#pragma once

#include "compiler/ir/arena.h"

#include <vector>

namespace tiny {

/// A position in a tensor, one i64 expression an axis, and where it means anything.
struct Position {
  std::vector<const ir::Node*> index;
  const ir::Node* valid = nullptr;  ///< bool; nullptr: everywhere
  bool operator==(const Position&) const = default;
};

/// The position in `movement`'s source that `at` of its result reads. `inside` is the condition the
/// movement itself adds (PAD, UNWINDOW; nullptr: none): outside it the result is the fill value.
/// The returned position's validity already includes it.
struct SourcePosition {
  Position at;
  const ir::Node* inside = nullptr;
};
SourcePosition source_position(ir::Arena&, const ir::Node* movement, const Position& at);

/// Row-major offset of a position.
const ir::Node* flat_index(ir::Arena&, const ir::Shape&, std::span<const ir::Node* const> index);

/// Conjunction where either side may be nullptr (true); nullptr when the result is always true.
const ir::Node* both(ir::Arena&, const ir::Node* a, const ir::Node* b);

}  // namespace tiny
