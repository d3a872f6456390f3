// SPDX-License-Identifier: MIT
// A back end in the style of OpenCL and WebGPU: opaque buffer handles, no host pointers, no memory
// signals, few buffers a kernel, lists replayed command by command. Proves that the contracts fit.
#pragma once

#include <rt_tiny/runtime/registry.h>

namespace tiny::test {

/// Registers vendor HOSTAPI once.
void register_host_api();

}  // namespace tiny::test
