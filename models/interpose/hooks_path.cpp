// SPDX-License-Identifier: MIT
// Hooks that take a path and give facts about it.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"
#include "models/interpose/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tiny::interpose {
namespace {

constexpr dev_t kServedDevice = 0x7479;  // st_dev of everything served: no real file system's

Result stat_node(const Located& at, struct ::stat* to) {
  fill_stat(*at.node, at.node->size_B(), *to);
  return 0;
}

statx_timestamp no_time() { return {}; }

void fill_statx(const struct ::stat& from, struct ::statx& to) {
  to = {};
  to.stx_mask = STATX_BASIC_STATS;
  to.stx_blksize = std::uint32_t(from.st_blksize);
  to.stx_nlink = std::uint32_t(from.st_nlink);
  to.stx_mode = std::uint16_t(from.st_mode);
  to.stx_ino = from.st_ino;
  to.stx_size = std::uint64_t(from.st_size);
  to.stx_rdev_major = major(from.st_rdev);
  to.stx_rdev_minor = minor(from.st_rdev);
  to.stx_dev_major = major(from.st_dev);
  to.stx_dev_minor = minor(from.st_dev);
  to.stx_atime = to.stx_mtime = to.stx_ctime = no_time();
}

/// An empty path with AT_EMPTY_PATH means the descriptor itself.
bool means_descriptor(int dir, const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || path[0] == '\0') && maybe_ours(dir);
}

int stat_path(const char* path, struct ::stat* to, bool follow) {
  const auto real_call = [&](int, const char* p) {
    return follow ? real::stat(p, to) : real::lstat(p, to);
  };
  if (!maybe_path(path)) [[likely]]
    return real_call(AT_FDCWD, path);
  return by_path(
      "stat", AT_FDCWD, path, follow, [&](const Located& at) { return stat_node(at, to); },
      real_call);
}

int statx_at(int dir, const char* path, int flags, unsigned mask, struct ::statx* to) {
  const auto real_call = [&](int d, const char* p) { return real::statx(d, p, flags, mask, to); };
  if (means_descriptor(dir, path, flags)) {
    const DescriptionRef description = find_description(dir);
    if (description == nullptr || description->node == nullptr) return real_call(dir, path);
    struct ::stat facts{};
    const int result = fstat_fd(dir, &facts);
    if (result == 0) fill_statx(facts, *to);
    return result;
  }
  if (!maybe_path_at(dir, path)) [[likely]]
    return real_call(dir, path);
  return by_path(
      "statx", dir, path, (flags & AT_SYMLINK_NOFOLLOW) == 0,
      [&](const Located& at) -> Result {
        struct ::stat facts{};
        stat_node(at, &facts);
        fill_statx(facts, *to);
        return 0;
      },
      real_call);
}

template <typename RealCall>
int access_path(int dir, const char* path, int mode, bool follow, RealCall real_call) {
  if (!maybe_path_at(dir, path)) [[likely]]
    return real_call(dir, path);
  return by_path(
      "access", dir, path, follow,
      [&](const Located& at) -> Result { return permits(*at.node, mode) ? 0 : -EACCES; },
      real_call);
}

Result copy_out(std::string_view text, char* to, std::size_t size_B) {
  const std::size_t count = std::min(text.size(), size_B);
  std::memcpy(to, text.data(), count);
  return Result(count);
}

/// The descriptor that "/proc/self/fd/N" or "/dev/fd/N" names, or -1.
int named_descriptor(const char* path) {
  for (const char* const folder : {"/proc/self/fd/", "/dev/fd/"}) {
    const std::size_t length = std::strlen(folder);
    if (std::strncmp(path, folder, length) != 0) continue;
    char* end = nullptr;
    const long fd = std::strtol(path + length, &end, 10);
    return end != path + length && *end == '\0' ? int(fd) : -1;
  }
  return -1;
}

template <typename RealCall>
ssize_t read_link(int dir, const char* path, char* to, std::size_t size_B, RealCall real_call) {
  if (path != nullptr && path[0] == '/' && (path[1] == 'p' || path[1] == 'd')) {
    const int fd = named_descriptor(path);
    const DescriptionRef description = maybe_ours(fd) ? find_description(fd) : nullptr;
    if (description != nullptr && description->node != nullptr)
      return ssize_t(copy_out(description->path, to, size_B));
  }
  if (!maybe_path_at(dir, path)) [[likely]]
    return real_call(dir, path);
  return by_path(
      "readlink", dir, path, false,
      [&](const Located& at) -> Result {
        return at.node->is(S_IFLNK) ? copy_out(at.node->target, to, size_B) : -EINVAL;
      },
      real_call);
}

char* real_path(const char* path, char* to) {
  if (!maybe_path(path)) [[likely]]
    return real::realpath(path, to);
  const int saved = errno;
  const Guard guard;
  Located at;
  if (const Result located =
          guarded("realpath", [&] { return at = locate(AT_FDCWD, path, true), 0; });
      located < 0)
    at = {.kind = Located::Kind::error, .error = int(-located)};
  if (at.kind == Located::Kind::real) return real::realpath(path, to);
  if (at.kind == Located::Kind::moved) return real::realpath(at.path.c_str(), to);
  errno = at.kind == Located::Kind::error ? at.error
          : at.path.size() >= PATH_MAX    ? ENAMETOOLONG
                                          : saved;
  if (at.kind == Located::Kind::error || at.path.size() >= PATH_MAX) return nullptr;
  if (to == nullptr) return ::strdup(at.path.c_str());
  std::memcpy(to, at.path.c_str(), at.path.size() + 1);
  return to;
}

/// Extended attributes: served files have none.
template <typename RealCall>
ssize_t attributes(const char* path, bool follow, Result none, RealCall real_call) {
  if (!maybe_path(path)) [[likely]]
    return real_call(AT_FDCWD, path);
  return by_path(
      "getxattr", AT_FDCWD, path, follow, [none](const Located&) { return none; }, real_call);
}

}  // namespace

void fill_stat(const Node& node, std::size_t size_B, struct ::stat& to) {
  to = {};
  to.st_dev = kServedDevice;
  to.st_ino = node.inode;
  to.st_mode = node.mode;
  to.st_nlink = node.is(S_IFDIR) ? 2 : 1;
  to.st_rdev = node.number;
  to.st_size = off_t(size_B);
  to.st_blksize = 4096;
  to.st_blocks = blkcnt_t((size_B + 511) / 512);
}

int fstat_fd(int fd, struct ::stat* to) {
  if (!maybe_ours(fd)) [[likely]]
    return real::fstat(fd, to);
  const int result = real::fstat(fd, to);
  if (result != 0) return result;
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || description->node == nullptr) return result;
  const bool sized = description->node->is(S_IFREG) && description->file == nullptr;
  fill_stat(*description->node, sized ? std::size_t(to->st_size) : 0, *to);
  return 0;
}

int stat_at(int dir, const char* path, struct ::stat* to, int flags) {
  if (means_descriptor(dir, path, flags)) return fstat_fd(dir, to);
  const auto real_call = [&](int d, const char* p) { return real::fstatat(d, p, to, flags); };
  if (!maybe_path_at(dir, path)) [[likely]]
    return real_call(dir, path);
  return by_path(
      "fstatat", dir, path, (flags & AT_SYMLINK_NOFOLLOW) == 0,
      [&](const Located& at) { return stat_node(at, to); }, real_call);
}

}  // namespace tiny::interpose

using namespace tiny::interpose;
using Stat = struct ::stat;

TINY_HOOK(int, stat, const char* path, Stat* to) { return stat_path(path, to, true); }
TINY_HOOK(int, stat64, const char* path, Stat* to) { return stat_path(path, to, true); }
TINY_HOOK(int, lstat, const char* path, Stat* to) { return stat_path(path, to, false); }
TINY_HOOK(int, lstat64, const char* path, Stat* to) { return stat_path(path, to, false); }
TINY_HOOK(int, fstat, int fd, Stat* to) { return fstat_fd(fd, to); }
TINY_HOOK(int, fstat64, int fd, Stat* to) { return fstat_fd(fd, to); }
TINY_HOOK(int, fstatat, int dir, const char* path, Stat* to, int flags) {
  return stat_at(dir, path, to, flags);
}
TINY_HOOK(int, fstatat64, int dir, const char* path, Stat* to, int flags) {
  return stat_at(dir, path, to, flags);
}
// What stat was before glibc 2.33: the first argument numbers the structure, of which 64-bit has
// one.
TINY_HOOK(int, __xstat, int, const char* path, Stat* to) { return stat_path(path, to, true); }
TINY_HOOK(int, __xstat64, int, const char* path, Stat* to) { return stat_path(path, to, true); }
TINY_HOOK(int, __lxstat, int, const char* path, Stat* to) { return stat_path(path, to, false); }
TINY_HOOK(int, __lxstat64, int, const char* path, Stat* to) { return stat_path(path, to, false); }
TINY_HOOK(int, __fxstat, int, int fd, Stat* to) { return fstat_fd(fd, to); }
TINY_HOOK(int, __fxstat64, int, int fd, Stat* to) { return fstat_fd(fd, to); }
TINY_HOOK(int, __fxstatat, int, int dir, const char* path, Stat* to, int flags) {
  return stat_at(dir, path, to, flags);
}
TINY_HOOK(int, __fxstatat64, int, int dir, const char* path, Stat* to, int flags) {
  return stat_at(dir, path, to, flags);
}
TINY_HOOK(int, statx, int dir, const char* path, int flags, unsigned mask, struct ::statx* to) {
  return statx_at(dir, path, flags, mask, to);
}

TINY_HOOK(int, access, const char* path, int mode) {
  return access_path(AT_FDCWD, path, mode, true,
                     [mode](int, const char* p) { return real::access(p, mode); });
}
TINY_HOOK(int, euidaccess, const char* path, int mode) {
  return access_path(AT_FDCWD, path, mode, true,
                     [mode](int, const char* p) { return real::euidaccess(p, mode); });
}
TINY_HOOK(int, eaccess, const char* path, int mode) { return hook_euidaccess(path, mode); }
TINY_HOOK(int, faccessat, int dir, const char* path, int mode, int flags) {
  return access_path(dir, path, mode, (flags & AT_SYMLINK_NOFOLLOW) == 0,
                     [=](int d, const char* p) { return real::faccessat(d, p, mode, flags); });
}

TINY_HOOK(ssize_t, readlink, const char* path, char* to, size_t size) {
  return read_link(AT_FDCWD, path, to, size,
                   [=](int, const char* p) { return real::readlink(p, to, size); });
}
TINY_HOOK(ssize_t, readlinkat, int dir, const char* path, char* to, size_t size) {
  return read_link(dir, path, to, size,
                   [=](int d, const char* p) { return real::readlinkat(d, p, to, size); });
}
TINY_HOOK(ssize_t, __readlink_chk, const char* path, char* to, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return hook_readlink(path, to, size);
}
TINY_HOOK(ssize_t, __readlinkat_chk, int dir, const char* path, char* to, size_t size,
          size_t room) {
  if (size > room) __chk_fail();
  return hook_readlinkat(dir, path, to, size);
}
TINY_HOOK(char*, realpath, const char* path, char* to) { return real_path(path, to); }
TINY_HOOK(char*, canonicalize_file_name, const char* path) { return real_path(path, nullptr); }
TINY_HOOK(char*, __realpath_chk, const char* path, char* to, size_t room) {
  if (room < PATH_MAX) __chk_fail();
  return real_path(path, to);
}

TINY_HOOK(ssize_t, getxattr, const char* path, const char* name, void* to, size_t size) {
  return attributes(path, true, -ENODATA,
                    [=](int, const char* p) { return real::getxattr(p, name, to, size); });
}
TINY_HOOK(ssize_t, lgetxattr, const char* path, const char* name, void* to, size_t size) {
  return attributes(path, false, -ENODATA,
                    [=](int, const char* p) { return real::lgetxattr(p, name, to, size); });
}
TINY_HOOK(ssize_t, listxattr, const char* path, char* to, size_t size) {
  return attributes(path, true, 0,
                    [=](int, const char* p) { return real::listxattr(p, to, size); });
}
TINY_HOOK(ssize_t, llistxattr, const char* path, char* to, size_t size) {
  return attributes(path, false, 0,
                    [=](int, const char* p) { return real::llistxattr(p, to, size); });
}

TINY_HOOK(int, chdir, const char* path) {
  if (maybe_path(path)) {
    const int result = by_path(
        "chdir", AT_FDCWD, path, true,
        [](const Located& at) -> Result { return at.node->is(S_IFDIR) ? -ENOENT : -ENOTDIR; },
        [](int, const char* p) { return real::chdir(p); });
    if (result == 0) current_directory_changed();
    return result;
  }
  const int result = real::chdir(path);
  if (result == 0 && t_inside == 0) current_directory_changed();
  return result;
}
TINY_HOOK(int, fchdir, int fd) {
  const int result = real::fchdir(fd);
  if (result == 0 && t_inside == 0) current_directory_changed();
  return result;
}
