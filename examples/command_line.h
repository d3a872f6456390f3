// SPDX-License-Identifier: MIT
// The main function of an example with options: a mistake is one line on stderr, never a crash.
#pragma once

#include <rt_tiny/runtime/base/error.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

namespace examples {

/// Parses and runs. 0: done, 1: failed, 2: a mistake in the options or the environment.
template <class Body>
int run(CLI::App& app, int argc, char** argv, Body body) {
  const auto complain = [&](int status, const char* text) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), text);
    return status;
  };
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : complain(2, e.what());
  } catch (const tiny::UsageError& e) {
    return complain(2, e.what());
  } catch (const std::exception& e) {
    return complain(1, e.what());
  }
}

/// Like DEV=… before the program; to be called before the library is used.
inline void choose_device(const std::string& spec) {
  if (!spec.empty()) ::setenv("DEV", spec.c_str(), 1);
}

/// Says before the training that its result would have no place.
inline void require_writable(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK) != 0)
    throw tiny::UsageError("[out] cannot write to " + folder.string() + ": " +
                           std::strerror(errno));
  if (std::filesystem::is_directory(path)) throw tiny::UsageError("[out] " + path + " is a folder");
}

}  // namespace examples
