// SPDX-License-Identifier: MIT
// What the PM4, AQL and SDMA processors share: cache controls, scratch registers, atomics of
// packets.
#pragma once

#include "models/amd/chip_memory.h"
#include "models/amd/profile.h"
#include "models/amd/shader.h"

#include <cstdint>
#include <optional>

namespace tiny::models::amd {

CacheAction gcr_action(uint32_t gcr);       ///< GCR_CNTL as in ACQUIRE_MEM
CacheAction release_action(uint32_t word);  ///< dword 1 of RELEASE_MEM

/// From COMPUTE_TMPRING_SIZE and the scratch base.
void fill_scratch(Launch& launch, uint32_t tmpring, uint64_t base, const Profile& profile);

struct PacketAtomic {
  AtomicOp op;
  unsigned size_B;
};
/// The operation codes of ATOMIC_MEM and SDMA ATOMIC.
std::optional<PacketAtomic> packet_atomic(unsigned code);

}  // namespace tiny::models::amd
