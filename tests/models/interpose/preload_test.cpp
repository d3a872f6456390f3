// SPDX-License-Identifier: MIT
// Unmodified programs under the preload library of preload.cpp, and the check whether a program can
// be preloaded at all.
#include "models/interpose/program.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <catch2/catch.hpp>

using namespace tiny;
using interpose::Verdict;

namespace {

struct Output {
  std::string text;
  int status = -1;
};

Output run(const std::string& command) {
  FILE* const pipe = ::popen(("LD_PRELOAD=" TINY_PRELOAD " " + command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Output output;
  char buffer[1000];
  for (std::size_t count = 0; (count = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.text.append(buffer, count);
  output.status = ::pclose(pipe);
  return output;
}

bool exists(const char* path) { return ::access(path, X_OK) == 0; }

struct TempFile {
  std::string path = "/tmp/tiny_program_XXXXXX";
  explicit TempFile(const std::string& contents) {
    ::close(::mkstemp(path.data()));
    std::ofstream(path) << contents;
    ::chmod(path.c_str(), 0755);
  }
  ~TempFile() { ::unlink(path.c_str()); }
};

}  // namespace

TEST_CASE("cat reads a served file") {
  CHECK(run("cat /tiny_served/link /tiny_served/folder/name").text == "gfx1100\ngfx1100\n");
  CHECK(run("cat /tiny_served/none").text.find("No such file or directory") != std::string::npos);
  CHECK(run("cat /tiny_served/sys/big").text.size() == 100'000);
}

TEST_CASE("ls lists a served directory") {
  CHECK(run("ls /tiny_served/sys").text == "big\nempty\nlevel\nname\nnothing\n");
  const Output details = run("ls -lR --color=never /tiny_served");
  CHECK(details.status == 0);
  CHECK(details.text.find("crw-rw-rw- 1 ") != std::string::npos);
  CHECK(details.text.find("234, ") != std::string::npos);
  CHECK(details.text.find("link -> sys/name") != std::string::npos);
}

TEST_CASE("stat, test, head, grep, cp and find see served files") {
  CHECK(run("stat -c '%F %t %T' /tiny_served/dev/add").text == "character special file ea 7\n");
  CHECK(run("stat -c '%s %a' /tiny_served/sys/name").text == "8 444\n");
  CHECK(run("sh -c 'test -c /tiny_served/dev/add && echo yes'").text == "yes\n");
  CHECK(run("sh -c 'read x < /tiny_served/sys/name; echo $x'").text == "gfx1100\n");
  CHECK(run("head -c 3 /tiny_served/sys/name").text == "gfx");
  CHECK(run("grep -r gfx /tiny_served/sys").text == "/tiny_served/sys/name:gfx1100\n");
  CHECK(run("readlink -f /tiny_served/link").text == "/tiny_served/sys/name\n");
  CHECK(run("find /tiny_served -name name").text == "/tiny_served/sys/name\n");
  CHECK(run("sh -c 'echo high > /tiny_served/sys/level && echo done'").text == "done\n");
}

TEST_CASE("python reads served files and directories") {
  if (!exists("/usr/bin/python3")) return;
  CHECK(
      run("/usr/bin/python3 -c 'import os, sys\n"
          "print(open(\"/tiny_served/sys/name\").read(), end=\"\")\n"
          "print(sorted(os.listdir(\"/tiny_served/sys\")))\n"
          "print(sorted(e.name for e in os.scandir(\"/tiny_served/dev\")))\n"
          "print(os.path.realpath(\"/tiny_served/link\"), os.path.isdir(\"/tiny_served/folder\"))\n"
          "import fcntl\n"
          "fd = os.open(\"/tiny_served/dev/add\", os.O_RDWR)\n"
          "print(len(os.read(os.dup(fd), 5)))'")
          .text ==
      "gfx1100\n['big', 'empty', 'level', 'name', 'nothing']\n['add', 'busy', 'waits']\n"
      "/tiny_served/sys/name True\n5\n");
}

TEST_CASE("a library's constructor that runs before ours is served") {
  CHECK(run(TINY_EARLY).text == "gfx1100\ndevice\n");
}

TEST_CASE("programs that use nothing of ours run unchanged") {
  CHECK(run("sort /etc/passwd").status == 0);
  CHECK(run("sh -c 'exec 3</etc/passwd; cat <&3 | head -n 1'").text ==
        run("head -n 1 /etc/passwd").text);
}

TEST_CASE("a preload library needs no C++ library and shows only names of the C library") {
  // What else it needed would be loaded and relocated in every program; what else it showed would
  // take the place of the program's own.
  if (!exists("/usr/bin/readelf") || !exists("/usr/bin/nm")) return;
  const std::string needed = run("readelf -d " TINY_PRELOAD " | grep NEEDED").text;
  CHECK(needed.find("libc.so") != std::string::npos);
  for (const char* const name : {"libstdc++", "libfmt", "libxxhash"})
    CHECK(needed.find(name) == std::string::npos);
  const std::string shown = run("nm -D --defined-only " TINY_PRELOAD).text;
  CHECK(shown.find(" openat\n") != std::string::npos);
  for (const char* const name : {" _Z", " __cxa_", " __gxx_", " _Unwind_", " operator"})
    CHECK(shown.find(name) == std::string::npos);
  CHECK(run("readelf -d " TINY_PRELOAD " | grep -c BIND_NOW").text == "0\n");
}

TEST_CASE("a cancelled thread leaves a served call by its own clean-up") {
  CHECK(run(TINY_CANCEL).text == "cleaned up, cancelled\n");
}

TEST_CASE("a program is judged by its file") {
  CHECK(interpose::check_program("/bin/cat").verdict == Verdict::fine);
  CHECK(interpose::check_program("cat").verdict == Verdict::fine);
  CHECK(interpose::check_program("/nowhere/x").verdict == Verdict::unreadable);
  CHECK(interpose::check_program("/tmp").verdict == Verdict::unreadable);
  CHECK(interpose::check_program("/etc/passwd").verdict == Verdict::not_elf);
  const auto fixed = interpose::check_program(TINY_STATIC);
  CHECK(fixed.verdict == Verdict::static_elf);
  CHECK(fixed.reason == TINY_STATIC ": statically linked, so that nothing can be preloaded");
}

TEST_CASE("a script is judged by its interpreter, one level deep") {
  const TempFile script("#! /bin/sh -e\necho\n");
  const auto check = interpose::check_program(script.path);
  CHECK(check.verdict == Verdict::fine);
  CHECK(check.script);
  CHECK(check.program == "/bin/sh");
  const TempFile nested("#!" + script.path + "\n"), empty("#!\n"), fixed("#!" TINY_STATIC "\n");
  CHECK(interpose::check_program(nested.path).verdict == Verdict::not_elf);
  CHECK(interpose::check_program(empty.path).verdict == Verdict::not_elf);
  CHECK(interpose::check_program(fixed.path).verdict == Verdict::static_elf);
}

TEST_CASE("privileged, foreign and broken ELF files are told apart") {
  std::ifstream file("/bin/cat", std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  const TempFile privileged(bytes), cut(bytes.substr(0, 40)), header(bytes.substr(0, 64));
  REQUIRE(::chmod(privileged.path.c_str(), 04755) == 0);
  CHECK(interpose::check_program(privileged.path).verdict == Verdict::setuid);
  CHECK(interpose::check_program(cut.path).verdict == Verdict::foreign_elf);
  CHECK(interpose::check_program(header.path).verdict == Verdict::static_elf);
  bytes[18] = 3;  // EM_386
  const TempFile foreign(bytes);
  CHECK(interpose::check_program(foreign.path).verdict == Verdict::foreign_elf);
}
