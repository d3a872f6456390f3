// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "compiler/lower/affine.h"
#include "compiler/lower/lower.h"
#include "compiler/opt/heuristic.h"
#include "tests/compiler/lower_kernels.h"

namespace tiny::test {

namespace {

using lower::Block;
using lower::Code;
using lower::Instruction;

lower::LinearCode lowered(Kernel k, bool noopt = false) {
  optimize(k, host_target(), noopt);
  return lower::lower(std::move(k), host_target());
}

void visit(const Block& b, int depth, const std::function<void(const Instruction&, int)>& f) {
  for (const Instruction& i : b) {
    f(i, depth);
    if (i.loop) visit(i.loop->body, depth + (i.code == Code::loop), f);
  }
}

int deepest(const Block& b) {
  int most = 0;
  visit(b, 0, [&](const Instruction&, int depth) { most = std::max(most, depth); });
  return most;
}

int count(const lower::LinearCode& code, const std::function<bool(const Instruction&)>& f) {
  int n = 0;
  for (const auto& p : code.pieces) visit(p.body, 0, [&](const Instruction& i, int) { n += f(i); });
  return n;
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("softmax lowers to one function with both reductions inside its row loop") {
  const lower::LinearCode code = lowered(softmax(64, 40), true);
  REQUIRE(code.pieces.size() == 1);
  const Block& body = code.pieces[0].body;
  REQUIRE(std::count_if(body.begin(), body.end(),
                        [](const Instruction& i) { return i.code == Code::loop; }) == 1);
  int loops = 0, carried = 0;
  visit(body, 0, [&](const Instruction& i, int depth) {
    if (i.code != Code::loop || depth != 1) return;
    ++loops;
    carried += static_cast<int>(i.loop->carried.size());
  });
  CHECK(loops == 3);
  CHECK(carried == 2);
}

TEST_CASE("a linear layer becomes a register tile of fused vector operations") {
  const Target t = host_target();
  const lower::LinearCode code = lowered(linear_relu(96, 96, 64, false));
  const auto fused = [&](const Instruction& i) {
    return i.code == Code::alu && i.op == ir::Op::MULACC;
  };
  CHECK(count(code, fused) >= 8);
  int scalar = 0;
  for (const auto& p : code.pieces)
    visit(p.body, 0, [&](const Instruction& i, int) {
      if (fused(i) && t.vector_B >= 16)
        scalar += p.values[static_cast<size_t>(i.result)].lanes == 1;
    });
  CHECK(scalar == 0);
}

TEST_CASE("no innermost loop of a convolution divides") {
  for (Kernel (*make)(int64_t, int64_t, int64_t, int64_t, int64_t) :
       {conv, conv_grad_input, conv_grad_weight}) {
    const lower::LinearCode code = lowered(make(2, 4, 8, 14, 5));
    for (const auto& p : code.pieces) {
      const int inner = deepest(p.body);
      visit(p.body, 0, [&](const Instruction& i, int depth) {
        const bool divides =
            i.code == Code::alu && (i.op == ir::Op::IDIV || i.op == ir::Op::IMOD ||
                                    i.op == ir::Op::FLOORDIV || i.op == ir::Op::FLOORMOD);
        CHECK_FALSE((divides && depth == inner));
      });
    }
  }
}

TEST_CASE("what does not vary in a loop stands before it") {
  const lower::LinearCode code = lowered(gather(11, 40, 6), true);
  visit(code.pieces[0].body, 0, [&](const Instruction& i, int depth) {
    if (i.code != Code::load) return;
    const DType t = code.pieces[0].values[static_cast<size_t>(i.result)].dtype;
    CHECK(depth == (t == DType::i64 ? 1 : 2));
  });
}

TEST_CASE("code text stays short enough to compile in milliseconds") {
  for (const Kernel& k : {softmax(512, 10), softmax(64, 1000), linear_relu(64, 128, 784, true),
                          conv(64, 32, 32, 24, 5), conv_grad_input(64, 32, 32, 24, 5),
                          conv_grad_weight(64, 32, 32, 24, 5), batch_norm(64, 32, 400),
                          add(100000, DType::f32), transpose(100, 70)}) {
    INFO(k.name);
    CHECK(lines(render(k, host_target()).text) < 1200);
  }
}

TEST_CASE("kernels worth it are cut into groups, small and sequential ones are not") {
  CHECK(lowered(add(1 << 20, DType::f32)).groups() > 1);
  CHECK(lowered(conv(8, 16, 16, 20, 3)).groups() > 1);
  CHECK(lowered(add(100, DType::f32)).groups() == 1);
  CHECK(lowered(scatter_add(1000, 1, 1 << 18)).groups() == 1);
  CHECK(lowered(linear_relu(256, 256, 256, false), true).groups() == 1);
}

TEST_CASE("rendering is a function of the kernel alone") {
  for (const Sample& s : samples()) {
    INFO(s.name);
    CHECK(render(s.make(), host_target()).text == render(s.make(), host_target()).text);
  }
}

TEST_CASE("the binary's argument layout is one slot a buffer, in order") {
  const Binary b = render(adam({10, 20}), host_target()).binary;
  REQUIRE(b.args.size() == 8);
  for (size_t i = 0; i < b.args.size(); ++i) {
    CHECK(b.args[i].offset_B == 8 * i);
    CHECK(b.args[i].written == (i % 4 != 0));
  }
  CHECK(b.kernarg_B == 64);
  CHECK(b.flops > 0);
  CHECK(b.bytes == Approx(4.0 * (30 + 6 * 30)));
}

TEST_CASE("an affine form collects coefficients and knows what is tangled") {
  ir::Arena a;
  const Node *i = a.range(0, 10), *j = a.range(1, 7);
  const Node* n =
      a.add(a.mul(a.add(a.mul(i, a.integer(7)), j), a.integer(3)), a.floordiv(j, a.integer(2)));
  const lower::Affine f = lower::affine(a.sub(n, a.integer(4)));
  CHECK(f.constant == -4);
  CHECK(f.coefficient(0) == 21);
  CHECK(f.coefficient(1) == 3);
  CHECK(f.tangled(1));
  CHECK_FALSE(f.tangled(0));
  CHECK(lower::difference(n, n).terms.empty());
}

}  // namespace tiny::test
