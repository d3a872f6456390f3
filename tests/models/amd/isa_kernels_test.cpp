// SPDX-License-Identifier: MIT
// Whole kernels, as LLVM 19 compiled tests/data/isa/*.ll (llc -O3; comments stripped), run for both
// targets against answers computed on the host.
#include "tests/models/amd/isa_harness.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/dtype.h>
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

using namespace isa_test;

namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(ISA_DATA) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  if (text.str().empty()) throw std::runtime_error("cannot read " + name);
  return text.str();
}

/// "gfx1100_wave64" → the target and the features the kernels were compiled for.
std::string target_of(const std::string& variant) { return variant.substr(0, variant.find('_')); }

const std::vector<uint8_t>& census(const std::string& variant) {
  static std::map<std::string, std::vector<uint8_t>> objects;
  auto [at, fresh] = objects.try_emplace(variant);
  const bool wave64 = variant.ends_with("wave64");
  if (fresh)
    at->second = assemble_object(target_of(variant), file("census_" + variant + ".s"),
                                 wave64 ? "-wavefrontsize32,+wavefrontsize64" : "");
  return at->second;
}

const std::string kTargets[] = {"gfx1100", "gfx1030", "gfx1100_wave64"};

struct Run : Program {
  explicit Run(const std::string& v) : Program(target_of(v), census(v)) {}
  template <class T>
  uint64_t put(const std::vector<T>& values) {
    const uint64_t at = memory.add(values.size() * sizeof(T));
    memory.write(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  template <class T>
  uint64_t room(size_t count) {
    return memory.add(count * sizeof(T));
  }
  template <class T>
  std::vector<T> get(uint64_t at, size_t count) {
    std::vector<T> out(count);
    memory.read(at, out.data(), count * sizeof(T));
    for (size_t i = 0; i < count * sizeof(T); ++i) CHECK_FALSE(memory.poisoned(at + i));
    return out;
  }
};

constexpr unsigned kGroups = 3, kThreads = 64, kCount = kGroups * kThreads;

std::vector<float> floats(size_t count, float low, float high, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> pick(low, high);
  std::vector<float> out(count);
  for (float& v : out) v = pick(random);
  return out;
}
float from_half(uint16_t bits) { return float(std::bit_cast<tiny::Half>(bits)); }
uint16_t to_half(float v) { return std::bit_cast<uint16_t>(tiny::Half(v)); }
double ulps(float got, double want) {
  const float near = static_cast<float>(want);
  const double unit = double(std::nextafter(std::fabs(near), HUGE_VALF)) - std::fabs(double(near));
  return std::fabs(got - want) / unit;
}

}  // namespace

TEST_CASE("axpy and vector kernels give the host's bits") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(kCount, -10, 10), y = floats(kCount, -10, 10, 2);
    const uint64_t px = run.put(x), py = run.put(y), out = run.room<float>(kCount);
    run.launch("axpy", {kGroups, 1, 1}, {kThreads, 1, 1},
               Arguments().add(out).add(px).add(py).add(1.5f));
    const auto r = run.get<float>(out, kCount);
    for (unsigned i = 0; i < kCount; ++i) CHECK(r[i] == std::fma(1.5f, x[i], y[i]));
    const auto v = floats(4 * kCount, -3, 3);
    const uint64_t pv = run.put(v), out4 = run.room<float>(4 * kCount);
    run.launch("vector4", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out4).add(pv));
    const auto r4 = run.get<float>(out4, 4 * kCount);
    const float kScale[] = {2, 3, -1, 0.5f};
    for (unsigned i = 0; i < 4 * kCount; ++i) CHECK(r4[i] == v[i] * kScale[i % 4] + v[i]);
  }
}

TEST_CASE("half and bfloat kernels round like the host") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(2 * kCount, 0.5f, 8), y = floats(2 * kCount, 0.5f, 8, 2);
    std::vector<uint16_t> hx, hy, bx, by;
    for (unsigned i = 0; i < 2 * kCount; ++i) {
      hx.push_back(to_half(x[i])), hy.push_back(to_half(y[i]));
      bx.push_back(std::bit_cast<uint16_t>(tiny::BFloat16(x[i])));
      by.push_back(std::bit_cast<uint16_t>(tiny::BFloat16(y[i])));
    }
    const uint64_t px = run.put(hx), py = run.put(hy), out = run.room<uint16_t>(2 * kCount);
    run.launch("half_ops", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px).add(py));
    const auto r = run.get<uint16_t>(out, kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const float a = from_half(hx[i]), b = from_half(hy[i]);
      const float s = from_half(to_half(from_half(to_half(a * b)) + a));
      CHECK(r[i] == to_half(s / b));
    }
    run.launch("half2", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px).add(py));
    const auto r2 = run.get<uint16_t>(out, 2 * kCount);
    for (unsigned i = 0; i < 2 * kCount; ++i) {
      const float a = from_half(hx[i]), b = from_half(hy[i]);
      CHECK(r2[i] == to_half(from_half(to_half(a * b)) + a));
    }
    const uint64_t qx = run.put(bx), qy = run.put(by), outb = run.room<uint16_t>(kCount);
    run.launch("bf16_add", {kGroups, 1, 1}, {kThreads, 1, 1},
               Arguments().add(outb).add(qx).add(qy));
    const auto rb = run.get<uint16_t>(outb, kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const float sum =
          float(std::bit_cast<tiny::BFloat16>(bx[i])) + float(std::bit_cast<tiny::BFloat16>(by[i]));
      CHECK(rb[i] == std::bit_cast<uint16_t>(tiny::BFloat16(sum)));
    }
  }
}

TEST_CASE("casts between floats and 64-bit integers are exact") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(kCount, -1e6f, 1e6f);
    std::vector<int64_t> n(kCount);
    std::mt19937_64 random(9);
    for (unsigned i = 0; i < kCount; ++i) n[i] = static_cast<int64_t>(random()) >> (i % 60);
    const uint64_t px = run.put(x), pn = run.put(n), out = run.room<uint64_t>(6 * kCount);
    run.launch("casts", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px).add(pn));
    const auto r = run.get<uint64_t>(out, 6 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const uint64_t* g = &r[6 * i];
      CHECK(g[0] == std::bit_cast<uint64_t>(double(x[i])));
      CHECK(g[1] == static_cast<uint64_t>(static_cast<int64_t>(x[i])));
      CHECK(g[2] == std::bit_cast<uint64_t>(double(n[i])));
      CHECK(g[3] == std::bit_cast<uint32_t>(float(n[i])));
      CHECK(g[4] == std::bit_cast<uint32_t>(float(static_cast<uint64_t>(n[i]))));
      CHECK(g[5] == to_half(x[i]));
    }
  }
}

TEST_CASE("bytes are sign-extended, computed and stored") {
  for (const std::string& target : kTargets) {
    Run run(target);
    std::vector<int8_t> x(kCount);
    for (unsigned i = 0; i < kCount; ++i) x[i] = static_cast<int8_t>(i * 37);
    const uint64_t px = run.put(x), out = run.room<int8_t>(kCount);
    run.launch("bytes", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px));
    const auto r = run.get<int8_t>(out, kCount);
    for (unsigned i = 0; i < kCount; ++i) CHECK(r[i] == static_cast<int8_t>((x[i] * 3) >> 1));
  }
}

TEST_CASE("eight waves reduce through LDS with barriers and no race", "[amd:19]") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(512, 0, 1);
    const uint64_t px = run.put(x), out = run.room<float>(2);
    run.launch("lds_sum", {2, 1, 1}, {256, 1, 1}, Arguments().add(out).add(px));
    const auto r = run.get<float>(out, 2);
    for (unsigned g = 0; g < 2; ++g) {
      std::vector<float> tree(x.begin() + 256 * g, x.begin() + 256 * (g + 1));
      for (unsigned half = 128; half; half /= 2)
        for (unsigned i = 0; i < half; ++i) tree[i] = tree[i + half] + tree[i];
      CHECK(r[g] == tree[0]);
    }
  }
}

TEST_CASE("loops diverge and join", "[amd:18]") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(kCount * 10, -1, 1);
    const uint64_t px = run.put(x), out = run.room<int64_t>(kCount);
    run.launch("argmax", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px).add(10));
    auto r = run.get<int64_t>(out, kCount);
    for (unsigned i = 0; i < kCount; ++i)
      CHECK(r[i] ==
            std::max_element(x.begin() + 10 * i, x.begin() + 10 * i + 10) - (x.begin() + 10 * i));
    run.launch("collatz", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out));
    r = run.get<int64_t>(out, kCount);
    for (uint64_t i = 0; i < kCount; ++i) {
      int64_t steps = 0;
      for (uint64_t k = 1; k <= 4; ++k)
        for (uint64_t v = 4 * i + k; v != 1; ++steps) v = v % 2 ? 3 * v + 1 : v / 2;
      CHECK(r[i] == steps);
    }
  }
}

TEST_CASE("math functions stay within the compiler's promise") {
  for (const std::string& target : kTargets) {
    Run run(target);
    auto x = floats(kCount, 0.01f, 60);
    x[0] = 1e-40f, x[1] = 1e-30f, x[2] = 0.5f;
    const uint64_t px = run.put(x), out = run.room<float>(8 * kCount);
    run.launch("math", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px));
    const auto r = run.get<float>(out, 8 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const double v = x[i];
      const float* g = &r[8 * i];
      CHECK(ulps(g[0], std::exp2(v)) <= 2);
      CHECK(std::fabs(g[1] - std::log2(v)) <= 1e-6 * std::max(1.0, std::fabs(std::log2(v))));
      CHECK(std::fabs(g[2] - std::sin(v)) <= 1e-4);
      CHECK(g[3] == std::sqrt(x[i]));
      CHECK(g[4] == std::floor(x[i]));
      CHECK(g[5] == std::nearbyint(x[i]));
      CHECK(ulps(g[6], std::exp(v)) <= 4);
      CHECK(g[7] == std::floor(x[i]) / x[i]);
    }
  }
}

TEST_CASE("f64 division and square root, all integer divisions") {
  for (const std::string& target : kTargets) {
    Run run(target);
    std::vector<double> x(kCount), y(kCount);
    std::vector<int64_t> a(kCount), b(kCount);
    std::mt19937_64 random(77);
    for (unsigned i = 0; i < kCount; ++i) {
      x[i] = std::ldexp(double(random() >> 11), int(random() % 200) - 150);
      y[i] = std::ldexp(double((random() >> 11) | 1), int(random() % 200) - 150);
      a[i] = static_cast<int64_t>(random()) >> (random() % 60);
      b[i] = (static_cast<int64_t>(random()) >> (random() % 60)) | 1;
    }
    const uint64_t px = run.put(x), py = run.put(y), out = run.room<double>(2 * kCount);
    run.launch("double_ops", {kGroups, 1, 1}, {kThreads, 1, 1},
               Arguments().add(out).add(px).add(py));
    const auto r = run.get<double>(out, 2 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      CHECK(r[2 * i] == x[i] / y[i]);
      CHECK(r[2 * i + 1] == std::sqrt(y[i]));
    }
    const uint64_t pa = run.put(a), pb = run.put(b), outn = run.room<int64_t>(8 * kCount);
    run.launch("divide", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(outn).add(pa).add(pb));
    const auto n = run.get<int64_t>(outn, 8 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const int32_t s = static_cast<int32_t>(a[i]), t = static_cast<int32_t>(b[i]) | 2;
      const uint32_t us = static_cast<uint32_t>(s), ut = static_cast<uint32_t>(t);
      const uint64_t ua = static_cast<uint64_t>(a[i]), ub = static_cast<uint64_t>(b[i]);
      const int64_t want[] = {s / t,
                              s % t,
                              us / ut,
                              us % ut,
                              a[i] / b[i],
                              a[i] % b[i],
                              static_cast<int64_t>(ua / ub),
                              static_cast<int64_t>(ua % ub)};
      for (unsigned k = 0; k < 8; ++k) CHECK(n[8 * i + k] == want[k]);
    }
  }
}

TEST_CASE("atomics from all lanes add up", "[amd:20]") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const uint64_t c = run.put(std::vector<uint64_t>{0, 0, ~0ull, 0, 0, 0, 0}),
                   old = run.room<uint32_t>(kCount);
    run.launch("atomics", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(c).add(old));
    const auto r = run.get<uint64_t>(c, 7);
    CHECK(r[0] == kCount);
    CHECK(r[1] == kCount - 1);
    CHECK(static_cast<uint32_t>(r[2]) == 0);
    CHECK(r[3] == 0xffffffffu);
    CHECK(r[4] == 7);
    CHECK(std::bit_cast<float>(static_cast<uint32_t>(r[5])) == float(kCount));
    CHECK(r[6] == kCount * (kCount - 1) / 2);
    const auto seen = run.get<uint32_t>(old, kCount);
    CHECK(std::set<uint32_t>(seen.begin(), seen.end()).size() >= kCount / 64);
  }
}

TEST_CASE("masked loads, private arrays, tables and generic pointers") {
  for (const std::string& target : kTargets) {
    Run run(target);
    const auto x = floats(40 * 5, 0, 1);
    const uint64_t px = run.put(x), out = run.room<float>(7 * 64);
    run.launch("gated", {7, 1, 1}, {64, 1, 1}, Arguments().add(out).add(px).add(40).add(5));
    const auto r = run.get<float>(out, 7 * 64);
    for (int j = 0; j < 7; ++j)
      for (int i = 0; i < 64; ++i) {
        const bool in = i >= 1 && i <= 40 && j >= 1 && j <= 5;
        CHECK(r[static_cast<size_t>(64 * j + i)] ==
              (in ? x[static_cast<size_t>(40 * (j - 1) + i - 1)] : -1.0f));
      }
    std::vector<uint32_t> n(kCount);
    for (unsigned i = 0; i < kCount; ++i) n[i] = i * 7919;
    const uint64_t pn = run.put(n), outn = run.room<uint32_t>(kCount);
    run.launch("private_array", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(outn).add(pn));
    const auto p = run.get<uint32_t>(outn, kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      uint32_t table[80];
      for (uint32_t k = 0; k < 80; ++k) table[k] = k;
      const uint32_t fresh = table[n[i] % 80] += 1000;
      CHECK(p[i] == fresh + table[n[i] % 79]);
    }
    run.launch("lookup", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(outn));
    const auto l = run.get<uint32_t>(outn, kCount);
    const uint32_t kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (unsigned i = 0; i < kCount; ++i)
      CHECK(l[i] == kTable[i % 64 % 8] + 100 * kTable[i / 64 % 8]);
    const auto v = floats(kCount, 0, 1);
    const uint64_t pv = run.put(v), outv = run.room<float>(kCount);
    run.launch("generic", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(outv).add(pv));
    const auto q = run.get<float>(outv, kCount);
    for (unsigned i = 0; i < kCount; ++i) CHECK(q[i] == (i % 2 ? 42.0f : v[i]));
  }
}

TEST_CASE("bit tricks and lane permutations") {
  for (const std::string& target : kTargets) {
    Run run(target);
    std::mt19937_64 random(5);
    std::vector<uint32_t> x(kCount);
    for (uint32_t& v : x) v = static_cast<uint32_t>(random());
    const uint64_t px = run.put(x), out = run.room<uint32_t>(4 * kCount);
    run.launch("bit_ops", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out).add(px));
    auto r = run.get<uint32_t>(out, 4 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const uint32_t e = std::rotl(x[i] + i, 13) ^ x[i];
      uint32_t reversed = 0;
      for (unsigned b = 0; b < 32; ++b) reversed |= (e >> b & 1) << (31 - b);
      CHECK(r[4 * i] == e);
      CHECK(r[4 * i + 1] == static_cast<uint32_t>(std::countl_zero(e)));
      CHECK(r[4 * i + 2] == (reversed >> 8 | static_cast<uint32_t>(std::popcount(e))));
      CHECK(r[4 * i + 3] == (reversed & 255));
    }
    const uint64_t out2 = run.room<uint32_t>(2 * kCount);
    run.launch("lane_ops", {kGroups, 1, 1}, {kThreads, 1, 1}, Arguments().add(out2).add(px));
    r = run.get<uint32_t>(out2, 2 * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      uint32_t sum = 0;
      for (unsigned k = 0; k < 16; ++k) sum += x[i / 16 * 16 + k];
      CHECK(r[2 * i] == sum);
      CHECK(r[2 * i + 1] == x[i / 32 * 32 + 5]);
    }
  }
}

TEST_CASE("a WMMA tile is the matrix product") {
  Program program("gfx1100", assemble_object("gfx1100", file("wmma_gfx1100.s")));
  std::mt19937_64 random(31);
  std::vector<uint16_t> a(256), b(256);
  for (unsigned i = 0; i < 256; ++i) {
    a[i] = to_half(static_cast<float>(random() % 64) / 8 - 4);
    b[i] = to_half(static_cast<float>(random() % 64) / 8 - 4);
  }
  const uint64_t pa = program.memory.add(512), pb = program.memory.add(512),
                 out = program.memory.add(1024);
  program.memory.write(pa, a.data(), 512);
  program.memory.write(pb, b.data(), 512);
  program.launch("wmma", {1, 1, 1}, {32, 1, 1}, Arguments().add(out).add(pa).add(pb));
  float d[256];
  program.memory.read(out, d, 1024);
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      float want = 0;
      for (unsigned k = 0; k < 16; ++k) want += from_half(a[16 * i + k]) * from_half(b[16 * j + k]);
      CHECK(d[16 * i + j] == want);
    }
}

TEST_CASE("every mnemonic of the compiled kernels is modelled") {
  for (const std::string& target : kTargets) {
    Program program(target_of(target), census(target));
    const Disassembler& disassembler =
        isa_of(target_of(target)).disassembler(target.ends_with("wave64") ? 64 : 32);
    std::set<std::string> names, missing;
    const Kernel first = program.kernel("axpy");
    std::vector<uint8_t> bytes(20);
    for (uint64_t pc = first.entry;;) {
      try {
        program.memory.read(pc, bytes.data(), bytes.size());
      } catch (const std::runtime_error&) {
        break;
      }
      const auto inst = disassembler.decode(bytes, pc);
      if (!inst) break;
      names.insert(inst->name);
      if (!Isa::models(inst->name)) missing.insert(inst->name);
      pc += inst->size_B;
    }
    CHECK(names.size() > 150);
    CHECK(missing == std::set<std::string>{});
  }
}

TEST_CASE("every dual-issue combination is modelled") {
  for (const std::string& name : isa_of("gfx1100").disassembler(32).names())
    if (name.starts_with("V_DUAL_") && !Isa::models(name)) FAIL_CHECK(name);
}
