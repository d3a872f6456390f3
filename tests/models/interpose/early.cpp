// SPDX-License-Identifier: MIT
// A library whose constructor uses files: it runs before the preload library's own constructors.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

char g_text[100];
bool g_device;

__attribute__((constructor)) void early() {
  const int fd = open("/tiny_served/sys/name", O_RDONLY);
  if (fd >= 0 && read(fd, g_text, sizeof g_text - 1) < 0) g_text[0] = '\0';
  close(fd);
  struct stat facts;
  g_device = stat("/tiny_served/dev/add", &facts) == 0 && S_ISCHR(facts.st_mode);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void early_print() {
  printf("%s%s\n", g_text, g_device ? "device" : "none");
}
