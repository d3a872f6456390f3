// SPDX-License-Identifier: MIT
// The three kinds of failure a caller can meet, and CHECK for our own bugs. No error codes.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <stdexcept>
#include <string>

namespace tiny {

/// The caller's fault; the text begins with the operation in brackets: "[matmul] inner …".
struct TINY_API UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The system refused: names the call, its arguments, errno and, where one helps, a HINT.
struct TINY_API SystemError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The device faulted or hung; the text has the decoded commands around the read pointer.
struct TINY_API DeviceFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// SystemError from errno: "open(/dev/kfd): Permission denied (errno 13). HINT: …".
[[noreturn]] TINY_API void throw_system_error(const std::string& call, int err,
                                              const std::string& hint = "");

namespace detail {
[[noreturn]] TINY_API void check_failed(const char* expr, const char* file, int line,
                                        const std::string& message);
}

}  // namespace tiny

/// Our own invariants, also in release builds: prints the condition, place and message, then
/// aborts. (Not named CHECK: Catch2 owns that name in tests.)
#define CHECK_INVARIANT(cond, message)                                  \
  do {                                                                  \
    if (!(cond)) [[unlikely]]                                           \
      ::tiny::detail::check_failed(#cond, __FILE__, __LINE__, message); \
  } while (0)
