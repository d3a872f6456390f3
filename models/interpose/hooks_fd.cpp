// SPDX-License-Identifier: MIT
// Hooks that take a descriptor, and open.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"
#include "models/interpose/tree.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

namespace tiny::interpose {
namespace {

// ---- open ----

/// A file whose writes go to the tree's `written`; reads give the contents of the time it was
/// opened.
class WrittenFile : public File {
 public:
  explicit WrittenFile(NodeRef node) : node_(std::move(node)), contents_(node_->contents()) {}

  Result read(std::span<std::byte> into, std::uint64_t offset_B) override {
    const std::size_t start = std::min<std::uint64_t>(offset_B, contents_.size());
    const std::size_t count = std::min(into.size(), contents_.size() - start);
    std::memcpy(into.data(), contents_.data() + start, count);
    return Result(count);
  }
  Result write(std::span<const std::byte> from, std::uint64_t) override {
    return node_->written({reinterpret_cast<const char*>(from.data()), from.size()});
  }

 private:
  NodeRef node_;
  std::string contents_;
};

int new_memory_file(const std::string& path, int flags) {
  return int(real::system_call(SYS_memfd_create, (long)path.substr(0, 200).c_str(),
                               (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0));
}

/// A read-only descriptor of a memory file with these bytes: then read, seek, mmap and stdio's own
/// calls need no help from us.
Result new_contents_file(const std::string& path, int flags, const std::string& contents) {
  const int fd = new_memory_file(path, flags | O_CLOEXEC);
  if (fd < 0) return -errno;
  for (std::size_t done = 0; done < contents.size();) {
    const ssize_t count = real::write(fd, contents.data() + done, contents.size() - done);
    if (count <= 0) return real::close(fd), -ENOSPC;
    done += std::size_t(count);
  }
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const Result reader =
      from_libc(real::open(name.c_str(), O_RDONLY | (flags & (O_CLOEXEC | O_NONBLOCK)), 0));
  real::close(fd);
  return reader;
}

int refusal(const Node& node, int flags) {
  const int access = flags & O_ACCMODE;
  const bool writes = access == O_WRONLY || access == O_RDWR;
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return EEXIST;
  if (node.is(S_IFLNK) && (flags & O_PATH) == 0) return ELOOP;
  if ((flags & O_DIRECTORY) != 0 && !node.is(S_IFDIR)) return ENOTDIR;
  if (node.is(S_IFDIR) && (writes || (flags & O_CREAT) != 0)) return EISDIR;
  if ((flags & O_PATH) != 0) return 0;
  if (access != O_WRONLY && !permits(node, R_OK)) return EACCES;
  if (writes && !permits(node, W_OK)) return EACCES;
  return writes && node.is(S_IFREG) && !node.written ? EACCES : 0;
}

/// The kernel's descriptor for what was opened, after `description.file` was made where one is
/// needed.
Result open_node(Description& description, const Located& at, int flags, mode_t mode) {
  const Node& node = *at.node;
  if ((flags & O_PATH) == 0 && node.is(S_IFCHR)) {
    Opened opened = node.open({.path = at.path, .flags = flags, .mode = mode});
    if (opened.file == nullptr) return opened.error > 0 ? -opened.error : -EIO;
    description.file = std::move(opened.file);
  } else if ((flags & O_PATH) == 0 && node.is(S_IFREG)) {
    if ((flags & O_ACCMODE) == O_RDONLY) return new_contents_file(at.path, flags, node.contents());
    description.file = std::make_shared<WrittenFile>(at.node);
  }
  const int wait_fd = description.file != nullptr ? description.file->wait_fd() : -1;
  if (wait_fd < 0) return from_libc(new_memory_file(at.path, flags));
  const int command = (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD;
  return from_libc(real::fcntl(wait_fd, command, nullptr));
}

Result open_real(const Located& at, int dir, const char* path, int flags, mode_t mode,
                 std::uint64_t& id) {
  const bool moved = at.kind == Located::Kind::moved;
  const Result fd =
      from_libc(real::openat(moved ? AT_FDCWD : dir, moved ? at.path.c_str() : path, flags, mode));
  if (fd < 0) return fd;
  forget_stale(int(fd));
  if (at.observer == nullptr && !at.above) return fd;
  auto description = std::make_shared<Description>();
  description->id = next_description_id();
  description->path = at.path;
  description->observer = at.observer;
  description->flags = flags;
  id = description->id;
  add_descriptor(int(fd), std::move(description));
  return fd;
}

[[gnu::noinline]] int open_slow(const char* function, int dir, const char* path, int flags,
                                mode_t mode) {
  const int saved = errno;
  const Guard guard;
  const bool follow =
      (flags & O_NOFOLLOW) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
  Located at;
  const Result located = guarded(function, [&] { return at = locate(dir, path, follow), 0; });
  if (located < 0) return to_libc(located, saved);
  Call call{.op = Op::open, .function = function, .path = at.path, .flags = flags, .mode = mode};
  if (at.path.empty()) call.path = path;
  return to_libc(
      run_call(at.observer.get(), call,
               [&]() -> Result {
                 if (at.kind == Located::Kind::error)
                   return at.error == ENOENT && (flags & O_CREAT) != 0 ? -EACCES : -at.error;
                 const Result fd = at.kind == Located::Kind::served
                                       ? open_served(at, flags, mode, call.description)
                                       : open_real(at, dir, path, flags, mode, call.description);
                 call.fd = int(std::max<Result>(fd, -1));
                 return fd;
               }),
      saved);
}

// ---- transfers ----

constexpr std::uint64_t kAtOffset = std::numeric_limits<std::uint64_t>::max();  // the file's own

/// `data` is the caller's buffer; `offset_B` is kAtOffset for read and write.
Result transfer(Op op, Description& description, int fd, void* data, std::size_t size_B,
                std::uint64_t offset_B) {
  const bool own = offset_B == kAtOffset;
  if (description.file == nullptr) {
    if (op == Op::read)
      return from_libc(own ? real::read(fd, data, size_B)
                           : real::pread(fd, data, size_B, off_t(offset_B)));
    return from_libc(own ? real::write(fd, data, size_B)
                         : real::pwrite(fd, data, size_B, off_t(offset_B)));
  }
  const int access = description.flags & O_ACCMODE;
  if (access == (op == Op::read ? O_WRONLY : O_RDONLY)) return -EBADF;
  const std::uint64_t start = own ? description.offset_B.load() : offset_B;
  auto* const bytes = static_cast<std::byte*>(data);
  const Result count = op == Op::read ? description.file->read({bytes, size_B}, start)
                                      : description.file->write({bytes, size_B}, start);
  if (own && count > 0) description.offset_B += std::uint64_t(count);
  return count;
}

[[gnu::noinline]] ssize_t transfer_slow(const char* function, Op op, int fd, void* data,
                                        std::size_t size_B, std::uint64_t offset_B) {
  const int saved = errno;
  const Guard guard;
  const DescriptionRef description = find_description(fd);
  static Description* const unknown = new Description;  // closed meanwhile: let the kernel say so
  Description& target = description != nullptr ? *description : *unknown;
  Call call{.op = op,
            .function = function,
            .path = target.path,
            .description = target.id,
            .fd = fd,
            .argument = data,
            .length_B = size_B,
            .offset_B = offset_B == kAtOffset ? 0 : offset_B};
  return to_libc<ssize_t>(
      run_call(target.observer.get(), call,
               [&] { return transfer(op, target, fd, data, size_B, offset_B); }),
      saved);
}

/// Several buffers go to a device as one, since it is one call.
std::size_t total_size(const iovec* buffers, int count) {
  std::size_t total_B = 0;
  for (int i = 0; i < count; ++i) total_B += buffers[i].iov_len;
  return total_B;
}
void gather(const iovec* buffers, int count, std::byte* to) {
  for (int i = 0; i < count; to += buffers[i++].iov_len)
    if (buffers[i].iov_len > 0) std::memcpy(to, buffers[i].iov_base, buffers[i].iov_len);
}
void scatter(const iovec* buffers, int count, std::span<const std::byte> from) {
  for (int i = 0; i < count && !from.empty(); ++i) {
    const std::size_t part_B = std::min(buffers[i].iov_len, from.size());
    if (part_B > 0) std::memcpy(buffers[i].iov_base, from.data(), part_B);
    from = from.subspan(part_B);
  }
}

[[gnu::noinline]] ssize_t vector_slow(const char* function, Op op, int fd, const iovec* buffers,
                                      int count, std::uint64_t offset_B) {
  constexpr int kMaxBuffers = 1024;                   // UIO_MAXIOV
  constexpr std::size_t kMaxTransfer_B = 0x7ffff000;  // MAX_RW_COUNT of the kernel
  const std::size_t total_B = count >= 0 && count <= kMaxBuffers ? total_size(buffers, count) : 0;
  if (count < 0 || count > kMaxBuffers || total_B > kMaxTransfer_B) return to_libc(-EINVAL, 0);
  std::unique_ptr<std::byte[]> whole(new (std::nothrow) std::byte[total_B]);
  if (whole == nullptr) return to_libc(-ENOMEM, 0);
  if (op == Op::write) gather(buffers, count, whole.get());
  const ssize_t done_B = transfer_slow(function, op, fd, whole.get(), total_B, offset_B);
  if (op == Op::read && done_B > 0)
    scatter(buffers, count, {whole.get(), std::min(std::size_t(done_B), total_B)});
  return done_B;
}

[[gnu::noinline]] int ioctl_slow(int fd, unsigned long request, void* argument) {
  const int saved = errno;
  const Guard guard;
  const DescriptionRef description = find_description(fd);
  if (description == nullptr) return real::ioctl(fd, request, argument);
  Call call{.op = Op::ioctl,
            .function = "ioctl",
            .path = description->path,
            .description = description->id,
            .fd = fd,
            .request = request,
            .argument = argument};
  return to_libc(run_call(description->observer.get(), call,
                          [&] {
                            return description->file != nullptr
                                       ? description->file->ioctl(request, argument)
                                       : from_libc(real::ioctl(fd, request, argument));
                          }),
                 saved);
}

[[gnu::noinline]] off_t seek_slow(int fd, off_t to, int whence) {
  const DescriptionRef description = find_description(fd);
  const bool counts =
      description != nullptr && (description->file != nullptr ||
                                 (description->node != nullptr && description->node->is(S_IFDIR)));
  if (!counts) return real::lseek(fd, to, whence);
  const int saved = errno;
  const std::int64_t base = whence == SEEK_CUR ? std::int64_t(description->offset_B.load()) : 0;
  const bool known = whence == SEEK_SET || whence == SEEK_CUR;
  const Result target = known && base + to >= 0 ? Result(base + to) : -EINVAL;
  if (target >= 0) description->offset_B = std::uint64_t(target);
  return to_libc<off_t>(target, saved);
}

// ---- duplicates ----

/// `old` may be ours or not; `target` is the number to be replaced, or -1.
[[gnu::noinline]] int dup_slow(const char* function, int old, int target, int flags,
                               const std::function<int()>& duplicate) {
  const int saved = errno;
  const Guard guard;
  const DescriptionRef description = find_description(old);
  if (old == target) return duplicate();
  Call call{.op = Op::dup, .function = function, .fd = old, .flags = flags};
  if (description != nullptr) {
    call.path = description->path;
    call.description = description->id;
  }
  const auto body = [&]() -> Result {
    const DescriptionRef replaced = target >= 0 ? find_description(target) : nullptr;
    const Result made =
        replaced != nullptr
            ? drop_descriptor(target, function, [&] { return from_libc(duplicate()); })
            : from_libc(duplicate());
    if (made < 0 && replaced != nullptr && real::fcntl(target, F_GETFD, nullptr) >= 0)
      add_descriptor(target, replaced);
    call.new_fd = int(std::max<Result>(made, -1));
    if (made >= 0 && description != nullptr) add_descriptor(int(made), description);
    return made;
  };
  return to_libc(
      run_call(description != nullptr ? description->observer.get() : nullptr, call, body), saved);
}

[[gnu::noinline]] int fcntl_slow(int fd, int command, void* argument) {
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
    return dup_slow("fcntl", fd, -1, command == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0,
                    [&] { return real::fcntl(fd, command, argument); });
  const int result = real::fcntl(fd, command, argument);
  if (command != F_GETFL || result < 0) return result;
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || description->node == nullptr) return result;
  constexpr int kOpen = O_ACCMODE | O_PATH | O_DIRECTORY | O_NOFOLLOW;
  return (result & ~kOpen) | (description->flags & kOpen);
}

// ---- poll ----

/// Descriptors of files that answer poll themselves (those without wait_fd), by index.
std::vector<std::pair<nfds_t, std::shared_ptr<File>>> polled_files(const pollfd* fds,
                                                                   nfds_t count) {
  std::vector<std::pair<nfds_t, std::shared_ptr<File>>> found;
  for (nfds_t i = 0; i < count; ++i) {
    const DescriptionRef description = fds[i].fd >= 0 ? find_description(fds[i].fd) : nullptr;
    if (description != nullptr && description->file != nullptr && description->file->wait_fd() < 0)
      found.emplace_back(i, description->file);
  }
  return found;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Asks the files, and the kernel for the rest, again and again in steps of a millisecond.
int poll_files(pollfd* fds, nfds_t count, std::int64_t timeout_ns, const sigset_t* mask) {
  const auto files = polled_files(fds, count);
  std::vector<pollfd> kernel(fds, fds + count);
  for (const auto& [index, file] : files) kernel[index].fd = -1;
  const std::int64_t end_ns = now_ns() + timeout_ns;
  for (;;) {
    int ready = 0;
    for (nfds_t i = 0; i < count; ++i) fds[i].revents = 0;
    for (const auto& [index, file] : files) {
      const Result events =
          guarded("poll", [&, f = file, i = index] { return f->poll(fds[i].events); });
      fds[index].revents = events < 0 ? short(POLLERR) : short(events);
      ready += fds[index].revents != 0;
    }
    const std::int64_t left_ns = timeout_ns < 0 ? 1'000'000 : end_ns - now_ns();
    const std::int64_t wait_ns =
        ready > 0 || left_ns <= 0 ? 0 : std::min<std::int64_t>(left_ns, 1'000'000);
    const timespec wait{.tv_sec = 0, .tv_nsec = wait_ns};
    const int others = real::ppoll(kernel.data(), count, &wait, mask);
    if (others < 0) return others;
    for (nfds_t i = 0; i < count; ++i)
      if (kernel[i].fd >= 0) fds[i].revents = kernel[i].revents;
    if (ready + others > 0 || (timeout_ns >= 0 && now_ns() >= end_ns)) return ready + others;
  }
}

bool any_ours(const pollfd* fds, nfds_t count) {
  for (nfds_t i = 0; i < count; ++i)
    if (maybe_ours(fds[i].fd)) [[unlikely]]
      return true;
  return false;
}

int poll_any(pollfd* fds, nfds_t count, int timeout_ms) {
  if (!any_ours(fds, count)) [[likely]]
    return real::poll(fds, count, timeout_ms);
  if (polled_files(fds, count).empty()) return real::poll(fds, count, timeout_ms);
  const Guard guard;
  return poll_files(fds, count, timeout_ms < 0 ? -1 : std::int64_t(timeout_ms) * 1'000'000,
                    nullptr);
}

int ppoll_any(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  if (!any_ours(fds, count) || polled_files(fds, count).empty())
    return real::ppoll(fds, count, timeout, mask);
  const Guard guard;
  return poll_files(
      fds, count,
      timeout == nullptr ? -1 : std::int64_t(timeout->tv_sec) * 1'000'000'000 + timeout->tv_nsec,
      mask);
}

// ---- select ----

/// The three sets of select(2), any of them null, as what poll is asked.
struct SelectSets {
  fd_set* sets[3];
  static constexpr short kAsked[3] = {POLLIN, POLLOUT, POLLPRI};
  static constexpr short kReady[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};

  bool has(int which, int fd) const { return sets[which] != nullptr && FD_ISSET(fd, sets[which]); }
  std::vector<pollfd> asked(int count) const {
    std::vector<pollfd> fds;
    for (int fd = 0; fd < count; ++fd) {
      short events = 0;
      for (int which = 0; which < 3; ++which)
        if (has(which, fd)) events |= kAsked[which];
      if (events != 0) fds.push_back({.fd = fd, .events = events, .revents = 0});
    }
    return fds;
  }
  /// Leaves in the sets what is ready, and counts it.
  Result answer(const std::vector<pollfd>& fds) const {
    for (const pollfd& fd : fds)
      if ((fd.revents & POLLNVAL) != 0) return -EBADF;
    Result ready = 0;
    for (const pollfd& fd : fds)
      for (int which = 0; which < 3; ++which) {
        if (!has(which, fd.fd)) continue;
        if ((fd.revents & kReady[which]) != 0)
          ++ready;
        else
          FD_CLR(fd.fd, sets[which]);
      }
    return ready;
  }
};

/// Is one of the set's first `count` descriptors ours? Sixty-four at a time.
bool any_ours(const fd_set* set, int count) {
  if (set == nullptr) return false;
  for (int first = 0; first < count; first += 64) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const std::byte*>(set) + first / 8, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      if (maybe_ours(first + std::countr_zero(bits))) return true;
  }
  return false;
}

/// Must we ask files ourselves? Not for those that wait in the kernel.
bool selects_files(const SelectSets& sets, int count) {
  if (count < 0 || count > FD_SETSIZE) return false;
  bool ours = false;
  for (const fd_set* const set : sets.sets) ours = ours || any_ours(set, count);
  if (!ours) [[likely]]
    return false;
  const auto fds = sets.asked(count);
  return !polled_files(fds.data(), fds.size()).empty();
}

/// As select: `timeout_ns` < 0 waits for ever; what is left of it is in the end written back.
int select_files(const SelectSets& sets, int count, std::int64_t& timeout_ns,
                 const sigset_t* mask) {
  const int saved = errno;
  const Guard guard;
  std::vector<pollfd> fds = sets.asked(count);
  const std::int64_t end_ns = now_ns() + timeout_ns;
  const int ready = poll_files(fds.data(), fds.size(), timeout_ns, mask);
  if (timeout_ns >= 0) timeout_ns = std::max<std::int64_t>(end_ns - now_ns(), 0);
  if (ready < 0) return ready;
  return to_libc(sets.answer(fds), saved);
}

int close_range_any(const char* function, unsigned first, unsigned last, int flags,
                    const std::function<int()>& close) {
  if (t_inside == 0 && (flags & CLOSE_RANGE_CLOEXEC) == 0)
    for (const int fd : descriptors_between(first, last))
      drop_descriptor(fd, function, [fd] { return from_libc(real::close(fd)); });
  return close();
}

}  // namespace

bool permits(const Node& node, int mode) {
  return ((mode & R_OK) == 0 || (node.mode & 0444) != 0) &&
         ((mode & W_OK) == 0 || (node.mode & 0222) != 0) &&
         ((mode & X_OK) == 0 || (node.mode & 0111) != 0);
}

Result open_served(const Located& at, int flags, mode_t mode, std::uint64_t& id) {
  if (const int error = refusal(*at.node, flags)) return -error;
  auto description = std::make_shared<Description>();
  description->id = next_description_id();
  description->path = at.path;
  description->node = at.node;
  description->observer = at.observer;
  description->flags = flags;
  const std::uint64_t number = description->id;
  const Result fd = open_node(*description, at, flags, mode);
  if (fd < 0) return fd;
  if (!add_descriptor(int(fd), std::move(description))) return real::close(int(fd)), -EMFILE;
  id = number;
  return fd;
}

int open_at(const char* function, int dir, const char* path, int flags, mode_t mode) {
  if (maybe_path_at(dir, path)) [[unlikely]]
    return open_slow(function, dir, path, flags, mode);
  const int fd = real::openat(dir, path, flags, mode);
  forget_stale(fd);
  return fd;
}

int close_fd(const char* function, int fd) {
  if (!maybe_ours(fd)) [[likely]]
    return real::close(fd);
  const int saved = errno;
  return to_libc(drop_descriptor(fd, function, [fd] { return from_libc(real::close(fd)); }), saved);
}

}  // namespace tiny::interpose

using namespace tiny::interpose;

// ---- open, close ----

#define TINY_OPEN(symbol, ...)                                       \
  TINY_HOOK(int, symbol, const char* path, int flags, mode_t mode) { \
    if (maybe_path(path)) [[unlikely]]                               \
      return open_slow(#symbol, AT_FDCWD, path, flags, mode);        \
    const int fd = real::open(path, flags, mode);                    \
    forget_stale(fd);                                                \
    return fd;                                                       \
  }
TINY_OPEN(open)
TINY_OPEN(open64)
#undef TINY_OPEN

TINY_HOOK(int, __open_2, const char* path, int flags) { return hook_open(path, flags, 0); }
TINY_HOOK(int, __open64_2, const char* path, int flags) { return hook_open64(path, flags, 0); }
TINY_HOOK(int, openat, int dir, const char* path, int flags, mode_t mode) {
  return open_at("openat", dir, path, flags, mode);
}
TINY_HOOK(int, openat64, int dir, const char* path, int flags, mode_t mode) {
  return open_at("openat64", dir, path, flags, mode);
}
TINY_HOOK(int, __openat_2, int dir, const char* path, int flags) {
  return open_at("openat", dir, path, flags, 0);
}
TINY_HOOK(int, __openat64_2, int dir, const char* path, int flags) {
  return open_at("openat64", dir, path, flags, 0);
}
TINY_HOOK(int, creat, const char* path, mode_t mode) {
  return hook_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
TINY_HOOK(int, creat64, const char* path, mode_t mode) { return hook_creat(path, mode); }

TINY_HOOK(int, close, int fd) { return close_fd("close", fd); }
TINY_HOOK(int, close_range, unsigned first, unsigned last, int flags) {
  return close_range_any("close_range", first, last, flags,
                         [&] { return real::close_range(first, last, flags); });
}
TINY_HOOK(void, closefrom, int first) {
  const unsigned low = unsigned(std::max(first, 0));
  close_range_any("closefrom", low, ~0U, 0, [&] { return real::close_range(low, ~0U, 0); });
}

// ---- reading and writing ----

TINY_HOOK(ssize_t, read, int fd, void* to, size_t size) {
  if (!maybe_ours(fd)) [[likely]]
    return real::read(fd, to, size);
  return transfer_slow("read", Op::read, fd, to, size, kAtOffset);
}
TINY_HOOK(ssize_t, pread, int fd, void* to, size_t size, off_t offset) {
  if (!maybe_ours(fd)) [[likely]]
    return real::pread(fd, to, size, offset);
  return transfer_slow("pread", Op::read, fd, to, size, std::uint64_t(offset));
}
TINY_HOOK(ssize_t, pread64, int fd, void* to, size_t size, off_t offset) {
  return hook_pread(fd, to, size, offset);
}
TINY_HOOK(ssize_t, write, int fd, const void* from, size_t size) {
  if (!maybe_ours(fd)) [[likely]]
    return real::write(fd, from, size);
  return transfer_slow("write", Op::write, fd, const_cast<void*>(from), size, kAtOffset);
}
TINY_HOOK(ssize_t, pwrite, int fd, const void* from, size_t size, off_t offset) {
  if (!maybe_ours(fd)) [[likely]]
    return real::pwrite(fd, from, size, offset);
  return transfer_slow("pwrite", Op::write, fd, const_cast<void*>(from), size,
                       std::uint64_t(offset));
}
TINY_HOOK(ssize_t, pwrite64, int fd, const void* from, size_t size, off_t offset) {
  return hook_pwrite(fd, from, size, offset);
}
TINY_HOOK(ssize_t, __read_chk, int fd, void* to, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return hook_read(fd, to, size);
}
TINY_HOOK(ssize_t, __pread_chk, int fd, void* to, size_t size, off_t offset, size_t room) {
  if (size > room) __chk_fail();
  return hook_pread(fd, to, size, offset);
}
TINY_HOOK(ssize_t, __pread64_chk, int fd, void* to, size_t size, off_t offset, size_t room) {
  if (size > room) __chk_fail();
  return hook_pread(fd, to, size, offset);
}
#define TINY_VECTOR(symbol, op)                                         \
  TINY_HOOK(ssize_t, symbol, int fd, const iovec* buffers, int count) { \
    if (!maybe_ours(fd)) [[likely]]                                     \
      return real::symbol(fd, buffers, count);                          \
    return vector_slow(#symbol, op, fd, buffers, count, kAtOffset);     \
  }
#define TINY_VECTOR_AT(symbol, plain, op)                                             \
  TINY_HOOK(ssize_t, symbol, int fd, const iovec* buffers, int count, off_t offset) { \
    if (!maybe_ours(fd)) [[likely]]                                                   \
      return real::plain(fd, buffers, count, offset);                                 \
    return vector_slow(#symbol, op, fd, buffers, count, std::uint64_t(offset));       \
  }
TINY_VECTOR(readv, Op::read)
TINY_VECTOR(writev, Op::write)
TINY_VECTOR_AT(preadv, preadv, Op::read)
TINY_VECTOR_AT(preadv64, preadv, Op::read)
TINY_VECTOR_AT(pwritev, pwritev, Op::write)
TINY_VECTOR_AT(pwritev64, pwritev, Op::write)
// An offset of -1 is the file's own.
#define TINY_VECTOR_FLAGS(symbol, plain, op)                                                     \
  TINY_HOOK(ssize_t, symbol, int fd, const iovec* buffers, int count, off_t offset, int flags) { \
    if (!maybe_ours(fd)) [[likely]]                                                              \
      return real::plain(fd, buffers, count, offset, flags);                                     \
    if (flags != 0) return to_libc<ssize_t>(-EOPNOTSUPP, 0);                                     \
    return vector_slow(#symbol, op, fd, buffers, count,                                          \
                       offset == -1 ? kAtOffset : std::uint64_t(offset));                        \
  }
TINY_VECTOR_FLAGS(preadv2, preadv2, Op::read)
TINY_VECTOR_FLAGS(preadv64v2, preadv2, Op::read)
TINY_VECTOR_FLAGS(pwritev2, pwritev2, Op::write)
TINY_VECTOR_FLAGS(pwritev64v2, pwritev2, Op::write)
#undef TINY_VECTOR_FLAGS
#undef TINY_VECTOR
#undef TINY_VECTOR_AT
TINY_HOOK(off_t, lseek, int fd, off_t to, int whence) {
  if (!maybe_ours(fd)) [[likely]]
    return real::lseek(fd, to, whence);
  return seek_slow(fd, to, whence);
}
TINY_HOOK(off_t, lseek64, int fd, off_t to, int whence) { return hook_lseek(fd, to, whence); }
TINY_HOOK(int, ioctl, int fd, unsigned long request, void* argument) {
  if (!maybe_ours(fd)) [[likely]]
    return real::ioctl(fd, request, argument);
  return ioctl_slow(fd, request, argument);
}

// ---- duplicates ----

TINY_HOOK(int, dup, int fd) {
  if (!maybe_ours(fd)) [[likely]]
    return real::dup(fd);
  return dup_slow("dup", fd, -1, 0, [&] { return real::dup(fd); });
}
TINY_HOOK(int, dup2, int fd, int to) {
  if (!maybe_ours(fd) && !maybe_ours(to)) [[likely]]
    return real::dup2(fd, to);
  return dup_slow("dup2", fd, to, 0, [&] { return real::dup2(fd, to); });
}
TINY_HOOK(int, dup3, int fd, int to, int flags) {
  if (!maybe_ours(fd) && !maybe_ours(to)) [[likely]]
    return real::dup3(fd, to, flags);
  return dup_slow("dup3", fd, to, flags, [&] { return real::dup3(fd, to, flags); });
}
TINY_HOOK(int, fcntl, int fd, int command, void* argument) {
  if (!maybe_ours(fd)) [[likely]]
    return real::fcntl(fd, command, argument);
  return fcntl_slow(fd, command, argument);
}
TINY_HOOK(int, fcntl64, int fd, int command, void* argument) {
  return hook_fcntl(fd, command, argument);
}

// ---- poll ----

TINY_HOOK(int, poll, pollfd* fds, nfds_t count, int timeout_ms) {
  return poll_any(fds, count, timeout_ms);
}
TINY_HOOK(int, __poll_chk, pollfd* fds, nfds_t count, int timeout_ms, size_t room) {
  if (room / sizeof *fds < count) __chk_fail();
  return poll_any(fds, count, timeout_ms);
}
TINY_HOOK(int, ppoll, pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return ppoll_any(fds, count, timeout, mask);
}
TINY_HOOK(int, __ppoll_chk, pollfd* fds, nfds_t count, const timespec* timeout,
          const sigset_t* mask, size_t room) {
  if (room / sizeof *fds < count) __chk_fail();
  return ppoll_any(fds, count, timeout, mask);
}
TINY_HOOK(int, select, int count, fd_set* readable, fd_set* writable, fd_set* special,
          timeval* timeout) {
  const SelectSets sets{{readable, writable, special}};
  if (!selects_files(sets, count)) return real::select(count, readable, writable, special, timeout);
  std::int64_t left_ns =
      timeout == nullptr ? -1
                         : std::int64_t(timeout->tv_sec) * 1'000'000'000 + timeout->tv_usec * 1'000;
  const int ready = select_files(sets, count, left_ns, nullptr);
  if (timeout != nullptr)
    *timeout = {.tv_sec = left_ns / 1'000'000'000, .tv_usec = left_ns % 1'000'000'000 / 1'000};
  return ready;
}
TINY_HOOK(int, pselect, int count, fd_set* readable, fd_set* writable, fd_set* special,
          const timespec* timeout, const sigset_t* mask) {
  const SelectSets sets{{readable, writable, special}};
  if (!selects_files(sets, count))
    return real::pselect(count, readable, writable, special, timeout, mask);
  std::int64_t left_ns =
      timeout == nullptr ? -1 : std::int64_t(timeout->tv_sec) * 1'000'000'000 + timeout->tv_nsec;
  return select_files(sets, count, left_ns, mask);
}
