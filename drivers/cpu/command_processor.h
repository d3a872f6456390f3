// SPDX-License-Identifier: MIT
// The thread that is a CPU queue's hardware: consumes packets from the ring and executes them.
#pragma once

#include <rt_tiny/runtime/timeline.h>

#include "drivers/cpu/worker_pool.h"
#include "runtime/hwqueue/doorbell.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tiny::cpu {

class CommandProcessor {
 public:
  struct Config {
    std::string name;  ///< "compute"
    std::span<const uint32_t> ring;
    std::shared_ptr<Timeline> timeline;
    unsigned threads = 1;  ///< that run kernels, this one included
    uint64_t idle_spin_ns = 0;
    std::function<std::string(uint64_t address)> describe_address;
  };
  explicit CommandProcessor(Config config);
  ~CommandProcessor();

  /// Dwords below the position are ready.
  void ring_doorbell(uint64_t put_dw) { door_.ring(put_dw); }

 private:
  void loop();
  void consume(uint64_t put_dw);
  /// Executes one packet; returns its size.
  size_t step(std::span<const uint32_t> words);
  void run_indirect(std::span<const uint32_t> words);
  void flush_batch();
  void copy(std::span<const uint32_t> words);
  void wait(std::span<const uint32_t> words);
  void die(const std::string& what, std::span<const uint32_t> words);

  Config config_;
  Doorbell door_;
  std::unique_ptr<WorkerPool> pool_;
  std::vector<DispatchItem> batch_;    ///< dispatches not yet run: up to the next barrier
  std::vector<uint32_t> batch_words_;  ///< of the first of them, for fault reports
  uint64_t read_dw_ = 0;
  bool dead_ = false;
  std::thread thread_;
};

}  // namespace tiny::cpu
