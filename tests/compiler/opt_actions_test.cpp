// SPDX-License-Identifier: MIT
#include "compiler/opt/actions.h"

#include <rt_tiny/runtime/base/error.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "compiler/lower/interpret_kernel.h"
#include "compiler/opt/heuristic.h"
#include "tests/compiler/lower_kernels.h"

namespace tiny::test {

namespace {

constexpr uint64_t kActionKinds = 0
#define ACTION(name, arguments, meaning) +1
#include "compiler/opt/actions.def"
#undef ACTION
    ;

/// Applies up to `count` random legal actions; returns them as text.
std::string act_at_random(Kernel& k, std::mt19937_64& random, int count) {
  std::string done;
  for (int tries = 0; tries < 4 * count && count > 0; ++tries) {
    const size_t piece = random() % k.pieces.size();
    const int classes = next_class(k.pieces[piece]);
    Action a;
    a.kind = static_cast<ActionKind>(random() % kActionKinds);
    a.axis_class = static_cast<int>(random() % static_cast<uint64_t>(classes));
    constexpr int64_t factors[] = {1, 2, 3, 4, 5, 8};
    a.amount = factors[random() % 6];
    if (a.kind == ActionKind::merge) a.amount = static_cast<int64_t>(random() % 4);
    if (a.kind == ActionKind::keep) a.amount = static_cast<int64_t>(random() % k.buffers.size());
    if (a.kind == ActionKind::order) {
      a.axis_class = 0;
      a.amount = 0;
      for (int c = 0; c < classes; ++c)
        if (random() % 2)
          a.order.insert(a.order.begin() + static_cast<long>(random() % (a.order.size() + 1)), c);
    }
    try {
      apply(k, piece, a);
      done += print(a) + " ";
      --count;
    } catch (const UsageError&) {
    }
  }
  return done;
}

std::string check_meaning(const Kernel& before, const Kernel& after, uint64_t seed) {
  Bytes expected = make_buffers(before, seed), got = expected;
  lower::AccessTrace was, is;
  lower::interpret_kernel(before, expected, {}, &was);
  lower::interpret_kernel(after, got, {}, &is);
  if (was.loads != is.loads) return "other elements are read";
  if (was.stores != is.stores) return "other elements are written, or not once";
  return difference(before, expected, got);
}

}  // namespace

TEST_CASE("an action prints and parses back") {
  for (const char* text : {"split(2, 3)", "vector(0, 8)", "unroll(1, 4)", "thread(5)",
                           "order(2, 0, 1)", "merge(0, 1)", "keep(2, 1)"}) {
    CHECK(print(parse_action(text)) == text);
    CHECK(parse_action(print(parse_action(text))) == parse_action(text));
  }
}

TEST_CASE("a malformed action is refused with its text") {
  for (const char* text :
       {"split", "split(1)", "fly(1, 2)", "vector(1, x)", "thread(1, 2)", "split(1, 2"})
    CHECK_THROWS_AS(parse_action(text), UsageError);
  CHECK_THROWS_WITH(parse_action("fly(1)"), Catch::Contains("[action]") && Catch::Contains("fly"));
}

TEST_CASE("an illegal action throws and leaves the kernel as it was") {
  const auto refused = [](Kernel k, const char* text) {
    const std::string before = print(k);
    CHECK_THROWS_WITH(apply(k, 0, parse_action(text)), Catch::StartsWith("[action]"));
    CHECK(print(k) == before);
  };
  refused(linear_relu(8, 16, 4, false), "unroll(0, 9)");
  refused(linear_relu(8, 16, 4, false), "split(7, 2)");
  refused(linear_relu(8, 16, 4, false), "vector(0, 3)");
  refused(linear_relu(8, 16, 4, false), "merge(0, 1)");
  refused(linear_relu(8, 16, 4, false), "order(0, 9)");
  refused(linear_relu(8, 16, 4, false), "thread(2)");
  refused(linear_relu(8, 16, 4, false), "keep(0, 1)");
  refused(linear_relu(8, 16, 4, false), "keep(2, 3)");
  refused(scatter_add(4, 8, 9), "vector(0, 8)");
  refused(scatter_add(4, 8, 9), "thread(0)");
  Kernel k = linear_relu(8, 16, 4, false);
  apply(k, 0, parse_action("vector(1, 8)"));
  refused(k, "vector(0, 8)");
  refused(k, "vector(2, 4)");
}

TEST_CASE("a split keeps every access and every value, also where it does not divide") {
  constexpr int64_t factors[] = {2, 3, 8};  // in turn: the interpreter is slow
  size_t turn = 0;
  for (const Sample& s : samples()) {
    INFO(s.name);
    Kernel k = s.make();
    for (int c = next_class(k.pieces[0]); c-- > 0;) {
      try {
        apply(k, 0, {ActionKind::split, c, factors[turn % 3], {}});
      } catch (const UsageError&) {  // the axis is too short
      }
    }
    ++turn;
    verify(k);
    CHECK(check_meaning(s.make(), k, 3) == "");
  }
}

TEST_CASE("neighbouring axes of one contiguous walk merge") {
  Kernel k = batch_norm(4, 3, 25);
  CHECK_THROWS_AS(apply(k, 0, parse_action("merge(0, 1)")), UsageError);
  KernelBuilder b("flat");
  const int x = b.buffer(DType::f32, 60, true, false), z = b.buffer(DType::f32, 60, false, true);
  const Node *r = b.domain(6, "r"), *c = b.domain(10, "c");
  const Node* at = b.flat({r, c}, {10});
  b.store(z, at, b.op(Op::MUL, {b.load(x, at), b.f(2)}));
  k = b.kernel;
  apply(k, 0, parse_action("merge(0, 1)"));
  verify(k);
  CHECK(k.pieces[0].domain.size() == 1);
  CHECK(k.pieces[0].axes[0].extent == 60);
  CHECK(check_meaning(b.kernel, k, 4) == "");
}

TEST_CASE("reads of a buffer are kept in local memory, a block a turn") {
  struct Case {
    const char* what;
    Kernel kernel;
    std::vector<const char*> actions;
    int arrays;
  };
  const Case cases[] = {
      {"both operands of a tile",
       linear_relu(9, 20, 17, false),
       {"unroll(0, 4)", "unroll(1, 2)", "split(2, 8)", "keep(2, 0)", "keep(2, 1)"},
       2},
      {"work-items, lanes and copies",
       linear_relu(33, 40, 20, false),
       {"vector(1, 4)", "unroll(0, 2)", "local(0, 8)", "local(1, 4)", "thread(0)", "thread(1)",
        "split(2, 16)", "keep(2, 0)", "keep(2, 1)"},
       2},
      {"a panel for all rows",
       linear_relu(33, 40, 20, false),
       {"vector(1, 8)", "unroll(0, 3)", "order(1, 0, 2)", "keep(1, 1)", "vector(5, 8)",
        "thread(1)"},
       1},
      {"a transposed panel",
       linear_relu(33, 40, 20, true),
       {"vector(1, 8)", "order(1, 0, 2)", "keep(1, 1)"},
       1},
      {"a window, whose rows overlap", conv(2, 3, 4, 10, 3), {"unroll(1, 2)", "keep(4, 0)"}, 1},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    Kernel k = c.kernel;
    INFO(print(k));
    for (const char* text : c.actions) apply(k, 0, parse_action(text));
    verify(k);
    INFO(print(k));
    CHECK(std::count_if(k.pieces[0].stages.begin(), k.pieces[0].stages.end(), [](const Stage& s) {
            return s.placement == Placement::local;
          }) == c.arrays);
    CHECK(check_meaning(c.kernel, k, 8) == "");
    CHECK(check_compiled(c.kernel, k, {.noopt = true}, 9) == "");
  }
}

TEST_CASE("random legal actions keep the meaning, interpreted and compiled") {
  std::mt19937_64 random(20240607);
  for (const Sample& s : samples()) {
    const Kernel before = s.make();
    Kernel after = s.make();
    const std::string done = act_at_random(after, random, 5);
    INFO(s.name << ": " << done);
    verify(after);
    CHECK(check_meaning(before, after, 5) == "");
    CHECK(check_compiled(before, after, {.noopt = true}, 6) == "");
  }
}

TEST_CASE("the heuristic keeps every access and every value") {
  for (const Sample& s : samples()) {
    INFO(s.name);
    Kernel k = s.make();
    optimize(k, host_target(), false);
    verify(k);
    CHECK(check_meaning(s.make(), k, 7) == "");
  }
}

}  // namespace tiny::test
