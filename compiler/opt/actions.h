// SPDX-License-Identifier: MIT
// The explicit list of actions that turn a kernel's loops into vectors, tiles and threads. The
// heuristic and the search both speak it; it prints and parses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/kernel.h"

namespace tiny {

enum class ActionKind : uint8_t {
#define ACTION(name, arguments, meaning) name,
#include "compiler/opt/actions.def"
#undef ACTION
};

struct Action {
  ActionKind kind = ActionKind::split;
  int axis_class = 0;
  int64_t amount = 0;      ///< the factor, merge's inner class, keep's buffer
  std::vector<int> order;  ///< classes, for `order`
  bool operator==(const Action&) const = default;
};

std::string print(const Action&);       ///< "vector(1, 8)", "order(2, 0)"
Action parse_action(std::string_view);  ///< throws UsageError ("[action] …")

/// Changes one piece. An illegal action throws UsageError ("[action] …") and changes nothing.
void apply(Kernel&, size_t piece, const Action&);

/// The class that a split of this piece gives its inner axes.
int next_class(const Piece&);

}  // namespace tiny
