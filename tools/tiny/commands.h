// SPDX-License-Identifier: MIT
// The subcommands of `tiny`, as a table. Knows nothing of command line parsing.
#pragma once

#include <span>
#include <string>

namespace tiny::tool {

/// One subcommand: `tiny NAME`, or `tiny NAME ARGUMENTS…` where it names any.
struct Command {
  const char* name;
  const char* doc;        ///< one line for --help
  const char* arguments;  ///< what follows the name, for --help; "" where nothing may
  /// Returns the exit status. Throws UsageError for a mistake of the caller.
  int (*run)(std::span<const std::string> arguments);
  bool has_options = false;  ///< `run` reads options itself, --help too: all that follows is its
};
std::span<const Command> commands();

int run_decode(std::span<const std::string>);
int run_devices(std::span<const std::string>);
int run_env(std::span<const std::string>);
int run_model(std::span<const std::string>);
int run_trace(std::span<const std::string>);

}  // namespace tiny::tool
