// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/log.h>

#include <rt_tiny/runtime/base/knobs.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace tiny {

bool log_enabled(int level, std::string_view path) {
  const DebugKnob& debug = knobs().debug;
  if (level > debug.level) return false;
  return debug.paths.empty() ||
         std::any_of(debug.paths.begin(), debug.paths.end(),
                     [&](const std::string& prefix) { return path.starts_with(prefix); });
}

void log_line(std::string_view path, std::string_view text) {
  const std::string line = fmt::format("{}: {}\n", path, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tiny
