// SPDX-License-Identifier: MIT
// The packet, register and bit tables of one AMD generation, indexed, and the printing of fields.
#pragma once

#include "tools/decode/amd.h"
#include "tools/decode/table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tiny::decode::amd {

/// A field applies where other fields have one of some values below 64.
struct Condition {
  std::size_t field = 0;  ///< index into the packet's fields
  std::uint64_t values = 0;
};
struct PacketField {
  std::string_view name;
  std::uint32_t dword = 0, hi = 0, lo = 0;
  std::string_view kind;
  std::vector<Condition> when;
};
struct PacketLayout {
  std::string_view name;
  std::uint32_t size_dw = 0;
  std::vector<PacketField> fields;
};

/// Names by value of PACKET.field.
using EnumNames = std::vector<std::pair<std::uint64_t, std::string_view>>;
/// Named parts of a word.
using Parts = std::vector<BitField>;

struct Register {
  std::string_view name;
  Parts parts;
};

/// What one generation's packets mean; `version` is the name in the tables' version columns.
class Vocabulary {
 public:
  Vocabulary(std::string_view packets, std::string_view version);
  void load_pm4_names();

  /// The layout of a packet: of several with one key the one with this size, else the first that
  /// is not conditional.
  const PacketLayout* find(std::uint32_t key, std::uint32_t size_dw) const;
  const PacketLayout* find(std::uint32_t key, std::string_view name) const;
  std::string_view opcode_name(std::uint32_t opcode) const;  ///< empty where unknown
  const Register* find_register(std::uint32_t offset) const;
  const Parts* find_parts(std::string_view word) const;
  const EnumNames* find_enum(std::string_view packet, std::string_view field) const;

 private:
  void load_packets(std::string_view table);
  void load_registers();

  std::string_view version_;
  std::unordered_map<std::uint32_t, std::vector<PacketLayout>> packets_;
  std::unordered_map<std::uint32_t, std::string_view> opcodes_;
  std::unordered_map<std::uint32_t, Register> registers_;
  std::unordered_map<std::string_view, Parts> parts_;
  std::unordered_map<std::string, EnumNames> enums_;
};
const Vocabulary& vocabulary(Gfx gfx);
const Vocabulary& vocabulary(Sdma version);

/// `0x8005{COMPUTE_SHADER_EN,ORDER_MODE=2}`; `unk=…` for bits without a name.
std::string parts_text(std::uint64_t value, const Parts& parts);
/// A register's value with its parts; null where it has none.
std::string register_text(std::uint32_t value, const Register* reg);
/// The name of a register by its absolute dword offset, else hex.
std::string register_name(const Vocabulary& words, std::uint64_t offset);

/// Appends the fields of a packet. `header_mask` are the bits of dword 0 that the packet's name
/// already tells.
void add_fields(Line& line, const PacketLayout& layout, Words packet, std::uint32_t header_mask,
                const Vocabulary& words, const Symbols& symbols);
/// `[0x1,0x2,…+5]`
std::string word_list(Words words, std::size_t limit = 16);

}  // namespace tiny::decode::amd
