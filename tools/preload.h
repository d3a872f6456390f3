// SPDX-License-Identifier: MIT
// What commands share that run a program with a library of ours preloaded.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tiny::tool {

/// Where the library `file` is: in the build tree at `in_build`, seen from the folder of `tiny`, or
/// in the library folder of the installation. Throws UsageError ("[command] `what` is neither …").
std::string preload_library(std::string_view command, std::string_view what,
                            const std::filesystem::path& in_build, std::string_view file);

/// Throws UsageError ("[command] …") for a program that no library can be preloaded into.
void check_preloadable(std::string_view command, const std::string& program);

/// Puts the library in front of what programs started from here have preloaded anyway.
void preload(const std::string& library);

}  // namespace tiny::tool
