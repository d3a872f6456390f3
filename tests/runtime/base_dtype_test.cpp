// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/dtype.h>
#include <rt_tiny/runtime/base/error.h>
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace tiny;

namespace {

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string w; stream >> w;) out.push_back(w);
  return out;
}

/// Value of a finite or infinite pattern from the definition of the format, in double (exact).
double value_of(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = (bits >> mantissa_bits) & top, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/// The nearest pattern by comparing exact distances to both neighbours; ties to the even one.
/// Infinity stands where the next finite number would be.
uint16_t nearest(double d, int exponent_bits, int mantissa_bits) {
  const uint16_t sign = std::signbit(d) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  auto value = [&](uint16_t pattern) {
    if (pattern != infinity) return value_of(pattern, exponent_bits, mantissa_bits);
    return 2 * value_of(static_cast<uint16_t>(infinity - (1 << mantissa_bits)), exponent_bits,
                        mantissa_bits);
  };
  const double magnitude = std::fabs(d);
  uint16_t low = 0, high = infinity;
  if (magnitude >= value(infinity)) return sign | infinity;
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value(low), above = value(high) - magnitude;
  if (below == above) return sign | (low & 1 ? high : low);
  return sign | (below < above ? low : high);
}

/// Floats around every half-way point and every representable value of a 16-bit format.
std::vector<float> hard_floats(int exponent_bits, int mantissa_bits) {
  std::vector<float> out;
  for (int p = 0; p < 0x7fff; ++p) {
    const double a = value_of(static_cast<uint16_t>(p), exponent_bits, mantissa_bits);
    const double b = value_of(static_cast<uint16_t>(p + 1), exponent_bits, mantissa_bits);
    if (!std::isfinite(a) || std::isnan(b)) continue;
    const double half_way = std::isinf(b) ? a + a * std::ldexp(1, -mantissa_bits - 2) : (a + b) / 2;
    const float middle = static_cast<float>(half_way);
    for (float f : {static_cast<float>(a), middle, std::nextafterf(middle, 0.0f),
                    std::nextafterf(middle, INFINITY)}) {
      out.push_back(f);
      out.push_back(-f);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("promotion agrees with torch.promote_types on the types torch promotes") {
  // c10/core/ScalarType.cpp, promoteTypes.
  const char* const rows[][2] = {
      {"bool", "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64"},
      {"u8", "u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64"},
      {"i8", "i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64"},
      {"i16", "i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64"},
      {"i32", "i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64"},
      {"i64", "i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64"},
      {"f16", "f16 f16 f16 f16 f16 f16 f16 f32 f32 f64"},
      {"bf16", "bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64"},
      {"f32", "f32 f32 f32 f32 f32 f32 f32 f32 f32 f64"},
      {"f64", "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64"},
  };
  for (auto [a, results] : rows) {
    const std::vector<std::string> expected = words(results);
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO(a << " with " << rows[i][0]);
      CHECK(name(promote(parse_dtype(a), parse_dtype(rows[i][0]))) == expected[i]);
    }
  }
}

TEST_CASE("wide unsigned types promote to the signed type that holds them") {
  CHECK(promote(DType::u16, DType::i8) == DType::i32);
  CHECK(promote(DType::u16, DType::i64) == DType::i64);
  CHECK(promote(DType::i32, DType::u32) == DType::i64);
  CHECK(promote(DType::u8, DType::u32) == DType::u32);
  CHECK(promote(DType::u64, DType::i8) == DType::f32);
  CHECK(promote(DType::u64, DType::u16) == DType::u64);
  CHECK(promote(DType::u64, DType::f16) == DType::f16);
}

TEST_CASE("promotion is symmetric and idempotent") {
  for (int i = 0; i < kDTypeCount; ++i)
    for (int j = 0; j < kDTypeCount; ++j) {
      const DType a = static_cast<DType>(i), b = static_cast<DType>(j), c = promote(a, b);
      CHECK(c == promote(b, a));
      CHECK(promote(c, a) == c);
    }
}

TEST_CASE("names and sizes of element types round-trip") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    CHECK(parse_dtype(name(t)) == t);
  }
  CHECK(size_B(DType::boolean) == 1);
  CHECK(size_B(DType::bf16) == 2);
  CHECK(size_B(DType::u32) == 4);
  CHECK(size_B(DType::f64) == 8);
  CHECK_THROWS_AS(parse_dtype("float"), UsageError);
  CHECK_THROWS_WITH(parse_dtype("f8"), Catch::Contains("[dtype]") && Catch::Contains("f8"));
}

TEST_CASE("every f16 pattern widens exactly and narrows back to itself") {
  for (uint32_t p = 0; p <= 0xffff; ++p) {
    Half h;
    h.bits = static_cast<uint16_t>(p);
    const float f = static_cast<float>(h);
    const double exact = value_of(h.bits, 5, 10);
    if (std::isnan(exact)) {
      REQUIRE(std::isnan(f));
      REQUIRE(Half(f).bits == (p | 0x200));  // the payload stays, a signalling NaN turns quiet
    } else {
      REQUIRE(static_cast<double>(f) == exact);
      REQUIRE(std::signbit(f) == ((p & 0x8000) != 0));
      REQUIRE(Half(f).bits == p);
    }
  }
}

TEST_CASE("every bf16 pattern widens exactly and narrows back to itself") {
  for (uint32_t p = 0; p <= 0xffff; ++p) {
    BFloat16 h;
    h.bits = static_cast<uint16_t>(p);
    const float f = static_cast<float>(h);
    const double exact = value_of(h.bits, 8, 7);
    if (std::isnan(exact)) {
      REQUIRE(std::isnan(f));
      REQUIRE((BFloat16(f).bits | 0x40) == (p | 0x40));
      REQUIRE(std::isnan(static_cast<float>(BFloat16(f))));
    } else {
      REQUIRE(static_cast<double>(f) == exact);
      REQUIRE(BFloat16(f).bits == p);
    }
  }
}

TEST_CASE("f16 rounds to nearest even at every half-way point, subnormals and overflow included") {
  for (float f : hard_floats(5, 10)) {
    const uint16_t expected = nearest(f, 5, 10);
    if (Half(f).bits != expected) FAIL(f << " gave " << Half(f).bits << ", not " << expected);
  }
  CHECK(Half(65519.996f).bits == 0x7bff);
  CHECK(Half(65520.0f).bits == 0x7c00);
  CHECK(Half(-1e30f).bits == 0xfc00);
  CHECK(Half(std::ldexp(1.0f, -25)).bits == 0);  // half of the least subnormal: ties to zero
  CHECK(Half(std::nextafterf(std::ldexp(1.0f, -25), 1.0f)).bits == 1);
  CHECK(Half(std::numeric_limits<float>::denorm_min()).bits == 0);
  CHECK(Half(-0.0f).bits == 0x8000);
}

TEST_CASE("bf16 rounds to nearest even at every half-way point, subnormals and overflow included") {
  for (float f : hard_floats(8, 7)) {
    const uint16_t expected = nearest(f, 8, 7);
    if (BFloat16(f).bits != expected)
      FAIL(f << " gave " << BFloat16(f).bits << ", not " << expected);
  }
  CHECK(BFloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(BFloat16(-0.0f).bits == 0x8000);
  // A NaN whose payload lies in the dropped bits must not become infinity.
  CHECK(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  CHECK(std::isnan(static_cast<float>(Half(std::bit_cast<float>(0xff800001u)))));
}

TEST_CASE("random floats narrow to the nearest f16 and bf16") {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(f)) continue;
    if (Half(f).bits != nearest(f, 5, 10)) FAIL("f16 of " << f);
    if (BFloat16(f).bits != nearest(f, 8, 7)) FAIL("bf16 of " << f);
  }
}
