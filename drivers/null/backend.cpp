// SPDX-License-Identifier: MIT
#include "drivers/null/backend.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>

#include "drivers/cpu/code.h"
#include "drivers/cpu/encoder.h"
#include "drivers/cpu/packets.h"
#include "drivers/cpu/target.h"
#include "drivers/null/amd.h"
#include "runtime/hwqueue/dword_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tiny::null {
namespace {

/// More than any machine has: asking for it is a test of out-of-memory handling.
constexpr size_t kMaxBlock_B = size_t{1} << 44;

/// Of "amd:gfx1100"; nullptr for another name.
const amd::Generation* amd_chip(std::string_view name) {
  constexpr std::string_view kPrefix = "amd:";
  return name.starts_with(kPrefix) ? amd::find_generation(name.substr(kPrefix.size())) : nullptr;
}

}  // namespace

NullBackend::NullBackend()
    : NullBackend(cpu::host_cpu_target(static_cast<unsigned>(std::max(knobs().threads, 1)))) {}

NullBackend::NullBackend(Target target) : target_(std::move(target)) {
  for (size_t q = 0; q < 2; ++q)
    timelines_[q] = std::make_shared<Timeline>("NULL " + queue_name(q));
}

std::optional<Block> NullBackend::allocate(size_t size_B, const AllocOptions& options) {
  if (options.host_visible) throw UsageError("[alloc] NULL has no memory the host could see");
  if (size_B > kMaxBlock_B) return std::nullopt;
  return Block{.address = take_address(size_B), .size_B = size_B};
}

uint64_t NullBackend::take_address(size_t size_B) {
  return next_address_.fetch_add((size_B + 8191) / 4096 * 4096);  // a gap after each block
}

void NullBackend::read(const Block&, size_t, void* dst, size_t size_B) {
  std::memset(dst, 0, size_B);
}

void NullBackend::write(const Block&, size_t, const void*, size_t) {}

std::shared_ptr<ProgramCode> NullBackend::load(const Binary& binary) {
  return std::make_shared<cpu::CpuCode>(binary);
}

std::unique_ptr<EncodedList> NullBackend::encode(const ListPlan& plan) {
  return cpu::encode_list(plan);
}

void NullBackend::submit(EncodedList& encoded, const Submission& submission) {
  auto& list = static_cast<cpu::CpuList&>(encoded);
  RelocationValues values = cpu::gather_values(list, submission);
  std::vector<uint8_t> kernarg = list.kernarg;
  apply(list.kernarg_relocations, kernarg, values);
  const uint64_t base[1] = {reinterpret_cast<uint64_t>(kernarg.data())};
  values.set(SourceKind::kernarg, base);
  for (size_t i = 0; i < list.segments.size(); ++i) {
    std::vector<uint32_t> words = list.segments[i].words;
    apply(list.segments[i].relocations, bytes_of(words), values);
    cpu::packets::validate(words);
    for (size_t at = 0; at < words.size(); at += 1 + cpu::packets::body_dw_of(words[at]))
      if (cpu::packets::opcode_of(words[at]) == cpu::packets::SIGNAL::kOpcode) {
        const auto p = cpu::packets::SIGNAL::decode(std::span(words).subspan(at));
        reinterpret_cast<Timeline*>(p.timeline)->signal(p.value);
      }
    timelines_[list.segments[i].queue]->signal(submission.segments[i].signal_value);
  }
}

BackendInfo backend_info() {
  BackendInfo info;
  info.vendor = "NULL";
  info.rank = -1;
  info.probe = []() -> std::vector<ProbeResult> {
    return {{"NULL:cpu", true, "compiles and queues for this processor, runs nothing", false},
            {"NULL:amd:gfx1100", true, "the same for an AMD chip, gfx1030 to gfx1103", false}};
  };
  info.canonical = [](std::string_view suffix) -> std::string {
    std::string name(suffix);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name.empty() || name == "cpu") return "cpu";
    if (name == "amd") return "amd:gfx1100";
    if (amd_chip(name)) return name;
    throw UsageError(fmt::format(
        "[open_device] \"NULL:{}\": no compiler for that target yet; known are NULL:cpu "
        "and NULL:amd:gfx1030 to gfx1103",
        suffix));
  };
  info.open = [](std::string_view name) -> std::unique_ptr<Backend> {
    if (const amd::Generation* chip = amd_chip(name))
      return std::make_unique<NullAmdBackend>(*chip);
    return std::make_unique<NullBackend>();
  };
  return info;
}

}  // namespace tiny::null
