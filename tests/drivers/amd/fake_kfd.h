// SPDX-License-Identifier: MIT
// A scripted stand-in for /dev/kfd, for tests of the driver's calls and their order. It runs
// copies, fences and waits, and no kernels but the copy kernel; it decodes with the driver's own
// tables, so it proves nothing about packets: models/amd does that.
#pragma once

#include "drivers/amd/kfd_abi.h"
#include "models/interpose/interpose.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tiny::test {

struct FakeGpuOptions {
  uint32_t gfx_target_version = 110000;
  bool large_bar = true;
  std::string extra{};  ///< more lines of the node's properties
};

/// The text of its properties.
std::string node_properties(const FakeGpuOptions&, uint32_t render_minor);
/// Adds a node's files under `root`/nodes/`node`. 96 CUs, 24 GiB.
void add_gpu_node(interpose::Tree&, const std::string& root, uint32_t node, uint32_t gpu_id,
                  uint32_t render_minor, const FakeGpuOptions& = {});
void add_cpu_node(interpose::Tree&, const std::string& root, uint32_t node);

class FakeKfd {
 public:
  static constexpr uint32_t kGpuId = 0x697d;
  /// The one of this process, mounted at the first call; the driver keeps its file for ever.
  static FakeKfd& get();

  struct CallLog {
    std::string name, arguments;
  };
  std::vector<CallLog> take_log();
  std::vector<std::string> names(const std::vector<CallLog>&) const;

  /// The next call of that ioctl number fails so.
  void fail_next(uint32_t number, int error);
  void raise_memory_fault(uint64_t va, bool read_only);
  void raise_reset();
  std::atomic<bool> copy_engine_works{true};
  std::atomic<bool> processor_stopped{false};  ///< queues hang
  std::atomic<bool> large_bar{true};
  std::atomic<uint32_t> minor_version{17};
  size_t live_allocations();
  size_t live_queues();
  size_t live_events();
  /// Words of type-3 packets and copy packets seen, by name.
  std::map<std::string, int> packets();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  FakeKfd();
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiny::test
