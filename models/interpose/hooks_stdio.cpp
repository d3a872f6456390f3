// SPDX-License-Identifier: MIT
// Hooks of stdio: the C library's fopen and fclose do not go through its own open and close, so
// they are replaced themselves. A served file of contents is a memory file, on which stdio works as
// it is; where a handler does the reading, a cookie stream brings stdio's calls back to us.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace tiny::interpose {
namespace {

/// The flags of open for a mode of fopen; -1: not a mode.
int mode_flags(const char* mode) {
  const char kind = mode == nullptr ? '\0' : mode[0];
  if (kind != 'r' && kind != 'w' && kind != 'a') return -1;
  int flags = std::strchr(mode, '+') != nullptr ? O_RDWR : kind == 'r' ? O_RDONLY : O_WRONLY;
  if (kind != 'r') flags |= O_CREAT | (kind == 'w' ? O_TRUNC : O_APPEND);
  if (std::strchr(mode, 'e') != nullptr) flags |= O_CLOEXEC;
  if (std::strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  return flags;
}

int cookie_fd(void* cookie) { return int(reinterpret_cast<std::intptr_t>(cookie)); }
ssize_t cookie_read(void* cookie, char* to, size_t size) {
  return ::read(cookie_fd(cookie), to, size);
}
ssize_t cookie_write(void* cookie, const char* from, size_t size) {
  const ssize_t count = ::write(cookie_fd(cookie), from, size);
  return count < 0 ? 0 : count;  // fopencookie(3): 0 is the error
}
int cookie_seek(void* cookie, off64_t* offset, int whence) {
  const off_t at = ::lseek(cookie_fd(cookie), *offset, whence);
  if (at < 0) return -1;
  *offset = at;
  return 0;
}
int cookie_close(void* cookie) { return ::close(cookie_fd(cookie)); }

FILE* stream_of(int fd, const char* mode) {
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || description->file == nullptr) return ::fdopen(fd, mode);
  // fileno() of such a stream is -1: a program that wants the descriptor opens the device itself.
  return ::fopencookie(reinterpret_cast<void*>(std::intptr_t(fd)), mode,
                       {cookie_read, cookie_write, cookie_seek, cookie_close});
}

/// Would the real fopen open the path as it was given?
bool is_plain(const char* path) {
  const Guard guard;
  Located at;
  const Result found = guarded("fopen", [&] { return at = locate(AT_FDCWD, path, true), 0; });
  return found >= 0 && at.kind == Located::Kind::real && at.observer == nullptr;
}

FILE* fopen_any(const char* function, const char* path, const char* mode) {
  if (!maybe_path(path)) [[likely]]
    return real::fopen(path, mode);
  const int saved = errno;
  const int flags = mode_flags(mode);
  if (flags < 0 || is_plain(path)) return errno = saved, real::fopen(path, mode);
  const int fd = open_at(function, AT_FDCWD, path, flags, 0666);
  if (fd < 0) return nullptr;
  FILE* const stream = stream_of(fd, mode);
  if (stream == nullptr)
    close_fd("fclose", fd);
  else
    errno = saved;
  return stream;
}

int fclose_any(FILE* stream) {
  const int fd = stream == nullptr ? -1 : ::fileno(stream);
  if (!maybe_ours(fd)) [[likely]]
    return real::fclose(stream);
  const int saved = errno;
  return to_libc(
      drop_descriptor(fd, "fclose", [stream] { return from_libc(real::fclose(stream)); }), saved);
}

/// Served paths come by the name of an opened descriptor, which for memory files opens them anew.
FILE* freopen_any(const char* path, const char* mode, FILE* stream) {
  const int old = stream == nullptr ? -1 : ::fileno(stream);
  if (maybe_ours(old)) drop_descriptor(old, "freopen", [] { return Result(0); });
  const int flags = mode_flags(mode);
  if (!maybe_path(path) || flags < 0 || is_plain(path)) return real::freopen(path, mode, stream);
  const int fd = open_at("freopen", AT_FDCWD, path, flags | O_CLOEXEC, 0666);
  if (fd < 0) {
    const int error = errno;
    real::fclose(stream);
    errno = error;
    return nullptr;
  }
  FILE* const reopened =
      real::freopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), mode, stream);
  close_fd("freopen", fd);
  return reopened;
}

}  // namespace
}  // namespace tiny::interpose

using namespace tiny::interpose;

TINY_HOOK(FILE*, fopen, const char* path, const char* mode) {
  return fopen_any("fopen", path, mode);
}
TINY_HOOK(FILE*, fopen64, const char* path, const char* mode) {
  return fopen_any("fopen64", path, mode);
}
TINY_HOOK(FILE*, freopen, const char* path, const char* mode, FILE* stream) {
  return freopen_any(path, mode, stream);
}
TINY_HOOK(FILE*, freopen64, const char* path, const char* mode, FILE* stream) {
  return freopen_any(path, mode, stream);
}
TINY_HOOK(int, fclose, FILE* stream) { return fclose_any(stream); }
