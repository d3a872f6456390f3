// SPDX-License-Identifier: MIT
// A program for the tracer to watch: makes calls on fake devices that this process serves itself.
// The recorder is linked in, as the preload library would be. Its first argument says what to do.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/trace/client.h"
#include "tests/tools/trace/fake_devices.h"

using namespace tiny::test;

namespace {

constexpr unsigned long kGetVersion = 0x80084b01;

void versions(int fd, int count) {
  std::uint32_t version[2] = {};
  for (int i = 0; i < count; ++i)
    if (::ioctl(fd, kGetVersion, version) != 0 || version[1] != 14) std::exit(4);
}

/// Argument bytes that are random, or point to memory that is there, or end early.
class RandomArguments {
 public:
  /// Does the argument name the control or class?
  static bool has_number(const KnownCall& call) {
    return call.request == kRmControl || call.request == kRmAlloc;
  }
  explicit RandomArguments(unsigned seed) : random_(seed) {
    for (std::uint64_t& word : memory_) word = random_();
  }
  void* make(const KnownCall& call) {
    for (std::uint64_t& word : argument_) word = pick();
    if (!has_number(call)) return argument_.data();
    std::array<std::uint32_t, 12> frame{};  // NVOS54 and NVOS64: the number at 8 and at 12
    frame[2] = frame[3] = call.control;
    const std::uint64_t params = pick();
    std::memcpy(frame.data() + 4, &params, 8);
    frame[6] = static_cast<std::uint32_t>(random_() % 600);
    std::memcpy(argument_.data(), frame.data(), sizeof frame);
    return argument_.data();
  }

 private:
  std::uint64_t pick() {
    const std::uint64_t word = random_();
    switch (word % 8) {
      case 0:
        return reinterpret_cast<std::uint64_t>(memory_.data());
      case 1:
        return reinterpret_cast<std::uint64_t>(&memory_[memory_.size() - 1]) + 7;
      case 2:
        return word >> 60;  // small
      case 3:
        return 0;
      default:
        return random_();
    }
  }
  std::mt19937_64 random_;
  std::array<std::uint64_t, 512> memory_{};
  std::array<std::uint64_t, 2048> argument_{};
};

void every_call(unsigned seed) {
  RandomArguments arguments(seed);
  std::map<std::string, int> fds;
  for (const KnownCall& call : known_calls()) {
    const auto [fd, is_new] = fds.emplace(call.path, -1);
    if (is_new) fd->second = open_or_die(call.path);
    void* argument = arguments.make(call);
    if (!RandomArguments::has_number(call) && seed % 2 == 1 && call.request % 5 == 0)
      argument = nullptr;
    ::ioctl(fd->second, call.request, argument);
  }
}

/// Pointers to nothing: the kernel would answer EFAULT, the tracer must not fall over.
void bad_pointers() {
  const int fd = open_or_die(kKfd);
  void* hole = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* edge = static_cast<char*>(hole) + 4096;
  ::mprotect(hole, 4096, PROT_READ | PROT_WRITE);
  for (void* bad :
       {static_cast<void*>(edge), static_cast<void*>(edge - 4), reinterpret_cast<void*>(0x10),
        reinterpret_cast<void*>(~0ul), reinterpret_cast<void*>(0xffff800000000000)})
    ::ioctl(fd, 0xc0604b02, bad);
  ::ioctl(fd, 0xc0604b02, EINVAL);
}

void threads(int count, int calls) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([calls] {
      const int fd = open_or_die(kKfd);
      versions(fd, calls);
      ::close(fd);
    });
  for (std::thread& thread : all) thread.join();
}

void forks(int calls) {
  const int fd = open_or_die(kKfd);
  versions(fd, calls);
  const pid_t child = ::fork();
  versions(fd, calls);
  if (child == 0) {
    threads(2, calls);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(7);
}

/// Closes every descriptor, as daemons do, also the recorder's; then opens files in their place.
void close_all() {
  const int fd = open_or_die(kKfd);
  versions(fd, 1);
  for (int i = 3; i < 1024; ++i) ::close(i);
  for (int i = 0; i < 1000; ++i)
    if (::open("/dev/null", O_WRONLY | O_CLOEXEC) < 0) break;
  for (int i = 900; i < 1000; ++i) ::close(i);
  versions(open_or_die(kKfd), 3);
}

std::string secret() { return "hush-hush-4711"; }

/// Private values in the bytes of a call: of the environment, and a UUID as text.
void secrets() {
  const int fd = open_or_die(kNvidiaCtl);
  std::array<char, 72> version{};
  std::snprintf(version.data() + 8, 60, "%s GPU-5c0b11fe-2031-4a77-8f90-0de1a233c4b5",
                secret().c_str());
  ::ioctl(fd, 0xc04846d2, version.data());
}

/// Programs that submit. False where `what` is none of them.
bool submit(const std::string& what, const char* argument) {
  if (what == "amd") submit_amd_pm4(argument);
  if (what == "amd_rings") submit_amd_rings();
  if (what == "nv") submit_nv(argument ? argument : "580.159.03");
  if (what == "nv_wrap") submit_nv_wrap();
  if (what == "kgsl") submit_kgsl();
  if (what == "msm") submit_msm();
  return what == "amd" || what == "amd_rings" || what == "nv" || what == "nv_wrap" ||
         what == "kgsl" || what == "msm";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool has_bad_pointers = what == "every" || what == "badptr";
  mount_fake_devices(has_bad_pointers ? Answers::none : Answers::all);
  if (submit(what, argc > 2 ? argv[2] : nullptr)) return 0;
  if (what == "every") every_call(static_cast<unsigned>(number));
  if (what == "badptr") bad_pointers();
  if (what == "threads") threads(4, number);
  if (what == "fork") forks(number);
  if (what == "closeall") close_all();
  if (what == "secrets") secrets();
  if (what == "versions" || what == "kill" || what == "abort") versions(open_or_die(kKfd), number);
  if (what == "kill") ::raise(SIGKILL);
  if (what == "abort") std::abort();
  return what == "exit" ? number : 0;
}
