// SPDX-License-Identifier: MIT
#include "drivers/cpu/threads.h"

#include <pthread.h>

#include <csignal>

namespace tiny::cpu {

std::thread start_thread(const std::string& name, std::function<void()> body) {
  sigset_t block, old;
  sigfillset(&block);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&block, signal);
  pthread_sigmask(SIG_SETMASK, &block, &old);
  std::thread thread;
  try {
    thread = std::thread(std::move(body));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    throw;
  }
  pthread_setname_np(thread.native_handle(), name.c_str());
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return thread;
}

}  // namespace tiny::cpu
