// SPDX-License-Identifier: MIT
#undef _FILE_OFFSET_BITS
#include "models/interpose/trap_signals.h"

#include "models/interpose/hook.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tiny::interpose {
namespace {

using Action = struct ::sigaction;

/// Index 0 is SIGSEGV, 1 SIGTRAP.
constexpr int kSignals[2] = {SIGSEGV, SIGTRAP};
Action g_program[2];        // what the program asked for; under g_signal_lock
FaultHandler g_handler[2];  // written before g_installed
std::atomic<bool> g_installed = false;
std::atomic_flag g_signal_lock = ATOMIC_FLAG_INIT;

/// A spin lock, since handlers of signals take it; held for a copy only.
struct SignalLock {
  SignalLock() {
    while (g_signal_lock.test_and_set(std::memory_order_acquire)) continue;
  }
  ~SignalLock() { g_signal_lock.clear(std::memory_order_release); }
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;
};

int index_of(int signal) { return signal == SIGSEGV ? 0 : signal == SIGTRAP ? 1 : -1; }

void on_signal(int signal, siginfo_t* info, void* context);

/// On the alternate stack only where the program's own handler would be: it may be small.
int install(int signal, const Action& program) {
  Action ours{};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | (program.sa_flags & SA_ONSTACK);
  sigemptyset(&ours.sa_mask);
  return real::sigaction(signal, &ours, nullptr);
}

void die_of(int signal, const siginfo_t* info) {
  Action action{};
  action.sa_handler = SIG_DFL;
  real::sigaction(signal, &action, nullptr);
  // A fault comes again when we return; what was sent, or a trap that is already past, does not.
  if (signal == SIGTRAP || info->si_code <= 0)
    real::system_call(SYS_tgkill, getpid(), real::system_call(SYS_gettid), signal);
}

/// As the kernel would have called the program's handler.
void call_program(int signal, siginfo_t* info, void* context) {
  Action program;
  {
    const SignalLock lock;
    Action& kept = g_program[index_of(signal)];
    program = kept;
    if ((kept.sa_flags & int(SA_RESETHAND)) != 0) kept.sa_handler = SIG_DFL;
  }
  const bool plain = (program.sa_flags & SA_SIGINFO) == 0;
  if (plain && program.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (plain && (program.sa_handler == SIG_IGN || program.sa_handler == SIG_DFL))
    return die_of(signal, info);
  sigset_t mask = program.sa_mask;
  for (const int kept : kSignals) sigdelset(&mask, kept);
  real::pthread_sigmask(SIG_BLOCK, &mask, nullptr);  // sigreturn takes the old one from the context
  if (plain)
    program.sa_handler(signal);
  else
    program.sa_sigaction(signal, info, context);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (!g_handler[index_of(signal)](info, context)) call_program(signal, info, context);
  errno = saved;
}

int change_action(int signal, const Action* action, Action* old) {
  Action now;
  {
    const SignalLock lock;
    Action& program = g_program[index_of(signal)];
    if (old != nullptr) *old = program;
    if (action == nullptr) return 0;
    program = now = *action;
  }
  return install(signal, now);
}

bool is_ours(int signal) {
  return index_of(signal) >= 0 && g_installed.load(std::memory_order_acquire) && t_inside == 0;
}

/// A thread that blocks SIGSEGV would be killed by its first store to a watched page.
template <typename RealCall>
int change_mask(int how, const sigset_t* set, sigset_t* old, RealCall& real_call) {
  if (set == nullptr || how == SIG_UNBLOCK || t_inside != 0 || prefix_table().prefixes.empty())
    return real_call(how, set, old);
  sigset_t open = *set;
  for (const int signal : kSignals) sigdelset(&open, signal);
  return real_call(how, &open, old);
}

}  // namespace

int install_fault_handlers(FaultHandler on_segv, FaultHandler on_trap) {
  static const int result = [&] {
    g_handler[0] = on_segv;
    g_handler[1] = on_trap;
    for (int i = 0; i < 2; ++i) {
      if (real::sigaction(kSignals[i], nullptr, &g_program[i]) != 0) return -errno;
      if (install(kSignals[i], g_program[i]) != 0) return -errno;
    }
    g_installed.store(true, std::memory_order_release);
    return 0;
  }();
  return result;
}

}  // namespace tiny::interpose

using namespace tiny::interpose;
using SignalAction = struct ::sigaction;

TINY_HOOK(int, sigaction, int signal, const SignalAction* action, SignalAction* old) {
  return is_ours(signal) ? change_action(signal, action, old)
                         : real::sigaction(signal, action, old);
}
TINY_HOOK(real::SignalHandler, signal, int signal, real::SignalHandler handler) {
  if (!is_ours(signal)) return real::signal(signal, handler);
  SignalAction action{}, old{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return change_action(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}
TINY_HOOK(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* old) {
  return change_mask(how, set, old, real::pthread_sigmask);
}
TINY_HOOK(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  return change_mask(how, set, old, real::sigprocmask);
}
