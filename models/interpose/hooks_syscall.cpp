// SPDX-License-Identifier: MIT
// The C library's syscall(): what it asks of the kernel by number is routed as if it were called by
// name. An inline `syscall` instruction stays unseen; find_bypasses() tells of its traces.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tiny::interpose {
namespace {

template <typename T>
T pointer(long value) {
  return reinterpret_cast<T>(value);
}

long from_pointer(void* mapped) { return reinterpret_cast<long>(mapped); }

}  // namespace
}  // namespace tiny::interpose

using namespace tiny::interpose;

TINY_HOOK(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  if (t_inside != 0) return real::syscall(number, a, b, c, d, e, f);
  switch (number) {
#ifdef SYS_open
    case SYS_open:
      return open_at("syscall", AT_FDCWD, pointer<const char*>(a), int(b), mode_t(c));
    case SYS_creat:
      return open_at("syscall", AT_FDCWD, pointer<const char*>(a), O_CREAT | O_WRONLY | O_TRUNC,
                     mode_t(b));
    case SYS_dup2:
      return ::dup2(int(a), int(b));
    case SYS_poll:
      return ::poll(pointer<pollfd*>(a), nfds_t(b), int(c));
    case SYS_stat:
      return stat_at(AT_FDCWD, pointer<const char*>(a), pointer<struct ::stat*>(b), 0);
    case SYS_lstat:
      return stat_at(AT_FDCWD, pointer<const char*>(a), pointer<struct ::stat*>(b),
                     AT_SYMLINK_NOFOLLOW);
    case SYS_access:
      return ::access(pointer<const char*>(a), int(b));
    case SYS_readlink:
      return ::readlink(pointer<const char*>(a), pointer<char*>(b), size_t(c));
    case SYS_unlink:
      return ::unlink(pointer<const char*>(a));
    case SYS_rename:
      return ::rename(pointer<const char*>(a), pointer<const char*>(b));
    case SYS_chmod:
      return ::chmod(pointer<const char*>(a), mode_t(b));
    case SYS_mkdir:
      return ::mkdir(pointer<const char*>(a), mode_t(b));
#endif
    case SYS_openat:
      return open_at("syscall", int(a), pointer<const char*>(b), int(c), mode_t(d));
    case SYS_close:
      return close_fd("syscall", int(a));
    case SYS_close_range:
      return ::close_range(unsigned(a), unsigned(b), int(c));
    case SYS_read:
      return ::read(int(a), pointer<void*>(b), size_t(c));
    case SYS_pread64:
      return ::pread(int(a), pointer<void*>(b), size_t(c), d);
    case SYS_write:
      return ::write(int(a), pointer<const void*>(b), size_t(c));
    case SYS_pwrite64:
      return ::pwrite(int(a), pointer<const void*>(b), size_t(c), d);
    case SYS_lseek:
      return ::lseek(int(a), b, int(c));
    case SYS_ioctl:
      return ::ioctl(int(a), static_cast<unsigned long>(b), pointer<void*>(c));
    case SYS_mmap:
      return from_pointer(::mmap(pointer<void*>(a), size_t(b), int(c), int(d), int(e), f));
    case SYS_munmap:
      return ::munmap(pointer<void*>(a), size_t(b));
    case SYS_mremap:
      return from_pointer(
          ::mremap(pointer<void*>(a), size_t(b), size_t(c), int(d), pointer<void*>(e)));
    case SYS_mprotect:
      return ::mprotect(pointer<void*>(a), size_t(b), int(c));
    case SYS_dup:
      return ::dup(int(a));
    case SYS_dup3:
      return ::dup3(int(a), int(b), int(c));
    case SYS_fcntl:
      return ::fcntl(int(a), int(b), c);
    case SYS_fstat:
      return fstat_fd(int(a), pointer<struct ::stat*>(b));
    case SYS_newfstatat:
      return stat_at(int(a), pointer<const char*>(b), pointer<struct ::stat*>(c), int(d));
    case SYS_statx:
      return ::statx(int(a), pointer<const char*>(b), int(c), unsigned(d),
                     pointer<struct ::statx*>(e));
    case SYS_faccessat:
      return ::faccessat(int(a), pointer<const char*>(b), int(c), 0);
    case SYS_readlinkat:
      return ::readlinkat(int(a), pointer<const char*>(b), pointer<char*>(c), size_t(d));
    case SYS_faccessat2:
      return ::faccessat(int(a), pointer<const char*>(b), int(c), int(d));
    case SYS_getdents64:
      return list_entries(int(a), pointer<void*>(b), size_t(c));
    case SYS_readv:
      return ::readv(int(a), pointer<const iovec*>(b), int(c));
    case SYS_writev:
      return ::writev(int(a), pointer<const iovec*>(b), int(c));
    case SYS_unlinkat:
      return ::unlinkat(int(a), pointer<const char*>(b), int(c));
    case SYS_renameat2:
      return ::renameat2(int(a), pointer<const char*>(b), int(c), pointer<const char*>(d),
                         unsigned(e));
    case SYS_fchmodat:
      return ::fchmodat(int(a), pointer<const char*>(b), mode_t(c), 0);
    case SYS_mkdirat:
      return ::mkdirat(int(a), pointer<const char*>(b), mode_t(c));
    case SYS_mknodat:
      return ::mknodat(int(a), pointer<const char*>(b), mode_t(c), dev_t(d));
    case SYS_truncate:
      return ::truncate(pointer<const char*>(a), b);
    default:
      return real::syscall(number, a, b, c, d, e, f);
  }
}
