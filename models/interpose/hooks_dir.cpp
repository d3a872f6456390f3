// SPDX-License-Identifier: MIT
// Hooks that list directories. A served directory stream is one of our own pool, told from the C
// library's by its address.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"
#include "models/interpose/tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace tiny::interpose {
namespace {

struct Stream {
  bool used = false;  ///< under table_lock()
  int fd = -1;
  std::size_t next = 0;
  std::vector<Entry>* entries = nullptr;  ///< owned while used
  dirent current{};
};
constexpr std::size_t kStreams = 256;
constinit Stream g_streams[kStreams];

Stream* served_stream(DIR* dir) {
  auto* const stream = reinterpret_cast<Stream*>(dir);
  return stream >= g_streams && stream < g_streams + kStreams ? stream : nullptr;
}

Stream* take_stream() {
  const std::lock_guard lock(table_lock());
  auto* const found =
      std::find_if(g_streams, g_streams + kStreams, [](const Stream& s) { return !s.used; });
  if (found == g_streams + kStreams) return nullptr;
  found->used = true;
  return found;
}

std::vector<Entry> entries_of(const std::string& path) {
  const Prefix* const prefix = prefix_table().find(path, true);
  return prefix != nullptr ? list_directory(*prefix->tree, path) : std::vector<Entry>{};
}

DIR* open_stream(int fd, const std::string& path) {
  Stream* const stream = take_stream();
  if (stream == nullptr) {
    errno = EMFILE;
    return nullptr;
  }
  stream->fd = fd;
  stream->next = 0;
  stream->entries = new std::vector<Entry>(entries_of(path));
  return reinterpret_cast<DIR*>(stream);
}

/// A real directory stream uses this descriptor from now on; below it paths may be ours.
DIR* note_real(DIR* dir, const Located& at) {
  if (dir == nullptr || (!at.above && at.observer == nullptr)) return dir;
  auto description = std::make_shared<Description>();
  description->id = next_description_id();
  description->path = at.path;
  description->flags = O_RDONLY | O_DIRECTORY;
  description->observer = at.observer;
  add_descriptor(real::dirfd(dir), std::move(description));
  return dir;
}

[[gnu::noinline]] DIR* opendir_slow(const char* path) {
  Located at;
  {
    const Guard guard;
    const Result found = guarded("opendir", [&] { return at = locate(AT_FDCWD, path, true), 0; });
    if (found < 0) at = {.kind = Located::Kind::error, .error = int(-found)};
    if (at.kind == Located::Kind::real) return note_real(real::opendir(path), at);
    if (at.kind == Located::Kind::moved) return note_real(real::opendir(at.path.c_str()), at);
  }
  const int fd = open_at("opendir", AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  const Guard guard;
  DIR* const dir = open_stream(fd, at.path);
  if (dir == nullptr) real::close(fd);
  return dir;
}

[[gnu::noinline]] DIR* fdopendir_slow(int fd) {
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || description->node == nullptr) return real::fdopendir(fd);
  const Guard guard;
  if (description->node->is(S_IFDIR)) return open_stream(fd, description->path);
  errno = ENOTDIR;
  return nullptr;
}

dirent* read_stream(Stream& stream) {
  if (stream.next >= stream.entries->size()) return nullptr;
  const Entry& entry = (*stream.entries)[stream.next++];
  stream.current = {};
  stream.current.d_ino = entry.inode;
  stream.current.d_off = off_t(stream.next);
  stream.current.d_reclen = sizeof(dirent);
  stream.current.d_type = entry.type;
  const std::size_t length = std::min(entry.name.size(), sizeof stream.current.d_name - 1);
  std::memcpy(stream.current.d_name, entry.name.data(), length);
  return &stream.current;
}

int close_stream(Stream& stream) {
  const int fd = stream.fd;
  {
    const Guard guard;
    delete stream.entries;
    stream.entries = nullptr;
    const std::lock_guard lock(table_lock());
    stream.used = false;
  }
  return close_fd("closedir", fd);
}

int close_real(DIR* dir) {
  const int fd = real::dirfd(dir);
  if (!maybe_ours(fd)) [[likely]]
    return real::closedir(dir);
  const int saved = errno;
  return to_libc(drop_descriptor(fd, "closedir", [dir] { return from_libc(real::closedir(dir)); }),
                 saved);
}

void rewind_stream(Stream& stream) {
  const Guard guard;
  if (const DescriptionRef description = find_description(stream.fd))
    *stream.entries = entries_of(description->path);
  stream.next = 0;
}

/// The result of scandir: an array of entries, both from malloc.
int scan(const std::string& path, dirent*** list, real::DirFilter filter,
         real::DirCompare compare) {
  Stream stream;
  std::vector<Entry> entries = entries_of(path);
  stream.entries = &entries;
  std::vector<dirent*> kept;
  while (const dirent* const entry = read_stream(stream)) {
    if (filter != nullptr && filter(entry) == 0) continue;
    kept.push_back(static_cast<dirent*>(std::malloc(sizeof(dirent))));
    if (kept.back() == nullptr) throw std::bad_alloc();
    *kept.back() = *entry;
  }
  if (compare != nullptr)
    std::sort(kept.begin(), kept.end(),
              [compare](const dirent* a, const dirent* b) { return compare(&a, &b) < 0; });
  *list =
      static_cast<dirent**>(std::malloc(std::max<std::size_t>(kept.size(), 1) * sizeof(dirent*)));
  if (*list == nullptr) throw std::bad_alloc();
  std::copy(kept.begin(), kept.end(), *list);
  return int(kept.size());
}

[[gnu::noinline]] int scan_slow(int dir, const char* path, dirent*** list, real::DirFilter filter,
                                real::DirCompare compare) {
  const int saved = errno;
  const Guard guard;
  Located at;
  const Result found = guarded("scandir", [&] { return at = locate(dir, path, true), 0; });
  if (found < 0) return to_libc(found, saved);
  errno = saved;
  if (at.kind == Located::Kind::real) return real::scandirat(dir, path, list, filter, compare);
  if (at.kind == Located::Kind::moved)
    return real::scandirat(AT_FDCWD, at.path.c_str(), list, filter, compare);
  if (at.kind == Located::Kind::error) return to_libc(-at.error, saved);
  if (!at.node->is(S_IFDIR)) return to_libc(-ENOTDIR, saved);
  return to_libc(guarded("scandir", [&] { return scan(at.path, list, filter, compare); }), saved);
}

/// One record of getdents64(2); 0 where it does not fit. Its length is a multiple of 8.
std::size_t put_record(const dirent& entry, std::byte* to, std::size_t room_B) {
  constexpr std::size_t kHead_B = offsetof(dirent, d_name);  // the kernel's layout is the same
  const std::size_t length_B = (kHead_B + std::strlen(entry.d_name) + 1 + 7) / 8 * 8;
  if (length_B > room_B) return 0;
  std::memset(to, 0, length_B);
  dirent head = entry;
  head.d_reclen = std::uint16_t(length_B);
  std::memcpy(to, &head, kHead_B);
  std::strcpy(reinterpret_cast<char*>(to) + kHead_B, entry.d_name);
  return length_B;
}

/// The description's offset counts entries, as d_off does.
Result copy_entries(Description& directory, std::byte* to, std::size_t size_B) {
  std::vector<Entry> entries = entries_of(directory.path);
  Stream stream;
  stream.entries = &entries;
  stream.next = std::size_t(directory.offset_B.load());
  std::size_t done_B = 0;
  while (const dirent* const entry = read_stream(stream)) {
    const std::size_t record_B = put_record(*entry, to + done_B, size_B - done_B);
    if (record_B == 0) return done_B > 0 ? Result(done_B) : -EINVAL;
    done_B += record_B;
    directory.offset_B = stream.next;
  }
  return Result(done_B);
}

}  // namespace

ssize_t list_entries(int fd, void* to, std::size_t size_B) {
  if (!maybe_ours(fd)) [[likely]]
    return real::getdents64(fd, to, size_B);
  const int saved = errno;
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || description->node == nullptr)
    return real::getdents64(fd, to, size_B);
  const Guard guard;
  return to_libc<ssize_t>(guarded("getdents64",
                                  [&]() -> Result {
                                    if (!description->node->is(S_IFDIR)) return -ENOTDIR;
                                    return copy_entries(*description, static_cast<std::byte*>(to),
                                                        size_B);
                                  }),
                          saved);
}

}  // namespace tiny::interpose

using namespace tiny::interpose;
using real::DirCompare;
using real::DirFilter;

TINY_HOOK(DIR*, opendir, const char* path) {
  if (maybe_path(path)) [[unlikely]]
    return opendir_slow(path);
  DIR* const dir = real::opendir(path);
  if (dir != nullptr) forget_stale(real::dirfd(dir));
  return dir;
}
TINY_HOOK(DIR*, fdopendir, int fd) {
  if (!maybe_ours(fd)) [[likely]]
    return real::fdopendir(fd);
  return fdopendir_slow(fd);
}
TINY_HOOK(dirent*, readdir, DIR* dir) {
  Stream* const stream = served_stream(dir);
  return stream == nullptr ? real::readdir(dir) : read_stream(*stream);
}
TINY_HOOK(dirent*, readdir64, DIR* dir) { return hook_readdir(dir); }
TINY_HOOK(int, readdir_r, DIR* dir, dirent* entry, dirent** result) {
  Stream* const stream = served_stream(dir);
  if (stream == nullptr) return real::readdir_r(dir, entry, result);
  const dirent* const next = read_stream(*stream);
  if (next != nullptr) *entry = *next;
  *result = next != nullptr ? entry : nullptr;
  return 0;
}
TINY_HOOK(int, readdir64_r, DIR* dir, dirent* entry, dirent** result) {
  return hook_readdir_r(dir, entry, result);
}
TINY_HOOK(int, closedir, DIR* dir) {
  Stream* const stream = served_stream(dir);
  if (stream != nullptr) return close_stream(*stream);
  return dir == nullptr ? real::closedir(dir) : close_real(dir);
}
TINY_HOOK(void, rewinddir, DIR* dir) {
  Stream* const stream = served_stream(dir);
  if (stream == nullptr) return real::rewinddir(dir);
  rewind_stream(*stream);
}
TINY_HOOK(long, telldir, DIR* dir) {
  Stream* const stream = served_stream(dir);
  return stream == nullptr ? real::telldir(dir) : long(stream->next);
}
TINY_HOOK(void, seekdir, DIR* dir, long to) {
  Stream* const stream = served_stream(dir);
  if (stream == nullptr) return real::seekdir(dir, to);
  stream->next = std::size_t(std::max(to, 0L));
}
TINY_HOOK(int, dirfd, DIR* dir) {
  Stream* const stream = served_stream(dir);
  return stream == nullptr ? real::dirfd(dir) : stream->fd;
}
TINY_HOOK(ssize_t, getdents64, int fd, void* to, size_t size) { return list_entries(fd, to, size); }
TINY_HOOK(int, scandir, const char* path, dirent*** list, DirFilter filter, DirCompare compare) {
  if (maybe_path(path)) [[unlikely]]
    return scan_slow(AT_FDCWD, path, list, filter, compare);
  return real::scandir(path, list, filter, compare);
}
TINY_HOOK(int, scandir64, const char* path, dirent*** list, DirFilter filter, DirCompare compare) {
  return hook_scandir(path, list, filter, compare);
}
TINY_HOOK(int, scandirat, int dir, const char* path, dirent*** list, DirFilter filter,
          DirCompare compare) {
  if (maybe_path_at(dir, path)) [[unlikely]]
    return scan_slow(dir, path, list, filter, compare);
  return real::scandirat(dir, path, list, filter, compare);
}
TINY_HOOK(int, scandirat64, int dir, const char* path, dirent*** list, DirFilter filter,
          DirCompare compare) {
  return hook_scandirat(dir, path, list, filter, compare);
}
