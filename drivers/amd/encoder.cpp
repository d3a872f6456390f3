// SPDX-License-Identifier: MIT
#include "drivers/amd/encoder.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/amd/copy_shader.h"
#include "drivers/amd/registers.h"
#include "drivers/amd/stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny::amd {
namespace {

constexpr uint32_t kMaxGroupThreads = 1024;

/// Code object 5's hidden arguments, from the first 8-aligned byte behind the explicit ones; those
/// not here stay zero.
struct HiddenOffset {
  static constexpr uint32_t block_count = 0, group_size = 12, grid_dims = 64;
};

/// The part common to both engines: memory, timelines, order.
class SegmentEncoder {
 public:
  SegmentEncoder(AmdList& list, AmdSegment& segment, const EncodeContext& context)
      : list_(list),
        segment_(segment),
        context_(context),
        queue_(context.queues[segment.queue]),
        words_(segment.words) {}

 protected:
  void patch(std::vector<Patch>& patches, size_t offset_B, PatchKind kind, uint32_t index,
             PatchForm form = PatchForm::wide, int64_t addend = 0) {
    patches.push_back({static_cast<uint32_t>(offset_B), index, addend, kind, form});
  }
  void patch_dw(size_t at_dw, PatchKind kind, size_t index, PatchForm form = PatchForm::wide,
                int64_t addend = 0) {
    patch(segment_.patches, at_dw * 4, kind, static_cast<uint32_t>(index), form, addend);
  }
  /// 64 bits at a dword: the address now, or a patch.
  void put_address(size_t at_dw, const MemoryRef& ref, uint64_t offset_B) {
    if (ref.is_symbol())
      return patch_dw(at_dw, PatchKind::argument, ref.slot, PatchForm::wide,
                      static_cast<int64_t>(ref.offset_B + offset_B));
    const uint64_t address = ref.buffer.device_address() + offset_B;
    std::memcpy(&words_[at_dw], &address, sizeof address);
  }
  /// The address of a timeline of this device; 0 for a foreign one.
  uint64_t own_timeline(const Fence& fence) const {
    for (size_t q = 0; q < context_.timelines.size(); ++q)
      if (fence.timeline().get() == context_.timelines[q]) return context_.queues[q].timeline;
    return 0;
  }
  /// Tickets stay below 2^32 (Relay).
  void patch_ticket(size_t at_dw, PatchKind kind, size_t index) {
    patch_dw(at_dw, kind, index, PatchForm::low);
  }

  AmdList& list_;
  AmdSegment& segment_;
  const EncodeContext& context_;
  const QueueWords& queue_;
  Words& words_;
};

class ComputeEncoder : public SegmentEncoder {
 public:
  using SegmentEncoder::SegmentEncoder;

  void emit(const WaitCommand& c) {
    flush();
    if (const uint64_t address = own_timeline(c.fence)) {
      pm4_wait(words_, address, c.fence.value());
    } else {
      patch_ticket(pm4_wait(words_, queue_.gate, 0), PatchKind::gate,
                   segment_.foreign_waits.size());
      segment_.foreign_waits.push_back(c.fence);
    }
    put(words_, acquire({.instructions = false, .l2 = true}));
  }

  void emit(const SignalCommand& c) {
    const size_t at = put(words_, release(queue_.post, 0));
    patch_dw(at + pm4::RELEASE_MEM_dw::data, PatchKind::post, segment_.foreign_signals.size());
    segment_.foreign_signals.push_back(c.fence);
  }

  void emit(const BarrierCommand&) {
    if (!running_ && !stamped_) return;
    flush();
    put(words_, acquire({}));
  }

  void emit(const TimestampCommand& c) {
    pm4::RELEASE_MEM p = order(0, 0);
    p.data_sel = pm4::DATA_SEL::SEND_GPU_CLOCK_COUNTER;
    const size_t at = put(words_, p);
    put_address(at + pm4::RELEASE_MEM_dw::address, c.dst, 0);
    stamped_ = true;
  }

  /// By the copy kernel.
  void emit(const CopyCommand& c) {
    if (c.size_B == 0) return;
    const CopyKernargs kernargs{0, 0, c.size_B};
    std::vector<uint8_t> bytes(sizeof kernargs);
    std::memcpy(bytes.data(), &kernargs, sizeof kernargs);
    const size_t block_B = add_block(bytes, bytes.size());
    put_kernarg_address(block_B + offsetof(CopyKernargs, dst), c.dst);
    put_kernarg_address(block_B + offsetof(CopyKernargs, src), c.src);
    constexpr uint64_t kGroup_B = uint64_t{kCopyGroup} * kCopyThread_B;
    const uint64_t groups = (c.size_B + kGroup_B - 1) / kGroup_B;
    set_kernel(context_.copy_kernel, {kCopyGroup, 1, 1}, block_B);
    dispatch({static_cast<uint32_t>(groups), 1, 1}, context_.copy_kernel->registers);
  }

  void emit(const DispatchCommand& d) {
    const auto code = std::static_pointer_cast<KernelCode>(d.program->code());
    check_group(d, *code);
    std::vector<uint8_t> bytes = d.kernarg;
    bytes.resize(std::max<size_t>(bytes.size(), code->registers.kernarg_B));
    const size_t block_B = add_block(bytes, std::max<size_t>(bytes.size(), 1));
    for (const auto& m : d.memory) put_kernarg_address(block_B + m.offset_B, m.ref);
    for (const auto& v : d.variables)
      patch(list_.kernarg_patches, block_B + v.offset_B, PatchKind::variable, v.slot);
    std::array<uint32_t, 3> groups{1, 1, 1};
    const bool constant = d.groups_constant();
    if (constant) groups = d.evaluate_groups({});
    const size_t first_launch = list_.launches.size() * 3;
    if (!constant) list_.launches.push_back({d.groups, d.launch_variables});
    add_hidden(d, *code, block_B, groups, constant ? nullptr : &first_launch);
    set_kernel(code, d.group_size, block_B);
    const size_t at = dispatch(groups, code->registers);
    for (size_t i = 0; i < 3 && !constant; ++i)
      patch_dw(at + pm4::DISPATCH_DIRECT_dw::dim_x + i, PatchKind::launch, first_launch + i,
               PatchForm::low);
  }

  /// The next submission waits for waves (HwQueue's head), so clocks must have landed.
  void finish() {
    if (stamped_) flush();
  }

 private:
  /// Waits for what runs: waves, and clocks stored at the end of the pipe, behind the waves.
  void flush() {
    if (running_ && !stamped_) {
      pm4::EVENT_WRITE p;
      p.event_type = pm4::VGT_EVENT_TYPE::CS_PARTIAL_FLUSH;
      p.event_index = pm4::EVENT_INDEX::CS_PARTIAL_FLUSH;
      put(words_, p);
    }
    if (stamped_) {
      // The word is zero before, and this queue alone writes it: clear it, then count.
      if (order_ == 0) put_order(0);
      put_order(++order_);
    }
    running_ = stamped_ = false;
  }

  void put_order(uint32_t value) {
    put(words_, order(queue_.order, value));
    pm4::WAIT_REG_MEM p;
    p.function = pm4::FUNCTION::EQUAL;
    p.mem_space = pm4::MEM_SPACE::MEMORY;
    p.mem_poll_addr = queue_.order;
    p.reference = value;
    p.mask = ~0u;
    p.poll_interval = 4;
    put(words_, p);
  }

  static void check_group(const DispatchCommand& d, const KernelCode& code) {
    uint64_t threads = 1;
    for (const uint32_t n : d.group_size) {
      if (n == 0 || n > kMaxGroupThreads)
        throw UsageError(fmt::format("[dispatch] {}: a group of {} x {} x {} threads", code.name,
                                     d.group_size[0], d.group_size[1], d.group_size[2]));
      threads *= n;
    }
    if (threads > kMaxGroupThreads)
      throw UsageError(fmt::format("[dispatch] {}: a group of {} threads, at most {}", code.name,
                                   threads, kMaxGroupThreads));
  }

  /// Appends a kernarg block; returns its offset.
  size_t add_block(const std::vector<uint8_t>& bytes, size_t size_B) {
    auto& all = list_.kernarg;
    const size_t at = align_up(all.size(), kKernargAlign_B);
    all.resize(at + size_B);
    std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
    return at;
  }

  void put_kernarg_address(size_t offset_B, const MemoryRef& ref) {
    if (ref.is_symbol())
      return patch(list_.kernarg_patches, offset_B, PatchKind::argument, ref.slot, PatchForm::wide,
                   static_cast<int64_t>(ref.offset_B));
    const uint64_t address = ref.buffer.device_address();
    std::memcpy(list_.kernarg.data() + offset_B, &address, sizeof address);
  }

  /// What a kernel compiled elsewhere may ask about its launch; absent from ours.
  void add_hidden(const DispatchCommand& d, const KernelCode& code, size_t block_B,
                  const std::array<uint32_t, 3>& groups, const size_t* first_launch) {
    const size_t start = align_up(d.kernarg.size(), 8), end = code.registers.kernarg_B;
    auto store = [&](uint32_t offset_B, const auto& value) {
      if (start + offset_B + sizeof value <= end)
        std::memcpy(list_.kernarg.data() + block_B + start + offset_B, &value, sizeof value);
    };
    for (uint32_t i = 0; i < 3; ++i) {
      store(HiddenOffset::block_count + 4 * i, groups[i]);
      store(HiddenOffset::group_size + 2 * i, static_cast<uint16_t>(d.group_size[i]));
      if (first_launch && start + 4 * (i + 1) <= end)
        patch(list_.kernarg_patches, block_B + start + 4 * i, PatchKind::launch,
              static_cast<uint32_t>(*first_launch + i), PatchForm::low);
    }
    store(HiddenOffset::grid_dims, uint16_t{3});
  }

  /// Registers that differ from the dispatch before.
  void set_kernel(const std::shared_ptr<KernelCode>& code, const std::array<uint32_t, 3>& group,
                  size_t block_B) {
    using namespace regs;
    const KernelRegisters& r = code->registers;
    if (group != group_) set_sh_reg(words_, COMPUTE_NUM_THREAD_X, {group[0], group[1], group[2]});
    if (code.get() != kernel_) {
      set_sh_reg(words_, COMPUTE_PGM_LO,
                 {static_cast<uint32_t>(r.entry >> 8), static_cast<uint32_t>(r.entry >> 40)});
      set_sh_reg(words_, COMPUTE_PGM_RSRC1, {r.rsrc1, r.rsrc2});
      set_sh_reg(words_, COMPUTE_PGM_RSRC3, {r.rsrc3});
      list_.code.push_back(code);
      list_.scratch_B = std::max(list_.scratch_B, r.scratch_B);
    }
    group_ = group;
    kernel_ = code.get();
    set_user_data(r, block_B);
  }

  void set_user_data(const KernelRegisters& r, size_t block_B) {
    if (r.user.count() == 0) return;
    const size_t at = put(words_, pm4::SET_SH_REG{.reg_offset = regs::COMPUTE_USER_DATA_0});
    auto pair = [&](PatchKind kind, size_t index, int64_t addend) {
      patch_dw(words_.size(), kind, index, PatchForm::wide, addend);
      words_.insert(words_.end(), 2, 0);
    };
    if (r.user.private_segment_buffer) {
      pair(PatchKind::scratch, 1, 0);
      // Records unlimited; a swizzle of one dword a thread over a wave. Fields of the gfx10 buffer
      // descriptor as Mesa fills it for scratch: INDEX_STRIDE 22:21, ADD_TID_ENABLE 23,
      // RESOURCE_LEVEL 24, FORMAT 18:12 (32_FLOAT), OOB_SELECT 29:28 (raw).
      words_.push_back(~0u);
      words_.push_back(3u << 28 | 1u << 24 | 1u << 23 | (r.wave32 ? 2u : 3u) << 21 | 22u << 12);
    }
    if (r.user.kernarg_ptr) pair(PatchKind::kernarg, 0, static_cast<int64_t>(block_B));
    if (r.user.flat_scratch_init) pair(PatchKind::scratch, 0, 0);
    if (r.user.private_segment_size) words_.push_back(r.scratch_B);
    words_[at] = pm4::header(pm4::SET_SH_REG::kOpcode, 0, words_.size() - at);
  }

  size_t dispatch(const std::array<uint32_t, 3>& groups, const KernelRegisters& r) {
    pm4::DISPATCH_DIRECT p;
    p.dim_x = groups[0], p.dim_y = groups[1], p.dim_z = groups[2];
    p.dispatch_initiator = dispatch_initiator(r.wave32);
    running_ = true;
    return put(words_, p);
  }

  const KernelCode* kernel_ = nullptr;
  std::array<uint32_t, 3> group_{};
  bool running_ = false;  ///< waves may run that nothing waited for
  bool stamped_ = false;  ///< a clock may be on its way to memory
  uint32_t order_ = 0;
};

class CopyEncoder : public SegmentEncoder {
 public:
  using SegmentEncoder::SegmentEncoder;

  void emit(const WaitCommand& c) {
    if (const uint64_t address = own_timeline(c.fence)) {
      sdma_wait(words_, address, c.fence.value());
    } else {
      patch_ticket(sdma_wait(words_, queue_.gate, 0), PatchKind::gate,
                   segment_.foreign_waits.size());
      segment_.foreign_waits.push_back(c.fence);
    }
    put(words_, sdma_invalidate());
  }

  void emit(const SignalCommand& c) {
    put(words_, sdma_write_back());
    const size_t at = put(words_, sdma_fence(queue_.post, 0));
    patch_ticket(at + sdma::FENCE_dw::data, PatchKind::post, segment_.foreign_signals.size());
    segment_.foreign_signals.push_back(c.fence);
  }

  void emit(const BarrierCommand&) {
    if (copied_) flush();
  }

  void emit(const TimestampCommand& c) {
    if (copied_) flush();
    const size_t at = put(words_, sdma::TIMESTAMP_GET_GLOBAL{});
    put_address(at + sdma::TIMESTAMP_GET_GLOBAL_dw::write_addr, c.dst, 0);
    copied_ = true;
  }

  void emit(const CopyCommand& c) {
    for (uint64_t at_B = 0; at_B < c.size_B;) {
      const uint64_t piece_B = std::min(c.size_B - at_B, context_.generation->sdma_max_copy_B);
      const size_t at = put(words_, sdma::COPY_LINEAR{.count = static_cast<uint32_t>(piece_B - 1)});
      put_address(at + sdma::COPY_LINEAR_dw::src_addr, c.src, at_B);
      put_address(at + sdma::COPY_LINEAR_dw::dst_addr, c.dst, at_B);
      at_B += piece_B;
      copied_ = true;
    }
  }

  void emit(const DispatchCommand&) { CHECK_INVARIANT(false, "the copy engine runs no kernels"); }

  void finish() {}

 private:
  /// A fence is written when all before is done; the poll keeps what follows from starting.
  void flush() {
    if (order_ == 0) put_order(0);
    put_order(++order_);
    copied_ = false;
  }
  void put_order(uint32_t value) {
    put(words_, sdma_fence(queue_.order, value));
    put(words_, sdma_poll(sdma::FUNC::EQUAL, queue_.order, value));
  }

  bool copied_ = false;
  uint32_t order_ = 0;
};

template <class Encoder>
void encode_segment(const ListPlan& plan, const Segment& segment, Encoder encoder) {
  for (const uint32_t index : segment.commands)
    std::visit([&](const auto& command) { encoder.emit(command); }, plan.commands[index]);
  encoder.finish();
}

}  // namespace

std::unique_ptr<AmdList> encode_list(const ListPlan& plan, const EncodeContext& context) {
  auto list = std::make_unique<AmdList>();
  list->segments.resize(plan.segments.size());
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    AmdSegment& segment = list->segments[i];
    segment.queue = plan.segments[i].queue;
    if (segment.queue == 0)
      encode_segment(plan, plan.segments[i], ComputeEncoder(*list, segment, context));
    else
      encode_segment(plan, plan.segments[i], CopyEncoder(*list, segment, context));
  }
  list->launch_values.resize(list->launches.size() * 3);
  return list;
}

void gather_values(AmdList& list, const Submission& submission, PatchValues& values) {
  list.argument_values.resize(submission.buffers.size());
  for (size_t i = 0; i < submission.buffers.size(); ++i)
    list.argument_values[i] = submission.buffers[i].device_address();
  std::array<int64_t, 64> variables;
  for (size_t i = 0; i < list.launches.size(); ++i) {
    const VariableLaunch& launch = list.launches[i];
    for (size_t v = 0; v < launch.variables.size(); ++v) {
      const VariableRef& ref = launch.variables[v];
      variables[v] = ref.is_symbol ? submission.variables[ref.slot] : ref.value;
    }
    for (size_t d = 0; d < 3; ++d)
      list.launch_values[3 * i + d] = static_cast<uint64_t>(
          launch.groups[d].evaluate(std::span(variables).first(launch.variables.size())));
  }
  values[static_cast<size_t>(PatchKind::argument)] = list.argument_values.data();
  values[static_cast<size_t>(PatchKind::variable)] =
      reinterpret_cast<const uint64_t*>(submission.variables.data());
  values[static_cast<size_t>(PatchKind::launch)] = list.launch_values.data();
}

}  // namespace tiny::amd
