// SPDX-License-Identifier: MIT
#undef _FILE_OFFSET_BITS
#include "models/interpose/state.h"

#include "models/interpose/tree.h"
#include "runtime/base/error.h"

#include <cxxabi.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <set>

namespace tiny::interpose {

[[gnu::tls_model("initial-exec")]] thread_local constinit int t_inside = 0;
std::atomic<std::uint8_t> g_ours[kMaxDescriptors];
std::atomic<bool> g_relative_matters = true;
std::atomic<std::uintptr_t> g_lowest = UINTPTR_MAX, g_highest = 0;
constinit Letters g_letters = [] {
  Letters all{};
  for (auto& letter : all.set) letter = 1;
  return all;
}();

namespace {

constinit std::mutex g_lock;
std::atomic<const PrefixTable*> g_prefixes = nullptr;
std::atomic<std::uint64_t> g_description_ids = 0, g_mapping_ids = 0;
/// The process whose tables these are. A vfork child shares our memory but not our descriptors.
std::atomic<pid_t> g_owner = 0;

/// Made at first use and never destroyed: calls come before constructors and after destructors.
struct Tables {
  std::vector<std::unique_ptr<const PrefixTable>> generations;
  std::map<int, DescriptionRef> descriptors;
  std::map<std::uintptr_t, Piece> pieces;
  std::string current_directory;
};
Tables& tables() {
  static Tables* const made = new Tables;
  return *made;
}

pid_t process_id() { return pid_t(real::system_call(SYS_getpid)); }
bool owns_tables() { return g_owner.load(std::memory_order_relaxed) == process_id(); }

void report(const char* what, const char* why) {
  const std::string line = std::string("tiny interpose: ") + what + ": " + why + "\n";
  real::system_call(SYS_write, 2, (long)line.data(), (long)line.size());
}

// ---- fork ----

void before_fork() {
  g_lock.lock();
  trap_before_fork();
}
void after_fork_parent() {
  trap_after_fork(false);
  g_lock.unlock();
}

void after_fork_child() {
  g_owner = process_id();
  std::set<DescriptionRef> live;
  for (const auto& [fd, description] : tables().descriptors) live.insert(description);
  for (const auto& [address, piece] : tables().pieces) live.insert(piece.description);
  trap_after_fork(true);
  g_lock.unlock();
  const Guard guard;
  for (const DescriptionRef& description : live)
    if (description->file != nullptr)
      guarded("forked_child", [&] { return description->file->forked_child(), 0; });
  std::set<std::shared_ptr<Observer>> observers;
  for (const Prefix& prefix : prefix_table().prefixes)
    if (prefix.observer != nullptr) observers.insert(prefix.observer);
  for (const auto& observer : observers) {
    Call call{.op = Op::fork_child, .function = "fork"};
    guarded("fork_child", [&] { return observer->after(call), 0; });
  }
}

void start_once() {
  static const bool started = [] {
    g_owner = process_id();
    return pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
  }();
  if (!started) report("pthread_atfork", "out of memory; forks are not followed");
}

// ---- prefixes ----

void publish_letters(const PrefixTable& table) {
  Letters next{};
  if (!table.prefixes.empty())
    next.set[0] = next.set[std::uint8_t('/')] = next.set[std::uint8_t('.')] = 1;
  for (const Prefix& prefix : table.prefixes)
    next.set[std::uint8_t(prefix.text.size() > 1 ? prefix.text[1] : 0)] = 1;
  const bool all = std::any_of(table.prefixes.begin(), table.prefixes.end(),
                               [](const Prefix& p) { return p.text.size() < 2; });
  for (std::size_t i = 0; i < sizeof next.set; ++i)
    __atomic_store_n(&g_letters.set[i], std::uint8_t(all ? 1 : next.set[i]), __ATOMIC_RELAXED);
}

/// Under the lock.
void publish(PrefixTable table) {
  tables().generations.push_back(std::make_unique<const PrefixTable>(std::move(table)));
  g_prefixes.store(tables().generations.back().get(), std::memory_order_release);
  publish_letters(*tables().generations.back());
}

Prefix parse_prefix(const char* what, std::string_view text) {
  if (text.empty() || text[0] != '/')
    throw UsageError("[interpose] " + std::string(what) + ": the prefix \"" + std::string(text) +
                     "\" is not absolute");
  Prefix prefix;
  prefix.wildcard = text.back() == '*';
  if (prefix.wildcard) text.remove_suffix(1);
  const bool open_end = prefix.wildcard && text.back() == '/';
  prefix.text = normal_path(text) + (open_end && text.size() > 1 ? "/" : "");
  return prefix;
}

enum class Side { tree, observer };

void change_prefixes(const Prefix& prefix, Side side) {
  const Guard guard;
  start_once();
  {
    const std::lock_guard lock(g_lock);
    PrefixTable next = prefix_table();
    auto found = std::find_if(next.prefixes.begin(), next.prefixes.end(), [&](const Prefix& p) {
      return p.text == prefix.text && p.wildcard == prefix.wildcard;
    });
    if (found == next.prefixes.end())
      found = next.prefixes.insert(found, Prefix{prefix.text, prefix.wildcard, {}, {}});
    if (side == Side::tree) found->tree = prefix.tree;
    if (side == Side::observer) found->observer = prefix.observer;
    if (found->tree == nullptr && found->observer == nullptr) next.prefixes.erase(found);
    publish(std::move(next));
  }
  current_directory_changed();
}

enum class Setup : int { none, running, done };
std::atomic<Setup> g_setup = Setup::none;

void run_setup() {
  const Guard guard;
  if (tiny_interpose_setup != nullptr)
    guarded("tiny_interpose_setup", [] { return tiny_interpose_setup(), 0; });
  const std::lock_guard lock(g_lock);
  if (g_prefixes.load() == nullptr) publish({});
}

[[gnu::constructor]] void set_up_at_load() {
  if (t_inside == 0) ensure_setup();
}

}  // namespace

std::mutex& table_lock() { return g_lock; }

const PrefixTable& prefix_table() {
  static const PrefixTable* const empty = new PrefixTable;
  const PrefixTable* const table = g_prefixes.load(std::memory_order_acquire);
  return table != nullptr ? *table : *empty;
}

void ensure_setup() {
  if (g_setup.load(std::memory_order_acquire) == Setup::done) return;
  Setup expected = Setup::none;
  if (g_setup.compare_exchange_strong(expected, Setup::running)) {
    run_setup();
    g_setup.store(Setup::done, std::memory_order_release);
    current_directory_changed();
    return;
  }
  while (g_setup.load(std::memory_order_acquire) != Setup::done) sched_yield();
}

bool Prefix::covers(std::string_view path) const {
  if (!path.starts_with(text)) return false;
  return wildcard || text == "/" || path.size() == text.size() || path[text.size()] == '/';
}

bool Prefix::below(std::string_view directory) const {
  if (directory == "/") return text.size() > 1 || wildcard;
  return text.size() > directory.size() && text.starts_with(directory) &&
         text[directory.size()] == '/';
}

const Prefix* PrefixTable::find(std::string_view path, bool served) const {
  const Prefix* best = nullptr;
  for (const Prefix& prefix : prefixes)
    if ((served ? prefix.tree != nullptr : prefix.observer != nullptr) && prefix.covers(path) &&
        (best == nullptr || prefix.text.size() > best->text.size()))
      best = &prefix;
  return best;
}

bool PrefixTable::above_any(std::string_view directory) const {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const Prefix& prefix) { return prefix.below(directory); });
}

void mount(std::string_view prefix, std::shared_ptr<Tree> tree) {
  if (tree == nullptr) throw UsageError("[interpose] mount: no tree for " + std::string(prefix));
  Prefix parsed = parse_prefix("mount", prefix);
  parsed.tree = std::move(tree);
  change_prefixes(parsed, Side::tree);
}
void unmount(std::string_view prefix) {
  change_prefixes(parse_prefix("unmount", prefix), Side::tree);
}
void observe(std::string_view prefix, std::shared_ptr<Observer> observer) {
  if (observer == nullptr)
    throw UsageError("[interpose] observe: no observer for " + std::string(prefix));
  Prefix parsed = parse_prefix("observe", prefix);
  parsed.observer = std::move(observer);
  change_prefixes(parsed, Side::observer);
}
void unobserve(std::string_view prefix) {
  change_prefixes(parse_prefix("unobserve", prefix), Side::observer);
}

void current_directory_changed() {
  const Guard guard;
  char buffer[PATH_MAX] = "";
  const bool known =
      real::system_call(SYS_getcwd, (long)buffer, sizeof buffer) > 0 && buffer[0] == '/';
  const PrefixTable& table = prefix_table();
  const std::string_view path = known ? buffer : "";
  const bool matters = known && (table.above_any(path) || table.find(path, true) != nullptr ||
                                 table.find(path, false) != nullptr);
  const std::lock_guard lock(g_lock);
  tables().current_directory = path;
  g_relative_matters.store(matters, std::memory_order_relaxed);
}

// ---- results ----

Result from_libc(std::int64_t returned) { return returned < 0 ? -errno : returned; }
Result from_libc(const void* mapped) {
  return mapped == MAP_FAILED ? -errno : Result(reinterpret_cast<std::uintptr_t>(mapped));
}

Result guarded(const char* what, const std::function<Result()>& handler) {
  try {
    return handler();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& e) {
    report(what, e.what());
  } catch (...) {
    report(what, "an exception of unknown type");
  }
  return -EIO;
}

Result run_call(Observer* observer, Call& call, const std::function<Result()>& body) {
  if (observer == nullptr) return guarded(call.function, body);
  guarded("Observer::before", [&] { return observer->before(call), 0; });
  call.result = guarded(call.function, body);
  guarded("Observer::after", [&] { return observer->after(call), 0; });
  return call.result;
}

void Observer::before(Call&) {}
void Observer::after(Call&) {}

// ---- files ----

Result File::ioctl(unsigned long, void*) { return -ENOTTY; }
Result File::read(std::span<std::byte>, std::uint64_t) { return -EINVAL; }
Result File::write(std::span<const std::byte>, std::uint64_t) { return -EINVAL; }
Result File::map(const MapRequest&) { return -ENODEV; }
void File::unmapped(const MappedPart&) {}
short File::poll(short events) { return short(events & (POLLIN | POLLOUT)); }
int File::wait_fd() { return -1; }
void File::flush() {}
void File::release() {}
void File::forked_child() {}

Description::~Description() {
  if (file == nullptr) return;
  const Guard guard;
  guarded("release", [&] { return file->release(), 0; });
  file.reset();
}

// ---- descriptors ----

DescriptionRef find_description(int fd) {
  const Guard guard;
  const std::lock_guard lock(g_lock);
  const auto found = tables().descriptors.find(fd);
  return found == tables().descriptors.end() ? nullptr : found->second;
}

std::uint64_t next_description_id() { return ++g_description_ids; }

bool add_descriptor(int fd, DescriptionRef description) {
  if (fd < 0 || fd >= kMaxDescriptors) return false;
  const Guard guard;
  {
    const std::lock_guard lock(g_lock);
    std::swap(tables().descriptors[fd], description);
    g_ours[fd].store(1, std::memory_order_relaxed);
  }
  return true;  // what was there before (stale) goes here, outside the lock
}

DescriptionRef take_descriptor(int fd) {
  if (!owns_tables()) return nullptr;
  const Guard guard;
  const std::lock_guard lock(g_lock);
  const auto found = tables().descriptors.find(fd);
  if (found == tables().descriptors.end()) return nullptr;
  DescriptionRef taken = std::move(found->second);
  tables().descriptors.erase(found);
  g_ours[fd].store(0, std::memory_order_relaxed);
  return taken;
}

std::vector<int> descriptors_between(unsigned first, unsigned last) {
  const Guard guard;
  const std::lock_guard lock(g_lock);
  std::vector<int> found;
  for (const auto& [fd, description] : tables().descriptors)
    if (unsigned(fd) >= first && unsigned(fd) <= last) found.push_back(fd);
  return found;
}

Result drop_descriptor(int fd, const char* function, const std::function<Result()>& close) {
  const DescriptionRef description = find_description(fd);
  if (description == nullptr || !owns_tables()) return close();
  const Guard guard;
  Call call{.op = Op::close,
            .function = function,
            .path = description->path,
            .description = description->id,
            .fd = fd};
  return run_call(description->observer.get(), call, [&] {
    const DescriptionRef taken = take_descriptor(fd);  // before the number can be given out again
    const Result result = close();
    if (taken != nullptr && taken->file != nullptr)
      guarded("flush", [&] { return taken->file->flush(), 0; });
    return result;
  });
}

DescriptorInfo descriptor(int fd) {
  const DescriptionRef found = find_description(fd);
  if (found == nullptr) return {};
  return {.description = found->id, .path = found->path, .file = found->file};
}

// ---- mappings ----

MappedPart TakenPiece::part() const {
  return {.mapping = piece.mapping,
          .description = piece.description->id,
          .address = address,
          .length_B = piece.length_B,
          .offset_B = piece.offset_B};
}

std::size_t page_up(std::size_t length_B) {
  static const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  return (length_B + page - 1) & ~(page - 1);
}

void widen_bounds(std::uintptr_t address, std::size_t length_B) {
  std::uintptr_t low = g_lowest, high = g_highest;
  while (address < low && !g_lowest.compare_exchange_weak(low, address)) continue;
  while (address + length_B > high && !g_highest.compare_exchange_weak(high, address + length_B))
    continue;
}

std::uint64_t next_mapping_id() { return ++g_mapping_ids; }

void add_piece(std::uintptr_t address, Piece piece) {
  const Guard guard;
  widen_bounds(address, piece.length_B);
  take_pieces(address, piece.length_B);  // stale: unmapped behind our back
  const std::lock_guard lock(g_lock);
  tables().pieces.insert_or_assign(address, std::move(piece));
}

namespace {

/// Under the lock: the first piece that ends after `address`.
auto first_piece(std::uintptr_t address) {
  auto& pieces = tables().pieces;
  auto at = pieces.upper_bound(address);
  if (at != pieces.begin() && std::prev(at)->first + std::prev(at)->second.length_B > address) --at;
  return at;
}

TakenPiece cut(std::uintptr_t start, const Piece& piece, std::uintptr_t from, std::uintptr_t to) {
  TakenPiece part{.address = std::max(start, from), .piece = piece};
  part.piece.length_B = std::min(start + piece.length_B, to) - part.address;
  part.piece.offset_B += part.address - start;
  return part;
}

}  // namespace

std::vector<TakenPiece> pieces_in(std::uintptr_t address, std::size_t length_B) {
  const std::uintptr_t end = address + page_up(length_B);
  std::vector<TakenPiece> found;
  const std::lock_guard lock(g_lock);
  for (auto at = first_piece(address); at != tables().pieces.end() && at->first < end; ++at)
    found.push_back(cut(at->first, at->second, address, end));
  return found;
}

std::vector<TakenPiece> take_pieces(std::uintptr_t address, std::size_t length_B) {
  const std::uintptr_t end = address + page_up(length_B);
  std::vector<TakenPiece> taken;
  const std::lock_guard lock(g_lock);
  auto& pieces = tables().pieces;
  for (auto at = first_piece(address); at != pieces.end() && at->first < end;) {
    const auto [start, piece] = *at;
    at = pieces.erase(at);
    taken.push_back(cut(start, piece, address, end));
    if (start < address) pieces.emplace(start, cut(start, piece, start, address).piece);
    if (start + piece.length_B > end)
      pieces.emplace(end, cut(start, piece, end, start + piece.length_B).piece);
  }
  return taken;
}

void put_back(const std::vector<TakenPiece>& pieces) {
  const std::lock_guard lock(g_lock);
  for (const TakenPiece& taken : pieces)
    tables().pieces.insert_or_assign(taken.address, taken.piece);
}

std::vector<MappedPart> mappings() {
  std::vector<MappedPart> parts;
  const Guard guard;
  for (const TakenPiece& piece : pieces_in(0, INTPTR_MAX)) parts.push_back(piece.part());
  return parts;
}

// ---- paths ----

namespace {

/// The absolute path that was meant; empty where it is relative to something we do not know.
std::string absolute_path(int dir, std::string_view path, int& error) {
  if (path.starts_with('/')) return std::string(path);
  if (dir == AT_FDCWD) {
    const std::lock_guard lock(g_lock);
    return tables().current_directory.empty()
               ? ""
               : tables().current_directory + "/" + std::string(path);
  }
  const DescriptionRef base = find_description(dir);
  if (base == nullptr) return "";
  if (base->node != nullptr && !base->node->is(S_IFDIR)) error = ENOTDIR;
  return base->path + "/" + std::string(path);
}

/// Has this absolute path neither empty nor "." nor ".." components? Hidden files are normal.
bool is_normal(std::string_view path) {
  for (std::size_t slash = 0; slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    std::string_view rest = path.substr(slash + 1);
    while (rest.starts_with('.') && path.size() - rest.size() < slash + 3) rest.remove_prefix(1);
    if (rest.empty() || rest[0] == '/') return false;
  }
  return true;
}

bool concerns_nobody(const PrefixTable& table, std::string_view path) {
  if (!is_normal(path)) return false;
  return table.find(path, true) == nullptr && table.find(path, false) == nullptr &&
         !table.above_any(path);
}

}  // namespace

bool path_matters(const char* path) {
  ensure_setup();
  return !concerns_nobody(prefix_table(), path);
}

namespace {

/// Follows a path component by component through the trees.
class Walk {
 public:
  Walk(const PrefixTable& table, std::string_view path) : table_(table) { prepend(path); }

  Located run(bool follow) {
    while (!todo_.empty() && located_.error == 0) step(follow);
    if (located_.error != 0) {
      located_.kind = Located::Kind::error;
      located_.node = nullptr;
    }
    located_.path = current_.empty() ? "/" : current_;
    return std::move(located_);
  }
  /// Would the real file system resolve the path as it was given to something else?
  bool moved() const { return links_ > 0 || left_; }

 private:
  static constexpr int kMaxLinks = 40;  // as the kernel (path_resolution(7))

  void prepend(std::string_view path) {
    auto parts = path_components(path);
    todo_.insert(todo_.begin(), std::make_move_iterator(parts.begin()),
                 std::make_move_iterator(parts.end()));
  }

  void step(bool follow) {
    const std::string part = std::move(todo_.front());
    todo_.pop_front();
    if (part == ".") return;
    if (part == "..") {
      left_ = left_ || located_.kind == Located::Kind::served;
      current_.resize(current_.empty() ? 0 : current_.rfind('/'));
      return enter();
    }
    current_ += "/" + part;
    enter();
    if (located_.node == nullptr || located_.error != 0) return;
    const Node& node = *located_.node;
    if (node.is(S_IFLNK) && (follow || !todo_.empty())) return jump(node.target);
    if (!todo_.empty() && !node.is(S_IFDIR)) located_.error = ENOTDIR;
  }

  void enter() {
    const Prefix* const prefix = table_.find(current_.empty() ? "/" : current_, true);
    located_.kind = prefix != nullptr ? Located::Kind::served : Located::Kind::real;
    located_.node = prefix != nullptr ? find_node(*prefix->tree, current_) : nullptr;
    if (prefix != nullptr && located_.node == nullptr) located_.error = ENOENT;
  }

  void jump(const std::string& target) {
    if (++links_ > kMaxLinks) {
      located_.error = ELOOP;
      return;
    }
    current_.resize(target[0] == '/' ? 0 : current_.rfind('/'));
    located_.node = nullptr;
    located_.kind = Located::Kind::real;
    prepend(target);
  }

  const PrefixTable& table_;
  std::deque<std::string> todo_;
  std::string current_;  // "" is the root
  Located located_;
  int links_ = 0;
  bool left_ = false;  // by "..", a served directory
};

}  // namespace

Located locate(int dir, const char* path, bool follow) {
  ensure_setup();
  Located located;
  const PrefixTable& table = prefix_table();
  if (table.prefixes.empty() || path[0] == '\0') return located;
  int error = 0;
  const std::string absolute = absolute_path(dir, path, error);
  if (error != 0) return {.kind = Located::Kind::error, .path = absolute, .error = error};
  if (absolute.empty() || concerns_nobody(table, absolute)) return located;
  Walk walk(table, absolute);
  located = walk.run(follow);
  if (located.kind == Located::Kind::real && walk.moved()) located.kind = Located::Kind::moved;
  if (const Prefix* const prefix = table.find(located.path, false))
    located.observer = prefix->observer;
  located.above = table.above_any(located.path);
  return located;
}

// ---- for handlers ----

PassThrough::PassThrough() { ++t_inside; }
PassThrough::~PassThrough() { --t_inside; }

}  // namespace tiny::interpose
