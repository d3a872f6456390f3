// SPDX-License-Identifier: MIT
#include "drivers/amd/scratch.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace tiny::amd {
namespace {

constexpr uint32_t kWavesize_lo = 12, kMaxWaves = (1 << 12) - 1;
constexpr uint32_t kWaveThreads = 64;  // slots are sized for the wider waves

}  // namespace

ScratchPlan plan_scratch(const ScratchInput& in, uint32_t thread_B) {
  const Generation& g = *in.generation;
  ScratchPlan out;
  const uint64_t align_B = g.scratch_thread_align_B;
  const uint64_t rounded_B = (thread_B + align_B - 1) / align_B * align_B;
  const uint64_t wave_B = (rounded_B * kWaveThreads + g.scratch_granule_B - 1) /
                          g.scratch_granule_B * g.scratch_granule_B;
  const uint64_t granules = wave_B / g.scratch_granule_B;
  if (granules >> g.scratch_wavesize_bits)
    throw UsageError(
        fmt::format("[load] a thread needs {} B of scratch, {} gives at most {}", thread_B, g.arch,
                    ((1ull << g.scratch_wavesize_bits) - 1) * g.scratch_granule_B / kWaveThreads));
  // Each engine gets the same share.
  const uint64_t per_engine =
      std::max<uint64_t>(uint64_t{in.slots_per_cu} * in.compute_units / in.shader_engines, 1);
  const uint64_t field = g.scratch_waves_per_engine ? per_engine : per_engine * in.shader_engines;
  const uint64_t waves = std::min<uint64_t>(
      field,
      g.scratch_waves_per_engine ? kMaxWaves : kMaxWaves / in.shader_engines * in.shader_engines);
  out.thread_B = static_cast<uint32_t>(rounded_B);
  out.total_B = wave_B * waves * (g.scratch_waves_per_engine ? in.shader_engines : 1);
  out.tmpring = static_cast<uint32_t>(waves | granules << kWavesize_lo);
  return out;
}

}  // namespace tiny::amd
