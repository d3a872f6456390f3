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

/// One line of /proc/self/maps: "from-to prot offset device inode   path". The path comes first,
/// since this runs at the end of every traced program, and almost no line is of interest.
void find_mapping(char* line, std::vector<Bypass>& found) {
  char* const name = std::strchr(line, '/');
  if (name == nullptr) return;
  name[std::strcspn(name, "\n")] = '\0';
  if (!letter_matters(name[1]) || !covered(name)) return;
  char* end = nullptr;
  const std::uintptr_t from = std::strtoul(line, &end, 16);
  if (*end != '-') return;
  const std::uintptr_t to = std::strtoul(end + 1, nullptr, 16);
  if (pieces_in(from, to - from).empty()) found.push_back({.path = name, .address = from});
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
