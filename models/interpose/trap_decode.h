// SPDX-License-Identifier: MIT
// Decodes the x86-64 instruction that faulted on a watched page: how large its store is, where,
// and, for plain moves, of what. (Intel SDM volume 2: §2.1 to §2.3 the formats, appendix A the
// opcodes.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny::interpose {

/// Numbered as in the instruction: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15.
struct Operand {
  int base = -1, index = -1;  ///< -1: none
  int scale = 0;              ///< of the index, log2
  std::int64_t displacement = 0;
  bool relative_to_next = false;  ///< rip-relative
};

struct Instruction {
  enum class Kind : std::uint8_t {
    unknown,        ///< nothing of the below is known, but size_B may be
    mov_register,   ///< general register `source`
    mov_immediate,  ///< `immediate`
    exchange,       ///< with general register `source`
    mov_vector,     ///< `size_B` bytes of xmm `source` from byte `source_byte`
    other,          ///< operand and size are known, the value is not
  };
  Kind kind = Kind::unknown;
  std::uint32_t size_B = 0;    ///< of the store; 0: unknown
  std::uint32_t length_B = 0;  ///< of the instruction; known for moves and exchanges
  int source = 0;
  int source_byte = 0;  ///< 1: ah, ch, dh, bh; 8: the upper half of an xmm
  std::uint64_t immediate = 0;
  Operand to;
  bool has_operand = false;
  bool plain_segment = true;  ///< neither fs nor gs
  /// The base register serves for nothing but the address, so it may be moved for this instruction.
  bool base_is_free = false;

  bool is_move() const {
    return kind == Kind::mov_register || kind == Kind::mov_immediate || kind == Kind::mov_vector;
  }
};

/// Reads at most the bytes of one instruction.
Instruction decode_store(const std::uint8_t* code);

}  // namespace tiny::interpose
