// SPDX-License-Identifier: MIT
// Every case assembles one instruction, runs it over many operands, edge values among them, and
// compares with the host: integers in 128 bits, floats in the host's own arithmetic (correctly
// rounded by IEEE 754), halves through runtime/base's conversions.
#include "tests/models/amd/isa_harness.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/dtype.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <numbers>

using namespace isa_test;

namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

struct In {
  u64 a, b, c, old;
  u32 lo(u64 v) const { return static_cast<u32>(v); }
};
float f(u64 v) { return std::bit_cast<float>(static_cast<u32>(v)); }
double d(u64 v) { return std::bit_cast<double>(v); }
u64 bits(float v) { return std::bit_cast<u32>(v); }
u64 bits(double v) { return std::bit_cast<u64>(v); }
float h(u64 v) { return float(std::bit_cast<tiny::Half>(static_cast<u16>(v))); }
u64 half(float v) { return std::bit_cast<u16>(tiny::Half(v)); }

/// Where the host and the chip may choose different NaNs.
bool same(u64 x, u64 y, char kind) {
  if (x == y) return true;
  if (kind == 'f') return std::isnan(f(x)) && std::isnan(f(y));
  if (kind == 'd') return std::isnan(d(x)) && std::isnan(d(y));
  if (kind == 'h') return std::isnan(h(x)) && std::isnan(h(y)) && (x >> 16) == (y >> 16);
  if (kind == 'p')
    return same(x & 0xffff, y & 0xffff, 'h') && same(x >> 16 & 0xffff, y >> 16 & 0xffff, 'h');
  return false;
}

struct Case {
  const char* text;  ///< D A B C: 32-bit registers; DD AA BB CC: pairs
  char result;       ///< i integer, f, d, h (half, the high half kept), p (two halves)
  std::function<u64(const In&)> reference;
};

std::string expand(std::string text) {
  const std::pair<const char*, const char*> kNames[] = {
      {"DD", "v[8:9]"}, {"AA", "v[0:1]"}, {"BB", "v[2:3]"}, {"CC", "v[4:5]"},
      {"$D", "v8"},     {"$A", "v0"},     {"$B", "v2"},     {"$C", "v4"}};
  for (const auto& [from, to] : kNames)
    for (size_t at; (at = text.find(from)) != text.npos;) text.replace(at, 2, to);
  return text;
}

/// Runs one case over `rounds` waves of lanes; returns the first difference.
std::string check(Bench& bench, const Case& test, unsigned rounds, unsigned seed) {
  bench.load(expand(test.text));
  const bool wide = std::string(test.text).find("DD") != std::string::npos;
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < rounds; ++round) {
    Wave& w = bench.fresh();
    std::vector<In> in(bench.lanes);
    for (unsigned l = 0; l < bench.lanes; ++l) {
      auto one = [&](const char* pair, unsigned i) -> u64 {
        if (std::string(test.text).find(pair) != std::string::npos) return some64(random, i);
        if (test.result == 'h' || test.result == 'p') return some16x2(random, i);
        return some32(random, i);
      };
      const unsigned pick = static_cast<unsigned>(random());
      in[l] = {one("AA", pick), one("BB", pick >> 8), one("CC", pick >> 16),
               some32(random, pick >> 24)};
      const u64 values[3] = {in[l].a, in[l].b, in[l].c};
      for (unsigned s = 0; s < 3; ++s) {
        w.set_vgpr(2 * s, l, static_cast<u32>(values[s]));
        w.set_vgpr(2 * s + 1, l, static_cast<u32>(values[s] >> 32));
      }
      w.set_vgpr(8, l, static_cast<u32>(in[l].old));
      w.set_vgpr(9, l, 0);
    }
    w.set_sgpr(kVccLo, 0);
    w.set_sgpr(kVccHi, 0);
    const Stop stop = bench.run();
    if (stop.reason != StopReason::end) return stop.fault.message();
    for (unsigned l = 0; l < bench.lanes; ++l) {
      u64 got = w.vgpr(8, l);
      if (wide) got |= u64(w.vgpr(9, l)) << 32;
      u64 want = test.reference(in[l]);
      if (test.result == 'h') want = (want & 0xffff) | (in[l].old & 0xffff0000u);
      if (!same(got, want, test.result))
        return fmt::format("{}: a={:#x} b={:#x} c={:#x} gives {:#x}, expected {:#x}", test.text,
                           in[l].a, in[l].b, in[l].c, got, want);
    }
  }
  return "";
}

void check_all(Bench& bench, const std::vector<Case>& cases, unsigned rounds = 24) {
  unsigned seed = 1;
  for (const Case& test : cases) CHECK(check(bench, test, rounds, seed++) == "");
}

#define INT(text, expr)                                                                 \
  {text, 'i', [](const In& in) -> u64 {                                                 \
     [[maybe_unused]] const u32 a = static_cast<u32>(in.a), b = static_cast<u32>(in.b), \
                                c = static_cast<u32>(in.c);                             \
     [[maybe_unused]] const i32 sa = static_cast<i32>(a), sb = static_cast<i32>(b),     \
                                sc = static_cast<i32>(c);                               \
     return static_cast<u32>(expr);                                                     \
   }}
#define WIDE(text, expr)                                      \
  {text, 'i', [](const In& in) -> u64 {                       \
     [[maybe_unused]] const u64 a = in.a, b = in.b, c = in.c; \
     return static_cast<u64>(expr);                           \
   }}
#define F32(text, expr)                                                  \
  {text, 'f', [](const In& in) -> u64 {                                  \
     [[maybe_unused]] const float a = f(in.a), b = f(in.b), c = f(in.c); \
     return bits(static_cast<float>(expr));                              \
   }}
#define F64(text, expr)                                                   \
  {text, 'd', [](const In& in) -> u64 {                                   \
     [[maybe_unused]] const double a = d(in.a), b = d(in.b), c = d(in.c); \
     return bits(static_cast<double>(expr));                              \
   }}
#define F16(text, expr)                                                  \
  {text, 'h', [](const In& in) -> u64 {                                  \
     [[maybe_unused]] const float a = h(in.a), b = h(in.b), c = h(in.c); \
     return half(static_cast<float>(expr));                              \
   }}
#define I16(text, expr)                                                                 \
  {text, 'h', [](const In& in) -> u64 {                                                 \
     [[maybe_unused]] const u16 a = static_cast<u16>(in.a), b = static_cast<u16>(in.b), \
                                c = static_cast<u16>(in.c);                             \
     [[maybe_unused]] const i16 sa = static_cast<i16>(a), sb = static_cast<i16>(b),     \
                                sc = static_cast<i16>(c);                               \
     return static_cast<u16>(expr);                                                     \
   }}

i64 clamp(i64 v, i64 lo, i64 hi) { return v < lo ? lo : v > hi ? hi : v; }
i64 s24(u32 v) {
  return static_cast<i64>(static_cast<i32>(v & 0xffffff) - (v & 0x800000 ? 0x1000000 : 0));
}
u32 highest(u32 v) {
  for (u32 n = 0; n < 32; ++n)
    if (v & (0x80000000u >> n)) return n;
  return ~0u;
}
u32 lowest(u32 v) {
  for (u32 n = 0; n < 32; ++n)
    if (v & (1u << n)) return n;
  return ~0u;
}
u32 count(u32 v) {
  u32 n = 0;
  for (; v; v &= v - 1) ++n;
  return n;
}
u32 mirrored(u32 v) {
  u32 r = 0;
  for (unsigned i = 0; i < 32; ++i) r = r << 1 | (v >> i & 1);
  return r;
}
u32 byte_of(u32 a, u32 b, u32 s) {
  const u64 both = u64(a) << 32 | b;
  if (s <= 7) return static_cast<u32>(both >> (8 * s)) & 0xff;
  if (s == 8) return b & 0x8000 ? 0xff : 0;
  if (s == 9) return b & 0x80000000u ? 0xff : 0;
  if (s == 10) return a & 0x8000 ? 0xff : 0;
  if (s == 11) return a & 0x80000000u ? 0xff : 0;
  return s == 12 ? 0 : 0xff;
}
u32 permuted(u32 a, u32 b, u32 s) {
  return byte_of(a, b, s & 0xff) | byte_of(a, b, s >> 8 & 0xff) << 8 |
         byte_of(a, b, s >> 16 & 0xff) << 16 | byte_of(a, b, s >> 24) << 24;
}
template <class T>
T middle(T a, T b, T c) {
  T v[3] = {a, b, c};
  std::sort(v, v + 3);
  return v[1];
}
u32 absolute_sum(u32 a, u32 b, u32 c, unsigned width, bool masked) {
  for (unsigned i = 0; i < 32; i += width) {
    const i64 x = a >> i & ((1ull << width) - 1), y = b >> i & ((1ull << width) - 1);
    if (!masked || y) c += static_cast<u32>(std::llabs(x - y));
  }
  return c;
}
/// IEEE 754-2008 minNum with −0 < +0, and the chips' rule that a signalling NaN wins, quieted.
template <class F>
F least(F a, F b, bool greatest) {
  using B = std::conditional_t<sizeof(F) == 4, u32, u64>;
  constexpr B quiet = sizeof(F) == 4 ? B(1) << 22 : B(1) << (51 % (8 * sizeof(B)));
  const B x = std::bit_cast<B>(a), y = std::bit_cast<B>(b);
  if (std::isnan(a) && !(x & quiet)) return std::bit_cast<F>(B(x | quiet));
  if (std::isnan(b) && !(y & quiet)) return std::bit_cast<F>(B(y | quiet));
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0)
    return (std::signbit(a) || std::signbit(b)) != greatest
               ? (std::signbit(a) ? a
                  : greatest      ? a
                                  : b)
               : (greatest ? (std::signbit(a) ? b : a) : a);
  return greatest ? std::fmax(a, b) : std::fmin(a, b);
}
i32 saturated_i(double v) {
  return std::isnan(v)        ? 0
         : v <= -2147483648.0 ? INT32_MIN
         : v >= 2147483647.0  ? INT32_MAX
                              : static_cast<i32>(v);
}
u32 saturated_u(double v) {
  return std::isnan(v) || v <= 0 ? 0 : v >= 4294967295.0 ? UINT32_MAX : static_cast<u32>(v);
}

const std::vector<Case>& integer_cases() {
  static const std::vector<Case> kCases = {
      INT("v_add_nc_u32 $D, $A, $B", a + b),
      INT("v_sub_nc_u32 $D, $A, $B", a - b),
      INT("v_subrev_nc_u32 $D, $A, $B", b - a),
      INT("v_add_nc_u32_e64 $D, $A, $B clamp", clamp(i64(a) + b, 0, UINT32_MAX)),
      INT("v_sub_nc_u32_e64 $D, $A, $B clamp", clamp(i64(a) - b, 0, UINT32_MAX)),
      INT("v_add_nc_i32 $D, $A, $B", a + b),
      INT("v_sub_nc_i32 $D, $A, $B", a - b),
      INT("v_add_nc_i32 $D, $A, $B clamp", clamp(i64(sa) + sb, INT32_MIN, INT32_MAX)),
      INT("v_sub_nc_i32 $D, $A, $B clamp", clamp(i64(sa) - sb, INT32_MIN, INT32_MAX)),
      INT("v_and_b32 $D, $A, $B", a & b),
      INT("v_or_b32 $D, $A, $B", a | b),
      INT("v_xor_b32 $D, $A, $B", a ^ b),
      INT("v_xnor_b32 $D, $A, $B", ~(a ^ b)),
      INT("v_not_b32 $D, $A", ~a),
      INT("v_mov_b32 $D, $A", a),
      INT("v_and_or_b32 $D, $A, $B, $C", (a & b) | c),
      INT("v_or3_b32 $D, $A, $B, $C", a | b | c),
      INT("v_xor3_b32 $D, $A, $B, $C", a ^ b ^ c),
      INT("v_xad_u32 $D, $A, $B, $C", (a ^ b) + c),
      INT("v_bfi_b32 $D, $A, $B, $C", (a & b) | (~a & c)),
      INT("v_lshlrev_b32 $D, $A, $B", u64(b) << (a % 32)),
      INT("v_lshrrev_b32 $D, $A, $B", b >> (a % 32)),
      INT("v_ashrrev_i32 $D, $A, $B", i64(sb) >> (a % 32)),
      WIDE("v_lshlrev_b64 DD, $A, BB", b << (a % 64)),
      WIDE("v_lshrrev_b64 DD, $A, BB", b >> (a % 64)),
      WIDE("v_ashrrev_i64 DD, $A, BB", static_cast<i64>(b) >> (a % 64)),
      INT("v_lshl_or_b32 $D, $A, $B, $C", (u64(a) << (b % 32)) | c),
      INT("v_lshl_add_u32 $D, $A, $B, $C", (u64(a) << (b % 32)) + c),
      INT("v_add_lshl_u32 $D, $A, $B, $C", u64(a + b) << (c % 32)),
      INT("v_alignbit_b32 $D, $A, $B, $C", (u64(a) << 32 | b) >> (c % 32)),
      INT("v_alignbyte_b32 $D, $A, $B, $C", (u64(a) << 32 | b) >> (8 * (c % 4))),
      INT("v_bfe_u32 $D, $A, $B, $C", c % 32 ? a >> (b % 32) & ((1ull << (c % 32)) - 1) : 0),
      INT("v_bfe_i32 $D, $A, $B, $C",
          c % 32 ? static_cast<i64>(static_cast<u64>(i64(sa) >> (b % 32)) << (64 - c % 32)) >>
                       (64 - c % 32)
                 : 0),
      INT("v_bfm_b32 $D, $A, $B", ((1ull << (a % 32)) - 1) << (b % 32)),
      INT("v_perm_b32 $D, $A, $B, $C", permuted(a, b, c)),
      INT("v_bfrev_b32 $D, $A", mirrored(a)),
      INT("v_bcnt_u32_b32 $D, $A, $B", count(a) + b),
      INT("v_clz_i32_u32 $D, $A", highest(a)),
      INT("v_ctz_i32_b32 $D, $A", lowest(a)),
      INT("v_cls_i32 $D, $A", highest(sa < 0 ? ~a : a)),
      INT("v_add3_u32 $D, $A, $B, $C", a + b + c),
      INT("v_mul_lo_u32 $D, $A, $B", u128(a) * b),
      INT("v_mul_hi_u32 $D, $A, $B", u128(a) * b >> 32),
      INT("v_mul_hi_i32 $D, $A, $B", i128(sa) * sb >> 32),
      INT("v_mul_u32_u24 $D, $A, $B", u128(a & 0xffffff) * (b & 0xffffff)),
      INT("v_mul_i32_i24 $D, $A, $B", i128(s24(a)) * s24(b)),
      INT("v_mul_hi_u32_u24 $D, $A, $B", u128(a & 0xffffff) * (b & 0xffffff) >> 32),
      INT("v_mul_hi_i32_i24 $D, $A, $B", i128(s24(a)) * s24(b) >> 32),
      INT("v_mad_u32_u24 $D, $A, $B, $C", u128(a & 0xffffff) * (b & 0xffffff) + c),
      INT("v_mad_i32_i24 $D, $A, $B, $C", i128(s24(a)) * s24(b) + sc),
      WIDE("v_mad_u64_u32 DD, vcc_lo, $A, $B, CC",
           u128(static_cast<u32>(a)) * static_cast<u32>(b) + c),
      WIDE("v_mad_i64_i32 DD, vcc_lo, $A, $B, CC",
           i128(static_cast<i32>(a)) * static_cast<i32>(b) + static_cast<i64>(c)),
      INT("v_mad_u32_u16 $D, $A, $B, $C", u64(a & 0xffff) * (b & 0xffff) + c),
      INT("v_mad_i32_i16 $D, $A, $B, $C", i64(i16(a)) * i16(b) + sc),
      INT("v_min_u32 $D, $A, $B", std::min(a, b)),
      INT("v_max_u32 $D, $A, $B", std::max(a, b)),
      INT("v_min_i32 $D, $A, $B", std::min(sa, sb)),
      INT("v_max_i32 $D, $A, $B", std::max(sa, sb)),
      INT("v_min3_u32 $D, $A, $B, $C", std::min({a, b, c})),
      INT("v_max3_u32 $D, $A, $B, $C", std::max({a, b, c})),
      INT("v_med3_u32 $D, $A, $B, $C", middle(a, b, c)),
      INT("v_min3_i32 $D, $A, $B, $C", std::min({sa, sb, sc})),
      INT("v_max3_i32 $D, $A, $B, $C", std::max({sa, sb, sc})),
      INT("v_med3_i32 $D, $A, $B, $C", middle(sa, sb, sc)),
      INT("v_maxmin_u32 $D, $A, $B, $C", std::min(std::max(a, b), c)),
      INT("v_minmax_i32 $D, $A, $B, $C", std::max(std::min(sa, sb), sc)),
      INT("v_sad_u8 $D, $A, $B, $C", absolute_sum(a, b, c, 8, false)),
      INT("v_msad_u8 $D, $A, $B, $C", absolute_sum(a, b, c, 8, true)),
      INT("v_sad_u16 $D, $A, $B, $C", absolute_sum(a, b, c, 16, false)),
      INT("v_sad_u32 $D, $A, $B, $C", absolute_sum(a, b, c, 32, false)),
      INT("v_sad_hi_u8 $D, $A, $B, $C", (absolute_sum(a, b, 0, 8, false) << 16) + c),
      INT("v_cvt_i32_i16 $D, $A", i16(a)),
      INT("v_cvt_u32_u16 $D, $A", u16(a)),
      INT("v_cvt_pk_u16_u32 $D, $A, $B", std::min(a, 65535u) | std::min(b, 65535u) << 16),
      INT("v_cvt_pk_i16_i32 $D, $A, $B",
          (clamp(sa, -32768, 32767) & 0xffff) | (clamp(sb, -32768, 32767) & 0xffff) << 16),
      INT("v_dot4_i32_iu8 $D, $A, $B, $C neg_lo:[1,1,0]",
          i64(int8_t(a)) * int8_t(b) + i64(int8_t(a >> 8)) * int8_t(b >> 8) +
              i64(int8_t(a >> 16)) * int8_t(b >> 16) + i64(int8_t(a >> 24)) * int8_t(b >> 24) + sc),
      INT("v_dot4_i32_iu8 $D, $A, $B, $C neg_lo:[0,1,0]",
          i64(uint8_t(a)) * int8_t(b) + i64(uint8_t(a >> 8)) * int8_t(b >> 8) +
              i64(uint8_t(a >> 16)) * int8_t(b >> 16) + i64(uint8_t(a >> 24)) * int8_t(b >> 24) +
              sc),
      INT("v_dot4_u32_u8 $D, $A, $B, $C",
          u64(uint8_t(a)) * uint8_t(b) + u64(uint8_t(a >> 8)) * uint8_t(b >> 8) +
              u64(uint8_t(a >> 16)) * uint8_t(b >> 16) + u64(a >> 24) * (b >> 24) + c),
      INT("v_mbcnt_lo_u32_b32 $D, 0, $B", b),
  };
  return kCases;
}

const std::vector<Case>& integer16_cases() {
  static const std::vector<Case> kCases = {
      I16("v_add_nc_u16 $D, $A, $B", a + b),
      I16("v_sub_nc_u16 $D, $A, $B", a - b),
      I16("v_add_nc_u16 $D, $A, $B clamp", std::min(u32(a) + b, 65535u)),
      I16("v_add_nc_i16 $D, $A, $B clamp", clamp(i64(sa) + sb, -32768, 32767)),
      I16("v_sub_nc_i16 $D, $A, $B", sa - sb),
      I16("v_mul_lo_u16 $D, $A, $B", u32(a) * b),
      I16("v_mad_u16 $D, $A, $B, $C", u32(a) * b + c),
      I16("v_mad_i16 $D, $A, $B, $C", i64(sa) * sb + sc),
      I16("v_lshlrev_b16 $D, $A, $B", b << (a % 16)),
      I16("v_lshrrev_b16 $D, $A, $B", b >> (a % 16)),
      I16("v_ashrrev_i16 $D, $A, $B", sb >> (a % 16)),
      I16("v_min_u16 $D, $A, $B", std::min(a, b)),
      I16("v_max_u16 $D, $A, $B", std::max(a, b)),
      I16("v_min_i16 $D, $A, $B", std::min(sa, sb)),
      I16("v_max_i16 $D, $A, $B", std::max(sa, sb)),
      I16("v_med3_i16 $D, $A, $B, $C", middle(sa, sb, sc)),
      I16("v_min3_u16 $D, $A, $B, $C", std::min({a, b, c})),
      I16("v_max3_i16 $D, $A, $B, $C", std::max({sa, sb, sc})),
      I16("v_and_b16 $D, $A, $B", a & b),
      I16("v_or_b16 $D, $A, $B", a | b),
      I16("v_xor_b16 $D, $A, $B", a ^ b),
      I16("v_not_b16 $D, $A", ~a),
  };
  return kCases;
}

double turns(double v, double (*g)(double)) {
  return g((v - std::nearbyint(v)) * 2 * std::numbers::pi);
}

const std::vector<Case>& float_cases() {
  static const std::vector<Case> kCases = {
      F32("v_add_f32 $D, $A, $B", a + b), F32("v_sub_f32 $D, $A, $B", a - b), F32("v_subrev_f32 $D, $A, $B", b - a),
      F32("v_mul_f32 $D, $A, $B", a * b), F32("v_fma_f32 $D, $A, $B, $C", std::fma(a, b, c)),
      F32("v_fma_f32 $D, -$A, |$B|, -|$C|", std::fma(-a, std::fabs(b), -std::fabs(c))),
      F32("v_add_f32_e64 $D, |$A|, -$B", std::fabs(a) - b),
      F32("v_fmac_f32 $D, $A, $B", std::fma(a, b, f(in.old))),
      F32("v_fmamk_f32 $D, $A, 0x40490fdb, $B", std::fma(a, 0x1.921fb6p+1f, b)),
      F32("v_fmaak_f32 $D, $A, $B, 0x40490fdb", std::fma(a, b, 0x1.921fb6p+1f)),
      F32("v_mul_dx9_zero_f32 $D, $A, $B", a == 0 || b == 0 ? 0 : a * b),
      F32("v_min_f32 $D, $A, $B", least(a, b, false)), F32("v_max_f32 $D, $A, $B", least(a, b, true)),
      F32("v_min3_f32 $D, $A, $B, $C", least(least(a, b, false), c, false)),
      F32("v_max3_f32 $D, $A, $B, $C", least(least(a, b, true), c, true)),
      F32("v_maxmin_f32 $D, $A, $B, $C", least(least(a, b, true), c, false)),
      F32("v_trunc_f32 $D, $A", std::trunc(a)), F32("v_ceil_f32 $D, $A", std::ceil(a)),
      F32("v_floor_f32 $D, $A", std::floor(a)), F32("v_rndne_f32 $D, $A", std::rint(a)),
      F32("v_add_f32_e64 $D, $A, $B clamp", std::isnan(a + b) ? 0.0f : std::min(1.0f, std::max(0.0f, a + b))),
      INT("v_cndmask_b32 $D, $A, $B, vcc_lo", a),
      F32("v_ldexp_f32 $D, $A, $B", std::scalbln(a, static_cast<long>(clamp(static_cast<i32>(in.b), -400, 400)))),
      F32("v_fract_f32 $D, $A", std::isfinite(a) ? std::min(a - std::floor(a), 0x1.fffffep-1f) : NAN),
      {"v_frexp_exp_i32_f32 $D, $A", 'i', [](const In& in) -> u64 { const float a = f(in.a); return static_cast<u32>(std::isfinite(a) && a != 0 ? std::ilogb(a) + 1 : 0); }},
      F32("v_frexp_mant_f32 $D, $A", std::isfinite(a) && a != 0 ? std::scalbn(a, -std::ilogb(a) - 1) : a),
      F32("v_cvt_f32_i32 $D, $A", static_cast<i32>(in.a)), F32("v_cvt_f32_u32 $D, $A", static_cast<u32>(in.a)),
      {"v_cvt_i32_f32 $D, $A", 'i', [](const In& in) -> u64 { return static_cast<u32>(saturated_i(std::trunc(f(in.a)))); }},
      {"v_cvt_u32_f32 $D, $A", 'i', [](const In& in) -> u64 { return saturated_u(std::trunc(f(in.a))); }},
      {"v_cvt_nearest_i32_f32 $D, $A", 'i', [](const In& in) -> u64 { return static_cast<u32>(saturated_i(std::floor(double(f(in.a)) + 0.5))); }},
      {"v_cvt_floor_i32_f32 $D, $A", 'i', [](const In& in) -> u64 { return static_cast<u32>(saturated_i(std::floor(f(in.a)))); }},
      F32("v_cvt_f32_ubyte0 $D, $A", in.a & 255), F32("v_cvt_f32_ubyte1 $D, $A", in.a >> 8 & 255),
      F32("v_cvt_f32_ubyte2 $D, $A", in.a >> 16 & 255), F32("v_cvt_f32_ubyte3 $D, $A", in.a >> 24 & 255),
      F64("v_cvt_f64_f32 DD, $A", f(in.a)), F64("v_cvt_f64_i32 DD, $A", static_cast<i32>(in.a)),
      F64("v_cvt_f64_u32 DD, $A", static_cast<u32>(in.a)), F32("v_cvt_f32_f64 $D, AA", d(in.a)),
      {"v_cvt_i32_f64 $D, AA", 'i', [](const In& in) -> u64 { return static_cast<u32>(saturated_i(std::trunc(d(in.a)))); }},
      {"v_cvt_u32_f64 $D, AA", 'i', [](const In& in) -> u64 { return saturated_u(std::trunc(d(in.a))); }},
      F64("v_add_f64 DD, AA, BB", a + b), F64("v_mul_f64 DD, AA, BB", a * b), F64("v_fma_f64 DD, AA, BB, CC", std::fma(a, b, c)),
      F64("v_add_f64 DD, -AA, |BB|", -a + std::fabs(b)),
      F64("v_min_f64 DD, AA, BB", least(a, b, false)), F64("v_max_f64 DD, AA, BB", least(a, b, true)),
      F64("v_trunc_f64 DD, AA", std::trunc(a)), F64("v_ceil_f64 DD, AA", std::ceil(a)), F64("v_floor_f64 DD, AA", std::floor(a)),
      F64("v_rndne_f64 DD, AA", std::rint(a)), F64("v_fract_f64 DD, AA", std::isfinite(a) ? std::min(a - std::floor(a), 0x1.fffffffffffffp-1) : NAN),
      F64("v_ldexp_f64 DD, AA, $B", std::scalbln(a, static_cast<long>(clamp(static_cast<i32>(in.b), -5000, 5000)))),
      {"v_frexp_exp_i32_f64 $D, AA", 'i', [](const In& in) -> u64 { const double a = d(in.a); return static_cast<u32>(std::isfinite(a) && a != 0 ? std::ilogb(a) + 1 : 0); }},
      F64("v_frexp_mant_f64 DD, AA", std::isfinite(a) && a != 0 ? std::scalbn(a, -std::ilogb(a) - 1) : a),
      F64("v_sqrt_f64 DD, AA", std::sqrt(a)), F64("v_rcp_f64 DD, AA", 1 / a), F64("v_rsq_f64 DD, AA", 1 / std::sqrt(a)),
  };
  return kCases;
}

const std::vector<Case>& half_cases() {
  static const std::vector<Case> kCases = {
      F16("v_add_f16 $D, $A, $B", a + b),
      F16("v_sub_f16 $D, $A, $B", a - b),
      F16("v_subrev_f16 $D, $A, $B", b - a),
      F16("v_mul_f16 $D, $A, $B", a * b),
      F16("v_add_f16_e64 $D, -$A, |$B|", -a + std::fabs(b)),
      F16("v_trunc_f16 $D, $A", std::trunc(a)),
      F16("v_ceil_f16 $D, $A", std::ceil(a)),
      F16("v_floor_f16 $D, $A", std::floor(a)),
      F16("v_rndne_f16 $D, $A", std::rint(a)),
      F16("v_rcp_f16 $D, $A", 1.0f / a),
      F16("v_sqrt_f16 $D, $A", std::sqrt(a)),
      F16("v_cvt_f16_u16 $D, $A", static_cast<u16>(in.a)),
      F16("v_cvt_f16_i16 $D, $A", static_cast<i16>(in.a)),
      {"v_cvt_u16_f16 $D, $A", 'h',
       [](const In& in) -> u64 {
         const float a = h(in.a);
         return std::isnan(a) || a <= 0 ? 0 : a >= 65535 ? 65535 : static_cast<u64>(a);
       }},
      {"v_cvt_i16_f16 $D, $A", 'h',
       [](const In& in) -> u64 {
         const float a = h(in.a);
         return std::isnan(a)
                    ? 0
                    : static_cast<u16>(static_cast<i16>(clamp(
                          static_cast<i64>(std::max(-1e6f, std::min(1e6f, a))), -32768, 32767)));
       }},
      {"v_fma_f16 $D, $A, $B, $C", 'h',
       [](const In& in) -> u64 {
         // float128 holds a·b + c exactly for halves.
         const __float128 r = __float128(h(in.a)) * __float128(h(in.b)) + __float128(h(in.c));
         const float near = static_cast<float>(r);
         u32 odd = std::bit_cast<u32>(near);
         if (std::isfinite(near) && __float128(near) != r && !(odd & 1))
           odd += (r > __float128(near)) == (near > 0) ? 1 : ~0u;
         return half(std::bit_cast<float>(odd));
       }},
  };
  return kCases;
}

const std::vector<Case>& packed_cases() {
#define P16(text, expr)                                                                   \
  {text, 'p', [](const In& in) -> u64 {                                                   \
     u64 r = 0;                                                                           \
     for (unsigned s = 0; s < 32; s += 16) {                                              \
       [[maybe_unused]] const float a = h(in.a >> s), b = h(in.b >> s), c = h(in.c >> s); \
       r |= half(expr) << s;                                                              \
     }                                                                                    \
     return r;                                                                            \
   }}
#define PU16(text, expr)                                                                      \
  {text, 'i', [](const In& in) -> u64 {                                                       \
     u64 r = 0;                                                                               \
     for (unsigned s = 0; s < 32; s += 16) {                                                  \
       [[maybe_unused]] const u16 a = u16(in.a >> s), b = u16(in.b >> s), c = u16(in.c >> s); \
       [[maybe_unused]] const i16 sa = i16(a), sb = i16(b), sc = i16(c);                      \
       r |= u64(u16(expr)) << s;                                                              \
     }                                                                                        \
     return r;                                                                                \
   }}
  static const std::vector<Case> kCases = {
      P16("v_pk_add_f16 $D, $A, $B", a + b),
      P16("v_pk_mul_f16 $D, $A, $B", a * b),
      {"v_pk_mul_f16 $D, $A, $B op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]", 'p',
       [](const In& in) -> u64 {
         return half(-h(in.a >> 16) * h(in.b)) | half(h(in.a) * -h(in.b >> 16)) << 16;
       }},
      PU16("v_pk_add_u16 $D, $A, $B", a + b),
      PU16("v_pk_sub_u16 $D, $A, $B", a - b),
      PU16("v_pk_add_u16 $D, $A, $B clamp", std::min(u32(a) + b, 65535u)),
      PU16("v_pk_add_i16 $D, $A, $B clamp", clamp(i64(sa) + sb, -32768, 32767)),
      PU16("v_pk_sub_i16 $D, $A, $B", sa - sb),
      PU16("v_pk_mul_lo_u16 $D, $A, $B", u32(a) * b),
      PU16("v_pk_mad_u16 $D, $A, $B, $C", u32(a) * b + c),
      PU16("v_pk_mad_i16 $D, $A, $B, $C", i64(sa) * sb + sc),
      PU16("v_pk_min_u16 $D, $A, $B", std::min(a, b)),
      PU16("v_pk_max_u16 $D, $A, $B", std::max(a, b)),
      PU16("v_pk_min_i16 $D, $A, $B", std::min(sa, sb)),
      PU16("v_pk_max_i16 $D, $A, $B", std::max(sa, sb)),
      PU16("v_pk_lshlrev_b16 $D, $A, $B", b << (a % 16)),
      PU16("v_pk_lshrrev_b16 $D, $A, $B", b >> (a % 16)),
      PU16("v_pk_ashrrev_i16 $D, $A, $B", sb >> (a % 16)),
      {"v_pack_b32_f16 $D, $A, -$B op_sel:[1,0,0]", 'i',
       [](const In& in) -> u64 {
         return (in.a >> 16 & 0xffff) | ((in.b & 0xffff) ^ 0x8000) << 16;
       }},
      {"v_fma_mix_f32 $D, $A, $B, $C op_sel:[1,0,0] op_sel_hi:[1,1,1]", 'f',
       [](const In& in) -> u64 { return bits(std::fma(h(in.a >> 16), h(in.b), h(in.c))); }},
      {"v_dot2_f32_f16 $D, $A, $B, 0", 'f',
       [](const In& in) -> u64 {
         return bits(static_cast<float>(double(h(in.a)) * h(in.b) +
                                        double(h(in.a >> 16)) * h(in.b >> 16) + 0.0));
       }},
  };
  return kCases;
}

}  // namespace

TEST_CASE("vector integers agree with 128-bit arithmetic", "[amd:16]") {
  Bench wave32("gfx1100", 32);
  check_all(wave32, integer_cases());
  Bench wave64("gfx1100", 64);
  for (const Case& c : integer_cases())
    if (!std::strstr(c.text, "vcc_lo")) CHECK(check(wave64, c, 4, 7) == "");
}

TEST_CASE("16-bit integers keep the other half of the register") {
  Bench bench("gfx1100");
  check_all(bench, integer16_cases());
}

TEST_CASE("f32 and f64 arithmetic is the host's, bit for bit", "[amd:16]") {
  Bench bench("gfx1100");
  check_all(bench, float_cases(), 48);
}

TEST_CASE("f16 arithmetic rounds once", "[amd:16]") {
  Bench bench("gfx1100");
  check_all(bench, half_cases(), 64);
}

TEST_CASE("packed instructions work on both halves with their modifiers") {
  Bench bench("gfx1100");
  check_all(bench, packed_cases(), 32);
}

TEST_CASE("gfx1030 spells the same arithmetic") {
  Bench bench("gfx1030");
  const std::vector<Case> cases = {
      INT("v_add_nc_u32 $D, $A, $B", a + b),
      INT("v_ffbh_u32 $D, $A", highest(a)),
      INT("v_ffbl_b32 $D, $A", lowest(a)),
      F32("v_fma_f32 $D, $A, $B, $C", std::fma(a, b, c)),
      F32("v_mul_legacy_f32 $D, $A, $B", a == 0 || b == 0 ? 0 : a * b),
      INT("v_add_nc_u32_sdwa $D, $A, $B dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 "
          "src1_sel:WORD_1",
          (a >> 8 & 255) + (b >> 16)),
      {"v_add_nc_u32_sdwa $D, sext($A), $B dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
       "src0_sel:BYTE_0 src1_sel:DWORD",
       'i',
       [](const In& in) -> u64 {
         return (in.old & 0xffff) | ((static_cast<u32>(int8_t(in.a)) + in.b) & 0xffff) << 16;
       }},
      {"v_mov_b32_sdwa $D, $A dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_3", 'i',
       [](const In& in) -> u64 { return (in.a >> 24 & 255) << 16; }},
      {"v_mov_b32_sdwa $D, $A dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:WORD_1", 'i',
       [](const In& in) -> u64 { return static_cast<u32>(int8_t(in.a >> 16)) << 8; }},
      F32("v_mul_f32_sdwa $D, -$A, |$B| dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
          "src1_sel:DWORD",
          -a * std::fabs(b)),
  };
  check_all(bench, cases);
}

TEST_CASE("rounding modes and denormal flushing follow MODE", "[amd:16]") {
  Bench bench("gfx1100");
  std::mt19937_64 random(5);
  bench.load(
      "v_add_f32 v4, v0, v1\n v_mul_f32 v5, v0, v1\n v_fma_f32 v6, v0, v1, v2\n"
      "v_cvt_f16_f32 v7, v0\n v_add_f64 v[8:9], v[10:11], v[12:13]");
  const int kHost[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (unsigned mode = 0; mode < 4; ++mode) {
    for (unsigned round = 0; round < 16; ++round) {
      Wave& w = bench.fresh();
      w.mode.round32 = w.mode.round64 = static_cast<uint8_t>(mode);
      for (unsigned r = 0; r < 14; ++r)
        for (unsigned l = 0; l < 32; ++l)
          w.set_vgpr(
              r, l,
              r >= 10 && r % 2 ? static_cast<u32>(some64(random, 1) >> 32) : some32(random, l));
      Wave before = [&] {
        Wave copy(bench.config);
        for (unsigned r = 0; r < 14; ++r)
          for (unsigned l = 0; l < 32; ++l) copy.set_vgpr(r, l, w.vgpr(r, l));
        return copy;
      }();
      REQUIRE(bench.run().reason == StopReason::end);
      for (unsigned l = 0; l < 32; ++l) {
        std::fesetround(kHost[mode]);
        volatile float a = f(before.vgpr(0, l)), b = f(before.vgpr(1, l)), c = f(before.vgpr(2, l));
        volatile float sum = a + b, product = a * b, fused = std::fma(float(a), float(b), float(c));
        volatile double x = d(before.vgpr(10, l) | u64(before.vgpr(11, l)) << 32);
        volatile double y = d(before.vgpr(12, l) | u64(before.vgpr(13, l)) << 32);
        volatile double wide = x + y;
        std::fesetround(FE_TONEAREST);
        CHECK(same(w.vgpr(4, l), bits(float(sum)), 'f'));
        CHECK(same(w.vgpr(5, l), bits(float(product)), 'f'));
        CHECK(same(w.vgpr(6, l), bits(float(fused)), 'f'));
        CHECK(same(w.vgpr(8, l) | u64(w.vgpr(9, l)) << 32, bits(double(wide)), 'd'));
      }
    }
  }
  Wave& w = bench.fresh();
  bench.config.float_mode = 0xc0;  // f32 denormals flushed, the rest kept
  Wave& flush = bench.fresh();
  (void)w;
  for (unsigned r = 0; r < 14; ++r)
    for (unsigned l = 0; l < 32; ++l) flush.set_vgpr(r, l, 0x00000001u);
  for (unsigned l = 0; l < 32; ++l) {
    flush.set_vgpr(0, l, 0x807fffffu);
    flush.set_vgpr(1, l, 0x00800001u);
    flush.set_vgpr(2, l, 0);
  }
  REQUIRE(bench.run().reason == StopReason::end);
  CHECK(flush.vgpr(4, 0) == 0x00800001u);  // −denormal counts as −0
  CHECK(flush.vgpr(5, 0) == 0x80000000u);
  CHECK(flush.vgpr(8, 0) == 2);  // f64 keeps its denormals
}

TEST_CASE("transcendental functions are within one unit in the last place, denormals flushed",
          "[amd:16]") {
  Bench bench("gfx1100");
  struct Function {
    const char* name;
    double (*exact)(double);
    double low, high;
  };
  const Function kFunctions[] = {
      {"v_rcp_f32", [](double x) { return 1 / x; }, -1e30, 1e30},
      {"v_rsq_f32", [](double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30},
      {"v_sqrt_f32", [](double x) { return std::sqrt(x); }, 1e-30, 1e30},
      {"v_exp_f32", [](double x) { return std::exp2(x); }, -120, 120},
      {"v_log_f32", [](double x) { return std::log2(x); }, 1e-30, 1e30},
      {"v_sin_f32", [](double x) { return turns(x, [](double t) { return std::sin(t); }); }, -200,
       200},
      {"v_cos_f32", [](double x) { return turns(x, [](double t) { return std::cos(t); }); }, -200,
       200}};
  std::mt19937_64 random(11);
  for (const Function& function : kFunctions) {
    bench.load(std::string(function.name) + "_e32 v1, v0");
    std::uniform_real_distribution<double> pick(function.low, function.high);
    for (unsigned round = 0; round < 32; ++round) {
      Wave& w = bench.fresh();
      std::vector<float> x(32);
      for (unsigned l = 0; l < 32; ++l)
        w.set_vgpr(0, l, static_cast<u32>(bits(x[l] = static_cast<float>(pick(random)))));
      REQUIRE(bench.run().reason == StopReason::end);
      for (unsigned l = 0; l < 32; ++l) {
        const double want = function.exact(x[l]), got = f(w.vgpr(1, l));
        const double unit = std::fabs(double(std::nextafter(static_cast<float>(want), HUGE_VALF)) -
                                      double(static_cast<float>(want)));
        CHECK(std::fabs(got - want) <= unit);
      }
    }
    Wave& w = bench.fresh();
    for (unsigned l = 0; l < 32; ++l) w.set_vgpr(0, l, 1);  // the smallest denormal acts as 0
    REQUIRE(bench.run().reason == StopReason::end);
    const double zero = function.exact(0.0);
    CHECK(f(w.vgpr(1, 0)) == static_cast<float>(zero));
  }
}

TEST_CASE("the division sequence is correctly rounded", "[amd:16]") {
  // The expansion compilers use for an IEEE f32 and f64 quotient.
  const char* kDivide32 =
      "v_div_scale_f32 v10, null, v1, v1, v0\n v_div_scale_f32 v11, vcc_lo, v0, v1, v0\n"
      "v_rcp_f32 v12, v10\n v_fma_f32 v13, -v10, v12, 1.0\n v_fma_f32 v12, v13, v12, v12\n"
      "v_mul_f32 v13, v11, v12\n v_fma_f32 v14, -v10, v13, v11\n v_fma_f32 v13, v14, v12, v13\n"
      "v_fma_f32 v10, -v10, v13, v11\n v_div_fmas_f32 v10, v10, v12, v13\n v_div_fixup_f32 v4, "
      "v10, v1, v0\n";
  Bench bench("gfx1100");
  bench.load(kDivide32);
  std::mt19937_64 random(3);
  for (unsigned round = 0; round < 1024; ++round) {
    Wave& w = bench.fresh();
    u32 a[32], b[32];
    for (unsigned l = 0; l < 32; ++l) {
      w.set_vgpr(0, l, a[l] = some32(random, static_cast<unsigned>(random())));
      w.set_vgpr(1, l, b[l] = some32(random, static_cast<unsigned>(random())));
    }
    REQUIRE(bench.run().reason == StopReason::end);
    for (unsigned l = 0; l < 32; ++l)
      if (!same(w.vgpr(4, l), bits(f(a[l]) / f(b[l])), 'f'))
        FAIL_CHECK(fmt::format("{:#x} / {:#x} = {:#x}, not {:#x}", a[l], b[l],
                               bits(f(a[l]) / f(b[l])), w.vgpr(4, l)));
  }
  const char* kDivide64 =
      "v_div_scale_f64 v[10:11], null, v[2:3], v[2:3], v[0:1]\n v_rcp_f64 v[12:13], v[10:11]\n"
      "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n v_fma_f64 v[12:13], v[12:13], v[14:15], "
      "v[12:13]\n"
      "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n v_fma_f64 v[12:13], v[12:13], v[14:15], "
      "v[12:13]\n"
      "v_div_scale_f64 v[14:15], vcc_lo, v[0:1], v[2:3], v[0:1]\n v_mul_f64 v[16:17], v[14:15], "
      "v[12:13]\n"
      "v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]\n v_div_fmas_f64 v[10:11], v[10:11], "
      "v[12:13], v[16:17]\n"
      "v_div_fixup_f64 v[4:5], v[10:11], v[2:3], v[0:1]\n";
  bench.load(kDivide64);
  for (unsigned round = 0; round < 512; ++round) {
    Wave& w = bench.fresh();
    u64 a[32], b[32];
    for (unsigned l = 0; l < 32; ++l) {
      a[l] = some64(random, static_cast<unsigned>(random()));
      b[l] = some64(random, static_cast<unsigned>(random()));
      w.set_vgpr(0, l, static_cast<u32>(a[l])), w.set_vgpr(1, l, static_cast<u32>(a[l] >> 32));
      w.set_vgpr(2, l, static_cast<u32>(b[l])), w.set_vgpr(3, l, static_cast<u32>(b[l] >> 32));
    }
    REQUIRE(bench.run().reason == StopReason::end);
    for (unsigned l = 0; l < 32; ++l) {
      const u64 got = w.vgpr(4, l) | u64(w.vgpr(5, l)) << 32, want = bits(d(a[l]) / d(b[l]));
      if (!same(got, want, 'd'))
        FAIL_CHECK(fmt::format("{:#x} / {:#x} = {:#x}, not {:#x}", a[l], b[l], want, got));
    }
  }
}

TEST_CASE("compares give a lane mask, zero in inactive lanes") {
  Bench bench("gfx1100");
  std::mt19937_64 random(17);
  struct Compare {
    const char* name;
    bool (*fn)(float, float);
  };
  const Compare kCompares[] = {{"lt", [](float a, float b) { return a < b; }},
                               {"eq", [](float a, float b) { return a == b; }},
                               {"le", [](float a, float b) { return a <= b; }},
                               {"gt", [](float a, float b) { return a > b; }},
                               {"lg", [](float a, float b) { return a < b || a > b; }},
                               {"ge", [](float a, float b) { return a >= b; }},
                               {"o", [](float a, float b) { return !std::isunordered(a, b); }},
                               {"u", [](float a, float b) { return std::isunordered(a, b); }},
                               {"nge", [](float a, float b) { return !(a >= b); }},
                               {"nlg", [](float a, float b) { return !(a < b || a > b); }},
                               {"ngt", [](float a, float b) { return !(a > b); }},
                               {"nle", [](float a, float b) { return !(a <= b); }},
                               {"neq", [](float a, float b) { return a != b; }},
                               {"nlt", [](float a, float b) { return !(a < b); }}};
  for (const Compare& compare : kCompares) {
    bench.load(fmt::format("v_cmp_{}_f32_e64 s4, v0, -v1\n v_cmpx_{}_f32_e32 v0, v1", compare.name,
                           compare.name));
    for (unsigned round = 0; round < 8; ++round) {
      Wave& w = bench.fresh();
      const u32 exec = static_cast<u32>(random());
      w.exec = exec;
      u32 want = 0, wantx = 0;
      for (unsigned l = 0; l < 32; ++l) {
        const u32 a = some32(random, l), b = some32(random, l / 4);
        w.set_vgpr(0, l, a), w.set_vgpr(1, l, b);
        if (!(exec >> l & 1)) continue;
        want |= u32(compare.fn(f(a), -f(b))) << l;
        wantx |= u32(compare.fn(f(a), f(b))) << l;
      }
      REQUIRE(bench.run().reason == StopReason::end);
      CHECK(w.sgpr(4) == want);
      CHECK(w.exec == wantx);
    }
  }
  bench.load(
      "v_cmp_class_f32_e64 s4, v0, 0x3\n v_cmp_class_f32_e64 s5, v0, 0x204\n v_cmp_class_f32_e64 "
      "s6, v0, v1");
  Wave& w = bench.fresh();
  const u32 kValues[] = {0x7f800001u, 0x7fc00000u, 0x7f800000u, 0xff800000u, 0x3f800000u,
                         0xbf800000u, 1,           0x80000001u, 0,           0x80000000u};
  const unsigned kClass[] = {0, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  for (unsigned l = 0; l < 32; ++l)
    w.set_vgpr(0, l, kValues[l % 10]), w.set_vgpr(1, l, 1u << kClass[l % 10]);
  REQUIRE(bench.run().reason == StopReason::end);
  CHECK((w.sgpr(4) & 0x3ff) == 3);
  CHECK((w.sgpr(5) & 0x3ff) == 0xc);
  CHECK(w.sgpr(6) == ~0u);
}

TEST_CASE("the scalar unit agrees with the host, SCC included") {
  struct Scalar {
    const char* text;
    bool scc;
    std::function<std::pair<u64, bool>(u64, u64, bool)> reference;
  };
  auto s32 = [](u64 v) { return static_cast<i32>(v); };
  const std::vector<Scalar> kCases = {
      {"s_add_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) {
         return std::pair{u64(u32(a + b)), (u32(a) + u64(u32(b))) >> 32 != 0};
       }},
      {"s_addc_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool c) {
         return std::pair{u64(u32(a + b + c)), (u32(a) + u64(u32(b)) + c) >> 32 != 0};
       }},
      {"s_sub_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a - b)), u32(a) < u32(b)}; }},
      {"s_subb_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool c) {
         return std::pair{u64(u32(a - b - c)), u64(u32(a)) < u64(u32(b)) + c};
       }},
      {"s_add_i32 s8, s0, s2", true,
       [=](u64 a, u64 b, bool) {
         const i64 r = i64(s32(a)) + s32(b);
         return std::pair{u64(u32(r)), r != i32(r)};
       }},
      {"s_sub_i32 s8, s0, s2", true,
       [=](u64 a, u64 b, bool) {
         const i64 r = i64(s32(a)) - s32(b);
         return std::pair{u64(u32(r)), r != i32(r)};
       }},
      {"s_mul_i32 s8, s0, s2", false,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a * b)), false}; }},
      {"s_mul_hi_u32 s8, s0, s2", false,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a)) * u32(b) >> 32, false}; }},
      {"s_mul_hi_i32 s8, s0, s2", false,
       [=](u64 a, u64 b, bool) { return std::pair{u64(u32(i64(s32(a)) * s32(b) >> 32)), false}; }},
      {"s_min_i32 s8, s0, s2", true,
       [=](u64 a, u64 b, bool) {
         return std::pair{u64(u32(std::min(s32(a), s32(b)))), s32(a) < s32(b)};
       }},
      {"s_max_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) {
         return std::pair{u64(std::max(u32(a), u32(b))), u32(a) > u32(b)};
       }},
      {"s_and_b32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a & b)), u32(a & b) != 0}; }},
      {"s_and_b64 s[8:9], s[0:1], s[2:3]", true,
       [](u64 a, u64 b, bool) { return std::pair{a & b, (a & b) != 0}; }},
      {"s_or_b64 s[8:9], s[0:1], s[2:3]", true,
       [](u64 a, u64 b, bool) { return std::pair{a | b, (a | b) != 0}; }},
      {"s_xor_b32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a ^ b)), u32(a ^ b) != 0}; }},
      {"s_and_not1_b64 s[8:9], s[0:1], s[2:3]", true,
       [](u64 a, u64 b, bool) { return std::pair{a & ~b, (a & ~b) != 0}; }},
      {"s_or_not1_b32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(u32(a | ~b)), u32(a | ~b) != 0}; }},
      {"s_not_b64 s[8:9], s[0:1]", true, [](u64 a, u64, bool) { return std::pair{~a, ~a != 0}; }},
      {"s_lshl_b32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) {
         const u32 r = u32(a) << (b & 31);
         return std::pair{u64(r), r != 0};
       }},
      {"s_lshr_b64 s[8:9], s[0:1], s2", true,
       [](u64 a, u64 b, bool) {
         const u64 r = a >> (b & 63);
         return std::pair{r, r != 0};
       }},
      {"s_ashr_i64 s[8:9], s[0:1], s2", true,
       [](u64 a, u64 b, bool) {
         const u64 r = u64(i64(a) >> (b & 63));
         return std::pair{r, r != 0};
       }},
      {"s_bfe_u32 s8, s0, 0x70005", true,
       [](u64 a, u64, bool) {
         const u64 r = u32(a) >> 5 & 127;
         return std::pair{r, r != 0};
       }},
      {"s_bfe_i32 s8, s0, 0x70005", true,
       [](u64 a, u64, bool) {
         const i32 r = i32(u32(a) >> 5 << 25) >> 25;
         return std::pair{u64(u32(r)), r != 0};
       }},
      {"s_bcnt1_i32_b64 s8, s[0:1]", true,
       [](u64 a, u64, bool) {
         const u64 r = count(u32(a)) + count(u32(a >> 32));
         return std::pair{r, r != 0};
       }},
      {"s_ctz_i32_b32 s8, s0", false,
       [](u64 a, u64, bool) { return std::pair{u64(lowest(u32(a))), false}; }},
      {"s_clz_i32_u32 s8, s0", false,
       [](u64 a, u64, bool) { return std::pair{u64(highest(u32(a))), false}; }},
      {"s_cls_i32 s8, s0", false,
       [](u64 a, u64, bool) {
         return std::pair{u64(highest(i32(a) < 0 ? ~u32(a) : u32(a))), false};
       }},
      {"s_brev_b32 s8, s0", false,
       [](u64 a, u64, bool) { return std::pair{u64(mirrored(u32(a))), false}; }},
      {"s_abs_i32 s8, s0", true,
       [](u64 a, u64, bool) {
         const u32 r = i32(a) < 0 ? 0u - u32(a) : u32(a);
         return std::pair{u64(r), r != 0};
       }},
      {"s_sext_i32_i8 s8, s0", false,
       [](u64 a, u64, bool) { return std::pair{u64(u32(int8_t(a))), false}; }},
      {"s_sext_i32_i16 s8, s0", false,
       [](u64 a, u64, bool) { return std::pair{u64(u32(i16(a))), false}; }},
      {"s_pack_lh_b32_b16 s8, s0, s2", false,
       [](u64 a, u64 b, bool) { return std::pair{(a & 0xffff) | (b & 0xffff0000u), false}; }},
      {"s_cselect_b32 s8, s0, s2", false,
       [](u64 a, u64 b, bool c) { return std::pair{u64(u32(c ? a : b)), false}; }},
      {"s_lshl3_add_u32 s8, s0, s2", true,
       [](u64 a, u64 b, bool) {
         const u64 r = (u64(u32(a)) << 3) + u32(b);
         return std::pair{u64(u32(r)), r >> 32 != 0};
       }},
      {"s_addk_i32 s8, 0x8001", true,
       [](u64, u64, bool) {
         const i64 r = i64(0x1234) + i16(0x8001);
         return std::pair{u64(u32(r)), r != i32(r)};
       }},
      {"s_mulk_i32 s8, 0x8001", false,
       [](u64, u64, bool) { return std::pair{u64(u32(0x1234 * i64(i16(0x8001)))), false}; }},
      {"s_movk_i32 s8, 0x8001", false,
       [](u64, u64, bool) { return std::pair{u64(u32(i16(0x8001))), false}; }},
      {"s_cmp_lt_i32 s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(0x1234), i32(a) < i32(b)}; }},
      {"s_cmp_ge_u32 s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(0x1234), u32(a) >= u32(b)}; }},
      {"s_cmp_lg_u64 s[0:1], s[2:3]", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(0x1234), a != b}; }},
      {"s_cmpk_lt_u32 s0, 0x8001", true,
       [](u64 a, u64, bool) { return std::pair{u64(0x1234), u32(a) < 0x8001u}; }},
      {"s_cmpk_gt_i32 s0, 0x8001", true,
       [](u64 a, u64, bool) { return std::pair{u64(0x1234), i32(a) > i16(0x8001)}; }},
      {"s_bitcmp1_b32 s0, s2", true,
       [](u64 a, u64 b, bool) { return std::pair{u64(0x1234), (a >> (b & 31) & 1) != 0}; }},
  };
  Bench bench("gfx1100");
  std::mt19937_64 random(23);
  for (const Scalar& test : kCases) {
    bench.load(test.text);
    const bool wide = std::strstr(test.text, "s[8:9]") != nullptr;
    for (unsigned round = 0; round < 200; ++round) {
      Wave& w = bench.fresh();
      const u64 a = some64(random, round), b = some64(random, round / 4);
      const bool c = random() & 1;
      w.set_sgpr(0, u32(a)), w.set_sgpr(1, u32(a >> 32)), w.set_sgpr(2, u32(b)),
          w.set_sgpr(3, u32(b >> 32));
      w.set_sgpr(8, 0x1234), w.set_sgpr(9, 0);
      w.scc = c, w.scc_poison = false;
      REQUIRE(bench.run().reason == StopReason::end);
      const auto [value, flag] = test.reference(a, b, c);
      const u64 got = w.sgpr(8) | (wide ? u64(w.sgpr(9)) << 32 : 0);
      if (got != value || w.scc != (test.scc ? flag : c))
        FAIL_CHECK(
            fmt::format("{}: a={:#x} b={:#x} scc={} gives {:#x} scc={}, expected {:#x} scc={}",
                        test.text, a, b, c, got, w.scc, value, flag));
    }
  }
}

TEST_CASE("carries chain through VCC and scalar registers") {
  Bench bench("gfx1100");
  bench.load(
      "v_add_co_u32 v4, vcc_lo, v0, v2\n v_add_co_ci_u32_e32 v5, vcc_lo, v1, v3, vcc_lo\n"
      "v_sub_co_u32 v6, s4, v0, v2\n v_sub_co_ci_u32_e64 v7, s5, v1, v3, s4\n"
      "v_mad_u64_u32 v[8:9], s6, v0, v2, v[0:1]");
  std::mt19937_64 random(29);
  for (unsigned round = 0; round < 32; ++round) {
    Wave& w = bench.fresh();
    u64 a[32], b[32];
    for (unsigned l = 0; l < 32; ++l) {
      a[l] = some64(random, l), b[l] = some64(random, l / 2);
      w.set_vgpr(0, l, u32(a[l])), w.set_vgpr(1, l, u32(a[l] >> 32));
      w.set_vgpr(2, l, u32(b[l])), w.set_vgpr(3, l, u32(b[l] >> 32));
    }
    REQUIRE(bench.run().reason == StopReason::end);
    for (unsigned l = 0; l < 32; ++l) {
      CHECK((w.vgpr(4, l) | u64(w.vgpr(5, l)) << 32) == a[l] + b[l]);
      CHECK((w.vgpr(6, l) | u64(w.vgpr(7, l)) << 32) == a[l] - b[l]);
      CHECK((w.sgpr(kVccLo) >> l & 1) == u32((u128(a[l]) + b[l]) >> 64));
      CHECK((w.sgpr(5) >> l & 1) == u32(a[l] < b[l]));
      const u128 product = u128(u32(a[l])) * u32(b[l]) + a[l];
      CHECK((w.vgpr(8, l) | u64(w.vgpr(9, l)) << 32) == u64(product));
      CHECK((w.sgpr(6) >> l & 1) == u32(product >> 64));
    }
  }
}
