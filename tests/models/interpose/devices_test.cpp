// SPDX-License-Identifier: MIT
#include "tests/models/interpose/served.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

using namespace tiny;
using test::AddCall;
using test::Served;

extern char** environ;

namespace {

int open_add(int flags = O_RDWR | O_CLOEXEC) { return ::open("/tiny_served/dev/add", flags); }

bool adds(int fd) {
  AddCall call{2, 3, 0};
  return ::ioctl(fd, test::kAdd, &call) == 0 && call.sum == 5;
}

/// Runs in a forked child; its exit code.
template <typename F>
int in_child(F f) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(f());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Writes down what it sees.
struct Notes : interpose::Observer {
  struct Note {
    bool after;
    interpose::Call call;
    std::string function, path;
    std::vector<interpose::MappedPart> parts;
  };
  std::mutex lock;
  std::vector<Note> notes;

  void before(interpose::Call& call) override { add(false, call); }
  void after(interpose::Call& call) override { add(true, call); }
  void add(bool after, const interpose::Call& call) {
    const std::lock_guard guard(lock);
    notes.push_back({after,
                     call,
                     call.function,
                     std::string(call.path),
                     {call.parts.begin(), call.parts.end()}});
  }
  std::vector<Note> of(interpose::Op op, bool after) {
    std::vector<Note> found;
    for (const Note& note : notes)
      if (note.call.op == op && note.after == after) found.push_back(note);
    return found;
  }
};

/// A real file, observed while this lives.
struct Observed {
  std::string path = "/tmp/tiny_observed_XXXXXX";
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
  Observed() {
    const int fd = ::mkstemp(path.data());
    REQUIRE(::ftruncate(fd, 8 * 4096) == 0);
    ::close(fd);
    interpose::observe(path, notes);
  }
  ~Observed() {
    interpose::unobserve(path);
    ::unlink(path.c_str());
  }
};

#if defined(__x86_64__)
/// The system call that no interposer sees.
long inline_syscall(long number, long a, long b, long c) {
  long result = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}
#endif

}  // namespace

TEST_CASE("an ioctl reaches the device, with the kernel's errors") {
  Served served;
  const int fd = open_add();
  REQUIRE(fd >= 0);
  errno = 77;
  CHECK(adds(fd));
  CHECK(errno == 77);
  CHECK(::ioctl(fd, 0xdead, nullptr) == -1);
  CHECK(errno == ENOTTY);
  CHECK(::ioctl(fd, test::kRefuse, nullptr) == -1);
  CHECK(errno == EPERM);
  CHECK(::close(fd) == 0);
  CHECK(served.log.released == 1);
  CHECK(::ioctl(fd, test::kAdd, nullptr) == -1);
  CHECK(errno == EBADF);
}

TEST_CASE("a handler that throws becomes EIO and leaves the interposer usable") {
  Served served;
  const int fd = open_add();
  CHECK(::ioctl(fd, test::kThrow, nullptr) == -1);
  CHECK(errno == EIO);
  CHECK(adds(fd));
  CHECK(::close(fd) == 0);
}

TEST_CASE("calls of a handler go through to the real functions") {
  Served served;
  const int fd = open_add();
  CHECK(::ioctl(fd, test::kReenter, nullptr) == 0);
  CHECK(served.log.reentered == 1);
  {
    const interpose::PassThrough pass;
    CHECK(open_add() == -1);
  }
  CHECK(::close(fd) == 0);
}

TEST_CASE("reads and writes have the file's own offset, shared by duplicates") {
  Served served;
  const int fd = open_add(), other = ::dup(fd);
  unsigned char bytes[4] = {};
  CHECK(::read(fd, bytes, 2) == 2);
  CHECK(::read(other, bytes, 2) == 2);
  CHECK(bytes[0] == 2);
  CHECK(::pread(fd, bytes, 1, 200) == 1);
  CHECK(bytes[0] == 200);
  CHECK(::lseek(fd, 10, SEEK_SET) == 10);
  CHECK(::lseek(other, 5, SEEK_CUR) == 15);
  CHECK(::lseek(fd, 0, SEEK_END) == -1);
  const int reader = open_add(O_RDONLY);
  CHECK(::write(reader, bytes, 1) == -1);
  CHECK(errno == EBADF);
  for (const int each : {fd, other, reader}) CHECK(::close(each) == 0);
}

TEST_CASE("a description lives until its last duplicate is closed") {
  Served served;
  const int fd = open_add();
  const int by_dup = ::dup(fd), by_fcntl = ::fcntl(fd, F_DUPFD_CLOEXEC, 100),
            by_fcntl2 = ::fcntl(fd, F_DUPFD, 50);
  const int by_dup2 = ::dup2(fd, 200), by_dup3 = ::dup3(fd, 201, O_CLOEXEC);
  CHECK(by_fcntl >= 100);
  CHECK(by_dup2 == 200);
  CHECK(by_dup3 == 201);
  CHECK(::dup2(fd, fd) == fd);
  const auto id = interpose::descriptor(fd).description;
  for (const int each : {by_dup, by_fcntl, by_fcntl2, by_dup2, by_dup3}) {
    CHECK(interpose::descriptor(each).description == id);
    CHECK(adds(each));
  }
  CHECK(::fcntl(by_fcntl, F_GETFD) == FD_CLOEXEC);
  CHECK(::fcntl(by_fcntl2, F_GETFD) == 0);
  CHECK(::fcntl(by_dup3, F_GETFD) == FD_CLOEXEC);
  for (const int each : {fd, by_dup, by_fcntl, by_fcntl2, by_dup2}) CHECK(::close(each) == 0);
  CHECK(served.log.released == 0);
  CHECK(adds(by_dup3));
  CHECK(::close(by_dup3) == 0);
  CHECK(served.log.released == 1);
  CHECK(served.log.flushed == 6);
}

TEST_CASE("dup2 onto a fake descriptor closes it; a failing one does not") {
  Served served;
  const int fd = open_add();
  CHECK(::dup2(-1, fd) == -1);
  CHECK(errno == EBADF);
  CHECK(adds(fd));
  const int null = ::open("/dev/null", O_RDONLY);
  CHECK(::dup2(null, fd) == fd);
  CHECK(served.log.released == 1);
  CHECK(interpose::descriptor(fd).description == 0);
  CHECK_FALSE(adds(fd));
  CHECK(::close(fd) == 0);
  CHECK(::close(null) == 0);
}

TEST_CASE("close_range and closefrom close fake descriptors") {
  Served served;
  const int first = open_add();
  const int high = ::dup2(first, 300), higher = ::dup2(first, 301);
  CHECK(::close_range(300, 300, 0) == 0);
  CHECK(interpose::descriptor(high).description == 0);
  CHECK(adds(higher));
  CHECK(::close(first) == 0);
  ::closefrom(300);
  CHECK(served.log.released == 1);
}

TEST_CASE(
    "a number that was closed behind our back is forgotten when the kernel gives it out again") {
  Served served;
  const int fd = open_add();
  {
    const interpose::PassThrough pass;
    ::close(fd);
  }
  const int next = ::open("/dev/null", O_RDONLY);
  CHECK(next == fd);
  CHECK(interpose::descriptor(next).description == 0);
  CHECK(served.log.released == 1);
  CHECK(::close(next) == 0);
}

TEST_CASE("mappings keep a device open; unmapping in parts is told part by part") {
  Served served;
  const int fd = open_add();
  auto* const at =
      static_cast<char*>(::mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  REQUIRE(at != MAP_FAILED);
  at[0] = 1;
  CHECK(interpose::mappings().size() == 1);
  CHECK(::close(fd) == 0);
  CHECK(served.log.released == 0);
  CHECK(::munmap(at + 4096, 4096) == 0);
  REQUIRE(served.log.unmapped.size() == 1);
  CHECK(served.log.unmapped[0].offset_B == 4096);
  CHECK(served.log.unmapped[0].length_B == 4096);
  CHECK(interpose::mappings().size() == 2);
  // Replaced by another mapping, and one that begins before it.
  CHECK(::mmap(at + 3 * 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        at + 3 * 4096);
  REQUIRE(served.log.unmapped.size() == 2);
  CHECK(served.log.unmapped[1].offset_B == 3 * 4096);
  CHECK(served.log.unmapped[1].mapping == served.log.unmapped[0].mapping);
  CHECK(::munmap(at, 4 * 4096) == 0);
  CHECK(served.log.unmapped.size() == 4);
  CHECK(served.log.released == 1);
  CHECK(interpose::mappings().empty());
}

TEST_CASE("a device's mapping moves and shrinks by mremap but does not grow") {
  Served served;
  const int fd = open_add();
  auto* const at =
      static_cast<char*>(::mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096));
  REQUIRE(at != MAP_FAILED);
  CHECK(::mremap(at, 2 * 4096, 3 * 4096, MREMAP_MAYMOVE) == MAP_FAILED);
  CHECK(errno == EFAULT);
  CHECK(::mremap(at, 2 * 4096, 4096, 0) == at);
  REQUIRE(interpose::mappings().size() == 1);
  CHECK(interpose::mappings()[0].length_B == 4096);
  auto* const room =
      static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(::mremap(at, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
  REQUIRE(interpose::mappings().size() == 1);
  CHECK(interpose::mappings()[0].address == reinterpret_cast<std::uintptr_t>(room));
  CHECK(interpose::mappings()[0].offset_B == 4096);
  CHECK(::munmap(room, 4096) == 0);
  CHECK(::close(fd) == 0);
  CHECK(served.log.released == 1);
}

TEST_CASE("poll asks a device, and waits on its eventfd in the kernel") {
  Served served;
  const int asked = open_add(), waits = ::open("/tiny_served/dev/waits", O_RDWR | O_CLOEXEC);
  pollfd fds[2] = {{asked, POLLIN, 0}, {waits, POLLIN, 0}};
  CHECK(::poll(fds, 2, 3) == 0);
  const timespec soon{0, 3'000'000};
  CHECK(::ppoll(fds, 2, &soon, nullptr) == 0);
  CHECK(::write(waits, "x", 1) == 1);
  CHECK(::poll(fds, 2, -1) == 1);
  CHECK(fds[0].revents == 0);
  CHECK(fds[1].revents == POLLIN);
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {}};
  CHECK(::epoll_ctl(epoll, EPOLL_CTL_ADD, waits, &event) == 0);
  CHECK(::epoll_wait(epoll, &event, 1, 0) == 1);
  CHECK(::write(asked, "x", 1) == 1);
  CHECK(::poll(fds, 2, -1) == 2);
  CHECK(::poll(fds + 1, 1, 0) == 1);
  for (const int each : {epoll, asked, waits}) CHECK(::close(each) == 0);
}

TEST_CASE("select and pselect ask a device, with other descriptors") {
  Served served;
  const int asked = open_add(), waits = ::open("/tiny_served/dev/waits", O_RDWR | O_CLOEXEC);
  fd_set readable, writable;
  const auto set = [&] {
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(asked, &readable);
    FD_SET(waits, &readable);
    FD_SET(asked, &writable);
  };
  const int count = std::max(asked, waits) + 1;
  set();
  timeval soon{0, 3'000};
  CHECK(::select(count, &readable, &writable, nullptr, &soon) == 0);
  CHECK_FALSE(FD_ISSET(asked, &readable));
  CHECK(soon.tv_usec == 0);
  CHECK(::write(waits, "x", 1) == 1);
  set();
  CHECK(::select(count, &readable, &writable, nullptr, nullptr) == 1);
  CHECK(FD_ISSET(waits, &readable));
  CHECK_FALSE(FD_ISSET(asked, &readable));
  CHECK(::write(asked, "x", 1) == 1);
  set();
  const timespec soon_ns{0, 3'000'000};
  CHECK(::pselect(count, &readable, &writable, nullptr, &soon_ns, nullptr) == 2);
  CHECK(FD_ISSET(asked, &readable));
  CHECK_FALSE(FD_ISSET(asked, &writable));
  CHECK(::close(waits) == 0);
  set();
  CHECK(::select(count, &readable, nullptr, nullptr, nullptr) == -1);
  CHECK(errno == EBADF);
  CHECK(::close(asked) == 0);
}

TEST_CASE("vectors of buffers reach a device as one call") {
  Served served;
  const auto notes = std::make_shared<Notes>();
  interpose::observe("/tiny_served/dev/add", notes);
  const int fd = open_add();
  unsigned char first[2] = {}, second[3] = {};
  const iovec parts[3] = {{first, 2}, {nullptr, 0}, {second, 3}};
  CHECK(::readv(fd, parts, 3) == 5);
  CHECK(first[1] == 1);
  CHECK(second[2] == 4);
  CHECK(::preadv(fd, parts, 3, 100) == 5);
  CHECK(second[0] == 102);
  CHECK(::writev(fd, parts, 3) == 5);
  CHECK(::pwritev(fd, parts, 3, 7) == 5);
  CHECK(::preadv2(fd, parts, 3, -1, 0) == 5);
  CHECK(first[0] == 10);
  CHECK(::pwritev2(fd, parts, 3, 7, RWF_SYNC) == -1);
  CHECK(errno == EOPNOTSUPP);
  const volatile int negative = -1;  // known to the compiler, it would warn
  CHECK(::readv(fd, parts, negative) == -1);
  CHECK(errno == EINVAL);
  CHECK(notes->of(interpose::Op::read, true).size() == 3);
  const auto writes = notes->of(interpose::Op::write, true);
  REQUIRE(writes.size() == 2);
  CHECK(writes[1].function.starts_with("pwritev"));  // with or without 64
  CHECK(writes[1].call.length_B == 5);
  CHECK(writes[1].call.offset_B == 7);
  CHECK(::close(fd) == 0);
  interpose::unobserve("/tiny_served/dev/add");
}

TEST_CASE("a forked child has its own copy of the descriptors, told of the fork") {
  Served served;
  const int fd = open_add();
  CHECK(in_child([&] {
          if (served.log.forked != 1) return 1;
          if (!adds(fd)) return 2;
          if (::close(fd) != 0 || served.log.released != 1) return 3;
          return open_add() == fd ? 0 : 4;
        }) == 0);
  CHECK(served.log.forked == 0);
  CHECK(adds(fd));
  CHECK(::close(fd) == 0);
}

TEST_CASE("what a child of vfork closes stays open in its parent") {
  Served served;
  const int fd = open_add();
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::close(fd);
    ::_exit(0);
  }
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  CHECK(adds(fd));
  CHECK(::close(fd) == 0);
  CHECK(served.log.released == 1);
}

TEST_CASE("exec keeps or closes a fake descriptor as O_CLOEXEC says") {
  Served served;
  const int kept = ::open("/tiny_served/sys/name", O_RDONLY),
            gone = ::open("/tiny_served/sys/name", O_RDONLY | O_CLOEXEC);
  const std::string script = "read x <&" + std::to_string(kept) +
                             " && [ $x = gfx1100 ] && [ ! -e /proc/self/fd/" +
                             std::to_string(gone) + " ]";
  const char* const arguments[] = {"sh", "-c", script.c_str(), nullptr};
  pid_t pid = 0;
  REQUIRE(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments),
                        environ) == 0);
  int status = -1;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  CHECK(::close(kept) == 0);
  CHECK(::close(gone) == 0);
}

TEST_CASE("an observer sees calls on a real file before and after") {
  Observed observed;
  const int fd = ::open(observed.path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  CHECK(::write(fd, "ab", 2) == 2);
  char bytes[2];
  CHECK(::pread(fd, bytes, 2, 1) == 2);
  CHECK(::ioctl(fd, 0x5401, bytes) == -1);
  CHECK(errno == ENOTTY);
  const int other = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  CHECK(::close(other) == 0);
  CHECK(::close(fd) == 0);
  auto& notes = *observed.notes;
  using interpose::Op;
  REQUIRE(notes.notes.size() == 14);
  CHECK(notes.of(Op::open, false).at(0).call.fd == -1);
  CHECK(notes.of(Op::open, true).at(0).call.fd == fd);
  CHECK(notes.of(Op::open, true).at(0).path == observed.path);
  const auto id = notes.of(Op::open, true).at(0).call.description;
  CHECK(id > 0);
  CHECK(notes.of(Op::write, true).at(0).call.result == 2);
  CHECK(notes.of(Op::read, true).at(0).call.offset_B == 1);
  CHECK(notes.of(Op::ioctl, false).at(0).call.request == 0x5401);
  CHECK(notes.of(Op::ioctl, true).at(0).call.result == -ENOTTY);
  CHECK(notes.of(Op::dup, true).at(0).call.new_fd == other);
  CHECK(notes.of(Op::close, true).at(1).call.description == id);
  for (const auto& note : notes.of(Op::close, true)) CHECK(note.call.result == 0);
}

TEST_CASE("an observer sees mappings of a real file, and every way they end") {
  Observed observed;
  using interpose::Op;
  const int fd = ::open(observed.path.c_str(), O_RDWR | O_CLOEXEC);
  auto* const at = static_cast<char*>(::mmap(nullptr, 4 * 4096, PROT_READ, MAP_SHARED, fd, 4096));
  REQUIRE(at != MAP_FAILED);
  auto& notes = *observed.notes;
  CHECK(notes.of(Op::mmap, true).at(0).call.result ==
        interpose::Result(reinterpret_cast<std::uintptr_t>(at)));
  CHECK(notes.of(Op::mmap, true).at(0).call.mapping > 0);
  CHECK(::mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
  CHECK(notes.of(Op::mprotect, true).at(0).parts.size() == 1);
  CHECK(::munmap(at + 4096, 4096) == 0);
  CHECK(notes.of(Op::munmap, false).at(0).parts.at(0).offset_B == 2 * 4096);
  void* const moved = ::mremap(at, 4096, 2 * 4096, MREMAP_MAYMOVE);
  REQUIRE(moved != MAP_FAILED);
  CHECK(notes.of(Op::mremap, true).at(0).parts.size() == 1);
  CHECK(::mmap(at + 2 * 4096, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == at + 2 * 4096);
  CHECK(notes.of(Op::munmap, true).back().function == "mmap");
  CHECK(notes.of(Op::munmap, true).back().parts.at(0).length_B == 2 * 4096);
  CHECK(::munmap(moved, 2 * 4096) == 0);
  CHECK(notes.of(Op::munmap, true).back().parts.at(0).length_B == 2 * 4096);
  CHECK(::munmap(at, 4 * 4096) == 0);
  CHECK(notes.of(Op::munmap, true).size() == 3);
  CHECK(interpose::mappings().empty());
  CHECK(::close(fd) == 0);
}

TEST_CASE("an observer sees a served device, and may change what a call returns") {
  struct Changes : Notes {
    void after(interpose::Call& call) override {
      Notes::after(call);
      if (call.op == interpose::Op::ioctl && call.result == -EPERM) call.result = 42;
    }
  };
  Served served;
  const auto changes = std::make_shared<Changes>();
  interpose::observe("/tiny_served/dev/*", changes);
  const int fd = open_add();
  CHECK(adds(fd));
  CHECK(::ioctl(fd, test::kRefuse, nullptr) == 42);
  CHECK(::open("/tiny_served/dev/none", O_RDONLY) == -1);
  CHECK(changes->of(interpose::Op::open, true).at(1).call.result == -ENOENT);
  CHECK(::close(fd) == 0);
  CHECK(changes->notes.size() == 10);
  interpose::unobserve("/tiny_served/dev/*");
}

TEST_CASE("an observer that throws does not disturb the call") {
  struct Throws : interpose::Observer {
    void before(interpose::Call&) override { throw std::runtime_error("before"); }
    void after(interpose::Call&) override { throw 5; }
  };
  Served served;
  interpose::observe("/tiny_served/dev/add", std::make_shared<Throws>());
  const int fd = open_add();
  CHECK(adds(fd));
  CHECK(::close(fd) == 0);
  interpose::unobserve("/tiny_served/dev/add");
}

TEST_CASE("syscall() is routed as if the function had been called by name") {
  Served served;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, "/tiny_served/dev/add", O_RDWR, 0);
  REQUIRE(fd >= 0);
  AddCall call{20, 22, 0};
  CHECK(::syscall(SYS_ioctl, fd, test::kAdd, &call) == 0);
  CHECK(call.sum == 42);
  const long at = ::syscall(SYS_mmap, nullptr, 4096L, long(PROT_READ), long(MAP_SHARED), fd, 0L);
  CHECK(interpose::mappings().size() == 1);
  CHECK(::syscall(SYS_munmap, at, 4096L) == 0);
  unsigned char bytes[2];
  CHECK(::syscall(SYS_pread64, fd, bytes, 2L, 9L) == 2);
  CHECK(bytes[0] == 9);
  CHECK(::syscall(SYS_read, fd, bytes, 2L) == 2);
  CHECK(::syscall(SYS_lseek, fd, 7L, long(SEEK_SET)) == 7);
  struct ::stat facts{};
  CHECK(::syscall(SYS_fstat, fd, &facts) == 0);
  CHECK(S_ISCHR(facts.st_mode));
  CHECK(::syscall(SYS_newfstatat, AT_FDCWD, "/tiny_served/sys", &facts, 0L) == 0);
  CHECK(S_ISDIR(facts.st_mode));
  CHECK(::syscall(SYS_faccessat, AT_FDCWD, "/tiny_served/none", long(F_OK)) == -1);
  const long other = ::syscall(SYS_dup, fd);
  CHECK(adds(int(other)));
  CHECK(::syscall(SYS_close, other) == 0);
  CHECK(::syscall(SYS_close, fd) == 0);
  CHECK(served.log.released == 1);
  CHECK(::syscall(SYS_getpid) == ::getpid());
}

#if defined(__x86_64__)
TEST_CASE("devices opened and mapped behind our back are found") {
  Observed observed;
  CHECK(interpose::find_bypasses().empty());
  const int seen = ::open(observed.path.c_str(), O_RDWR | O_CLOEXEC);
  CHECK(interpose::find_bypasses().empty());
  const long fd = inline_syscall(SYS_open, long(observed.path.c_str()), O_RDWR, 0);
  REQUIRE(fd >= 0);
  void* at = nullptr;
  {
    const interpose::PassThrough pass;
    at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, int(fd), 0);
  }
  const auto found = interpose::find_bypasses();
  REQUIRE(found.size() == 2);
  CHECK(found[0].fd == fd);
  CHECK(found[0].path == observed.path);
  CHECK(found[1].address == reinterpret_cast<std::uintptr_t>(at));
  ::munmap(at, 4096);
  ::close(int(fd));
  ::close(seen);
}
#endif

TEST_CASE("threads open, use, duplicate, map and close at once") {
  Served served;
  std::atomic<int> failures = 0;
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) {
      const int fd = open_add(), other = ::dup(fd);
      void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, 0);
      const int plain = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (!adds(fd) || !adds(other) || at == MAP_FAILED || adds(plain)) ++failures;
      if (::close(fd) + ::close(plain) + ::munmap(at, 4096) + ::close(other) != 0) ++failures;
      served.tree->add_file("/tiny_served/sys/changing", std::to_string(i));
      const int file = ::open("/tiny_served/sys/changing", O_RDONLY | O_CLOEXEC);
      if (file < 0 || ::close(file) != 0) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(served.log.opened == 400);
  CHECK(served.log.released == 400);
}

TEST_CASE("forks while other threads use devices do not hang") {
  Served served;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      const int fd = open_add();
      adds(fd);
      ::close(fd);
    }
  });
  for (int i = 0; i < 20; ++i)
    CHECK(in_child([] {
            const int fd = open_add();
            return fd >= 0 && ::close(fd) == 0 ? 0 : 1;
          }) == 0);
  stop = true;
  other.join();
}
