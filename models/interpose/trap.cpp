// SPDX-License-Identifier: MIT
#undef _FILE_OFFSET_BITS
#include "models/interpose/trap.h"

#include "models/interpose/hook.h"
#include "models/interpose/trap_decode.h"
#include "models/interpose/trap_signals.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tiny::interpose {

std::uint64_t Store::word() const {
  std::uint64_t word = 0;
  std::memcpy(&word, value.data(), std::min<std::size_t>(size_B == 0 ? 8 : size_B, 8));
  return word;
}

namespace {

/// What the pieces of one watch share (munmap may cut a watch in two).
struct Target {
  int number = 0;
  OnStore on_store;
  std::byte* alias = nullptr;  ///< of `start`
  std::uintptr_t start = 0;
  std::size_t length_B = 0;

  ~Target() {
    if (alias != nullptr) real::munmap(alias, length_B);
  }
};

/// One watched range. Signal handlers find it without a lock, so it is never freed; its target is,
/// when `users` (the list, and running handlers) falls to 0.
struct Watch {
  std::uintptr_t start = 0, end = 0;
  std::atomic<int> prot = 0;
  std::atomic<int> users = 1;
  std::shared_ptr<Target> target;

  bool has(std::uintptr_t address) const { return address >= start && address < end; }
  bool enter() {
    int seen = users.load();
    while (seen > 0)
      if (users.compare_exchange_weak(seen, seen + 1)) return true;
    return false;
  }
  void leave() {
    if (users.fetch_sub(1) == 1) target.reset();
  }
};

struct WatchList {
  std::vector<Watch*> watches;
};

constinit std::mutex g_watch_lock;  // for changes of the list
std::atomic<const WatchList*> g_watches = nullptr;
/// Lists and watches of the past; read by handlers that are late.
struct Past {
  std::vector<std::unique_ptr<const WatchList>> lists;
  std::vector<std::unique_ptr<Watch>> watches;
};
Past& past() {
  static Past* const made = new Past;
  return *made;
}
std::atomic<std::uintptr_t> g_past_low = UINTPTR_MAX, g_past_high = 0;  ///< of all ever watched
std::atomic<int> g_numbers = 0;
/// Calls that are ending watches, whose pages may still be armed; calls that have.
std::atomic<int> g_ending = 0;
std::atomic<std::uint64_t> g_ended = 0;
[[gnu::tls_model("initial-exec")]] thread_local constinit Watch* t_telling = nullptr;

const WatchList& watch_list() {
  static const WatchList* const empty = new WatchList;
  const WatchList* const list = g_watches.load(std::memory_order_acquire);
  return list != nullptr ? *list : *empty;
}

/// Under the lock.
void publish(std::vector<Watch*> watches) {
  past().lists.push_back(std::make_unique<const WatchList>(WatchList{std::move(watches)}));
  g_watches.store(past().lists.back().get(), std::memory_order_release);
}

Watch* make_watch(std::uintptr_t start, std::uintptr_t end, int prot,
                  std::shared_ptr<Target> target) {
  auto watch = std::make_unique<Watch>();
  watch->start = start;
  watch->end = end;
  watch->prot = prot;
  watch->target = std::move(target);
  return past().watches.emplace_back(std::move(watch)).get();
}

int armed(int prot) { return (prot & ~PROT_WRITE) | ((prot & PROT_WRITE) != 0 ? PROT_READ : 0); }

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// Until no handler is inside any more, except perhaps the one that calls us.
void retire(Watch* watch) {
  const int own = t_telling == watch ? 1 : 0;
  watch->leave();
  while (watch->users.load() > own) sched_yield();
}

/// Takes [start, end) out of the watches that `chosen` picks; what remains of them stays watched.
template <typename Chosen>
std::vector<Watch*> remove_watches(std::uintptr_t start, std::uintptr_t end, Chosen chosen) {
  std::vector<Watch*> gone;
  const std::lock_guard lock(g_watch_lock);
  std::vector<Watch*> next;
  for (Watch* const watch : watch_list().watches) {
    if (watch->end <= start || watch->start >= end || !chosen(*watch)) {
      next.push_back(watch);
      continue;
    }
    gone.push_back(watch);
    if (watch->start < start)
      next.push_back(make_watch(watch->start, start, watch->prot, watch->target));
    if (watch->end > end) next.push_back(make_watch(end, watch->end, watch->prot, watch->target));
  }
  if (!gone.empty()) publish(std::move(next));
  return gone;
}

#if defined(__x86_64__)

// ---- the faulting thread ----

constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
constexpr greg_t kTrapFlag = 0x100;
constexpr greg_t kWriteFault = 2;      // page-fault error code, bit 1
constexpr std::size_t kWindow_B = 64;  // no store is longer

/// One instruction that this thread executes under the trap flag.
struct Step {
  Watch* watch = nullptr;  ///< null: none
  int moved_register = -1;
  greg_t moved_by = 0;
  bool window = false;  ///< the pages are open and g_window is held
  std::uint64_t signals = 0;
  Store store;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Step t_step{};
std::atomic_flag g_window = ATOMIC_FLAG_INIT;

/// The last fault that was let through because its watch had just ended.
struct Retried {
  std::uintptr_t address = 0;
  greg_t instruction = 0;
  std::uint64_t ended = 0;  ///< g_ended then
  bool operator==(const Retried&) const = default;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Retried t_retried{};

greg_t& register_of(ucontext_t& context, int number) {
  return context.uc_mcontext.gregs[kRegisters[number]];
}

std::uintptr_t effective_address(ucontext_t& context, const Instruction& store) {
  const Operand& to = store.to;
  std::uintptr_t address = std::uintptr_t(to.displacement);
  if (to.relative_to_next)
    address += std::uintptr_t(context.uc_mcontext.gregs[REG_RIP]) + store.length_B;
  if (to.base >= 0) address += std::uintptr_t(register_of(context, to.base));
  if (to.index >= 0) address += std::uintptr_t(register_of(context, to.index)) << to.scale;
  return address;
}

std::byte* alias_of(const Watch& watch, std::uintptr_t address) {
  std::byte* const alias = watch.target->alias;
  return alias != nullptr ? alias + (address - watch.target->start) : nullptr;
}

/// The bytes that a move or an exchange is about to store.
void fill_value(ucontext_t& context, const Instruction& from, Store& store) {
  const std::size_t size_B = std::min<std::size_t>(from.size_B, store.value.size());
  const std::byte* bytes = reinterpret_cast<const std::byte*>(&from.immediate);
  if (from.kind == Instruction::Kind::mov_vector) {
    if (context.uc_mcontext.fpregs == nullptr) return;
    bytes = reinterpret_cast<const std::byte*>(&context.uc_mcontext.fpregs->_xmm[from.source]) +
            from.source_byte;
  } else if (from.kind != Instruction::Kind::mov_immediate) {
    bytes =
        reinterpret_cast<const std::byte*>(&register_of(context, from.source)) + from.source_byte;
  }
  std::memcpy(store.value.data(), bytes, size_B);
  store.exact = true;
}

template <typename T>
void put(std::byte* to, const Store& store, std::uint64_t* old) {
  T value;
  std::memcpy(&value, store.value.data(), sizeof value);
  auto* const place = reinterpret_cast<T*>(to);
  if (old == nullptr)
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  else
    *old = __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);
}

/// Stores through the alias, in one piece where it is aligned as the processor does.
void put_value(std::byte* to, const Store& store, std::uint64_t* old) {
  const bool aligned = store.address % store.size_B == 0;
  if (store.size_B == 1) return put<std::uint8_t>(to, store, old);
  if (store.size_B == 2 && aligned) return put<std::uint16_t>(to, store, old);
  if (store.size_B == 4 && aligned) return put<std::uint32_t>(to, store, old);
  if (store.size_B == 8 && aligned) return put<std::uint64_t>(to, store, old);
  std::memcpy(to, store.value.data(), store.size_B);
}

/// What xchg leaves in its register: bytes and words replace the low part, dwords clear the rest.
void set_register(greg_t& target, int byte, std::uint32_t size_B, std::uint64_t value) {
  if (size_B >= 4) {
    target = greg_t(size_B == 4 ? value & 0xffffffff : value);
    return;
  }
  std::memcpy(reinterpret_cast<std::byte*>(&target) + byte, &value, size_B);
}

void tell(Watch& watch, const Store& store) {
  Watch* const outer = t_telling;
  t_telling = &watch;
  const Guard guard;
  guarded("OnStore", [&] { return watch.target->on_store(store), 0; });
  t_telling = outer;
}

/// Does the store on the alias and skips the instruction. False: not such an instruction.
bool emulate(ucontext_t& context, Watch& watch, const Instruction& from, Store& store) {
  std::byte* const to = alias_of(watch, store.address);
  const bool exchange = from.kind == Instruction::Kind::exchange;
  if (to == nullptr || (!from.is_move() && !exchange) || store.address + from.size_B > watch.end)
    return false;
  if (exchange && store.address % from.size_B != 0) return false;
  fill_value(context, from, store);
  if (!store.exact) return false;
  std::uint64_t old = 0;
  put_value(to, store, exchange ? &old : nullptr);
  if (exchange) set_register(register_of(context, from.source), from.source_byte, from.size_B, old);
  context.uc_mcontext.gregs[REG_RIP] += from.length_B;
  tell(watch, store);
  return true;
}

int open_window(const Store& store, const Watch& watch, int prot) {
  const std::uintptr_t page = page_up(1);
  const std::uintptr_t start = store.address & ~(page - 1);
  const std::uintptr_t end = std::min(page_up(store.address + kWindow_B), watch.end);
  return real::mprotect(pointer(start), end - start, prot);
}

/// Only these may come before the step is over: all others wait. (The kernel's signal mask has 64
/// bits; behind it in the frame are other things, hence not sigset_t.)
std::uint64_t swap_signals(ucontext_t& context, std::uint64_t mask) {
  std::uint64_t old = 0;
  std::memcpy(&old, &context.uc_sigmask, sizeof old);
  std::memcpy(&context.uc_sigmask, &mask, sizeof mask);
  return old;
}
constexpr std::uint64_t signal_bit(int signal) { return 1ULL << (signal - 1); }
constexpr std::uint64_t kStepMask = ~(signal_bit(SIGSEGV) | signal_bit(SIGTRAP) |
                                      signal_bit(SIGBUS) | signal_bit(SIGILL) | signal_bit(SIGFPE));

/// The instruction runs alone: on the alias by moving its base register, else with the pages open.
void start_step(ucontext_t& context, Watch& watch, const Instruction& from, bool operand_known,
                const Store& store) {
  Step& step = t_step;
  step.watch = &watch;
  step.store = store;
  step.moved_register = -1;
  const bool movable = operand_known && from.base_is_free && store.address + kWindow_B <= watch.end;
  if (std::byte* const alias = alias_of(watch, store.address); alias != nullptr && movable) {
    step.moved_register = from.to.base;
    step.moved_by = greg_t(reinterpret_cast<std::uintptr_t>(alias) - store.address);
    register_of(context, step.moved_register) += step.moved_by;
  } else {
    while (g_window.test_and_set(std::memory_order_acquire)) sched_yield();
    step.window = true;
    open_window(store, watch, watch.prot);
  }
  context.uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  step.signals = swap_signals(context, kStepMask);
}

void end_step(ucontext_t& context) {
  Step& step = t_step;
  context.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  swap_signals(context, step.signals);
  if (step.moved_register >= 0) register_of(context, step.moved_register) -= step.moved_by;
  if (step.window) {
    if (step.watch->users.load() > 1) open_window(step.store, *step.watch, armed(step.watch->prot));
    step.window = false;
    g_window.clear(std::memory_order_release);
  }
}

void read_back(const Watch& watch, Store& store) {
  const std::byte* const alias = alias_of(watch, store.address);
  const auto* const from =
      alias != nullptr ? alias : reinterpret_cast<const std::byte*>(store.address);
  const std::size_t wanted =
      store.size_B == 0 ? 8 : std::min<std::size_t>(store.size_B, store.value.size());
  std::memcpy(store.value.data(), from, std::min(wanted, std::size_t(watch.end - store.address)));
}

bool on_trap(siginfo_t*, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  Step& step = t_step;
  if (step.watch == nullptr) return false;
  end_step(context);
  Watch& watch = *step.watch;
  step.watch = nullptr;
  Store store = step.store;
  if (!store.exact) read_back(watch, store);
  tell(watch, store);
  watch.leave();
  return true;
}

/// A late fault on a page whose watch has ended meanwhile, or is ending: the instruction may simply
/// run again; once, unless another watch has ended since.
bool retry_past(std::uintptr_t address, greg_t instruction) {
  if (address < g_past_low || address >= g_past_high) return false;
  if (g_ending.load() > 0) {
    sched_yield();
    return true;
  }
  // After g_ending: what took the watch from the list is over, and counted.
  const Retried now{address, instruction, g_ended.load()};
  if (t_retried == now) {
    t_retried = {};
    return false;
  }
  t_retried = now;
  return true;
}

Watch* enter_watch(std::uintptr_t address) {
  for (Watch* const watch : watch_list().watches)
    if (watch->has(address)) return watch->enter() ? watch : nullptr;
  return nullptr;
}

void handle_store(ucontext_t& context, Watch& watch, std::uintptr_t address) {
  const auto* const code =
      reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  const Instruction from = decode_store(code);
  Store store{.address = address, .size_B = from.size_B};
  const bool known =
      from.has_operand && from.plain_segment && effective_address(context, from) == address;
  if (known && emulate(context, watch, from, store)) return watch.leave();
  if (!known) store.size_B = from.kind == Instruction::Kind::unknown ? 0 : from.size_B;
  if (from.is_move() && known) fill_value(context, from, store);
  start_step(context, watch, from, known, store);  // leaves the watch when it ends
}

bool on_segv(siginfo_t* info, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  if (t_step.watch != nullptr) {  // the step itself failed, on another address
    Watch* const watch = t_step.watch;
    end_step(context);
    t_step.watch = nullptr;
    watch->leave();
  }
  const bool write = (context.uc_mcontext.gregs[REG_ERR] & kWriteFault) != 0;
  if (info->si_code != SEGV_ACCERR || !write) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  Watch* const watch = enter_watch(address);
  if (watch == nullptr) return retry_past(address, context.uc_mcontext.gregs[REG_RIP]);
  if ((watch->prot & PROT_WRITE) == 0) return watch->leave(), false;
  t_retried = {};
  handle_store(context, *watch, address);
  return true;
}

// ---- watching ----

/// A second, writable mapping of the same pages. mremap of no bytes makes one where the mapping is
/// shared and no device's (mremap(2), "old_size is zero").
std::byte* make_alias(void* address, std::size_t length_B) {
  void* const alias = real::mremap(address, 0, length_B, MREMAP_MAYMOVE, nullptr);
  if (alias == MAP_FAILED) return nullptr;
  if (real::mprotect(alias, length_B, PROT_READ | PROT_WRITE) == 0)
    return static_cast<std::byte*>(alias);
  real::munmap(alias, length_B);
  return nullptr;
}

void widen_past(std::uintptr_t start, std::uintptr_t end) {
  g_past_low = std::min(g_past_low.load(), start);
  g_past_high = std::max(g_past_high.load(), end);
}

bool overlaps_any(std::uintptr_t start, std::uintptr_t end) {
  const auto& watches = watch_list().watches;
  return std::any_of(watches.begin(), watches.end(),
                     [=](const Watch* watch) { return watch->start < end && watch->end > start; });
}

#endif  // __x86_64__

}  // namespace

#if defined(__x86_64__)

int watch_stores(void* address, std::size_t length_B, int prot, OnStore on_store) {
  const Guard guard;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = start + length_B;
  if (length_B == 0 || start % page_up(1) != 0 || length_B % page_up(1) != 0 || !on_store)
    return -EINVAL;
  if (const int error = install_fault_handlers(on_segv, on_trap); error < 0) return error;
  auto target = std::make_shared<Target>();
  target->start = start;
  target->length_B = length_B;
  target->on_store = std::move(on_store);
  target->alias = make_alias(address, length_B);
  const std::lock_guard lock(g_watch_lock);
  if (overlaps_any(start, end)) return -EBUSY;
  const int number = target->number = ++g_numbers;
  widen_bounds(start, length_B);
  widen_past(start, end);
  std::vector<Watch*> next = watch_list().watches;
  next.push_back(make_watch(start, end, prot, std::move(target)));
  publish(next);
  if (real::mprotect(address, length_B, armed(prot)) == 0) return number;
  const int error = -errno;
  Watch* const failed = next.back();
  next.pop_back();
  publish(std::move(next));
  retire(failed);
  return error;
}

#else

int watch_stores(void*, std::size_t, int, OnStore) { return -ENOSYS; }

#endif

namespace {

/// The program's own protection, unless somebody watches these pages again.
void disarm(const Watch& watch) {
  const std::lock_guard lock(g_watch_lock);
  for (const Watch* const other : watch_list().watches)
    if (other->start < watch.end && other->end > watch.start) return;
  real::mprotect(pointer(watch.start), watch.end - watch.start, watch.prot);
}

}  // namespace

int unwatch_stores(int number) {
  const Guard guard;
  ++g_ending;
  const auto gone = remove_watches(
      0, UINTPTR_MAX, [=](const Watch& watch) { return watch.target->number == number; });
  for (Watch* const watch : gone) {
    disarm(*watch);
    retire(watch);
    disarm(*watch);  // a step that was under way has armed its pages again
  }
  ++g_ended;
  --g_ending;
  return gone.empty() ? -ENOENT : 0;
}

namespace {

std::shared_ptr<Target> target_of(int number) {
  const std::lock_guard lock(g_watch_lock);
  for (const Watch* const watch : watch_list().watches)
    if (watch->target->number == number) return watch->target;
  return nullptr;
}

}  // namespace

TrapMethod trap_method(int watch) {
  const auto target = target_of(watch);
  return target != nullptr && target->alias != nullptr ? TrapMethod::alias
                                                       : TrapMethod::single_step;
}

void* trap_alias(int watch) {
  const auto target = target_of(watch);
  return target != nullptr ? target->alias : nullptr;
}

void trap_before_fork() { g_watch_lock.lock(); }

void trap_after_fork(bool child) {
#if defined(__x86_64__)
  if (child) g_window.clear();  // a thread that was stepping is not in the child
#else
  (void)child;
#endif
  g_watch_lock.unlock();
}

void trap_unmapped(std::uintptr_t address, std::size_t length_B) {
  if (watch_list().watches.empty()) return;
  const auto gone =
      remove_watches(address, address + page_up(length_B), [](const Watch&) { return true; });
  for (Watch* const watch : gone) retire(watch);
}

namespace {

bool meets(const Watch& watch, std::uintptr_t start, std::uintptr_t end) {
  return watch.start < end && watch.end > start;
}

/// Gives [start, end) a protection of its own: a watch that reaches beyond it becomes two or three.
/// Returns the watches that were replaced.
std::vector<Watch*> cut_watches(std::uintptr_t start, std::uintptr_t end, int prot) {
  const std::lock_guard lock(g_watch_lock);
  std::vector<Watch*> next, replaced;
  for (Watch* const watch : watch_list().watches) {
    if (!meets(*watch, start, end) || (watch->start >= start && watch->end <= end)) {
      if (meets(*watch, start, end)) watch->prot = prot;
      next.push_back(watch);
      continue;
    }
    replaced.push_back(watch);
    const std::uintptr_t from = std::max(watch->start, start), to = std::min(watch->end, end);
    if (watch->start < from)
      next.push_back(make_watch(watch->start, from, watch->prot, watch->target));
    next.push_back(make_watch(from, to, prot, watch->target));
    if (to < watch->end) next.push_back(make_watch(to, watch->end, watch->prot, watch->target));
  }
  if (!replaced.empty()) publish(std::move(next));
  return replaced;
}

/// The watches that meet a range, by address.
std::vector<Watch*> watches_in(std::uintptr_t start, std::uintptr_t end) {
  std::vector<Watch*> met;
  for (Watch* const watch : watch_list().watches)
    if (meets(*watch, start, end)) met.push_back(watch);
  std::sort(met.begin(), met.end(),
            [](const Watch* a, const Watch* b) { return a->start < b->start; });
  return met;
}

}  // namespace

bool trap_protect(std::uintptr_t address, std::size_t length_B, int prot, int& result) {
  if (watch_list().watches.empty()) return false;
  const std::uintptr_t end = address + page_up(length_B);
  const std::vector<Watch*> replaced = cut_watches(address, end, prot);
  for (Watch* const watch : replaced) retire(watch);
  const std::lock_guard lock(g_watch_lock);
  // A step that was under way on a watch that is replaced has left its page open.
  for (const Watch* const old : replaced)
    for (const Watch* const watch : watches_in(old->start, old->end))
      if (!meets(*watch, address, end))
        real::mprotect(pointer(watch->start), watch->end - watch->start, armed(watch->prot));
  const std::vector<Watch*> met = watches_in(address, end);
  if (met.empty()) return false;
  result = 0;
  const auto protect = [&](std::uintptr_t from, std::uintptr_t to, int how) {
    if (from < to && result == 0) result = real::mprotect(pointer(from), to - from, how);
  };
  std::uintptr_t at = address;
  for (const Watch* const watch : met) {
    protect(at, watch->start, prot);
    at = std::min(watch->end, end);
    protect(std::max(watch->start, address), at, armed(prot));
  }
  protect(at, end, prot);
  return true;
}

}  // namespace tiny::interpose
