// SPDX-License-Identifier: MIT
// The AMD device: brings a GPU up through /dev/kfd and runs lists on its compute and copy queues.
#pragma once

#include <rt_tiny/runtime/registry.h>

#include "drivers/amd/clock.h"
#include "drivers/amd/encoder.h"
#include "drivers/amd/faults.h"
#include "drivers/amd/kfd.h"
#include "drivers/amd/memory.h"
#include "drivers/amd/queue.h"
#include "drivers/amd/relay.h"
#include "drivers/amd/scratch.h"
#include "drivers/amd/small_blocks.h"
#include "drivers/amd/staging.h"
#include "drivers/amd/topology.h"
#include "runtime/backend.h"
#include "runtime/hwqueue/kernarg_arena.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tiny::amd {

struct AmdOptions {
  bool copy_engine = true;
  uint64_t hang_ns = 60'000'000'000;
};
/// The TINY_AMD knob: "nosdma,hang=10". Throws UsageError.
AmdOptions parse_options(std::string_view text);

class AmdBackend : public Backend {
 public:
  /// Throws SystemError where the kernel refuses.
  AmdBackend(const Gpu&, const AmdOptions&);
  ~AmdBackend() override;

  const Target& target() const override { return target_; }
  std::string description() const override;
  std::optional<Block> allocate(size_t size_B, const AllocOptions&) override;
  std::optional<Block> import_host(void* pointer, size_t size_B) override;
  void release(const Block&) noexcept override;
  void read(const Block&, size_t offset_B, void* dst, size_t size_B) override;
  void write(const Block&, size_t offset_B, const void* src, size_t size_B) override;
  std::shared_ptr<ProgramCode> load(const Binary&) override;
  size_t queue_count() const override { return queues_.size(); }
  size_t copy_queue() const override { return queues_.size() - 1; }
  std::string queue_name(size_t queue) const override { return queues_[queue]->name(); }
  const std::shared_ptr<Timeline>& timeline(size_t queue) const override {
    return queues_[queue]->timeline();
  }
  std::unique_ptr<EncodedList> encode(const ListPlan&) override;
  void submit(EncodedList&, const Submission&) override;
  uint64_t to_host_ns(uint64_t device_clock) const override;

  bool uses_copy_engine() const { return queues_.size() > 1; }

 private:
  void open_queues(const AmdOptions&);
  std::unique_ptr<HwQueue> make_queue(Engine, std::string name);
  void load_copy_kernel();
  void write_region(const Region&, uint64_t offset_B, const void* src, size_t size_B);
  std::string describe(uint64_t address) const;
  ClockSample sample_clock() const;

  void make_instances(AmdList&);
  /// Makes room for kernels that spill more than any before; takes effect with the next submit.
  void require_scratch(uint32_t thread_B);
  /// Registers and old memory to give up, where the scratch memory changed.
  void adopt_scratch(uint64_t value);
  void submit_segment(AmdList&, size_t index, const SegmentSubmit&, RingSubmit&, PatchValues&);
  uint64_t* tickets(std::vector<uint64_t>& values, const std::vector<Fence>& fences, size_t queue,
                    bool waits);
  void drain_before_carry(const Submission&, const AmdList&);

  Gpu gpu_;
  Target target_;
  std::shared_ptr<Kfd> kfd_;
  std::shared_ptr<Memory> memory_;
  std::unique_ptr<SmallBlocks> small_blocks_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Relay> relay_;
  std::vector<std::unique_ptr<HwQueue>> queues_;
  std::shared_ptr<KernelCode> copy_kernel_;
  std::unique_ptr<Staging> staging_;
  std::string no_copy_engine_;  ///< why
  OwnedRegion kernarg_memory_;
  std::unique_ptr<KernargArena> kernargs_;
  EncodeContext context_;
  mutable std::unique_ptr<ClockMap> clock_;

  /// Grows with every load: instruction caches are stale then.
  std::atomic<uint64_t> code_epoch_{1};
  uint64_t seen_code_epoch_ = 0;

  struct Scratch {
    OwnedRegion region;
    ScratchPlan plan;
  };
  std::atomic<uint64_t> scratch_epoch_{0};  ///< grows when more is wanted
  uint64_t seen_scratch_epoch_ = 0;
  std::mutex scratch_mutex_;
  Scratch wanted_scratch_;
  std::vector<std::pair<uint64_t, OwnedRegion>>
      old_scratch_;               ///< until the compute queue passed it
  uint64_t scratch_address_ = 0;  ///< in force for submits
  std::array<uint64_t, 2> scratch_values_{};

  Words setup_;  ///< registers of the next compute submission
  std::vector<std::pair<uint64_t, uint64_t>> waits_;
};

BackendInfo backend_info();

}  // namespace tiny::amd
