// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace tiny {

void throw_system_error(const std::string& call, int err, const std::string& hint) {
  // error_code::message is safe from several threads, unlike strerror.
  const std::string reason = std::error_code(err, std::generic_category()).message();
  std::string text = fmt::format("{}: {} (errno {})", call, reason, err);
  if (!hint.empty()) text += ". HINT: " + hint;
  throw SystemError(text);
}

namespace detail {

void check_failed(const char* expr, const char* file, int line, const std::string& message) {
  fmt::print(stderr, "{}:{}: CHECK failed: {}: {}\n", file, line, expr, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace detail
}  // namespace tiny
