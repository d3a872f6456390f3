// SPDX-License-Identifier: MIT
#include "drivers/amd/backend.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>

#include "drivers/amd/code_object.h"
#include "drivers/amd/copy_shader.h"
#include "drivers/amd/registers.h"
#include "drivers/amd/scratch.h"
#include "drivers/amd/target.h"
#include "runtime/spin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tiny::amd {
namespace {

constexpr size_t kComputeRing_dw = 1 << 17, kCopyRing_dw = 1 << 14;
constexpr size_t kKernargs_B = 2 << 20;
constexpr uint64_t kSelfTest_ns = 2'000'000'000;
/// Of one indirect buffer; the field has 20 bits.
constexpr size_t kMaxIndirect_dw = (1 << 20) - 8;

Region& region_of(const Block& block) { return *reinterpret_cast<Region*>(block.handle); }

}  // namespace

AmdOptions parse_options(std::string_view text) {
  AmdOptions out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (word == "nosdma") {
      out.copy_engine = false;
      continue;
    }
    constexpr std::string_view kHang = "hang=";
    uint32_t seconds = 0;
    const auto value = word.starts_with(kHang) ? word.substr(kHang.size()) : std::string_view();
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (value.empty() || error != std::errc() || end != value.data() + value.size() || !seconds)
      throw UsageError(
          fmt::format("[env] TINY_AMD: \"{}\": expected nosdma or hang=SECONDS", word));
    out.hang_ns = uint64_t{seconds} * 1'000'000'000;
  }
  return out;
}

AmdBackend::AmdBackend(const Gpu& gpu, const AmdOptions& options)
    : gpu_(gpu),
      target_(amd_target(*gpu.generation, gpu.compute_units, gpu.l2_B)),
      kfd_(Kfd::open()) {
  const int render_fd = kfd_->bind_gpu(gpu_.gpu_id, gpu_.render_minor);
  kfd_->enable_runtime();
  memory_ = std::make_shared<Memory>(kfd_, gpu_.gpu_id, render_fd, gpu_.large_bar);
  small_blocks_ = std::make_unique<SmallBlocks>(memory_);
  monitor_ = std::make_unique<Monitor>(kfd_, gpu_.gpu_id, options.hang_ns);
  relay_ = std::make_unique<Relay>([this](const std::string& what) { monitor_->die(what); });
  monitor_->describe = [this](uint64_t address) { return describe(address); };
  monitor_->waits_for_others = [this] { return relay_->holds_a_queue(); };
  monitor_->on_death = [this] { relay_->abandon(); };
  clock_ = std::make_unique<ClockMap>(sample_clock(), kfd_->clock_Hz(render_fd));
  try {
    open_queues(options);
  } catch (const DeviceFault& fault) {
    throw SystemError(
        fmt::format("the first copies on {} failed: {}", gpu_.description(), fault.what()));
  }
  log_at(2, "amd", "{}: {}", gpu_.description(),
         uses_copy_engine() ? "copies by SDMA" : "copies by kernel: " + no_copy_engine_);
}

AmdBackend::~AmdBackend() {
  for (const auto& queue : queues_) monitor_->forget(queue.get());
  relay_->abandon();  // it holds queues
  queues_.clear();    // before the memory they use
}

void AmdBackend::open_queues(const AmdOptions& options) {
  no_copy_engine_ = options.copy_engine ? "" : "TINY_AMD=nosdma";
  if (no_copy_engine_.empty() && gpu_.sdma_engines == 0) no_copy_engine_ = "the node has no SDMA";
  load_copy_kernel();
  if (no_copy_engine_.empty()) try {
      staging_ =
          std::make_unique<Staging>(memory_, gpu_, Engine::copy, *monitor_, copy_kernel_, Words{});
      no_copy_engine_ = staging_->self_test(kSelfTest_ns);
    } catch (const SystemError& e) {
      no_copy_engine_ = e.what();
    }
  if (!no_copy_engine_.empty()) {
    staging_.reset();
    staging_ = std::make_unique<Staging>(memory_, gpu_, Engine::compute, *monitor_, copy_kernel_,
                                         initial_registers());
  }
  queues_.push_back(make_queue(Engine::compute, "compute"));
  if (no_copy_engine_.empty()) queues_.push_back(make_queue(Engine::copy, "copy"));
  setup_ = initial_registers();
  kernarg_memory_ =
      OwnedRegion::of(memory_, MemoryKind::gtt_uncached, kKernargs_B, "kernel arguments");
  kernargs_ = std::make_unique<KernargArena>(std::span(kernarg_memory_->as<uint8_t>(), kKernargs_B),
                                             kernarg_memory_->address, queues_[0]->timeline());
  context_.generation = gpu_.generation;
  context_.copy_engine = uses_copy_engine();
  context_.copy_kernel = copy_kernel_;
  for (size_t q = 0; q < queues_.size(); ++q) {
    context_.queues[q] = queues_[q]->words();
    context_.timelines[q] = queues_[q]->timeline().get();
  }
}

std::unique_ptr<HwQueue> AmdBackend::make_queue(Engine engine, std::string name) {
  auto queue = std::make_unique<HwQueue>(
      memory_, gpu_,
      HwQueue::Config{.engine = engine,
                      .name = std::move(name),
                      .ring_dw = engine == Engine::compute ? kComputeRing_dw : kCopyRing_dw,
                      .error_event = monitor_->error_event()},
      [this](HwQueue& q, uint64_t value, uint64_t timeout_ns) {
        monitor_->sleep(q, value, timeout_ns);
      });
  monitor_->watch(queue.get());
  return queue;
}

/// In host memory, so that it is there before anything can copy.
void AmdBackend::load_copy_kernel() {
  const auto words = copy_shader_words(*gpu_.generation);
  copy_kernel_ = std::make_shared<KernelCode>();
  copy_kernel_->name = "copy";
  copy_kernel_->region = OwnedRegion::of(memory_, MemoryKind::gtt_uncached, kPage_B, "copy kernel");
  std::memcpy(copy_kernel_->region->host, words.data(), words.size_bytes());
  copy_kernel_->registers = copy_shader_registers(*gpu_.generation, copy_kernel_->region->address);
}

std::string AmdBackend::description() const {
  return gpu_.description() + (uses_copy_engine() ? "" : ", copies by kernel");
}

std::string AmdBackend::describe(uint64_t address) const {
  std::string own = memory_->describe(address);
  if (!own.empty()) return own;
  return describe_address ? describe_address(address) : "unknown";
}

// ---- memory ----------------------------------------------------------------------------------

std::optional<Block> AmdBackend::allocate(size_t size_B, const AllocOptions& options) {
  const MemoryKind kind = options.uncached       ? MemoryKind::gtt_uncached
                          : options.host_visible ? MemoryKind::gtt
                                                 : MemoryKind::vram;
  const auto region = size_B <= SmallBlocks::kLargest_B ? small_blocks_->allocate(kind, size_B)
                                                        : memory_->allocate(kind, size_B);
  if (!region) return std::nullopt;
  Block block;
  block.address = region->address;
  // VRAM stays out of sight even where it is mapped: reading it word by word takes for ever.
  block.host = kind == MemoryKind::vram ? nullptr : region->host;
  block.size_B = size_B;
  block.handle = reinterpret_cast<uint64_t>(new Region(*region));
  return block;
}

std::optional<Block> AmdBackend::import_host(void* pointer, size_t size_B) {
  if (!memory_->pin(pointer, size_B)) return std::nullopt;
  return Block{.address = reinterpret_cast<uint64_t>(pointer), .host = pointer, .size_B = size_B};
}

void AmdBackend::release(const Block& block) noexcept {
  if (block.imported) return memory_->unpin(block.host, block.size_B);
  Region& region = region_of(block);
  if (!small_blocks_->release(region)) memory_->release(region);
  delete &region;
}

void AmdBackend::read(const Block& block, size_t offset_B, void* dst, size_t size_B) {
  if (block.host)
    std::memcpy(dst, static_cast<const uint8_t*>(block.host) + offset_B, size_B);
  else
    staging_->read(block.address + offset_B, dst, size_B);
}

void AmdBackend::write(const Block& block, size_t offset_B, const void* src, size_t size_B) {
  if (block.host)
    std::memcpy(static_cast<uint8_t*>(block.host) + offset_B, src, size_B);
  else
    write_region(region_of(block), offset_B, src, size_B);
}

void AmdBackend::write_region(const Region& region, uint64_t offset_B, const void* src,
                              size_t size_B) {
  if (!region.host) return staging_->write(region.address + offset_B, src, size_B);
  std::memcpy(region.as<uint8_t>(offset_B), src, size_B);
  store_fence();
  memory_->flush_host_stores();
}

// ---- programs --------------------------------------------------------------------------------

std::shared_ptr<ProgramCode> AmdBackend::load(const Binary& binary) {
  const CodeObject object(binary, *gpu_.generation);
  auto code = std::make_shared<KernelCode>();
  code->name = binary.name;
  code->region =
      OwnedRegion::of(memory_, MemoryKind::vram, object.size_B(), "code of kernel " + binary.name);
  const std::vector<uint8_t> image = object.link(code->region->address);
  code->registers = object.registers(image, code->region->address);
  require_scratch(code->registers.scratch_B);
  write_region(*code->region, 0, image.data(), image.size());
  code_epoch_.fetch_add(1);
  return code;
}

void AmdBackend::require_scratch(uint32_t thread_B) {
  if (thread_B == 0) return;
  std::lock_guard lock(scratch_mutex_);
  if (thread_B <= wanted_scratch_.plan.thread_B) return;
  const ScratchPlan plan = plan_scratch(
      {gpu_.generation, gpu_.compute_units, gpu_.shader_engines, gpu_.scratch_slots_per_cu},
      thread_B);
  OwnedRegion region = OwnedRegion::of(memory_, MemoryKind::vram, plan.total_B, "scratch memory");
  // What is in force goes when the queue is past it; what never was, at once.
  if (wanted_scratch_.region->address && wanted_scratch_.region->address == scratch_address_)
    old_scratch_.emplace_back(0, std::move(wanted_scratch_.region));
  wanted_scratch_ = {std::move(region), plan};
  scratch_epoch_.fetch_add(1);
}

void AmdBackend::adopt_scratch(uint64_t value) {
  if (scratch_epoch_.load() == seen_scratch_epoch_) return;
  std::lock_guard lock(scratch_mutex_);
  Timeline& timeline = *queues_[0]->timeline();
  std::erase_if(old_scratch_,
                [&](const auto& old) { return old.first && timeline.retired(old.first); });
  seen_scratch_epoch_ = scratch_epoch_.load();
  const Region& region = *wanted_scratch_.region;
  for (auto& [until, old] : old_scratch_)
    if (until == 0) until = value;  // this submission is the first that does not use it
  scratch_address_ = region.address;
  // SWIZZLE_ENABLE is bit 31 of a buffer descriptor's second word.
  scratch_values_ = {region.address, region.address | uint64_t{1} << 63};
  set_sh_reg(setup_, regs::COMPUTE_TMPRING_SIZE, {wanted_scratch_.plan.tmpring});
  if (gpu_.generation->architected_scratch)
    set_sh_reg(
        setup_, regs::COMPUTE_DISPATCH_SCRATCH_BASE_LO,
        {static_cast<uint32_t>(region.address >> 8), static_cast<uint32_t>(region.address >> 40)});
}

// ---- lists -----------------------------------------------------------------------------------

std::unique_ptr<EncodedList> AmdBackend::encode(const ListPlan& plan) {
  auto list = encode_list(plan, context_);
  bool in_ring = !plan.indirect && kernargs_->fits(list->kernarg.size());
  // Waits vary from submit to submit: leave half of what fits for them.
  for (const AmdSegment& s : list->segments)
    in_ring = in_ring && queues_[s.queue]->fits(2 * s.words.size());
  if (!in_ring) make_instances(*list);
  return list;
}

void AmdBackend::make_instances(AmdList& list) {
  constexpr size_t kInstances = 2;
  constexpr uint64_t kAlign_B = 256;
  std::vector<std::vector<Patch>> kernarg_patches(list.segments.size());
  uint64_t size_B = align_up(list.kernarg.size(), kAlign_B);
  for (size_t s = 0; s < list.segments.size(); ++s) {
    AmdSegment& segment = list.segments[s];
    const size_t real_dw = segment.words.size(), used_dw = align_up(real_dw, 8);
    segment.words.resize(
        used_dw);  // both engines fetch by eights; zeros are NOPs of the copy engine
    if (segment.queue == 0) pm4::fill_nops(std::span(segment.words).subspan(real_dw));
    if (used_dw > kMaxIndirect_dw)
      throw UsageError(fmt::format("[submit] a list of {} dwords; one indirect buffer has {}",
                                   used_dw, kMaxIndirect_dw));
    size_B += align_up(used_dw * 4, kAlign_B);
    const auto middle =
        std::stable_partition(segment.patches.begin(), segment.patches.end(),
                              [](const Patch& p) { return p.kind != PatchKind::kernarg; });
    kernarg_patches[s].assign(middle, segment.patches.end());
    segment.patches.erase(middle, segment.patches.end());
  }
  for (size_t i = 0; i < kInstances; ++i) {
    AmdList::Instance instance;
    instance.region = OwnedRegion::of(memory_, MemoryKind::gtt_uncached,
                                      std::max<uint64_t>(size_B, 1), "graph packets");
    instance.kernarg = instance.region->as<uint8_t>();
    std::copy(list.kernarg.begin(), list.kernarg.end(), instance.kernarg);
    uint64_t at_B = align_up(list.kernarg.size(), kAlign_B);
    PatchValues values{};
    values[static_cast<size_t>(PatchKind::kernarg)] = &instance.region->address;
    for (size_t s = 0; s < list.segments.size(); ++s) {
      const auto& words = list.segments[s].words;
      auto* to = instance.region->as<uint32_t>(at_B);
      std::copy(words.begin(), words.end(), to);
      apply_patches(kernarg_patches[s], to, values);
      instance.words.push_back(to);
      instance.addresses.push_back(instance.region->address + at_B);
      at_B += align_up(words.size() * 4, kAlign_B);
    }
    list.instances.push_back(std::move(instance));
  }
  list.kernarg = {};
}

uint64_t* AmdBackend::tickets(std::vector<uint64_t>& values, const std::vector<Fence>& fences,
                              size_t queue, bool waits) {
  values.clear();
  for (const Fence& fence : fences)
    values.push_back(waits ? relay_->wait(*queues_[queue], queue, fence)
                           : relay_->signal(*queues_[queue], queue, fence));
  return values.data();
}

/// A counter that passes a multiple of 2^32 would undo waits for its low half that are still to
/// come: then, once in 4 billion submissions, everything runs dry first.
void AmdBackend::drain_before_carry(const Submission& submission, const AmdList& list) {
  bool carries = false, restart = false;
  for (size_t i = 0; i < list.segments.size(); ++i) {
    const AmdSegment& segment = list.segments[i];
    carries = carries || static_cast<uint32_t>(submission.segments[i].signal_value) == 0;
    const bool foreign = !segment.foreign_waits.empty() || !segment.foreign_signals.empty() ||
                         !submission.segments[i].waits.empty();
    restart = restart || (foreign && relay_->wants_restart(segment.queue));
  }
  if (!carries && !restart) return;
  std::array<uint64_t, kMaxQueues> first{};
  for (size_t i = 0; i < list.segments.size(); ++i)
    if (uint64_t& value = first[list.segments[i].queue]; value == 0)
      value = submission.segments[i].signal_value;
  for (size_t q = 0; q < queues_.size(); ++q) try {
      if (!first[q]) continue;
      queues_[q]->timeline()->wait(first[q] - 1);
      if (restart) relay_->restart(*queues_[q], q);
    } catch (const DeviceFault&) {  // a dead queue waits for nothing
    }
}

void AmdBackend::submit(EncodedList& encoded, const Submission& submission) {
  auto& list = static_cast<AmdList&>(encoded);
  drain_before_carry(submission, list);
  PatchValues values{};
  gather_values(list, submission, values);
  values[static_cast<size_t>(PatchKind::scratch)] = scratch_values_.data();
  AmdList::Instance* instance = nullptr;
  uint64_t kernarg_address = 0;
  if (!list.instances.empty()) {
    instance = &list.instances[list.next_instance];
    list.next_instance = (list.next_instance + 1) % list.instances.size();
    for (size_t q = 0; q < queues_.size(); ++q) try {
        if (instance->last[q]) queues_[q]->timeline()->wait(instance->last[q]);
      } catch (const DeviceFault&) {  // a dead queue reads nothing
      }
    apply_patches(list.kernarg_patches, instance->kernarg, values);
  } else if (!list.kernarg.empty()) {
    const KernargArena::Slot slot = kernargs_->allocate(list.kernarg.size());
    std::copy(list.kernarg.begin(), list.kernarg.end(), slot.host.data());
    apply_patches(list.kernarg_patches, slot.host.data(), values);
    kernarg_address = slot.address;
  }
  values[static_cast<size_t>(PatchKind::kernarg)] = &kernarg_address;
  for (size_t i = 0; i < list.segments.size(); ++i) {
    RingSubmit s;
    if (instance) {
      s.indirect = instance->addresses[i];
      s.indirect_dw = static_cast<uint32_t>(list.segments[i].words.size());
      instance->last[list.segments[i].queue] = submission.segments[i].signal_value;
    } else {
      s.words = list.segments[i].words;
      s.patches = list.segments[i].patches;
    }
    submit_segment(list, i, submission.segments[i], s, values);
  }
}

void AmdBackend::submit_segment(AmdList& list, size_t index, const SegmentSubmit& run,
                                RingSubmit& s, PatchValues& values) {
  const AmdSegment& segment = list.segments[index];
  HwQueue& queue = *queues_[segment.queue];
  waits_.clear();
  for (const auto& [timeline, value] : run.waits) {
    const auto own = std::find(context_.timelines.begin(), context_.timelines.end(), timeline);
    if (own != context_.timelines.end())
      waits_.emplace_back(
          context_.queues[static_cast<size_t>(own - context_.timelines.begin())].timeline, value);
    else
      waits_.emplace_back(
          queue.words().gate,
          relay_->wait(queue, segment.queue, Fence(timeline->shared_from_this(), value)));
  }
  if (!segment.foreign_waits.empty())
    values[static_cast<size_t>(PatchKind::gate)] =
        tickets(list.gate_values, segment.foreign_waits, segment.queue, true);
  if (!segment.foreign_signals.empty())
    values[static_cast<size_t>(PatchKind::post)] =
        tickets(list.post_values, segment.foreign_signals, segment.queue, false);
  if (segment.queue == 0) {
    adopt_scratch(run.signal_value);
    const uint64_t epoch = code_epoch_.load();
    s.new_code = epoch != seen_code_epoch_;
    seen_code_epoch_ = epoch;
    s.setup = setup_;
  }
  if (s.indirect) apply_patches(segment.patches, reinterpret_cast<void*>(s.indirect), values);
  s.waits = waits_;
  s.value = run.signal_value;
  s.list = &list;
  s.segment = static_cast<uint32_t>(index);
  queue.submit(s, values);
  if (segment.queue == 0) {
    setup_.clear();
    kernargs_->retire_at(run.signal_value);
  }
}

// ---- clock -----------------------------------------------------------------------------------

ClockSample AmdBackend::sample_clock() const {
  const uint64_t before_ns = steady_ns();
  const uint64_t ticks = kfd_->clocks(gpu_.gpu_id).gpu_clock_counter;
  return {ticks, before_ns + (steady_ns() - before_ns) / 2};
}

uint64_t AmdBackend::to_host_ns(uint64_t device_clock) const {
  if (clock_->wants_sample(steady_ns())) clock_->add(sample_clock());
  return clock_->to_host_ns(device_clock);
}

// ---- registry --------------------------------------------------------------------------------

namespace {

std::vector<ProbeResult> probe() {
  const Topology topology = read_topology();
  std::vector<ProbeResult> out;
  if (!topology.absent.empty()) return {{"AMD", false, topology.absent, false}};
  for (size_t i = 0; i < topology.gpus.size(); ++i)
    out.push_back({fmt::format("AMD:{}", i), true, topology.gpus[i].description(), false});
  for (const SkippedNode& s : topology.skipped)
    out.push_back({"AMD", false, fmt::format("node {}: {}", s.node, s.reason), false});
  return out;
}

std::string canonical(std::string_view suffix) {
  if (suffix.empty()) return "0";
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), index);
  if (error != std::errc() || end != suffix.data() + suffix.size())
    throw UsageError(fmt::format("[open_device] \"AMD:{}\": expected a number, as AMD:0", suffix));
  return std::to_string(index);
}

std::unique_ptr<Backend> open(std::string_view suffix) {
  const AmdOptions options = parse_options(knobs().amd);
  const Topology topology = read_topology();
  uint32_t index = 0;
  std::from_chars(suffix.data(), suffix.data() + suffix.size(), index);
  if (index < topology.gpus.size())
    return std::make_unique<AmdBackend>(topology.gpus[index], options);
  std::string why = topology.absent.empty()
                        ? fmt::format("{} GPUs can be used", topology.gpus.size())
                        : topology.absent;
  for (const SkippedNode& s : topology.skipped)
    why += fmt::format("; node {}: {}", s.node, s.reason);
  throw SystemError(fmt::format("[open_device] AMD:{} is absent: {}", index, why));
}

}  // namespace

BackendInfo backend_info() {
  BackendInfo info;
  info.vendor = "AMD";
  info.rank = 20;
  info.probe = probe;
  info.canonical = canonical;
  info.open = open;
  return info;
}

}  // namespace tiny::amd
