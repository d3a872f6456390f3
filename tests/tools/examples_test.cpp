// SPDX-License-Identifier: MIT
// The example programs, run as a user runs them.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/file.h>

#include "frontend/io/safetensors_format.h"
#include "tests/tools/run_program.h"

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

using namespace tiny;
using namespace tiny::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

const std::string kExamples = TINY_EXAMPLES;

/// The number on the line that begins with `name`; -1 without one.
double number(const std::string& text, const std::string& name) {
  std::smatch match;
  const std::regex line("(^|\n)" + name + " ([0-9]+(\\.[0-9]+)?)\n");
  return std::regex_search(text, match, line) ? std::stod(match[2]) : -1;
}

size_t count_files(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

void check_mistake(const Outcome& run, const std::string& about) {
  INFO(run.err);
  CHECK(run.status == 2);
  CHECK(run.err_is_one_line());
  CHECK_THAT(run.err, Contains(about));
}

void check_weights(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& entry : io::parse_safetensors(bytes, path).entries)
    shapes[entry.name] = entry.shape;
  CHECK(shapes == std::map<std::string, std::vector<int64_t>>{{"conv1.weight", {16, 1, 3, 3}},
                                                              {"conv1.bias", {16}},
                                                              {"conv2.weight", {32, 16, 3, 3}},
                                                              {"conv2.bias", {32}},
                                                              {"classes.weight", {10, 512}},
                                                              {"classes.bias", {10}}});
}

std::string big_endian(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
          static_cast<char>(v)};
}

/// `count` images in MNIST's format: class c is a bright bar in the c-th pair of rows.
void write_bars(const std::string& folder, const std::string& part, uint32_t count) {
  constexpr uint32_t kSide = 28, kBar = 2 * kSide;
  std::string images =
      big_endian(0x803) + big_endian(count) + big_endian(kSide) + big_endian(kSide);
  std::string labels = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t label = i % 10;
    std::string image(kSide * kSide, '\0');
    image.replace(label * kBar, kBar, std::string(kBar, '\xff'));
    images += image;
    labels += static_cast<char>(label);
  }
  write_file_atomic(folder + "/" + part + "-images-idx3-ubyte", images);
  write_file_atomic(folder + "/" + part + "-labels-idx1-ubyte", labels);
}

}  // namespace

TEST_CASE("the demo learns digits it never saw and leaves its weights") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/weights.safetensors";
  const Outcome run = run_program({kExamples + "/digits", "--out", out});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  CHECK_THAT(run.out, StartsWith("device CPU:0 ("));
  CHECK(number(run.out, "kernels a step") >= 1);
  CHECK(number(run.out, "ms a step") > 0);
  CHECK(number(run.out, "accuracy") >= 97);
  CHECK(run.out.find('\r') == std::string::npos);  // plain lines where nobody watches
  CHECK_THAT(run.out, Contains("epoch 1/"));
  check_weights(out);
  CHECK(count_files(folder.path()) == 1);
}

TEST_CASE("a seed gives the same training every time") {
  const TemporaryFolder folder;
  std::vector<std::vector<uint8_t>> weights;
  for (const char* seed : {"5", "5", "6"}) {
    const std::string out = folder.path() + "/w";
    const Outcome run =
        run_program({kExamples + "/digits", "--epochs", "1", "--seed", seed, "--out", out});
    INFO(run.err);
    REQUIRE(run.status == 0);
    weights.push_back(read_file(out));
  }
  CHECK(weights[0] == weights[1]);
  CHECK(weights[0] != weights[2]);
}

TEST_CASE("wrong options of the demo are one line and status 2") {
  const std::string digits = kExamples + "/digits";
  check_mistake(run_program({digits, "--epochs", "0"}), "--epochs");
  check_mistake(run_program({digits, "--epochs", "many"}), "--epochs");
  check_mistake(run_program({digits, "--batch", "5000"}), "[train] a batch of 5000");
  check_mistake(run_program({digits, "--frobnicate"}), "--frobnicate");
  check_mistake(run_program({digits, "--device", "ABACUS"}), "unknown device \"ABACUS\"");
  check_mistake(run_program({digits, "--out", "/nowhere/at/all"}), "/nowhere/at");
  check_mistake(run_program({digits}, {{"TINY_THREDS", "1"}}), "TINY_THREADS");
}

TEST_CASE("mnist trains on a folder with the four files") {
  const TemporaryFolder folder;
  write_bars(folder.path(), "train", 200);
  write_bars(folder.path(), "t10k", 50);
  const Outcome run = run_program({kExamples + "/mnist", "--data", folder.path(), "--epochs", "4",
                                   "--batch", "10", "--limit", "150"});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Contains("epoch 4/4 15/15 "));
  CHECK(number(run.out, "accuracy") == 100);
  CHECK(count_files(folder.path()) == 4);
}

TEST_CASE("mnist says which file it misses and how to get it") {
  const TemporaryFolder folder;
  const std::string mnist = kExamples + "/mnist";
  check_mistake(run_program({mnist, "--data", folder.path()}), "no train-images-idx3-ubyte");
  check_mistake(run_program({mnist}), "TINY_DATA");
  write_bars(folder.path(), "train", 10);
  check_mistake(run_program({mnist}, {{"TINY_DATA", folder.path()}}), "no t10k-images-idx3-ubyte");
}

TEST_CASE("linear regression finds the weights") {
  const Outcome run = run_program({kExamples + "/linear_regression"});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Catch::EndsWith("y = 2.00 a -3.50 b +0.50 c +4.00\n"));
}

TEST_CASE("a raw kernel runs without compiler and tensors") {
  const Outcome run = run_program({kExamples + "/raw_kernel", "CPU:0"});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(run.out == "y[0] = 5\n");
  const Outcome missing = run_program({kExamples + "/raw_kernel", "CPU:0", "/nowhere.o"});
  CHECK(missing.status == 1);
  CHECK(missing.err_is_one_line());
}

TEST_CASE("softmax, layer norm and linear with relu are one kernel each") {
  const Outcome run = run_program({TINY_FUSION, "--check", "softmax", "layernorm", "linear_relu"});
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(run.out == "softmax 1\nlayernorm 1\nlinear_relu 1\n");
  CHECK(run_program({TINY_FUSION, "sofmax"}).status == 2);
}
