// SPDX-License-Identifier: MIT
// A plan ready to run on one device: programs loaded, one command list over symbolic buffers.
#pragma once

#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>
#include "compiler/schedule/import.h"
#include "compiler/schedule/plan.h"

#include <memory>
#include <vector>

namespace tiny::engine {

/// Immutable once built; shared by every graph of the same structure.
struct Executable {
  std::shared_ptr<Device> device;
  Plan plan;  ///< kernels' expressions are dropped once compiled
  CommandList list;
  std::vector<int> slots;   ///< plan buffer → symbol slot; temporaries share the last one
  uint32_t slot_count = 0;  ///< the arena of temporaries included
};

/// Compiled, or from the schedule cache: one entry a (graph structure, device, options).
std::shared_ptr<const Executable> executable_for(const GraphView&, const std::shared_ptr<Device>&,
                                                 const std::vector<char>& in_place);

/// One run's memory, by plan buffer: given inputs, fresh outputs (or the input they overwrite).
struct Binding {
  std::vector<Buffer> buffers;  ///< by plan buffer; empty for temporaries
  std::vector<Buffer> symbols;  ///< as the command list wants them
};
/// `inputs` by graph leaf slot. Allocates outputs and the arena.
Binding bind_memory(const Executable&, std::span<const Buffer> inputs);

struct CacheStats {
  uint64_t schedules = 0, schedule_hits = 0;
  uint64_t kernels_compiled = 0, kernels_from_disk = 0, kernels_reused = 0;
};
CacheStats cache_stats();
/// Forgets schedules and programs of this process (tests; after a device was closed).
void clear_caches();

}  // namespace tiny::engine
