// SPDX-License-Identifier: MIT
// tools/nv_capture on a machine without an NVIDIA GPU: with no libcuda, with one that works on the
// CPU, with a broken one; the kernels' PTX through ptxas.
#include "tests/tools/run_program.h"
#include "tools/nv_capture/cuda_driver.h"
#include "tools/nv_capture/kernels.h"

#include <dlfcn.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace tiny::test;
using namespace tiny::nv_capture;
namespace fs = std::filesystem;

namespace {

const char* const kSteps[] = {"init",          "vector_add", "local_memory",
                              "shared_memory", "graph",      "copies"};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A run of the script into a folder of its own.
struct Capture {
  TemporaryFolder folder;
  fs::path out = fs::path(folder.path()) / "out";
  Outcome outcome;

  explicit Capture(std::vector<std::string> options) {
    std::vector<std::string> command = {NV_CAPTURE, "--probe", NV_PROBE};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(out.string());
    outcome = run_program(command);
  }

  /// Verdict and the rest of the line by step.
  std::map<std::string, std::pair<std::string, std::string>> results() const {
    std::map<std::string, std::pair<std::string, std::string>> found;
    std::istringstream lines(read_file(out / "results.txt"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string step, verdict, rest;
      words >> step >> verdict;
      std::getline(words, rest);
      CHECK(found.count(step) == 0);
      found[step] = {verdict, rest};
    }
    return found;
  }

  /// The text of a step's trace, unpacked.
  std::string decoded(const std::string& step) const {
    const std::string path = (out / (step + ".trace")).string(), raw = folder.path() + "/raw";
    const std::string unpack = "if [ -e " + path + ".zst ]; then zstd -q -d -c " + path +
                               ".zst; elif [ -e " + path + ".gz ]; then gzip -d -c " + path +
                               ".gz; else cat " + path + "; fi > " + raw;
    const Outcome unpacked = run_program({"/bin/sh", "-c", unpack});
    return unpacked.status == 0 ? run_program({TINY_TOOL, "decode", raw}).out : unpacked.err;
  }

  std::string everything() const {
    std::string text = outcome.out + outcome.err;
    for (const auto& entry : fs::directory_iterator(out)) text += read_file(entry.path());
    return text;
  }
};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

TEST_CASE("without libcuda every step says so and the capture is complete") {
  const Capture capture({"--tiny", "/nowhere/tiny", "--libcuda", "/nowhere/libcuda.so.1"});
  CHECK(capture.outcome.status == 0);
  const auto results = capture.results();
  CHECK(results.size() == std::size(kSteps));
  for (const char* step : kSteps) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first == "SKIP");
    CHECK(results.at(step).second.find("libcuda.so.1: cannot open") != std::string::npos);
  }
  const std::string summary = read_file(capture.out / "summary.txt");
  for (const char* section :
       {"kernel", "sandbox", "driver", "nvidia-smi", "pci", "nodes", "cpu", "limits"})
    CHECK(summary.find("\n== " + std::string(section) + "\n") != std::string::npos);
  CHECK(summary.find("flags") != std::string::npos);
  CHECK(capture.outcome.out.find("0 of 6 steps passed") != std::string::npos);
}

TEST_CASE("the probe's steps pass on a libcuda that does what the kernels say") {
  const Capture capture({"--tiny", "/nowhere/tiny", "--libcuda", FAKE_CUDA});
  const auto results = capture.results();
  for (const char* step : kSteps) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first == "PASS");
  }
  CHECK(results.at("local_memory").second.find("16384 B") != std::string::npos);
  CHECK(results.at("shared_memory").second.find("200 KiB") != std::string::npos);
  CHECK(capture.outcome.out.find("6 of 6 steps passed") != std::string::npos);
}

TEST_CASE("a step that errs, fails, crashes or hangs does not stop the next") {
  const Capture capture(
      {"--tiny", "/nowhere/tiny", "--libcuda", BROKEN_CUDA, "--step-timeout", "2"});
  CHECK(capture.outcome.status == 0);
  const auto results = capture.results();
  const auto is = [&](const char* step, const char* verdict, const char* detail) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first == verdict);
    CHECK(results.at(step).second.find(detail) != std::string::npos);
  };
  is("init", "PASS", "Fake");
  is("vector_add", "FAIL", "c: element 9999 is");
  is("local_memory", "FAIL", "local_memory: CUDA_ERROR_LAUNCH_FAILED (719)");
  is("shared_memory", "CRASH(signal", "6)");
  is("graph", "TIMEOUT", "");
  is("copies", "PASS", "");
}

TEST_CASE("traces share the room there is, cut where they are too long") {
  const Capture capture({"--tiny", NOISY_TINY, "--libcuda", FAKE_CUDA, "--max-output", "1"});
  const auto results = capture.results();
  std::uintmax_t total_B = 0;
  for (const auto& entry : fs::directory_iterator(capture.out)) total_B += entry.file_size();
  CHECK(total_B <= 1u << 20);
  for (const char* step : kSteps) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first == "PASS");
    CHECK(results.at(step).second.find(", cut at ") != std::string::npos);
    std::uintmax_t trace_B = 0;
    for (const char* suffix : {".trace", ".trace.gz", ".trace.zst"}) {
      std::error_code none;
      if (const auto size = fs::file_size(capture.out / (step + std::string(suffix)), none); !none)
        trace_B += size;
    }
    CHECK(trace_B > 64 << 10);
  }
}

TEST_CASE("a tracer that fails is told apart from work that fails") {
  const Capture capture({"--tiny", BROKEN_TINY, "--libcuda", FAKE_CUDA});
  const auto results = capture.results();
  for (const char* step : kSteps) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first == "FAIL");
    CHECK(results.at(step).second.find("cannot preload") != std::string::npos);
    CHECK(results.at(step).second.find("no trace; untraced: PASS") != std::string::npos);
  }
}

TEST_CASE("under the real tracer every step has a trace that decodes, all of it within the room") {
  if (std::string(TINY_TOOL).empty()) {
    WARN("SKIPPED: the recorder is not preloaded into a sanitized program");
    return;
  }
  const Capture capture({"--tiny", TINY_TOOL, "--libcuda", FAKE_CUDA});
  INFO(capture.outcome.out << capture.outcome.err);
  CHECK(capture.outcome.out.find("6 of 6 steps passed") != std::string::npos);
  std::uintmax_t total_B = 0;
  for (const auto& entry : fs::directory_iterator(capture.out)) total_B += entry.file_size();
  CHECK(total_B < 16u << 20);
  for (const char* step : kSteps) {
    const std::string text = capture.decoded(step);
    INFO(step << "\n" << text);
    CHECK(text.find("process 1 nv_probe\n") != std::string::npos);
    CHECK(text.find("open /dev/nvidiactl O_RDONLY|O_CLOEXEC") != std::string::npos);
    CHECK(text.find("exit of process 1: 0 records lost") != std::string::npos);
  }
}

TEST_CASE("under the real tracer a step that fails, crashes or hangs does not stop the next",
          "[.long]") {
  if (std::string(TINY_TOOL).empty()) {
    WARN("SKIPPED: the recorder is not preloaded into a sanitized program");
    return;
  }
  const Capture capture({"--tiny", TINY_TOOL, "--libcuda", BROKEN_CUDA, "--step-timeout", "8"});
  INFO(capture.outcome.out << capture.outcome.err);
  const auto results = capture.results();
  const std::map<std::string, std::string> verdicts = {
      {"init", "PASS"},           {"vector_add", "FAIL"}, {"local_memory", "FAIL"},
      {"shared_memory", "CRASH"}, {"graph", "TIMEOUT"},   {"copies", "PASS"}};
  for (const auto& [step, verdict] : verdicts) {
    INFO(step);
    REQUIRE(results.count(step) == 1);
    CHECK(results.at(step).first.starts_with(verdict));
    // What ended early has a trace as far as it came.
    CHECK(capture.decoded(step).find("open /dev/nvidiactl") != std::string::npos);
  }
}

TEST_CASE("names and ids of the machine stay out of the files") {
  const Capture capture({"--tiny", "/nowhere/tiny", "--libcuda", FAKE_CUDA});
  const std::string text = capture.everything();
  CHECK(text.find("<uuid>") != std::string::npos);  // the fake device's name has one
  CHECK(text.find("89ab-cdef") == std::string::npos);
  if (const std::string host = host_name(); host.size() > 3 && host != "localhost")
    CHECK(read_file(capture.out / "summary.txt").find(host) == std::string::npos);
}

TEST_CASE("the script spoils no folder and says what it does not understand") {
  TemporaryFolder folder;
  std::ofstream(folder.path() + "/mine") << "x";
  const Outcome full = run_program({NV_CAPTURE, folder.path()});
  CHECK(full.status == 2);
  CHECK(full.err_is_one_line());
  CHECK(full.err.find("is not empty") != std::string::npos);
  CHECK(run_program({NV_CAPTURE, "--frobnicate"}).status == 2);
  CHECK(run_program({NV_CAPTURE, "--step-timeout", "soon"}).status == 2);
  CHECK(run_program({NV_CAPTURE, "--tiny"}).err_is_one_line());
  CHECK(run_program({NV_CAPTURE, "--help"}).out.find("usage") == 0);
}

TEST_CASE("the probe knows its steps and refuses others") {
  std::string all;
  for (const char* step : kSteps) all += std::string(step) + "\n";
  CHECK(run_program({NV_PROBE, "--list-steps"}).out == all);
  CHECK(run_program({NV_PROBE, "teleport"}).status == 2);
  CHECK(run_program({NV_PROBE}).status == 2);
}

TEST_CASE("the functions the probe needs are in NVIDIA's library") {
  if (std::string(CUDA_STUB).empty()) {
    WARN("SKIPPED: no CUDA toolkit with a stub of libcuda");
    return;
  }
  void* stub = dlopen(CUDA_STUB, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(stub);
  for (const std::string& name : driver_symbols()) {
    INFO(name);
    CHECK(dlsym(stub, name.c_str()));
  }
  dlclose(stub);
}

TEST_CASE("every kernel assembles for sm_75 to sm_100") {
  if (std::string(PTXAS).empty()) {
    WARN("SKIPPED: no ptxas");
    return;
  }
  TemporaryFolder folder;
  for (const Kernel& kernel : kKernels) {
    const std::string ptx = folder.path() + "/" + kernel.name + ".ptx";
    std::ofstream(ptx) << kernel.ptx;
    for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
      INFO(kernel.name << " " << arch);
      const Outcome outcome =
          run_program({PTXAS, "-v", "-arch", arch, ptx, "-o", folder.path() + "/out.cubin"});
      CHECK(outcome.status == 0);
      const std::string text = outcome.out + outcome.err;
      INFO(text);
      CHECK(text.find(kernel.name) != std::string::npos);
      // The array must have stayed in memory.
      if (kernel.name == std::string("local_memory"))
        CHECK(text.find("16384 bytes cumulative stack size") != std::string::npos);
    }
  }
}

TEST_CASE("where nothing is built the script compiles the probe itself", "[.long]") {
  TemporaryFolder folder;
  const fs::path tools = fs::path(folder.path()) / "tools" / "nv_capture";
  fs::create_directories(tools);
  for (const auto& entry : fs::directory_iterator(fs::path(NV_CAPTURE).parent_path()))
    fs::copy(entry.path(), tools);
  const Outcome outcome = run_program({(tools / "nv_capture").string(), "--tiny", "/nowhere/tiny",
                                       "--libcuda", FAKE_CUDA, folder.path() + "/out"});
  CHECK(outcome.out.find("6 of 6 steps passed") != std::string::npos);
}
