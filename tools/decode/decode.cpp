// SPDX-License-Identifier: MIT
#include "tools/decode/decode.h"

#include <fmt/format.h>
#include "tools/decode/table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tiny::decode {
namespace {

class NoSymbols final : public Symbols {
 public:
  std::string address(std::uint64_t va) const override { return fmt::format("{:#x}", va); }
};

}  // namespace

void Line::add(std::string_view field, std::string text) {
  fields.push_back({std::string(field), std::move(text)});
}

void Line::add_hex(std::string_view field, std::uint64_t value) {
  add(field, fmt::format("{:#x}", value));
}

std::string to_text(const Line& line) {
  std::string text = line.name;
  for (const Field& field : line.fields) {
    if (!text.empty()) text += ' ';
    text += field.name;
    text += '=';
    text += field.text;
  }
  return text;
}

std::string enum_text(std::uint64_t value, std::span<const NamedValue> names) {
  for (const NamedValue& named : names)
    if (named.value == value) return std::string(named.name);
  return number_text(value);
}

std::string flags_text(std::uint64_t value, std::span<const NamedValue> names) {
  std::string text;
  std::uint64_t rest = value;
  for (const NamedValue& named : names) {
    if (named.value == 0 || (rest & named.value) != named.value) continue;
    text += (text.empty() ? "" : "|") + std::string(named.name);
    rest &= ~named.value;
  }
  if (text.empty()) return number_text(value);
  return rest ? text + fmt::format("|{:#x}", rest) : text;
}

std::string result_text(std::int64_t result) {
#ifdef __GLIBC__
  if (result < 0 && result > -4096)
    if (const char* name = strerrorname_np(static_cast<int>(-result)))
      return fmt::format("-{}", name);
#endif
  return fmt::format("{}", result);
}

std::string ioc_text(std::uint32_t request) {
  static constexpr const char* kDirections[] = {"NONE", "W", "R", "RW"};
  const std::uint32_t type = ioc_type(request);
  const std::string letter = type > 0x20 && type < 0x7f
                                 ? fmt::format("'{}'", static_cast<char>(type))
                                 : fmt::format("{:#x}", type);
  return fmt::format("_IOC({},{},{:#x},{})", kDirections[request >> 30], letter, ioc_nr(request),
                     ioc_size_B(request));
}

std::string hex_bytes(Bytes bytes, std::size_t limit_B) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::size_t shown = std::min(bytes.size(), limit_B);
  std::string text;
  text.reserve(shown * 9 / 4 + 24);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0 && i % 4 == 0) text += ' ';
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  if (shown < bytes.size())
    text += fmt::format("{}…+{} bytes", shown ? " " : "", bytes.size() - shown);
  return text;
}

const Symbols& no_symbols() {
  static const NoSymbols symbols;
  return symbols;
}

const Attachment* IoctlCall::at(std::uint64_t address) const {
  const auto found = std::find_if(attachments.begin(), attachments.end(),
                                  [&](const Attachment& a) { return a.address == address; });
  return found == attachments.end() ? nullptr : &*found;
}

}  // namespace tiny::decode
