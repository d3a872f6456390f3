// SPDX-License-Identifier: MIT
// Lines on stderr governed by DEBUG=level[,path]. A line is written whole, so threads do not mix.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tiny {

/// Would `log_at(level, path, …)` print? Ask before computing something only a log wants.
TINY_API bool log_enabled(int level, std::string_view path);
/// Prints unconditionally: "path: text".
TINY_API void log_line(std::string_view path, std::string_view text);

/// Path is the room that speaks, such as "lower/simplify".
template <class... Args>
void log_at(int level, std::string_view path, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level, path)) log_line(path, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tiny
