// SPDX-License-Identifier: MIT
#include "compiler/lower/lower.h"

#include <rt_tiny/runtime/base/log.h>

#include <vector>

#include "compiler/lower/decompose.h"
#include "compiler/lower/emit.h"

namespace tiny::lower {

namespace {

using ir::Node;

/// Where the expressions of a kernel hang.
std::vector<const Node**> places(Kernel& k) {
  std::vector<const Node**> out;
  for (Piece& p : k.pieces)
    for (const Node** place : expression_places(p)) out.push_back(place);
  return out;
}

void decompose_pass(Kernel& k, const Target& target) {
  const std::vector<const Node**> at = places(k);
  std::vector<const Node*> roots;
  for (const Node** place : at) roots.push_back(*place);
  const std::vector<const Node*> changed = decompose(*k.arena, roots, target);
  for (size_t i = 0; i < at.size(); ++i) *at[i] = changed[i];
}

struct Pass {
  const char* name;
  void (*run)(Kernel&, const Target&);
};

/// THE list: kernel passes in order; emission follows.
constexpr Pass kPasses[] = {
    {"decompose", decompose_pass},
};

}  // namespace

LinearCode lower(Kernel k, const Target& target) {
  for (const Pass& pass : kPasses) {
    pass.run(k, target);
    verify(k);
    if (log_enabled(6, "lower")) log_line(std::string("lower/") + pass.name, print(k));
  }
  LinearCode code = emit(k, target);
  verify(code);
  if (log_enabled(3, "lower")) log_line("lower/emit", print(code));
  return code;
}

}  // namespace tiny::lower
