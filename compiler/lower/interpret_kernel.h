// SPDX-License-Identifier: MIT
// The meaning of a kernel as a readable loop: what every compiled kernel is tested against.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedule/kernel.h"

namespace tiny::lower {

/// What a kernel touches, wherever the access is valid.
struct AccessTrace {
  std::set<std::pair<int, int64_t>> loads;            ///< buffer and index
  std::map<std::pair<int, int64_t>, int64_t> stores;  ///< how often each is written
  bool operator==(const AccessTrace&) const = default;
};

/// Runs the kernel on buffers as bytes, in the order of Kernel::buffers. Slow.
void interpret_kernel(const Kernel&, std::span<std::vector<uint8_t>> buffers,
                      std::span<const int64_t> variables = {}, AccessTrace* trace = nullptr);

}  // namespace tiny::lower
