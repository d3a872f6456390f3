// SPDX-License-Identifier: MIT
#include "drivers/cpu/faults.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

namespace tiny::cpu {
namespace detail {
thread_local FaultFrame* volatile current_frame = nullptr;
}

namespace {

constexpr std::array<int, 4> kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[64];

/// As if we had never been there: the earlier handler, or the default that ends the process.
void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = previous[signal];
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  sigaction(signal, &old, nullptr);  // returning repeats the access, now fatally
}

void on_fault(int signal, siginfo_t* info, void* context) {
  detail::FaultFrame* frame = detail::current_frame;
  if (!frame || info->si_code <= 0) return chain(signal, info, context);  // not ours, or sent
  frame->info = {signal, reinterpret_cast<uint64_t>(info->si_addr)};
  siglongjmp(frame->back, 1);
}

/// Again for each new thread: others (a test framework, a crash reporter) may have come since.
void install() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  for (const int signal : kSignals) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) continue;
    previous[signal] = now;
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    // NODEFER: the jump back does not restore the mask, which keeps sigsetjmp cheap.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

std::string to_string(const FaultInfo& fault) {
  const char* name = fault.signal == SIGSEGV  ? "SIGSEGV"
                     : fault.signal == SIGBUS ? "SIGBUS"
                     : fault.signal == SIGFPE ? "SIGFPE"
                                              : "SIGILL";
  return fmt::format("{} at address {:#x}", name, fault.address);
}

FaultGuard::FaultGuard() {
  install();
  constexpr size_t kStack_B = 64 << 10;
  stack_ = std::make_unique<char[]>(kStack_B);
  stack_t stack{};
  stack.ss_sp = stack_.get();
  stack.ss_size = kStack_B;
  sigaltstack(&stack, nullptr);
}

FaultGuard::~FaultGuard() {
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
}

}  // namespace tiny::cpu
