// SPDX-License-Identifier: MIT
// Vector integer arithmetic, logic, shifts, bit fields and carries.
#include "models/amd/isa/lanes.h"

#include <bit>

namespace tiny::models::amd {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
using C = Context;

template <class T, class Wide>
T saturate(Wide value) {
  constexpr Wide lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  return static_cast<T>(value < lo ? lo : value > hi ? hi : value);
}

/// Adds and subtracts: wrapping, or saturating with the clamp modifier.
template <class T>
T add(const C& c, T a, T b) {
  const i64 wide = i64(a) + i64(b);
  return c.clamp ? saturate<T>(wide) : static_cast<T>(wide);
}
template <class T>
T subtract(const C& c, T a, T b) {
  const i64 wide = i64(a) - i64(b);
  return c.clamp ? saturate<T>(wide) : static_cast<T>(wide);
}

u32 u24(u32 a) { return a & 0xffffff; }
i32 i24(u32 a) { return static_cast<i32>(a << 8) >> 8; }

u32 bfe_u(u32 a, u32 at, u32 width) {
  const u32 w = width & 31, s = at & 31;
  return (a >> s) & ((1u << w) - 1);
}
i32 bfe_i(u32 a, u32 at, u32 width) {
  const u32 w = width & 31, s = at & 31;
  if (w == 0) return 0;
  const i32 shifted = static_cast<i32>(a) >> s;
  return static_cast<i32>(static_cast<u32>(shifted) << (32 - w)) >> (32 - w);
}
u32 reverse(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
u32 ffbh_i(u32 a) {
  const u32 flipped = static_cast<i32>(a) < 0 ? ~a : a;
  return flipped == 0 ? ~0u : static_cast<u32>(std::countl_zero(flipped));
}
/// One byte of v_perm_b32: 0–3 from the second source, 4–7 from the first, then sign fills.
u32 perm_byte(u64 data, u32 select) {
  if (select >= 13) return 0xff;
  if (select == 12) return 0;
  if (select >= 8) return data >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
  return static_cast<u32>(data >> (8 * select) & 0xff);
}
u32 perm(u32 a, u32 b, u32 selector) {
  const u64 data = u64(a) << 32 | b;
  u32 out = 0;
  for (unsigned i = 0; i < 4; ++i) out |= perm_byte(data, selector >> (8 * i) & 0xff) << (8 * i);
  return out;
}
u32 sad_u8(u32 a, u32 b, u32 sum, bool masked) {
  for (unsigned i = 0; i < 32; i += 8) {
    const i32 x = a >> i & 0xff, y = b >> i & 0xff;
    if (masked && y == 0) continue;
    sum += static_cast<u32>(x > y ? x - y : y - x);
  }
  return sum;
}
u32 sad_u16(u32 a, u32 b, u32 sum) {
  for (unsigned i = 0; i < 32; i += 16) {
    const i32 x = a >> i & 0xffff, y = b >> i & 0xffff;
    sum += static_cast<u32>(x > y ? x - y : y - x);
  }
  return sum;
}
u32 lerp_u8(u32 a, u32 b, u32 round) {
  u32 out = 0;
  for (unsigned i = 0; i < 32; i += 8)
    out |= (((a >> i & 0xff) + (b >> i & 0xff) + (round >> i & 1)) >> 1) << i;
  return out;
}
template <class T>
T med3(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// ---- carries: (sum, carry lane) = F(a, b, carry in)

struct Sum {
  u32 value;
  bool carry;
};
Sum add_carry(u32 a, u32 b, bool in) {
  const u64 s = u64(a) + b + in;
  return {static_cast<u32>(s), (s >> 32) != 0};
}
Sum sub_borrow(u32 a, u32 b, bool in) { return {a - b - in, u64(a) < u64(b) + in}; }

template <auto F, bool kIn, bool kReverse>
void carry(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Input<u32> a(InputArguments{w, op, 0, active, poison});
  const Input<u32> b(InputArguments{w, op, 1, active, poison});
  u64 in = 0, in_poison = 0;
  if constexpr (kIn) {
    Source vcc = op.sdst;  // e32: VCC in and out; e64 names both
    if (op.source_count > 2)
      vcc = op.src[2];
    else
      vcc.reg = kVccLo;
    in = read_mask(w, vcc, &in_poison);
  }
  poison.lo |= in_poison;
  u32 out[kMaxLanes];
  u64 carries = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const Sum s = kReverse ? F(b[l], a[l], in >> l & 1) : F(a[l], b[l], in >> l & 1);
    out[l] = op.clamp && s.carry ? (F == &add_carry ? ~0u : 0u) : s.value;
    carries |= u64(s.carry) << l;
  }
  poison.lo = poison.hi = poison.any();
  commit_words(w, op, op.dst, 0, out, active, poison);
  commit_mask(w, op.sdst, carries, active, poison);
}

template <bool kSigned>
void mad64(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Input<u32> a(InputArguments{w, op, 0, active, poison});
  const Input<u32> b(InputArguments{w, op, 1, active, poison});
  const Poison factors = poison;
  const Input<u64> c(InputArguments{w, op, 2, active, poison});
  u64 out[kMaxLanes], carries = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    u64 product, sum;
    bool over;
    if constexpr (kSigned) {
      product = static_cast<u64>(i64(static_cast<i32>(a[l])) * static_cast<i32>(b[l]));
      i64 r;
      over = __builtin_add_overflow(static_cast<i64>(product), static_cast<i64>(c[l]), &r);
      sum = static_cast<u64>(r);
    } else {
      product = u64(a[l]) * b[l];
      over = __builtin_add_overflow(product, c[l], &sum);
    }
    out[l] = sum;
    carries |= u64(over) << l;
  }
  // The low half does not depend on the high half of the addend, which compilers leave undefined.
  u32 words[2][kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    words[0][l] = static_cast<u32>(out[l]);
    words[1][l] = static_cast<u32>(out[l] >> 32);
  }
  Poison low = factors, own;
  LaneWords space;
  fetch_words(w, op, 2, 0, active, space, own);
  add_word_poison(low, own);
  commit_words(w, op, op.dst, 0, words[0], active, low);
  commit_words(w, op, op.dst, 1, words[1], active, poison);
  commit_mask(w, op.sdst, carries, active, poison);
}

void mbcnt(Wave& w, const Op& op) {
  const Active active(w, op);
  Poison poison;
  const Input<u32> mask(InputArguments{w, op, 0, active, poison});
  const Input<u32> base(InputArguments{w, op, 1, active, poison});
  const bool high = op.param;
  u32 out[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 below = (1ull << l) - 1;
    const u32 lanes_below = static_cast<u32>(high ? below >> 32 : below);
    out[l] = base[l] + static_cast<u32>(std::popcount(mask[l] & lanes_below));
  }
  commit<u32>(w, op, out, active, poison);
}

/// v_sub_nc and friends exist with old and new names.
#define BOTH(old_name, new_name, ...) \
  lane_row<__VA_ARGS__>(old_name), lane_row<__VA_ARGS__>(new_name)

const Row kRows[] = {
    BOTH("V_ADD_U32", "V_ADD_NC_U32",
         [](C c, u32 a, u32 b) { return (c.clamp ? add<u32>(c, a, b) : a + b); }),
    BOTH("V_SUB_U32", "V_SUB_NC_U32",
         [](C c, u32 a, u32 b) { return (c.clamp ? subtract<u32>(c, a, b) : a - b); }),
    BOTH("V_SUBREV_U32", "V_SUBREV_NC_U32",
         [](C c, u32 a, u32 b) { return (subtract<u32>(c, b, a)); }),
    BOTH("V_ADD_I32", "V_ADD_NC_I32", [](C c, i32 a, i32 b) { return (add<i32>(c, a, b)); }),
    BOTH("V_SUB_I32", "V_SUB_NC_I32", [](C c, i32 a, i32 b) { return (subtract<i32>(c, a, b)); }),
    BOTH("V_ADD_U16", "V_ADD_NC_U16", [](C c, u16 a, u16 b) { return (add<u16>(c, a, b)); }),
    BOTH("V_SUB_U16", "V_SUB_NC_U16", [](C c, u16 a, u16 b) { return (subtract<u16>(c, a, b)); }),
    BOTH("V_ADD_I16", "V_ADD_NC_I16", [](C c, i16 a, i16 b) { return (add<i16>(c, a, b)); }),
    BOTH("V_SUB_I16", "V_SUB_NC_I16", [](C c, i16 a, i16 b) { return (subtract<i16>(c, a, b)); }),
    {"V_ADD_CO_U32", carry<&add_carry, false, false>, 2},
    {"V_SUB_CO_U32", carry<&sub_borrow, false, false>, 2},
    {"V_SUBREV_CO_U32", carry<&sub_borrow, false, true>, 2},
    {"V_ADD_CO_CI_U32", carry<&add_carry, true, false>, 3},
    {"V_SUB_CO_CI_U32", carry<&sub_borrow, true, false>, 3},
    {"V_SUBREV_CO_CI_U32", carry<&sub_borrow, true, true>, 3},
    // logic
    exact_row<[](u32 a, u32 b) { return a & b; }>("V_AND_B32"),
    exact_row<[](u32 a, u32 b) { return a | b; }>("V_OR_B32"),
    exact_row<[](u32 a, u32 b) { return a ^ b; }>("V_XOR_B32"),
    exact_row<[](u32 a, u32 b) { return ~(a ^ b); }>("V_XNOR_B32"),
    exact_row<[](u32 a) { return ~a; }>("V_NOT_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>("V_AND_OR_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return a | b | c; }>("V_OR3_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>("V_XOR3_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>("V_XAD_U32"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>("V_BFI_B32"),
    lane_row<[](u16 a, u16 b) { return u16(a & b); }>("V_AND_B16"),
    lane_row<[](u16 a, u16 b) { return u16(a | b); }>("V_OR_B16"),
    lane_row<[](u16 a, u16 b) { return u16(a ^ b); }>("V_XOR_B16"),
    lane_row<[](u16 a) { return u16(~a); }>("V_NOT_B16"),
    lane_row<[](u16 a) { return a; }>("V_MOV_B16"),
    // shifts
    exact_row<[](u32 a, u32 b) { return b << (a & 31); }>("V_LSHLREV_B32"),
    exact_row<[](u32 a, u32 b) { return (b >> (a & 31)); }>("V_LSHRREV_B32"),
    exact_row<[](u32 a, i32 b) { return (b >> (a & 31)); }>("V_ASHRREV_I32"),
    lane_row<[](u32 a, u64 b) { return b << (a & 63); }>("V_LSHLREV_B64"),
    lane_row<[](u32 a, u64 b) { return (b >> (a & 63)); }>("V_LSHRREV_B64"),
    lane_row<[](u32 a, i64 b) { return (b >> (a & 63)); }>("V_ASHRREV_I64"),
    lane_row<[](u16 a, u16 b) { return u16(b << (a & 15)); }>("V_LSHLREV_B16"),
    lane_row<[](u16 a, u16 b) { return (u16(b >> (a & 15))); }>("V_LSHRREV_B16"),
    lane_row<[](u16 a, i16 b) { return (i16(b >> (a & 15))); }>("V_ASHRREV_I16"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>("V_LSHL_OR_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>("V_LSHL_ADD_U32"),
    exact_row<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>("V_ADD_LSHL_U32"),
    exact_row<[](u32 a, u32 b, u32 c) {
      return (static_cast<u32>((u64(a) << 32 | b) >> (c & 31)));
    }>("V_ALIGNBIT_B32"),
    exact_row<[](u32 a, u32 b, u32 c) {
      return (static_cast<u32>((u64(a) << 32 | b) >> (8 * (c & 3))));
    }>("V_ALIGNBYTE_B32"),
    // fields
    exact_row<[](u32 a, u32 b, u32 c) { return bfe_u(a, b, c); }>("V_BFE_U32"),
    exact_row<[](u32 a, u32 b, u32 c) { return bfe_i(a, b, c); }>("V_BFE_I32"),
    lane_row<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("V_BFM_B32"),
    exact_row<[](u32 a, u32 b, u32 c) { return perm(a, b, c); }>("V_PERM_B32"),
    lane_row<[](u32 a) { return reverse(a); }>("V_BFREV_B32"),
    lane_row<[](u32 a, u32 b) { return (static_cast<u32>(std::popcount(a)) + b); }>(
        "V_BCNT_U32_B32"),
    BOTH("V_FFBH_U32", "V_CLZ_I32_U32",
         [](u32 a) { return (a ? static_cast<u32>(std::countl_zero(a)) : ~0u); }),
    BOTH("V_FFBL_B32", "V_CTZ_I32_B32",
         [](u32 a) { return (a ? static_cast<u32>(std::countr_zero(a)) : ~0u); }),
    BOTH("V_FFBH_I32", "V_CLS_I32", [](u32 a) { return ffbh_i(a); }),
    {"V_MBCNT_LO_U32_B32", mbcnt, 2, 0},
    {"V_MBCNT_HI_U32_B32", mbcnt, 2, 1},
    // sums
    exact_row<[](u32 a, u32 b, u32 c) { return a + b + c; }>("V_ADD3_U32"),
    // products
    BOTH("V_MUL_LO_I32", "V_MUL_LO_U32", [](u32 a, u32 b) { return a * b; }),
    lane_row<[](u32 a, u32 b) { return (static_cast<u32>(u64(a) * b >> 32)); }>("V_MUL_HI_U32"),
    lane_row<[](i32 a, i32 b) { return (static_cast<u32>(u64(i64(a) * b) >> 32)); }>(
        "V_MUL_HI_I32"),
    lane_row<[](u32 a, u32 b) { return u24(a) * u24(b); }>("V_MUL_U32_U24"),
    lane_row<[](u32 a, u32 b) { return (static_cast<u32>(i24(a)) * static_cast<u32>(i24(b))); }>(
        "V_MUL_I32_I24"),
    lane_row<[](u32 a, u32 b) { return (static_cast<u32>(u64(u24(a)) * u24(b) >> 32)); }>(
        "V_MUL_HI_U32_U24"),
    lane_row<[](u32 a, u32 b) { return (static_cast<u32>(u64(i64(i24(a)) * i24(b)) >> 32)); }>(
        "V_MUL_HI_I32_I24"),
    lane_row<[](C c, u32 a, u32 b, u32 d) {
      const u64 r = u64(u24(a)) * u24(b) + d;
      return (c.clamp && r > 0xffffffffull ? ~0u : static_cast<u32>(r));
    }>("V_MAD_U32_U24"),
    lane_row<[](C c, u32 a, u32 b, i32 d) {
      const i64 r = i64(i24(a)) * i24(b) + d;
      return (c.clamp ? saturate<i32>(r) : static_cast<i32>(r));
    }>("V_MAD_I32_I24"),
    {"V_MAD_U64_U32", mad64<false>, 3},
    {"V_MAD_I64_I32", mad64<true>, 3},
    lane_row<[](C c, u16 a, u16 b, u16 d) {
      const u32 r = u32(a) * b + d;
      return (c.clamp && r > 0xffff ? u16(0xffff) : u16(r));
    }>("V_MAD_U16"),
    lane_row<[](C c, i16 a, i16 b, i16 d) {
      const i64 r = i64(a) * b + d;
      return (c.clamp ? saturate<i16>(r) : static_cast<i16>(r));
    }>("V_MAD_I16"),
    lane_row<[](C c, u16 a, u16 b, u32 d) {
      const u64 r = u64(a) * b + d;
      return (c.clamp && r > 0xffffffffull ? ~0u : static_cast<u32>(r));
    }>("V_MAD_U32_U16"),
    lane_row<[](C c, i16 a, i16 b, i32 d) {
      const i64 r = i64(a) * b + d;
      return (c.clamp ? saturate<i32>(r) : static_cast<i32>(r));
    }>("V_MAD_I32_I16"),
    lane_row<[](u16 a, u16 b) { return u16(u32(a) * b); }>("V_MUL_LO_U16"),
    // order
    lane_row<[](u32 a, u32 b) { return a < b ? a : b; }>("V_MIN_U32"),
    lane_row<[](u32 a, u32 b) { return (a > b ? a : b); }>("V_MAX_U32"),
    lane_row<[](i32 a, i32 b) { return a < b ? a : b; }>("V_MIN_I32"),
    lane_row<[](i32 a, i32 b) { return (a > b ? a : b); }>("V_MAX_I32"),
    lane_row<[](u16 a, u16 b) { return a < b ? a : b; }>("V_MIN_U16"),
    lane_row<[](u16 a, u16 b) { return (a > b ? a : b); }>("V_MAX_U16"),
    lane_row<[](i16 a, i16 b) { return a < b ? a : b; }>("V_MIN_I16"),
    lane_row<[](i16 a, i16 b) { return (a > b ? a : b); }>("V_MAX_I16"),
    lane_row<[](u32 a, u32 b, u32 c) { return std::min({a, b, c}); }>("V_MIN3_U32"),
    lane_row<[](u32 a, u32 b, u32 c) { return std::max({a, b, c}); }>("V_MAX3_U32"),
    lane_row<[](u32 a, u32 b, u32 c) { return med3(a, b, c); }>("V_MED3_U32"),
    lane_row<[](i32 a, i32 b, i32 c) { return std::min({a, b, c}); }>("V_MIN3_I32"),
    lane_row<[](i32 a, i32 b, i32 c) { return std::max({a, b, c}); }>("V_MAX3_I32"),
    lane_row<[](i32 a, i32 b, i32 c) { return med3(a, b, c); }>("V_MED3_I32"),
    lane_row<[](u16 a, u16 b, u16 c) { return std::min({a, b, c}); }>("V_MIN3_U16"),
    lane_row<[](u16 a, u16 b, u16 c) { return std::max({a, b, c}); }>("V_MAX3_U16"),
    lane_row<[](u16 a, u16 b, u16 c) { return med3(a, b, c); }>("V_MED3_U16"),
    lane_row<[](i16 a, i16 b, i16 c) { return std::min({a, b, c}); }>("V_MIN3_I16"),
    lane_row<[](i16 a, i16 b, i16 c) { return std::max({a, b, c}); }>("V_MAX3_I16"),
    lane_row<[](i16 a, i16 b, i16 c) { return med3(a, b, c); }>("V_MED3_I16"),
    lane_row<[](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }>("V_MAXMIN_U32"),
    lane_row<[](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); }>("V_MINMAX_U32"),
    lane_row<[](i32 a, i32 b, i32 c) { return std::min(std::max(a, b), c); }>("V_MAXMIN_I32"),
    lane_row<[](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), c); }>("V_MINMAX_I32"),
    // bytes
    lane_row<[](u32 a, u32 b, u32 c) { return sad_u8(a, b, c, false); }>("V_SAD_U8"),
    lane_row<[](u32 a, u32 b, u32 c) { return (sad_u8(a, b, 0, false) << 16) + c; }>("V_SAD_HI_U8"),
    lane_row<[](u32 a, u32 b, u32 c) { return sad_u8(a, b, c, true); }>("V_MSAD_U8"),
    lane_row<[](u32 a, u32 b, u32 c) { return sad_u16(a, b, c); }>("V_SAD_U16"),
    lane_row<[](u32 a, u32 b, u32 c) { return ((a > b ? a - b : b - a) + c); }>("V_SAD_U32"),
    lane_row<[](u32 a, u32 b, u32 c) { return lerp_u8(a, b, c); }>("V_LERP_U8"),
};

}  // namespace

std::span<const Row> valu_integer_rows() { return kRows; }

}  // namespace tiny::models::amd
