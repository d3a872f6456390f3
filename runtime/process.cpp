// SPDX-License-Identifier: MIT
#include "runtime/process.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>

namespace tiny {
namespace {

std::atomic<uint64_t> generation{0};

void count_child() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint64_t process_generation() {
  static const int installed = pthread_atfork(nullptr, nullptr, count_child);
  (void)installed;
  return generation.load(std::memory_order_relaxed);
}

void check_process(uint64_t owner, std::string_view op, std::string_view what) {
  if (owner == process_generation()) [[likely]]
    return;
  throw UsageError(
      fmt::format("[{}] {} was opened before fork(): a device works only in the process "
                  "that opened it; open devices in the child instead",
                  op, what));
}

}  // namespace tiny
