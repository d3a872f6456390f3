// SPDX-License-Identifier: MIT
// Runs a program of the tree and keeps what it said.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tiny::test {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal when it was killed
  std::string out, err;
  /// What users want of an error: one line, not empty.
  bool err_is_one_line() const { return err.size() > 1 && err.find('\n') == err.size() - 1; }
};

/// The environment is this process's with the knobs that change results left out, and `variables`.
Outcome run_program(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables = {});

/// A new folder, removed with what it holds.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tiny::test
