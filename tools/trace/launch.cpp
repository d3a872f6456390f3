// SPDX-License-Identifier: MIT
#include "tools/trace/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tools/preload.h"
#include "tools/trace/print.h"
#include "tools/trace/reader.h"
#include "tools/trace/writer.h"

namespace tiny::trace {
namespace {

constexpr std::size_t kChunk_B = 256 << 10;
constexpr useconds_t kTailPeriod_us = 20'000;
constexpr int kCannotRun = 127;  // as shells do

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

/// Reads a file piece by piece and prints what is complete.
class Tail {
 public:
  Tail(const std::string& path, const PrintOptions& options)
      : fd_(Fd::open(path, O_RDONLY)), path_(path), printer_(options, print_line) {
    struct stat status{};
    if (::fstat(fd_.get(), &status) == 0 && S_ISDIR(status.st_mode))
      throw UsageError("[decode] " + path + " is a folder");
  }

  /// Everything that is there now.
  void read() {
    std::vector<std::byte> chunk(kChunk_B);
    while (true) {
      const ssize_t got = ::read(fd_.get(), chunk.data(), chunk.size());
      if (got < 0) throw_system_error("read(" + path_ + ")", errno);
      if (got == 0) return;
      reader_.feed(Bytes(chunk).first(static_cast<std::size_t>(got)));
      print();
    }
  }
  void finish() {
    reader_.finish();
    print();
  }
  bool is_trace() const { return reader_.is_trace(); }
  bool has_problems() const { return has_problems_; }
  std::uint64_t records() const { return records_; }
  const std::string& problem() const { return reader_.problem(); }

 private:
  void print() {
    while (true) {
      const Reader::Got got = reader_.next();
      if (got == Reader::Got::more || got == Reader::Got::end) return;
      if (reader_.is_trace() && !begun_) printer_.begin(reader_.header());
      begun_ = reader_.is_trace();
      if (got == Reader::Got::record) {
        ++records_;
        printer_.print(reader_.record());
      } else {
        has_problems_ = true;
        if (begun_) printer_.problem(reader_.offset(), reader_.problem());
      }
    }
  }

  Fd fd_;
  std::string path_;
  Reader reader_;
  Printer printer_;
  std::uint64_t records_ = 0;
  bool begun_ = false, has_problems_ = false;
};

std::string default_out(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  return fmt::format("trace-{}-{}.tinytrace", name, ::getpid());
}

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (::getrandom(&key, sizeof key, 0) != sizeof key) throw_system_error("getrandom", errno);
  return key;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

pid_t start(std::vector<std::string> command, const std::string& recorder,
            const Settings& settings) {
  std::vector<char*> arguments = pointers(command);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw_system_error("fork", errno);
  if (pid > 0) return pid;
  tool::preload(recorder, tool::Place::first);
  ::setenv(kSettingsVariable, to_text(settings).c_str(), 1);
  ::execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "tiny: [trace] cannot run %s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

/// Prints what arrives until the program has ended; returns its wait status.
int follow(pid_t pid, Tail* tail) {
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, tail ? WNOHANG : 0);
    if (ended < 0 && errno != EINTR) throw_system_error("waitpid", errno);
    if (tail) tail->read();
    if (ended == pid) return status;
    if (tail) {
      std::fflush(stdout);
      ::usleep(kTailPeriod_us);
    }
  }
}

}  // namespace

std::string recorder_path() {
  return tool::preload_library("trace", "the recorder", "trace", "libtiny_trace.so");
}

int trace_program(const LaunchOptions& options) {
  const std::string& program = options.command.at(0);
  tool::check_preloadable("trace", program);
  Settings settings;
  const std::string recorder = recorder_path();
  settings.file =
      std::filesystem::absolute(options.out.empty() ? default_out(program) : options.out);
  settings.token_key = random_key();
  settings.raw_secrets = options.raw_secrets;
  settings.doorbells = options.doorbells;
  const std::uint32_t flags = options.raw_secrets ? kRawSecrets : 0;
  create_trace(settings.file, {kVersion, flags, monotonic_ns(), options.max_B});
  Tail tail(settings.file, {options.raw_secrets, options.full});
  // Keys typed at the terminal go to the program as well; it decides, and we stay for its last
  // words.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  const int status =
      follow(start(options.command, recorder, settings), options.quiet ? nullptr : &tail);
  if (!options.quiet) tail.finish();
  std::fflush(stdout);
  std::fprintf(stderr, "tiny: trace in %s\n",
               options.out.empty() ? default_out(program).c_str() : options.out.c_str());
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int decode_file(const std::string& path, bool raw_secrets, bool full) {
  Tail tail(path, {raw_secrets, full});
  tail.read();
  tail.finish();
  if (!tail.is_trace()) throw UsageError("[decode] " + path + ": " + tail.problem());
  return tail.has_problems() ? 1 : 0;
}

}  // namespace tiny::trace
