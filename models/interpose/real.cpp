// SPDX-License-Identifier: MIT
#undef _FILE_OFFSET_BITS  // the plain names below are the plain symbols, as everywhere in this room
#include "models/interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tiny::interpose {
namespace {

/// Set while this thread is inside dlsym.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_looking_up = false;

template <typename... Args>
long call(long number, Args... args) {
  return real::system_call(number, (long)(args)...);
}

// The system calls behind the functions that an allocator or a loader may need inside dlsym.
int open_call(const char* path, int flags, mode_t mode) {
  return int(call(SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat_call(int dir, const char* path, int flags, mode_t mode) {
  return int(call(SYS_openat, dir, path, flags, mode));
}
int close_call(int fd) { return int(call(SYS_close, fd)); }
int close_range_call(unsigned first, unsigned last, int flags) {
  return int(call(SYS_close_range, first, last, flags));
}
ssize_t read_call(int fd, void* to, size_t size) { return call(SYS_read, fd, to, size); }
ssize_t pread_call(int fd, void* to, size_t size, off_t at) {
  return call(SYS_pread64, fd, to, size, at);
}
ssize_t write_call(int fd, const void* from, size_t size) {
  return call(SYS_write, fd, from, size);
}
ssize_t pwrite_call(int fd, const void* from, size_t size, off_t at) {
  return call(SYS_pwrite64, fd, from, size, at);
}
off_t lseek_call(int fd, off_t to, int whence) { return call(SYS_lseek, fd, to, whence); }
int ioctl_call(int fd, unsigned long request, void* argument) {
  return int(call(SYS_ioctl, fd, request, argument));
}
void* mmap_call(void* at, size_t size, int prot, int flags, int fd, off_t offset) {
  return (void*)call(SYS_mmap, at, size, prot, flags, fd, offset);
}
int munmap_call(void* at, size_t size) { return int(call(SYS_munmap, at, size)); }
void* mremap_call(void* at, size_t size, size_t new_size, int flags, void* to) {
  return (void*)call(SYS_mremap, at, size, new_size, flags, to);
}
int mprotect_call(void* at, size_t size, int prot) {
  return int(call(SYS_mprotect, at, size, prot));
}
int dup_call(int fd) { return int(call(SYS_dup, fd)); }
int dup3_call(int fd, int to, int flags) { return int(call(SYS_dup3, fd, to, flags)); }
int fcntl_call(int fd, int command, void* argument) {
  return int(call(SYS_fcntl, fd, command, argument));
}
int fstatat_call(int dir, const char* path, struct ::stat* to, int flags) {
  return int(call(SYS_newfstatat, dir, path, to, flags));
}
int stat_call(const char* path, struct ::stat* to) { return fstatat_call(AT_FDCWD, path, to, 0); }
int lstat_call(const char* path, struct ::stat* to) {
  return fstatat_call(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}
int fstat_call(int fd, struct ::stat* to) { return int(call(SYS_fstat, fd, to)); }
int access_call(const char* path, int mode) {
  return int(call(SYS_faccessat, AT_FDCWD, path, mode));
}
ssize_t readlinkat_call(int dir, const char* path, char* to, size_t size) {
  return call(SYS_readlinkat, dir, path, to, size);
}
ssize_t readlink_call(const char* path, char* to, size_t size) {
  return readlinkat_call(AT_FDCWD, path, to, size);
}
int mask_call(int how, const sigset_t* set, sigset_t* old) {
  return int(call(SYS_rt_sigprocmask, how, set, old, 8));
}
int pthread_mask_call(int how, const sigset_t* set, sigset_t* old) {
  return mask_call(how, set, old) == 0 ? 0 : errno;
}
long syscall_call(long number, long a, long b, long c, long d, long e, long f) {
  return real::system_call(number, a, b, c, d, e, f);
}

}  // namespace

AnyFunction find_next(const char* name) {
  if (t_looking_up) return nullptr;
  const int saved = errno;
  t_looking_up = true;
  void* const found = dlsym(RTLD_NEXT, name);
  t_looking_up = false;
  errno = saved;
  AnyFunction function = nullptr;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

void missing_function(const char* name) {
  real::system_call(SYS_write, 2, (long)name, (long)std::strlen(name));
  constexpr char kText[] = ": tiny interpose: no such function in the C library\n";
  real::system_call(SYS_write, 2, (long)kText, sizeof kText - 1);
  std::abort();
}

namespace real {

long system_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long result __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(result)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
#else
#error "the interposer knows the system calls of x86-64 and aarch64"
#endif
  if (result < 0 && result > -4096) {
    errno = int(-result);
    return -1;
  }
  return result;
}

#define TINY_REAL(name, fallback) \
  constinit decltype(name) name(#name, fallback, decltype(name)::first<name>)
TINY_REAL(open, open_call);
TINY_REAL(openat, openat_call);
TINY_REAL(close, close_call);
TINY_REAL(close_range, close_range_call);
TINY_REAL(read, read_call);
TINY_REAL(pread, pread_call);
TINY_REAL(write, write_call);
TINY_REAL(pwrite, pwrite_call);
TINY_REAL(lseek, lseek_call);
TINY_REAL(ioctl, ioctl_call);
TINY_REAL(mmap, mmap_call);
TINY_REAL(munmap, munmap_call);
TINY_REAL(mremap, mremap_call);
TINY_REAL(mprotect, mprotect_call);
TINY_REAL(dup, dup_call);
TINY_REAL(dup2, nullptr);
TINY_REAL(dup3, dup3_call);
TINY_REAL(fcntl, fcntl_call);
TINY_REAL(poll, nullptr);
TINY_REAL(ppoll, nullptr);
TINY_REAL(stat, stat_call);
TINY_REAL(lstat, lstat_call);
TINY_REAL(fstat, fstat_call);
TINY_REAL(fstatat, fstatat_call);
TINY_REAL(statx, nullptr);
TINY_REAL(access, access_call);
TINY_REAL(euidaccess, access_call);
TINY_REAL(faccessat, nullptr);
TINY_REAL(readlink, readlink_call);
TINY_REAL(readlinkat, readlinkat_call);
TINY_REAL(realpath, nullptr);
TINY_REAL(chdir, nullptr);
TINY_REAL(fchdir, nullptr);
TINY_REAL(getxattr, nullptr);
TINY_REAL(lgetxattr, nullptr);
TINY_REAL(listxattr, nullptr);
TINY_REAL(llistxattr, nullptr);
TINY_REAL(opendir, nullptr);
TINY_REAL(fdopendir, nullptr);
TINY_REAL(readdir, nullptr);
TINY_REAL(readdir_r, nullptr);
TINY_REAL(closedir, nullptr);
TINY_REAL(rewinddir, nullptr);
TINY_REAL(telldir, nullptr);
TINY_REAL(seekdir, nullptr);
TINY_REAL(dirfd, nullptr);
TINY_REAL(scandir, nullptr);
TINY_REAL(scandirat, nullptr);
TINY_REAL(fopen, nullptr);
TINY_REAL(freopen, nullptr);
TINY_REAL(fclose, nullptr);
TINY_REAL(select, nullptr);
TINY_REAL(pselect, nullptr);
TINY_REAL(readv, nullptr);
TINY_REAL(writev, nullptr);
TINY_REAL(preadv, nullptr);
TINY_REAL(pwritev, nullptr);
TINY_REAL(preadv2, nullptr);
TINY_REAL(pwritev2, nullptr);
TINY_REAL(getdents64, nullptr);
TINY_REAL(unlink, nullptr);
TINY_REAL(unlinkat, nullptr);
TINY_REAL(rmdir, nullptr);
TINY_REAL(remove, nullptr);
TINY_REAL(rename, nullptr);
TINY_REAL(renameat, nullptr);
TINY_REAL(renameat2, nullptr);
TINY_REAL(link, nullptr);
TINY_REAL(linkat, nullptr);
TINY_REAL(symlink, nullptr);
TINY_REAL(symlinkat, nullptr);
TINY_REAL(mkdir, nullptr);
TINY_REAL(mkdirat, nullptr);
TINY_REAL(mknod, nullptr);
TINY_REAL(mknodat, nullptr);
TINY_REAL(chmod, nullptr);
TINY_REAL(fchmodat, nullptr);
TINY_REAL(chown, nullptr);
TINY_REAL(lchown, nullptr);
TINY_REAL(fchownat, nullptr);
TINY_REAL(truncate, nullptr);
TINY_REAL(sigaction, nullptr);
TINY_REAL(signal, nullptr);
TINY_REAL(pthread_sigmask, pthread_mask_call);
TINY_REAL(sigprocmask, mask_call);
TINY_REAL(syscall, syscall_call);
#undef TINY_REAL

}  // namespace real
}  // namespace tiny::interpose
