// SPDX-License-Identifier: MIT
// print and parse are inverse, and nothing hostile gets past the parser.
#include "compiler/ir/text.h"

#include <rt_tiny/runtime/base/error.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compiler/ir/verify.h"
#include "tests/compiler/ir_random.h"

using namespace tiny;
using namespace tiny::ir;

namespace {

bool round_trips(Arena& a, const Node* n) { return parse(a, print(n)) == n; }

std::string refusal(const std::string& text) {
  Arena a;
  try {
    parse(a, text);
    return "accepted";
  } catch (const UsageError& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("constants round-trip to the bit") {
  Arena a;
  const double reals[] = {
      0.0,       -0.0,         1.0 / 3,
      1e300,     5e-324,       HUGE_VAL,
      -HUGE_VAL, std::nan(""), std::bit_cast<double>(uint64_t{0xfff8000000001234})};
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (double v : reals) CHECK(round_trips(a, a.real(v, t)));
  for (int64_t v : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()})
    for (DType t : {DType::i8, DType::u8, DType::u64, DType::i64, DType::boolean})
      CHECK(round_trips(a, a.integer(v, t)));
}

TEST_CASE("a tensor graph round-trips with its arguments and objects") {
  const std::string text =
      "%0 = BUFFER f32 list=[2,3] object=@0 ; (2, 3)\n"
      "%1 = BUFFER f32 list=[2,3] object=@1 ; (2, 3)\n"
      "%2 = ADD f32 %0 %1 ; (2, 3)\n"
      "%3 = PAD f32 %2 real=-inf list=[0,1,0,0,0,0] ; (2, 4)\n"
      "%4 = REDUCE f32 %3 value=2 list=[1] ; (2)\n"
      "return %4 %2\n";
  Arena a;
  const auto roots = parse_all(a, text);
  REQUIRE(roots.size() == 2);
  CHECK(roots[0]->shape() == Shape{2});
  CHECK(print(roots) == text);
}

TEST_CASE("pretty reads like arithmetic") {
  Arena a;
  Arg slot;
  slot.value = 2;
  const Node *r0 = a.range(0, 6), *r1 = a.range(1, 8);
  const Node* index = a.add(a.mul(r0, a.integer(8)), r1);
  CHECK(pretty(index) == "r0*8 + r1");
  CHECK(pretty(a.floormod(a.floordiv(index, a.integer(3)), a.integer(4))) == "(r0*8 + r1)//3%4");
  const Node* load = a.make(Op::LOAD, DType::f32, {index, a.lt(r0, a.integer(3))}, slot);
  CHECK(pretty(a.build(Op::EXP, DType::f32, {load})) == "exp(b2[r0*8 + r1 if r0 < 3])");
  const Node* deep = r0;
  for (int i = 0; i < 100000; ++i) deep = a.make(Op::MAX, DType::i64, {deep, r1});
  CHECK(pretty(deep).size() < 4000);
}

TEST_CASE("hostile text is refused with its line") {
  const auto has_line = [](const char* text, const char* line) {
    const std::string why = refusal(text);
    INFO(why);
    CHECK(why.find(line) != std::string::npos);
    CHECK(why.find("[parse]") == 0);
  };
  has_line("", "no return");
  has_line("%0 = CONST i64 value=1\n", "no return");
  has_line("%1 = CONST i64\nreturn %0", "line 1");
  has_line("%0 = NOPE i64\nreturn %0", "line 1");
  has_line("%0 = CONST i65\nreturn %0", "line 1");
  has_line("%0 = CONST i64 value=99999999999999999999\nreturn %0", "line 1");
  has_line("%0 = CONST i64 value=1x\nreturn %0", "line 1");
  has_line("%0 = CONST f32 real=nan:zz\nreturn %0", "line 1");
  has_line("%0 = NEG i64 %0\nreturn %0", "line 1");
  has_line("%0 = CONST i64\n%1 = ADD i64 %0\nreturn %1", "line 2");
  has_line("%0 = CONST i64\n%1 = ADD f32 %0 %0\nreturn %1", "line 2");
  has_line("%0 = RANGE i64 value=500 list=[4]\nreturn %0", "line 1");
  has_line("%0 = RANGE i64 value=-1 list=[4]\nreturn %0", "line 1");
  has_line("%0 = RANGE i64 list=[4\nreturn %0", "line 1");
  has_line("%0 = BUFFER f32 list=[4611686018427387904,4611686018427387904]\nreturn %0", "line 1");
  has_line(
      "%0 = BUFFER f32 list=[4]\n%1 = PAD f32 %0 "
      "list=[9223372036854775807,9223372036854775807,9223372036854775807]\nreturn %1",
      "line 2");
  has_line(
      "%0 = BUFFER f32 list=[4]\n%1 = WINDOW f32 %0 "
      "list=[9223372036854775807,1,9223372036854775807]\nreturn %1",
      "line 2");
  has_line("%0 = CONST i64\nreturn %0 %18446744073709551616", "line 2");
  has_line("%0 = CONST i64\nreturn %0\n%1 = CONST i64", "line 3");
  has_line("%0 = CONST i64 object=@7\nreturn %0", "line 1");
  has_line("%0 = CONST i64\nreturn %0 %0", "roots");
}

TEST_CASE("mangled text never crashes the parser, and what it accepts verifies") {
  ir::testing::Rng rng(5);
  const std::string good =
      "%0 = BUFFER f32 list=[2,3,4] object=@0\n"
      "%1 = PERMUTE f32 %0 list=[2,0,1]\n"
      "%2 = SHRINK f32 %1 list=[0,0,1,2,2,2,2,1,1]\n"
      "%3 = WINDOW f32 %2 value=2 list=[2,1,1]\n"
      "%4 = REDUCE f32 %3 value=1 list=[0,3]\n"
      "%5 = VAR i64 value=3 list=[-4,9]\n"
      "%6 = CAST f16 %4\n"
      "return %6\n";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (int64_t n = ir::testing::pick(rng, 1, 3); n > 0; --n) {
      const size_t at =
          static_cast<size_t>(ir::testing::pick(rng, 0, static_cast<int64_t>(text.size()) - 1));
      const char* alphabet = "0123456789-,=%@[] \nABCNMUfi";
      switch (ir::testing::pick(rng, 0, 2)) {
        case 0:
          text[at] = alphabet[ir::testing::pick(rng, 0, 26)];
          break;
        case 1:
          text.erase(at, static_cast<size_t>(ir::testing::pick(rng, 1, 5)));
          break;
        default:
          text.insert(at, 1, alphabet[ir::testing::pick(rng, 0, 26)]);
      }
    }
    Arena a;
    try {
      const auto roots = parse_all(a, text);
      REQUIRE(find_broken(roots).empty());
      ++accepted;
    } catch (const UsageError&) {
    }
  }
  CHECK(accepted > 100);
}
