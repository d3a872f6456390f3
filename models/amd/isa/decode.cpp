// SPDX-License-Identifier: MIT
// Binding decoded instructions to table rows. Operands come from LLVM; the fields that modify them
// (DPP, SDWA, cache policy, memory offsets) are read from the encoding, as published in the RDNA2
// and RDNA3 instruction set documents.
#include "models/amd/isa/decode.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

namespace tiny::models::amd {
namespace {

uint32_t bits(uint32_t word, unsigned at, unsigned count) {
  return word >> at & ((1u << count) - 1);
}
int32_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

Source to_source(const Operand& o) {
  Source s;
  s.kind = o.kind;
  s.dwords = o.dwords;
  s.mods = o.mods;
  s.reg = o.reg;
  s.imm = o.imm;
  return s;
}

Source scalar_source(uint16_t reg, uint8_t dwords) {
  Source s;
  s.kind = Operand::Kind::scalar;
  s.reg = reg;
  s.dwords = dwords;
  return s;
}

void add(Range* ranges, uint8_t& count, unsigned limit, unsigned first, unsigned size) {
  CHECK_INVARIANT(count < limit, "an instruction with more registers than a micro-op holds");
  ranges[count++] = {static_cast<uint16_t>(first), static_cast<uint16_t>(size)};
}

/// The registers that the scoreboard must check.
void note_registers(const Instruction& inst, Op& op) {
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    const Operand& o = inst.operands[i];
    const bool dst = i < inst.defs;
    if (o.kind == Operand::Kind::vgpr) {
      op.max_vgpr = std::max<uint16_t>(op.max_vgpr, static_cast<uint16_t>(o.reg + o.dwords));
      if (dst)
        add(op.vwrite, op.vwrite_count, 4, o.reg, o.dwords);
      else
        add(op.vread, op.vread_count, 8, o.reg, o.dwords);
    } else if (o.kind == Operand::Kind::scalar && o.reg != kNull) {
      if (dst)
        add(op.swrite, op.swrite_count, 4, o.reg, o.dwords);
      else
        add(op.sread, op.sread_count, 12, o.reg, o.dwords);
    }
  }
  for (const ImplicitUse& use : inst.implicit) {
    if (use.reg != kVccLo && use.reg != kVccHi) continue;
    if (use.written)
      add(op.swrite, op.swrite_count, 4, use.reg, 1);
    else
      add(op.sread, op.sread_count, 12, use.reg, 1);
  }
}

bool is_compare(std::string_view name) { return name.starts_with("V_CMP"); }

/// Source lane of each lane under a DPP control (RDNA2/3 "DPP_CTRL enumeration").
bool dpp_lanes(unsigned ctrl, int8_t* from) {
  for (int l = 0; l < 64; ++l) {
    const int row = l & ~15, in = l & 15, n = static_cast<int>(ctrl & 15);
    int at;
    if (ctrl < 0x100)
      at = (l & ~3) | static_cast<int>(ctrl >> (2 * (l & 3)) & 3);
    else if (ctrl > 0x100 && ctrl < 0x110)
      at = in + n > 15 ? -1 : l + n;
    else if (ctrl > 0x110 && ctrl < 0x120)
      at = in - n < 0 ? -1 : l - n;
    else if (ctrl > 0x120 && ctrl < 0x130)
      at = row | ((in - n) & 15);
    else if (ctrl == 0x140)
      at = row | (15 - in);
    else if (ctrl == 0x141)
      at = (l & ~7) | (7 - (l & 7));
    else if (ctrl >= 0x150 && ctrl < 0x160)
      at = row | n;
    else if (ctrl >= 0x160 && ctrl < 0x170)
      at = row | (in ^ n);
    else
      return false;
    from[l] = static_cast<int8_t>(at);
  }
  return true;
}

bool read_dpp16(const Instruction& inst, uint32_t word, Op& op, std::string& problem) {
  op.fetch_inactive = bits(word, 18, 1);
  op.bound_ctrl = bits(word, 19, 1);
  op.bank_mask = static_cast<uint8_t>(bits(word, 24, 4));
  op.row_mask = static_cast<uint8_t>(bits(word, 28, 4));
  if (dpp_lanes(bits(word, 8, 9), op.dpp_from)) return true;
  problem = fmt::format("DPP control {:#x} of {} is not modelled", bits(word, 8, 9), inst.text);
  return false;
}

void read_dpp8(uint32_t word, uint32_t source, Op& op) {
  constexpr uint32_t kFetchInactive = 0xea;
  op.fetch_inactive = (source & 0x1ff) == kFetchInactive;
  for (unsigned l = 0; l < 64; ++l)
    op.dpp_from[l] = static_cast<int8_t>((l & ~7u) | bits(word, 8 + 3 * (l & 7), 3));
}

void read_sdwa(uint32_t word, bool compare, Op& op) {
  if (!compare) {
    op.dst_select = static_cast<uint8_t>(bits(word, 8, 3));
    op.dst_unused = static_cast<uint8_t>(bits(word, 11, 2));
  }
  op.src[0].select = static_cast<uint8_t>(bits(word, 16, 3));
  op.src[0].sign_extend = bits(word, 19, 1);
  op.src[1].select = static_cast<uint8_t>(bits(word, 24, 3));
  op.src[1].sign_extend = bits(word, 27, 1);
}

bool read_form(const Instruction& inst, Op& op, std::string& problem) {
  switch (inst.form) {
    case Form::dpp16:
      return read_dpp16(inst, inst.words[1], op, problem);
    case Form::e64_dpp16:
      return read_dpp16(inst, inst.words[2], op, problem);
    case Form::dpp8:
      read_dpp8(inst.words[1], inst.words[0], op);
      return true;
    case Form::e64_dpp8:
      read_dpp8(inst.words[2], inst.words[1], op);
      return true;
    case Form::sdwa:
      read_sdwa(inst.words[1], is_compare(inst.name), op);
      return true;
    default:
      return true;
  }
}

bool add_source(const Instruction& inst, const Operand& o, Op& op, std::string& problem) {
  if (o.kind == Operand::Kind::unsupported) {
    problem = fmt::format("an operand of {} is not modelled", inst.text);
    return false;
  }
  constexpr unsigned kMost = sizeof op.src / sizeof op.src[0];
  CHECK_INVARIANT(op.source_count < kMost, "too many sources: " + inst.text);
  op.src[op.source_count++] = to_source(o);
  return true;
}

bool takes_halves(std::string_view name) {
  return name == "V_DOT2C_F32_F16" || name == "V_DOT2ACC_F32_F16" || name == "V_PK_FMAC_F16";
}

bool make_vector(const Instruction& inst, Op& op, std::string& problem) {
  const uint8_t mask_dwords = 2;  // a mask read in wave32 takes the first
  op.sdst = scalar_source(inst.name.starts_with("V_CMPX") ? kExecLo : kVccLo, mask_dwords);
  const bool compare = is_compare(inst.name);
  if (inst.defs > 0) (compare ? op.sdst : op.dst) = to_source(inst.operands[0]);
  if (inst.defs > 1) op.sdst = to_source(inst.operands[1]);
  for (size_t i = inst.defs; i < inst.operands.size(); ++i) {
    const Operand& o = inst.operands[i];
    if (o.kind == Operand::Kind::immediate && o.generic) continue;
    const bool dpp = is_dpp(op);
    if (dpp && i == inst.defs && o.tied) continue;  // the old value, kept by the write mask
    if (!add_source(inst, o, op, problem)) return false;
  }
  // Packed opcodes that exist in VOP2 take both halves there.
  if (inst.words[0] >> 24 != 0xcc && takes_halves(inst.name))
    for (unsigned i = 0; i < op.source_count; ++i) op.src[i].mods |= 8;
  const bool vop3 = inst.words[0] >> 26 == 0x35;
  op.dst_hi = vop3 && (op.src[0].mods & 8);
  return read_form(inst, op, problem);
}

bool make_scalar(const Instruction& inst, Op& op, std::string& problem) {
  if (inst.defs > 0) op.dst = to_source(inst.operands[0]);
  for (size_t i = inst.defs; i < inst.operands.size(); ++i)
    if (!add_source(inst, inst.operands[i], op, problem)) return false;
  return true;
}

Source vgpr_source(uint32_t reg) {
  Source s;
  s.kind = Operand::Kind::vgpr;
  s.reg = static_cast<uint16_t>(reg);
  return s;
}

/// Memory micro-ops: dst, src[0] address, src[1] data, src[2] second data or scalar base, src[3]
/// scalar offset.
void make_flat(const Instruction& inst, Op& op) {
  const uint32_t w0 = inst.words[0], w1 = inst.words[1];
  op.offset = op.gfx11 ? sign_extend(bits(w0, 0, 13), 13) : sign_extend(bits(w0, 0, 12), 12);
  op.policy.dlc = bits(w0, op.gfx11 ? 13 : 12, 1);
  op.policy.glc = bits(w0, op.gfx11 ? 14 : 16, 1);
  op.policy.slc = bits(w0, op.gfx11 ? 15 : 17, 1);
  op.dst = vgpr_source(w1 >> 24);
  op.src[0] = vgpr_source(w1 & 0xff);
  op.src[1] = vgpr_source(w1 >> 8 & 0xff);
  bool scalar = false;
  for (const Operand& o : inst.operands)
    if (o.kind == Operand::Kind::scalar) op.src[2] = to_source(o), scalar = true;
  const bool scratch = inst.name.starts_with("SCRATCH_");
  Addressing a = Addressing::flat;
  if (scratch) {
    a = inst.suffix == "ST"    ? Addressing::scratch_none
        : inst.suffix == "SVS" ? Addressing::scratch_both
        : scalar               ? Addressing::scratch_saddr
                               : Addressing::scratch_vaddr;
  } else if (inst.name.starts_with("GLOBAL_")) {
    a = scalar && op.src[2].reg != kNull ? Addressing::global_saddr : Addressing::global;
  }
  op.addressing = static_cast<uint8_t>(a);
}

void make_buffer(const Instruction& inst, Op& op) {
  const uint32_t w0 = inst.words[0], w1 = inst.words[1];
  op.offset = static_cast<int32_t>(bits(w0, 0, 12));
  op.policy.glc = bits(w0, 14, 1);
  op.policy.dlc = bits(w0, op.gfx11 ? 13 : 15, 1);
  op.policy.slc = op.gfx11 ? bits(w0, 12, 1) : bits(w1, 22, 1);
  op.tfe = op.gfx11 ? bits(w1, 21, 1) : bits(w1, 23, 1);
  const bool offen = op.gfx11 ? bits(w1, 22, 1) : bits(w0, 12, 1);
  const bool idxen = op.gfx11 ? bits(w1, 23, 1) : bits(w0, 13, 1);
  op.addressing = static_cast<uint8_t>(offen && idxen ? Addressing::buffer_both
                                       : offen        ? Addressing::buffer_offen
                                       : idxen        ? Addressing::buffer_idxen
                                                      : Addressing::buffer_offset);
  op.dst = op.src[1] = vgpr_source(w1 >> 8 & 0xff);
  op.src[0] = vgpr_source(w1 & 0xff);
  bool resource = true;  // the resource descriptor is the first scalar, the offset what follows
  for (const Operand& o : inst.operands) {
    if (resource && o.kind == Operand::Kind::scalar && o.dwords == 4)
      op.src[2] = to_source(o), resource = false;
    else if (!resource) {
      op.src[3] = to_source(o);
      break;
    }
  }
}

void make_lds(const Instruction& inst, Op& op) {
  const uint32_t w0 = inst.words[0], w1 = inst.words[1];
  op.offset = static_cast<int32_t>(bits(w0, 0, 16));
  op.offset0 = static_cast<uint8_t>(bits(w0, 0, 8));
  op.offset1 = static_cast<uint8_t>(bits(w0, 8, 8));
  op.src[0] = vgpr_source(w1 & 0xff);
  op.src[1] = vgpr_source(w1 >> 8 & 0xff);
  op.src[2] = vgpr_source(w1 >> 16 & 0xff);
  op.dst = vgpr_source(w1 >> 24);
}

void make_scalar_memory(const Instruction& inst, Op& op) {
  const uint32_t w0 = inst.words[0], w1 = inst.words[1];
  op.offset = sign_extend(bits(w1, 0, 21), 21);
  op.policy.dlc = bits(w0, op.gfx11 ? 13 : 14, 1);
  op.policy.glc = bits(w0, op.gfx11 ? 14 : 16, 1);
  if (inst.defs) op.dst = to_source(inst.operands[0]);
  for (size_t i = inst.defs; i < inst.operands.size(); ++i)
    if (inst.operands[i].kind == Operand::Kind::scalar && op.source_count < 2)
      op.src[op.source_count++] = to_source(inst.operands[i]);
}

/// "V_DUAL_FMAC_F32_e32_X_CNDMASK_B32" → "V_FMAC_F32", "V_CNDMASK_B32".
bool split_dual(std::string_view name, std::string& x, std::string& y) {
  constexpr std::string_view kPrefix = "V_DUAL_";
  if (!name.starts_with(kPrefix)) return false;
  const size_t at = name.find("_X_");
  if (at == name.npos) return false;
  auto clean = [](std::string_view half) {
    for (std::string_view tail : {"_e32", "_gfx11"})
      if (half.ends_with(tail)) half.remove_suffix(tail.size());
    return "V_" + std::string(half);
  };
  x = clean(name.substr(kPrefix.size(), at - kPrefix.size()));
  y = clean(name.substr(at + 3));
  return true;
}

/// The third source is the destination. LLVM's disassembler names X's destination for both halves.
bool accumulates(std::string_view name) {
  return name == "V_FMAC_F32" || name == "V_DOT2ACC_F32_F16" || name == "V_DOT2C_F32_F16";
}

bool make_dual(Instruction inst, uint64_t pc, std::deque<Op>& storage, Op& op,
               std::string& problem) {
  std::string names[2];
  CHECK_INVARIANT(split_dual(inst.name, names[0], names[1]), inst.name);
  Op halves[2];
  size_t at = 2;
  for (unsigned h = 0; h < 2; ++h) {
    Op& half = halves[h];
    half.row = find_row(names[h]);
    if (!half.row) {
      problem = fmt::format("{} (half of {}) is not modelled", names[h], inst.name);
      return false;
    }
    half.execute = half.row->execute;
    half.uses_round32 = half.row->round == 1;
    half.dst = to_source(inst.operands[h]);
    half.sdst = scalar_source(kVccLo, 2);
    half.gfx11 = op.gfx11;
    half.pc = pc;
    const unsigned count = names[h] == "V_CNDMASK_B32" ? 2 : half.row->sources;
    if (accumulates(names[h])) inst.operands.at(at + count - 1) = inst.operands[h];
    for (unsigned s = 0; s < count && at < inst.operands.size(); ++s)
      if (!add_source(inst, inst.operands[at++], half, problem)) return false;
    if (takes_halves(names[h]))
      for (unsigned s = 0; s < half.source_count; ++s) half.src[s].mods |= 8;
  }
  CHECK_INVARIANT(at == inst.operands.size(), "operands left over in " + inst.text);
  const Op keep = op;
  op = halves[0];
  op.size_B = keep.size_B;
  op.text = keep.text;
  note_registers(inst, op);
  op.vwrite_count = 0;  // neither destination is counted as a def twice
  add(op.vwrite, op.vwrite_count, 4, inst.operands[0].reg, 1);
  add(op.vwrite, op.vwrite_count, 4, inst.operands[1].reg, 1);
  op.execute = run_pair;
  for (unsigned s = 0; s < halves[0].source_count; ++s)
    op.overlap |=
        halves[0].src[s].kind == Operand::Kind::vgpr && halves[0].src[s].reg == halves[1].dst.reg;
  storage.push_back(halves[1]);
  op.second = &storage.back();
  return true;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  for (std::string_view p : prefixes)
    if (name.starts_with(p)) return true;
  return false;
}

bool bind_operands(const Instruction& inst, Op& op, std::string& problem) {
  const std::string_view name = inst.name;
  if (starts_with_any(name, {"GLOBAL_", "FLAT_", "SCRATCH_"})) {
    make_flat(inst, op);
  } else if (name.starts_with("BUFFER_")) {
    make_buffer(inst, op);
  } else if (name.starts_with("DS_")) {
    make_lds(inst, op);
  } else if (starts_with_any(name, {"S_LOAD_", "S_BUFFER_LOAD_"})) {
    make_scalar_memory(inst, op);
  } else if (name.starts_with("V_")) {
    return make_vector(inst, op, problem);
  } else {
    return make_scalar(inst, op, problem);
  }
  return true;
}

}  // namespace

bool make_op(const Instruction& inst, uint64_t pc, bool gfx11, std::deque<Op>& storage, Op& op,
             std::string& problem) {
  op.pc = pc;
  op.size_B = inst.size_B;
  op.text = inst.text;
  op.gfx11 = gfx11;
  op.form = inst.form;
  op.clamp = inst.clamp;
  op.omod = inst.omod;
  if (inst.name.starts_with("V_DUAL_")) return make_dual(inst, pc, storage, op, problem);
  op.row = find_row(inst.name);
  if (!op.row) {
    problem = fmt::format("{} ({}) is not modelled", inst.mnemonic, inst.name);
    return false;
  }
  op.execute = op.row->execute;
  op.param = op.row->param;
  op.uses_round32 = op.row->round == 1;
  op.uses_round64 = op.row->round == 2;
  op.returns = inst.defs > 0;
  op.vector_load = op.returns && starts_with_any(inst.name, {"GLOBAL_", "SCRATCH_", "BUFFER_"});
  note_registers(inst, op);
  return bind_operands(inst, op, problem);
}

bool is_modelled(std::string_view name) {
  std::string x, y;
  if (split_dual(name, x, y)) return find_row(x) && find_row(y);
  return find_row(name) != nullptr;
}

}  // namespace tiny::models::amd
