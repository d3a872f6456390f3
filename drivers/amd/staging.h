// SPDX-License-Identifier: MIT
// The host's reads and writes of memory it does not map: through a queue of their own, because the
// device's queues may be waiting for the very program that reads.
#pragma once

#include "drivers/amd/encoder.h"
#include "drivers/amd/faults.h"
#include "drivers/amd/queue.h"

#include <cstdint>
#include <memory>
#include <mutex>

namespace tiny::amd {

class Staging {
 public:
  /// `copy_kernel` for a compute queue; `first_setup` are that queue's registers.
  Staging(std::shared_ptr<Memory>, const Gpu&, Engine, Monitor&,
          std::shared_ptr<KernelCode> copy_kernel, Words first_setup);
  ~Staging();

  void write(uint64_t device, const void* src, size_t size_B);
  void read(uint64_t device, void* dst, size_t size_B);
  /// Copies patterns to the device and back; what went wrong, or nothing.
  std::string self_test(uint64_t timeout_ns);

 private:
  static constexpr uint64_t kHalf_B = 2 << 20;  ///< copied while the host fills the other
  uint64_t submit(uint64_t dst, uint64_t src, uint64_t size_B, size_t half);

  std::shared_ptr<Memory> memory_;
  Monitor& monitor_;
  std::shared_ptr<KernelCode> copy_kernel_;
  Words setup_;
  EncodeContext context_;
  OwnedRegion buffer_, kernargs_;
  std::unique_ptr<HwQueue> queue_;
  std::mutex mutex_;
  uint64_t last_ = 0;
};

}  // namespace tiny::amd
