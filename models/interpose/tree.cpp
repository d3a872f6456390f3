// SPDX-License-Identifier: MIT
#undef _FILE_OFFSET_BITS
#include "models/interpose/tree.h"

#include "models/interpose/state.h"
#include "runtime/base/error.h"

#include <dirent.h>
#include <errno.h>

#include <algorithm>

namespace tiny::interpose {
namespace {

std::string checked_path(const char* what, std::string_view path) {
  if (path.empty() || path[0] != '/')
    throw UsageError("[interpose] " + std::string(what) + ": the path \"" + std::string(path) +
                     "\" is not absolute");
  return normal_path(path);
}

ino_t next_inode() {
  static std::atomic<ino_t> next{1000};
  return next++;
}

NodeRef make_node(Node node) {
  node.inode = next_inode();
  return std::make_shared<const Node>(std::move(node));
}

/// Under the lock. Directories above come into being.
void insert(Tree::State& state, const std::string& path, NodeRef node) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    auto& above = state.nodes[path.substr(0, slash)];
    if (above == nullptr || !above->is(S_IFDIR)) above = make_node({.mode = S_IFDIR | 0755});
  }
  state.nodes[path] = std::move(node);
}

void add(Tree& tree, const char* what, std::string_view path, Node node) {
  const std::string normal = checked_path(what, path);
  NodeRef made = make_node(std::move(node));
  const Guard guard;
  const std::lock_guard lock(table_lock());
  insert(tree.state(), normal, std::move(made));
}

unsigned char entry_type(const Node& node) { return IFTODT(node.mode); }

bool is_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.size() > 1;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

}  // namespace

std::vector<std::string> path_components(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  if (!parts.empty() && path.back() == '/') parts.emplace_back(".");
  return parts;
}

std::string normal_path(std::string_view absolute) {
  std::vector<std::string> kept;
  for (std::string& part : path_components(absolute)) {
    if (part == ".") continue;
    if (part != "..")
      kept.push_back(std::move(part));
    else if (!kept.empty())
      kept.pop_back();
  }
  std::string path;
  for (const std::string& part : kept) path += "/" + part;
  return path.empty() ? "/" : path;
}

std::size_t Node::size_B() const {
  if (is(S_IFLNK)) return target.size();
  return is(S_IFREG) && contents ? contents().size() : 0;
}

Tree::Tree() : state_(std::make_unique<State>()) {}
Tree::~Tree() = default;

void Tree::add_directory(std::string_view path, mode_t mode) {
  add(*this, "add_directory", path, {.mode = S_IFDIR | (mode & 07777)});
}

void Tree::add_file(std::string_view path, std::string contents, mode_t mode) {
  add_file(path, [text = std::move(contents)] { return text; }, mode);
}

void Tree::add_file(std::string_view path, Contents contents, mode_t mode, Written written) {
  if (!contents) throw UsageError("[interpose] add_file: no contents for " + std::string(path));
  add(*this, "add_file", path,
      {.mode = S_IFREG | (mode & 07777),
       .contents = std::move(contents),
       .written = std::move(written)});
}

void Tree::add_link(std::string_view path, std::string target) {
  if (target.empty()) throw UsageError("[interpose] add_link: no target for " + std::string(path));
  add(*this, "add_link", path, {.mode = S_IFLNK | 0777, .target = std::move(target)});
}

void Tree::add_device(std::string_view path, dev_t number, Open open, mode_t mode) {
  if (!open) throw UsageError("[interpose] add_device: no open for " + std::string(path));
  add(*this, "add_device", path,
      {.mode = S_IFCHR | (mode & 07777), .number = number, .open = std::move(open)});
}

void Tree::remove(std::string_view path) {
  const std::string normal = checked_path("remove", path);
  const Guard guard;
  const std::lock_guard lock(table_lock());
  std::erase_if(state_->nodes, [&](const auto& item) {
    return item.first == normal || is_below(item.first, normal);
  });
}

NodeRef find_node(const Tree& tree, std::string_view path) {
  const std::lock_guard lock(table_lock());
  const auto& nodes = tree.state().nodes;
  const auto found = nodes.find(path);
  return found == nodes.end() ? nullptr : found->second;
}

std::vector<Entry> list_directory(const Tree& tree, const std::string& path) {
  std::vector<Entry> entries{{".", 1, DT_DIR}, {"..", 1, DT_DIR}};
  const std::string below = path == "/" ? "/" : path + "/";
  const std::lock_guard lock(table_lock());
  const auto& nodes = tree.state().nodes;
  for (auto at = nodes.upper_bound(below); at != nodes.end() && at->first.starts_with(below); ++at)
    if (at->first.find('/', below.size()) == std::string::npos)
      entries.push_back(
          {at->first.substr(below.size()), at->second->inode, entry_type(*at->second)});
  return entries;
}

}  // namespace tiny::interpose
