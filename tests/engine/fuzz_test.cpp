// SPDX-License-Identifier: MIT
// Random programs: fused, one kernel an operation, replayed and interpreted must agree.
#include <rt_tiny/frontend/jit.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

#include "compiler/ir/interpret.h"
#include "engine/realize.h"
#include "frontend/cell.h"
#include "tests/engine/random_program.h"

using namespace tiny;

namespace {

using Values = std::vector<double>;

/// Of the largest number met: some dozens of roundings of f32.
constexpr double kTolerance = 3e-6;

Values as_doubles(const ir::HostTensor& t) {
  return Tensor::from_bytes(t.dtype, t.shape, t.bytes).to_vector<double>();
}

/// What the interpreter says, and the largest real number it met on the way: sums that cancel lose
/// as much as their parts are large.
struct Expected {
  Values values;
  double largest = 1;
};

Expected interpreted(const Tensor& t) {
  std::vector<std::vector<std::byte>> held;
  const ir::Node* root = detail::value(t).get();
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* n : ir::topological_order(std::span(&root, 1)))
    if (is_float(n->dtype())) nodes.push_back(n);
  nodes.push_back(root);
  const auto reader = [&](const ir::Node* n) -> std::span<const std::byte> {
    held.push_back(engine::read(ir::Ref(n)));
    return held.back();
  };
  const std::vector<ir::HostTensor> met = ir::interpret(nodes, reader);
  Expected expected{as_doubles(met.back())};
  for (size_t i = 0; i + 1 < met.size(); ++i)
    for (const double v : as_doubles(met[i]))
      if (std::isfinite(v)) expected.largest = std::max(expected.largest, std::abs(v));
  return expected;
}

/// Equal integers and NaNs, close reals: sums may be taken in another order.
void check_close(const Values& got, const Expected& expected) {
  REQUIRE(got.size() == expected.values.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = expected.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    INFO("element " << i << ": " << a << " instead of " << b << ", largest " << expected.largest);
    CHECK(std::abs(a - b) <= kTolerance * expected.largest);
  }
}

std::vector<Values> all_values(const std::vector<Tensor>& tensors) {
  realize(tensors);
  std::vector<Values> out;
  for (const Tensor& t : tensors) out.push_back(t.to_vector<double>());
  return out;
}

void compare(uint64_t seed, int length) {
  INFO("seed " << seed);
  const std::vector<Tensor> inputs = random_inputs(seed);
  std::vector<Expected> expected;
  for (const Tensor& t : random_program(seed, length, inputs)) expected.push_back(interpreted(t));

  const auto check_all = [&](const std::vector<Values>& got) {
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
  };
  check_all(all_values(random_program(seed, length, inputs)));
  {
    const ScopedKnobs noopt({{"NOOPT", "1"}});
    check_all(all_values(random_program(seed, length, inputs)));
  }
  auto jitted = jit([&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return random_program(seed, length, {a, b, c});
  });
  for (int call = 0; call < 3; ++call)
    check_all(all_values(jitted(inputs[0], inputs[1], inputs[2])));
}

}  // namespace

TEST_CASE("random programs mean the same fused, unfused, replayed and interpreted") {
  for (uint64_t seed = 1; seed <= 40; ++seed) compare(seed, 12);
}

TEST_CASE("longer random programs", "[.long]") {
  for (uint64_t seed = 1000; seed < 2000; ++seed) compare(seed, 25);
}
