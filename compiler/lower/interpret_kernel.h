// SPDX-License-Identifier: MIT
// The meaning of a kernel as a readable loop: what every compiled kernel is tested against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/schedule/kernel.h"

namespace tiny::lower {

/// Runs the kernel on buffers as bytes, in the order of Kernel::buffers. Slow.
void interpret_kernel(const Kernel&, std::span<std::vector<uint8_t>> buffers,
                      std::span<const int64_t> variables = {});

}  // namespace tiny::lower
