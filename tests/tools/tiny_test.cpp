// SPDX-License-Identifier: MIT
// The `tiny` command as a user meets it.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/knobs.h>

#include "tests/tools/run_program.h"

#include <sstream>

using namespace tiny::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Outcome tool(std::vector<std::string> arguments, const Variables& variables = {}) {
  arguments.insert(arguments.begin(), TINY_TOOL);
  return run_program(arguments, variables);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void check_mistake(const Outcome& run, const std::string& about) {
  INFO(run.err);
  CHECK(run.status == 2);
  CHECK(run.err_is_one_line());
  CHECK_THAT(run.err, StartsWith("tiny: ") && Contains(about));
}

}  // namespace

TEST_CASE("devices lists every vendor, its reason and one default") {
  const Outcome run = tool({"devices"});
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  size_t defaults = 0;
  for (const std::string& line : lines_of(run.out)) defaults += line.starts_with("* ") ? 1 : 0;
  CHECK(defaults == 1);
  for (const char* vendor : {"AMD", "NV", "QCOM", "CL", "METAL", "CUDA", "WEBGPU"})
    CHECK_THAT(run.out, Contains(std::string("  ") + vendor + " "));
  for (const std::string& line : lines_of(run.out))
    if (line.starts_with("  AMD ")) CHECK_THAT(line, Contains("absent   ") && Contains("/dev/kfd"));
  CHECK_THAT(run.out, Contains("default: ") && Contains("(the best one present)"));
}

TEST_CASE("devices follows DEV") {
  const Outcome cpu = tool({"devices"}, {{"DEV", "cpu"}});
  CHECK(cpu.status == 0);
  CHECK_THAT(cpu.out, Contains("* CPU:0") && Contains("default: CPU:0 (DEV=cpu)"));
  const Outcome null = tool({"devices"}, {{"DEV", "NULL"}});
  CHECK(null.status == 0);
  CHECK_THAT(null.out, Contains("* NULL:cpu") && Contains("default: NULL:cpu (DEV=NULL)"));
}

TEST_CASE("a DEV that is known but absent is an answer") {
  const Outcome run = tool({"devices"}, {{"DEV", "METAL"}});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("default: none (DEV=METAL: ") && Contains("absent"));
}

TEST_CASE("a DEV nobody knows is one line and status 2") {
  check_mistake(tool({"devices"}, {{"DEV", "ABACUS"}}), "unknown device \"ABACUS\"");
  check_mistake(tool({"devices"}, {{"DEV", "CPU:zero"}}), "CPU:zero");
}

TEST_CASE("an unknown or malformed variable is one line and status 2 for every command") {
  for (const char* command : {"devices", "env"}) {
    check_mistake(tool({command}, {{"TINY_THREDS", "2"}}), "did you mean TINY_THREADS");
    check_mistake(tool({command}, {{"DEBUG", "loud"}}), "DEBUG=loud");
    check_mistake(tool({command}, {{"TINY_THREADS", "-1"}}), "TINY_THREADS=-1");
  }
}

TEST_CASE("env prints every knob with its meaning, and marks what is set") {
  const Outcome run = tool({"env"}, {{"DEBUG", "2,lower"}});
  REQUIRE(run.status == 0);
  const std::vector<std::string> lines = lines_of(run.out);
  for (const tiny::KnobRow& row : tiny::knob_rows()) {
    const std::string start = std::string(row.name) + " ";
    size_t found = 0;
    for (const std::string& line : lines)
      if (line.size() > 2 && line.substr(2).starts_with(start)) {
        ++found;
        CHECK_THAT(line, Catch::EndsWith(std::string(row.doc)));
        if (row.name == "DEBUG") CHECK_THAT(line, StartsWith("* DEBUG ") && Contains(" 2,lower "));
        if (row.name == "JIT") CHECK_THAT(line, StartsWith("  JIT "));
      }
    CHECK(found == 1);
  }
}

TEST_CASE("the version is the project's") {
  const Outcome run = tool({"--version"});
  CHECK(run.status == 0);
  CHECK(run.out == "tiny " TINY_VERSION "\n");
}

TEST_CASE("help names every command") {
  const Outcome run = tool({"--help"});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("devices") && Contains("env"));
}

TEST_CASE("a wrong command line is one line and status 2") {
  check_mistake(tool({}), "a command is required");
  check_mistake(tool({"frobnicate"}), "frobnicate");
  check_mistake(tool({"env", "extra"}), "extra");
  check_mistake(tool({"--loud"}), "--loud");
}

TEST_CASE("output that cannot be written is a failure") {
  const Outcome run = run_program({"/bin/sh", "-c", std::string(TINY_TOOL) + " env > /dev/full"});
  CHECK(run.status == 1);
  CHECK(run.err_is_one_line());
  CHECK_THAT(run.err, StartsWith("tiny: "));
}
