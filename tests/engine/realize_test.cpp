// SPDX-License-Identifier: MIT
// Values through the whole path, in-place writes and what must not see them.
#include <rt_tiny/frontend/tensor.h>
#include <catch2/catch.hpp>

#include "engine/executable.h"
#include "engine/realize.h"
#include "engine/storage.h"
#include "frontend/cell.h"

using namespace tiny;

namespace {

Tensor row(std::vector<float> v) { return Tensor::from(v); }
const void* memory(const Tensor& t) {
  return engine::storage_of(detail::value(t).get()).buffer.allocation();
}

}  // namespace

TEST_CASE("an expression is computed when it is asked for") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3});
  CHECK((x * 2 + 1).to_vector<float>() == std::vector<float>{3, 5, 7, 9, 11, 13});
  CHECK(x.sum(1).to_vector<float>() == std::vector<float>{6, 15});
  CHECK(x.transpose(0, 1).to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(x.matmul(x.t()).to_vector<float>() == std::vector<float>{14, 32, 32, 77});
}

TEST_CASE("a repeated graph is scheduled once") {
  const auto run = [](float v) { return (row({v, v + 1}).exp() * 3).sum().item<float>(); };
  run(1);
  const auto before = engine::cache_stats();
  run(2);
  const auto after = engine::cache_stats();
  CHECK(after.schedules == before.schedules);
  CHECK(after.schedule_hits == before.schedule_hits + 1);
}

TEST_CASE("assign writes in place when nobody can see the old value") {
  Tensor w = row({1, 2, 3});
  w.realize();
  const void* place = memory(w);
  w.assign(w * 2);
  w.realize();
  CHECK(w.to_vector<float>() == std::vector<float>{2, 4, 6});
  CHECK(memory(w) == place);
}

TEST_CASE("a lazy reader of the old value keeps it") {
  Tensor w = row({1, 2, 3});
  const Tensor old = w * 10;
  w.assign(w + 1);
  w.realize();
  CHECK(w.to_vector<float>() == std::vector<float>{2, 3, 4});
  CHECK(old.to_vector<float>() == std::vector<float>{10, 20, 30});
}

TEST_CASE("a detached alias of the old version keeps its value") {
  Tensor w = row({1, 2, 3});
  const Tensor alias = w.detach();
  w.assign(w + 1);
  w.realize();
  CHECK(alias.to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(w.to_vector<float>() == std::vector<float>{2, 3, 4});
}

TEST_CASE("an in-place write that reads other positions is a hazard and still right") {
  Tensor w = row({1, 2, 3, 4});
  w.assign(w.flip(0) + w);
  CHECK(w.to_vector<float>() == std::vector<float>{5, 5, 5, 5});
  w.assign(w + w.sum());
  CHECK(w.to_vector<float>() == std::vector<float>{25, 25, 25, 25});
  Tensor m = Tensor::from(std::vector<float>{1, 2, 3, 4}, Shape{2, 2});
  m.assign(m.t().contiguous());
  CHECK(m.to_vector<float>() == std::vector<float>{1, 3, 2, 4});
  m.assign(m.softmax(1));
  for (const float v : m.sum(1).to_vector<float>()) CHECK(v == Approx(1));
}

TEST_CASE("two tensors swapped in one realize both see the old values") {
  Tensor a = row({1, 2}), b = row({3, 4});
  const Tensor old_a = a * 1, old_b = b * 1;
  a.assign(old_b);
  b.assign(old_a);
  realize({a, b});
  CHECK(a.to_vector<float>() == std::vector<float>{3, 4});
  CHECK(b.to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("assigning twice before a value is needed keeps order") {
  Tensor w = row({1, 2});
  w.assign(w + 1);
  w.assign(w * 10);
  CHECK(w.to_vector<float>() == std::vector<float>{20, 30});
}

TEST_CASE("a computed node is not computed again by what still refers to it") {
  const Tensor x = row({1, 2, 3});
  const Tensor y = x.exp();
  const Tensor z = y + 1;
  y.realize();
  const ir::Node* node = detail::value(z)->source(0);
  CHECK(node->realized() == detail::value(y).get());
  CHECK(z.to_vector<float>()[0] == Approx(std::exp(1.0f) + 1));
}

TEST_CASE("tensors without elements have values too") {
  const Tensor empty = Tensor::zeros({0, 3});
  CHECK((empty + 1).to_vector<float>().empty());
  CHECK(empty.sum().item<float>() == 0);
  CHECK(empty.sum(0).to_vector<float>() == std::vector<float>{0, 0, 0});
}
