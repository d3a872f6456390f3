// SPDX-License-Identifier: MIT
// The vocabulary tables of the decoders: tab-separated text, embedded into the program and indexed
// on first use. tables/*.tsv are made by generate_tables.py.
#pragma once

#include "tools/decode/decode.h"

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace tiny::decode {

/// The text of tables/NAME.tsv. Throws UsageError for a name that was not embedded.
std::string_view embedded_table(std::string_view name);

/// The cells of one line. Absent cells read as empty.
class Row {
 public:
  explicit Row(std::string_view line) : line_(line) {}
  std::string_view operator[](std::size_t column) const;
  std::uint64_t number(std::size_t column) const;  ///< decimal or 0x…; 0 where empty
 private:
  std::string_view line_;
};
/// The lines of a table without comments (`#…`) and empty ones.
std::vector<Row> rows(std::string_view table);

/// A member of a kernel structure. Dotted names are nested members. size_B is that of the whole
/// array where elements > 1; members are in the order of their offsets.
struct Member {
  std::string_view name;
  std::uint32_t offset_B = 0, size_B = 0, elements = 1;
};
struct StructLayout {
  std::string_view name;
  std::uint32_t size_B = 0;
  std::vector<Member> members;
};

/// Structures of one interface by name and version. File form: a line `NAME size versions` starts
/// one (separated by tabs; versions by commas, `*` for every one), lines beginning with a tab are
/// its members
/// `<tab>name<tab>offset<tab>size[<tab>elements]`.
class StructTable {
 public:
  explicit StructTable(std::string_view table);
  /// The layout for this version; the newest known one where `version` is empty or unknown (the
  /// caller says so in its output). Null where no version has such a structure.
  const StructLayout* find(std::string_view name, std::string_view version = {}) const;
  /// For interfaces whose structures only grow: the largest version that `size_B` holds, or the
  /// smallest one where it holds none.
  const StructLayout* find_size(std::string_view name, std::size_t size_B) const;

 private:
  std::unordered_map<std::string_view, std::vector<std::pair<std::string_view, StructLayout>>>
      layouts_;
};

/// Decimal below 10, hex from there on.
std::string number_text(std::uint64_t value);

/// What a MemberText returns to leave a member out (the caller prints it in another way).
inline constexpr std::string_view kOmit = "\x01";

/// Says how one member is printed: given its name and value; returns "" for the default (hex from
/// 10 up, decimal below; arrays as lists, element by element; byte arrays as text where they are
/// text, else hex; members that end in `va_addr`, `address`, `_ptr`,
/// `pParams`… are the caller's to make symbolic).
using MemberText = std::string (*)(const StructLayout&, const Member&, std::uint64_t value,
                                   const Symbols&);

/// Appends `member=value` of every member that `before` covers (`after` where `before` is empty); a
/// member cut short is shown raw as `member[:BYTES]=…`, bytes missing up to the layout's end are
/// counted as `truncated=N`, bytes beyond it shown as `extra=…`, bytes between members as
/// `unk_OFFSET=…` where they are not zero. Where `after` is not empty and differs,
/// the text is `old->new`.
void add_members(Line& line, const StructLayout& layout, Bytes before, Bytes after,
                 const Symbols& symbols, MemberText text = nullptr);

/// A bit range [hi:lo] of a word or of a longer descriptor, both inclusive.
struct BitField {
  std::string_view name;
  std::uint32_t hi = 0, lo = 0;
};
/// Up to 64 bits of little-endian words; bits beyond the words read as 0.
std::uint64_t extract_bits(Words words, std::uint32_t hi, std::uint32_t lo);

}  // namespace tiny::decode
