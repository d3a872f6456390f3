// SPDX-License-Identifier: MIT
#include "drivers/null/amd.h"

#include "drivers/amd/code_object.h"
#include "drivers/amd/copy_shader.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/sdma.h"
#include "drivers/amd/target.h"

#include <algorithm>

namespace tiny::null {
namespace {

/// As many as an RX 7900 XTX has, so that kernels are shaped as for that.
constexpr uint32_t kComputeUnits = 96;
constexpr uint64_t kL2_B = 6 << 20;
/// Where the words of queue n would lie.
constexpr uint64_t kWords = uint64_t{1} << 45;

struct NullAmdList : EncodedList {
  std::unique_ptr<amd::AmdList> list;
  bool checked = false;  ///< its packets, patched
};

}  // namespace

NullAmdBackend::NullAmdBackend(const amd::Generation& generation)
    : NullBackend(amd::amd_target(generation, kComputeUnits, kL2_B)), generation_(generation) {
  context_.generation = &generation;
  context_.copy_kernel = std::make_shared<amd::KernelCode>();
  context_.copy_kernel->name = "copy";
  context_.copy_kernel->registers =
      amd::copy_shader_registers(generation, take_address(amd::kPage_B));
  for (size_t q = 0; q < queue_count(); ++q) {
    const uint64_t at = kWords + q * amd::kPage_B;
    context_.queues[q] = {at, at + 64, at + 128, at + 192};
    context_.timelines[q] = timeline(q).get();
  }
}

std::shared_ptr<ProgramCode> NullAmdBackend::load(const Binary& binary) {
  const amd::CodeObject object(binary, generation_);
  auto code = std::make_shared<amd::KernelCode>();
  code->name = binary.name;
  const uint64_t address = take_address(object.size_B());
  code->registers = object.registers(object.link(address), address);
  return code;
}

std::unique_ptr<EncodedList> NullAmdBackend::encode(const ListPlan& plan) {
  auto out = std::make_unique<NullAmdList>();
  out->list = amd::encode_list(plan, context_);
  return out;
}

/// Patches where the list lies, as a graph's replay does: patches are whole words, and nothing
/// reads them. They have the same places each time, so packets that are whole after the first time
/// stay so.
void NullAmdBackend::submit(EncodedList& encoded, const Submission& submission) {
  auto& whole = static_cast<NullAmdList&>(encoded);
  amd::AmdList& list = *whole.list;
  amd::PatchValues values{};
  amd::gather_values(list, submission, values);
  amd::apply_patches(list.kernarg_patches, list.kernarg.data(), values);
  const auto address = reinterpret_cast<uint64_t>(list.kernarg.data());
  static constexpr uint64_t kNoScratch[2] = {0, uint64_t{1} << 63};
  values[static_cast<size_t>(amd::PatchKind::kernarg)] = &address;
  values[static_cast<size_t>(amd::PatchKind::scratch)] = kNoScratch;
  for (size_t i = 0; i < list.segments.size(); ++i) {
    amd::AmdSegment& segment = list.segments[i];
    tickets_.assign(std::max(segment.foreign_waits.size(), segment.foreign_signals.size()), 1);
    values[static_cast<size_t>(amd::PatchKind::gate)] = tickets_.data();
    values[static_cast<size_t>(amd::PatchKind::post)] = tickets_.data();
    amd::apply_patches(segment.patches, segment.words.data(), values);
    if (!whole.checked)
      segment.queue == 0 ? amd::pm4::validate(segment.words) : amd::sdma::validate(segment.words);
    for (const Fence& fence : segment.foreign_signals) fence.timeline()->signal(fence.value());
    timeline(segment.queue)->signal(submission.segments[i].signal_value);
  }
  whole.checked = true;
}

}  // namespace tiny::null
