// SPDX-License-Identifier: MIT
#include "drivers/cpu/backend.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/host_cpu.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>

#include "drivers/cpu/host_memory.h"
#include "drivers/cpu/packets.h"
#include "drivers/cpu/target.h"
#include "runtime/hwqueue/dword_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tiny::cpu {
namespace {

/// The compute queue's thread is wanted soon again; a copy is worth waking a thread for.
constexpr uint64_t kComputeSpin_ns = 500'000, kCopySpin_ns = 20'000;
constexpr size_t kWait_dw = packets::WAIT::kSize_dw, kRelease_dw = packets::RELEASE::kSize_dw;

std::span<uint32_t> put(std::span<uint32_t> out, std::span<const uint32_t> words) {
  std::copy(words.begin(), words.end(), out.begin());
  return out.subspan(words.size());
}

std::span<uint32_t> put_waits(std::span<uint32_t> out, const SegmentSubmit& segment) {
  for (const auto& [timeline, value] : segment.waits)
    out = put(out, packets::WAIT{reinterpret_cast<uint64_t>(timeline), value}.encode());
  return out;
}

/// DEBUG=5: what the queue is about to read, patched.
void log_packets(size_t queue, std::span<const uint32_t> words) {
  if (log_enabled(5, "cpu/submit"))
    log_line("cpu/submit", fmt::format("queue {}\n{}", queue, packets::dump(words)));
}

}  // namespace

CpuBackend::CpuBackend(const CpuConfig& config)
    : target_(host_cpu_target(config.threads)), kernarg_memory_(config.kernarg_B + 64) {
  for (size_t q = 0; q < queues_.size(); ++q) open_queue(q, config);
  void* start = kernarg_memory_.data();
  size_t room_B = kernarg_memory_.size();
  std::align(64, config.kernarg_B, start, room_B);
  kernargs_ =
      std::make_unique<KernargArena>(std::span(static_cast<uint8_t*>(start), config.kernarg_B),
                                     reinterpret_cast<uint64_t>(start), queues_[0].timeline);
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::open_queue(size_t index, const CpuConfig& config) {
  Queue& queue = queues_[index];
  const bool compute = index == 0;
  queue.timeline = std::make_shared<Timeline>("CPU " + queue_name(index));
  queue.memory.resize(config.ring_dw);
  queue.processor = std::make_unique<CommandProcessor>(CommandProcessor::Config{
      .name = queue_name(index),
      .ring = queue.memory,
      .timeline = queue.timeline,
      .threads = compute ? config.threads : 1,
      .idle_spin_ns = compute ? kComputeSpin_ns : kCopySpin_ns,
      .describe_address = [this](uint64_t a) {
        return describe_address ? describe_address(a) : std::string("unknown");
      }});
  queue.ring = std::make_unique<Ring>(RingConfig{
      .memory = queue.memory,
      .timeline = queue.timeline,
      .fill_padding =
          [](std::span<uint32_t> gap) {
            gap[0] = packets::header(packets::NOP::kOpcode, static_cast<uint32_t>(gap.size() - 1));
          },
      .ring_doorbell = [p = queue.processor.get()](uint64_t put) { p->ring_doorbell(put); }});
}

std::string CpuBackend::description() const {
  const std::string& key = host_cpu_key();
  return fmt::format("{}, {} threads", key.substr(0, key.find('#')), target_.parallelism);
}

std::optional<Block> CpuBackend::allocate(size_t size_B, const AllocOptions&) {
  void* const memory = allocate_pages(size_B);
  if (!memory) return std::nullopt;
  return Block{.address = reinterpret_cast<uint64_t>(memory), .host = memory, .size_B = size_B};
}

std::optional<Block> CpuBackend::import_host(void* pointer, size_t size_B) {
  return Block{.address = reinterpret_cast<uint64_t>(pointer), .host = pointer, .size_B = size_B};
}

void CpuBackend::release(const Block& block) noexcept {
  if (!block.imported) release_pages(block.host, block.size_B);
}

void CpuBackend::read(const Block& block, size_t offset_B, void* dst, size_t size_B) {
  std::memcpy(dst, static_cast<const uint8_t*>(block.host) + offset_B, size_B);
}

void CpuBackend::write(const Block& block, size_t offset_B, const void* src, size_t size_B) {
  std::memcpy(static_cast<uint8_t*>(block.host) + offset_B, src, size_B);
}

std::shared_ptr<ProgramCode> CpuBackend::load(const Binary& binary) {
  return std::make_shared<CpuCode>(binary);
}

std::unique_ptr<EncodedList> CpuBackend::encode(const ListPlan& plan) {
  auto list = encode_list(plan);
  // Waits vary from submit to submit: leave half of what fits for them.
  bool in_ring = !plan.indirect && kernargs_->fits(list->kernarg.size());
  for (const EncodedSegment& s : list->segments)
    in_ring = in_ring && queues_[s.queue].ring->fits(2 * s.words.size() + kRelease_dw);
  if (!in_ring) make_instances(*list);
  return list;
}

void CpuBackend::submit(EncodedList& encoded, const Submission& submission) {
  auto& list = static_cast<CpuList&>(encoded);
  RelocationValues values = gather_values(list, submission);
  if (list.instances.empty())
    submit_inline(list, submission, values);
  else
    submit_instance(list, submission, values);
}

void CpuBackend::submit_inline(CpuList& list, const Submission& submission,
                               RelocationValues& values) {
  uint64_t base[1] = {0};
  if (!list.kernarg.empty()) {
    const KernargArena::Slot slot = kernargs_->allocate(list.kernarg.size());
    std::copy(list.kernarg.begin(), list.kernarg.end(), slot.host.begin());
    apply(list.kernarg_relocations, slot.host, values);
    base[0] = slot.address;
  }
  values.set(SourceKind::kernarg, base);
  for (size_t i = 0; i < list.segments.size(); ++i) {
    const EncodedSegment& segment = list.segments[i];
    const SegmentSubmit& run = submission.segments[i];
    Ring& ring = *queues_[segment.queue].ring;
    const auto room =
        ring.reserve(run.waits.size() * kWait_dw + segment.words.size() + kRelease_dw);
    auto out = put_waits(room, run);
    const auto body = out.first(segment.words.size());
    out = put(out, segment.words);
    apply(segment.relocations, bytes_of(body), values);
    put(out, packets::RELEASE{run.signal_value}.encode());
    log_packets(segment.queue, room);
    ring.publish(run.signal_value);
    if (segment.queue == 0) kernargs_->retire_at(run.signal_value);
  }
}

void CpuBackend::submit_instance(CpuList& list, const Submission& submission,
                                 const RelocationValues& values) {
  CpuList::Instance& instance = list.instances[list.next_instance];
  list.next_instance = (list.next_instance + 1) % list.instances.size();
  for (size_t q = 0; q < queues_.size(); ++q) try {
      queues_[q].timeline->wait(instance.last[q]);
    } catch (const DeviceFault&) {  // a dead queue reads nothing
    }
  apply(list.kernarg_relocations, instance.kernarg, values);
  for (size_t i = 0; i < list.segments.size(); ++i) {
    const EncodedSegment& segment = list.segments[i];
    const SegmentSubmit& run = submission.segments[i];
    Ring& ring = *queues_[segment.queue].ring;
    apply(segment.relocations, bytes_of(instance.words[i]), values);
    const auto room =
        ring.reserve(run.waits.size() * kWait_dw + packets::INDIRECT::kSize_dw + kRelease_dw);
    auto out = put_waits(room, run);
    out = put(out, packets::INDIRECT{reinterpret_cast<uint64_t>(instance.words[i].data()),
                                     static_cast<uint32_t>(instance.words[i].size())}
                       .encode());
    put(out, packets::RELEASE{run.signal_value}.encode());
    log_packets(segment.queue, instance.words[i]);
    log_packets(segment.queue, room);
    ring.publish(run.signal_value);
    instance.last[segment.queue] = run.signal_value;
  }
}

uint64_t CpuBackend::stalls() const {
  uint64_t n = kernargs_->stalls();
  for (const Queue& q : queues_) n += q.ring->stalls();
  return n;
}

BackendInfo backend_info() {
  BackendInfo info;
  info.vendor = "CPU";
  info.rank = 0;
  auto threads = [] { return static_cast<unsigned>(std::max(knobs().threads, 1)); };
  info.probe = [threads]() -> std::vector<ProbeResult> {
    const std::string& key = host_cpu_key();
    return {{"CPU:0", true, fmt::format("{}, {} threads", key.substr(0, key.find('#')), threads()),
             false}};
  };
  info.canonical = [](std::string_view suffix) -> std::string {
    if (suffix.empty() || suffix == "0") return "0";
    throw UsageError(
        fmt::format("[open_device] \"CPU:{}\": there is one CPU device, CPU:0", suffix));
  };
  info.open = [threads](std::string_view) {
    return std::make_unique<CpuBackend>(CpuConfig{.threads = threads()});
  };
  return info;
}

}  // namespace tiny::cpu
