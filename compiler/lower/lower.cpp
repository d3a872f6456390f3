// SPDX-License-Identifier: MIT
#include "compiler/lower/lower.h"

#include <rt_tiny/runtime/base/log.h>

#include <unordered_map>

#include "compiler/lower/emit.h"
#if __has_include("compiler/lower/decompose.h")
#include "compiler/lower/decompose.h"
#define TINY_HAS_DECOMPOSE
#endif

namespace tiny::lower {

namespace {

using ir::Node;

/// Applies `change` to each expression root of the kernel.
template <class F>
void each_expression(Kernel& k, F change) {
  for (Piece& p : k.pieces) {
    for (Stage& s : p.stages) s.value = change(s.value);
    for (Store& s : p.stores) {
      s.index = change(s.index);
      if (s.valid) s.valid = change(s.valid);
      s.value = change(s.value);
    }
  }
}

void decompose_pass(Kernel& k, const Target& t) {
#ifdef TINY_HAS_DECOMPOSE
  each_expression(k, [&](const Node* n) { return decompose(*k.arena, n, t); });
#else
  (void)k, (void)t, (void)each_expression<Node* (*)(const Node*)>;
#endif
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
