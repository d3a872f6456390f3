// SPDX-License-Identifier: MIT
// `tiny model amd:…,strict`, on which the suites of this folder rely.
#include <catch2/catch.hpp>

#include "models/amd/model.h"
#include "tests/tools/run_program.h"

using namespace tiny::test;
using Catch::Contains;

namespace {

Outcome on_model(const std::string& model, const std::string& program) {
  return run_program({TINY_TOOL, "model", model, "--", program});
}

}  // namespace

TEST_CASE("a program that was reported fails where the model is strict, and only there") {
  const Outcome lenient = on_model("amd:gfx1100", TINY_MISUSE);
  INFO(lenient.err);
  CHECK(lenient.status == 0);
  CHECK_THAT(lenient.err, Contains("tiny model amd:gfx1100: ioctl: "));
  const Outcome strict = on_model("amd:gfx1100,strict", TINY_MISUSE);
  INFO(strict.err);
  CHECK(strict.status == tiny::models::amd::kStrictStatus);
  CHECK_THAT(strict.err, Contains("tiny model: 1 report\n"));
}

TEST_CASE("a program without reports keeps its status where the model is strict") {
  CHECK(on_model("amd:gfx1100,strict", "/bin/true").status == 0);
  CHECK(on_model("amd:gfx1100,strict", "/bin/false").status == 1);
}
