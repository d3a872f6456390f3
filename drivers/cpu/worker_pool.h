// SPDX-License-Identifier: MIT
// Threads that run the groups of a batch of independent dispatches. The queue thread is one of
// them.
#pragma once

#include "drivers/cpu/code.h"
#include "drivers/cpu/faults.h"
#include "runtime/hwqueue/doorbell.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tiny::cpu {

struct DispatchItem {
  const CpuCode* code = nullptr;
  const void* kernarg = nullptr;
  std::array<uint32_t, 3> groups{1, 1, 1};
  uint32_t cost_ns = 0;  ///< 0 unknown
};

struct KernelFault {
  const CpuCode* code = nullptr;
  std::array<int64_t, 3> group{};
  FaultInfo info;
};

class WorkerPool {
 public:
  /// `threads` counts the caller of `run`.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();

  /// Runs all groups; returns when all have finished. By one thread only. After a fault no further
  /// group starts.
  std::optional<KernelFault> run(const std::vector<DispatchItem>& batch);
  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

 private:
  /// Scratch memory of one thread, grown on demand.
  class Scratch {
   public:
    void* get(uint64_t size_B);

   private:
    struct Free {
      void operator()(void* p) const { ::free(p); }
    };
    std::unique_ptr<void, Free> memory_;
    uint64_t size_B_ = 0;
  };
  struct Chunks {
    const DispatchItem* item;
    uint64_t first_chunk, chunks, groups, chunk_groups;
  };

  void worker();
  void join_batch(Scratch&);
  bool plan(const std::vector<DispatchItem>& batch);
  void work(Scratch&);
  void run_groups(const Chunks&, uint64_t begin, uint64_t end, Scratch&);
  void close_batch();

  // A batch: written by the queue thread while closed, read by those who joined.
  std::vector<Chunks> chunks_;
  uint64_t total_chunks_ = 0;
  alignas(64) std::atomic<uint64_t> next_chunk_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};  ///< kOpen | workers that joined
  alignas(64) std::atomic<uint64_t> left_{0};    ///< workers that are done
  std::mutex fault_mutex_;
  std::optional<KernelFault> fault_;

  Scratch own_scratch_;
  Doorbell door_;
  uint64_t batch_number_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace tiny::cpu
