// SPDX-License-Identifier: MIT
// A command list in packets, with the places that a run changes. Those are whole words, so that a
// patch only stores: nothing is read back from memory the GPU shares.
#pragma once

#include "drivers/amd/kernel_code.h"
#include "drivers/amd/memory.h"
#include "runtime/backend.h"
#include "runtime/list_state.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace tiny::amd {

/// Where a patched value comes from.
enum class PatchKind : uint8_t {
  argument,  ///< address of the buffer bound to a slot
  variable,  ///< value bound to a slot
  launch,    ///< an evaluated group count
  kernarg,   ///< address of the list's arguments
  gate,      ///< ticket of the n-th wait for a foreign timeline
  post,      ///< ticket of the n-th signal of a foreign timeline
  scratch,   ///< 0: address of the scratch memory; 1: the same as words 0 and 1 of a descriptor
};
inline constexpr size_t kPatchKinds = 7;
enum class PatchForm : uint8_t { wide, low, high };  ///< 64 bits, or a half of them

struct Patch {
  uint32_t offset_B = 0;
  uint32_t index = 0;
  int64_t addend = 0;
  PatchKind kind = PatchKind::argument;
  PatchForm form = PatchForm::wide;
};

using PatchValues = std::array<const uint64_t*, kPatchKinds>;

inline void apply_patches(std::span<const Patch> patches, void* target, const PatchValues& values) {
  auto* const bytes = static_cast<uint8_t*>(target);
  for (const Patch& p : patches) {
    const uint64_t value =
        values[static_cast<size_t>(p.kind)][p.index] + static_cast<uint64_t>(p.addend);
    if (p.form == PatchForm::wide) {
      std::memcpy(bytes + p.offset_B, &value, 8);
    } else {
      const auto half = static_cast<uint32_t>(p.form == PatchForm::low ? value : value >> 32);
      std::memcpy(bytes + p.offset_B, &half, 4);
    }
  }
}

/// One segment's packets without what every submission adds at both ends.
struct AmdSegment {
  uint32_t queue = 0;
  std::vector<uint32_t> words;
  std::vector<Patch> patches;
  std::vector<Fence> foreign_waits;    ///< in order; gate tickets
  std::vector<Fence> foreign_signals;  ///< in order; post tickets
};

/// A dispatch whose group counts depend on variables.
struct VariableLaunch {
  std::array<LaunchExpr, 3> groups;
  std::vector<VariableRef> variables;
};

struct AmdList : EncodedList {
  std::vector<AmdSegment> segments;
  std::vector<uint8_t> kernarg;  ///< of all dispatches
  std::vector<Patch> kernarg_patches;
  std::vector<VariableLaunch> launches;
  std::vector<std::shared_ptr<ProgramCode>> code;
  uint32_t scratch_B = 0;  ///< a thread's, the most of any kernel

  /// Memory of its own, twice (graphs and lists too big for a ring): submits alternate.
  struct Instance {
    OwnedRegion region;
    uint8_t* kernarg = nullptr;
    std::vector<uint32_t*> words;             ///< by segment
    std::vector<uint64_t> addresses;          ///< of them
    std::array<uint64_t, kMaxQueues> last{};  ///< timeline values that retire it
  };
  std::vector<Instance> instances;
  size_t next_instance = 0;

  /// Reused by each submit, so that a replay allocates nothing.
  std::vector<uint64_t> argument_values, launch_values, gate_values, post_values;
};

}  // namespace tiny::amd
