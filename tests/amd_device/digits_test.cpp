// SPDX-License-Identifier: MIT
// The digits demo on the AMD model: what it learns from step to step is what the CPU learns.
#include <catch2/catch.hpp>

#include "tests/tools/run_program.h"

#include <cmath>
#include <sstream>

using namespace tiny::test;

namespace {

constexpr int kSteps = 20;

/// Relative: some hundred roundings to f32 (2^-24). Both devices round each operation alike and add
/// in another order, and a training step hands on what differs; 2e-7 has been seen.
constexpr double kTolerance = 1e-5;

/// The numbers of the lines "step N loss X", in order.
std::vector<double> losses(const std::string& text) {
  std::vector<double> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string step, loss;
    size_t number = 0;
    double value = 0;
    if (!(words >> step >> number >> loss >> value) || step != "step") continue;
    REQUIRE(number == out.size() + 1);
    out.push_back(value);
  }
  return out;
}

std::vector<std::string> demo(const std::string& out) {
  return {TINY_DIGITS, "--batch", "16", "--steps", std::to_string(kSteps),
          "--losses",  "--out",   out};
}

std::vector<double> on_cpu() {
  const TemporaryFolder folder;
  const Outcome run = run_program(demo(folder.path() + "/w"), {{"DEV", "CPU"}});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  return losses(run.out);
}

std::vector<double> on_model() {
  const TemporaryFolder folder;
  std::vector<std::string> command{TINY_TOOL, "model", "amd:gfx1100,strict", "--"};
  for (const std::string& word : demo(folder.path() + "/w")) command.push_back(word);
  const Outcome run = run_program(command, {{"DEV", "AMD"}, {"TINY_AMD", "hang=600"}});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  CHECK_THAT(run.out, Catch::StartsWith("device AMD:0 ("));
  return losses(run.out);
}

}  // namespace

TEST_CASE("the first 20 losses of the digits demo are the CPU's") {
  const std::vector<double> expected = on_cpu(), got = on_model();
  REQUIRE(expected.size() == kSteps);
  REQUIRE(got.size() == kSteps);
  CHECK(expected.back() < 0.8 * expected.front());
  for (size_t i = 0; i < kSteps; ++i) {
    INFO("step " << i + 1 << ": " << got[i] << " instead of " << expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= kTolerance * expected[i]);
  }
}
