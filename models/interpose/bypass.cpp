// SPDX-License-Identifier: MIT
// Traces of devices that were reached behind the interposer's back.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"
#include "models/interpose/tree.h"

#include <cstdlib>
#include <cstring>

namespace tiny::interpose {
namespace {

bool covered(std::string_view path) {
  const PrefixTable& table = prefix_table();
  return table.find(path, true) != nullptr || table.find(path, false) != nullptr;
}

void find_descriptors(std::vector<Bypass>& found) {
  DIR* const dir = real::opendir("/proc/self/fd");
  if (dir == nullptr) return;
  while (const dirent* const entry = real::readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    char target[4096];
    const ssize_t length = real::readlinkat(real::dirfd(dir), entry->d_name, target, sizeof target);
    if (length <= 0 || find_description(fd) != nullptr) continue;
    const std::string_view path(target, std::size_t(length));
    if (covered(path)) found.push_back({.path = std::string(path), .fd = fd});
  }
  real::closedir(dir);
}

/// One line of /proc/self/maps: "from-to prot offset device inode   path".
void find_mapping(const char* line, std::vector<Bypass>& found) {
  unsigned long from = 0, to = 0;
  int at = 0;
  if (std::sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &at) < 2 || at == 0) return;
  std::string_view path(line + at);
  while (!path.empty() && path.back() == '\n') path.remove_suffix(1);
  if (path.starts_with('/') && covered(path) && pieces_in(from, to - from).empty())
    found.push_back({.path = std::string(path), .address = from});
}

void find_mappings(std::vector<Bypass>& found) {
  FILE* const maps = real::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[4096 + 128];
  while (std::fgets(line, sizeof line, maps) != nullptr) find_mapping(line, found);
  real::fclose(maps);
}

}  // namespace

std::vector<Bypass> find_bypasses() {
  const Guard guard;
  std::vector<Bypass> found;
  find_descriptors(found);
  find_mappings(found);
  return found;
}

}  // namespace tiny::interpose
