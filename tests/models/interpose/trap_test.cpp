// SPDX-License-Identifier: MIT
#include "models/interpose/trap.h"

#include "models/interpose/interpose.h"
#include "models/interpose/trap_decode.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#if defined(__x86_64__)

#if defined(__SANITIZE_THREAD__)
/// Callbacks run in a handler of a synchronous signal, at a known store of the program: they may do
/// what a function called there might.
extern "C" const char* __tsan_default_options();
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "report_signal_unsafe=0";
}
#endif

using namespace tiny;
using interpose::Store;

namespace {

constexpr std::size_t kPage = 4096;

/// Pages under watch, and the stores that were told.
struct Watched {
  std::byte* page = nullptr;
  int watch = 0;
  std::mutex lock;
  std::vector<Store> stores;

  explicit Watched(bool shared = true, std::size_t pages = 1) {
    const int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
    page = static_cast<std::byte*>(
        ::mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, flags, -1, 0));
    REQUIRE(page != MAP_FAILED);
    watch = interpose::watch_stores(page, pages * kPage, PROT_READ | PROT_WRITE,
                                    [this](const Store& store) {
                                      const std::lock_guard guard(lock);
                                      stores.push_back(store);
                                    });
    REQUIRE(watch > 0);
    length_B = pages * kPage;
  }
  ~Watched() {
    interpose::unwatch_stores(watch);
    ::munmap(page, length_B);
  }
  std::size_t length_B = 0;

  /// The one store that was told since the last call; size_B is 99 where it was not one.
  Store take() {
    const Store store = stores.size() == 1 ? stores[0] : Store{.address = 0, .size_B = 99};
    stores.clear();
    return store;
  }
  template <typename T>
  T at(std::size_t offset_B) const {
    T value;
    std::memcpy(&value, page + offset_B, sizeof value);
    return value;
  }
  std::uintptr_t address(std::size_t offset_B) const {
    return reinterpret_cast<std::uintptr_t>(page) + offset_B;
  }
};

/// Not instrumented: a sanitizer would look at the address before the instruction does.
#define PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

#define STORE_CASE(text, ...) __asm__ volatile(text : : __VA_ARGS__ : "memory", "cc")

void check_moves(Watched& w) {
  std::byte* const p = w.page;
  const auto told = [&](std::size_t offset_B, std::uint32_t size_B, std::uint64_t value) {
    const Store store = w.take();
    CHECK(store.address == w.address(offset_B));
    CHECK(store.size_B == size_B);
    CHECK(store.word() == value);
    CHECK(store.exact);
    std::uint64_t memory = 0;
    std::memcpy(&memory, p + offset_B, size_B);
    CHECK(memory == value);
  };
  STORE_CASE("movb %b0, 8(%1)", "q"(0x12), "r"(p));
  told(8, 1, 0x12);
  __asm__ volatile("movl $0x3412, %%eax\n movb %%ah, 9(%0)" : : "r"(p) : "rax", "memory");
  told(9, 1, 0x34);
  STORE_CASE("movw %w0, 10(%1)", "r"(0x1234), "r"(p));
  told(10, 2, 0x1234);
  STORE_CASE("movl %k0, 16(%1)", "r"(0x12345678), "r"(p));
  told(16, 4, 0x12345678);
  STORE_CASE("movq %q0, 24(%1)", "r"(0x1122334455667788), "r"(p));
  told(24, 8, 0x1122334455667788);
  STORE_CASE("movb $0x77, (%0)", "r"(p));
  told(0, 1, 0x77);
  STORE_CASE("movw $0x7788, (%0)", "r"(p));
  told(0, 2, 0x7788);
  STORE_CASE("movl $0x778899aa, 4(%0)", "r"(p));
  told(4, 4, 0x778899aa);
  STORE_CASE("movq $-2, 512(%0)", "r"(p));
  told(512, 8, 0xfffffffffffffffe);
  STORE_CASE("movnti %k0, 32(%1)", "r"(0xabcdef), "r"(p));
  told(32, 4, 0xabcdef);
  STORE_CASE("movnti %q0, 40(%1)", "r"(0xabcdef0123), "r"(p));
  told(40, 8, 0xabcdef0123);
  STORE_CASE("movl %k0, -64(%1,%q2,8)", "r"(0x55), "r"(p), "r"(16L));
  told(64, 4, 0x55);
  register std::byte* r13 __asm__("r13") = p;
  STORE_CASE("movq %q0, 0(%1)", "r"(0x99), "r"(r13));
  told(0, 8, 0x99);
  STORE_CASE("movq %0, 48(%0)", "r"(p));
  told(48, 8, w.address(0));
}

void check_vectors(Watched& w) {
  std::byte* const p = w.page;
  alignas(16)
      const unsigned char bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  using Vector = long long __attribute__((vector_size(16)));
  Vector value;
  std::memcpy(&value, bytes, 16);
  const auto told = [&](std::uint32_t size_B, int from) {
    const Store store = w.take();
    CHECK(store.size_B == size_B);
    CHECK(std::memcmp(store.value.data(), bytes + from, size_B) == 0);
    CHECK(std::memcmp(p + 64, bytes + from, size_B) == 0);
    CHECK(store.exact);
  };
  STORE_CASE("movups %0, 64(%1)", "x"(value), "r"(p));
  told(16, 0);
  STORE_CASE("movaps %0, 64(%1)", "x"(value), "r"(p));
  told(16, 0);
  STORE_CASE("movdqu %0, 64(%1)", "x"(value), "r"(p));
  told(16, 0);
  STORE_CASE("movntdq %0, 64(%1)", "x"(value), "r"(p));
  told(16, 0);
  STORE_CASE("movq %0, 64(%1)", "x"(value), "r"(p));
  told(8, 0);
  STORE_CASE("movhps %0, 64(%1)", "x"(value), "r"(p));
  told(8, 8);
  STORE_CASE("movsd %0, 64(%1)", "x"(value), "r"(p));
  told(8, 0);
  STORE_CASE("movss %0, 64(%1)", "x"(value), "r"(p));
  told(4, 0);
  STORE_CASE("movd %0, 64(%1)", "x"(value), "r"(p));
  told(4, 0);
  if (__builtin_cpu_supports("avx2")) {
    STORE_CASE("vmovdqu %0, 64(%1)", "x"(value), "r"(p));
    told(16, 0);
    STORE_CASE("vmovdqa %%ymm0, 128(%0)\n vzeroupper", "r"(p));
    CHECK(w.take().size_B == 32);
  }
}

void check_read_modify_writes(Watched& w) {
  std::byte* const p = w.page;
  const auto told = [&](std::uint32_t size_B, std::uint64_t value) {
    const Store store = w.take();
    CHECK(store.address == w.address(8));
    CHECK(store.size_B == size_B);
    CHECK(store.word() == value);
    std::uint64_t memory = 0;
    std::memcpy(&memory, p + 8, size_B);
    CHECK(memory == value);
  };
  STORE_CASE("movq $5, 8(%0)", "r"(p));
  told(8, 5);
  STORE_CASE("lock addq $7, 8(%0)", "r"(p));
  told(8, 12);
  STORE_CASE("lock incl 8(%0)", "r"(p));
  told(4, 13);
  STORE_CASE("orq %q0, 8(%1)", "r"(0x100), "r"(p));
  told(8, 0x10d);
  std::uint64_t old = 1;
  __asm__ volatile("lock xaddq %0, 8(%1)" : "+r"(old) : "r"(p) : "memory", "cc");
  CHECK(old == 0x10d);
  told(8, 0x10e);
  old = 77;
  __asm__ volatile("xchgq %0, 8(%1)" : "+r"(old) : "r"(p) : "memory");
  CHECK(old == 0x10e);
  told(8, 77);
  std::uint32_t half = 0xffffffff;
  __asm__ volatile("xchgb %b0, 8(%1)" : "+q"(half) : "r"(p) : "memory");
  CHECK(half == 0xffffff4d);
  told(1, 0xff);
  std::uint64_t expected = 0xff;
  __asm__ volatile("lock cmpxchgq %2, 8(%1)" : "+a"(expected) : "r"(p), "r"(9L) : "memory", "cc");
  told(8, 9);
  std::byte* self = p;
  __asm__ volatile("xchgq %0, 8(%0)" : "+r"(self) : : "memory");  // the base is the source
  CHECK(self == reinterpret_cast<std::byte*>(9));
  told(8, w.address(0));
  std::uint64_t flags = 0;
  __asm__ volatile("movq $0, 8(%1)\n lock subq $1, 8(%1)\n pushfq\n popq %0"
                   : "=r"(flags)
                   : "r"(p)
                   : "memory", "cc");
  CHECK((flags & 0x101) == 1);  // carry of the subtraction; the trap flag did not leak
  CHECK(w.stores.size() == 2);
  w.stores.clear();
}

void check_strings(Watched& w) {
  std::byte* const p = w.page;
  void* to = p + 256;
  std::size_t count = 5;
  __asm__ volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(0x41424344) : "memory");
  CHECK(to == p + 276);
  CHECK(count == 0);
  REQUIRE(w.stores.size() == 5);
  CHECK(w.stores[4].address == w.address(272));
  CHECK(w.stores[4].word() == 0x41424344);
  CHECK(w.at<std::uint32_t>(272) == 0x41424344);
  w.stores.clear();
  const char text[] = "abc";
  const void* from = text;
  to = p + 300;
  count = 3;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  CHECK(w.stores.size() == 3);
  CHECK(std::memcmp(p + 300, "abc", 3) == 0);
  w.stores.clear();
}

/// Told from a child: what it stored must be seen here.
PLAIN void store32(void* to, std::uint32_t value) {
  *static_cast<volatile std::uint32_t*>(to) = value;
}

sigjmp_buf g_jump;
void jump(int, siginfo_t*, void*) { ::siglongjmp(g_jump, 1); }

}  // namespace

TEST_CASE("stores to shared pages are done on a second mapping and told") {
  Watched w;
  CHECK(interpose::trap_method(w.watch) == interpose::TrapMethod::alias);
  CHECK(interpose::trap_alias(w.watch) != nullptr);
  check_moves(w);
  check_vectors(w);
  check_read_modify_writes(w);
  check_strings(w);
}

TEST_CASE("stores to pages that cannot be mapped twice are single-stepped and told") {
  Watched w(false);
  CHECK(interpose::trap_method(w.watch) == interpose::TrapMethod::single_step);
  CHECK(interpose::trap_alias(w.watch) == nullptr);
  check_moves(w);
  check_vectors(w);
  check_read_modify_writes(w);
  check_strings(w);
}

TEST_CASE("reads of watched pages, and writes through the alias, are not told") {
  Watched w;
  std::memcpy(static_cast<std::byte*>(interpose::trap_alias(w.watch)) + 100, "abc", 3);
  CHECK(std::memcmp(w.page + 100, "abc", 3) == 0);
  CHECK(w.stores.empty());
}

TEST_CASE("a watch ends by unwatch and by munmap, and follows mprotect") {
  Watched w(true, 3);
  store32(w.page + kPage, 1);
  CHECK(w.take().word() == 1);
  CHECK(::mprotect(w.page, 3 * kPage, PROT_READ | PROT_WRITE) == 0);
  store32(w.page, 2);
  CHECK(w.take().word() == 2);
  CHECK(::munmap(w.page + kPage, kPage) == 0);
  CHECK(::mmap(w.page + kPage, kPage, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == w.page + kPage);
  store32(w.page + kPage, 3);
  CHECK(w.stores.empty());
  store32(w.page + 2 * kPage, 4);
  CHECK(w.take().word() == 4);
  CHECK(interpose::unwatch_stores(w.watch) == 0);
  store32(w.page, 5);
  store32(w.page + 2 * kPage, 6);
  CHECK(w.stores.empty());
  CHECK(interpose::unwatch_stores(w.watch) == -ENOENT);
}

TEST_CASE("mprotect of a part of a watch leaves the rest of it as it was") {
  for (const bool shared : {true, false}) {
    Watched w(shared, 4);
    CHECK(::mprotect(w.page + kPage, kPage, PROT_READ) == 0);
    store32(w.page, 1);
    CHECK(w.take().word() == 1);
    store32(w.page + 2 * kPage, 2);
    CHECK(w.take().word() == 2);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::signal(SIGSEGV, [](int) { ::_exit(7); });
      store32(w.page + kPage, 3);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
    CHECK(::mprotect(w.page, 2 * kPage, PROT_READ | PROT_WRITE) == 0);
    store32(w.page + kPage, 4);
    CHECK(w.take().word() == 4);
    CHECK(interpose::unwatch_stores(w.watch) == 0);
    for (std::size_t i = 0; i < 4; ++i) store32(w.page + i * kPage, 5);
    CHECK(w.stores.empty());
  }
}

TEST_CASE("what cannot be watched is refused") {
  Watched w;
  const auto nothing = [](const Store&) {};
  CHECK(interpose::watch_stores(w.page, kPage, PROT_READ, nothing) == -EBUSY);
  CHECK(interpose::watch_stores(w.page + 8, kPage, PROT_READ, nothing) == -EINVAL);
  CHECK(interpose::watch_stores(w.page, 0, PROT_READ, nothing) == -EINVAL);
  void* const gone = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::munmap(gone, kPage);
  CHECK(interpose::watch_stores(gone, kPage, PROT_READ | PROT_WRITE, nothing) == -ENOMEM);
}

TEST_CASE("threads store at once and none of their stores is missed") {
  for (const bool shared : {true, false}) {
    std::atomic<int> told = 0;
    Watched w(shared, 4);
    interpose::unwatch_stores(w.watch);
    w.watch = interpose::watch_stores(w.page, w.length_B, PROT_READ | PROT_WRITE,
                                      [&](const Store&) { ++told; });
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        for (std::uint32_t n = 1; n <= 200; ++n) {
          store32(w.page + i * kPage, n);
          if (shared) STORE_CASE("lock incq 8(%0)", "r"(w.page));
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 4; ++i) CHECK(w.at<std::uint32_t>(i * kPage) == 200);
    CHECK(told == (shared ? 1600 : 800));  // single-stepped: four pages, one window at a time
    if (shared) CHECK(w.at<std::uint64_t>(8) == 800);
  }
}

TEST_CASE("watches come and go while another thread stores") {
  auto* const page = static_cast<std::byte*>(
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::atomic<bool> stop = false;
  std::atomic<int> told = 0;
  std::thread writer([&] {
    for (std::uint32_t n = 0; !stop; ++n) store32(page, n);
  });
  for (int i = 0; i < 100; ++i) {
    const int watch =
        interpose::watch_stores(page, kPage, PROT_READ | PROT_WRITE, [&](const Store&) { ++told; });
    CHECK(watch > 0);
    CHECK(interpose::unwatch_stores(watch) == 0);
  }
  const int watch =
      interpose::watch_stores(page, kPage, PROT_READ | PROT_WRITE, [&](const Store&) { ++told; });
  for (const int before = told; told < before + 10;) std::this_thread::yield();
  CHECK(interpose::unwatch_stores(watch) == 0);
  stop = true;
  writer.join();
  ::munmap(page, kPage);
}

TEST_CASE("a callback may end its own watch, and may throw") {
  Watched w;
  interpose::unwatch_stores(w.watch);
  int calls = 0;
  w.watch = interpose::watch_stores(w.page, kPage, PROT_READ | PROT_WRITE, [&](const Store&) {
    ++calls;
    interpose::unwatch_stores(w.watch);
    throw 1;
  });
  store32(w.page, 1);
  store32(w.page, 2);
  CHECK(calls == 1);
  CHECK(w.at<std::uint32_t>(0) == 2);
}

TEST_CASE("the program's own SIGSEGV handler gets its own faults, and does not displace ours") {
  Watched w;
  struct ::sigaction action{}, old{}, seen{};
  action.sa_sigaction = jump;
  action.sa_flags = SA_SIGINFO;
  CHECK(::sigaction(SIGSEGV, &action, &old) == 0);
  CHECK(::sigaction(SIGSEGV, nullptr, &seen) == 0);
  CHECK(seen.sa_sigaction == jump);
  void* const closed = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int jumps = 0;
  if (sigsetjmp(g_jump, 1) == 0)
    store32(closed, 1);
  else
    ++jumps;
  CHECK(jumps == 1);
  store32(w.page, 7);
  CHECK(w.take().word() == 7);
  CHECK(::sigaction(SIGSEGV, &old, nullptr) == 0);
  store32(w.page, 8);
  CHECK(w.take().word() == 8);
  const auto handler = ::signal(SIGTRAP, SIG_IGN);
  store32(w.page, 9);
  CHECK(w.take().word() == 9);
  CHECK(::signal(SIGTRAP, handler) == SIG_IGN);
  ::munmap(closed, kPage);
}

TEST_CASE("a thread that blocks all signals may still store") {
  interpose::mount("/tiny_mask", std::make_shared<interpose::Tree>());
  Watched w;
  std::thread thread([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    store32(w.page, 11);
    STORE_CASE("lock incl (%0)", "r"(w.page));
  });
  thread.join();
  CHECK(w.stores.size() == 2);
  CHECK(w.at<std::uint32_t>(0) == 12);
  interpose::unmount("/tiny_mask");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a fault that is nobody's still kills the process, also with watches") {
  Watched w;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    store32(w.page, 1);
    store32(const_cast<char*>("constant"), 1);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  CHECK(w.at<std::uint32_t>(0) == 1);  // shared memory: the child's store went through its alias
}
#endif

TEST_CASE("the decoder sizes stores and does not take loads or unknown bytes for moves") {
  using Bytes = std::vector<std::uint8_t>;
  const auto decode = [](Bytes code) {
    code.resize(32, 0x90);
    return interpose::decode_store(code.data());
  };
  using Kind = interpose::Instruction::Kind;
  // 41 c7 44 24 08 …: mov dword [r12+8], imm32
  auto store = decode({0x41, 0xc7, 0x44, 0x24, 0x08, 0x78, 0x56, 0x34, 0x12});
  CHECK(store.kind == Kind::mov_immediate);
  CHECK(store.length_B == 9);
  CHECK(store.to.base == 12);
  CHECK(store.to.index == -1);
  CHECK(store.to.displacement == 8);
  CHECK(store.immediate == 0x12345678);
  // 48 89 05 …: mov [rip+0x100], rax
  store = decode({0x48, 0x89, 0x05, 0x00, 0x01, 0x00, 0x00});
  CHECK(store.to.relative_to_next);
  CHECK(store.to.base == -1);
  CHECK(store.length_B == 7);
  // 64 89 04 25 …: mov fs:[abs], eax
  CHECK_FALSE(decode({0x64, 0x89, 0x04, 0x25, 0, 0, 0, 0}).plain_segment);
  CHECK(decode({0x8b, 0x00}).kind == Kind::unknown);                 // mov eax, [rax]
  CHECK(decode({0xf3, 0x0f, 0x7e, 0x00}).kind == Kind::unknown);     // movq xmm0, [rax]
  CHECK(decode({0x89, 0xc0}).kind == Kind::unknown);                 // mov eax, eax
  CHECK(decode({0x67, 0x89, 0x00}).kind == Kind::unknown);           // 32-bit address
  CHECK(decode({0xc4, 0xc1, 0x7a, 0x7f, 0x06}).to.base == 14);       // vmovdqu [r14], xmm0
  CHECK(decode({0xc5, 0xfe, 0x7f, 0x00}).size_B == 32);              // vmovdqu [rax], ymm0
  CHECK_FALSE(decode({0x48, 0x87, 0x00}).base_is_free);              // xchg [rax], rax
  CHECK_FALSE(decode({0xf0, 0x48, 0x0f, 0xb1, 0x10}).base_is_free);  // lock cmpxchg [rax], rdx
}

TEST_CASE("the decoder ends on every start of bytes") {
  std::uint64_t state = 1;
  int moves = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::uint8_t code[32];
    for (auto& byte : code) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = std::uint8_t(state >> 56);
    }
    const auto store = interpose::decode_store(code);
    if (store.length_B > sizeof code) FAIL("length " << store.length_B);
    moves += store.is_move();
  }
  CHECK(moves > 0);
}

#endif  // __x86_64__
