// SPDX-License-Identifier: MIT
// Dual-issue instructions: the pair does what its halves do, each reading what was there before.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tests/models/amd/isa_harness.h"

using namespace isa_test;

namespace {

constexpr unsigned kRegisters = 16;

struct Half {
  const char* name;
  const char* operands;  ///< D: destination, A: first source, B: second source
};
constexpr Half kBoth[] = {
    {"fmac_f32", "D, A, B"},
    {"fmaak_f32", "D, A, B, 0x40490fdb"},
    {"fmamk_f32", "D, A, 0x40490fdb, B"},
    {"mul_f32", "D, A, B"},
    {"add_f32", "D, A, B"},
    {"sub_f32", "D, A, B"},
    {"subrev_f32", "D, A, B"},
    {"mul_dx9_zero_f32", "D, A, B"},
    {"mov_b32", "D, A"},
    {"cndmask_b32", "D, A, B"},
    {"max_f32", "D, A, B"},
    {"min_f32", "D, A, B"},
    {"dot2acc_f32_f16", "D, A, B"},
};
constexpr Half kOnlySecond[] = {
    {"add_nc_u32", "D, A, B"}, {"lshlrev_b32", "D, A, B"}, {"and_b32", "D, A, B"}};

std::string operands_of(const Half& half, unsigned d, unsigned a, unsigned b) {
  std::string text;
  for (const char* c = half.operands; *c; ++c)
    text += *c == 'D'   ? fmt::format("v{}", d)
            : *c == 'A' ? fmt::format("v{}", a)
            : *c == 'B' ? fmt::format("v{}", b)
                        : std::string(1, *c);
  return text;
}

std::string single(const Half& half, const std::string& operands) {
  const std::string name = half.name;
  const bool carry = name == "cndmask_b32";
  return fmt::format("v_{} {}{}", name, operands, carry ? ", vcc_lo" : "");
}

using Registers = std::vector<uint32_t>;  // register-major

Registers run(Bench& bench, const std::string& text, const Registers& before) {
  bench.load(text);
  Wave& wave = bench.fresh();
  wave.set_sgpr(kVccLo, 0x5a5a3c3c);
  for (unsigned r = 0; r < kRegisters; ++r)
    for (unsigned l = 0; l < 32; ++l) wave.set_vgpr(r, l, before[r * 32 + l]);
  const Stop stop = bench.run();
  INFO(text << ": " << stop.fault.message());
  REQUIRE(stop.reason == StopReason::end);
  Registers after;
  for (unsigned r = 0; r < kRegisters; ++r)
    for (unsigned l = 0; l < 32; ++l) after.push_back(wave.vgpr(r, l));
  return after;
}

/// Each half alone, then its destination taken from that run.
void check_pair(Bench& bench, const Half& x, const Half& y, std::mt19937_64& random) {
  // Destinations and what may be a third source differ in parity, first sources in bank (register
  // modulo 4), as the encoding demands.
  const unsigned dx = unsigned(random() % 8 * 2), dy = unsigned(random() % 8 * 2 + 1);
  const unsigned bx = unsigned(random() % 8 * 2), by = unsigned(random() % 8 * 2 + 1);
  const unsigned ax = unsigned(random() % kRegisters);
  const unsigned ay = (ax + 1 + unsigned(random() % 3)) % kRegisters;
  const std::string in_x = operands_of(x, dx, ax, bx), in_y = operands_of(y, dy, ay, by);
  Registers before;
  for (unsigned i = 0; i < kRegisters * 32; ++i)
    before.push_back(some32(random, unsigned(random() % 200)));
  const std::string pair = fmt::format("v_dual_{} {} :: v_dual_{} {}", x.name, in_x, y.name, in_y);
  INFO(pair);
  const Registers only_x = run(bench, single(x, in_x), before);
  const Registers only_y = run(bench, single(y, in_y), before);
  Registers expected = before;
  for (unsigned l = 0; l < 32; ++l) {
    expected[dx * 32 + l] = only_x[dx * 32 + l];
    expected[dy * 32 + l] = only_y[dy * 32 + l];
  }
  CHECK(run(bench, pair, before) == expected);
}

}  // namespace

TEST_CASE("the halves of a dual instruction each do what they do alone") {
  Bench bench("gfx1100");
  std::mt19937_64 random(7);
  for (const Half& x : kBoth) {
    for (const Half& y : kBoth)
      for (int i = 0; i < 4; ++i) check_pair(bench, x, y, random);
    for (const Half& y : kOnlySecond)
      for (int i = 0; i < 4; ++i) check_pair(bench, x, y, random);
  }
}
