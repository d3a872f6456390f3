// SPDX-License-Identifier: MIT
// The inside of a Tree: nodes by path.
#pragma once

#include "models/interpose/interpose.h"

#include <sys/stat.h>

#include <map>

namespace tiny::interpose {

struct Node {
  mode_t mode = 0;  ///< with S_IFDIR, S_IFREG, S_IFLNK or S_IFCHR
  dev_t number = 0;
  ino_t inode = 0;
  std::string target{};
  Tree::Contents contents{};
  Tree::Written written{};
  Tree::Open open{};

  bool is(mode_t kind) const { return (mode & S_IFMT) == kind; }
  std::size_t size_B() const;  ///< asks for the contents
};
using NodeRef = std::shared_ptr<const Node>;

struct Tree::State {
  std::map<std::string, NodeRef, std::less<>> nodes;  ///< under table_lock()
};

struct Entry {
  std::string name;
  ino_t inode = 0;
  unsigned char type = 0;  ///< DT_…
};

NodeRef find_node(const Tree& tree, std::string_view path);
/// What readdir gives, with "." and "..".
std::vector<Entry> list_directory(const Tree& tree, const std::string& path);

/// Splits at '/', leaving out empty components; a trailing '/' gives a final ".".
std::vector<std::string> path_components(std::string_view path);
/// Without empty, "." and ".." components; absolute.
std::string normal_path(std::string_view absolute);

}  // namespace tiny::interpose
