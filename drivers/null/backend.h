// SPDX-License-Identifier: MIT
// The device that runs nothing: lists are encoded, patched and checked for a target, and dropped.
// Memory has addresses but no bytes; reads give zeros.
#pragma once

#include <rt_tiny/runtime/registry.h>

#include "runtime/backend.h"

#include <atomic>
#include <memory>
#include <string>

namespace tiny::null {

class NullBackend : public Backend {
 public:
  NullBackend();
  /// For a derived class that overrides load, encode and submit.
  explicit NullBackend(Target target);

  const Target& target() const override { return target_; }
  std::string description() const override { return "runs nothing; target " + target_.arch; }
  std::optional<Block> allocate(size_t size_B, const AllocOptions&) override;
  std::optional<Block> import_host(void*, size_t) override { return std::nullopt; }
  void release(const Block&) noexcept override {}
  void read(const Block&, size_t offset_B, void* dst, size_t size_B) override;
  void write(const Block&, size_t offset_B, const void* src, size_t size_B) override;
  std::shared_ptr<ProgramCode> load(const Binary&) override;
  size_t queue_count() const override { return 2; }
  size_t copy_queue() const override { return 1; }
  std::string queue_name(size_t queue) const override { return queue == 0 ? "compute" : "copy"; }
  const std::shared_ptr<Timeline>& timeline(size_t queue) const override {
    return timelines_[queue];
  }
  std::unique_ptr<EncodedList> encode(const ListPlan&) override;
  void submit(EncodedList&, const Submission&) override;
  bool has_timestamps() const override { return false; }

 protected:
  /// Never handed out again.
  uint64_t take_address(size_t size_B);

 private:
  Target target_;
  std::shared_ptr<Timeline> timelines_[2];
  /// Addresses only: high, page-aligned, never reused, so that a stray access faults.
  std::atomic<uint64_t> next_address_{uint64_t{1} << 46};
};

BackendInfo backend_info();

}  // namespace tiny::null
