// SPDX-License-Identifier: MIT
#include "tools/trace/settings.h"

#include <array>
#include <charconv>

namespace tiny::trace {
namespace {

constexpr std::string_view kVersionText = "1";
constexpr std::array<std::string_view, 3> kDoorbells = {"trap", "sample", "off"};

}  // namespace

std::string_view name(Doorbells doorbells) {
  return kDoorbells[static_cast<std::size_t>(doorbells)];
}

std::optional<Doorbells> parse_doorbells(std::string_view text) {
  for (std::size_t i = 0; i < kDoorbells.size(); ++i)
    if (kDoorbells[i] == text) return static_cast<Doorbells>(i);
  return std::nullopt;
}

std::string to_text(const Settings& settings) {
  std::string out(kVersionText);
  out += ':';
  out += name(settings.doorbells);
  out += settings.raw_secrets ? ":raw:" : ":scrub:";
  return out + std::to_string(settings.token_key) + ":" + settings.file;
}

std::optional<Settings> parse_settings(std::string_view text) {
  std::array<std::string_view, 4> parts;
  for (std::string_view& part : parts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  Settings settings;
  const auto doorbells = parse_doorbells(parts[1]);
  const auto number =
      std::from_chars(parts[3].data(), parts[3].data() + parts[3].size(), settings.token_key);
  if (parts[0] != kVersionText || !doorbells || (parts[2] != "raw" && parts[2] != "scrub") ||
      number.ec != std::errc{} || number.ptr != parts[3].data() + parts[3].size() || text.empty())
    return std::nullopt;
  settings.doorbells = *doorbells;
  settings.raw_secrets = parts[2] == "raw";
  settings.file = text;
  return settings;
}

}  // namespace tiny::trace
