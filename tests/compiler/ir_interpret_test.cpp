// SPDX-License-Identifier: MIT
// The interpreter against values worked out by hand or published.
#include "compiler/ir/interpret.h"

#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/arena.h"
#include "compiler/ir/text.h"

using namespace tiny;
using namespace tiny::ir;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Evaluates a graph in text form whose PARAM slots are filled with numbers.
std::vector<double> run(const std::string& text,
                        const std::vector<std::vector<double>>& inputs = {}) {
  Arena a;
  const auto roots = parse_all(a, text);
  std::vector<std::vector<std::byte>> storage(inputs.size());
  const auto read = [&](const Node* n) -> std::span<const std::byte> {
    const auto& values = inputs.at(static_cast<size_t>(n->arg().value));
    auto& bytes = storage[static_cast<size_t>(n->arg().value)];
    bytes.resize(values.size() * size_B(n->dtype()));
    for (size_t i = 0; i < values.size(); ++i) {
      const Scalar s =
          is_float(n->dtype()) ? Scalar{0, values[i]} : Scalar{static_cast<int64_t>(values[i]), 0};
      store_scalar(n->dtype(), s, bytes.data() + i * size_B(n->dtype()));
    }
    return bytes;
  };
  const HostTensor out = interpret(roots, read)[0];
  std::vector<double> values;
  for (size_t i = 0; i < out.bytes.size(); i += size_B(out.dtype)) {
    const Scalar s = load_scalar(out.dtype, out.bytes.data() + i);
    values.push_back(is_float(out.dtype) ? s.real : static_cast<double>(s.integer));
  }
  return values;
}

using V = std::vector<double>;

int64_t integers(Op op, DType t, int64_t a, int64_t b) {
  const Scalar s[] = {{a, 0}, {b, 0}};
  return evaluate(op, t, t, s).integer;
}

int64_t to_integer(DType t, double v) {
  const Scalar s[] = {{0, v}};
  return evaluate(Op::CAST, DType::f64, t, s).integer;
}

}  // namespace

TEST_CASE("movement ops move elements") {
  const V x{0, 1, 2, 3, 4, 5};
  const std::string p = "%0 = PARAM f32 list=[2,3]\n";
  CHECK(run(p + "%1 = PERMUTE f32 %0 list=[1,0]\nreturn %1", {x}) == V{0, 3, 1, 4, 2, 5});
  CHECK(run(p + "%1 = FLIP f32 %0 list=[0,1]\nreturn %1", {x}) == V{2, 1, 0, 5, 4, 3});
  CHECK(run(p + "%1 = SHRINK f32 %0 list=[1,0,1,2,1,2]\nreturn %1", {x}) == V{3, 5});
  CHECK(run(p + "%1 = PAD f32 %0 real=9 list=[0,1,0,0,0,1]\nreturn %1", {x}) ==
        V{9, 0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5});
  CHECK(run("%0 = PARAM f32 list=[2,1]\n%1 = EXPAND f32 %0 list=[2,3]\nreturn %1", {{7, 8}}) ==
        V{7, 7, 7, 8, 8, 8});
  CHECK(run("%0 = PARAM f32 list=[5]\n%1 = WINDOW f32 %0 list=[2,2,1]\nreturn %1",
            {{0, 1, 2, 3, 4}}) == V{0, 1, 2, 3});
  CHECK(run("%0 = PARAM f32 list=[2,2]\n%1 = UNWINDOW f32 %0 list=[5,2,1]\nreturn %1",
            {{1, 2, 3, 4}}) == V{1, 0, 0, 2, 3, 0, 0, 4, 0, 0});
}

TEST_CASE("UNWINDOW then its sum is the transpose of WINDOW") {
  // <window(x), y> = <x, sum_k unwindow(y)>, for x = e_i: read off the sum.
  const V y{1, 2, 3, 4, 5, 6};
  const V sums =
      run("%0 = PARAM f32 list=[3,2]\n%1 = UNWINDOW f32 %0 list=[6,1,3]\n%2 = REDUCE f32 %1 "
          "list=[1]\nreturn %2",
          {y});
  for (size_t i = 0; i < 6; ++i) {
    V e(6, 0);
    e[i] = 1;
    const V w = run("%0 = PARAM f32 list=[6]\n%1 = WINDOW f32 %0 list=[2,1,3]\nreturn %1", {e});
    double dot = 0;
    for (size_t j = 0; j < 6; ++j) dot += w[j] * y[j];
    CHECK(dot == sums[i]);
  }
}

TEST_CASE("reductions fold their axes; empty ones give what folds to itself") {
  const V x{1, 2, 3, 4, 5, 6};
  const std::string p = "%0 = PARAM f32 list=[2,3]\n";
  CHECK(run(p + "%1 = REDUCE f32 %0 list=[1]\nreturn %1", {x}) == V{6, 15});
  CHECK(run(p + "%1 = REDUCE f32 %0 value=1 list=[0]\nreturn %1", {x}) == V{4, 10, 18});
  CHECK(run(p + "%1 = REDUCE f32 %0 value=2 list=[0,1]\nreturn %1", {x}) == V{6});
  const std::string none = "%0 = PARAM f32 list=[2,0]\n";
  CHECK(run(none + "%1 = REDUCE f32 %0 list=[1]\nreturn %1", {{}}) == V{0, 0});
  CHECK(run(none + "%1 = REDUCE f32 %0 value=2 list=[1]\nreturn %1", {{}}) == V{-kInf, -kInf});
  CHECK(run("%0 = PARAM i8 list=[0]\n%1 = REDUCE i8 %0 value=3 list=[0]\nreturn %1", {{}}) ==
        V{127});
  CHECK(std::isnan(run("%0 = PARAM f32 list=[3]\n%1 = REDUCE f32 %0 value=2 list=[0]\nreturn %1",
                       {{1, std::nan(""), 2}})[0]));
}

TEST_CASE("half sums accumulate in f32 and round once") {
  const V ones(4096, 1.0);
  CHECK(run("%0 = PARAM f16 list=[4096]\n%1 = REDUCE f16 %0 list=[0]\nreturn %1", {ones}) ==
        V{4096});
  CHECK(run("%0 = PARAM bf16 list=[4096]\n%1 = REDUCE bf16 %0 list=[0]\nreturn %1", {ones}) ==
        V{4096});
  CHECK(
      run("%0 = PARAM f16 list=[2]\n%1 = PARAM f16 value=1 list=[2]\n%2 = ADD f16 %0 %1\nreturn %2",
          {{2048, 65504}, {1, 65504}}) == V{2048, kInf});
}

TEST_CASE("gather reads zero outside; scatter skips outside and adds in order") {
  const std::string g =
      "%0 = PARAM f32 list=[2,3]\n%1 = PARAM i64 value=1 list=[2,2]\n%2 = GATHER f32 %0 %1 "
      "value=1\nreturn %2";
  CHECK(run(g, {{1, 2, 3, 4, 5, 6}, {2, 0, 3, -1}}) == V{3, 1, 0, 0});
  const std::string s =
      "%0 = PARAM f32 list=[3]\n%1 = PARAM i32 value=1 list=[4]\n%2 = PARAM f32 value=2 list=[4]\n";
  const std::vector<V> in{{10, 20, 30}, {1, 1, 7, 0}, {1, 2, 3, 4}};
  CHECK(run(s + "%3 = SCATTER f32 %0 %1 %2\nreturn %3", in) == V{4, 2, 30});
  CHECK(run(s + "%3 = SCATTER f32 %0 %1 %2 list=[1]\nreturn %3", in) == V{14, 23, 30});
}

TEST_CASE("integer arithmetic wraps, and division has an answer for everything") {
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK(integers(Op::ADD, DType::i8, 127, 1) == -128);
  CHECK(integers(Op::MUL, DType::u8, 16, 17) == 16);
  CHECK(integers(Op::IDIV, DType::i64, least, -1) == least);
  CHECK(integers(Op::IDIV, DType::i8, -128, -1) == -128);
  CHECK(integers(Op::IMOD, DType::i64, least, -1) == 0);
  CHECK(integers(Op::IDIV, DType::i32, -7, 2) == -3);
  CHECK(integers(Op::IMOD, DType::i32, -7, 2) == -1);
  CHECK(integers(Op::FLOORDIV, DType::i32, -7, 2) == -4);
  CHECK(integers(Op::FLOORMOD, DType::i32, -7, 2) == 1);
  CHECK(integers(Op::FLOORMOD, DType::i32, 7, -2) == -1);
  for (Op op : {Op::IDIV, Op::IMOD, Op::FLOORDIV, Op::FLOORMOD})
    CHECK(integers(op, DType::i32, 5, 0) == 0);
  CHECK(integers(Op::IDIV, DType::u64, -1, 2) == std::numeric_limits<int64_t>::max());
  CHECK(integers(Op::SHL, DType::i32, 1, 32) == 0);
  CHECK(integers(Op::SHL, DType::i32, 1, 31) == std::numeric_limits<int32_t>::min());
  CHECK(integers(Op::SHR, DType::i32, -8, 40) == -1);
  CHECK(integers(Op::SHR, DType::u32, 0xffffffff, 40) == 0);
  CHECK(integers(Op::MAX, DType::u64, -1, 1) == -1);
  CHECK(integers(Op::POW, DType::i32, 3, 4) == 81);
  CHECK(integers(Op::POW, DType::i32, 2, -1) == 0);
  CHECK(integers(Op::POW, DType::i32, -1, -3) == -1);
}

TEST_CASE("floats become integers as x86 does it") {
  CHECK(to_integer(DType::i32, 3e9) == std::numeric_limits<int32_t>::min());
  CHECK(to_integer(DType::i32, -2147483648.5) == std::numeric_limits<int32_t>::min());
  CHECK(to_integer(DType::i32, std::nan("")) == std::numeric_limits<int32_t>::min());
  CHECK(to_integer(DType::i8, 300.7) == 44);
  CHECK(to_integer(DType::u8, -1.5) == 255);
  CHECK(to_integer(DType::u8, 1e20) == 0);
  CHECK(to_integer(DType::i64, 1e30) == std::numeric_limits<int64_t>::min());
  CHECK(to_integer(DType::u32, 4294967295.0) == 4294967295);
  CHECK(to_integer(DType::u64, 9223372036854775808.0) == std::numeric_limits<int64_t>::min());
  CHECK(to_integer(DType::boolean, std::nan("")) == 1);
  CHECK(to_integer(DType::boolean, -0.0) == 0);
}

TEST_CASE("MAX and MIN propagate NaN; comparisons with it are false but for CMPNE") {
  const double nan = std::nan("");
  for (Op op : {Op::MAX, Op::MIN})
    for (const auto& [a, b] : {std::pair{nan, 1.0}, std::pair{1.0, nan}}) {
      const Scalar s[] = {{0, a}, {0, b}};
      CHECK(std::isnan(evaluate(op, DType::f32, DType::f32, s).real));
    }
  const Scalar s[] = {{0, nan}, {0, nan}};
  for (Op op : {Op::CMPLT, Op::CMPLE, Op::CMPEQ, Op::CMPNE})
    CHECK(evaluate(op, DType::f32, DType::boolean, s).integer == (op == Op::CMPNE ? 1 : 0));
}

TEST_CASE("threefry gives Random123's known answers") {
  const auto pair = [](uint64_t lo, uint64_t hi) { return static_cast<int64_t>(hi << 32 | lo); };
  CHECK(integers(Op::THREEFRY, DType::u64, 0, 0) == pair(0x6b200159, 0x99ba4efe));
  CHECK(integers(Op::THREEFRY, DType::u64, -1, -1) == pair(0x1cb996fc, 0xbb002be7));
  CHECK(integers(Op::THREEFRY, DType::u64, pair(0x243f6a88, 0x85a308d3),
                 pair(0x13198a2e, 0x03707344)) == pair(0xc4923a9c, 0x483df7a0));
}

TEST_CASE("kernel expressions read their environment; invalid loads read nothing") {
  Arena a;
  Arg slot;
  const Node* index = a.sub(a.range(3, 8), a.integer(1));
  const Node* load = a.make(Op::LOAD, DType::f32, {index, a.le(a.integer(0), index)}, slot);
  const float data[] = {5, 6, 7};
  ScalarEnvironment env;
  env.buffers = [&](const Node*) { return std::as_bytes(std::span(data)); };
  env.axes[3] = 0;
  CHECK(eval_scalar(load, env).real == 0);
  env.axes[3] = 3;
  CHECK(eval_scalar(load, env).real == 7);
  env.axes[3] = 4;
  CHECK_THROWS_AS(eval_scalar(load, env), std::out_of_range);
}

TEST_CASE("a deep graph is interpreted without recursion") {
  Arena a;
  const Node* x = a.make(Op::IOTA, DType::i64, {}, [] {
    Arg arg;
    arg.list = {2};
    return arg;
  }());
  const Node* y = x;
  for (int i = 0; i < 100000; ++i) y = a.make(Op::ADD, DType::i64, {y, x});
  const Node* roots[] = {y};
  const HostTensor out = interpret(roots, {})[0];
  int64_t second = 0;
  std::memcpy(&second, out.bytes.data() + 8, 8);
  CHECK(second == 100001);
}
