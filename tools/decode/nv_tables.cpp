// SPDX-License-Identifier: MIT
#include "tools/decode/nv_tables.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

namespace tiny::decode::nv {
namespace {

using Values = std::vector<std::pair<std::uint64_t, std::string_view>>;

bool lists(std::string_view versions, std::string_view version) {
  while (!versions.empty()) {
    const std::size_t end = std::min(versions.find(','), versions.size());
    if (versions.substr(0, end) == version) return true;
    versions.remove_prefix(std::min(end + 1, versions.size()));
  }
  return false;
}

std::string_view value_name(const Values& values, std::uint64_t value) {
  for (const auto& [number, name] : values)
    if (number == value) return name;
  return {};
}

struct Names {
  std::map<std::string_view, std::unordered_map<std::uint64_t, std::vector<Name>>> kinds;
  Names() {
    for (const Row& row : rows(embedded_table("nv_names")))
      kinds[row[0]][row.number(1)].push_back({row[2], row[3], row[4]});
  }
};
const Names& names() {
  static const Names all;
  return all;
}

struct Fields {
  std::unordered_map<std::string_view, Vocabulary> vocabularies;
  std::unordered_map<std::string_view, std::string_view> bindings;
  std::vector<std::pair<std::string_view, std::string_view>> lists;
  Fields() {
    Vocabulary* current = nullptr;
    for (const Row& row : rows(embedded_table("nv_fields"))) {
      if (row[0] == "bind") {
        bindings.emplace(row[1], row[2]);
      } else if (row[0] == "list") {
        lists.emplace_back(row[1], row[2]);
      } else if (!row[0].empty()) {
        current = &vocabularies[row[0]];
        current->kind = row[1] == "bits"   ? Vocabulary::Kind::kBits
                        : row[1] == "mask" ? Vocabulary::Kind::kMask
                                           : Vocabulary::Kind::kEnum;
      } else if (current && current->kind == Vocabulary::Kind::kBits) {
        current->fields.push_back(parse_field(row, 1));
      } else if (current) {
        current->values.emplace_back(row.number(2), row[1]);
      }
    }
  }
};
const Fields& fields() {
  static const Fields all;
  return all;
}

struct Methods {
  struct Class {
    std::unordered_map<std::uint32_t, const Method*> exact;  // by address
    std::vector<const Method*> arrays;
  };
  std::deque<Method> storage;
  std::map<std::uint32_t, Class> classes;

  Methods() {
    for (const Row& row : rows(embedded_table("nv_methods"))) {
      if (row[0].empty()) {
        if (!storage.empty()) storage.back().fields.push_back(parse_field(row, 1));
        continue;
      }
      Method& method = storage.emplace_back();
      method.name = row[0];
      method.offset = static_cast<std::uint32_t>(row.number(1));
      method.stride = static_cast<std::uint32_t>(row.number(2));
      method.elements = std::max(1u, static_cast<std::uint32_t>(row.number(3)));
      list(row[4], &method);
    }
  }
  void list(std::string_view numbers, const Method* method) {
    while (!numbers.empty()) {
      const std::size_t end = std::min(numbers.find(','), numbers.size());
      std::uint32_t number = 0;
      std::from_chars(numbers.data(), numbers.data() + end, number, 16);
      Class& entry = classes[number];
      if (method->stride)
        entry.arrays.push_back(method);
      else
        entry.exact.emplace(method->offset, method);
      numbers.remove_prefix(std::min(end + 1, numbers.size()));
    }
  }
};
const Methods& methods() {
  static const Methods all;
  return all;
}

/// `NAME:VALUE` of the fields that are not zero, then the bits that no field covers.
std::string bits_text(const std::vector<ValueField>& parts, std::uint64_t value) {
  std::string out;
  std::uint64_t rest = value;
  for (const ValueField& field : parts) {
    const std::uint64_t mask = ((std::uint64_t{2} << (field.hi - field.lo)) - 1) << field.lo;
    const std::uint64_t part = (value & mask) >> field.lo;
    rest &= ~mask;
    if (part == 0) continue;
    out += fmt::format("{}{}:{}", out.empty() ? "" : "|", field.name, field.text(part));
  }
  if (rest && rest != value) out += fmt::format("{}{:#x}", out.empty() ? "" : "|", rest);
  return out;
}

std::string mask_text(const Values& values, std::uint64_t value) {
  std::string out;
  std::uint64_t rest = value;
  for (const auto& [bit, name] : values) {
    if (!(value & bit)) continue;
    out += fmt::format("{}{}", out.empty() ? "" : "|", name);
    rest &= ~bit;
  }
  if (rest && rest != value) out += fmt::format("|{:#x}", rest);
  return out;
}

}  // namespace

const Name* find_name(std::string_view kind, std::uint64_t value, std::string_view branch) {
  const auto found = names().kinds.find(kind);
  if (found == names().kinds.end()) return nullptr;
  const auto entry = found->second.find(value);
  if (entry == found->second.end()) return nullptr;
  for (const Name& name : entry->second)
    if (name.versions.empty() || lists(name.versions, branch)) return &name;
  return &entry->second.back();
}

std::vector<std::pair<std::uint64_t, const Name*>> all_names(std::string_view kind) {
  std::vector<std::pair<std::uint64_t, const Name*>> all;
  const auto found = names().kinds.find(kind);
  if (found == names().kinds.end()) return all;
  for (const auto& [value, entries] : found->second)
    for (const Name& name : entries) all.emplace_back(value, &name);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->name) < std::pair(b.first, b.second->name);
  });
  return all;
}

std::string name_text(std::string_view kind, std::uint64_t value, std::string_view branch) {
  const Name* name = find_name(kind, value, branch);
  return name ? std::string(name->name) : fmt::format("{:#x}", value);
}

std::string ValueField::text(std::uint64_t value) const {
  const std::string_view known = value_name(values, value);
  return known.empty() ? number_text(value) : std::string(known);
}

std::vector<std::pair<std::uint64_t, std::string_view>> parse_values(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t equal = item.rfind('=');
    std::uint64_t value = 0;
    if (equal != item.npos) {
      std::from_chars(item.data() + equal + 1, item.data() + item.size(), value);
      values.emplace_back(value, item.substr(0, equal));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

ValueField parse_field(const Row& row, std::size_t first_column) {
  ValueField field;
  field.name = row[first_column];
  field.hi = static_cast<std::uint32_t>(row.number(first_column + 1));
  field.lo = static_cast<std::uint32_t>(row.number(first_column + 2));
  field.values = parse_values(row[first_column + 3]);
  return field;
}

std::string Vocabulary::text(std::uint64_t value) const {
  if (kind == Kind::kEnum) {
    const std::string_view known = value_name(values, value);
    return known.empty() ? number_text(value) : std::string(known);
  }
  if (value == 0) return "0";
  const std::string parts =
      kind == Kind::kBits ? bits_text(fields, value) : mask_text(values, value);
  return parts.empty() ? number_text(value) : fmt::format("{:#x}{{{}}}", value, parts);
}

const Vocabulary* vocabulary(std::string_view name) {
  const auto found = fields().vocabularies.find(name);
  return found == fields().vocabularies.end() ? nullptr : &found->second;
}

std::string_view binding(std::string_view structure, std::string_view member) {
  const auto& known = fields().bindings;
  for (const std::string_view owner : {structure, std::string_view()}) {
    const auto found = known.find(fmt::format("{}.{}", owner, member));
    if (found != known.end()) return found->second;
  }
  return {};
}

const Vocabulary* list_vocabulary(std::string_view structure) {
  for (const auto& [part, name] : fields().lists)
    if (structure.find(fmt::format("_{}_", part)) != structure.npos) return vocabulary(name);
  return nullptr;
}

const StructTable& structs() {
  static const StructTable table(embedded_table("nv_structs"));
  return table;
}

MethodMatch find_method(std::uint32_t class_id, std::uint32_t address) {
  const auto found = methods().classes.find(class_id);
  if (found == methods().classes.end()) return {};
  if (const auto exact = found->second.exact.find(address); exact != found->second.exact.end())
    return {exact->second, 0};
  for (const Method* method : found->second.arrays) {
    if (address < method->offset || (address - method->offset) % method->stride) continue;
    const std::uint32_t index = (address - method->offset) / method->stride;
    if (index < method->elements) return {method, index};
  }
  return {};
}

bool has_methods(std::uint32_t class_id) { return methods().classes.contains(class_id); }

std::vector<std::pair<std::uint32_t, const Method*>> all_methods() {
  std::vector<std::pair<std::uint32_t, const Method*>> all;
  for (const auto& [number, entry] : methods().classes) {
    for (const auto& [address, method] : entry.exact) all.emplace_back(number, method);
    for (const Method* method : entry.arrays) all.emplace_back(number, method);
  }
  return all;
}

}  // namespace tiny::decode::nv
