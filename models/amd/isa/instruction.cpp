// SPDX-License-Identifier: MIT
// Decoding through LLVM's MC layer, public headers only. What the private target headers would tell
// (operand names, the number of the "source modifiers" operand type) is found by asking the tables.
#include "models/amd/isa/instruction.h"

#include <fmt/format.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <set>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace tiny::models::amd {
namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

const llvm::Target& llvm_target() {
  static const llvm::Target* target = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, error);
    if (!found) throw UsageError("[amd isa] LLVM has no AMDGPU target: " + error);
    return found;
  }();
  return *target;
}

/// Removes `tail` from the end of `text`.
bool strip(std::string& text, std::string_view tail) {
  if (text.size() <= tail.size() || !std::string_view(text).ends_with(tail)) return false;
  text.resize(text.size() - tail.size());
  return true;
}

/// "V_ADD_F32_e64_dpp_gfx11" → "V_ADD_F32" and the form. The generation may appear twice
/// ("V_MAD_U64_U32_gfx11_e64_gfx11"), and 16-bit opcodes have a "fake16" variant.
Form fold(std::string& name) {
  static constexpr std::string_view kNoise[] = {
      "_gfx11_gfx12", "_gfx11",     "_gfx10",     "_fake16",
      "_gfx9plus",    "_gfx10plus", "_gfx11plus", "_vi",
      "_gfx9",        "_t16",       "_twoaddr",   "_threeaddr",
      "_w32",         "_w64",       "_inreg",     "_gfx6_gfx7_gfx10"};
  bool e64 = false, dpp16 = false, dpp8 = false, sdwa = false;
  for (bool again = true; again;) {
    again = false;
    for (std::string_view noise : kNoise) again |= strip(name, noise);
    if (strip(name, "_e64")) again = e64 = true;
    if (strip(name, "_e32")) again = true;
    if (strip(name, "_dpp")) again = dpp16 = true;
    if (strip(name, "_dpp8")) again = dpp8 = true;
    if (strip(name, "_sdwa")) again = sdwa = true;
  }
  if (sdwa) return Form::sdwa;
  if (dpp16) return e64 ? Form::e64_dpp16 : Form::dpp16;
  if (dpp8) return e64 ? Form::e64_dpp8 : Form::dpp8;
  return e64 ? Form::e64 : Form::plain;
}

/// Splits the addressing form off a memory opcode's name.
std::string fold_addressing(std::string& name) {
  static constexpr std::string_view kForms[] = {
      "SADDR_RTN", "SVS",        "SADDR",      "ST",    "SGPR_IMM", "SGPR",   "IMM",    "OFFEN_RTN",
      "IDXEN_RTN", "BOTHEN_RTN", "OFFSET_RTN", "OFFEN", "IDXEN",    "BOTHEN", "OFFSET", "RTN"};
  const bool memory = name.starts_with("GLOBAL_") || name.starts_with("SCRATCH_") ||
                      name.starts_with("FLAT_") || name.starts_with("BUFFER_") ||
                      name.starts_with("TBUFFER_") || name.starts_with("S_LOAD_") ||
                      name.starts_with("S_BUFFER_LOAD_") || name.starts_with("S_STORE_");
  if (!memory) return "";
  for (std::string_view form : kForms)
    if (strip(name, fmt::format("_{}", form))) return std::string(form);
  return "";
}

bool leading_number(std::string_view text, unsigned* value) {
  return std::from_chars(text.data(), text.data() + text.size(), *value).ec == std::errc();
}

/// A register from LLVM's name for it; `dwords` is how many names are joined with '_'.
Operand named_register(std::string_view name) {
  using Kind = Operand::Kind;
  Operand out;
  unsigned number = 0;
  auto numbered = [&](std::string_view prefix, Kind kind, unsigned base) {
    if (!name.starts_with(prefix) || !leading_number(name.substr(prefix.size()), &number))
      return false;
    out.kind = kind;
    out.reg = static_cast<uint16_t>(base + number);
    out.dwords = 0;
    for (size_t at = 0; (at = name.find(prefix, at)) != name.npos; at += prefix.size())
      ++out.dwords;
    return true;
  };
  if (numbered("SGPR", Kind::scalar, 0) || numbered("VGPR", Kind::vgpr, 0) ||
      numbered("TTMP", Kind::scalar, kTtmp0))
    return out;
  struct Row {
    std::string_view name;
    Kind kind;
    uint16_t reg;
    uint8_t dwords;
  };
  static constexpr Row kRows[] = {
      {"VCC", Kind::scalar, kVccLo, 2},
      {"VCC_LO", Kind::scalar, kVccLo, 1},
      {"VCC_HI", Kind::scalar, kVccHi, 1},
      {"EXEC", Kind::scalar, kExecLo, 2},
      {"EXEC_LO", Kind::scalar, kExecLo, 1},
      {"EXEC_HI", Kind::scalar, kExecHi, 1},
      {"SRC_VCCZ", Kind::vccz, 0, 1},
      {"SRC_EXECZ", Kind::execz, 0, 1},
      {"SRC_SCC", Kind::scc, 0, 1},
      {"SCC", Kind::scc, 0, 1},
      {"SRC_SHARED_BASE", Kind::shared_base, 0, 2},
      {"SRC_SHARED_BASE_LO", Kind::shared_base, 0, 1},
      {"SRC_SHARED_LIMIT", Kind::shared_limit, 0, 2},
      {"SRC_SHARED_LIMIT_LO", Kind::shared_limit, 0, 1},
      {"SRC_PRIVATE_BASE", Kind::private_base, 0, 2},
      {"SRC_PRIVATE_BASE_LO", Kind::private_base, 0, 1},
      {"SRC_PRIVATE_LIMIT", Kind::private_limit, 0, 2},
      {"SRC_PRIVATE_LIMIT_LO", Kind::private_limit, 0, 1},
      {"FLAT_SCR_LO", Kind::flat_scratch_lo, 0, 1},
      {"FLAT_SCR_HI", Kind::flat_scratch_hi, 0, 1},
      {"FLAT_SCR", Kind::flat_scratch_lo, 0, 2},
  };
  if (name.starts_with("M0")) return {Kind::scalar, 1, 0, kM0, 0, false, false};
  if (name.starts_with("SGPR_NULL"))
    return {Kind::scalar,
            static_cast<uint8_t>(name.starts_with("SGPR_NULL64") ? 2 : 1),
            0,
            kNull,
            0,
            false,
            false};
  for (const Row& row : kRows)
    if (row.name == name) return {row.kind, row.dwords, 0, row.reg, 0, false, false};
  out.kind = Kind::unsupported;
  return out;
}

}  // namespace

struct Disassembler::Impl {
  std::string generation;  ///< "gfx11": how opcode names of this target end
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  unsigned input_mods_type = 0;  ///< MCOperandInfo::OperandType of source modifiers
  std::vector<Operand> register_of;
  std::mutex mutex;

  void find_input_mods();
  Operand operand(const llvm::MCInst& inst, const llvm::MCInstrDesc& desc, unsigned index) const;
  void operands(const llvm::MCInst& inst, Instruction& out) const;
  void print(const llvm::MCInst& inst, uint64_t pc, Instruction& out) const;
};

void Disassembler::Impl::find_input_mods() {
  for (unsigned i = 0; i < instructions->getNumOpcodes(); ++i) {
    if (instructions->getName(i) != "V_ADD_F32_e64_" + generation) continue;
    input_mods_type = instructions->get(i).operands()[1].OperandType;
    return;
  }
  CHECK_INVARIANT(false, "LLVM's AMDGPU table has no V_ADD_F32_e64");
}

Disassembler::Disassembler(std::string_view target, unsigned lanes)
    : impl_(std::make_unique<Impl>()) {
  if (target != "gfx1100" && target != "gfx1030")
    throw UsageError(
        fmt::format("[amd isa] target {} is not modelled (gfx1100, gfx1030 are)", target));
  if (lanes != 32 && lanes != 64)
    throw UsageError(fmt::format("[amd isa] {} lanes: a wave has 32 or 64", lanes));
  Impl& m = *impl_;
  m.generation = target == "gfx1100" ? "gfx11" : "gfx10";
  const llvm::Target& llvm = llvm_target();
  m.registers.reset(llvm.createMCRegInfo(kTriple));
  m.asm_info.reset(llvm.createMCAsmInfo(*m.registers, kTriple, m.options));
  m.instructions.reset(llvm.createMCInstrInfo());
  m.subtarget.reset(llvm.createMCSubtargetInfo(
      kTriple, std::string(target),
      lanes == 32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64"));
  m.context = std::make_unique<llvm::MCContext>(llvm::Triple(kTriple), m.asm_info.get(),
                                                m.registers.get(), m.subtarget.get());
  m.disassembler.reset(llvm.createMCDisassembler(*m.subtarget, *m.context));
  m.printer.reset(llvm.createMCInstPrinter(llvm::Triple(kTriple), 0, *m.asm_info, *m.instructions,
                                           *m.registers));
  CHECK_INVARIANT(m.disassembler && m.printer, "LLVM's AMDGPU MC layer is incomplete");
  m.find_input_mods();
  for (unsigned i = 0; i < m.registers->getNumRegs(); ++i)
    m.register_of.push_back(named_register(m.registers->getName(i)));
}

Disassembler::~Disassembler() = default;

Operand Disassembler::Impl::operand(const llvm::MCInst& inst, const llvm::MCInstrDesc& desc,
                                    unsigned index) const {
  const llvm::MCOperand& from = inst.getOperand(index);
  Operand out;
  if (from.isReg()) {
    if (from.getReg() == 0)
      out.kind = Operand::Kind::off;
    else
      out = register_of[from.getReg()];
  } else if (from.isImm()) {
    out.imm = from.getImm();
  } else {
    out.kind = Operand::Kind::unsupported;
  }
  if (index < desc.getNumOperands()) {
    const llvm::MCOperandInfo& info = desc.operands()[index];
    out.tied = desc.getOperandConstraint(index, llvm::MCOI::TIED_TO) != -1;
    out.generic = info.OperandType < llvm::MCOI::OPERAND_FIRST_TARGET;
  }
  return out;
}

void Disassembler::Impl::operands(const llvm::MCInst& inst, Instruction& out) const {
  const llvm::MCInstrDesc& desc = instructions->get(inst.getOpcode());
  out.defs = desc.getNumDefs();
  out.may_load = desc.mayLoad();
  out.may_store = desc.mayStore();
  uint8_t mods = 0;
  for (unsigned i = 0; i < inst.getNumOperands(); ++i) {
    if (i < desc.getNumOperands() && desc.operands()[i].OperandType == input_mods_type) {
      mods = static_cast<uint8_t>(inst.getOperand(i).getImm());
      continue;
    }
    out.operands.push_back(operand(inst, desc, i));
    out.operands.back().mods = mods;
    mods = 0;
  }
  auto add_implicit = [&](llvm::MCPhysReg reg, bool written) {
    const Operand& r = register_of[reg];
    if (r.kind != Operand::Kind::scalar) return;
    for (unsigned d = 0; d < r.dwords; ++d)
      out.implicit.push_back({static_cast<uint16_t>(r.reg + d), written});
  };
  for (llvm::MCPhysReg reg : desc.implicit_uses()) add_implicit(reg, false);
  for (llvm::MCPhysReg reg : desc.implicit_defs()) add_implicit(reg, true);
}

void Disassembler::Impl::print(const llvm::MCInst& inst, uint64_t pc, Instruction& out) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&inst, pc, "", *subtarget, stream);
  stream.flush();
  std::replace(text.begin(), text.end(), '\t', ' ');
  const size_t begin = text.find_first_not_of(' ');
  out.text = begin == text.npos ? "" : text.substr(begin);
  out.mnemonic = out.text.substr(0, out.text.find(' '));
}

std::optional<Instruction> Disassembler::decode(std::span<const uint8_t> bytes, uint64_t pc) const {
  Impl& m = *impl_;
  const std::lock_guard lock(m.mutex);
  llvm::MCInst inst;
  uint64_t size = 0;
  const auto status = (m.disassembler->getInstruction(
      inst, size, llvm::ArrayRef<uint8_t>(bytes.data(), bytes.size()), pc, llvm::nulls()));
  if (status != llvm::MCDisassembler::Success || size == 0 || size > sizeof Instruction::words)
    return std::nullopt;
  Instruction out;
  out.size_B = static_cast<uint8_t>(size);
  std::memcpy(out.words, bytes.data(), size);
  out.name = m.instructions->getName(inst.getOpcode()).str();
  if (out.name == "V_ILLEGAL") return std::nullopt;
  out.form = fold(out.name);
  out.suffix = fold_addressing(out.name);
  m.operands(inst, out);
  m.print(inst, pc, out);
  const bool vop3 = ((out.words[0] >> 26) == 0x35 || (out.words[0] >> 24) == 0xcc);
  if (vop3) {
    out.clamp = out.words[0] >> 15 & 1;
    out.omod = out.words[1] >> 27 & 3;
  } else if (out.form == Form::sdwa) {
    out.clamp = out.words[1] >> 13 & 1;
    out.omod = out.words[1] >> 14 & 3;
  }
  return out;
}

std::vector<std::string> Disassembler::names() const {
  std::set<std::string> out;
  for (unsigned i = 0; i < impl_->instructions->getNumOpcodes(); ++i) {
    std::string name = impl_->instructions->getName(i).str();
    if (name.find("_" + impl_->generation) == name.npos) continue;
    fold(name);
    fold_addressing(name);
    out.insert(name);
  }
  return {out.begin(), out.end()};
}

}  // namespace tiny::models::amd
