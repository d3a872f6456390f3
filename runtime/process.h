// SPDX-License-Identifier: MIT
// Which process we are in: devices and timelines belong to the one that made them.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstdint>
#include <string_view>

namespace tiny {

/// Grows by one in every forked child. Reading it costs a load, not a system call.
TINY_API uint64_t process_generation();

/// Throws UsageError ("[op] …") when `generation` is of another process.
TINY_API void check_process(uint64_t generation, std::string_view op, std::string_view what);

}  // namespace tiny
