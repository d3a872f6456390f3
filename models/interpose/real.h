// SPDX-License-Identifier: MIT
// The functions that the interposer stands in front of: the next definition in the search order.
// Under ASan and TSan that is the sanitizer's interceptor, which then calls the C library.
//
// Each is looked up at its first call. Looking up may allocate and so come back to us (malloc calls
// mmap); such a call, and every call before the dynamic loader is ready, is a plain system call.
#pragma once

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>

namespace tiny::interpose {

using AnyFunction = void (*)();
/// dlsym(RTLD_NEXT, name); null while this thread is already looking one up, or where it is
/// missing.
AnyFunction find_next(const char* name);
[[noreturn]] void missing_function(const char* name);

template <typename Signature>
struct Real;

template <typename R, typename... Args>
struct Real<R(Args...)> {
  using Function = R(Args...);
  const char* name;
  Function* fallback;  ///< by system call; null where there is none
  std::atomic<Function*> target;

  constexpr Real(const char* symbol, Function* by_system_call, Function* first_call)
      : name(symbol), fallback(by_system_call), target(first_call) {}
  R operator()(Args... args) { return target.load(std::memory_order_relaxed)(args...); }

  /// The target until the function is looked up: so a call needs no test.
  template <Real& self>
  static R first(Args... args) {
    return self.look_up()(args...);
  }
  [[gnu::noinline]] Function* look_up() {
    if (const AnyFunction next = find_next(name)) {
      target.store(reinterpret_cast<Function*>(next), std::memory_order_relaxed);
      return target.load(std::memory_order_relaxed);
    }
    if (fallback == nullptr) missing_function(name);
    return fallback;
  }
};

namespace real {

extern Real<int(const char*, int, mode_t)> open;
extern Real<int(int, const char*, int, mode_t)> openat;
extern Real<int(int)> close;
extern Real<int(unsigned, unsigned, int)> close_range;
extern Real<ssize_t(int, void*, size_t)> read;
extern Real<ssize_t(int, void*, size_t, off_t)> pread;
extern Real<ssize_t(int, const void*, size_t)> write;
extern Real<ssize_t(int, const void*, size_t, off_t)> pwrite;
extern Real<off_t(int, off_t, int)> lseek;
extern Real<int(int, unsigned long, void*)> ioctl;
extern Real<void*(void*, size_t, int, int, int, off_t)> mmap;
extern Real<int(void*, size_t)> munmap;
extern Real<void*(void*, size_t, size_t, int, void*)> mremap;
extern Real<int(void*, size_t, int)> mprotect;
extern Real<int(int)> dup;
extern Real<int(int, int)> dup2;
extern Real<int(int, int, int)> dup3;
extern Real<int(int, int, void*)> fcntl;
extern Real<int(pollfd*, nfds_t, int)> poll;
extern Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> ppoll;
extern Real<int(const char*, struct ::stat*)> stat;
extern Real<int(const char*, struct ::stat*)> lstat;
extern Real<int(int, struct ::stat*)> fstat;
extern Real<int(int, const char*, struct ::stat*, int)> fstatat;
extern Real<int(int, const char*, int, unsigned, struct ::statx*)> statx;
extern Real<int(const char*, int)> access;
extern Real<int(const char*, int)> euidaccess;
extern Real<int(int, const char*, int, int)> faccessat;
extern Real<ssize_t(const char*, char*, size_t)> readlink;
extern Real<ssize_t(int, const char*, char*, size_t)> readlinkat;
extern Real<char*(const char*, char*)> realpath;
extern Real<int(const char*)> chdir;
extern Real<int(int)> fchdir;
extern Real<ssize_t(const char*, const char*, void*, size_t)> getxattr;
extern Real<ssize_t(const char*, const char*, void*, size_t)> lgetxattr;
extern Real<ssize_t(const char*, char*, size_t)> listxattr;
extern Real<ssize_t(const char*, char*, size_t)> llistxattr;
extern Real<DIR*(const char*)> opendir;
extern Real<DIR*(int)> fdopendir;
extern Real<dirent*(DIR*)> readdir;
extern Real<int(DIR*, dirent*, dirent**)> readdir_r;
extern Real<int(DIR*)> closedir;
extern Real<void(DIR*)> rewinddir;
extern Real<long(DIR*)> telldir;
extern Real<void(DIR*, long)> seekdir;
extern Real<int(DIR*)> dirfd;
using DirFilter = int (*)(const dirent*);
using DirCompare = int (*)(const dirent**, const dirent**);
extern Real<int(const char*, dirent***, DirFilter, DirCompare)> scandir;
extern Real<int(int, const char*, dirent***, DirFilter, DirCompare)> scandirat;
extern Real<FILE*(const char*, const char*)> fopen;
extern Real<FILE*(const char*, const char*, FILE*)> freopen;
extern Real<int(FILE*)> fclose;
extern Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> select;
extern Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> pselect;
extern Real<ssize_t(int, const iovec*, int)> readv;
extern Real<ssize_t(int, const iovec*, int)> writev;
extern Real<ssize_t(int, const iovec*, int, off_t)> preadv;
extern Real<ssize_t(int, const iovec*, int, off_t)> pwritev;
extern Real<ssize_t(int, const iovec*, int, off_t, int)> preadv2;
extern Real<ssize_t(int, const iovec*, int, off_t, int)> pwritev2;
extern Real<ssize_t(int, void*, size_t)> getdents64;
extern Real<int(const char*)> unlink;
extern Real<int(int, const char*, int)> unlinkat;
extern Real<int(const char*)> rmdir;
extern Real<int(const char*)> remove;
extern Real<int(const char*, const char*)> rename;
extern Real<int(int, const char*, int, const char*)> renameat;
extern Real<int(int, const char*, int, const char*, unsigned)> renameat2;
extern Real<int(const char*, const char*)> link;
extern Real<int(int, const char*, int, const char*, int)> linkat;
extern Real<int(const char*, const char*)> symlink;
extern Real<int(const char*, int, const char*)> symlinkat;
extern Real<int(const char*, mode_t)> mkdir;
extern Real<int(int, const char*, mode_t)> mkdirat;
extern Real<int(const char*, mode_t, dev_t)> mknod;
extern Real<int(int, const char*, mode_t, dev_t)> mknodat;
extern Real<int(const char*, mode_t)> chmod;
extern Real<int(int, const char*, mode_t, int)> fchmodat;
extern Real<int(const char*, uid_t, gid_t)> chown;
extern Real<int(const char*, uid_t, gid_t)> lchown;
extern Real<int(int, const char*, uid_t, gid_t, int)> fchownat;
extern Real<int(const char*, off_t)> truncate;
using SignalHandler = void (*)(int);
extern Real<int(int, const struct ::sigaction*, struct ::sigaction*)> sigaction;
extern Real<SignalHandler(int, SignalHandler)> signal;
extern Real<int(int, const sigset_t*, sigset_t*)> pthread_sigmask;
extern Real<int(int, const sigset_t*, sigset_t*)> sigprocmask;

/// Not through the next definition but to the kernel: what cannot be interposed.
long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0);
extern Real<long(long, long, long, long, long, long, long)> syscall;

}  // namespace real
}  // namespace tiny::interpose
