// SPDX-License-Identifier: MIT
#include "tools/decode/qcom.h"
#include "tools/decode/qcom_packets.h"
#include "tools/decode/table.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace tiny::decode {
namespace {

using qcom::Packet;
using qcom::PacketKind;

/// Words of a packet or of a gap that are printed; the rest is counted.
constexpr std::size_t kShownWords = 16;
/// Elements that an array of registers may have; the fact tables do not say how many.
constexpr std::uint32_t kArrayElements = 64;

constexpr std::size_t kGenerations = 2;
std::size_t index_of(AdrenoGeneration generation) {
  return generation == AdrenoGeneration::a7xx ? 1 : 0;
}

struct FieldLayout {
  std::uint32_t dword = 0, lo = 0, hi = 31;
  std::string_view name, type;
  std::uint32_t shift = 0;
  std::string_view selector = {};  ///< the field is there only where this one has `selected`
  std::uint64_t selected = 0;
};

struct Register {
  std::string_view name;
  std::uint32_t stride = 0;  ///< of an array
  bool is_wide = false;      ///< an address, low half first
  std::vector<FieldLayout> fields;
};
using RegisterFile = std::map<std::uint32_t, Register>;

struct Opcode {
  std::string_view name;
  std::vector<FieldLayout> fields;
};

bool holds(std::string_view generations, std::size_t index) {
  return generations.find(index == 1 ? '7' : '6') != std::string_view::npos;
}

/// The vocabulary of both generations.
struct Tables {
  std::array<RegisterFile, kGenerations> registers;
  std::array<std::map<std::uint32_t, Opcode>, kGenerations> opcodes;
  std::array<std::map<std::pair<std::string_view, std::uint64_t>, std::string_view>, kGenerations>
      names;

  Tables() {
    load_registers();
    load_packets();
  }

 private:
  void load_registers() {
    std::array<RegisterFile, kGenerations> listed;
    std::vector<FieldLayout>* fields = nullptr;
    for (const Row& row : rows(embedded_table("adreno_regs"))) {
      if (row[0].empty()) {
        if (fields) fields->push_back(register_field(row));
        continue;
      }
      Register reg{row[2], 0, row[3] == "reg64", {}};
      if (row[3].starts_with("array")) reg.stride = row[3] == "array2" ? 2 : 1;
      const auto offset = static_cast<std::uint32_t>(row.number(0));
      Register& entry = listed[holds(row[1], 1) ? 1 : 0][offset] = std::move(reg);
      fields = &entry.fields;
    }
    registers[0] = listed[0];
    registers[1] = std::move(listed[1]);
    registers[1].insert(listed[0].begin(), listed[0].end());  // keeps what gen 7 has of its own
  }

  static FieldLayout register_field(const Row& row) {
    return {0,
            static_cast<std::uint32_t>(row.number(2)),
            static_cast<std::uint32_t>(row.number(3)),
            row[1],
            row[4],
            static_cast<std::uint32_t>(row.number(5))};
  }

  void load_packets() {
    std::array<std::vector<FieldLayout>*, kGenerations> fields{};
    for (const Row& row : rows(embedded_table("adreno_packets"))) {
      for (std::size_t g = 0; g < kGenerations; ++g) {
        if (row[0] == "opcode") {
          fields[g] = nullptr;
          if (!holds(row[2], g)) continue;
          Opcode& opcode = opcodes[g][static_cast<std::uint32_t>(row.number(1))];
          opcode = {row[3], {}};
          fields[g] = &opcode.fields;
        } else if (row[0] == "enum") {
          // A name that is only this generation's comes later and replaces the common one.
          if (holds(row[3], g)) names[g][{row[1], row.number(2)}] = row[4];
        } else if (fields[g]) {
          fields[g]->push_back(packet_field(row));
        }
      }
    }
  }

  static FieldLayout packet_field(const Row& row) {
    return {static_cast<std::uint32_t>(row.number(1)),
            static_cast<std::uint32_t>(row.number(2)),
            static_cast<std::uint32_t>(row.number(3)),
            row[4],
            row[5],
            static_cast<std::uint32_t>(row.number(6)),
            row[7],
            row.number(8)};
  }
};

const Tables& tables() {
  static const Tables loaded;
  return loaded;
}

/// `[0x1,0x2,…+5]`
std::string words_text(Words words) {
  std::string out = "[";
  const std::size_t shown = std::min(words.size(), kShownWords);
  for (std::size_t i = 0; i < shown; ++i) out += fmt::format("{}{:#x}", i ? "," : "", words[i]);
  if (shown < words.size()) out += fmt::format(",…+{}", words.size() - shown);
  return out + "]";
}

/// `r3.x`; registers from r48 on are shared by a wave, 0xfc is none.
std::string register_id_text(std::uint64_t id) {
  return id == 0xfc ? "none" : fmt::format("r{}.{}", id >> 2, "xyzw"[id & 3]);
}

struct FoundRegister {
  const Register* reg = nullptr;
  std::string name;
  bool is_high = false;   ///< the upper half of an address
  bool is_other = false;  ///< known to the other generation only
};

class Decoder {
 public:
  Decoder(AdrenoGeneration generation, const Symbols& symbols)
      : index_(index_of(generation)), symbols_(symbols) {}

  std::vector<Line> operator()(Words words) {
    Packet packet;
    for (qcom::PacketReader reader(words); reader.next(packet);) add(packet);
    return std::move(lines_);
  }

 private:
  void add(const Packet& packet) {
    switch (packet.kind) {
      case PacketKind::registers:
        add_registers(packet);
        break;
      case PacketKind::command:
        add_command(packet);
        break;
      case PacketKind::padding:
        add_padding(packet);
        break;
      case PacketKind::bad:
        add_bad(packet);
        break;
    }
  }

  void add_padding(const Packet& packet) {
    Line line;
    line.name = "PADDING";
    line.add("words", fmt::format("{}", packet.count));
    lines_.push_back(std::move(line));
  }

  void add_bad(const Packet& packet) {
    Line line;
    line.name = "BAD";
    line.add("at", fmt::format("{:#x}", packet.at * 4));
    line.add("error", "\"" + qcom::header_error(packet.header) + "\"");
    line.add("words", fmt::format("{}", packet.count));
    line.add("data", words_text(packet.body));
    lines_.push_back(std::move(line));
  }

  // ---- Registers ----

  FoundRegister find(std::uint32_t offset) const {
    FoundRegister found = find(tables().registers[index_], offset);
    if (!found.reg) {
      found = find(tables().registers[1 - index_], offset);
      found.is_other = found.reg != nullptr;
    }
    if (!found.reg) found.name = fmt::format("REG_{:#06x}", offset);
    if (found.is_other) found.name += index_ == 0 ? "(a7xx)" : "(a6xx)";
    return found;
  }

  static FoundRegister find(const RegisterFile& file, std::uint32_t offset) {
    auto at = file.upper_bound(offset);
    if (at == file.begin()) return {};
    const auto& [base, reg] = *--at;
    const std::uint32_t distance = offset - base;
    if (reg.stride != 0 && distance < reg.stride * kArrayElements) {
      const bool high = distance % reg.stride == 1;
      return {&reg, fmt::format("{}[{}]{}", reg.name, distance / reg.stride, high ? "_HI" : ""),
              high, false};
    }
    if (distance == 0) return {&reg, std::string(reg.name), false, false};
    if (distance == 1 && reg.is_wide) return {&reg, fmt::format("{}_HI", reg.name), true, false};
    return {};
  }

  void add_registers(const Packet& packet) {
    const Words body = packet.body;
    for (std::size_t i = 0; i < body.size();) {
      const auto offset = packet.target + static_cast<std::uint32_t>(i);
      i += add_register(offset, body.subspan(i));
    }
    if (packet.missing == 0 && packet.count != 0) return;
    Line line;
    line.name = find(packet.target).name;
    line.add("count", fmt::format("{}", packet.count));
    if (packet.missing) line.add("truncated", fmt::format("{}", packet.missing));
    lines_.push_back(std::move(line));
  }

  /// Words that the register took: two where an address is written whole.
  std::size_t add_register(std::uint32_t offset, Words values) {
    const FoundRegister found = find(offset);
    const bool wide = found.reg && !found.is_high &&
                      (found.reg->is_wide || found.reg->stride == 2) && values.size() > 1;
    const std::uint64_t value = extract_bits(values, wide ? 63 : 31, 0);
    Line line;
    line.name = found.name;
    line.add("value", wide ? address(value) : fmt::format("{:#x}", value));
    if (found.reg && !found.is_high)
      add_register_fields(line, *found.reg, values.first(wide ? 2 : 1));
    lines_.push_back(std::move(line));
    return wide ? 2 : 1;
  }

  void add_register_fields(Line& line, const Register& reg, Words value) {
    if (reg.fields.empty()) return;
    std::uint64_t rest = extract_bits(value, value.size() * 32 - 1, 0);
    for (const FieldLayout& field : reg.fields) {
      rest &= ~mask(field.lo, field.hi);
      const std::uint64_t bits = extract_bits(value, field.hi, field.lo);
      if (bits != 0 || field.type == "a3xx_regid") line.add(field.name, field_text(field, bits));
    }
    if (rest != 0) line.add_hex("unk", rest);
  }

  static std::uint64_t mask(std::uint32_t lo, std::uint32_t hi) {
    const std::uint32_t width = hi - lo + 1;
    return (width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1) << lo;
  }

  // ---- Commands ----

  void add_command(const Packet& packet) {
    Line line;
    const auto& opcodes = tables().opcodes[index_];
    const auto known = opcodes.find(packet.target);
    line.name = known == opcodes.end() ? fmt::format("CP_{:#04x}", packet.target)
                                       : std::string(known->second.name);
    std::vector<std::uint32_t> unknown(packet.body.begin(), packet.body.end());
    std::vector<bool> covered(unknown.size());
    if (known != opcodes.end())
      for (std::size_t base = 0; base < packet.body.size();) {
        add_fields(line, known->second, packet.body.subspan(base), base, unknown, covered);
        if (line.name != "CP_SET_PSEUDO_REG") break;
        base += 3;  // triples of register and value
      }
    add_rest(line, unknown, covered);
    if (packet.missing) line.add("truncated", fmt::format("{}", packet.missing));
    lines_.push_back(std::move(line));
    if (line_is_register_list(packet)) add_register_pairs(packet.body);
  }

  static bool line_is_register_list(const Packet& packet) {
    constexpr std::uint32_t kContextRegBunch = 0x5c;
    return packet.target == kContextRegBunch;
  }

  /// CP_CONTEXT_REG_BUNCH: pairs of register and value.
  void add_register_pairs(Words body) {
    for (std::size_t i = 0; i + 1 < body.size(); i += 2)
      add_register(body[i] & 0x3ffff, body.subspan(i + 1, 1));
  }

  void add_fields(Line& line, const Opcode& opcode, Words body, std::size_t base,
                  std::vector<std::uint32_t>& unknown, std::vector<bool>& covered) {
    for (const FieldLayout& field : opcode.fields) {
      if (field.dword + field.hi / 32 >= body.size() || !selected(opcode, field, body)) continue;
      const Words words = body.subspan(field.dword);
      const std::uint64_t bits = extract_bits(words, field.hi, field.lo);
      for (std::uint32_t w = 0; w <= field.hi / 32; ++w) {
        covered[base + field.dword + w] = true;
        unknown[base + field.dword + w] &= static_cast<std::uint32_t>(
            w == 0 ? ~mask(field.lo, field.hi) : ~mask(field.lo, field.hi) >> 32);
      }
      if (bits != 0 || field.type != "boolean") line.add(field.name, field_text(field, bits));
    }
  }

  static bool selected(const Opcode& opcode, const FieldLayout& field, Words body) {
    if (field.selector.empty()) return true;
    for (const FieldLayout& selector : opcode.fields)
      if (selector.name == field.selector && selector.selector.empty())
        return selector.dword < body.size() &&
               extract_bits(body.subspan(selector.dword), selector.hi, selector.lo) ==
                   field.selected;
    return false;
  }

  /// Words without fields as data, bits without fields by their word.
  static void add_rest(Line& line, const std::vector<std::uint32_t>& unknown,
                       const std::vector<bool>& covered) {
    std::size_t end = 0;  // fields are dense from the front, data follow
    for (std::size_t i = 0; i < covered.size(); ++i)
      if (covered[i]) end = i + 1;
    for (std::size_t i = 0; i < end; ++i)
      if (unknown[i] != 0) line.add_hex(fmt::format("unk{}", i), unknown[i]);
    if (end < unknown.size()) line.add("data", words_text(Words(unknown).subspan(end)));
  }

  // ---- Values ----

  std::string address(std::uint64_t value) const {
    return value == 0 ? "0" : symbols_.address(value);
  }

  std::string field_text(const FieldLayout& field, std::uint64_t bits) const {
    if (field.type == "address") return address(bits << field.shift);
    if (field.type == "register") return find(static_cast<std::uint32_t>(bits)).name;
    if (field.type == "a3xx_regid") return register_id_text(bits);
    if (field.shift) return fmt::format("{:#x}", bits << field.shift);
    if (field.type == "boolean" || field.type == "uint") return fmt::format("{}", bits);
    const auto& names = tables().names[index_];
    const auto name = names.find({field.type, bits});
    return name == names.end() ? number_text(bits) : std::string(name->second);
  }

  std::size_t index_;
  const Symbols& symbols_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> decode_adreno(Words words, AdrenoGeneration generation, const Symbols& symbols) {
  return Decoder(generation, symbols)(words);
}

}  // namespace tiny::decode
