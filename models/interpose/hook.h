// SPDX-License-Identifier: MIT
// How a function of the C library is replaced, and what several hooks share.
//
// A hook has a C++ name of its own and the C library's symbol by asm label: so it meets neither the
// headers' attributes nor their redirections (open to open64 under _FILE_OFFSET_BITS=64), and the
// fortified twins need no declaration. Variadic functions are defined with their largest fixed
// argument list, which the calling conventions of x86-64 and aarch64 Linux allow. off_t has 64 bits
// on both, hence the *64 twins are the same functions.
//
// Under ASan and TSan (GCC 12): the executable comes first in the search order, so libasan's and
// the C library's users find these definitions; real.h then reaches the sanitizer's interceptor by
// RTLD_NEXT. ASan instruments everything here. TSan does not instrument the files of hooks
// (meson.build): its runtime calls mmap while it starts, before instrumented code may run. What the
// hooks share (state.cpp, tree.cpp, trap.cpp) and handlers are instrumented, and the calls that a
// hook passes on are seen by the interceptors; plain accesses inside a hook are not.
#pragma once

#include "models/interpose/state.h"

#include <errno.h>
#include <fcntl.h>

#define TINY_HOOK(result, symbol, ...)                                                          \
  extern "C" [[gnu::visibility("default")]] result hook_##symbol(__VA_ARGS__) __asm__(#symbol); \
  extern "C" result hook_##symbol(__VA_ARGS__)

/// Of a fortified twin: the caller's buffer is smaller than it says.
extern "C" [[noreturn]] void __chk_fail() noexcept;

namespace tiny::interpose {

// Calls that other hooks and syscall() make. They behave like the hook of that name.
int open_at(const char* function, int dir, const char* path, int flags, mode_t mode);
int close_fd(const char* function, int fd);
int fstat_fd(int fd, struct ::stat* to);
int stat_at(int dir, const char* path, struct ::stat* to, int flags);
ssize_t list_entries(int fd, void* to, std::size_t size_B);  ///< getdents64

/// A served path that is opened: a new descriptor, or -errno.
Result open_served(const Located& at, int flags, mode_t mode, std::uint64_t& id);

void fill_stat(const Node& node, std::size_t size_B, struct ::stat& to);
/// May somebody do what `mode` (R_OK | W_OK | X_OK) asks? Anyone's permission is good enough.
bool permits(const Node& node, int mode);

/// Runs `served` for a served path (also an error); else `real`, with the path that links led to.
template <typename Served, typename RealCall>
auto by_path(const char* function, int dir, const char* path, bool follow, Served served,
             RealCall real_call) -> decltype(real_call(dir, path)) {
  using T = decltype(real_call(dir, path));
  const int saved = errno;
  const Guard guard;
  Located at;
  const Result located = guarded(function, [&] { return at = locate(dir, path, follow), 0; });
  if (located < 0) return to_libc<T>(located, saved);
  errno = saved;
  if (at.kind == Located::Kind::real) return real_call(dir, path);
  if (at.kind == Located::Kind::moved) return real_call(AT_FDCWD, at.path.c_str());
  if (at.kind == Located::Kind::error) return to_libc<T>(-at.error, saved);
  return to_libc<T>(guarded(function, [&]() -> Result { return served(at); }), saved);
}

/// Told of a range that is unmapped or replaced, and of a changed protection (true: all done).
void trap_unmapped(std::uintptr_t address, std::size_t length_B);
bool trap_protect(std::uintptr_t address, std::size_t length_B, int prot, int& result);

}  // namespace tiny::interpose
