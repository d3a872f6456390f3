// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "tests/compiler/lower_kernels.h"

namespace tiny::test {

TEST_CASE("a kernel compiled without actions does what the interpreter does") {
  for (const Sample& s : samples()) {
    INFO(s.name);
    const Kernel k = s.make();
    CHECK(check_compiled(k, k, {.noopt = true}, 1) == "");
  }
}

TEST_CASE("a kernel compiled by the heuristic does what the interpreter does") {
  for (const Sample& s : samples()) {
    INFO(s.name);
    const Kernel k = s.make();
    CHECK(check_compiled(k, k, {}, 2) == "");
  }
}

}  // namespace tiny::test
