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
// RTLD_NEXT. The sanitizer starts in the executable's .preinit_array, before any constructor can
// call us. Nothing is switched off for them.
#pragma once

#include "models/interpose/state.h"

#include <errno.h>

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

/// A served path that is opened: a new descriptor, or -errno.
Result open_served(const Located& at, int flags, mode_t mode, std::uint64_t& id);

void fill_stat(const Node& node, std::size_t size_B, struct ::stat& to);
/// May somebody do what `mode` (R_OK | W_OK | X_OK) asks? Anyone's permission is good enough.
bool permits(const Node& node, int mode);

/// Told of a range that is unmapped or replaced, and of a changed protection (true: all done).
void trap_unmapped(std::uintptr_t address, std::size_t length_B);
bool trap_protect(std::uintptr_t address, std::size_t length_B, int prot, int& result);

}  // namespace tiny::interpose
