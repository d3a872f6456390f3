// SPDX-License-Identifier: MIT
// `tiny trace`: runs a program with the recorder preloaded, and prints what it records as it does.
#pragma once

#include "tools/trace/settings.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tiny::trace {

struct LaunchOptions {
  std::string out;  ///< empty: trace-<program>-<pid>.tinytrace
  std::uint64_t max_B = std::uint64_t{256} << 20;
  bool raw_secrets = false, quiet = false, full = false;
  Doorbells doorbells = Doorbells::trap;
  std::vector<std::string> command;  ///< program and arguments
};

/// Returns the program's exit status, 128 + signal where it was killed. Throws UsageError for a
/// program that cannot be traced, SystemError where it cannot be started.
int trace_program(const LaunchOptions& options);

/// `tiny decode`: returns 0, or 1 where the file was damaged. Throws UsageError for a file that is
/// no trace.
int decode_file(const std::string& path, bool raw_secrets, bool full);

/// Where libtiny_trace.so is: in the build tree beside tools/trace, or in the library folder of the
/// installation. Throws UsageError with the places looked at.
std::string recorder_path();

}  // namespace tiny::trace
