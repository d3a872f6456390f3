// SPDX-License-Identifier: MIT
#include "tools/decode/table.h"

#include <rt_tiny/runtime/base/error.h>

#include "tools/decode/embedded.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace tiny::decode {
namespace {

/// Elements of an array that are printed; the rest is counted.
constexpr std::uint32_t kShownElements = 32;
/// Characters of a text member that are printed.
constexpr std::size_t kShownCharacters = 96;

std::uint64_t parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

/// The part of `text` up to `separator`, which is removed from it.
std::string_view take(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// "580.142" before "590.48": by the numbers between the dots.
bool older(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::uint64_t x = parse_number(take(a, ".")), y = parse_number(take(b, "."));
    if (x != y) return x < y;
  }
  return false;
}

std::string_view newest_of(std::string_view versions) {
  std::string_view newest = take(versions, ",");
  while (!versions.empty())
    if (const std::string_view next = take(versions, ","); older(newest, next)) newest = next;
  return newest;
}

bool lists(std::string_view versions, std::string_view version) {
  if (versions == "*") return true;
  while (!versions.empty())
    if (take(versions, ",") == version) return true;
  return false;
}

Member parse_member(std::string_view line) {
  const Row row(line.substr(1));
  Member member{row[0], static_cast<std::uint32_t>(row.number(1)),
                static_cast<std::uint32_t>(row.number(2)), 1};
  if (const std::uint64_t elements = row.number(3))
    member.elements = static_cast<unsigned>(elements);
  return member;
}

std::uint64_t read_value(Bytes bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof value));
  return value;
}

bool is_scalar(std::uint32_t size_B) {
  return size_B == 1 || size_B == 2 || size_B == 4 || size_B == 8;
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Text in quotes where the bytes are printable ASCII closed by zeros; else empty.
std::string quoted(Bytes bytes) {
  std::size_t length = 0;
  while (length < bytes.size() && bytes[length] != std::byte{0}) ++length;
  if (length < 2 || !all_zero(bytes.subspan(length))) return {};
  std::string text = "\"";
  for (const std::byte byte : bytes.first(std::min(length, kShownCharacters))) {
    const char c = static_cast<char>(byte);
    if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') return {};
    text += c;
  }
  if (length > kShownCharacters) text += fmt::format("…+{}", length - kShownCharacters);
  return text + "\"";
}

struct Printer {
  const StructLayout& layout;
  const Symbols& symbols;
  MemberText text;

  std::string element(const Member& member, Bytes bytes) const {
    if (!is_scalar(static_cast<std::uint32_t>(bytes.size()))) {
      // Offered as a zero, so that reserved ranges can be left out as reserved numbers are.
      const bool omit = text && all_zero(bytes) && text(layout, member, 0, symbols) == kOmit;
      return omit ? std::string(kOmit) : hex_bytes(bytes);
    }
    const std::uint64_t value = read_value(bytes);
    std::string own = text ? text(layout, member, value, symbols) : std::string();
    return own.empty() ? number_text(value) : own;
  }

  std::string array(const Member& member, Bytes bytes) const {
    if (all_zero(bytes)) return fmt::format("[0 x{}]", member.elements);
    const std::uint32_t each_B = static_cast<std::uint32_t>(bytes.size()) / member.elements;
    if (each_B == 1)
      if (std::string own = quoted(bytes); !own.empty()) return own;
    if (each_B <= 1) return hex_bytes(bytes);
    std::string out = "[";
    const std::uint32_t shown = std::min(member.elements, kShownElements);
    for (std::uint32_t i = 0; i < shown; ++i) {
      const std::string one = element(member, bytes.subspan(std::size_t{i} * each_B, each_B));
      if (one == kOmit) return one;
      out += (i ? "," : "") + one;
    }
    if (shown < member.elements) out += fmt::format(",…+{}", member.elements - shown);
    return out + "]";
  }

  std::string operator()(const Member& member, Bytes bytes) const {
    return member.elements > 1 ? array(member, bytes) : element(member, bytes);
  }
};

/// What of `bytes` lies in [offset, offset+size).
Bytes slice(Bytes bytes, std::size_t offset, std::size_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min(size, bytes.size() - offset));
}

bool same(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// `old->new` for a range of bytes shown raw.
std::string raw_change(Bytes before, Bytes after) {
  std::string out = hex_bytes(before.empty() ? after : before);
  if (!before.empty() && !after.empty() && !same(before, after)) out += "->" + hex_bytes(after);
  return out;
}

void add_member(Line& line, const Member& member, Bytes before, Bytes after, const Printer& print) {
  const Bytes first = before.empty() ? after : before;
  if (first.size() < member.size_B) {
    if (!first.empty())
      line.add(fmt::format("{}[:{}]", member.name, first.size()), hex_bytes(first));
    return;
  }
  std::string out = print(member, first);
  if (out == kOmit) return;
  if (!before.empty() && after.size() == before.size() && !same(before, after))
    out += "->" + print(member, after);
  line.add(member.name, std::move(out));
}

/// Bytes that no member covers are shown where they are not zero.
void add_hole(Line& line, std::size_t from, std::size_t to, Bytes before, Bytes after) {
  const Bytes old = slice(before, from, to - from), now = slice(after, from, to - from);
  if (all_zero(old) && all_zero(now)) return;
  line.add(fmt::format("unk_{:02x}", from), raw_change(old, now));
}

}  // namespace

std::string number_text(std::uint64_t value) {
  return value < 10 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string_view embedded_table(std::string_view name) {
  for (const detail::Embedded& table : detail::embedded())
    if (table.name == name) return table.text;
  throw UsageError(fmt::format("[embedded_table] no table is named \"{}\"", name));
}

std::string_view Row::operator[](std::size_t column) const {
  std::string_view rest = line_;
  for (; column > 0 && !rest.empty(); --column) take(rest, "\t");
  return rest.substr(0, std::min(rest.find('\t'), rest.size()));
}

std::uint64_t Row::number(std::size_t column) const { return parse_number((*this)[column]); }

std::vector<Row> rows(std::string_view table) {
  std::vector<Row> found;
  while (!table.empty()) {
    const std::string_view line = take(table, "\n");
    if (!line.empty() && line[0] != '#') found.emplace_back(line);
  }
  return found;
}

StructTable::StructTable(std::string_view table) {
  StructLayout* current = nullptr;
  while (!table.empty()) {
    std::string_view line = take(table, "\n");
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '\t') {
      if (current) current->members.push_back(parse_member(line));
      continue;
    }
    StructLayout layout;
    layout.name = take(line, "\t ");
    layout.size_B = static_cast<std::uint32_t>(parse_number(take(line, "\t ")));
    auto& versions = layouts_[layout.name];
    current = &versions.emplace_back(line.empty() ? "*" : line, std::move(layout)).second;
  }
}

const StructLayout* StructTable::find(std::string_view name, std::string_view version) const {
  const auto found = layouts_.find(name);
  if (found == layouts_.end()) return nullptr;
  const std::pair<std::string_view, StructLayout>* newest = nullptr;
  for (const auto& entry : found->second) {
    if (!version.empty() && lists(entry.first, version)) return &entry.second;
    if (!newest || older(newest_of(newest->first), newest_of(entry.first))) newest = &entry;
  }
  return &newest->second;
}

const StructLayout* StructTable::find_size(std::string_view name, std::size_t size_B) const {
  const auto found = layouts_.find(name);
  if (found == layouts_.end()) return nullptr;
  const StructLayout* best = nullptr;  // the largest that fits, else the smallest
  for (const auto& [versions, layout] : found->second) {
    const bool fits = layout.size_B <= size_B, best_fits = best && best->size_B <= size_B;
    if (!best || (fits && (!best_fits || layout.size_B >= best->size_B)) ||
        (!fits && !best_fits && layout.size_B < best->size_B))
      best = &layout;
  }
  return best;
}

void add_members(Line& line, const StructLayout& layout, Bytes before, Bytes after,
                 const Symbols& symbols, MemberText text) {
  const Printer print{layout, symbols, text};
  const std::size_t given = before.empty() ? after.size() : before.size();
  std::size_t covered = 0;
  for (const Member& member : layout.members) {
    if (member.offset_B > covered) add_hole(line, covered, member.offset_B, before, after);
    covered = std::max<std::size_t>(covered, member.offset_B + std::size_t{member.size_B});
    add_member(line, member, slice(before, member.offset_B, member.size_B),
               slice(after, member.offset_B, member.size_B), print);
  }
  if (covered < layout.size_B) add_hole(line, covered, layout.size_B, before, after);
  const std::size_t end = std::max<std::size_t>(layout.size_B, covered);
  if (given < end) line.add("truncated", fmt::format("{}", end - given));
  const Bytes more = slice(before, end, given), more_after = slice(after, end, after.size());
  if (!more.empty() || !more_after.empty()) line.add("extra", raw_change(more, more_after));
}

std::uint64_t extract_bits(Words words, std::uint32_t hi, std::uint32_t lo) {
  if (hi < lo) std::swap(hi, lo);
  const std::uint32_t width = std::min(hi - lo + 1, 64u);
  std::uint64_t value = 0;
  for (std::uint32_t done = 0; done < width;) {
    const std::uint32_t bit = lo + done, word = bit / 32, in_word = bit % 32;
    if (word >= words.size()) break;
    value |= (std::uint64_t{words[word]} >> in_word) << done;
    done += 32 - in_word;
  }
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace tiny::decode
