// SPDX-License-Identifier: MIT
// How `tiny trace` tells the recorder what to do: one environment variable, which goes on to the
// programs that the program starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tiny::trace {

/// The only variable that the recorder reads. Not a knob of the library: programs that use the
/// library must not take it for an unknown one.
inline constexpr const char* kSettingsVariable = "RT_TINY_TRACE";

enum class Doorbells : std::uint8_t { trap, sample, off };

struct Settings {
  std::string file;             ///< absolute
  std::uint64_t token_key = 0;  ///< of the scrubber's tokens; random, never recorded
  bool raw_secrets = false;
  Doorbells doorbells = Doorbells::trap;
};

/// `1:trap:scrub:0123…:/path`.
std::string to_text(const Settings& settings);
std::optional<Settings> parse_settings(std::string_view text);
std::optional<Doorbells> parse_doorbells(std::string_view text);
std::string_view name(Doorbells doorbells);

}  // namespace tiny::trace
