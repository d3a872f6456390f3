// SPDX-License-Identifier: MIT
// The `tiny` command: parses the command line and runs one row of the table. Exit status: 0 done,
// 1 failed, 2 a mistake in the command line or the environment; the reason is one line on stderr.
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <CLI/CLI.hpp>

#include "tools/tiny/commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

using namespace tiny;

namespace {

constexpr int kFailed = 1, kMistake = 2;

int complain(int status, const std::string& text) {
  std::fprintf(stderr, "tiny: %s\n", text.c_str());
  return status;
}

/// Output that did not arrive is a failure too: a full disk, a closed pipe.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  return complain(kFailed, std::string("cannot write the output: ") + std::strerror(errno));
}

/// Adds the table's rows to the parser; `chosen` and `arguments` are set by parsing.
void add_commands(CLI::App& app, const tool::Command*& chosen,
                  std::vector<std::string>& arguments) {
  for (const tool::Command& command : tool::commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.doc);
    if (*command.arguments) sub->add_option("arguments", arguments, command.arguments);
    sub->callback([&chosen, &command] { chosen = &command; });
  }
}

/// The command that argv names, where it reads its options itself.
const tool::Command* with_own_options(int argc, char** argv) {
  for (const tool::Command& command : tool::commands())
    if (argc > 1 && command.has_options && std::strcmp(argv[1], command.name) == 0) return &command;
  return nullptr;
}

int run(int argc, char** argv) {
  if (const tool::Command* command = with_own_options(argc, argv)) {
    knobs();
    return command->run(std::vector<std::string>(argv + 2, argv + argc));
  }
  CLI::App app{"rt_tiny: devices, settings and what goes on between them", "tiny"};
  app.set_version_flag("--version", "tiny " TINY_VERSION);
  app.require_subcommand(0, 1);  // an unknown one is then named in the error
  const tool::Command* chosen = nullptr;
  std::vector<std::string> arguments;
  add_commands(app, chosen, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return complain(kMistake, std::string(e.what()) + " (see tiny --help)");
  }
  if (!chosen) return complain(kMistake, "a command is required (see tiny --help)");
  knobs();  // an unknown TINY_* is reported by every command
  return chosen->run(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return flushed(run(argc, argv));
  } catch (const UsageError& e) {
    return complain(kMistake, e.what());
  } catch (const std::exception& e) {
    return complain(kFailed, e.what());
  }
}
