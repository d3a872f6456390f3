// SPDX-License-Identifier: MIT
#include "tools/preload.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <cstdlib>

#include "models/interpose/program.h"

namespace tiny::tool {

std::string preload_library(std::string_view command, std::string_view what,
                            const std::filesystem::path& in_build, std::string_view file) {
  namespace fs = std::filesystem;
  const fs::path self = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path places[] = {self / in_build / file, self / TINY_RELATIVE_LIBDIR / file};
  for (const fs::path& place : places)
    if (fs::exists(place)) return fs::weakly_canonical(place);
  throw UsageError(fmt::format("[{}] {} is neither {} nor {}", command, what,
                               places[0].lexically_normal().string(),
                               places[1].lexically_normal().string()));
}

void check_preloadable(std::string_view command, const std::string& program) {
  const interpose::ProgramCheck check = interpose::check_program(program);
  if (check.verdict != interpose::Verdict::fine)
    throw UsageError(fmt::format("[{}] {}", command, check.reason));
}

void preload(const std::string& library, Place place) {
  const char* value = std::getenv("LD_PRELOAD");  // the loader's variable, not one of ours
  const std::string others = value ? value : "";
  std::string list = library;
  if (!others.empty())
    list = place == Place::first ? library + ":" + others : others + ":" + library;
  ::setenv("LD_PRELOAD", list.c_str(), 1);
}

}  // namespace tiny::tool
