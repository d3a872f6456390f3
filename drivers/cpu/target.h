// SPDX-License-Identifier: MIT
// The host processor as a compile target.
#pragma once

#include <rt_tiny/runtime/base/target.h>

namespace tiny::cpu {

/// `threads` groups run at the same time.
Target host_cpu_target(unsigned threads);

}  // namespace tiny::cpu
