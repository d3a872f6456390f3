// SPDX-License-Identifier: MIT
// Lists to packets. Needs no device: DEV=NULL:amd:… encodes with it too.
#pragma once

#include "drivers/amd/generation.h"
#include "drivers/amd/list.h"
#include "runtime/backend.h"

#include <array>
#include <cstdint>
#include <memory>

namespace tiny::amd {

/// Addresses of one queue's words, for its packets.
struct QueueWords {
  uint64_t timeline = 0;  ///< 64 bits: the last value that passed
  uint64_t gate = 0;      ///< 64 bits, written by the host: the last ticket that may pass
  uint64_t post = 0;      ///< 64 bits: the last ticket reached
  uint64_t order = 0;     ///< 32 bits: for waits of the queue for itself
};

struct EncodeContext {
  const Generation* generation = nullptr;
  bool copy_engine = true;  ///< queue 1 is one; else there is queue 0 alone
  std::array<QueueWords, kMaxQueues> queues{};
  std::array<const Timeline*, kMaxQueues> timelines{};
  std::shared_ptr<KernelCode> copy_kernel;  ///< for copies on queue 0
};

/// Throws UsageError for a launch the chip does not take.
std::unique_ptr<AmdList> encode_list(const ListPlan&, const EncodeContext&);

/// Fills the values of a submission that need no queue: arguments, variables, launches.
void gather_values(AmdList&, const Submission&, PatchValues&);

/// Bytes between the kernarg blocks of a list.
inline constexpr uint64_t kKernargAlign_B = 64;

}  // namespace tiny::amd
