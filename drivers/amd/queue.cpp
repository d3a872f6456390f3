// SPDX-License-Identifier: MIT
#include "drivers/amd/queue.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/log.h>

#include "runtime/spin.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace tiny::amd {
namespace {

constexpr uint64_t kWritePointer_B = 0, kReadPointer_B = 128;  // in the pointer page
constexpr uint64_t kEndOfPipe_B = 4096;                        // exactly, on gfx9 and later
constexpr uint64_t kDoorbellPage_B = 8192;                     // 1024 doorbells of 64 bits
constexpr uint32_t kPriority = 7;                              // normal, of 0..15

uint32_t* copy_words(uint32_t* out, std::span<const uint32_t> words) {
  if (words.empty()) return out;
  std::memcpy(out, words.data(), words.size_bytes());
  return out + words.size();
}

}  // namespace

HwQueue::HwQueue(std::shared_ptr<Memory> memory, const Gpu& gpu, Config config, Sleep sleep)
    : memory_(std::move(memory)), config_(std::move(config)) {
  const std::string of = " of the " + config_.name + " queue";
  ring_memory_ =
      OwnedRegion::of(memory_, MemoryKind::gtt_uncached, config_.ring_dw * 4, "ring" + of);
  pointers_ = OwnedRegion::of(memory_, MemoryKind::gtt_uncached, kPage_B, "pointers" + of);
  control_ = std::make_shared<QueueControl>();
  control_->region = OwnedRegion::of(memory_, MemoryKind::gtt_uncached, kPage_B, "signals" + of);
  std::memset(ring_memory_->host, 0, ring_memory_->size_B);
  std::memset(pointers_->host, 0, pointers_->size_B);
  std::memset(control_->region->host, 0, control_->region->size_B);
  event_ = {memory_->shared_kfd(), memory_->kfd().create_event(KFD_IOC_EVENT_SIGNAL, gpu.gpu_id)};
  const uint64_t words = control_->region->address;
  words_ = {words, words + kGate_B, words + kPost_B, words + kOrder_B};
  timeline_ = std::make_shared<SignalTimeline>(
      "AMD " + config_.name, control_->region->as<SignalLine>(),
      [this, control = control_, sleep = std::move(sleep)](uint64_t value, uint64_t timeout_ns) {
        control->sleepers.fetch_add(1);
        if (!control->closed.load()) sleep(*this, value, timeout_ns);
        control->sleepers.fetch_sub(1);
      });
  make_templates();
  ring_ = std::make_unique<Ring>(
      RingConfig{.memory = {ring_memory_->as<uint32_t>(), config_.ring_dw},
                 .timeline = timeline_,
                 .fill_padding =
                     [this](std::span<uint32_t> gap) {
                       if (config_.engine == Engine::compute)
                         pm4::fill_nops(gap);
                       else
                         std::fill(gap.begin(), gap.end(), 0u);  // single NOPs
                     },
                 .ring_doorbell = [this](uint64_t put_dw) { ring_doorbell(put_dw); },
                 .keep_free_dw = 8});
  create(gpu);
}

HwQueue::~HwQueue() {
  stop();
  timeline_->poison("the device was closed");
  control_->closed.store(true);  // seq_cst, as the pair in the sleep: one of the two sees the other
  while (control_->sleepers.load()) std::this_thread::yield();
  if (doorbell_page_) ::munmap(doorbell_page_, kDoorbellPage_B);
}

void HwQueue::create(const Gpu& gpu) {
  kfd_ioctl_create_queue_args args{};
  args.ring_base_address = ring_memory_->address;
  args.ring_size = static_cast<uint32_t>(ring_memory_->size_B);
  args.write_pointer_address = pointers_->address + kWritePointer_B;
  args.read_pointer_address = pointers_->address + kReadPointer_B;
  args.gpu_id = gpu.gpu_id;
  args.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
  args.queue_priority = kPriority;
  args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
  const std::string of = " of the " + config_.name + " queue";
  const SaveAreaSizes save = save_area_sizes(gpu.save_area);
  if (config_.engine == Engine::compute) {
    args.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE;
    end_of_pipe_ =
        OwnedRegion::of(memory_, MemoryKind::vram, kEndOfPipe_B, "end-of-pipe buffer" + of);
    save_area_ = OwnedRegion::of(memory_, MemoryKind::gtt, save.total_B, "save area" + of);
    args.eop_buffer_address = end_of_pipe_->address;
    args.eop_buffer_size = kEndOfPipe_B;
    args.ctx_save_restore_address = save_area_->address;
    args.ctx_save_restore_size = save.cwsr_B;
    args.ctl_stack_size = save.ctl_stack_B;
    auto* header = save_area_->as<kfd_context_save_area_header>();
    std::memset(static_cast<void*>(header), 0, sizeof *header);
    header->debug_offset = save.cwsr_B * gpu.save_area.num_xcc;
    header->debug_size = save.debug_B * gpu.save_area.num_xcc;
    header->err_payload_addr = control_->region->address + kPayload_B;
    header->err_event_id = config_.error_event;
  }
  const auto& s = gpu.save_area;
  memory_->kfd().create_queue(
      args, {fmt::format(
                "{}, {} CUs, cwsr_size {}, ctl_stack_size {}", gpu.generation->arch,
                gpu.compute_units, s.cwsr_size ? fmt::format("{:#x}", *s.cwsr_size) : "not given",
                s.ctl_stack_size ? fmt::format("{:#x}", *s.ctl_stack_size) : "not given")});
  queue_id_ = args.queue_id;
  running_ = true;
  doorbell_page_ = memory_->kfd().map_doorbells(args.doorbell_offset, kDoorbellPage_B);
  doorbell_ = reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(doorbell_page_) +
                                          args.doorbell_offset % kDoorbellPage_B);
  log_at(2, "amd/queue", "{}: queue {}, ring {:#x}, doorbell offset {:#x}", config_.name, queue_id_,
         ring_memory_->address, args.doorbell_offset);
}

void HwQueue::make_templates() {
  if (config_.engine == Engine::compute) {
    pm4::EVENT_WRITE flush;
    flush.event_type = pm4::VGT_EVENT_TYPE::CS_PARTIAL_FLUSH;
    flush.event_index = pm4::EVENT_INDEX::CS_PARTIAL_FLUSH;
    put(head_, flush);
    gcr_at_ =
        put(head_, acquire({.instructions = false, .l2 = true})) + pm4::ACQUIRE_MEM_dw::gli_inv;
    pm4_wait(wait_, 0, 0);
    value_at_ = put(tail_, release(words_.timeline, 0)) + pm4::RELEASE_MEM_dw::data;
    put(tail_, release_event(event_->mailbox, event_->id));
    return;
  }
  put(head_, sdma_invalidate());
  sdma_wait(wait_, 0, 0);
  put(tail_, sdma_write_back());
  value_at_ = put(tail_, sdma_fence(words_.timeline, 0)) + sdma::FENCE_dw::data;
  carry_at_ = tail_.size();
  // Behind the low half: at a carry the counter is too small for a moment, never too large.
  put(carry_, sdma_fence(words_.timeline + 4, 0));
  put(tail_, sdma_fence(event_->mailbox, event_->id));
  put(tail_, sdma::TRAP{.int_context = event_->id});
}

void HwQueue::ring_doorbell(uint64_t put_dw) noexcept {
  const uint64_t value = config_.engine == Engine::compute ? put_dw : put_dw * 4;
  std::atomic_ref(*pointers_->as<uint64_t>(kWritePointer_B))
      .store(value, std::memory_order_release);
  store_fence();
  std::atomic_ref(*doorbell_).store(value, std::memory_order_release);
}

size_t HwQueue::size_dw(const RingSubmit& s) const {
  size_t polls = 0;
  for (const auto& [address, value] : s.waits) polls += value >> 32 ? 2 : 1;
  size_t body_dw = s.words.size();
  if (s.indirect && config_.engine == Engine::compute) body_dw = pm4::INDIRECT_BUFFER::kSize_dw;
  if (config_.engine == Engine::copy) {
    polls += (s.value - 1) >> 32 ? 2 : 1;
    if (s.indirect) body_dw = sdma::INDIRECT::kSize_dw + 7;
    if (carries(s)) body_dw += carry_.size();
  }
  return polls * wait_.size() + head_.size() + s.setup.size() + body_dw + tail_.size();
}

uint32_t* HwQueue::put_wait(uint32_t* out, uint64_t address, uint64_t value) const {
  const bool compute = config_.engine == Engine::compute;
  const size_t address_at =
      compute ? pm4::WAIT_REG_MEM_dw::mem_poll_addr : sdma::POLL_REGMEM_dw::addr;
  const size_t value_at = compute ? pm4::WAIT_REG_MEM_dw::reference : sdma::POLL_REGMEM_dw::value;
  auto poll = [&](uint64_t at, uint32_t reference) {
    uint32_t* const end = copy_words(out, wait_);
    std::memcpy(out + address_at, &at, 8);
    out[value_at] = reference;
    out = end;
  };
  if (value >> 32) poll(address + 4, static_cast<uint32_t>(value >> 32));
  poll(address, static_cast<uint32_t>(value));
  return out;
}

uint32_t* HwQueue::put_waits(uint32_t* out, const RingSubmit& s) const {
  for (const auto& [address, value] : s.waits) out = put_wait(out, address, value);
  // A copy may read what the one before wrote: the engine overlaps copies.
  if (config_.engine == Engine::copy) out = put_wait(out, words_.timeline, s.value - 1);
  return out;
}

uint32_t* HwQueue::put_head(uint32_t* out, const RingSubmit& s) const {
  uint32_t* const end = copy_words(out, head_);
  if (s.new_code) out[gcr_at_] |= 1;  // gli_inv: all
  return copy_words(end, s.setup);
}

uint32_t* HwQueue::put_body(uint32_t* out, uint64_t position_dw, const RingSubmit& s,
                            const PatchValues& values) const {
  if (!s.indirect) {
    uint32_t* const end = copy_words(out, s.words);
    apply_patches(s.patches, out, values);
    return end;
  }
  if (config_.engine == Engine::compute) {
    pm4::INDIRECT_BUFFER p;
    p.ib_base = s.indirect;
    p.ib_size = s.indirect_dw;
    p.valid = true;
    return copy_words(out, p.encode());
  }
  // It must end at a multiple of 8 dwords; seven dwords were added for that.
  const uint64_t before = (8 - (position_dw + sdma::INDIRECT::kSize_dw) % 8) % 8;
  out = std::fill_n(out, before, 0u);
  sdma::INDIRECT p;
  p.ib_base = s.indirect;
  p.ib_size = s.indirect_dw;
  out = copy_words(out, p.encode());
  return std::fill_n(out, 7 - before, 0u);
}

uint32_t* HwQueue::put_tail(uint32_t* out, const RingSubmit& s) const {
  const auto high = static_cast<uint32_t>(s.value >> 32);
  if (config_.engine == Engine::compute) {
    uint32_t* const end = copy_words(out, tail_);
    out[value_at_] = static_cast<uint32_t>(s.value);
    out[value_at_ + 1] = high;
    return end;
  }
  const std::span<const uint32_t> tail = tail_;
  uint32_t* end = copy_words(out, tail.first(carry_at_));
  out[value_at_] = static_cast<uint32_t>(s.value);
  if (carries(s)) {
    uint32_t* const after = copy_words(end, carry_);
    end[sdma::FENCE_dw::data] = high;
    end = after;
  }
  return copy_words(end, tail.subspan(carry_at_));
}

void HwQueue::submit(const RingSubmit& s, const PatchValues& values) {
  const size_t count_dw = size_dw(s);
  const auto room = ring_->reserve(count_dw);
  const uint64_t begin_dw = ring_->put_dw() - count_dw;
  uint32_t* out = put_waits(room.data(), s);
  out = put_head(out, s);
  out = put_body(out, begin_dw + static_cast<uint64_t>(out - room.data()), s, values);
  out = put_tail(out, s);
  CHECK_INVARIANT(out == room.data() + room.size(), "a submission has another size than counted");
  const uint64_t n = recent_count_.load(std::memory_order_relaxed);
  recent_[n % recent_.size()] = {s.value, begin_dw, begin_dw + count_dw, s.list, s.segment};
  recent_count_.store(n + 1, std::memory_order_release);
  if (log_enabled(5, "amd/submit")) log(s, room);
  ring_->publish(s.value);
}

void HwQueue::log(const RingSubmit& s, std::span<const uint32_t> words) const {
  auto dump = [&](std::span<const uint32_t> w) {
    return config_.engine == Engine::compute ? pm4::dump(w) : sdma::dump(w);
  };
  std::string text = fmt::format("{} queue, value {}\n{}", config_.name, s.value, dump(words));
  if (s.indirect)
    text += fmt::format("at {:#x}:\n{}", s.indirect,
                        dump({reinterpret_cast<const uint32_t*>(s.indirect), s.indirect_dw}));
  log_line("amd/submit", text);
}

void HwQueue::stop() noexcept {
  if (running_.exchange(false)) memory_->kfd().destroy_queue(queue_id_);
}

uint64_t HwQueue::exceptions() const {
  return std::atomic_ref(*control_->region->as<uint64_t>(kPayload_B))
      .load(std::memory_order_acquire);
}

uint64_t HwQueue::read_pointer_dw() const {
  const uint64_t value =
      std::atomic_ref(*pointers_->as<uint64_t>(kReadPointer_B)).load(std::memory_order_acquire);
  return config_.engine == Engine::compute ? value : value / 4;
}

std::string HwQueue::report() const {
  const uint64_t done = timeline_->value(), count = recent_count_.load(std::memory_order_acquire);
  const uint64_t read_dw = read_pointer_dw();
  const Recent* failed = nullptr;
  for (uint64_t i = count; i > 0 && count - i < recent_.size(); --i)
    if (const Recent& r = recent_[(i - 1) % recent_.size()]; r.value > done) failed = &r;
  if (!failed) return fmt::format("{} queue: idle, {} submissions done\n", config_.name, done);
  std::string out =
      fmt::format("{} queue: submission {} of {} did not finish; read pointer {:#x}", config_.name,
                  failed->value, ring_->put_dw() ? done + 1 : done, read_dw);
  std::vector<std::string> kernels;
  if (failed->list)
    for (const auto& code : failed->list->code)
      kernels.push_back(static_cast<const KernelCode&>(*code).name);
  if (kernels.size() == 1) out += "\n  kernel " + kernels[0];
  if (kernels.size() > 1) {
    out += fmt::format("\n  one of {} kernels:", kernels.size());
    for (size_t i = 0; i < std::min<size_t>(kernels.size(), 16); ++i) out += " " + kernels[i];
  }
  const size_t mask = config_.ring_dw - 1;
  const std::span<const uint32_t> ring(ring_memory_->as<uint32_t>(), config_.ring_dw);
  const auto words = ring.subspan(failed->begin_dw & mask, failed->end_dw - failed->begin_dw);
  constexpr size_t kLines = 48;
  std::string text = config_.engine == Engine::compute ? pm4::dump(words) : sdma::dump(words);
  size_t at = 0, lines = 0;
  while (at < text.size() && lines < kLines) at = text.find('\n', at) + 1, ++lines;
  out += fmt::format("\n  packets from {:#x} on:\n{}", failed->begin_dw, text.substr(0, at));
  if (at < text.size()) out += "  …\n";
  return out;
}

}  // namespace tiny::amd
