// SPDX-License-Identifier: MIT
// The NVIDIA vocabulary, indexed: names of numbers by driver branch, bit fields of structure
// members, methods of classes. Private to the NVIDIA decoders.
#pragma once

#include "tools/decode/table.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tiny::decode::nv {

/// A named number. `versions` is a list of driver branches, empty for all.
struct Name {
  std::string_view name, versions, params;
};
/// kind is escape, class, control, uvm, status or xid. Where no row covers the branch, another
/// branch's is taken; null for unknown numbers.
const Name* find_name(std::string_view kind, std::uint64_t value, std::string_view branch = {});
/// All names of a kind, for tests and for listings.
std::vector<std::pair<std::uint64_t, const Name*>> all_names(std::string_view kind);
/// The name, else the number in hex.
std::string name_text(std::string_view kind, std::uint64_t value, std::string_view branch = {});

/// Values by name of one bit range.
struct ValueField : BitField {
  std::vector<std::pair<std::uint64_t, std::string_view>> values;
  std::string text(std::uint64_t value) const;  ///< the value's name, else the number
};
ValueField parse_field(const Row& row, std::size_t first_column);
/// `A=0,B=1`.
std::vector<std::pair<std::uint64_t, std::string_view>> parse_values(std::string_view text);

struct Vocabulary {
  enum class Kind { kBits, kEnum, kMask };
  Kind kind = Kind::kEnum;
  std::vector<ValueField> fields;                                  // kBits
  std::vector<std::pair<std::uint64_t, std::string_view>> values;  // the others
  /// `0x48{ENABLE_PAGE_FAULTING|IS_EXTERNALLY_OWNED}`, `COPY0`, or the number.
  std::string text(std::uint64_t value) const;
};
/// Null where there is none of that name.
const Vocabulary* vocabulary(std::string_view name);
/// What a member speaks: the name of a vocabulary or a kind such as `@handle`; empty if neither.
std::string_view binding(std::string_view structure, std::string_view member);
/// The vocabulary of the (index, data) lists of a structure, or null.
const Vocabulary* list_vocabulary(std::string_view structure);

const StructTable& structs();

struct Method {
  std::string_view name;
  std::uint32_t offset = 0, stride = 0, elements = 1;
  std::vector<ValueField> fields;
};
struct MethodMatch {
  const Method* method = nullptr;
  std::uint32_t index = 0;
};
/// The method of a class at a byte address; null where the class has none there.
MethodMatch find_method(std::uint32_t class_id, std::uint32_t address);
bool has_methods(std::uint32_t class_id);
std::vector<std::pair<std::uint32_t, const Method*>> all_methods();  ///< (class, method)

}  // namespace tiny::decode::nv
