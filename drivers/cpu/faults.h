// SPDX-License-Identifier: MIT
// Turns a SIGSEGV, SIGBUS, SIGFPE or SIGILL inside a kernel into a value. Other faults go to
// whoever handled them before.
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

namespace tiny::cpu {

struct FaultInfo {
  int signal = 0;
  uint64_t address = 0;  ///< the access for SIGSEGV and SIGBUS, else the instruction
};

/// "SIGSEGV at address 0x…".
std::string to_string(const FaultInfo&);

/// Gives the calling thread a signal stack while it lives, so that a kernel that overflows the
/// thread's own stack is caught too. Installs the process's handlers the first time.
class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<char[]> stack_;
};

namespace detail {
struct FaultFrame {
  sigjmp_buf back;
  FaultInfo info;
};
extern thread_local FaultFrame* volatile current_frame;
}  // namespace detail

/// Runs `work`; false with `info` filled if it faulted. Nothing with a destructor may be live
/// inside `work` where it can fault: the stack is cut, not unwound.
template <class Work>
[[gnu::noinline]] bool run_guarded(Work&& work, FaultInfo& info) {
  detail::FaultFrame frame;
  if (sigsetjmp(frame.back, 0) != 0) {
    detail::current_frame = nullptr;
    info = frame.info;
    return false;
  }
  detail::current_frame = &frame;
  work();
  detail::current_frame = nullptr;
  return true;
}

}  // namespace tiny::cpu
