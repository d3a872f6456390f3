// SPDX-License-Identifier: MIT
// `tiny trace` and `tiny decode`: their command lines.
#include "tools/trace/launch.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "tools/tiny/commands.h"

namespace tiny::tool {
namespace {

constexpr const char* kTraceHelp =
    "usage: tiny trace [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "Runs PROGRAM and records its calls, mappings and submissions on GPU devices.\n"
    "  --out FILE         the trace file; default trace-PROGRAM-PID.tinytrace\n"
    "  --max-size MiB     size at which it stops to grow; default 256\n"
    "  --doorbells HOW    trap, sample or off; default trap\n"
    "  --raw-secrets      keep host name, user, UUIDs, serials and environment as they are\n"
    "  --full             print raw bytes to the last one\n"
    "  --quiet            record only; print later with tiny decode\n";
constexpr const char* kDecodeHelp =
    "usage: tiny decode [--raw-secrets] [--full] FILE\n"
    "Prints a trace, one line a record.\n";

/// Walks over options until the first argument that is none.
class Options {
 public:
  Options(std::string_view command, std::span<const std::string> arguments)
      : command_(command), rest_(arguments) {}

  /// The next option's name; nullopt where the options end.
  std::optional<std::string_view> next() {
    if (rest_.empty() || !rest_[0].starts_with("-")) return std::nullopt;
    std::string_view option = rest_[0];
    rest_ = rest_.subspan(1);
    if (option == "--") return std::nullopt;
    const std::size_t equals = option.find('=');
    has_value_ = equals != std::string_view::npos;
    if (has_value_) value_ = option.substr(equals + 1);
    return name_ = option.substr(0, equals);
  }
  std::string_view value() {
    if (has_value_) return value_;
    if (rest_.empty()) fail(fmt::format("{} needs a value", name_));
    const std::string_view text = rest_[0];
    rest_ = rest_.subspan(1);
    return text;
  }
  std::span<const std::string> rest() const { return rest_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(fmt::format("[{}] {} (see tiny {} --help)", command_, what, command_));
  }
  [[noreturn]] void unknown() const { fail(fmt::format("unknown option {}", name_)); }

 private:
  std::string_view command_, name_, value_;
  std::span<const std::string> rest_;
  bool has_value_ = false;
};

std::uint64_t parse_MiB(std::string_view text, const Options& options) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || value == 0 ||
      value > (std::uint64_t{1} << 30))
    options.fail(fmt::format("--max-size {} is not a number of MiB from 1 on", text));
  return value << 20;
}

int help(const char* text) {
  fmt::print("{}", text);
  return 0;
}

}  // namespace

int run_trace(std::span<const std::string> arguments) {
  Options options("trace", arguments);
  trace::LaunchOptions launch;
  while (const auto option = options.next()) {
    if (*option == "--help" || *option == "-h") return help(kTraceHelp);
    if (*option == "--out") {
      launch.out = options.value();
    } else if (*option == "--max-size") {
      launch.max_B = parse_MiB(options.value(), options);
    } else if (*option == "--doorbells") {
      const std::string_view how = options.value();
      const auto parsed = trace::parse_doorbells(how);
      if (!parsed) options.fail(fmt::format("--doorbells {} is none of trap, sample, off", how));
      launch.doorbells = *parsed;
    } else if (*option == "--raw-secrets") {
      launch.raw_secrets = true;
    } else if (*option == "--quiet") {
      launch.quiet = true;
    } else if (*option == "--full") {
      launch.full = true;
    } else {
      options.unknown();
    }
  }
  if (options.rest().empty()) options.fail("a program is required");
  launch.command.assign(options.rest().begin(), options.rest().end());
  return trace::trace_program(launch);
}

int run_decode(std::span<const std::string> arguments) {
  Options options("decode", arguments);
  bool raw_secrets = false, full = false;
  while (const auto option = options.next()) {
    if (*option == "--help" || *option == "-h") return help(kDecodeHelp);
    if (*option == "--raw-secrets")
      raw_secrets = true;
    else if (*option == "--full")
      full = true;
    else
      options.unknown();
  }
  if (options.rest().size() != 1) options.fail("one FILE is required");
  return trace::decode_file(options.rest()[0], raw_secrets, full);
}

}  // namespace tiny::tool
