// SPDX-License-Identifier: MIT
// Linear code as LLVM IR text, for a CPU or a GPU. Knows the entry ABI (runtime/base/binary.h), no
// axes.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include <string>

#include "compiler/lower/linear.h"

namespace tiny {

struct RenderOptions {
  bool fast_math = false;
};

std::string render_llvm(const lower::LinearCode&, const Target&, const RenderOptions& = {});

}  // namespace tiny
