// SPDX-License-Identifier: MIT
// Programs under the recorder: what they ask is what the trace says, however they end.
#include <catch2/catch.hpp>

#include "tests/tools/run_program.h"
#include "tests/tools/trace/decode_text.h"
#include "tests/tools/trace/fake_devices.h"
#include "tools/trace/settings.h"
#include "tools/trace/writer.h"

#include <unistd.h>
#include <filesystem>
#include <thread>

using namespace tiny;
using namespace tiny::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

struct Traced {
  Outcome run;
  Decoded text;
  std::uint64_t size_B = 0;
  std::string raw;
};

struct How {
  std::uint64_t max_B = 0;
  bool raw_secrets = false;
  trace::Doorbells doorbells = trace::Doorbells::trap;
  trace::PrintOptions print = {};
  bool hold = false;  ///< the program waits until a snapshot is in the trace
};

/// Makes the file that a program waits for, once it can be seen in the trace that a submission was;
/// after two minutes also without.
void release_after_snapshot(const std::string& trace_path, const std::string& mark) {
  for (int i = 0; i < 1200; ++i) {
    if (decode_file(trace_path).count("snapshot pm4") != 0) break;
    ::usleep(100'000);
  }
  write_file_atomic(mark, "");
}

Traced trace_client(const std::vector<std::string>& arguments, const How& how = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/t.tinytrace";
  trace::create_trace(path, {trace::kVersion, how.raw_secrets ? trace::kRawSecrets : 0,
                             trace::monotonic_ns(), how.max_B});
  std::vector<std::string> command = {FAKE_GPU_CLIENT};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::string mark = folder.path() + "/go";
  std::thread releaser;
  if (how.hold) {
    command.push_back(mark);
    releaser = std::thread(release_after_snapshot, path, mark);
  }
  Traced out;
  const trace::Settings settings{path, 42, how.raw_secrets, how.doorbells};
  out.run = run_program(
      command, {{trace::kSettingsVariable, to_text(settings)}, {"HUSH", "hush-hush-4711"}});
  if (releaser.joinable()) releaser.join();
  out.size_B = std::filesystem::file_size(path);
  const std::vector<std::uint8_t> bytes = read_file(path);
  out.raw.assign(bytes.begin(), bytes.end());
  out.text = decode_bytes(std::as_bytes(std::span(bytes)), how.print);
  INFO(out.run.err);
  CHECK(out.text.problems.empty());
  return out;
}

const std::string kVersionCall = "AMDKFD_IOC_GET_VERSION";

/// Lines of one kind of call, in order.
std::vector<std::string> call_lines(const Decoded& text) {
  std::vector<std::string> out;
  for (const std::string& line : text.lines)
    if (event_of(line).starts_with("ioctl ")) out.push_back(event_of(line));
  return out;
}

/// What the program did, against the text that it must print as: tests/data/trace/NAME.txt.
void check_golden(const Traced& traced, const std::string& name) {
  REQUIRE(traced.run.status == 0);
  std::string text;
  for (const std::string& line : traced.text.lines) text += event_of(line) + "\n";
  const std::vector<std::uint8_t> golden = read_file(TRACE_GOLDEN "/" + name + ".txt");
  CHECK(text == std::string(golden.begin(), golden.end()));
}

bool has_any(const std::string& line, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("every known call with random arguments is recorded and has its name") {
  const std::vector<KnownCall> calls = known_calls();
  REQUIRE(calls.size() > 1500);
  for (const char* seed : {"0", "1", "2"}) {
    const Traced traced = trace_client({"every", seed});
    REQUIRE(traced.run.status == 0);
    const std::vector<std::string> lines = call_lines(traced.text);
    REQUIRE(lines.size() == calls.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool unreadable = lines[i].find("argument=0x0") != std::string::npos;
      if (has_any(lines[i], calls[i].names) || unreadable) continue;
      ++wrong;
      UNSCOPED_INFO(calls[i].names[0] << ": " << lines[i].substr(0, 200));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("pointers to nothing crash neither recorder nor decoder") {
  const Traced traced = trace_client({"badptr"});
  CHECK(traced.run.status == 0);
  const std::vector<std::string> lines = call_lines(traced.text);
  REQUIRE(lines.size() == 6);
  for (const std::string& line : lines) CHECK_THAT(line, Contains("AMDKFD_IOC_CREATE_QUEUE"));
  CHECK_THAT(lines[5], Catch::EndsWith("= -1 EINVAL (Invalid argument)"));
}

TEST_CASE("a queue of KFD is followed from its creation to the packets of an indirect buffer") {
  check_golden(trace_client({"amd"}), "amd_queue");
}

TEST_CASE("an SDMA ring that wraps, and an AQL ring to kernel descriptor and arguments") {
  check_golden(trace_client({"amd_rings"}), "amd_rings");
}

TEST_CASE("a channel of RM is followed from doorbell to methods, descriptor and constants") {
  check_golden(trace_client({"nv"}), "nv_channel");
}

TEST_CASE("a ring of GPFIFO entries that wraps is kept in two parts") {
  const Traced traced = trace_client({"nv_wrap"});
  REQUIRE(traced.run.status == 0);
  const Decoded& text = traced.text;
  CHECK(text.count("doorbell doorbell0+0x90 = 0x2a") == 2);
  CHECK(text.count("snapshot gpfifo ring0 size=0x18 ") == 1);
  CHECK(text.count("snapshot gpfifo ring0+0x18 size=0x8 ") == 1);
  CHECK(text.count("snapshot gpfifo ring0 size=0x10 ") == 1);
  CHECK(text.count("snapshot pushbuffer ") == 6);
}

TEST_CASE("layouts follow the driver version in the trace; an unknown one is said once") {
  const Traced known = trace_client({"nv", "580.159.03"});
  CHECK(known.text.count("note=") == 0);
  const Traced newer = trace_client({"nv", "999.10.01"});
  CHECK(newer.text.count("note=\"driver 999.10.01 is not in the tables: layouts of 610\"") == 1);
  const Traced untold = trace_client({"nv", ""});
  CHECK(untold.text.count("note=\"driver version unknown: layouts of 580\"") == 1);
}

TEST_CASE("command buffers of a KGSL submission are kept, with what they jump to") {
  check_golden(trace_client({"kgsl"}), "kgsl_command");
}

TEST_CASE("command buffers of an msm submission are kept, read as the chip that it told") {
  check_golden(trace_client({"msm"}), "msm_submit");
}

TEST_CASE("sampling sees a submission that no trap tells of") {
  const Traced traced =
      trace_client({"amd"}, {.doorbells = trace::Doorbells::sample, .hold = true});
  REQUIRE(traced.run.status == 0);
  CHECK(traced.text.count("doorbell doorbell0") == 0);
  CHECK(traced.text.count("doorbell (seen by sampling)") == 1);
  CHECK(traced.text.count("INDIRECT_BUFFER ib_base=buf1 ib_size=5 valid=1") == 1);
  CHECK(traced.text.count("DISPATCH_DIRECT dim_x=2 dim_y=1 dim_z=1") == 1);
}

TEST_CASE("with doorbells off no submission is looked at") {
  const Traced off = trace_client({"amd"}, {.doorbells = trace::Doorbells::off});
  CHECK(off.run.status == 0);
  CHECK(off.text.count("AMDKFD_IOC_DESTROY_QUEUE") == 1);
  CHECK(off.text.count("snapshot") == 0);
  CHECK(off.text.count("doorbell (") + off.text.count("doorbell doorbell0") == 0);
}

TEST_CASE("a killed program leaves a readable file with everything up to its end") {
  for (const auto& [what, status] : {std::pair{"kill", 128 + 9}, {"abort", 128 + 6}}) {
    const Traced traced = trace_client({what, "200"});
    CHECK(traced.run.status == status);
    CHECK(traced.text.count(kVersionCall) == 200);
    CHECK(traced.text.count("exit of process") == 0);
  }
}

TEST_CASE("an orderly end says what was lost: nothing") {
  const Traced traced = trace_client({"versions", "3"});
  CHECK(traced.text.count(kVersionCall) == 3);
  CHECK_THAT(traced.text.lines.back(),
             Contains("exit of process 1: 0 records lost (0 bytes), 0 calls not seen"));
  CHECK_THAT(traced.text.lines[2], Contains("process 1 fake_gpu_client"));
}

TEST_CASE("threads and forked children write into one file without mixing it up") {
  const Traced threads = trace_client({"threads", "300"});
  CHECK(threads.run.status == 0);
  CHECK(threads.text.count(kVersionCall) == 4 * 300);
  const Traced forks = trace_client({"fork", "100"});
  CHECK(forks.run.status == 0);
  CHECK(forks.text.count(kVersionCall) == 100 + 2 * 100 + 2 * 100);
  CHECK(forks.text.count("process 2 fake_gpu_client (forked)") == 1);
  CHECK(forks.text.count("exit of process") == 2);
}

TEST_CASE("the file stays within its size, says so, and counts what it left out") {
  const std::uint64_t max_B = 20'000;
  const Traced traced = trace_client({"versions", "2000"}, {.max_B = max_B});
  CHECK(traced.run.status == 0);
  CHECK(traced.size_B <= max_B + 1000);  // the last words
  CHECK(traced.size_B > max_B - 500);
  CHECK(traced.text.count("limit: ") == 1);
  const std::size_t kept = traced.text.count(kVersionCall);
  CHECK(kept > 50);
  // open, process, limit and exit are no version calls; one of the lost is the close at the end.
  CHECK_THAT(traced.text.lines.back(),
             Contains(": " + std::to_string(2000 - kept) + " records lost"));
}

TEST_CASE("a program that closes every descriptor loses no record and gets no stray bytes") {
  const Traced traced = trace_client({"closeall"});
  CHECK(traced.run.status == 0);
  CHECK(traced.text.count(kVersionCall) == 4);
}

TEST_CASE("private values do not get into the file, unless asked for") {
  const std::string uuid = "5c0b11fe-2031-4a77-8f90-0de1a233c4b5", hush = "hush-hush-4711";
  const Traced scrubbed = trace_client({"secrets"});
  CHECK(scrubbed.raw.find(hush) == std::string::npos);
  CHECK(scrubbed.raw.find(uuid) == std::string::npos);
  CHECK(scrubbed.raw.find("HUSH_") != std::string::npos);
  CHECK(scrubbed.raw.find("GPU-544f4b45-4e00-0000-") != std::string::npos);
  CHECK_THAT(scrubbed.text.lines[0], Contains("private values are tokens"));

  const Traced raw = trace_client({"secrets"}, {.raw_secrets = true});
  CHECK(raw.raw.find(hush) != std::string::npos);
  CHECK(raw.raw.find("GPU-" + uuid) != std::string::npos);
  CHECK(raw.text.count(uuid) == 0);  // printing asks once more
  const Traced shown =
      trace_client({"secrets"}, {.raw_secrets = true, .print = {.raw_secrets = true}});
  CHECK_THAT(shown.text.lines[0], Contains("private values are shown"));
}

TEST_CASE("a wrong settings variable leaves the program alone") {
  for (const char* settings : {"", "1:trap:scrub:4:", "2:trap:scrub:4:/tmp/x", "1:trap:scrub:x:/t",
                               "1:trap:scrub:4:/nowhere/at/all"}) {
    const Outcome run =
        run_program({FAKE_GPU_CLIENT, "versions", "2"}, {{trace::kSettingsVariable, settings}});
    CHECK(run.status == 0);
    CHECK(run.err.empty());
  }
}

TEST_CASE("settings go through their text") {
  const trace::Settings settings{"/a b/c:d", UINT64_MAX, true, trace::Doorbells::sample};
  const auto read = trace::parse_settings(to_text(settings));
  REQUIRE(read);
  CHECK(read->file == settings.file);
  CHECK(read->token_key == settings.token_key);
  CHECK(read->raw_secrets);
  CHECK(read->doorbells == trace::Doorbells::sample);
}
