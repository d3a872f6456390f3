// SPDX-License-Identifier: MIT
// `tiny model`: runs a program on the model of a GPU, by preloading the model's library.
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "models/amd/model.h"
#include "tools/preload.h"
#include "tools/tiny/commands.h"

namespace tiny::tool {
namespace {

constexpr const char* kHelp =
    "usage: tiny model MODEL [--] PROGRAM [ARGUMENTS]\n"
    "Runs PROGRAM on a machine that has the GPU MODEL; what the program does wrong is on stderr.\n"
    "  amd:gfx1100[,OPTION...]   amd:gfx1030[,OPTION...]\n"
    "options of amd: gpus=N hidden=N no-render=N small-bar no-sysfs-sizes no-atomics64 vram=MiB\n"
    "  seed=N (order of what runs at once) delay=us (the GPU starts late) no-races no-shaders "
    "quiet\n"
    "  strict (status 86 if there was anything to report) stats (what ran, at the end)\n";

[[noreturn]] void fail(const std::string& what) {
  throw UsageError(fmt::format("[model] {} (see tiny model --help)", what));
}

}  // namespace

int run_model(std::span<const std::string> arguments) {
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    fmt::print("{}", kHelp);
    return 0;
  }
  if (arguments.empty()) fail("a model is required");
  const std::string& model = arguments[0];
  if (!model.starts_with("amd:")) fail(fmt::format("{} is no model; amd:gfx1100 is", model));
  const std::string options = model.substr(4);
  models::amd::parse_options(options);
  std::span<const std::string> command = arguments.subspan(1);
  if (!command.empty() && command[0] == "--") command = command.subspan(1);
  if (command.empty()) fail("a program is required");
  check_preloadable("model", command[0]);
  preload(preload_library("model", "the model's library", "../models/amd", "libtiny_model_amd.so"),
          Place::last);
  ::setenv(models::amd::kOptionsVariable, options.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  throw_system_error(fmt::format("exec({})", argv[0]), errno);
}

}  // namespace tiny::tool
