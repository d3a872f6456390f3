// SPDX-License-Identifier: MIT
// A program that does not notice what it does wrong: it asks the kernel for something unknown.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main() {
  const int kfd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (kfd < 0) return 1;
  constexpr unsigned kNoCommand = 0xff;
  (void)::ioctl(kfd, _IO('K', kNoCommand), nullptr);
  ::close(kfd);
  return 0;
}
