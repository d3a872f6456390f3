// SPDX-License-Identifier: MIT
// One decoded AMDGPU instruction as plain data, and the disassembler that makes it. Everything that
// knows LLVM is behind this header; nothing here knows what an instruction means.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::models::amd {

/// Scalar register numbers, the same for all generations (gfx10 swaps NULL and M0 in its encoding).
enum ScalarReg : uint16_t {
  kSgprCount = 106,  ///< s0 … s105
  kVccLo = 106,
  kVccHi = 107,
  kTtmp0 = 108,
  kNull = 124,
  kM0 = 125,
  kExecLo = 126,
  kExecHi = 127,
  kScalarRegCount = 128,
};

/// How an instruction is encoded, as far as its meaning depends on it.
enum class Form : uint8_t { plain, e64, dpp16, e64_dpp16, dpp8, e64_dpp8, sdwa };

/// A register or an immediate. `mods` are the encoding's own bits: VOP3 {neg, abs, op_sel,
/// dst_sel}, VOP3P {neg_lo, neg_hi, op_sel, op_sel_hi}, SDWA integers {sext}.
struct Operand {
  enum class Kind : uint8_t {
    immediate,  ///< already widened by the decoder: inline constants and literals look alike
    vgpr,
    scalar,        ///< a ScalarReg
    vccz,          ///< one bit
    execz,         ///< one bit
    scc,           ///< one bit
    shared_base,   ///< 64-bit aperture base
    shared_limit,  ///< 64-bit aperture limit
    private_base,
    private_limit,
    flat_scratch_lo,
    flat_scratch_hi,
    off,  ///< "no register", as scratch_load's missing address
    unsupported,
  };
  Kind kind = Kind::immediate;
  uint8_t dwords = 1;
  uint8_t mods = 0;
  uint16_t reg = 0;
  int64_t imm = 0;
  bool tied = false;     ///< the hidden read of a destination
  bool generic = false;  ///< an immediate that is a field of the encoding, not a source value
};

/// Scalar registers named by the instruction without an operand.
struct ImplicitUse {
  uint16_t reg;
  bool written;
};

struct Instruction {
  std::string name;      ///< LLVM's opcode name without generation and form: "V_ADD_F32"
  std::string suffix;    ///< addressing form of a memory opcode: "SADDR", "OFFEN", "" …
  std::string mnemonic;  ///< as printed: "v_add_f32_e64"
  std::string text;      ///< as printed, with operands
  Form form = Form::plain;
  uint8_t size_B = 0;
  unsigned defs = 0;  ///< the first operands that are destinations
  std::vector<Operand> operands;
  std::vector<ImplicitUse> implicit;
  uint32_t words[5] = {};
  bool clamp = false;
  uint8_t omod = 0;
  bool may_load = false, may_store = false;
};

/// One target's decoder; thread-safe.
class Disassembler {
 public:
  /// Throws UsageError for a target LLVM does not know. `lanes` is 32 or 64.
  Disassembler(std::string_view target, unsigned lanes);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  /// Nothing if the bytes are no instruction of this target.
  std::optional<Instruction> decode(std::span<const uint8_t> bytes, uint64_t pc) const;
  /// All opcode names of this target's generation, folded as in Instruction::name, sorted.
  std::vector<std::string> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiny::models::amd
