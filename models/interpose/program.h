// SPDX-License-Identifier: MIT
// Whether a program can be interposed by preload: what its file says before it is run.
#pragma once

#include <cstdint>
#include <string>

namespace tiny::interpose {

enum class Verdict : std::uint8_t {
  fine,         ///< a dynamic ELF program of this machine
  static_elf,   ///< no dynamic loader: LD_PRELOAD is not read
  setuid,       ///< set-user-ID, set-group-ID or with file capabilities: LD_PRELOAD is ignored
  foreign_elf,  ///< another class or machine
  not_elf,      ///< neither ELF nor a script
  unreadable,   ///< missing, or no permission to read it
};

struct ProgramCheck {
  Verdict verdict = Verdict::unreadable;
  std::string program;  ///< what would run: the file, or its interpreter when it is a script
  std::string reason;   ///< one line for the user, with the path
  bool script = false;  ///< `program` came from a #! line (one level is followed)
};
/// Without a slash, PATH is searched.
ProgramCheck check_program(const std::string& path);

}  // namespace tiny::interpose
