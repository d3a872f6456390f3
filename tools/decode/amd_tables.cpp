// SPDX-License-Identifier: MIT
#include "tools/decode/amd_tables.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

namespace tiny::decode::amd {
namespace {

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::uint32_t number(std::string_view text) {
  return static_cast<std::uint32_t>(Row(text).number(0));
}

bool has_version(std::string_view versions, std::string_view version) {
  if (versions == "*") return true;
  while (!versions.empty())
    if (take(versions, ',') == version) return true;
  return false;
}

/// `mem_space=0&operation=0,2` against the fields read so far.
std::vector<Condition> parse_when(std::string_view when, const std::vector<PacketField>& fields) {
  std::vector<Condition> conditions;
  while (!when.empty()) {
    std::string_view one = take(when, '&');
    const std::string_view name = take(one, '=');
    Condition condition;
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const PacketField& f) { return f.name == name; });
    if (found == fields.end()) continue;
    condition.field = static_cast<std::size_t>(found - fields.begin());
    while (!one.empty()) condition.values |= std::uint64_t{1} << (number(take(one, ',')) & 63);
    conditions.push_back(condition);
  }
  return conditions;
}

/// `NAME:hi:lo NAME:hi:lo`
Parts parse_parts(std::string_view text) {
  Parts parts;
  while (!text.empty()) {
    std::string_view one = take(text, ' ');
    const std::string_view name = take(one, ':');
    const std::uint32_t hi = number(take(one, ':'));
    parts.push_back({name, hi, number(one)});
  }
  return parts;
}

std::uint64_t field_value(const PacketField& field, Words packet) {
  if (field.dword >= packet.size()) return 0;
  return extract_bits(packet.subspan(field.dword), field.hi, field.lo);
}

bool applies(const PacketField& field, const PacketLayout& layout, Words packet) {
  return std::all_of(field.when.begin(), field.when.end(), [&](const Condition& condition) {
    const std::uint64_t value = field_value(layout.fields[condition.field], packet);
    return value < 64 && (condition.values >> value & 1);
  });
}

std::string named(const EnumNames& names, std::uint64_t value) {
  for (const auto& [known, name] : names)
    if (known == value) return std::string(name);
  return number_text(value);
}

struct FieldPrinter {
  const PacketLayout& layout;
  const Vocabulary& words;
  const Symbols& symbols;

  std::string operator()(const PacketField& field, std::uint64_t value) const {
    if (field.kind == "addr") return symbols.address(value << field.lo);
    if (field.kind == "addr8") return symbols.address(value << 8);
    if (field.kind == "reg") return register_name(words, value);
    if (field.kind.starts_with("bits:")) {
      const Parts* parts = words.find_parts(field.kind.substr(5));
      return parts ? parts_text(value, *parts) : number_text(value);
    }
    const EnumNames* names = field.kind == "event" ? words.find_enum("VGT_EVENT_TYPE", {})
                                                   : words.find_enum(layout.name, field.name);
    return names ? named(*names, value) : number_text(value);
  }
};

/// Which bits of the packet's dwords its fields cover.
class Coverage {
 public:
  explicit Coverage(std::size_t size_dw) : masks_(size_dw) {}
  void add(const PacketField& field) {
    for (std::uint32_t bit = field.lo; bit <= field.hi; ++bit) {
      const std::size_t dword = field.dword + bit / 32;
      if (dword < masks_.size()) masks_[dword] |= 1u << bit % 32;
    }
  }
  std::uint32_t operator[](std::size_t dword) const { return masks_[dword]; }

 private:
  std::vector<std::uint32_t> masks_;
};

std::array<Vocabulary, 5> load_pm4() {
  const std::string_view table = embedded_table("amd_pm4");
  std::array<Vocabulary, 5> all{Vocabulary(table, "9"), Vocabulary(table, "10"),
                                Vocabulary(table, "10.3"), Vocabulary(table, "11"),
                                Vocabulary(table, "12")};
  for (Vocabulary& words : all) words.load_pm4_names();
  return all;
}

std::array<Vocabulary, 5> load_sdma() {
  const std::string_view table = embedded_table("amd_sdma");
  return {Vocabulary(table, "4.0"), Vocabulary(table, "5.0"), Vocabulary(table, "5.2"),
          Vocabulary(table, "6.0"), Vocabulary(table, "7.0")};
}

}  // namespace

Vocabulary::Vocabulary(std::string_view packets, std::string_view version) : version_(version) {
  load_packets(packets);
  for (const Row& row : rows(embedded_table("amd_bits"))) {
    // The copy engines' only word with parts (GCR_CNTL) is the same in every version.
    if (!has_version(row[4], version_)) continue;
    parts_[row[0]].push_back({row[1], static_cast<std::uint32_t>(row.number(2)),
                              static_cast<std::uint32_t>(row.number(3))});
  }
}

void Vocabulary::load_packets(std::string_view table) {
  PacketLayout* current = nullptr;
  for (const Row& row : rows(table)) {
    if (!row[0].empty()) {
      current = nullptr;
      if (!has_version(row[3], version_)) continue;
      auto& layouts = packets_[static_cast<std::uint32_t>(row.number(1))];
      layouts.push_back({row[0], static_cast<std::uint32_t>(row.number(2)), {}});
      current = &layouts.back();
    } else if (current) {
      current->fields.push_back({row[1], number(row[2]), number(row[3]), number(row[4]), row[5],
                                 parse_when(row[6], current->fields)});
    }
  }
}

void Vocabulary::load_pm4_names() {
  for (const Row& row : rows(embedded_table("amd_pm4_opcodes")))
    if (has_version(row[2], version_)) opcodes_[number(row[1])] = row[0];
  for (const Row& row : rows(embedded_table("amd_pm4_enums"))) {
    if (!has_version(row[1], version_)) continue;
    EnumNames& names = enums_[std::string(row[0])];
    for (std::string_view rest = row[2]; !rest.empty();) {
      std::string_view one = take(rest, ' ');
      const std::uint32_t value = number(take(one, '='));
      names.emplace_back(value, one);
    }
  }
  load_registers();
}

void Vocabulary::load_registers() {
  const std::string_view gc = version_ == "10" ? "10.3" : version_;  // the nearest that is known
  for (const Row& row : rows(embedded_table("amd_regs")))
    if (has_version(row[2], gc))
      registers_.try_emplace(number(row[1]), Register{row[0], parse_parts(row[3])});
}

const PacketLayout* Vocabulary::find(std::uint32_t key, std::uint32_t size_dw) const {
  const auto found = packets_.find(key);
  if (found == packets_.end()) return nullptr;
  const PacketLayout* best = nullptr;
  for (const PacketLayout& layout : found->second) {
    const bool conditional = layout.name.starts_with("COND_INDIRECT");
    if (conditional ? layout.size_dw == size_dw : !best) best = &layout;
  }
  return best ? best : &found->second.front();
}

const PacketLayout* Vocabulary::find(std::uint32_t key, std::string_view name) const {
  const auto found = packets_.find(key);
  if (found == packets_.end()) return nullptr;
  for (const PacketLayout& layout : found->second)
    if (layout.name == name) return &layout;
  return nullptr;
}

std::string_view Vocabulary::opcode_name(std::uint32_t opcode) const {
  const auto found = opcodes_.find(opcode);
  return found == opcodes_.end() ? std::string_view() : found->second;
}

const Register* Vocabulary::find_register(std::uint32_t offset) const {
  const auto found = registers_.find(offset);
  return found == registers_.end() ? nullptr : &found->second;
}

const Parts* Vocabulary::find_parts(std::string_view word) const {
  const auto found = parts_.find(word);
  return found == parts_.end() ? nullptr : &found->second;
}

const EnumNames* Vocabulary::find_enum(std::string_view packet, std::string_view field) const {
  std::string key(packet);
  if (!field.empty()) key.append(".").append(field);
  const auto found = enums_.find(key);
  return found == enums_.end() ? nullptr : &found->second;
}

const Vocabulary& vocabulary(Gfx gfx) {
  static const std::array<Vocabulary, 5> all = load_pm4();
  return all[static_cast<std::size_t>(gfx)];
}

const Vocabulary& vocabulary(Sdma version) {
  static const std::array<Vocabulary, 5> all = load_sdma();
  return all[static_cast<std::size_t>(version)];
}

std::string parts_text(std::uint64_t value, const Parts& parts) {
  std::string text;
  std::uint64_t rest = value;
  for (const BitField& part : parts) {
    const std::uint64_t mask = ((std::uint64_t{2} << (part.hi - part.lo)) - 1) << part.lo;
    const std::uint64_t here = (value & mask) >> part.lo;
    rest &= ~mask;
    if (here == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ",", part.name);
    if (part.hi != part.lo) text += "=" + number_text(here);
  }
  if (rest) text += fmt::format("{}unk={:#x}", text.empty() ? "" : ",", rest);
  return text.empty() ? number_text(value) : fmt::format("{:#x}{{{}}}", value, text);
}

std::string register_text(std::uint32_t value, const Register* reg) {
  // One part that is called DATA says no more than the register's name.
  const bool plain = !reg || reg->parts.empty() || reg->parts[0].name == "DATA";
  return plain ? number_text(value) : parts_text(value, reg->parts);
}

std::string register_name(const Vocabulary& words, std::uint64_t offset) {
  const Register* reg = words.find_register(static_cast<std::uint32_t>(offset));
  return reg && offset <= 0xffffffff ? std::string(reg->name) : fmt::format("{:#x}", offset);
}

void add_fields(Line& line, const PacketLayout& layout, Words packet, std::uint32_t header_mask,
                const Vocabulary& words, const Symbols& symbols) {
  const Words known = packet.first(std::min<std::size_t>(packet.size(), layout.size_dw));
  const FieldPrinter print{layout, words, symbols};
  Coverage covered(known.size());
  for (const PacketField& field : layout.fields) {
    if (field.dword >= known.size() || !applies(field, layout, packet)) continue;
    covered.add(field);
    const std::uint64_t value = field_value(field, known);
    if (field.dword + field.hi / 32 >= known.size()) {  // the upper half is cut off
      line.add_hex(fmt::format("{}[31:0]", field.name), value << field.lo);
      continue;
    }
    if (value != 0 || field.hi - field.lo + 1 >= 30) line.add(field.name, print(field, value));
  }
  for (std::size_t i = 0; i < known.size(); ++i)
    if (const std::uint32_t rest = known[i] & ~covered[i] & ~(i == 0 ? header_mask : 0))
      line.add_hex(fmt::format("unk_dw{}", i), rest);
}

std::string word_list(Words words, std::size_t limit) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(words.size(), limit); ++i)
    text += (i ? "," : "") + fmt::format("{:#x}", words[i]);
  if (words.size() > limit) text += fmt::format(",…+{}", words.size() - limit);
  return text + "]";
}

}  // namespace tiny::decode::amd
