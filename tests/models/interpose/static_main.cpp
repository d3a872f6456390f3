// SPDX-License-Identifier: MIT
// A statically linked program, and the file-heavy one of the overhead measurement: opens, asks and
// reads the files of a directory, given times over.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* const folder = argc > 1 ? argv[1] : "/etc";
  const int times = argc > 2 ? atoi(argv[2]) : 1;
  long bytes = 0;
  for (int i = 0; i < times; ++i) {
    DIR* const dir = opendir(folder);
    if (dir == NULL) return 1;
    for (const dirent* entry; (entry = readdir(dir)) != NULL;) {
      struct stat facts;
      const int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NONBLOCK);
      char text[4096];
      if (fd < 0) continue;
      if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;) bytes += got;
      close(fd);
    }
    closedir(dir);
  }
  printf("%ld\n", bytes);
}
