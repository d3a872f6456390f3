// SPDX-License-Identifier: MIT
// A kernel as the dispatch registers want it, and its place in GPU memory.
#pragma once

#include <rt_tiny/runtime/program.h>

#include "drivers/amd/memory.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tiny::amd {

/// What the first user SGPRs hold, in this order; counts in SGPRs.
struct UserSgprs {
  bool private_segment_buffer = false;  ///< 4: descriptor of the scratch memory
  bool kernarg_ptr = false;             ///< 2
  bool flat_scratch_init = false;       ///< 2: address of the scratch memory
  bool private_segment_size = false;    ///< 1: bytes a thread
  uint32_t count() const {
    return (private_segment_buffer ? 4u : 0u) + (kernarg_ptr ? 2u : 0u) +
           (flat_scratch_init ? 2u : 0u) + (private_segment_size ? 1u : 0u);
  }
};

/// Everything a dispatch writes, as the hardware takes it.
struct KernelRegisters {
  uint64_t entry = 0;  ///< address of the first instruction, 256-aligned
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  bool wave32 = true;
  UserSgprs user;
  uint32_t scratch_B = 0;  ///< a thread's
  uint32_t kernarg_B = 0;  ///< what the kernel may read, hidden arguments included
};

struct KernelCode : ProgramCode {
  std::string name;
  KernelRegisters registers;
  OwnedRegion region;  ///< empty where nothing runs
};

}  // namespace tiny::amd
