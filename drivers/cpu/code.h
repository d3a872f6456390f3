// SPDX-License-Identifier: MIT
// A kernel's machine code in this process.
#pragma once

#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/program.h>

#include <cstdint>
#include <string>

namespace tiny::cpu {

using Entry = void (*)(const void* kernarg, const int64_t group[3], void* scratch);

class CpuCode : public ProgramCode {
 public:
  /// Throws UsageError for code that is no object of this machine or lacks the entry point.
  explicit CpuCode(const Binary&);

  Entry entry() const { return entry_; }
  const std::string& name() const { return name_; }
  uint64_t scratch_B() const { return scratch_B_; }
  uint32_t cost_ns() const { return cost_ns_; }  ///< estimate for one thread; 0 unknown

 private:
  HostCode code_;
  Entry entry_ = nullptr;
  std::string name_;
  uint64_t scratch_B_ = 0;
  uint32_t cost_ns_ = 0;
};

}  // namespace tiny::cpu
