// SPDX-License-Identifier: MIT
// Nodes: construction, sharing, release, hashes, intervals; arenas; the verifier.
#include "compiler/ir/node.h"

#include <catch2/catch.hpp>
#include <thread>

#include "compiler/ir/arena.h"
#include "compiler/ir/verify.h"

using namespace tiny;
using namespace tiny::ir;

namespace {

/// Counts its deaths: shows when a graph lets go of its storage.
struct Tracked : Object {
  explicit Tracked(int& deaths) : deaths(deaths) {}
  ~Tracked() override { ++deaths; }
  int& deaths;
};

Ref buffer(std::shared_ptr<Object> storage, Shape shape, DType t = DType::f32) {
  Arg arg;
  arg.list = std::move(shape);
  arg.object = std::move(storage);
  return make(Op::BUFFER, t, {}, arg);
}

Arg with_list(std::vector<int64_t> list, int64_t value = 0) {
  Arg arg;
  arg.list = std::move(list);
  arg.value = value;
  return arg;
}

Shape shape_of(Op op, Shape source, Arg arg) {
  const Ref x = buffer(nullptr, std::move(source));
  return make(op, DType::f32, {x}, std::move(arg))->shape();
}

}  // namespace

TEST_CASE("a chain of a million nodes is freed without recursion") {
  int deaths = 0;
  {
    Ref x = buffer(std::make_shared<Tracked>(deaths), {2, 2});
    for (int i = 0; i < 1000000; ++i) x = make(Op::NEG, DType::f32, {x});
    CHECK(x->reference_count() == 1);
    CHECK(deaths == 0);
  }
  CHECK(deaths == 1);
}

TEST_CASE("shared nodes die with their last user, from any thread") {
  int deaths = 0;
  {
    const Ref x = buffer(std::make_shared<Tracked>(deaths), {4});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([x] {
        for (int i = 0; i < 5000; ++i) {
          Ref y = make(Op::ADD, DType::f32, {x, x});
          Ref z = y;
          y = make(Op::MUL, DType::f32, {z, x});
        }
      });
    for (auto& t : threads) t.join();
    CHECK(x->reference_count() == 1);
  }
  CHECK(deaths == 1);
}

TEST_CASE("equal structure hashes alike, whatever the storage") {
  int deaths = 0;
  const auto graph = [&](Shape shape, float scale) {
    const Ref x = buffer(std::make_shared<Tracked>(deaths), shape);
    Arg real;
    real.real = scale;
    const Ref k = make(Op::CONST, DType::f32, {}, real);
    const Ref wide = make(Op::EXPAND, DType::f32,
                          {make(Op::RESHAPE, DType::f32, {k}, with_list({1}))}, with_list(shape));
    return make(Op::MUL, DType::f32, {x, wide});
  };
  CHECK(graph({3}, 2)->hash() == graph({3}, 2)->hash());
  CHECK(graph({3}, 2)->hash() != graph({4}, 2)->hash());
  CHECK(graph({3}, 0.0f)->hash() != graph({3}, -0.0f)->hash());
}

TEST_CASE("movement ops have the shapes ops.def gives them") {
  CHECK(shape_of(Op::RESHAPE, {2, 6}, with_list({3, 4})) == Shape{3, 4});
  CHECK(shape_of(Op::PERMUTE, {2, 3, 4}, with_list({2, 0, 1})) == Shape{4, 2, 3});
  CHECK(shape_of(Op::EXPAND, {2, 1}, with_list({2, 5})) == Shape{2, 5});
  CHECK(shape_of(Op::EXPAND, {2, 5}, with_list({2, 5})) == Shape{2, 5});
  CHECK(shape_of(Op::SHRINK, {10}, with_list({1, 3, 4})) == Shape{3});
  CHECK(shape_of(Op::PAD, {3}, with_list({1, 2, 1})) == Shape{8});
  CHECK(shape_of(Op::PAD, {0}, with_list({1, 2, 1})) == Shape{3});
  CHECK(shape_of(Op::WINDOW, {2, 7}, with_list({3, 2, 1}, 1)) == Shape{2, 3, 3});
  CHECK(shape_of(Op::UNWINDOW, {2, 3, 3}, with_list({7, 2, 1}, 1)) == Shape{2, 7, 3});
  CHECK(shape_of(Op::REDUCE, {2, 3, 4}, with_list({0, 2})) == Shape{3});
}

TEST_CASE("broken rules are told apart from kept ones") {
  const Ref x = buffer(nullptr, {2, 3}), y = buffer(nullptr, {2, 3}, DType::i32);
  const Node* mixed[] = {x.get(), y.get()};
  const Node* one[] = {x.get()};
  CHECK_FALSE(broken_rule(Op::ADD, DType::f32, mixed).empty());
  CHECK_FALSE(broken_rule(Op::ADD, DType::f32, one).empty());
  CHECK_FALSE(
      broken_rule(Op::FLOORDIV, DType::f32, std::vector<const Node*>{x.get(), x.get()}).empty());
  CHECK(broken_rule(Op::CMPLT, DType::boolean, std::vector<const Node*>{x.get(), x.get()}).empty());
  CHECK_FALSE(broken_rule(Op::BITCAST, DType::f64, one).empty());
  CHECK_FALSE(broken_shape(Op::RESHAPE, one, with_list({5})).empty());
  CHECK_FALSE(broken_shape(Op::PERMUTE, one, with_list({0, 0})).empty());
  CHECK_FALSE(broken_shape(Op::EXPAND, one, with_list({2, 4})).empty());
  CHECK_FALSE(broken_shape(Op::SHRINK, one, with_list({0, 0, 2, 4, 1, 1})).empty());
  CHECK_FALSE(broken_shape(Op::REDUCE, one, with_list({1, 0})).empty());
  CHECK_FALSE(broken_shape(Op::WINDOW, one, with_list({4, 1, 1}, 1)).empty());
  CHECK_FALSE(
      broken_shape(Op::BUFFER, {}, with_list({int64_t{1} << 40, int64_t{1} << 40})).empty());
  CHECK(broken_shape(Op::BUFFER, {}, with_list({0, int64_t{1} << 40})).empty());
}

TEST_CASE("intervals of narrow types give up where they may wrap") {
  Arena a;
  const Node* r = a.cast(a.range(0, 100), DType::i8);
  CHECK(r->interval() == Interval{0, 99});
  const Node* k = a.integer(28, DType::i8);
  CHECK(a.add(r, k)->interval() == Interval{28, 127});
  CHECK(a.add(r, a.integer(29, DType::i8))->interval() == full_interval(DType::i8));
  CHECK(a.integer(300, DType::u8)->arg().value == 44);
  CHECK(a.floormod(a.sub(a.range(0, 10), a.integer(3)), a.integer(4))->interval() ==
        Interval{0, 3});
  CHECK(a.lt(a.range(0, 10), a.integer(10))->is_int_const(1));
}

TEST_CASE("an arena interns: equal parts are one node") {
  Arena a;
  const Node* x = a.make(Op::ADD, DType::i64, {a.range(0, 4), a.range(1, 5)});
  CHECK(a.make(Op::ADD, DType::i64, {a.range(0, 4), a.range(1, 5)}) == x);
  CHECK(a.make(Op::ADD, DType::i64, {a.range(1, 5), a.range(0, 4)}) != x);
  for (int64_t i = 0; i < 5000; ++i) a.integer(i);
  const size_t size = a.size();
  for (int64_t i = 0; i < 5000; ++i) a.integer(i);
  CHECK(a.size() == size);
  CHECK(x->axes().list() == std::vector<int>{0, 1});
  const Node* roots[] = {x};
  CHECK(find_broken(roots).empty());
}

TEST_CASE("import shares what is equal and keeps the storage alive") {
  int deaths = 0;
  {
    Arena a;
    {
      const auto storage = std::make_shared<Tracked>(deaths);
      const Ref x = buffer(storage, {3}), same = buffer(storage, {3});
      const Ref sum = make(Op::ADD, DType::f32,
                           {make(Op::NEG, DType::f32, {x}), make(Op::NEG, DType::f32, {same})});
      const Node* roots[] = {sum.get()};
      const auto in = a.import(roots);
      CHECK(in[0]->source(0) == in[0]->source(1));
      CHECK(in[0]->hash() == sum->hash());
      CHECK(a.size() == 3);
    }
    CHECK(deaths == 0);
  }
  CHECK(deaths == 1);
}

TEST_CASE("the verifier finds two extents on one axis") {
  Arena a;
  const Node* roots[] = {a.make(Op::ADD, DType::i64, {a.range(0, 4), a.range(0, 5)})};
  CHECK_THAT(find_broken(roots), Catch::Contains("two extents"));
}
