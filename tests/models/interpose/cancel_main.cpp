// SPDX-License-Identifier: MIT
// A thread waits in poll on a served device until it is cancelled: the unwinding of the program's
// C++ library passes through the frames of a preload library that has its own.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

namespace {

struct Cleanup {
  ~Cleanup() { fputs("cleaned up, ", stdout); }
};

void* wait_for_ever(void*) {
  const Cleanup cleanup;
  pollfd served = {open("/tiny_served/dev/add", O_RDWR), POLLIN, 0};
  poll(&served, 1, -1);
  return nullptr;
}

}  // namespace

int main() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, wait_for_ever, nullptr) != 0) return 1;
  usleep(20'000);
  void* result = nullptr;
  pthread_cancel(thread);
  pthread_join(thread, &result);
  puts(result == PTHREAD_CANCELED ? "cancelled" : "returned");
}
