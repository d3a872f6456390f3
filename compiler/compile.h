// SPDX-License-Identifier: MIT
// Kernel to binary: optimize, lower, render, assemble. The text alone is the compile-cache key.
#pragma once

#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/target.h>

#include <string>

#include "compiler/schedule/kernel.h"

namespace tiny {

struct CompileOptions {
  bool noopt = false;      ///< no actions: scalar loops
  bool fast_math = false;  ///< floating-point rewrites may change results
};

/// All of a binary but its code, and the text that code is assembled from.
struct RenderedKernel {
  std::string text;
  Binary binary;  ///< `code` is empty
};

/// Equal text on an equal target (Target::key, llvm_version_key) gives equal code.
RenderedKernel render(Kernel, const Target&, const CompileOptions& = {});

/// Machine code for rendered text; opens LLVM. DEBUG=4 prints text and assembly.
Binary assemble(RenderedKernel, const Target&);

/// render, then assemble.
Binary compile(Kernel, const Target&, const CompileOptions& = {});

}  // namespace tiny
