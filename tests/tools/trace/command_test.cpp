// SPDX-License-Identifier: MIT
// `tiny trace` and `tiny decode` as a user runs them, over programs that know nothing of it.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/file.h>

#include "tests/tools/run_program.h"
#include "tests/tools/trace/decode_text.h"

#include <filesystem>
#include <regex>

using namespace tiny;
using namespace tiny::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

Outcome tiny_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TINY_TOOL);
  return run_program(arguments);
}

void check_mistake(const Outcome& run, const std::string& about) {
  INFO(run.err);
  CHECK(run.status == 2);
  CHECK(run.err_is_one_line());
  CHECK_THAT(run.err, StartsWith("tiny: ") && Contains(about));
}

/// Opens for reading only: `<>` would create a file of that name where root runs the tests.
const std::string kOpenKfd = "exec 3</dev/kfd";

}  // namespace

TEST_CASE("a program that opens a device that is not there is recorded, its status passed on") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  if (std::filesystem::exists("/dev/kfd")) {
    WARN("skipped: this machine has /dev/kfd");
    return;
  }
  const Outcome run = tiny_command(
      {"trace", "--out", out, "--", "/bin/bash", "-c", "(" + kOpenKfd + ") 2>/dev/null; exit 7"});
  INFO(run.out << run.err);
  CHECK(run.status == 7);
  CHECK_THAT(run.out, Contains("process 1 bash"));
  CHECK_THAT(run.out, Contains("open /dev/kfd O_RDONLY"));
  CHECK_THAT(run.out, Contains("= -1 ENOENT (No such file or directory)"));
  CHECK(run.err == "tiny: trace in " + out + "\n");
  const Outcome decoded = tiny_command({"decode", out});
  CHECK(decoded.status == 0);
  CHECK(decoded.out == run.out);  // live and afterwards are the same
}

TEST_CASE("the columns are where the page says") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  const Outcome run = tiny_command({"trace", "--out=" + out, "/bin/true"});
  CHECK(run.status == 0);
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  CHECK_THAT(line, StartsWith("# tiny trace, version 1"));
  std::getline(lines, line);
  CHECK(line == "#   time (s)  duration  thread  event");
  std::size_t count = 0;
  const std::regex row("[ 0-9]{5}\\.[0-9]{6}  [ 0-9a-z-]{8}  [ 0-9.]{6}  [a-z].*");
  while (std::getline(lines, line)) {
    CHECK(std::regex_match(line, row));
    ++count;
  }
  CHECK(count == 2);  // process, exit
}

TEST_CASE("quiet records and prints nothing") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  const Outcome run = tiny_command({"trace", "--quiet", "--out", out, "/bin/sh", "-c", "echo hi"});
  CHECK(run.status == 0);
  CHECK(run.out == "hi\n");
  CHECK_THAT(tiny_command({"decode", out}).out, Contains("process 1 "));
}

TEST_CASE("the default file has the program's name") {
  const TemporaryFolder folder;
  const Outcome run =
      run_program({"/bin/sh", "-c",
                   "cd " + folder.path() + " && " + TINY_TOOL + " trace --quiet /bin/true && ls"});
  CHECK(std::regex_match(run.out, std::regex("trace-true-[0-9]+\\.tinytrace\n")));
}

TEST_CASE("a signal that ends the program shows in the status") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  CHECK(tiny_command({"trace", "--quiet", "--out", out, "/bin/sh", "-c", "kill -9 $$"}).status ==
        128 + 9);
}

TEST_CASE("programs that cannot be traced are one clear line") {
  check_mistake(tiny_command({"trace", STATIC_PROGRAM}), STATIC_PROGRAM);
  check_mistake(tiny_command({"trace", "/nowhere/at/all"}), "/nowhere/at/all");
  const TemporaryFolder folder;
  const std::string setuid = folder.path() + "/setuid";
  std::filesystem::copy_file("/bin/true", setuid);
  std::filesystem::permissions(setuid, std::filesystem::perms::set_uid,
                               std::filesystem::perm_options::add);
  check_mistake(tiny_command({"trace", setuid}), setuid);
}

TEST_CASE("wrong command lines are one line and status 2") {
  check_mistake(tiny_command({"trace"}), "a program is required");
  check_mistake(tiny_command({"trace", "--loud", "true"}), "unknown option --loud");
  check_mistake(tiny_command({"trace", "--max-size", "big", "true"}), "--max-size big");
  check_mistake(tiny_command({"trace", "--max-size", "0", "true"}), "--max-size 0");
  check_mistake(tiny_command({"trace", "--doorbells=loud", "true"}), "--doorbells loud");
  check_mistake(tiny_command({"trace", "--out"}), "--out needs a value");
  check_mistake(tiny_command({"decode"}), "one FILE is required");
  check_mistake(tiny_command({"decode", "a", "b"}), "one FILE is required");
  check_mistake(tiny_command({"decode", "/"}), "is a folder");
  check_mistake(tiny_command({"decode", TINY_TOOL}), "does not begin as a trace");
  CHECK(tiny_command({"decode", "/nowhere/at/all"}).status == 1);
}

TEST_CASE("help tells the options") {
  CHECK_THAT(tiny_command({"trace", "--help"}).out, Contains("--max-size") && Contains("--out"));
  CHECK_THAT(tiny_command({"decode", "--help"}).out, Contains("--raw-secrets"));
  CHECK_THAT(tiny_command({"--help"}).out, Contains("trace") && Contains("decode"));
}

TEST_CASE("a damaged file is printed as far as it goes, and is a failure") {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  REQUIRE(tiny_command({"trace", "--quiet", "--out", out, "/bin/true"}).status == 0);
  std::filesystem::resize_file(out, std::filesystem::file_size(out) - 3);
  const Outcome run = tiny_command({"decode", out});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, Contains("process 1 true") && Contains("# damaged at byte ") &&
                          Contains("the file ends inside a record"));
}

TEST_CASE("rocminfo of Debian runs under the tracer, which sees its open of the device refused") {
  if (!std::filesystem::exists("/usr/bin/rocminfo")) {
    WARN("SKIPPED: rocminfo is not installed (apt-get install rocminfo)");
    return;
  }
  if (std::filesystem::exists("/dev/kfd")) {
    WARN("skipped: this machine has /dev/kfd");
    return;
  }
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  // It asks lsmod for the kernel's module before it opens anything.
  write_file_atomic(folder.path() + "/lsmod", "#!/bin/sh\necho amdgpu 1 0\n");
  std::filesystem::permissions(folder.path() + "/lsmod", std::filesystem::perms::owner_all);
  const std::vector<std::pair<std::string, std::string>> path = {
      {"PATH", folder.path() + ":/usr/bin:/bin"}};
  const Outcome plain = run_program({"/usr/bin/rocminfo"}, path);
  const Outcome traced =
      run_program({TINY_TOOL, "trace", "--quiet", "--out", out, "--", "/usr/bin/rocminfo"}, path);
  CHECK(traced.status == plain.status);
  CHECK(traced.out == plain.out);
  const Outcome text = tiny_command({"decode", out});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Contains("process 1 rocminfo") && Contains("open /dev/kfd O_RDWR") &&
                           Contains("= -1 ENOENT (No such file or directory)"));
}
