// SPDX-License-Identifier: MIT
#include "models/interpose/trap_decode.h"

#include <cstring>

namespace tiny::interpose {
namespace {

constexpr int kRax = 0, kRdx = 2, kRdi = 7;

class Decoder {
 public:
  explicit Decoder(const std::uint8_t* code) : start_(code), at_(code) {}

  Instruction run() {
    legacy_prefixes();
    if (narrow_address_) return out_;
    if (*at_ == 0xc4 || *at_ == 0xc5) {
      vex();
    } else {
      if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
      if (*at_ == 0x0f) {
        ++at_;
        two_byte(*at_++);
      } else {
        one_byte(*at_++);
      }
    }
    out_.length_B = std::uint32_t(at_ - start_);
    return out_;
  }

 private:
  void legacy_prefixes() {
    for (; at_ - start_ < 14; ++at_)  // an instruction has at most 15 bytes
      switch (*at_) {
        case 0x66:
          operand16_ = true;
          break;
        case 0xf2:
        case 0xf3:
          repeat_ = *at_;
          break;
        case 0x64:
        case 0x65:
          out_.plain_segment = false;
          break;
        case 0x67:
          narrow_address_ = true;
          break;
        case 0xf0:
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
          break;
        default:
          return;
      }
  }

  bool wide() const { return (rex_ & 8) != 0; }
  std::uint32_t full_size() const { return wide() ? 8 : operand16_ ? 2 : 4; }
  /// Opcodes come in pairs: even for bytes, odd for the full size.
  std::uint32_t size_of(std::uint8_t opcode) const { return (opcode & 1) != 0 ? full_size() : 1; }

  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  /// ModRM, SIB and displacement. False where the operand is a register.
  bool operand() {
    const std::uint8_t modrm = *at_++;
    const int mod = modrm >> 6, rm = modrm & 7;
    reg_ = ((modrm >> 3) & 7) | ((rex_ & 4) << 1);
    if (mod == 3) return false;
    Operand& to = out_.to;
    bool no_base = mod == 0 && rm == 5;
    if (rm == 4) {
      const std::uint8_t sib = *at_++;
      const int index = ((sib >> 3) & 7) | ((rex_ & 2) << 2);
      to.index = index == 4 ? -1 : index;
      to.scale = sib >> 6;
      no_base = mod == 0 && (sib & 7) == 5;
      to.base = no_base ? -1 : (sib & 7) | ((rex_ & 1) << 3);
    } else {
      to.relative_to_next = no_base;
      to.base = no_base ? -1 : rm | ((rex_ & 1) << 3);
    }
    if (mod == 1) to.displacement = take<std::int8_t>();
    if (mod == 2 || no_base) to.displacement = take<std::int32_t>();
    out_.has_operand = true;
    out_.base_is_free = to.base >= 0 && to.base != to.index;
    return true;
  }

  void found(Instruction::Kind kind, std::uint32_t size_B) {
    out_.kind = kind;
    out_.size_B = size_B;
    out_.source = reg_;
  }

  /// A store whose general register `reg_` is also an operand.
  void with_register(Instruction::Kind kind, std::uint32_t size_B) {
    found(kind, size_B);
    if (reg_ == out_.to.base) out_.base_is_free = false;
    if (size_B != 1 || rex_ != 0 || reg_ < 4) return;
    out_.source = reg_ - 4;  // without REX, 4 to 7 are ah, ch, dh, bh
    out_.source_byte = 1;
    if (out_.source == out_.to.base) out_.base_is_free = false;
  }

  void immediate(std::uint32_t size_B) {
    const std::uint32_t encoded_B = size_B == 8 ? 4 : size_B;  // sign-extended
    std::int64_t value = 0;
    switch (encoded_B) {
      case 1:
        value = take<std::int8_t>();
        break;
      case 2:
        value = take<std::int16_t>();
        break;
      default:
        value = take<std::int32_t>();
        break;
    }
    out_.immediate = std::uint64_t(value);
  }

  void one_byte(std::uint8_t opcode) {
    using Kind = Instruction::Kind;
    const std::uint32_t size_B = size_of(opcode);
    if (opcode == 0xaa || opcode == 0xab || opcode == 0xa4 || opcode == 0xa5) return string(size_B);
    const bool arithmetic = opcode < 0x40 && (opcode & 6) == 0;  // add … cmp r/m, r
    const bool by_immediate =
        opcode == 0x80 || opcode == 0x81 || opcode == 0x83;  // add … cmp r/m, imm
    const bool shift = opcode == 0xc0 || opcode == 0xc1 || (opcode >= 0xd0 && opcode <= 0xd3);
    const bool unary = opcode == 0xf6 || opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
    const bool move = opcode == 0x88 || opcode == 0x89;
    const bool exchange = opcode == 0x86 || opcode == 0x87;
    const bool move_immediate = opcode == 0xc6 || opcode == 0xc7;
    if (!(arithmetic || by_immediate || shift || unary || move || exchange || move_immediate))
      return;
    if (!operand()) return;
    if (move || exchange || arithmetic)
      return with_register(move       ? Kind::mov_register
                           : exchange ? Kind::exchange
                                      : Kind::other,
                           size_B);
    if (move_immediate) immediate(size_B);
    found(move_immediate ? Kind::mov_immediate : Kind::other, size_B);
    if (shift && out_.to.base == 1) out_.base_is_free = false;  // the count may be cl
    // mul and div of 0xf6 and 0xf7 only read; they cannot fault for a store.
  }

  /// stos and movs: [rdi] is the target, and rdi moves along, which a shift does not disturb.
  void string(std::uint32_t size_B) {
    out_.to.base = kRdi;
    out_.has_operand = out_.base_is_free = true;
    out_.plain_segment = true;  // es, always
    found(Instruction::Kind::other, size_B);
  }

  void two_byte(std::uint8_t opcode) {
    using Kind = Instruction::Kind;
    if (vector(opcode, false)) return;
    const bool exchange_add = opcode == 0xc0 || opcode == 0xc1;
    const bool compare = opcode == 0xb0 || opcode == 0xb1;
    const bool bit = opcode == 0xab || opcode == 0xb3 || opcode == 0xbb || opcode == 0xba;
    const bool set = opcode >= 0x90 && opcode <= 0x9f;
    const bool pair = opcode == 0xc7;  // cmpxchg8b, cmpxchg16b
    if (!(exchange_add || compare || bit || set || pair || opcode == 0xc3) || !operand()) return;
    if (opcode == 0xc3) return with_register(Kind::mov_register, wide() ? 8 : 4);  // movnti
    const std::uint32_t size_B = pair  ? (wide() ? 16 : 8)
                                 : set ? 1
                                 : bit ? full_size()
                                       : size_of(opcode);
    if (set || pair || opcode == 0xba)
      found(Kind::other, size_B);
    else
      with_register(Kind::other, size_B);
    // Accumulators of the compares (rcx and rbx as well for the pairs), and bit offsets that move
    // the address.
    if (compare && out_.to.base == kRax) out_.base_is_free = false;
    if (pair && out_.to.base <= 3) out_.base_is_free = false;
    if (opcode != 0xba && bit) out_.base_is_free = false;
    static_assert(kRdx == 2);
  }

  /// Stores of vector registers; `mandatory` prefixes: none, 66, f3, f2.
  bool vector(std::uint8_t opcode, bool long_vector) {
    const bool p66 = operand16_ && repeat_ == 0, none = !operand16_ && repeat_ == 0;
    std::uint32_t size_B = 0;
    int from = 0;
    switch (opcode) {
      case 0x11:
        size_B = repeat_ == 0xf3 ? 4 : repeat_ == 0xf2 ? 8 : 16;
        break;
      case 0x29:
      case 0x2b:
        size_B = 16;
        break;
      case 0x7f:
        size_B = none ? 0 : 16;
        break;
      case 0xe7:
        size_B = p66 ? 16 : 0;
        break;
      case 0x7e:
        size_B = p66 ? (wide() ? 8 : 4) : 0;
        break;
      case 0xd6:
        size_B = p66 ? 8 : 0;
        break;
      case 0x13:
        size_B = 8;
        break;
      case 0x17:
        size_B = 8;
        from = 8;
        break;
      default:
        return false;
    }
    if (size_B == 0 || !operand()) return size_B != 0;
    const bool whole = long_vector && size_B == 16;
    found(whole ? Instruction::Kind::other : Instruction::Kind::mov_vector, whole ? 32 : size_B);
    out_.source_byte = from;
    return true;
  }

  void vex() {
    const bool three = *at_++ == 0xc4;
    const std::uint8_t first = *at_++;
    std::uint8_t last = first;
    rex_ = (first & 0x80) != 0 ? 0 : 4;
    std::uint8_t map = 1;
    if (three) {
      rex_ |= std::uint8_t(((~first >> 6) & 1) << 1 | ((~first >> 5) & 1));
      map = first & 0x1f;
      last = *at_++;
      if ((last & 0x80) != 0) rex_ |= 8;
    }
    constexpr std::uint8_t kRepeat[4] = {0, 0, 0xf3, 0xf2};
    operand16_ = (last & 3) == 1;
    repeat_ = kRepeat[last & 3];
    const std::uint8_t opcode = *at_++;
    if (map == 1) vector(opcode, (last & 4) != 0);
  }

  const std::uint8_t* const start_;
  const std::uint8_t* at_;
  Instruction out_;
  bool operand16_ = false, narrow_address_ = false;
  std::uint8_t repeat_ = 0, rex_ = 0;
  int reg_ = 0;
};

}  // namespace

Instruction decode_store(const std::uint8_t* code) { return Decoder(code).run(); }

}  // namespace tiny::interpose
