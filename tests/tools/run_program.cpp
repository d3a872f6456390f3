// SPDX-License-Identifier: MIT
#include "tests/tools/run_program.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tiny::test {
namespace {

/// Names that would change what the program under test does, unless a test asks for it. Where the
/// compiler plugin and the cache are stays.
bool is_ours(std::string_view entry) {
  for (const std::string_view name : {"DEV=", "DEBUG=", "BEAM=", "JIT=", "NOOPT=", "PROFILE=",
                                      "FAST_MATH=", "TINY_THREADS=", "TINY_DATA="})
    if (entry.starts_with(name)) return true;
  return false;
}

std::vector<std::string> environment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    bool replaced = is_ours(text);
    for (const auto& [name, value] : variables) replaced |= text.starts_with(name + "=");
    if (!replaced) out.emplace_back(text);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string text_of(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

pid_t spawn(std::vector<std::string> command, std::vector<std::string> variables,
            const std::string& out, const std::string& err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), kWrite, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, command[0].c_str(), &files, nullptr,
                                pointers(command).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw_system_error("posix_spawn(" + command[0] + ")", error);
  return child;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out", err = folder.path() + "/err";
  const pid_t child = spawn(command, environment(variables), out, err);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw_system_error("waitpid", errno);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, text_of(out), text_of(err)};
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tiny-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw_system_error("mkdtemp(" + pattern + ")", errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tiny::test
