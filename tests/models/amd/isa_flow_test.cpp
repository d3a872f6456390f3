// SPDX-License-Identifier: MIT
// Control flow that diverges: random programs of nested conditions and loops, written with the
// EXEC idioms that LLVM emits, against one lane at a time on the host.
#include "tests/models/amd/isa_harness.h"

#include <catch2/catch.hpp>

#include <random>

#include <fmt/format.h>

using namespace isa_test;

namespace {

struct Statement {
  enum class Kind { mix, branch, loop } kind = Kind::mix;
  uint32_t a = 0, b = 0;  ///< mix: x = x * a + b; branch: x & a; loop: (x & a) + 1 rounds
  std::vector<Statement> then, otherwise;
};
using Block = std::vector<Statement>;

constexpr unsigned kDepth = 3;

Block random_block(std::mt19937_64& random, unsigned depth) {
  Block out(1 + random() % 3);
  for (Statement& s : out) {
    const unsigned kind = depth < kDepth ? random() % 3 : 0;
    s.kind = static_cast<Statement::Kind>(kind);
    s.a = kind == 0 ? 1 + random() % 64 : kind == 1 ? 1u << random() % 8 | 1u << random() % 8 : 3;
    s.b = random() % 64;
    if (kind == 0) continue;
    s.then = random_block(random, depth + 1);
    if (kind == 1 && random() % 2) s.otherwise = random_block(random, depth + 1);
  }
  return out;
}

/// v1 is x; a level has its own s[10 + 2 * level], loop counters are in v[10 + level].
class Writer {
 public:
  std::string text;
  void block(const Block& b, unsigned level) {
    for (const Statement& s : b) {
      if (s.kind == Statement::Kind::mix) {
        line("v_mul_lo_u32 v1, v1, {}", s.a);
        line("v_add_nc_u32 v1, {}, v1", s.b);
      } else if (s.kind == Statement::Kind::branch) {
        branch(s, level);
      } else {
        loop(s, level);
      }
    }
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text += " " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void branch(const Statement& s, unsigned level) {
    const unsigned mask = 10 + 2 * level, label = labels_++;
    line("v_and_b32 v2, {:#x}, v1", s.a);
    line("v_cmp_ne_u32 vcc_lo, 0, v2");
    line("s_and_saveexec_b32 s{}, vcc_lo", mask);
    line("s_xor_b32 s{0}, exec_lo, s{0}", mask);
    line("s_cbranch_execz else{}", label);
    block(s.then, level + 1);
    text += fmt::format("else{}:\n", label);
    line("s_or_saveexec_b32 s{0}, s{0}", mask);
    line("s_xor_b32 exec_lo, exec_lo, s{}", mask);
    line("s_cbranch_execz end{}", label);
    block(s.otherwise, level + 1);
    text += fmt::format("end{}:\n", label);
    line("s_or_b32 exec_lo, exec_lo, s{}", mask);
  }

  void loop(const Statement& s, unsigned level) {
    const unsigned saved = 10 + 2 * level, counter = 10 + level, label = labels_++;
    line("v_and_b32 v{}, {:#x}, v1", counter, s.a);
    line("s_mov_b32 s{}, exec_lo", saved);
    text += fmt::format("loop{}:\n", label);
    block(s.then, level + 1);
    line("v_cmp_ne_u32 vcc_lo, 0, v{}", counter);
    line("v_add_nc_u32 v{0}, -1, v{0}", counter);
    line("s_and_b32 exec_lo, exec_lo, vcc_lo");
    line("s_cbranch_execnz loop{}", label);
    line("s_mov_b32 exec_lo, s{}", saved);
  }

  unsigned labels_ = 0;
};

uint32_t on_host(const Block& b, uint32_t x) {
  for (const Statement& s : b) {
    if (s.kind == Statement::Kind::mix) x = x * s.a + s.b;
    if (s.kind == Statement::Kind::branch) x = on_host(x & s.a ? s.then : s.otherwise, x);
    if (s.kind == Statement::Kind::loop)
      for (uint32_t rounds = (x & s.a) + 1; rounds > 0; --rounds) x = on_host(s.then, x);
  }
  return x;
}

}  // namespace

TEST_CASE("random control flow gives each lane what it would get alone, 1000 programs",
          "[amd:18]") {
  std::mt19937_64 random(18);
  unsigned wrong = 0;
  for (int program = 0; program < 1000; ++program) {
    const Block block = random_block(random, 0);
    Writer writer;
    writer.block(block, 0);
    Bench bench(program % 2 ? "gfx1030" : "gfx1100");
    bench.fresh();
    std::vector<uint32_t> x(bench.lanes);
    for (unsigned lane = 0; lane < bench.lanes; ++lane) {
      x[lane] = static_cast<uint32_t>(random());
      bench.wave->set_vgpr(1, lane, x[lane]);
    }
    bench.load(writer.text);
    bench.wave->pc = kCode;
    const Stop stop = bench.run(10'000'000);
    INFO(writer.text);
    REQUIRE(stop.reason == StopReason::end);
    for (unsigned lane = 0; lane < bench.lanes; ++lane)
      wrong += bench.wave->vgpr(1, lane) != on_host(block, x[lane]);
    REQUIRE(wrong == 0);
  }
}
