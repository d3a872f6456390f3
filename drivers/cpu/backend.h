// SPDX-License-Identifier: MIT
// The CPU as a device: two queues, each a ring and a thread, and host memory.
#pragma once

#include <rt_tiny/runtime/registry.h>

#include "drivers/cpu/command_processor.h"
#include "drivers/cpu/encoder.h"
#include "runtime/backend.h"
#include "runtime/hwqueue/kernarg_arena.h"
#include "runtime/hwqueue/ring.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tiny::cpu {

struct CpuConfig {
  unsigned threads = 1;
  size_t ring_dw = 1 << 16;  ///< tests make it small
  size_t kernarg_B = 1 << 20;
};

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuConfig&);
  ~CpuBackend() override;

  const Target& target() const override { return target_; }
  std::string description() const override;
  std::optional<Block> allocate(size_t size_B, const AllocOptions&) override;
  std::optional<Block> import_host(void* pointer, size_t size_B) override;
  void release(const Block&) noexcept override;
  void read(const Block&, size_t offset_B, void* dst, size_t size_B) override;
  void write(const Block&, size_t offset_B, const void* src, size_t size_B) override;
  std::shared_ptr<ProgramCode> load(const Binary&) override;
  size_t queue_count() const override { return queues_.size(); }
  size_t copy_queue() const override { return 1; }
  std::string queue_name(size_t queue) const override { return queue == 0 ? "compute" : "copy"; }
  const std::shared_ptr<Timeline>& timeline(size_t queue) const override {
    return queues_[queue].timeline;
  }
  std::unique_ptr<EncodedList> encode(const ListPlan&) override;
  void submit(EncodedList&, const Submission&) override;

  /// How often a submit had to wait for room.
  uint64_t stalls() const;

 private:
  struct Queue {
    std::shared_ptr<Timeline> timeline;
    std::vector<uint32_t> memory;
    std::unique_ptr<CommandProcessor> processor;
    std::unique_ptr<Ring> ring;
  };
  void open_queue(size_t index, const CpuConfig&);
  void submit_inline(CpuList&, const Submission&, RelocationValues&);
  void submit_instance(CpuList&, const Submission&, const RelocationValues&);

  Target target_;
  std::array<Queue, 2> queues_;
  std::vector<uint8_t> kernarg_memory_;
  std::unique_ptr<KernargArena> kernargs_;
};

BackendInfo backend_info();

}  // namespace tiny::cpu
