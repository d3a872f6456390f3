// SPDX-License-Identifier: MIT
// The micro-op: a decoded instruction bound to the function that executes it, and the table that
// binds mnemonics to functions. Private to this folder.
#pragma once

#include "models/amd/isa/wave.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tiny::models::amd {

struct Op;
using Execute = void (*)(Wave&, const Op&);

/// A source as the micro-op reads it.
struct Source {
  Operand::Kind kind = Operand::Kind::off;
  uint8_t dwords = 1;
  uint8_t mods = 0;  ///< Operand::mods
  uint16_t reg = 0;
  int64_t imm = 0;
  // SDWA: 0–3 byte, 4–5 word, 6 dword.
  uint8_t select = 6;
  bool sign_extend = false;
  bool neg() const { return mods & 1; }
  bool abs() const { return mods & 2; }
};

struct Range {
  uint16_t first, count;
};

struct Row;

struct Op {
  Execute execute = nullptr;
  uint8_t size_B = 0;
  uint8_t source_count = 0;
  Form form = Form::plain;
  bool uses_round32 = false, uses_round64 = false;
  uint16_t max_vgpr = 0;  ///< one above the highest VGPR named
  Source dst, sdst;       ///< sdst: the second destination (carry, VCC) or the mask of a compare
  Source src[6];
  bool clamp = false;
  uint8_t omod = 0;
  bool dst_hi = false;  ///< VOP3 op_sel of the destination
  // DPP
  uint16_t dpp = 0;          ///< dpp_ctrl
  int8_t dpp_from[64] = {};  ///< source lane of each lane; -1: outside the row
  bool fetch_inactive = false, bound_ctrl = false;
  uint8_t row_mask = 15, bank_mask = 15;
  // SDWA
  uint8_t dst_select = 6, dst_unused = 0;
  // memory
  int32_t offset = 0;
  uint8_t offset0 = 0, offset1 = 0;
  CachePolicy policy;
  bool returns = false;  ///< an atomic that returns the old value
  bool tfe = false;
  bool vector_load = false;  ///< returns in order with its like
  uint8_t addressing = 0;
  uint32_t param = 0;  ///< of the row: comparison, atomic op, size …
  const Row* row = nullptr;
  Op* second = nullptr;  ///< VOPD's other half
  bool overlap = false;  ///< VOPD: the second half reads what the first writes
  // hazards
  uint8_t vread_count = 0, vwrite_count = 0, sread_count = 0, swrite_count = 0;
  Range vread[8], vwrite[4], sread[12], swrite[4];
  // control flow
  mutable const Op* next = nullptr;   ///< fall through
  mutable const Op* taken = nullptr;  ///< last taken branch
  mutable uint64_t taken_pc = ~0ull;
  uint64_t pc = 0;
  bool gfx11 = true;
  uint8_t bytes[20] = {};        ///< the first size_B
  mutable uint64_t checked = 0;  ///< CodeCache's invalidations when memory last had these bytes
  std::string text;
};

/// One mnemonic: `sources` is how many operands are source values (VOPD needs it to split).
struct Row {
  std::string_view name;
  Execute execute;
  uint8_t sources = 0;
  uint32_t param = 0;
  uint8_t round = 0;  ///< 1: depends on MODE.round32, 2: on MODE.round64
};

const Row* find_row(std::string_view name);
std::span<const std::span<const Row>> all_rows();

// The families, each in its file.
std::span<const Row> salu_rows();
std::span<const Row> sopp_rows();
std::span<const Row> valu_integer_rows();
std::span<const Row> valu_float_rows();
std::span<const Row> valu_f16_rows();
std::span<const Row> valu_convert_rows();
std::span<const Row> valu_compare_rows();
std::span<const Row> valu_division_rows();
std::span<const Row> valu_lane_rows();
std::span<const Row> valu_packed_rows();
std::span<const Row> valu_matrix_rows();
std::span<const Row> lds_rows();
std::span<const Row> vector_memory_rows();
std::span<const Row> scalar_memory_rows();

// ---- scalar operands
/// Value and poison of a scalar source; 64-bit sources read a register pair.
uint32_t read32(const Wave& wave, const Source& source, uint32_t* poison = nullptr);
uint64_t read64(const Wave& wave, const Source& source, uint64_t* poison = nullptr);
void write32(Wave& wave, const Source& dst, uint32_t value, uint32_t poison);
void write64(Wave& wave, const Source& dst, uint64_t value, uint64_t poison);
/// A lane mask: 32 or 64 bits by the wave's size.
uint64_t read_mask(const Wave& wave, const Source& source, uint64_t* poison = nullptr);
void write_mask(Wave& wave, const Source& dst, uint64_t value, uint64_t poison);

}  // namespace tiny::models::amd
