// SPDX-License-Identifier: MIT
// What the hooks share: the table of prefixes, open descriptions by descriptor, mappings by
// address, and the one lock over all three. The lock is never held while a handler runs.
#pragma once

#include "models/interpose/interpose.h"
#include "models/interpose/real.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace tiny::interpose {

// ---- the guard ----

/// > 0 while this thread runs a handler or our own code. Initial-exec: reading it never allocates.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit int t_inside;

struct Guard {
  Guard() { ++t_inside; }
  ~Guard() { --t_inside; }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

// ---- results ----

/// What a C library call returned, as a Result.
Result from_libc(std::int64_t returned);
Result from_libc(const void* mapped);  ///< MAP_FAILED is the error
/// The other way: sets errno and gives -1 for an error; errno is left alone on success.
template <typename T = int>
T to_libc(Result result, int saved_errno) {
  errno = result < 0 ? int(-result) : saved_errno;
  return T(result < 0 ? -1 : result);
}
/// Runs a handler: what it throws is reported and becomes -EIO. (Thread cancellation goes through.)
Result guarded(const char* what, const std::function<Result()>& handler);

// ---- prefixes ----

struct Prefix {
  std::string text;  ///< without the final '*'
  bool wildcard = false;
  std::shared_ptr<Tree> tree;
  std::shared_ptr<Observer> observer;

  bool covers(std::string_view path) const;
  bool below(std::string_view directory) const;  ///< the directory is above this prefix
};
/// Never changed after it is published; old ones are kept, so that readers need no lock.
struct PrefixTable {
  std::vector<Prefix> prefixes;

  const Prefix* find(std::string_view path, bool served) const;
  bool above_any(std::string_view directory) const;
};
const PrefixTable& prefix_table();

/// First letters after '/' that some prefix has; all are set until the first call has run the
/// setup.
struct Letters {
  std::uint8_t set[256];
};
extern Letters g_letters;
extern std::atomic<bool> g_relative_matters;  ///< the current directory is above a prefix

inline bool letter_matters(char letter) {
  return __atomic_load_n(&g_letters.set[std::uint8_t(letter)], __ATOMIC_RELAXED) != 0;
}
/// Compares with the prefixes, without a lock or an allocation; runs the setup if that is due.
bool path_matters(const char* path);
/// May this path concern us? A few loads for almost every path of a program.
inline bool maybe_path(const char* path) {
  if (path == nullptr) return false;
  if (path[0] == '/') return letter_matters(path[1]) && t_inside == 0 && path_matters(path);
  const bool matters = g_relative_matters.load(std::memory_order_relaxed) ||
                       (path[0] == '.' && path[1] == '.' && letter_matters('.'));
  return matters && t_inside == 0;
}
void ensure_setup();
void current_directory_changed();

// ---- descriptions ----

struct Node;

/// Served: has a node, and a file where a handler does the work (else the descriptor is a memory
/// file with the contents, or the placeholder of a directory). Observed: has an observer. With
/// neither it is a real directory above a prefix, kept for the paths relative to it.
struct Description {
  std::uint64_t id = 0;
  std::string path;
  std::shared_ptr<const Node> node;
  std::shared_ptr<File> file;
  std::shared_ptr<Observer> observer;
  int flags = 0;
  std::atomic<std::uint64_t> offset_B = 0;

  ~Description();
};
using DescriptionRef = std::shared_ptr<Description>;

constexpr int kMaxDescriptors = 1 << 20;
extern std::atomic<std::uint8_t> g_ours[kMaxDescriptors];

/// Is this descriptor in our table? One load.
inline bool maybe_ours(int fd) {
  return unsigned(fd) < unsigned(kMaxDescriptors) &&
         g_ours[unsigned(fd)].load(std::memory_order_relaxed) != 0 && t_inside == 0;
}

/// A path relative to a directory.
inline bool maybe_path_at(int dir, const char* path) {
  if (path == nullptr || path[0] == '/' || dir < 0) return maybe_path(path);
  return maybe_ours(dir);
}

DescriptionRef find_description(int fd);  ///< null: not ours
std::uint64_t next_description_id();
bool add_descriptor(int fd, DescriptionRef description);
/// Out of the table. Null: not ours, or this is the child of a vfork, whose memory is its parent's.
DescriptionRef take_descriptor(int fd);
std::vector<int> descriptors_between(unsigned first, unsigned last);
/// A descriptor goes: observers are told, `close` is the real call, the file is flushed.
Result drop_descriptor(int fd, const char* function, const std::function<Result()>& close);
/// A real call returned this number, so what we knew of it is stale (closed behind our back).
inline void forget_stale(int fd) {
  if (maybe_ours(fd)) [[unlikely]]
    take_descriptor(fd);
}

// ---- observers ----

/// before, the call itself (guarded), after. The observer may be null.
Result run_call(Observer* observer, Call& call, const std::function<Result()>& body);

// ---- mappings ----

struct Piece {
  std::size_t length_B = 0;
  std::uint64_t offset_B = 0;
  std::uint64_t mapping = 0;
  DescriptionRef description{};
};
struct TakenPiece {
  std::uintptr_t address = 0;
  Piece piece;
  MappedPart part() const;
};
/// Bounds of all that was ever tracked or watched; they only grow.
extern std::atomic<std::uintptr_t> g_lowest, g_highest;

inline bool maybe_mapped(const void* address, std::size_t length_B) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  return first < g_highest.load(std::memory_order_relaxed) &&
         first + length_B > g_lowest.load(std::memory_order_relaxed) && t_inside == 0;
}
std::size_t page_up(std::size_t length_B);  ///< to whole pages
void widen_bounds(std::uintptr_t address, std::size_t length_B);
std::uint64_t next_mapping_id();
void add_piece(std::uintptr_t address, Piece piece);
std::vector<TakenPiece> pieces_in(std::uintptr_t address, std::size_t length_B);  ///< copies
std::vector<TakenPiece> take_pieces(std::uintptr_t address, std::size_t length_B);
void put_back(const std::vector<TakenPiece>& pieces);

// ---- paths ----

/// The traps' lock, around a fork.
void trap_before_fork();
void trap_after_fork(bool child);

/// Where a path leads, after all links of served trees.
struct Located {
  enum class Kind { real, moved, served, error };
  Kind kind = Kind::real;
  std::string path{};  ///< absolute and normal; empty for `real` paths that concern nobody
  int error = 0;       ///< positive errno
  std::shared_ptr<const Node> node{};
  std::shared_ptr<Observer> observer{};
  bool above = false;  ///< a real directory above a prefix
};
/// kind real: do the call as it was given. moved: a link of a tree led out to this real path.
Located locate(int dir, const char* path, bool follow);

/// The lock over descriptors, mappings and trees.
std::mutex& table_lock();

}  // namespace tiny::interpose
