// SPDX-License-Identifier: MIT
#include "drivers/cpu/code.h"

#include <algorithm>

namespace tiny::cpu {
namespace {

/// Rough speed of one thread: only to tell work worth sharing (above 2 µs) from work that is not.
constexpr double kBytesPer_ns = 10, kFlopsPer_ns = 10;

uint32_t estimate_ns(const Binary& binary) {
  const double ns = std::max(binary.bytes / kBytesPer_ns, binary.flops / kFlopsPer_ns);
  return ns <= 0 ? 0 : static_cast<uint32_t>(std::clamp(ns, 1.0, 4e9));
}

}  // namespace

CpuCode::CpuCode(const Binary& binary)
    : code_(load_host_code(ElfObject(binary.code))),
      name_(binary.name),
      scratch_B_(binary.scratch_B),
      cost_ns_(estimate_ns(binary)) {
  entry_ = reinterpret_cast<Entry>(reinterpret_cast<uintptr_t>(code_.symbol(binary.name)));
}

}  // namespace tiny::cpu
