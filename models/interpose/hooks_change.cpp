// SPDX-License-Identifier: MIT
// Hooks that change what a path names. Served trees are changed by their owner alone: for programs
// they are a read-only file system (EROFS), and the real file of that name is never touched.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"

#include <fcntl.h>

namespace tiny::interpose {
namespace {

/// Where the real call should go, or why there is none.
struct Target {
  int dir = AT_FDCWD;
  const char* given = nullptr;
  std::string moved{};  ///< a link of a tree led out to this path
  Result refusal = 0;

  const char* path() const { return moved.empty() ? given : moved.c_str(); }
};

enum class Change { existing, creates };

Result refusal_of(const Located& at, Change change) {
  const bool creates = change == Change::creates;
  if (at.kind == Located::Kind::served) return creates ? -EEXIST : -EROFS;
  return creates && at.error == ENOENT ? -EROFS : -at.error;
}

Target resolve(const char* function, int dir, const char* path, Change change) {
  Target target{.dir = dir, .given = path};
  if (!maybe_path_at(dir, path)) return target;
  const int saved = errno;
  const Guard guard;
  Located at;
  target.refusal = guarded(function, [&] { return at = locate(dir, path, false), 0; });
  errno = saved;
  if (target.refusal < 0 || at.kind == Located::Kind::real) return target;
  if (at.kind == Located::Kind::moved) {
    target.dir = AT_FDCWD;
    target.moved = at.path;
  } else {
    target.refusal = refusal_of(at, change);
  }
  return target;
}

template <typename RealCall>
int change_path(const char* function, int dir, const char* path, Change change,
                RealCall real_call) {
  if (!maybe_path_at(dir, path)) [[likely]]
    return real_call(dir, path);
  const Target target = resolve(function, dir, path, change);
  if (target.refusal < 0) return to_libc(target.refusal, errno);
  return real_call(target.dir, target.path());
}

/// Two names: between a served tree and the rest, nothing can be moved or linked (EXDEV).
template <typename RealCall>
int change_two(const char* function, int dir, const char* path, int new_dir, const char* new_path,
               RealCall real_call) {
  if (!maybe_path_at(dir, path) && !maybe_path_at(new_dir, new_path)) [[likely]]
    return real_call(dir, path, new_dir, new_path);
  const Target from = resolve(function, dir, path, Change::existing);
  const Target to = resolve(function, new_dir, new_path, Change::creates);
  if (from.refusal < 0) return to_libc(from.refusal, errno);
  if (to.refusal < 0) return to_libc(-EXDEV, errno);
  return real_call(from.dir, from.path(), to.dir, to.path());
}

}  // namespace
}  // namespace tiny::interpose

using namespace tiny::interpose;

#define TINY_CHANGE(symbol, kind, real_call, path_dir, ...)                               \
  TINY_HOOK(int, symbol, __VA_ARGS__) {                                                   \
    return change_path(#symbol, path_dir, path, Change::kind,                             \
                       [&]([[maybe_unused]] int d, const char* p) { return real_call; }); \
  }
TINY_CHANGE(unlink, existing, real::unlink(p), AT_FDCWD, const char* path)
TINY_CHANGE(unlinkat, existing, real::unlinkat(d, p, flags), dir, int dir, const char* path,
            int flags)
TINY_CHANGE(rmdir, existing, real::rmdir(p), AT_FDCWD, const char* path)
TINY_CHANGE(remove, existing, real::remove(p), AT_FDCWD, const char* path)
TINY_CHANGE(chmod, existing, real::chmod(p, mode), AT_FDCWD, const char* path, mode_t mode)
TINY_CHANGE(fchmodat, existing, real::fchmodat(d, p, mode, flags), dir, int dir, const char* path,
            mode_t mode, int flags)
TINY_CHANGE(chown, existing, real::chown(p, user, group), AT_FDCWD, const char* path, uid_t user,
            gid_t group)
TINY_CHANGE(lchown, existing, real::lchown(p, user, group), AT_FDCWD, const char* path, uid_t user,
            gid_t group)
TINY_CHANGE(fchownat, existing, real::fchownat(d, p, user, group, flags), dir, int dir,
            const char* path, uid_t user, gid_t group, int flags)
TINY_CHANGE(truncate, existing, real::truncate(p, size), AT_FDCWD, const char* path, off_t size)
TINY_CHANGE(truncate64, existing, real::truncate(p, size), AT_FDCWD, const char* path, off_t size)
TINY_CHANGE(mkdir, creates, real::mkdir(p, mode), AT_FDCWD, const char* path, mode_t mode)
TINY_CHANGE(mkdirat, creates, real::mkdirat(d, p, mode), dir, int dir, const char* path,
            mode_t mode)
TINY_CHANGE(mknod, creates, real::mknod(p, mode, number), AT_FDCWD, const char* path, mode_t mode,
            dev_t number)
TINY_CHANGE(mknodat, creates, real::mknodat(d, p, mode, number), dir, int dir, const char* path,
            mode_t mode, dev_t number)
TINY_CHANGE(symlink, creates, real::symlink(target, p), AT_FDCWD, const char* target,
            const char* path)
TINY_CHANGE(symlinkat, creates, real::symlinkat(target, d, p), dir, const char* target, int dir,
            const char* path)
#undef TINY_CHANGE

TINY_HOOK(int, rename, const char* path, const char* new_path) {
  return change_two("rename", AT_FDCWD, path, AT_FDCWD, new_path,
                    [](int, const char* p, int, const char* np) { return real::rename(p, np); });
}
TINY_HOOK(int, renameat, int dir, const char* path, int new_dir, const char* new_path) {
  return change_two(
      "renameat", dir, path, new_dir, new_path,
      [](int d, const char* p, int nd, const char* np) { return real::renameat(d, p, nd, np); });
}
TINY_HOOK(int, renameat2, int dir, const char* path, int new_dir, const char* new_path,
          unsigned flags) {
  return change_two("renameat2", dir, path, new_dir, new_path,
                    [flags](int d, const char* p, int nd, const char* np) {
                      return real::renameat2(d, p, nd, np, flags);
                    });
}
TINY_HOOK(int, link, const char* path, const char* new_path) {
  return change_two("link", AT_FDCWD, path, AT_FDCWD, new_path,
                    [](int, const char* p, int, const char* np) { return real::link(p, np); });
}
TINY_HOOK(int, linkat, int dir, const char* path, int new_dir, const char* new_path, int flags) {
  return change_two("linkat", dir, path, new_dir, new_path,
                    [flags](int d, const char* p, int nd, const char* np) {
                      return real::linkat(d, p, nd, np, flags);
                    });
}
