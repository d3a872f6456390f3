// SPDX-License-Identifier: MIT
// Lists as packets: dwords and kernargs with the relocations a run patches.
#pragma once

#include "drivers/cpu/code.h"
#include "runtime/backend.h"
#include "runtime/hwqueue/relocation.h"
#include "runtime/list_state.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tiny::cpu {

/// One segment's packets. Relocations here are run-time ones only.
struct EncodedSegment {
  uint32_t queue = 0;
  std::vector<uint32_t> words;
  std::vector<Relocation> relocations;
};

/// A dispatch whose group counts depend on variables.
struct VariableLaunch {
  std::array<LaunchExpr, 3> groups;
  std::vector<VariableRef> variables;
};

struct CpuList : EncodedList {
  std::vector<EncodedSegment> segments;
  std::vector<uint8_t> kernarg;  ///< of all dispatches
  std::vector<Relocation> kernarg_relocations;
  std::vector<VariableLaunch> launches;
  std::vector<std::shared_ptr<ProgramCode>> code;

  /// Memory of its own, twice (graphs and lists too big for the ring): submits alternate.
  struct Instance {
    std::unique_ptr<uint8_t[]> kernarg_memory;
    std::span<uint8_t> kernarg;
    std::vector<std::vector<uint32_t>> words;  ///< by segment
    std::array<uint64_t, kMaxQueues> last{};   ///< timeline values that retire it
  };
  std::vector<Instance> instances;
  size_t next_instance = 0;

  /// Reused by each submit, so that a replay allocates nothing.
  std::vector<uint64_t> argument_values, launch_values;
};

std::unique_ptr<CpuList> encode_list(const ListPlan&);
/// Moves the list to instance memory; only what a run changes is left to patch.
void make_instances(CpuList&);

/// Evaluates what the relocations need from a submission.
RelocationValues gather_values(CpuList&, const Submission&);

}  // namespace tiny::cpu
