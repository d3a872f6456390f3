// SPDX-License-Identifier: MIT
// A graph as kernels in order: fusion, grouping of stores, ordering, in-place writes, memory plan.
#pragma once

#include <rt_tiny/runtime/base/target.h>
#include "compiler/schedule/import.h"
#include "compiler/schedule/plan.h"

namespace tiny {

struct ScheduleOptions {
  bool noopt = false;
  /// Root i (an ASSIGN) may overwrite its target's memory: nobody else will read the old value.
  std::vector<char> in_place;
};

/// Roots are expressions over PARAM leaves; the plan's input slots are their numbers.
Plan schedule(const ImportedGraph&, const Target&, const ScheduleOptions& = {});

}  // namespace tiny
