// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>

#include "tests/runtime/kernels.h"

#include <catch2/catch.hpp>

using namespace tiny;

TEST_CASE("the raw kernel program of the style guide prints 5") {
  auto dev = open_device("CPU:0");
  auto saxpy = dev->load(test::kernel_object(), "saxpy");
  constexpr uint32_t n = 1 << 20;
  auto x = dev->alloc(n * sizeof(float)), y = dev->alloc(n * sizeof(float));
  x.fill(1.0f);
  y.fill(2.0f);
  auto list = dev->make_list();
  list.dispatch(saxpy, {.groups = {n / 256}, .group_size = {256}}, tiny::args(x, y, 3.0f, n));
  dev->submit(list).wait();
  const auto result = y.read<float>();
  REQUIRE(std::count(result.begin(), result.end(), 5.0f) == n);
}
