// SPDX-License-Identifier: MIT
// An i64 expression as constant + sum of coefficient * term, where a term is no sum itself.
#pragma once

#include "compiler/ir/node.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tiny::lower {

struct Affine {
  int64_t constant = 0;
  std::vector<std::pair<const ir::Node*, int64_t>> terms;  ///< distinct nodes, no zero coefficient

  /// Coefficient of RANGE(axis); 0 if there is none.
  int64_t coefficient(int64_t axis) const;
  /// Does a term other than RANGE(axis) itself depend on the axis?
  bool tangled(int64_t axis) const;
};

Affine affine(const ir::Node*);
/// a - b
Affine difference(const ir::Node* a, const ir::Node* b);

}  // namespace tiny::lower
