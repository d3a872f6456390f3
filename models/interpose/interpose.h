// SPDX-License-Identifier: MIT
// The interposer: takes the place of the C library's file calls for chosen paths. A path is
// *mounted* (we serve it: files, directories, links, devices) or *observed* (somebody sees each
// call before and after), or both; every other path, descriptor and mapping goes through unchanged.
// Link `interpose_dep` into an executable, or into a shared library that is preloaded. Knows no
// device.
//
// Rules for handlers (File, Observer, the functions of a Tree):
// - They run on the calling thread. Calls of the C library that they make go through to the real
// ones.
//   Threads of their own are not handlers: there, hold a PassThrough.
// - They return >= 0, or -errno as the kernel does. An exception is printed to stderr and becomes
// -EIO.
// - They may run before the program's static constructors, and before iostream is usable.
//
// What is not seen: calls made inside the C library itself (glob, nftw and fts, posix_spawn's file
// actions, system, getaddrinfo's configuration, locale and time zone files, dlopen), io_uring,
// sendfile, splice and copy_file_range, static programs and inline `syscall` instructions
// (program.h says so), `chdir` into a mounted directory (ENOENT), paths that reach a mount through
// a symbolic link of the real file system. For programs a mount is a read-only file system: what
// would create, remove, rename or change a served name fails with EROFS (EXDEV between a mount and
// the rest). A mount does not appear in the listing of the real directory above it. After exec a
// fake descriptor that was not close-on-exec is only its placeholder.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::interpose {

/// >= 0, or -errno. Addresses are below 2^63.
using Result = std::int64_t;

// ---- devices ----

struct MapRequest {
  void* address = nullptr;  ///< the hint; the place itself with MAP_FIXED in flags
  std::size_t length_B = 0;
  int prot = 0, flags = 0;
  std::uint64_t offset_B = 0;
};

/// A piece of one mapping. Pieces of the same mmap share `mapping`.
struct MappedPart {
  std::uint64_t mapping = 0;      ///< number of the mmap, counted from 1
  std::uint64_t description = 0;  ///< of the file it was mapped from
  std::uintptr_t address = 0;
  std::size_t length_B = 0;
  std::uint64_t offset_B = 0;  ///< in the file, of the first byte of this part
};

/// One open file description of a served device: shared by duplicated descriptors, and kept by its
/// mappings until the last of them is gone, as in the kernel. Calls may come from several threads.
class File {
 public:
  virtual ~File() = default;
  virtual Result ioctl(unsigned long request, void* argument);                    ///< -ENOTTY
  virtual Result read(std::span<std::byte> into, std::uint64_t offset_B);         ///< -EINVAL
  virtual Result write(std::span<const std::byte> from, std::uint64_t offset_B);  ///< -EINVAL
  /// Makes the mapping itself (say, by ::mmap of its own memfd with request.address and .flags) and
  /// returns its address. Default -ENODEV.
  virtual Result map(const MapRequest& request);
  /// This part is gone: unmapped, or replaced by a MAP_FIXED mapping, or moved away by mremap.
  virtual void unmapped(const MappedPart& part);
  /// What of `events` is ready now; asked only of files without wait_fd. Default: POLLIN and
  /// POLLOUT.
  virtual short poll(short events);
  /// An eventfd or the like, asked once at open: the fake descriptor becomes a duplicate of it, so
  /// that poll, select and epoll wait on it in the kernel. Default -1: none. Stays the file's own.
  virtual int wait_fd();
  virtual void flush();         ///< one of its descriptors was closed
  virtual void release();       ///< the last descriptor and the last mapping are gone
  virtual void forked_child();  ///< in the child of a fork, on its copy, before fork returns
};

struct OpenRequest {
  std::string path;  ///< absolute, links resolved
  int flags = 0;
  mode_t mode = 0;
};
struct Opened {
  std::shared_ptr<File> file;  ///< null: refused with `error`
  int error = 0;               ///< positive errno
};

// ---- served paths ----

/// Files, directories, links and devices by absolute path. Directories above an entry make
/// themselves. May be changed while mounted, from any thread. Adding an entry anew replaces it.
class Tree {
 public:
  using Contents = std::function<std::string()>;            ///< called at each open
  using Written = std::function<Result(std::string_view)>;  ///< one write; returns bytes taken
  using Open = std::function<Opened(const OpenRequest&)>;

  Tree();
  ~Tree();
  void add_directory(std::string_view path, mode_t mode = 0755);
  void add_file(std::string_view path, std::string contents, mode_t mode = 0444);
  void add_file(std::string_view path, Contents contents, mode_t mode = 0444, Written written = {});
  void add_link(std::string_view path, std::string target);
  void add_device(std::string_view path, dev_t number, Open open, mode_t mode = 0666);
  void remove(std::string_view path);  ///< with everything below it

  struct State;
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Serves `prefix` and everything below it from the tree, also what the tree does not have
/// (ENOENT).
/// "/dev/nvidia*" means every path that begins so. The longest prefix wins.
void mount(std::string_view prefix, std::shared_ptr<Tree> tree);
void unmount(std::string_view prefix);  ///< open descriptors live on

// ---- observed paths ----

enum class Op : std::uint8_t {
  open,
  close,
  ioctl,
  mmap,
  munmap,
  mremap,
  mprotect,
  dup,
  read,
  write,
  fork_child
};

/// One call on an observed path. Members that an op does not name are zero.
struct Call {
  Op op = Op::open;
  const char* function = "";      ///< as the program called it: "openat", "open64", "syscall"
  std::string_view path{};        ///< of the open; in later calls, that of the description
  std::uint64_t description = 0;  ///< counted from 1, shared by dups; 0 before an open succeeded
  int fd = -1;                    ///< open: -1 before, the new one after
  int new_fd = -1;                ///< dup: after
  unsigned long request = 0;      ///< ioctl
  void* argument = nullptr;       ///< ioctl; read and write: the buffer
  void* address = nullptr;        ///< mmap: the hint; munmap, mprotect; mremap: the old address
  void* new_address = nullptr;    ///< mremap: the hint
  std::size_t length_B = 0;       ///< mmap, munmap, mprotect, read, write; mremap: the old length
  std::size_t new_length_B = 0;   ///< mremap
  int prot = 0, flags = 0;        ///< open and dup: flags; mmap, mremap, mprotect
  mode_t mode = 0;                ///< open
  std::uint64_t offset_B = 0;     ///< mmap; read and write: where the call gave one
  std::uint64_t mapping = 0;      ///< mmap: after, as in MappedPart
  std::span<const MappedPart>
      parts{};        ///< munmap, mremap, mprotect: the observed parts that it meets
  Result result = 0;  ///< after: what the call returned, or -errno
};

/// Sees the calls on the paths it was given. `before` and `after` of one call come on one thread.
/// Unmapping is announced whenever it meets an observed mapping, also in part, also when another
/// mapping replaces it (op munmap, with function "mmap"). Descriptors closed by dup2 or close_range
/// come as op close with that function's name.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Call& call);
  /// May change call.result (it is what the program then gets), and protect or watch a new mapping.
  virtual void after(Call& call);
};
/// Prefixes as for mount. Both may cover one path: then the observer sees what the tree serves.
void observe(std::string_view prefix, std::shared_ptr<Observer> observer);
void unobserve(std::string_view prefix);

// ---- for handlers ----

/// While one lives, calls of this thread go to the real functions.
class PassThrough {
 public:
  PassThrough();
  ~PassThrough();
  PassThrough(const PassThrough&) = delete;
  PassThrough& operator=(const PassThrough&) = delete;
};

struct DescriptorInfo {
  std::uint64_t description = 0;  ///< 0: not ours
  std::string path;
  std::shared_ptr<File> file;  ///< null where it is not a served device
};
DescriptorInfo descriptor(int fd);
std::vector<MappedPart> mappings();  ///< all known now, by address

/// A device that somebody opened or mapped behind our back: an inline `syscall` instruction, or a
/// descriptor that was inherited or received.
struct Bypass {
  std::string path;
  int fd = -1;                 ///< -1: a mapping
  std::uintptr_t address = 0;  ///< of the mapping
};
/// Looks through /proc/self/fd and /proc/self/maps for real files under observed or mounted
/// prefixes that this table has never seen. Slow; for the end of the program, or on request.
std::vector<Bypass> find_bypasses();

}  // namespace tiny::interpose

/// Define this in a preload library to mount and observe. Called once, at the first call that is
/// interposed, which may come from another library's constructor, or else by our own constructor.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] void tiny_interpose_setup();
