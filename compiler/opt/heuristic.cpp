// SPDX-License-Identifier: MIT
#include "compiler/opt/heuristic.h"

namespace tiny {

void optimize(Kernel& kernel, const Target& target, bool noopt) {
  (void)kernel, (void)target, (void)noopt;
}

}  // namespace tiny
