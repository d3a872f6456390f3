// SPDX-License-Identifier: MIT
// Scalar integer instructions (SOP1, SOP2, SOPC, SOPK).
#include "models/amd/isa/number.h"
#include "models/amd/isa/op.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tiny::models::amd {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

/// A lambda's first parameter where it writes SCC (and may read it).
struct Scc {
  bool value;
};

template <class T>
T read_as(Wave& w, const Source& s, uint64_t& poison) {
  uint64_t p = 0;
  T value;
  if constexpr (sizeof(T) == 8) {
    value = static_cast<T>(read64(w, s, &p));
  } else {
    u32 p32 = 0;
    value = static_cast<T>(read32(w, s, &p32));
    p = p32;
  }
  poison |= p;
  return value;
}

template <class L>
struct ScalarSignature : ScalarSignature<decltype(&L::operator())> {};
template <class C, class R, class... A>
struct ScalarSignature<R (C::*)(A...) const> {
  static constexpr bool kScc = (std::is_same_v<A, Scc&> || ...);
  static constexpr size_t kCount = sizeof...(A) - kScc;
  using Result = R;
  using Types = std::tuple<std::remove_cvref_t<A>...>;
};

template <class R>
void write_result(Wave& w, const Op& op, R value, uint64_t poison) {
  const uint64_t all = poison ? ~0ull : 0;
  if constexpr (sizeof(R) == 8)
    write64(w, op.dst, static_cast<u64>(value), all);
  else
    write32(w, op.dst, static_cast<u32>(value), static_cast<u32>(all));
}

/// The micro-op of a function of scalar values. Any uninitialised bit spoils the whole result.
template <auto F, size_t... I>
void run_scalar(Wave& w, const Op& op, std::index_sequence<I...>) {
  using S = ScalarSignature<decltype(F)>;
  uint64_t poison = 0;
  if constexpr (S::kScc) {
    std::tuple values{
        read_as<std::tuple_element_t<I + 1, typename S::Types>>(w, op.src[I], poison)...};
    Scc scc{w.scc};
    if constexpr (std::is_void_v<typename S::Result>) {
      F(scc, std::get<I>(values)...);
    } else {
      const auto result = F(scc, std::get<I>(values)...);
      write_result(w, op, result, poison);
    }
    w.scc = scc.value;
    w.scc_poison = poison != 0;
  } else {
    std::tuple values{read_as<std::tuple_element_t<I, typename S::Types>>(w, op.src[I], poison)...};
    write_result(w, op, F(std::get<I>(values)...), poison);
  }
}

template <auto F>
void scalar(Wave& w, const Op& op) {
  run_scalar<F>(w, op, std::make_index_sequence<ScalarSignature<decltype(F)>::kCount>{});
}

template <auto F>
constexpr Row srow(std::string_view name) {
  return {name, &scalar<F>};
}

// ---- bitwise: uninitialised bits stay where they are

struct Bits {
  u64 value, poison;
};
Bits bits_and(Bits a, Bits b) {
  return {a.value & b.value, (a.poison & (b.value | b.poison)) | (b.poison & (a.value | a.poison))};
}
Bits bits_not(Bits a) { return {~a.value, a.poison}; }
Bits bits_or(Bits a, Bits b) { return bits_not(bits_and(bits_not(a), bits_not(b))); }
Bits bits_xor(Bits a, Bits b) { return {a.value ^ b.value, a.poison | b.poison}; }
Bits bits_andn2(Bits a, Bits b) { return bits_and(a, bits_not(b)); }
Bits bits_andn1(Bits a, Bits b) { return bits_and(bits_not(a), b); }
Bits bits_orn2(Bits a, Bits b) { return bits_or(a, bits_not(b)); }
Bits bits_orn1(Bits a, Bits b) { return bits_or(bits_not(a), b); }
Bits bits_nand(Bits a, Bits b) { return bits_not(bits_and(a, b)); }
Bits bits_nor(Bits a, Bits b) { return bits_not(bits_or(a, b)); }
Bits bits_xnor(Bits a, Bits b) { return bits_not(bits_xor(a, b)); }

Bits read_bits(Wave& w, const Source& s, unsigned size) {
  Bits out{0, 0};
  if (size == 64) {
    out.value = read64(w, s, &out.poison);
  } else {
    u32 p = 0;
    out.value = read32(w, s, &p);
    out.poison = p;
  }
  return out;
}

void write_bits(Wave& w, const Source& d, unsigned size, Bits b) {
  if (size == 64)
    write64(w, d, b.value, b.poison);
  else
    write32(w, d, static_cast<u32>(b.value), static_cast<u32>(b.poison));
}

void set_scc_nonzero(Wave& w, Bits b, unsigned size) {
  const u64 mask = size == 64 ? ~0ull : 0xffffffffull;
  w.scc = b.value & mask;
  w.scc_poison = (b.poison & mask) && !(b.value & ~b.poison & mask);
}

template <auto F, unsigned N>
void bitwise(Wave& w, const Op& op) {
  const Bits out = F(read_bits(w, op.src[0], N), read_bits(w, op.src[1], N));
  write_bits(w, op.dst, N, out);
  set_scc_nonzero(w, out, N);
}

template <unsigned N>
void bitwise_not(Wave& w, const Op& op) {
  const Bits out = bits_not(read_bits(w, op.src[0], N));
  write_bits(w, op.dst, N, out);
  set_scc_nonzero(w, out, N);
}

template <unsigned N>
void move(Wave& w, const Op& op) {
  write_bits(w, op.dst, N, read_bits(w, op.src[0], N));
}

template <unsigned N>
void select(Wave& w, const Op& op) {
  Bits out = read_bits(w, op.src[w.scc ? 0 : 1], N);
  if (w.scc_poison) out.poison = ~0ull;
  write_bits(w, op.dst, N, out);
}

template <unsigned N>
void move_if(Wave& w, const Op& op) {
  if (w.scc_poison) return write_bits(w, op.dst, N, {0, ~0ull});
  if (w.scc) move<N>(w, op);
}

/// EXEC = F(source, EXEC), the old EXEC to the destination.
template <auto F, unsigned N>
void save_exec(Wave& w, const Op& op) {
  const Bits source = read_bits(w, op.src[0], N), old{w.exec, 0};
  write_bits(w, op.dst, N, old);
  const Bits fresh = F(source, old);
  Source exec;
  exec.kind = Operand::Kind::scalar;
  exec.reg = kExecLo;
  exec.dwords = N / 32;
  write_bits(w, exec, N, fresh);
  w.scc = w.exec != 0;
  w.scc_poison = false;
}

/// As save_exec, but the destination gets the new EXEC.
template <auto F, unsigned N>
void write_exec(Wave& w, const Op& op) {
  const Bits fresh = F(read_bits(w, op.src[0], N), Bits{w.exec, 0});
  Source exec;
  exec.kind = Operand::Kind::scalar;
  exec.reg = kExecLo;
  exec.dwords = N / 32;
  write_bits(w, exec, N, fresh);
  write_bits(w, op.dst, N, {w.exec, 0});
  w.scc = w.exec != 0;
  w.scc_poison = false;
}

// ---- SOPK: the last operand is the 16-bit constant

i32 constant16(const Op& op) { return static_cast<int16_t>(op.src[op.source_count - 1].imm); }

void movk(Wave& w, const Op& op) { write32(w, op.dst, static_cast<u32>(constant16(op)), 0); }

void cmovk(Wave& w, const Op& op) {
  if (w.scc_poison) return write32(w, op.dst, 0, ~0u);
  if (w.scc) movk(w, op);
}

void addk(Wave& w, const Op& op) {
  u32 p = 0;
  const i32 a = static_cast<i32>(read32(w, op.dst, &p)), b = constant16(op);
  i32 sum;
  w.scc = __builtin_add_overflow(a, b, &sum);
  w.scc_poison = p != 0;
  write32(w, op.dst, static_cast<u32>(sum), p ? ~0u : 0);
}

void mulk(Wave& w, const Op& op) {
  u32 p = 0;
  const u32 a = read32(w, op.dst, &p);
  write32(w, op.dst, a * static_cast<u32>(constant16(op)), p ? ~0u : 0);
}

template <auto F>
void cmpk_signed(Wave& w, const Op& op) {
  u32 p = 0;
  w.scc = F(static_cast<i32>(read32(w, op.src[0], &p)), constant16(op));
  w.scc_poison = p != 0;
}
template <auto F>
void cmpk_unsigned(Wave& w, const Op& op) {
  u32 p = 0;
  w.scc = F(read32(w, op.src[0], &p), static_cast<u32>(constant16(op)) & 0xffff);
  w.scc_poison = p != 0;
}

// ---- program counter

void getpc(Wave& w, const Op& op) { write64(w, op.dst, w.next_pc, 0); }
void jump(Wave& w, const Source& s) {
  u64 p = 0;
  w.next_pc = read64(w, s, &p) & ~3ull;
  if (p && w.policy.poison_control)
    w.fail(FaultKind::uninitialized, "the branch target is uninitialised");
}
void setpc(Wave& w, const Op& op) { jump(w, op.src[0]); }
void swappc(Wave& w, const Op& op) {
  const u64 back = w.next_pc;
  jump(w, op.src[0]);
  write64(w, op.dst, back, 0);
}
void call(Wave& w, const Op& op) {
  write64(w, op.dst, w.next_pc, 0);
  w.next_pc += static_cast<u64>(static_cast<i64>(constant16(op)) * 4);
}

// ---- relative moves: M0 is the index

unsigned relative(Wave& w, unsigned reg, unsigned dwords) {
  if (w.spoison[kM0] && w.policy.poison_control)
    w.fail(FaultKind::uninitialized, "M0 is uninitialised");
  const uint64_t at = uint64_t(reg) + w.sgprs[kM0];
  if (at + dwords > kSgprCount) {
    w.fail(FaultKind::register_range, "s[" + std::to_string(at) + "] through M0");
    return reg;
  }
  return static_cast<unsigned>(at);
}
template <unsigned N>
void movrels(Wave& w, const Op& op) {
  Source s = op.src[0];
  s.reg = static_cast<uint16_t>(relative(w, s.reg, N / 32));
  write_bits(w, op.dst, N, read_bits(w, s, N));
}
template <unsigned N>
void movreld(Wave& w, const Op& op) {
  Source d = op.dst;
  d.reg = static_cast<uint16_t>(relative(w, d.reg, N / 32));
  write_bits(w, d, N, read_bits(w, op.src[0], N));
}

template <unsigned N>
void bitset(Wave& w, const Op& op, bool one) {
  u32 p = 0;
  const u32 at = read32(w, op.src[0], &p) & (N - 1);
  Bits d = read_bits(w, op.dst, N);
  d.value = one ? d.value | 1ull << at : d.value & ~(1ull << at);
  d.poison = p ? ~0ull : d.poison & ~(1ull << at);
  write_bits(w, op.dst, N, d);
}
template <unsigned N>
void bitset0(Wave& w, const Op& op) {
  bitset<N>(w, op, false);
}
template <unsigned N>
void bitset1(Wave& w, const Op& op) {
  bitset<N>(w, op, true);
}

template <class T>
T add_carry(Scc& scc, T a, T b, bool in) {
  const u64 sum = u64(a) + b + in;
  scc.value = sum >> 32;
  return static_cast<T>(sum);
}
template <class T>
T sub_borrow(Scc& scc, T a, T b, bool in) {
  scc.value = u64(a) < u64(b) + in;
  return a - b - in;
}
u32 lshl_add(Scc& scc, u32 a, u32 b, unsigned shift) {
  const u64 sum = (u64(a) << shift) + b;
  scc.value = sum >> 32;
  return static_cast<u32>(sum);
}
u32 leading_different(u64 value, unsigned size) {  // flbit of signed: bits until one differs
  const u64 top = value << (64 - size);
  const u64 flipped = static_cast<i64>(top) < 0 ? ~top : top;
  const u64 keep = size == 64 ? flipped : flipped & ~((1ull << (64 - size)) - 1);
  return keep == 0 ? ~0u : static_cast<u32>(std::countl_zero(keep));
}
template <unsigned N>
u64 quadmask(u64 v) {
  u64 out = 0;
  for (unsigned i = 0; i < N / 4; ++i) out |= u64((v >> (4 * i) & 15) != 0) << i;
  return out;
}
template <unsigned N>
u64 whole_quads(u64 v) {
  u64 out = 0;
  for (unsigned i = 0; i < N; i += 4) out |= (v >> i & 15) ? 15ull << i : 0;
  return out;
}
u32 pack(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }

#define BITWISE(name, fn) \
  {"S_" name "_B32", bitwise<fn, 32>}, { "S_" name "_B64", bitwise<fn, 64> }
#define SAVEEXEC(name, fn) \
  {"S_" name "_SAVEEXEC_B32", save_exec<fn, 32>}, { "S_" name "_SAVEEXEC_B64", save_exec<fn, 64> }
#define COMPARE(name, op)                                                                   \
  srow<[](Scc& scc, i32 a, i32 b) { scc.value = (a op b); }>("S_CMP_" name "_I32"),         \
      srow<[](Scc& scc, u32 a, u32 b) { scc.value = (a op b); }>("S_CMP_" name "_U32"),     \
      Row{"S_CMPK_" name "_I32", cmpk_signed<[](i32 a, i32 b) { return (a op b); }>}, Row { \
    "S_CMPK_" name "_U32", cmpk_unsigned<[](u32 a, u32 b) { return (a op b); }>             \
  }

const Row kRows[] = {
    {"S_MOV_B32", move<32>},
    {"S_MOV_B64", move<64>},
    {"S_CMOV_B32", move_if<32>},
    {"S_CMOV_B64", move_if<64>},
    {"S_CSELECT_B32", select<32>},
    {"S_CSELECT_B64", select<64>},
    {"S_NOT_B32", bitwise_not<32>},
    {"S_NOT_B64", bitwise_not<64>},
    BITWISE("AND", bits_and),
    BITWISE("OR", bits_or),
    BITWISE("XOR", bits_xor),
    BITWISE("ANDN2", bits_andn2),
    BITWISE("ORN2", bits_orn2),
    BITWISE("NAND", bits_nand),
    BITWISE("NOR", bits_nor),
    BITWISE("XNOR", bits_xnor),
    SAVEEXEC("AND", bits_and),
    SAVEEXEC("OR", bits_or),
    SAVEEXEC("XOR", bits_xor),
    SAVEEXEC("ANDN2", bits_andn2),
    SAVEEXEC("ORN2", bits_orn2),
    SAVEEXEC("ANDN1", bits_andn1),
    SAVEEXEC("ORN1", bits_orn1),
    SAVEEXEC("NAND", bits_nand),
    SAVEEXEC("NOR", bits_nor),
    SAVEEXEC("XNOR", bits_xnor),
    {"S_ANDN1_WREXEC_B32", write_exec<bits_andn1, 32>},
    {"S_ANDN1_WREXEC_B64", write_exec<bits_andn1, 64>},
    {"S_ANDN2_WREXEC_B32", write_exec<bits_andn2, 32>},
    {"S_ANDN2_WREXEC_B64", write_exec<bits_andn2, 64>},
    // arithmetic
    srow<[](Scc& s, u32 a, u32 b) { return add_carry(s, a, b, false); }>("S_ADD_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return add_carry(s, a, b, s.value); }>("S_ADDC_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return sub_borrow(s, a, b, false); }>("S_SUB_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return sub_borrow(s, a, b, s.value); }>("S_SUBB_U32"),
    srow<[](Scc& s, i32 a, i32 b) {
      i32 r;
      s.value = __builtin_add_overflow(a, b, &r);
      return r;
    }>("S_ADD_I32"),
    srow<[](Scc& s, i32 a, i32 b) {
      i32 r;
      s.value = __builtin_sub_overflow(a, b, &r);
      return r;
    }>("S_SUB_I32"),
    srow<[](u32 a, u32 b) { return a * b; }>("S_MUL_I32"),
    srow<[](u32 a, u32 b) { return (static_cast<u32>(u64(a) * b >> 32)); }>("S_MUL_HI_U32"),
    srow<[](i32 a, i32 b) { return (static_cast<u32>(i64(a) * b >> 32)); }>("S_MUL_HI_I32"),
    srow<[](Scc& s, i32 a, i32 b) {
      s.value = (a < b);
      return a < b ? a : b;
    }>("S_MIN_I32"),
    srow<[](Scc& s, u32 a, u32 b) {
      s.value = (a < b);
      return a < b ? a : b;
    }>("S_MIN_U32"),
    srow<[](Scc& s, i32 a, i32 b) {
      s.value = (a > b);
      return (a > b ? a : b);
    }>("S_MAX_I32"),
    srow<[](Scc& s, u32 a, u32 b) {
      s.value = (a > b);
      return (a > b ? a : b);
    }>("S_MAX_U32"),
    srow<[](Scc& s, i32 a) {
      const u32 r = a < 0 ? 0u - u32(a) : u32(a);
      s.value = r != 0;
      return r;
    }>("S_ABS_I32"),
    srow<[](Scc& s, u32 a, u32 b) {
      const u32 d = a - b, r = static_cast<i32>(d) < 0 ? 0u - d : d;
      s.value = r != 0;
      return r;
    }>("S_ABSDIFF_I32"),
    srow<[](Scc& s, u32 a, u32 b) { return lshl_add(s, a, b, 1); }>("S_LSHL1_ADD_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return lshl_add(s, a, b, 2); }>("S_LSHL2_ADD_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return lshl_add(s, a, b, 3); }>("S_LSHL3_ADD_U32"),
    srow<[](Scc& s, u32 a, u32 b) { return lshl_add(s, a, b, 4); }>("S_LSHL4_ADD_U32"),
    // shifts and fields
    srow<[](Scc& s, u32 a, u32 b) {
      const u32 r = a << (b & 31);
      s.value = r;
      return r;
    }>("S_LSHL_B32"),
    srow<[](Scc& s, u32 a, u32 b) {
      const u32 r = (a >> (b & 31));
      s.value = r;
      return r;
    }>("S_LSHR_B32"),
    srow<[](Scc& s, i32 a, u32 b) {
      const i32 r = (a >> (b & 31));
      s.value = r;
      return r;
    }>("S_ASHR_I32"),
    srow<[](Scc& s, u64 a, u32 b) {
      const u64 r = a << (b & 63);
      s.value = r;
      return r;
    }>("S_LSHL_B64"),
    srow<[](Scc& s, u64 a, u32 b) {
      const u64 r = (a >> (b & 63));
      s.value = r;
      return r;
    }>("S_LSHR_B64"),
    srow<[](Scc& s, i64 a, u32 b) {
      const i64 r = (a >> (b & 63));
      s.value = r;
      return r;
    }>("S_ASHR_I64"),
    srow<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("S_BFM_B32"),
    srow<[](u32 a, u32 b) { return ((1ull << (a & 63)) - 1) << (b & 63); }>("S_BFM_B64"),
    srow<[](Scc& s, u32 a, u32 b) {
      const u32 width = (b >> 16 & 127), at = b & 31;
      const u64 r = ((a >> at) & ((1ull << (width > 32 ? 32 : width)) - 1));
      s.value = r;
      return (static_cast<u32>(r));
    }>("S_BFE_U32"),
    srow<[](Scc& s, i32 a, u32 b) {
      const u32 width = (b >> 16 & 127), at = b & 31;
      const i32 shifted = (a >> at);
      const i32 r =
          (width == 0    ? 0
           : width >= 32 ? shifted
                         : static_cast<i32>(u32(shifted) << (32 - width)) >> (32 - width));
      s.value = r;
      return r;
    }>("S_BFE_I32"),
    srow<[](Scc& s, u64 a, u32 b) {
      const u32 width = (b >> 16 & 127), at = b & 63;
      const u64 r = (width >= 64 ? a >> at : (a >> at) & ((1ull << width) - 1));
      s.value = r;
      return r;
    }>("S_BFE_U64"),
    srow<[](Scc& s, i64 a, u32 b) {
      const u32 width = (b >> 16 & 127), at = b & 63;
      const i64 shifted = (a >> at);
      const i64 r =
          (width == 0    ? 0
           : width >= 64 ? shifted
                         : static_cast<i64>(u64(shifted) << (64 - width)) >> (64 - width));
      s.value = r;
      return r;
    }>("S_BFE_I64"),
    srow<[](u32 a) {
      u32 r = 0;
      for (unsigned i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
      return r;
    }>("S_BREV_B32"),
    srow<[](u64 a) {
      u64 r = 0;
      for (unsigned i = 0; i < 64; ++i) r |= (a >> i & 1) << (63 - i);
      return r;
    }>("S_BREV_B64"),
    srow<[](Scc& s, u32 a) {
      const u32 r = 32 - u32(std::popcount(a));
      s.value = r;
      return r;
    }>("S_BCNT0_I32_B32"),
    srow<[](Scc& s, u64 a) {
      const u32 r = 64 - u32(std::popcount(a));
      s.value = r;
      return r;
    }>("S_BCNT0_I32_B64"),
    srow<[](Scc& s, u32 a) {
      const u32 r = u32(std::popcount(a));
      s.value = r;
      return r;
    }>("S_BCNT1_I32_B32"),
    srow<[](Scc& s, u64 a) {
      const u32 r = u32(std::popcount(a));
      s.value = r;
      return r;
    }>("S_BCNT1_I32_B64"),
    srow<[](u32 a) { return ~a ? u32(std::countr_one(a)) : ~0u; }>("S_FF0_I32_B32"),
    srow<[](u64 a) { return ~a ? u32(std::countr_one(a)) : ~0u; }>("S_FF0_I32_B64"),
    srow<[](u32 a) { return a ? u32(std::countr_zero(a)) : ~0u; }>("S_FF1_I32_B32"),
    srow<[](u64 a) { return a ? u32(std::countr_zero(a)) : ~0u; }>("S_FF1_I32_B64"),
    srow<[](u32 a) { return a ? u32(std::countl_zero(a)) : ~0u; }>("S_FLBIT_I32_B32"),
    srow<[](u64 a) { return a ? u32(std::countl_zero(a)) : ~0u; }>("S_FLBIT_I32_B64"),
    srow<[](u32 a) { return leading_different(a, 32); }>("S_FLBIT_I32"),
    srow<[](u64 a) { return leading_different(a, 64); }>("S_FLBIT_I32_I64"),
    srow<[](u32 a) { return (static_cast<i32>(static_cast<int8_t>(a))); }>("S_SEXT_I32_I8"),
    srow<[](u32 a) { return (static_cast<i32>(static_cast<int16_t>(a))); }>("S_SEXT_I32_I16"),
    srow<[](u32 a, u32 b) { return pack(a, b); }>("S_PACK_LL_B32_B16"),
    srow<[](u32 a, u32 b) { return (pack(a, b >> 16)); }>("S_PACK_LH_B32_B16"),
    srow<[](u32 a, u32 b) { return (pack(a >> 16, b)); }>("S_PACK_HL_B32_B16"),
    srow<[](u32 a, u32 b) { return (pack(a >> 16, b >> 16)); }>("S_PACK_HH_B32_B16"),
    srow<[](Scc& s, u32 a) {
      const u32 r = (u32(quadmask<32>(a)));
      s.value = r;
      return r;
    }>("S_QUADMASK_B32"),
    srow<[](Scc& s, u64 a) {
      const u64 r = (quadmask<64>(a));
      s.value = r;
      return r;
    }>("S_QUADMASK_B64"),
    srow<[](Scc& s, u32 a) {
      const u32 r = (u32(whole_quads<32>(a)));
      s.value = r;
      return r;
    }>("S_WQM_B32"),
    srow<[](Scc& s, u64 a) {
      const u64 r = (whole_quads<64>(a));
      s.value = r;
      return r;
    }>("S_WQM_B64"),
    srow<[](u32 a) {
      u64 r = 0;
      for (unsigned i = 0; i < 32; ++i) r |= u64(a >> i & 1) * 3 << (2 * i);
      return r;
    }>("S_BITREPLICATE_B64_B32"),
    {"S_BITSET0_B32", bitset0<32>},
    {"S_BITSET0_B64", bitset0<64>},
    {"S_BITSET1_B32", bitset1<32>},
    {"S_BITSET1_B64", bitset1<64>},
    srow<[](Scc& s, u32 a, u32 b) { s.value = (!(a >> (b & 31) & 1)); }>("S_BITCMP0_B32"),
    srow<[](Scc& s, u32 a, u32 b) { s.value = (a >> (b & 31) & 1); }>("S_BITCMP1_B32"),
    srow<[](Scc& s, u64 a, u32 b) { s.value = (!(a >> (b & 63) & 1)); }>("S_BITCMP0_B64"),
    srow<[](Scc& s, u64 a, u32 b) { s.value = (a >> (b & 63) & 1); }>("S_BITCMP1_B64"),
    // compares
    COMPARE("EQ", ==),
    COMPARE("LG", !=),
    COMPARE("GT", >),
    COMPARE("GE", >=),
    COMPARE("LT", <),
    COMPARE("LE", <=),
    srow<[](Scc& s, u64 a, u64 b) { s.value = a == b; }>("S_CMP_EQ_U64"),
    srow<[](Scc& s, u64 a, u64 b) { s.value = a != b; }>("S_CMP_LG_U64"),
    // constants
    {"S_MOVK_I32", movk},
    {"S_CMOVK_I32", cmovk},
    {"S_ADDK_I32", addk},
    {"S_MULK_I32", mulk},
    // program counter
    {"S_GETPC_B64", getpc},
    {"S_SETPC_B64", setpc},
    {"S_SWAPPC_B64", swappc},
    {"S_CALL_B64", call},
    // relative
    {"S_MOVRELS_B32", movrels<32>},
    {"S_MOVRELS_B64", movrels<64>},
    {"S_MOVRELD_B32", movreld<32>},
    {"S_MOVRELD_B64", movreld<64>},
};

}  // namespace

std::span<const Row> salu_rows() { return kRows; }

}  // namespace tiny::models::amd
