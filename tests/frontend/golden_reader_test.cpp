// SPDX-License-Identifier: MIT
// The golden reader against the committed files: complete, consistent, and comparing as documented.
#include "tests/frontend/golden_reader.h"
#include "frontend/io/gzip.h"
#include "tests/frontend/io_mutate.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <catch2/catch.hpp>

#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

using namespace tiny;
using golden::Case;
using golden::Stored;
using golden::Tolerance;

namespace {

const std::vector<golden::File>& all_files() {
  static const std::vector<golden::File> files = [] {
    std::vector<golden::File> loaded;
    for (const std::string& path : golden::files_in(GOLDEN_DIR)) loaded.emplace_back(path);
    return loaded;
  }();
  return files;
}

const Case& find(const std::string& name) {
  for (const golden::File& file : all_files())
    for (const Case& c : file.cases())
      if (c.name == name) return c;
  FAIL("no case " + name);
  throw 0;
}

/// A stored f32 row over `data`.
Stored row(const std::vector<float>& data) {
  Stored s;
  s.shape = {static_cast<int64_t>(data.size())};
  s.bytes = std::as_bytes(std::span(data));
  return s;
}

std::string compare(const std::vector<float>& want, const std::vector<float>& got, Tolerance t = {},
                    bool signed_zero = false) {
  return golden::mismatch(row(want), DType::f32, {static_cast<int64_t>(got.size())},
                          std::as_bytes(std::span(got)), t, signed_zero);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("the golden set has thousands of cases with unique names") {
  std::set<std::string> names;
  size_t cases = 0, with_grads = 0;
  for (const golden::File& file : all_files())
    for (const Case& c : file.cases()) {
      ++cases;
      names.insert(c.name);
      with_grads += c.has_grads();
      if (!c.name.starts_with(c.op + "/")) FAIL(c.name + " is not named after its op " + c.op);
    }
  CHECK(cases >= 2800);
  CHECK(with_grads >= 1200);
  CHECK(names.size() == cases);
}

TEST_CASE("gradients of the golden set match the inputs and outputs they belong to") {
  for (const golden::File& file : all_files())
    for (const Case& c : file.cases()) {
      if (!c.has_grads()) continue;
      INFO(c.name);
      REQUIRE(c.upstream.size() == c.outputs.size());
      REQUIRE(c.grads.size() == c.inputs.size());
      for (size_t i = 0; i < c.outputs.size(); ++i)
        if (c.upstream[i] && c.upstream[i]->shape != c.outputs[i].shape) FAIL("upstream shape");
      for (size_t i = 0; i < c.inputs.size(); ++i)
        if (c.grads[i] &&
            (c.grads[i]->shape != c.inputs[i].shape || c.grads[i]->dtype != c.inputs[i].dtype))
          FAIL("gradient shape");
    }
}

TEST_CASE("golden sums and products are what C++ computes") {
  for (const auto& [name, fn] : std::map<std::string, float (*)(float, float)>{
           {"add/same", [](float a, float b) { return a + b; }},
           {"mul/same", [](float a, float b) { return a * b; }},
           {"div/same", [](float a, float b) { return a / b; }}}) {
    const Case& c = find(name);
    const auto a = c.inputs[0].as<float>(), b = c.inputs[1].as<float>(),
               out = c.outputs[0].as<float>();
    REQUIRE(out.size() == 12);
    for (size_t i = 0; i < out.size(); ++i) CHECK(out[i] == fn(a[i], b[i]));
  }
}

TEST_CASE("golden gradients are scaled by the upstream gradient") {
  const Case& c = find("mul/same");
  const auto b = c.inputs[1].as<float>(), up = c.upstream[0]->as<float>(),
             ga = c.grads[0]->as<float>();
  for (size_t i = 0; i < ga.size(); ++i) CHECK(ga[i] == b[i] * up[i]);
}

TEST_CASE("golden parameters and views are readable") {
  const Case& conv = find("conv2d/stride2_pad1");
  CHECK(conv.params.at("stride") == nlohmann::json{2, 2});
  CHECK(conv.params.at("groups") == 1);
  const Case& view = find("add/strided");
  REQUIRE(view.inputs[0].moves.size() == 3);
  CHECK(view.inputs[0].moves[1] == nlohmann::json::parse(R"(["slice",0,1,6,2])"));
  CHECK(view.inputs[0].shape == std::vector<int64_t>{4, 6});
  CHECK(view.outputs[0].shape == std::vector<int64_t>{3, 4});
  CHECK(std::isinf(golden::real(find("full/infinity").params.at("value"))));
  CHECK(golden::real(nlohmann::json("-inf")) == -kInf);
  CHECK(find("cast/i64_to_bool").outputs[0].dtype == DType::boolean);
  CHECK(find("neg/edge_f32").signed_zero);
}

TEST_CASE("comparison accepts what lies within the tolerance and names the first element outside") {
  CHECK(compare({1, 2, 3}, {1, 2, 3}).empty());
  CHECK(compare({100}, {100.5f}, {0.01, 0}).empty());
  CHECK(compare({100}, {101.5f}, {0.01, 0}) ==
        "1 of 1 elements differ, first at [0]: 101.5, expected 100");
  CHECK(compare({0}, {1e-3f}, {0, 1e-2}).empty());
  CHECK(compare({0, 0}, {0, 1e-1f}, {0, 1e-2}).starts_with("1 of 2 elements differ, first at [1]"));
}

TEST_CASE("comparison tells NaN, infinities and, when asked, zeros apart") {
  CHECK(compare({kNan}, {kNan}).empty());
  CHECK_FALSE(compare({kNan}, {1}, {1, 1}).empty());
  CHECK_FALSE(compare({1}, {kNan}, {1, 1}).empty());
  CHECK(compare({kInf, -kInf}, {kInf, -kInf}).empty());
  CHECK_FALSE(compare({kInf}, {-kInf}, {1, 1}).empty());
  CHECK_FALSE(compare({kInf}, {3e38f}, {1, 1}).empty());
  CHECK_FALSE(compare({3e38f}, {kInf}, {1, 1}).empty());
  CHECK(compare({0.0f}, {-0.0f}).empty());
  CHECK_FALSE(compare({0.0f}, {-0.0f}, {}, true).empty());
}

TEST_CASE("comparison refuses another type or shape and compares integers exactly") {
  const std::vector<int64_t> want{int64_t{1} << 53}, got{(int64_t{1} << 53) + 1};
  Stored stored;
  stored.dtype = DType::i64;
  stored.shape = {1};
  stored.bytes = std::as_bytes(std::span(want));
  const auto bytes = std::as_bytes(std::span(got));
  CHECK(golden::mismatch(stored, DType::i64, {1}, stored.bytes, {}).empty());
  CHECK_FALSE(golden::mismatch(stored, DType::i64, {1}, bytes, {1, 1}).empty());
  CHECK(golden::mismatch(stored, DType::f64, {1}, bytes, {}) ==
        "element type is f64, expected i64");
  CHECK(golden::mismatch(stored, DType::i64, {1, 1}, bytes, {}) == "shape is [1, 1], expected [1]");
}

TEST_CASE("a damaged golden file is refused") {
  const std::string path = "/tmp/rt_tiny_golden_" + std::to_string(getpid()) + ".golden.gz";
  write_file_atomic(path,
                    tiny::testing::gzip({'T', 'G', 'O', 'L', 'D', 'E', 'N', '1', 9, 0, 0, 0}));
  CHECK_THROWS_AS(golden::File(path), UsageError);
  write_file_atomic(path,
                    tiny::testing::gzip({'T', 'G', 'O', 'L', 'D', 'E', 'N', '0', 0, 0, 0, 0}));
  CHECK_THROWS_AS(golden::File(path), UsageError);
  std::filesystem::remove(path);
}
