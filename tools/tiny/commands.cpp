// SPDX-License-Identifier: MIT
#include "tools/tiny/commands.h"

namespace tiny::tool {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"decode", "prints a trace", "[OPTIONS] FILE", run_decode, true},
      {"devices", "every known device, why absent ones are absent, and the default", "",
       run_devices},
      {"env", "every environment variable with its value, default and meaning", "", run_env},
      {"model", "runs a program on the model of a GPU", "MODEL PROGRAM [ARGS]", run_model, true},
      {"trace", "runs a program and records what it asks of GPU devices",
       "[OPTIONS] PROGRAM [ARGS]", run_trace, true},
  };
  return kCommands;
}

}  // namespace tiny::tool
