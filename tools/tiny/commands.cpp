// SPDX-License-Identifier: MIT
#include "tools/tiny/commands.h"

namespace tiny::tool {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"devices", "every known device, why absent ones are absent, and the default", "",
       run_devices},
      {"env", "every environment variable with its value, default and meaning", "", run_env},
  };
  return kCommands;
}

}  // namespace tiny::tool
