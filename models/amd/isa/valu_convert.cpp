// SPDX-License-Identifier: MIT
// Conversions between formats, scalar and packed.
#include "models/amd/isa/lanes.h"

namespace tiny::models::amd {
namespace {

using C = Context;
using u32 = uint32_t;
using i32 = int32_t;

/// Saturating; NaN gives 0. `a` has been rounded to an integer.
i32 to_i32(double a) {
  if (std::isnan(a)) return 0;
  return static_cast<i32>(std::fmax(-2147483648.0, std::fmin(2147483647.0, a)));
}
u32 to_u32(double a) {
  if (std::isnan(a)) return 0;
  return static_cast<u32>(std::fmax(0.0, std::fmin(4294967295.0, a)));
}
u32 pack(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }
u32 half(const C& c, float a, unsigned round) {
  const uint16_t h = double_to_half(a, round);
  return c.wave.mode.denorm64 & 2 ? h : flush16(h);
}
u32 unit_i16(double a) {
  const double v = std::isnan(a) ? 0 : std::fmax(-1.0, std::fmin(1.0, a));
  return static_cast<u32>(static_cast<i32>(std::nearbyint(v * 32767))) & 0xffff;
}
u32 unit_u16(double a) {
  const double v = std::isnan(a) ? 0 : std::fmax(0.0, std::fmin(1.0, a));
  return static_cast<u32>(std::nearbyint(v * 65535));
}
u32 clamp_i16(i32 a) {
  return static_cast<u32>(a < -32768 ? -32768 : a > 32767 ? 32767 : a) & 0xffff;
}
u32 clamp_u16(u32 a) { return a > 0xffff ? 0xffff : a; }
u32 insert_u8(float a, u32 which, u32 into) {
  const double v = std::isnan(a) ? 0 : std::fmax(0.0, std::fmin(255.0, std::nearbyint(a)));
  const unsigned at = 8 * (which & 3);
  return (into & ~(0xffu << at)) | static_cast<u32>(v) << at;
}
u32 clamp_u8(u32 half_bits) {
  const i32 v = static_cast<int16_t>(half_bits);
  return static_cast<u32>(v < 0 ? 0 : v > 255 ? 255 : v);
}

/// f16 to f32: f16 denormals by MODE's f16 bits, exact otherwise.
float widen(f16 a) { return static_cast<float>(a.value); }

#define BOTH(old_name, new_name, ...) \
  lane_row<__VA_ARGS__>(old_name), lane_row<__VA_ARGS__>(new_name)

/// v_pack_b32_f16 moves bits: neg and abs apply, denormals stay, poison is per half.
void pack_f16(Wave& w, const Op& op) {
  const Active active(w, op);
  u32 out[kMaxLanes] = {};
  Poison poison;
  for (unsigned i = 0; i < 2; ++i) {
    LaneWords space;
    Poison own;
    const u32* words = fetch_words(w, op, i, 0, active, space, own);
    const Source& s = op.src[i];
    const bool high = reads_high(op, s);
    (i == 0 ? poison.lo : poison.hi) = high ? own.hi : own.lo;
    for (unsigned l = 0; l < w.lanes; ++l) {
      u32 h = words[l] >> (high ? 16 : 0) & 0xffff;
      if (s.abs()) h &= 0x7fff;
      if (s.neg()) h ^= 0x8000;
      out[l] |= h << (16 * i);
    }
  }
  commit_words(w, op, op.dst, 0, out, active, poison);
}

const Row kRows[] = {
    lane_row<[](i32 a) { return (static_cast<float>(a)); }>("V_CVT_F32_I32", 1),
    lane_row<[](u32 a) { return (static_cast<float>(a)); }>("V_CVT_F32_U32", 1),
    lane_row<[](float a) { return to_i32(std::trunc(a)); }>("V_CVT_I32_F32"),
    lane_row<[](float a) { return to_u32(std::trunc(a)); }>("V_CVT_U32_F32"),
    BOTH("V_CVT_RPI_I32_F32", "V_CVT_NEAREST_I32_F32",
         [](float a) { return to_i32(std::floor(double(a) + 0.5)); }),
    BOTH("V_CVT_FLR_I32_F32", "V_CVT_FLOOR_I32_F32", [](float a) { return to_i32(std::floor(a)); }),
    lane_row<[](float a) { return f16{a}; }>("V_CVT_F16_F32"),
    lane_row<[](f16 a) { return widen(a); }>("V_CVT_F32_F16"),
    lane_row<[](C c, double a) { return double_to_float(a, c.round32); }>("V_CVT_F32_F64"),
    lane_row<[](float a) { return (static_cast<double>(a)); }>("V_CVT_F64_F32"),
    lane_row<[](i32 a) { return (static_cast<double>(a)); }>("V_CVT_F64_I32"),
    lane_row<[](u32 a) { return (static_cast<double>(a)); }>("V_CVT_F64_U32"),
    lane_row<[](double a) { return to_i32(std::trunc(a)); }>("V_CVT_I32_F64"),
    lane_row<[](double a) { return to_u32(std::trunc(a)); }>("V_CVT_U32_F64"),
    lane_row<[](u32 a) { return (static_cast<float>(a & 0xff)); }>("V_CVT_F32_UBYTE0"),
    lane_row<[](u32 a) { return (static_cast<float>(a >> 8 & 0xff)); }>("V_CVT_F32_UBYTE1"),
    lane_row<[](u32 a) { return (static_cast<float>(a >> 16 & 0xff)); }>("V_CVT_F32_UBYTE2"),
    lane_row<[](u32 a) { return (static_cast<float>(a >> 24)); }>("V_CVT_F32_UBYTE3"),
    lane_row<[](u32 a) { return (static_cast<float>(static_cast<i32>(a << 28) >> 28) / 16); }>(
        "V_CVT_OFF_F32_I4"),
    lane_row<[](int16_t a) { return (static_cast<i32>(a)); }>("V_CVT_I32_I16"),
    lane_row<[](uint16_t a) { return (static_cast<u32>(a)); }>("V_CVT_U32_U16"),
    // packed
    BOTH("V_CVT_PKRTZ_F16_F32", "V_CVT_PK_RTZ_F16_F32",
         [](C c, float a, float b) { return pack(half(c, a, 3), half(c, b, 3)); }),
    BOTH("V_CVT_PKNORM_I16_F32", "V_CVT_PK_NORM_I16_F32",
         [](float a, float b) { return pack(unit_i16(a), unit_i16(b)); }),
    BOTH("V_CVT_PKNORM_U16_F32", "V_CVT_PK_NORM_U16_F32",
         [](float a, float b) { return pack(unit_u16(a), unit_u16(b)); }),
    BOTH("V_CVT_PKNORM_I16_F16", "V_CVT_PK_NORM_I16_F16",
         [](f16 a, f16 b) { return pack(unit_i16(a.value), unit_i16(b.value)); }),
    BOTH("V_CVT_PKNORM_U16_F16", "V_CVT_PK_NORM_U16_F16",
         [](f16 a, f16 b) { return pack(unit_u16(a.value), unit_u16(b.value)); }),
    lane_row<[](float a, float b) {
      return pack(clamp_i16(to_i32(std::trunc(a))), clamp_i16(to_i32(std::trunc(b))));
    }>("V_CVT_PK_I16_F32"),
    lane_row<[](float a, float b) {
      return pack(clamp_u16(to_u32(std::trunc(a))), clamp_u16(to_u32(std::trunc(b))));
    }>("V_CVT_PK_U16_F32"),
    lane_row<[](i32 a, i32 b) { return pack(clamp_i16(a), clamp_i16(b)); }>("V_CVT_PK_I16_I32"),
    lane_row<[](u32 a, u32 b) { return pack(clamp_u16(a), clamp_u16(b)); }>("V_CVT_PK_U16_U32"),
    lane_row<[](float a, u32 b, u32 c) { return insert_u8(a, b, c); }>("V_CVT_PK_U8_F32", 1),
    lane_row<[](u32 a) {
      return (static_cast<uint16_t>(clamp_u8(a & 0xffff) | clamp_u8(a >> 16) << 8));
    }>("V_SAT_PK_U8_I16"),
    {"V_PACK_B32_F16", pack_f16, 2},
};

}  // namespace

std::span<const Row> valu_convert_rows() { return kRows; }

}  // namespace tiny::models::amd
