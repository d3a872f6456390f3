// SPDX-License-Identifier: MIT
// Recurring packet sequences of both engines, appended to words.
#pragma once

#include "drivers/amd/pm4.h"
#include "drivers/amd/sdma.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tiny::amd {

using Words = std::vector<uint32_t>;

/// Appends; returns the packet's first dword.
template <class Packet>
size_t put(Words& out, const Packet& packet) {
  const size_t at = out.size();
  const auto words = packet.encode();
  out.insert(out.end(), words.begin(), words.end());
  return at;
}

/// What an acquire drops from caches.
struct AcquireScope {
  bool instructions = false;  ///< after code was loaded
  bool l2 = false;            ///< data of the host, of the copy engine or of other queues
};
pm4::ACQUIRE_MEM acquire(const AcquireScope&);
/// A 64-bit store after everything before it, whose results others can then see.
pm4::RELEASE_MEM release(uint64_t address, uint64_t value);
/// Same for this queue alone: caches are not flushed.
pm4::RELEASE_MEM order(uint64_t address, uint64_t value);
/// Without cache flushes, and an interrupt: an event's mailbox.
pm4::RELEASE_MEM release_event(uint64_t mailbox, uint32_t event_id);

/// COMPUTE_DISPATCH_INITIATOR of every launch.
uint32_t dispatch_initiator(bool wave32);
/// What a fresh queue needs once: registers that no dispatch sets.
Words initial_registers();

void set_sh_reg(Words&, uint32_t first, std::initializer_list<uint32_t> values);

/// Waits until a 64-bit counter has reached a value; above 2^32 its high half comes first. Returns
/// where the low half of the reference is. The counter may not pass a multiple of 2^32 while a wait
/// is pending (AmdBackend::drain_before_carry).
size_t pm4_wait(Words&, uint64_t address, uint64_t value);
size_t sdma_wait(Words&, uint64_t address, uint64_t value);

/// Makes what others wrote visible to copies, and what copies wrote to others.
sdma::GCR sdma_invalidate();
sdma::GCR sdma_write_back();
sdma::FENCE sdma_fence(uint64_t address, uint32_t value);
sdma::POLL_REGMEM sdma_poll(sdma::FUNC func, uint64_t address, uint32_t value);

}  // namespace tiny::amd
