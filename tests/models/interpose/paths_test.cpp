// SPDX-License-Identifier: MIT
#include "tests/models/interpose/served.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace tiny;
using test::Served;

namespace {

std::string read_all(int fd) {
  std::string text;
  char buffer[1000];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(count));
  return text;
}

std::string read_path(const char* path, int flags = O_RDONLY) {
  const int fd = ::open(path, flags);
  if (fd < 0) return "errno " + std::to_string(errno);
  std::string text = read_all(fd);
  ::close(fd);
  return text;
}

int open_error(const char* path, int flags) {
  const int fd = ::open(path, flags, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0 ? 0 : errno;
}

std::vector<std::string> names(DIR* dir) {
  std::vector<std::string> found;
  while (const dirent* const entry = ::readdir(dir)) found.emplace_back(entry->d_name);
  return found;
}

/// A function that headers no longer declare, or declare under a macro, by its symbol.
template <typename F>
F* symbol(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_DEFAULT, name));
}

struct TempDir {
  std::string path = "/tmp/tiny_interpose_XXXXXX";
  TempDir() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~TempDir() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a served file reads as its contents by every way of opening it") {
  const Served served;
  CHECK(read_path("/tiny_served/sys/name") == "gfx1100\n");
  CHECK(read_path("/tiny_served/sys/big").size() == 100'000);
  CHECK(read_path("/tiny_served/sys/empty").empty());
  for (const char* const name : {"open", "open64"}) {
    const int fd = symbol<int(const char*, int, ...)>(name)("/tiny_served/sys/name", O_RDONLY);
    CHECK(read_all(fd) == "gfx1100\n");
    CHECK(::close(fd) == 0);
  }
  for (const char* const name : {"__open_2", "__open64_2"}) {
    const int fd = symbol<int(const char*, int)>(name)("/tiny_served/sys/name", O_RDONLY);
    CHECK(read_all(fd) == "gfx1100\n");
    CHECK(::close(fd) == 0);
  }
  for (const char* const name : {"openat", "openat64"}) {
    const int fd =
        symbol<int(int, const char*, int, ...)>(name)(-1, "/tiny_served/sys/name", O_RDONLY);
    CHECK(read_all(fd) == "gfx1100\n");
    CHECK(::close(fd) == 0);
  }
  for (const char* const name : {"fopen", "fopen64"}) {
    FILE* const file = symbol<FILE*(const char*, const char*)>(name)("/tiny_served/sys/name", "re");
    REQUIRE(file != nullptr);
    char line[100] = "";
    CHECK(::fgets(line, sizeof line, file) == line);
    CHECK(std::string(line) == "gfx1100\n");
    CHECK(::fgets(line, sizeof line, file) == nullptr);
    CHECK(interpose::descriptor(::fileno(file)).path == "/tiny_served/sys/name");
    const int fd = ::fileno(file);
    CHECK(::fclose(file) == 0);
    CHECK(interpose::descriptor(fd).description == 0);
    CHECK(::fcntl(fd, F_GETFD) == -1);
  }
  std::ifstream stream("/tiny_served/sys/name");
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "gfx1100\n");
}

TEST_CASE("a served file seeks, and reads at offsets, as a file") {
  const Served served;
  const int fd = ::open("/tiny_served/sys/name", O_RDONLY);
  char text[4] = "";
  CHECK(::pread(fd, text, 3, 3) == 3);
  CHECK(std::string(text) == "110");
  CHECK(symbol<ssize_t(int, void*, size_t, off_t)>("pread64")(fd, text, 3, 0) == 3);
  CHECK(std::string(text) == "gfx");
  CHECK(::lseek(fd, -2, SEEK_END) == 6);
  CHECK(symbol<off_t(int, off_t, int)>("lseek64")(fd, 0, SEEK_CUR) == 6);
  CHECK(::read(fd, text, 3) == 2);
  CHECK(::write(fd, "no", 2) == -1);
  CHECK(errno == EBADF);
  const void* const mapped = ::mmap(nullptr, 8, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(mapped != MAP_FAILED);
  CHECK(std::memcmp(mapped, "gfx1100\n", 8) == 0);
  CHECK(::munmap(const_cast<void*>(mapped), 8) == 0);
  CHECK((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
  CHECK(::close(fd) == 0);
}

TEST_CASE("contents are asked for at each open") {
  const Served served;
  int count = 0;
  served.tree->add_file("/tiny_served/count", [&count] { return std::to_string(++count); });
  CHECK(read_path("/tiny_served/count") == "1");
  CHECK(read_path("/tiny_served/count") == "2");
  served.tree->remove("/tiny_served/count");
  CHECK(open_error("/tiny_served/count", O_RDONLY) == ENOENT);
}

TEST_CASE("writes to a served file reach its handler, by write and by stdio") {
  const Served served;
  const int fd = ::open("/tiny_served/sys/level", O_WRONLY | O_TRUNC);
  REQUIRE(fd >= 0);
  CHECK(::write(fd, "high", 4) == 4);
  CHECK(::write(fd, "bad", 3) == -1);
  CHECK(errno == EINVAL);
  char byte = 0;
  CHECK(::read(fd, &byte, 1) == -1);
  CHECK(errno == EBADF);
  CHECK(::close(fd) == 0);
  FILE* const file = ::fopen("/tiny_served/sys/level", "w");
  REQUIRE(file != nullptr);
  CHECK(::fputs(" low", file) >= 0);
  CHECK(::fclose(file) == 0);
  CHECK(served.written == "high low");
  const int both = ::open("/tiny_served/sys/level", O_RDWR);
  CHECK(read_all(both) == "auto\n");
  CHECK(::pwrite(both, "!", 1, 0) == 1);
  CHECK(symbol<ssize_t(int, const void*, size_t, off_t)>("pwrite64")(both, "!", 1, 0) == 1);
  CHECK(::close(both) == 0);
  CHECK(served.written == "high low!!");
}

TEST_CASE("opening gives the errors of the kernel") {
  const Served served;
  CHECK(open_error("/tiny_served/sys/none", O_RDONLY) == ENOENT);
  CHECK(open_error("/tiny_served/sys/none", O_RDWR | O_CREAT) == EACCES);
  CHECK(open_error("/tiny_served/sys/name", O_RDWR) == EACCES);
  CHECK(open_error("/tiny_served/sys/name", O_RDONLY | O_CREAT | O_EXCL) == EEXIST);
  CHECK(open_error("/tiny_served/sys/name", O_RDONLY | O_DIRECTORY) == ENOTDIR);
  CHECK(open_error("/tiny_served/sys/name/below", O_RDONLY) == ENOTDIR);
  CHECK(open_error("/tiny_served/sys/name/", O_RDONLY) == ENOTDIR);
  CHECK(open_error("/tiny_served/sys", O_RDWR) == EISDIR);
  CHECK(open_error("/tiny_served/link", O_RDONLY | O_NOFOLLOW) == ELOOP);
  CHECK(open_error("/tiny_served/loop", O_RDONLY) == ELOOP);
  CHECK(open_error("/tiny_served/dev/busy", O_RDWR) == EBUSY);
  CHECK(open_error("/tiny_servedx", O_RDONLY) == ENOENT);
  CHECK(::creat("/tiny_served/sys/new", 0600) == -1);
  CHECK(errno == EACCES);
  CHECK(::fopen("/tiny_served/none", "r") == nullptr);
  CHECK(errno == ENOENT);
  // A caller that was never told that the path may not be null.
  int (*volatile careless_open)(const char*, int, ...) = ::open;
  CHECK(careless_open(nullptr, O_RDONLY) == -1);
  CHECK(errno == EFAULT);
}

TEST_CASE("links of a tree lead through it and out of it") {
  const Served served;
  CHECK(read_path("/tiny_served/link") == "gfx1100\n");
  CHECK(read_path("/tiny_served/folder/name") == "gfx1100\n");
  CHECK(read_path("/tiny_served/folder/../link") == "gfx1100\n");
  CHECK(read_path("/tiny_served//sys/./nothing/../name") == "gfx1100\n");
  CHECK(read_path("/tiny_served/out").starts_with("Name:"));
  char target[100] = "";
  CHECK(::readlink("/tiny_served/link", target, sizeof target) == 8);
  CHECK(std::string(target) == "sys/name");
  CHECK(::readlinkat(AT_FDCWD, "/tiny_served/link", target, 3) == 3);
  using Checked = ssize_t(const char*, char*, size_t, size_t);
  CHECK(symbol<Checked>("__readlink_chk")("/tiny_served/link", target, 8, sizeof target) == 8);
  CHECK(::readlink("/tiny_served/sys", target, sizeof target) == -1);
  CHECK(errno == EINVAL);
  char* const real = ::realpath("/tiny_served/folder/../link", nullptr);
  REQUIRE(real != nullptr);
  CHECK(std::string(real) == "/tiny_served/sys/name");
  ::free(real);
  char buffer[PATH_MAX];
  CHECK(::realpath("/tiny_served/none", buffer) == nullptr);
  CHECK(errno == ENOENT);
  CHECK(std::string(::realpath("/usr/./bin/..", buffer)) == "/usr");
  char* const canonical = ::canonicalize_file_name("/tiny_served/folder");
  CHECK(std::string(canonical) == "/tiny_served/sys");
  ::free(canonical);
}

TEST_CASE("the name of a fake descriptor is the path it was opened by") {
  const Served served;
  const int fd = ::open("/tiny_served/dev/add", O_RDWR);
  char target[100] = "";
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  CHECK(::readlink(name.c_str(), target, sizeof target) == 20);
  CHECK(std::string(target) == "/tiny_served/dev/add");
  CHECK(::close(fd) == 0);
}

TEST_CASE("every stat shows a served node") {
  const Served served;
  struct ::stat facts{};
  const auto is_name = [&](int result) {
    return result == 0 && S_ISREG(facts.st_mode) && facts.st_size == 8;
  };
  using Plain = int(const char*, struct ::stat*);
  for (const char* const name : {"stat", "stat64", "lstat", "lstat64"}) {
    facts = {};
    INFO(name);
    CHECK(is_name(symbol<Plain>(name)("/tiny_served/sys/name", &facts)));
  }
  for (const char* const name : {"__xstat", "__xstat64", "__lxstat", "__lxstat64"}) {
    facts = {};
    INFO(name);
    CHECK(is_name(
        symbol<int(int, const char*, struct ::stat*)>(name)(1, "/tiny_served/sys/name", &facts)));
  }
  for (const char* const name : {"fstatat", "fstatat64"}) {
    facts = {};
    INFO(name);
    CHECK(is_name(symbol<int(int, const char*, struct ::stat*, int)>(name)(
        AT_FDCWD, "/tiny_served/sys/name", &facts, 0)));
  }
  for (const char* const name : {"__fxstatat", "__fxstatat64"}) {
    facts = {};
    CHECK(is_name(symbol<int(int, int, const char*, struct ::stat*, int)>(name)(
        1, AT_FDCWD, "/tiny_served/sys/name", &facts, 0)));
  }
  const int fd = ::open("/tiny_served/sys/name", O_RDONLY);
  for (const char* const name : {"fstat", "fstat64"}) {
    facts = {};
    CHECK(is_name(symbol<int(int, struct ::stat*)>(name)(fd, &facts)));
  }
  for (const char* const name : {"__fxstat", "__fxstat64"}) {
    facts = {};
    CHECK(is_name(symbol<int(int, int, struct ::stat*)>(name)(1, fd, &facts)));
  }
  facts = {};
  CHECK(is_name(::fstatat(fd, "", &facts, AT_EMPTY_PATH)));
  CHECK((facts.st_mode & 07777) == 0444);
  struct ::statx more{};
  CHECK(::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more) == 0);
  CHECK(more.stx_size == 8);
  CHECK(more.stx_ino == facts.st_ino);
  CHECK(::close(fd) == 0);
  more = {};
  CHECK(::statx(AT_FDCWD, "/tiny_served/dev/add", 0, STATX_BASIC_STATS, &more) == 0);
  CHECK(S_ISCHR(more.stx_mode));
  CHECK(makedev(more.stx_rdev_major, more.stx_rdev_minor) == test::kNumber);
  CHECK(::lstat("/tiny_served/link", &facts) == 0);
  CHECK(S_ISLNK(facts.st_mode));
  CHECK(::stat("/tiny_served/none", &facts) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("a served device shows as a character device with its number") {
  const Served served;
  const int fd = ::open("/tiny_served/dev/add", O_RDWR);
  struct ::stat facts{};
  CHECK(::fstat(fd, &facts) == 0);
  CHECK(S_ISCHR(facts.st_mode));
  CHECK(facts.st_rdev == test::kNumber);
  CHECK((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
  CHECK(::close(fd) == 0);
}

TEST_CASE("access says what the mode allows") {
  const Served served;
  CHECK(::access("/tiny_served/sys/name", F_OK) == 0);
  CHECK(::access("/tiny_served/sys/name", R_OK) == 0);
  CHECK(::access("/tiny_served/sys/name", W_OK) == -1);
  CHECK(errno == EACCES);
  CHECK(::access("/tiny_served/dev/add", R_OK | W_OK) == 0);
  CHECK(::access("/tiny_served/none", F_OK) == -1);
  CHECK(errno == ENOENT);
  CHECK(::faccessat(AT_FDCWD, "/tiny_served/sys", X_OK, 0) == 0);
  CHECK(::euidaccess("/tiny_served/sys/name", R_OK) == 0);
  CHECK(::eaccess("/tiny_served/none", R_OK) == -1);
  char buffer[10];
  CHECK(::getxattr("/tiny_served/sys/name", "user.x", buffer, sizeof buffer) == -1);
  CHECK(errno == ENODATA);
  CHECK(::lgetxattr("/tiny_served/link", "user.x", buffer, sizeof buffer) == -1);
  CHECK(::listxattr("/tiny_served/sys/name", buffer, sizeof buffer) == 0);
  CHECK(::llistxattr("/tiny_served/none", buffer, sizeof buffer) == -1);
}

TEST_CASE("directories list what the tree has") {
  const Served served;
  DIR* const dir = ::opendir("/tiny_served/sys");
  REQUIRE(dir != nullptr);
  const std::vector<std::string> wanted{".", "..", "big", "empty", "level", "name", "nothing"};
  CHECK(names(dir) == wanted);
  ::rewinddir(dir);
  CHECK(std::string(::readdir(dir)->d_name) == ".");
  const long at = ::telldir(dir);
  CHECK(names(dir).size() == 6);
  ::seekdir(dir, at);
  CHECK(std::string(symbol<dirent*(DIR*)>("readdir64")(dir)->d_name) == "..");
  dirent entry{};
  dirent* result = nullptr;
  CHECK(symbol<int(DIR*, dirent*, dirent**)>("readdir_r")(dir, &entry, &result) == 0);
  CHECK(result == &entry);
  CHECK(std::string(entry.d_name) == "big");
  CHECK(entry.d_type == DT_REG);
  const int fd = ::dirfd(dir);
  CHECK(interpose::descriptor(fd).path == "/tiny_served/sys");
  const int file = ::openat(fd, "name", O_RDONLY);
  CHECK(read_all(file) == "gfx1100\n");
  CHECK(::close(file) == 0);
  struct ::stat facts{};
  CHECK(::fstatat(fd, "../dev/add", &facts, 0) == 0);
  CHECK(S_ISCHR(facts.st_mode));
  CHECK(::closedir(dir) == 0);
  CHECK(::fcntl(fd, F_GETFD) == -1);

  const int folder = ::open("/tiny_served", O_RDONLY | O_DIRECTORY);
  DIR* const from_fd = ::fdopendir(folder);
  REQUIRE(from_fd != nullptr);
  CHECK(names(from_fd) ==
        std::vector<std::string>{".", "..", "dev", "folder", "link", "loop", "out", "sys"});
  CHECK(::closedir(from_fd) == 0);
  CHECK(::opendir("/tiny_served/none") == nullptr);
  CHECK(errno == ENOENT);
  CHECK(::opendir("/tiny_served/sys/name") == nullptr);
  CHECK(errno == ENOTDIR);
}

TEST_CASE("getdents64 lists a served directory in pieces, by syscall() too") {
  const Served served;
  const int fd = ::open("/tiny_served/sys", O_RDONLY | O_DIRECTORY);
  REQUIRE(fd >= 0);
  std::vector<std::string> found;
  alignas(dirent) char buffer[64];
  for (long count = 0; (count = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < count;) {
      std::uint16_t length_B = 0;
      std::memcpy(&length_B, buffer + at + offsetof(dirent, d_reclen), sizeof length_B);
      REQUIRE(length_B % 8 == 0);
      found.emplace_back(buffer + at + offsetof(dirent, d_name));
      at += length_B;
    }
  const std::vector<std::string> wanted{".", "..", "big", "empty", "level", "name", "nothing"};
  CHECK(found == wanted);
  CHECK(::getdents64(fd, buffer, sizeof buffer) == 0);
  CHECK(::lseek(fd, 0, SEEK_SET) == 0);
  CHECK(::getdents64(fd, buffer, 8) == -1);
  CHECK(errno == EINVAL);
  CHECK(::getdents64(fd, buffer, sizeof buffer) > 0);
  CHECK(::close(fd) == 0);
  const int file = ::open("/tiny_served/sys/name", O_RDONLY);
  CHECK(::getdents64(file, buffer, sizeof buffer) == -1);
  CHECK(errno == ENOTDIR);
  CHECK(::close(file) == 0);
}

TEST_CASE("a mount is a read-only file system, also where the real one has the path") {
  const TempDir temp;
  const std::string real = temp.path + "/real", inner = temp.path + "/served",
                    file = inner + "/file", fresh = inner + "/new";
  REQUIRE(::mkdir(inner.c_str(), 0700) == 0);
  for (const std::string& path : {real, file}) std::ofstream(path) << "kept";
  const auto tree = std::make_shared<interpose::Tree>();
  tree->add_file(file, "served");
  interpose::mount(inner, tree);
  const auto error = [](int result) { return result == 0 ? 0 : errno; };
  const char *const f = file.c_str(), *const n = fresh.c_str(), *const r = real.c_str();
  CHECK(error(::unlink(f)) == EROFS);
  CHECK(error(::unlinkat(AT_FDCWD, f, 0)) == EROFS);
  CHECK(error(::remove(f)) == EROFS);
  CHECK(error(::rmdir(f)) == EROFS);
  CHECK(error(::chmod(f, 0600)) == EROFS);
  CHECK(error(::fchmodat(AT_FDCWD, f, 0600, 0)) == EROFS);
  CHECK(error(::chown(f, 0, 0)) == EROFS);
  CHECK(error(::truncate(f, 0)) == EROFS);
  CHECK(error(::unlink(n)) == ENOENT);
  CHECK(error(::mkdir(n, 0700)) == EROFS);
  CHECK(error(::mkdir(f, 0700)) == EEXIST);
  CHECK(error(::mkdirat(AT_FDCWD, n, 0700)) == EROFS);
  CHECK(error(::symlink("x", n)) == EROFS);
  CHECK(error(::mknod(n, S_IFREG | 0600, 0)) == EROFS);
  CHECK(error(::rename(f, n)) == EROFS);
  CHECK(error(::renameat(AT_FDCWD, f, AT_FDCWD, r)) == EROFS);
  CHECK(error(::rename(r, n)) == EXDEV);
  CHECK(error(::link(r, n)) == EXDEV);
  CHECK(error(int(::syscall(SYS_unlinkat, AT_FDCWD, f, 0))) == EROFS);
  CHECK(error(::chmod(r, 0600)) == 0);
  interpose::unmount(inner);
  CHECK(read_path(f) == "kept");
  CHECK(read_path(r) == "kept");
  CHECK(open_error(n, O_RDONLY) == ENOENT);
  CHECK(error(::rename(r, n)) == 0);
  CHECK(error(::unlink(n)) == 0);
}

TEST_CASE("hidden files, and names that only begin like a prefix, are nobody's") {
  const TempDir temp;
  const auto tree = std::make_shared<interpose::Tree>();
  tree->add_file(temp.path + "/served/x", "x");
  interpose::mount(temp.path + "/served", tree);
  for (const char* const name : {"/.hidden", "/..two", "/...", "/served.old"}) {
    const std::string path = temp.path + name;
    std::ofstream(path) << name;
    CHECK(read_path(path.c_str()) == name);
  }
  CHECK(read_path((temp.path + "/./served/x").c_str()) == "x");
  CHECK(read_path((temp.path + "/.hidden/../served/x").c_str()) == "x");
  CHECK(read_path((temp.path + "//served/x").c_str()) == "x");
  CHECK(read_path((temp.path + "/served/./x").c_str()) == "x");
  CHECK(::access((temp.path + "/served/..").c_str(), F_OK) == 0);
  interpose::unmount(temp.path + "/served");
}

TEST_CASE("scandir and std::filesystem see served directories") {
  const Served served;
  dirent** list = nullptr;
  const auto no_dots = [](const dirent* entry) { return int(entry->d_name[0] != '.'); };
  const int count = ::scandir("/tiny_served/dev", &list, no_dots, ::alphasort);
  REQUIRE(count == 3);
  CHECK(std::string(list[0]->d_name) == "add");
  CHECK(std::string(list[2]->d_name) == "waits");
  for (int i = 0; i < count; ++i) ::free(list[i]);
  ::free(list);
  CHECK(::scandir("/tiny_served/none", &list, nullptr, nullptr) == -1);
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/tiny_served"))
    found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  CHECK(found.size() == 14);
  CHECK(found.front() == "/tiny_served/dev");
  CHECK(std::filesystem::is_character_file("/tiny_served/dev/add"));
  CHECK(std::filesystem::file_size("/tiny_served/sys/name") == 8);
}

TEST_CASE("many directory streams may be open, and one too many is refused") {
  const Served served;
  std::vector<DIR*> open;
  for (int i = 0; i < 300; ++i)
    if (DIR* const dir = ::opendir("/tiny_served")) open.push_back(dir);
  CHECK(open.size() == 256);
  CHECK(errno == EMFILE);
  for (DIR* const dir : open) CHECK(::closedir(dir) == 0);
  DIR* const again = ::opendir("/tiny_served");
  CHECK(again != nullptr);
  ::closedir(again);
}

TEST_CASE("ordinary files are the kernel's") {
  const Served served;
  const TempDir temp;
  const std::string path = temp.path + "/file";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0640);
  REQUIRE(fd >= 0);
  CHECK(::write(fd, "hello", 5) == 5);
  CHECK(::pwrite(fd, "J", 1, 0) == 1);
  CHECK(::lseek(fd, 0, SEEK_SET) == 0);
  CHECK(read_all(fd) == "Jello");
  struct ::stat facts{};
  CHECK(::fstat(fd, &facts) == 0);
  CHECK(facts.st_size == 5);
  CHECK((facts.st_mode & 0777) == 0640);
  CHECK(interpose::descriptor(fd).description == 0);
  CHECK(::close(fd) == 0);
  DIR* const dir = ::opendir(temp.path.c_str());
  CHECK(names(dir).size() == 3);
  CHECK(::closedir(dir) == 0);
  dirent** list = nullptr;
  REQUIRE(::scandir(temp.path.c_str(), &list, nullptr, ::alphasort) == 3);
  for (int i = 0; i < 3; ++i) ::free(list[i]);
  ::free(list);
  FILE* file = ::fopen(path.c_str(), "r+");
  REQUIRE(file != nullptr);
  file = ::freopen(path.c_str(), "r", file);
  REQUIRE(file != nullptr);
  char line[10] = "";
  CHECK(std::string(::fgets(line, sizeof line, file)) == "Jello");
  CHECK(::fclose(file) == 0);
  CHECK(::access(path.c_str(), R_OK) == 0);
  CHECK(::symlink("file", (temp.path + "/link").c_str()) == 0);
  char target[10] = "";
  CHECK(::readlink((temp.path + "/link").c_str(), target, sizeof target) == 4);
}

TEST_CASE("freopen moves a stream onto a served file") {
  const Served served;
  FILE* file = ::fopen("/dev/null", "r");
  REQUIRE(file != nullptr);
  file = ::freopen("/tiny_served/sys/name", "r", file);
  REQUIRE(file != nullptr);
  char line[20] = "";
  CHECK(::fgets(line, sizeof line, file) == line);
  CHECK(std::string(line) == "gfx1100\n");
  CHECK(::fclose(file) == 0);
}

TEST_CASE("relative paths reach a mount from a real directory above it") {
  const TempDir temp;
  REQUIRE(::mkdir((temp.path + "/inner").c_str(), 0700) == 0);
  const auto tree = std::make_shared<interpose::Tree>();
  tree->add_file(temp.path + "/inner/served/x", "x");
  interpose::mount(temp.path + "/inner/served", tree);
  const int dir = ::open(temp.path.c_str(), O_RDONLY | O_DIRECTORY);
  const int fd = ::openat(dir, "inner/served/x", O_RDONLY);
  CHECK(read_all(fd) == "x");
  CHECK(::close(fd) == 0);
  CHECK(::close(dir) == 0);
  DIR* const stream = ::opendir(temp.path.c_str());
  CHECK(::faccessat(::dirfd(stream), "inner/served/x", R_OK, 0) == 0);
  CHECK(::closedir(stream) == 0);

  char before[PATH_MAX];
  REQUIRE(::getcwd(before, sizeof before) != nullptr);
  REQUIRE(::chdir(temp.path.c_str()) == 0);
  CHECK(read_path("inner/served/x") == "x");
  CHECK(::access("inner/served/y", F_OK) == -1);
  REQUIRE(::chdir("inner") == 0);
  CHECK(read_path("../inner/served/x") == "x");
  CHECK(::chdir("served") == -1);
  const int back = ::open(before, O_RDONLY | O_DIRECTORY);
  REQUIRE(::fchdir(back) == 0);
  CHECK(::close(back) == 0);
  CHECK(open_error("inner/served/x", O_RDONLY) == ENOENT);
  interpose::unmount(temp.path + "/inner/served");
}

TEST_CASE("a prefix ending in a star covers every path that begins so; the longest prefix wins") {
  const auto wide = std::make_shared<interpose::Tree>(),
             narrow = std::make_shared<interpose::Tree>();
  wide->add_file("/tiny_served/nv0", "wide");
  wide->add_file("/tiny_served/nvctl", "wide");
  narrow->add_file("/tiny_served/nvctl", "narrow");
  interpose::mount("/tiny_served/nv*", wide);
  CHECK(read_path("/tiny_served/nv0") == "wide");
  interpose::mount("/tiny_served/nvctl", narrow);
  CHECK(read_path("/tiny_served/nvctl") == "narrow");
  CHECK(open_error("/tiny_served/other", O_RDONLY) == ENOENT);
  interpose::unmount("/tiny_served/nvctl");
  CHECK(read_path("/tiny_served/nvctl") == "wide");
  interpose::unmount("/tiny_served/nv*");
  CHECK(open_error("/tiny_served/nvctl", O_RDONLY) == ENOENT);
}

TEST_CASE("a path that is not absolute cannot be mounted, observed or added") {
  interpose::Tree tree;
  CHECK_THROWS_WITH(interpose::mount("dev", std::make_shared<interpose::Tree>()),
                    Catch::Contains("[interpose] mount") && Catch::Contains("\"dev\""));
  CHECK_THROWS_WITH(interpose::mount("/dev/x", nullptr), Catch::Contains("no tree"));
  CHECK_THROWS_WITH(interpose::observe("/dev/x", nullptr), Catch::Contains("no observer"));
  CHECK_THROWS_WITH(tree.add_file("x", "y"), Catch::Contains("add_file"));
  CHECK_THROWS_WITH(tree.add_device("/x", 0, {}), Catch::Contains("no open"));
}
