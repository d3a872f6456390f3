// SPDX-License-Identifier: MIT
// From an Instruction to a micro-op. Private to this folder.
#pragma once

#include "models/amd/isa/lanes.h"

#include <deque>
#include <string>

namespace tiny::models::amd {

/// False, with the reason in `problem`, if the opcode or an operand is not modelled. A dual-issue
/// instruction puts its other half into `storage`.
bool make_op(const Instruction& inst, uint64_t pc, bool gfx11, std::deque<Op>& storage, Op& op,
             std::string& problem);
/// Is there a row for the folded opcode name, both halves of a dual-issue one included?
bool is_modelled(std::string_view name);
/// Executes both halves of a dual-issue instruction.
void run_pair(Wave& wave, const Op& op);

/// How a vector memory instruction forms its addresses.
enum class Addressing : uint8_t {
  flat,           ///< 64-bit VGPR pair
  global,         ///< 64-bit VGPR pair, not routed by aperture
  global_saddr,   ///< SGPR pair + 32-bit VGPR
  scratch_vaddr,  ///< VGPR
  scratch_saddr,  ///< SGPR
  scratch_both,   ///< VGPR + SGPR
  scratch_none,   ///< the offset alone
  buffer_offset,
  buffer_offen,
  buffer_idxen,
  buffer_both,
};

}  // namespace tiny::models::amd
