// SPDX-License-Identifier: MIT
// What `schedule` makes of a graph: kernels in order over numbered buffers. Plain data that owns
// itself; knows no device.
#pragma once

#include "compiler/schedule/kernel.h"

#include <cstdint>
#include <vector>

namespace tiny {

/// Memory a plan reads or writes.
struct PlanBuffer {
  enum class Kind : uint8_t {
    input,      ///< graph leaf `slot`
    output,     ///< value of root `slot`: fresh memory unless `in_place_of` says otherwise
    temporary,  ///< inside the run only, at offset_B of the run's arena
  };
  Kind kind = Kind::temporary;
  int slot = 0;
  DType dtype = DType::f32;
  ir::Shape shape;
  int in_place_of = -1;  ///< output: stored in the memory of this (input) plan buffer
  int64_t offset_B = 0;  ///< temporary
  int64_t size_in_B() const { return ir::element_count(shape) * int64_t(size_B(dtype)); }
};

/// One kernel launch; `buffers[i]` is the plan buffer bound to Kernel::buffers[i].
struct PlanStep {
  Kernel kernel;
  std::vector<int> buffers;
};

struct Plan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> steps;  ///< in an order that respects every dependency
  std::vector<int> roots;       ///< plan buffer of each root, in root order; an input may be a root
  int64_t temporary_B = 0;      ///< size of the arena that temporaries share
};

/// "buffers … steps …" for DEBUG=2 and tests.
std::string print(const Plan&);

}  // namespace tiny
