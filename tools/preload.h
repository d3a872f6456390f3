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

/// Where a library stands among those that are preloaded: each sees the calls of the program and of
/// those before it.
enum class Place { first, last };

/// Adds the library to what programs started from here have preloaded anyway. A watcher is first;
/// what stands for the machine is last, so that watchers see it, whichever was asked for first.
void preload(const std::string& library, Place place);

}  // namespace tiny::tool
