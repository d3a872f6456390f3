// SPDX-License-Identifier: MIT
// The text form of expressions: print and parse round-trip whole graphs; pretty is for readers.
//
//   %0 = RANGE i64 value=0 list=[8]
//   %1 = CONST i64 value=4
//   %2 = MUL i64 %0 %1
//   return %2
//
// One node a line, sources before users; fields of the argument are written where they are not
// empty. A bool or integer CONST always has its value, a float CONST its real: exact decimal,
// inf, -inf, -0.0 or nan:BITS. Objects are numbered in order of appearance: object=@0. After a
// semicolon comes a comment; printed tensors have their shape there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/arena.h"

namespace tiny::ir {

std::string print(const Node*);
std::string print(std::span<const Node* const> roots);

/// Inverse of print: one root. Throws UsageError "[parse] line 3: …" on anything else.
const Node* parse(Arena&, std::string_view text);
/// Several roots; object=@k becomes objects[k], or a new object where there are fewer.
std::vector<const Node*> parse_all(Arena&, std::string_view text,
                                   std::span<const std::shared_ptr<Object>> objects = {});

/// Compact infix such as "r0*8 + r1"; deep or huge expressions are cut with "…".
std::string pretty(const Node*);

}  // namespace tiny::ir
