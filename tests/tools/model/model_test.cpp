// SPDX-License-Identifier: MIT
// `tiny model` as a user runs it, alone and together with `tiny trace`.
#include <catch2/catch.hpp>

#include "tests/tools/run_program.h"

#include <filesystem>
#include <regex>
#include <sstream>

using namespace tiny;
using namespace tiny::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

const char* const kRocminfo = "/usr/bin/rocminfo";

Outcome tiny_command(std::vector<std::string> arguments,
                     const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  arguments.insert(arguments.begin(), TINY_TOOL);
  return run_program(arguments, variables);
}

void check_mistake(const Outcome& run, const std::string& about) {
  INFO(run.err);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK(run.err_is_one_line());
  CHECK_THAT(run.err, StartsWith("tiny: [model] ") && Contains(about));
}

bool has_real_gpu() {
  if (!std::filesystem::exists("/dev/kfd")) return false;
  WARN("skipped: this machine has /dev/kfd");
  return true;
}

/// The events of a decoded trace: no columns, no lines below a record, none of other processes.
std::vector<std::string> events(const std::string& decoded) {
  std::vector<std::string> out;
  std::istringstream lines(decoded);
  const std::regex row(" *[0-9.]+ +[0-9a-z-]+ +1\\.[0-9]+  ([a-z].*)");
  std::smatch parts;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, parts, row)) out.push_back(parts[1]);
  return out;
}

/// Each of `wanted` begins an event, in this order; others may come between.
void check_sequence(const std::vector<std::string>& events,
                    const std::vector<std::string>& wanted) {
  size_t at = 0;
  for (const std::string& begin : wanted) {
    const size_t from = at;
    while (at < events.size() && !events[at].starts_with(begin)) ++at;
    INFO(begin << " is not among the events from " << from << " on");
    REQUIRE(at < events.size());
    ++at;
  }
}

/// The bring-up and the end of rocminfo 5.2.3, which makes no queue; every call has its name.
void check_rocminfo_trace(const std::string& decoded) {
  const std::vector<std::string> calls = events(decoded);
  check_sequence(calls, {
                            "open /dev/kfd O_RDWR",
                            "ioctl kfd#4 AMDKFD_IOC_GET_VERSION major_version=0->1",
                            "open /dev/dri/renderD128",
                            "ioctl renderD128#6 DRM_IOCTL_VERSION",
                            "ioctl renderD128#8 DRM_IOCTL_AMDGPU_INFO",
                            "ioctl kfd#4 AMDKFD_IOC_GET_PROCESS_APERTURES_NEW",
                            "ioctl kfd#4 AMDKFD_IOC_ACQUIRE_VM drm_fd=5 gpu_id=",
                            "ioctl kfd#4 AMDKFD_IOC_SET_MEMORY_POLICY",
                            "ioctl kfd#4 AMDKFD_IOC_ALLOC_MEMORY_OF_GPU va_addr=buf0 size=0x1000",
                            "mmap kfd#4 size=0x1000 READ|WRITE SHARED|FIXED",
                            "ioctl kfd#4 AMDKFD_IOC_MAP_MEMORY_TO_GPU",
                            "ioctl kfd#4 AMDKFD_IOC_DBG_TRAP",
                            "ioctl kfd#4 AMDKFD_IOC_GET_CLOCK_COUNTERS",
                            "ioctl kfd#4 AMDKFD_IOC_ALLOC_MEMORY_OF_GPU va_addr=buf1 size=0x8000",
                            "mmap renderD128#5 size=0x8000",
                            "ioctl kfd#4 AMDKFD_IOC_CREATE_EVENT",
                            "ioctl kfd#4 AMDKFD_IOC_SET_TRAP_HANDLER tba_addr=buf",
                            "ioctl kfd#4 AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU",
                            "ioctl kfd#4 AMDKFD_IOC_FREE_MEMORY_OF_GPU",
                            "ioctl kfd#4 AMDKFD_IOC_DESTROY_EVENT",
                            "munmap buf0",
                            "exit of process 1: 0 records lost (0 bytes), 0 calls not seen",
                        });
  const std::regex call("ioctl (kfd|renderD128)#[0-9]+ (AMDKFD_IOC|DRM_IOCTL)_[A-Z0-9_]+ .*");
  for (const std::string& line : calls)
    if (line.starts_with("ioctl")) {
      INFO(line);
      CHECK(std::regex_match(line, call));
    }
  CHECK_THAT(decoded, Contains(" op=GET_VERSION ") && !Contains("unknown") && !Contains("unk_"));
}

}  // namespace

TEST_CASE("help tells the models and their options") {
  const Outcome run = tiny_command({"model", "--help"});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("amd:gfx1100") && Contains("amd:gfx1030") && Contains("small-bar") &&
                          Contains("seed=N") && Contains("strict"));
  CHECK_THAT(tiny_command({"--help"}).out, Contains("model"));
}

TEST_CASE("a model that is none, or an option of none, is one line and status 2") {
  check_mistake(tiny_command({"model"}), "a model is required");
  check_mistake(tiny_command({"model", "amd:gfx1100"}), "a program is required");
  check_mistake(tiny_command({"model", "amd:gfx1100", "--"}), "a program is required");
  check_mistake(tiny_command({"model", "nv:h200", "true"}), "nv:h200 is no model");
  check_mistake(tiny_command({"model", "amd:gfx1", "true"}), "amd:gfx1 is not modelled");
  check_mistake(tiny_command({"model", "amd:", "true"}), "amd: is not modelled");
  for (const std::string option :
       {"fast", "gpus", "small-bar=1", "gpus=x", "gpus=", "gpus=17", "gpus=-1", "vram=0",
        "vram=18446744073709551615", "delay=99999999999", "hidden=1", "no-render=16"}) {
    INFO(option);
    check_mistake(tiny_command({"model", "amd:gfx1100," + option, "true"}), option);
  }
  check_mistake(tiny_command({"model", "amd:gfx1100,gpus=2,hidden=2", "true"}), "hidden=2");
}

TEST_CASE("a program that no library can be preloaded into is refused") {
  check_mistake(tiny_command({"model", "amd:gfx1100", "--", STATIC_PROGRAM}), STATIC_PROGRAM);
  check_mistake(tiny_command({"model", "amd:gfx1100", "/nowhere/at/all"}), "/nowhere/at/all");
  const TemporaryFolder folder;
  const std::string setuid = folder.path() + "/setuid";
  std::filesystem::copy_file("/bin/true", setuid);
  std::filesystem::permissions(setuid, std::filesystem::perms::set_uid,
                               std::filesystem::perm_options::add);
  check_mistake(tiny_command({"model", "amd:gfx1100", setuid}), setuid);
}

TEST_CASE("tiny devices finds the modelled GPUs, and none without the model") {
  if (has_real_gpu()) return;
  const Outcome plain = tiny_command({"devices"});
  CHECK_FALSE(std::regex_search(plain.out, std::regex("AMD\\S*\\s+present")));
  const Outcome one = tiny_command({"model", "amd:gfx1100", "--", TINY_TOOL, "devices"});
  INFO(one.out << one.err);
  CHECK(one.status == 0);
  CHECK(one.err.empty());
  CHECK(std::regex_search(one.out, std::regex("AMD:0 +present +gfx1100 ")));
  const Outcome two =
      tiny_command({"model", "amd:gfx1030,gpus=3,hidden=1", "--", TINY_TOOL, "devices"});
  INFO(two.out << two.err);
  CHECK(std::regex_search(two.out, std::regex("AMD:0 +present +gfx1030 ")));
  CHECK(std::regex_search(two.out, std::regex("AMD:1 +present +gfx1030 ")));
  CHECK_FALSE(std::regex_search(two.out, std::regex("AMD:2 +present")));
}

TEST_CASE("the program's output and status are passed on") {
  CHECK(tiny_command({"model", "amd:gfx1100", "true"}).status == 0);
  const Outcome shell =
      tiny_command({"model", "amd:gfx1100", "--", "/bin/sh", "-c", "echo hi; exit 7"});
  CHECK(shell.status == 7);
  CHECK(shell.out == "hi\n");
  CHECK(shell.err.empty());
  CHECK(tiny_command({"model", "amd:gfx1100", "/bin/sh", "-c", "kill -9 $$"}).status == 128 + 9);
}

TEST_CASE("what a program does wrong is said, and fails it where that is asked for") {
  if (has_real_gpu()) return;
  // AMDKFD_IOC_GET_VERSION's letter with a number that no kernel has.
  const std::vector<std::string> program = {
      "--", PYTHON, "-c",
      "import fcntl\nf = open('/dev/kfd', 'rb+', buffering=0)\n"
      "try: fcntl.ioctl(f, 0xc0084b7f, bytes(8))\nexcept OSError as e: print(e.errno)"};
  std::vector<std::string> lenient = {"model", "amd:gfx1100"};
  lenient.insert(lenient.end(), program.begin(), program.end());
  const Outcome run = tiny_command(lenient);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains("ioctl number 0x7f is not modelled"));
  lenient[1] = "amd:gfx1100,quiet,strict";
  const Outcome strict = tiny_command(lenient);
  CHECK(strict.status == 86);
  CHECK_THAT(strict.err, !Contains("0x7f") && Contains("1 report"));
}

TEST_CASE("a training program learns on the model what it learns on the CPU") {
  if (has_real_gpu()) return;
  const std::pair<std::string, std::string> amd{"DEV", "AMD"};
  CHECK(run_program({LINEAR_REGRESSION}, {amd}).status != 0);  // it is the model that it needs
  const Outcome cpu = run_program({LINEAR_REGRESSION}, {{"DEV", "CPU"}});
  for (const std::string model : {"amd:gfx1100,strict", "amd:gfx1030,strict"}) {
    const Outcome gpu = tiny_command({"model", model, "--", LINEAR_REGRESSION}, {amd});
    INFO(model << ": " << gpu.err);
    CHECK(gpu.status == 0);
    CHECK(gpu.out == cpu.out);
  }
}

TEST_CASE("a forked shell's children see the machine too") {
  if (has_real_gpu()) return;
  const Outcome run = tiny_command({"model", "amd:gfx1100", "--", "/bin/sh", "-c",
                                    "cat /sys/class/kfd/kfd/topology/nodes/1/gpu_id | tail -n 1"});
  CHECK(run.status == 0);
  CHECK(std::regex_match(run.out, std::regex("[1-9][0-9]*\n")));
}

TEST_CASE("rocminfo of Debian on the model, under the tracer, which sees everything by name") {
  if (!std::filesystem::exists(kRocminfo)) {
    WARN("SKIPPED: rocminfo is not installed (apt-get install rocminfo)");
    return;
  }
  if (has_real_gpu()) return;
  const Outcome plain = tiny_command({"model", "amd:gfx1030", "--", kRocminfo});
  CHECK(plain.status == 0);
  CHECK_THAT(plain.out, Contains("gfx1030"));
  if (!std::regex_search(plain.out, std::regex("Runtime Version: +1\\.1\n"))) {
    WARN("SKIPPED: the calls below are those of rocminfo 5.2.3, of bookworm; this is another");
    return;
  }
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/t.tinytrace";
  const std::vector<std::string> trace = {"trace", "--quiet", "--out", out, "--"};
  const std::vector<std::string> model = {"model", "amd:gfx1030", "--"};
  for (const bool tracer_first : {true, false}) {
    std::vector<std::string> command = tracer_first ? trace : model;
    command.push_back(TINY_TOOL);
    const std::vector<std::string>& inner = tracer_first ? model : trace;
    command.insert(command.end(), inner.begin(), inner.end());
    command.push_back(kRocminfo);
    const Outcome traced = tiny_command(command);
    INFO((tracer_first ? "trace model" : "model trace"));
    CHECK(traced.status == 0);
    CHECK_THAT(traced.out, Contains("gfx1030"));
    const Outcome text = tiny_command({"decode", out});
    CHECK(text.status == 0);
    INFO(text.out);
    check_rocminfo_trace(text.out);
  }
}
