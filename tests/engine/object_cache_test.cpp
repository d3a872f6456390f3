// SPDX-License-Identifier: MIT
#include "engine/object_cache.h"

#include <fcntl.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tiny;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kPlenty_B = 64 << 20;

struct TemporaryFolder {
  std::string path = (fs::temp_directory_path() / "tiny_cache_XXXXXX").string();
  TemporaryFolder() { REQUIRE(mkdtemp(path.data())); }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

Hash128 key_of(int i) { return Hasher().add("key").add(i).digest(); }

/// Contents follow from the seed, so that readers can tell a mixture.
std::vector<uint8_t> object_of(int seed, size_t size_B) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<uint8_t> bytes(size_B);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

uint64_t files_below(const std::string& folder, uint64_t* size_B = nullptr) {
  uint64_t count = 0, total_B = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) ++count, total_B += entry.file_size();
  if (size_B) *size_B = total_B;
  return count;
}

/// What a child process prints on stderr and whether its body returned true.
struct ChildResult {
  bool good = false;
  std::string errors;
};
ChildResult in_child(const std::function<bool()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], 2);
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    fflush(stderr);
    _exit(good ? 0 : 1);
  }
  close(ends[1]);
  ChildResult result;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    result.errors.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  result.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

size_t lines_in(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("an object stored is found by this cache and by a later one, and by no other key") {
  TemporaryFolder folder;
  const auto object = object_of(1, 5000);
  {
    ObjectCache cache(folder.path, kPlenty_B);
    CHECK_FALSE(cache.find(key_of(1)));
    cache.store(key_of(1), object);
    cache.store(key_of(2), {});
    CHECK(cache.find(key_of(1)) == object);
  }
  ObjectCache later(folder.path, kPlenty_B);
  CHECK(later.find(key_of(1)) == object);
  CHECK(later.find(key_of(2)) == std::vector<uint8_t>{});
  CHECK_FALSE(later.find(key_of(3)));
  later.store(key_of(1), object_of(9, 10));
  CHECK(later.find(key_of(1)) == object_of(9, 10));
  CHECK(files_below(folder.path) == 2);
}

TEST_CASE("a cache without a folder is always empty and writes nothing") {
  ObjectCache cache("", kPlenty_B);
  cache.store(key_of(1), object_of(1, 10));
  CHECK_FALSE(cache.find(key_of(1)));
  CHECK_FALSE(fs::exists("/objects"));
}

TEST_CASE("corrupt, truncated, padded, foreign and odd entries are misses and are deleted") {
  TemporaryFolder folder;
  ObjectCache cache(folder.path, kPlenty_B);
  const Hash128 key = key_of(1);
  const auto good = encode_cache_entry(key, object_of(1, 1000));
  auto expect_discarded = [&](std::vector<uint8_t> file, const char* what) {
    INFO(what);
    fs::create_directories(fs::path(cache.path_of(key)).parent_path());
    write_file_atomic(cache.path_of(key), file);
    CHECK_FALSE(cache.find(key));
    CHECK_FALSE(fs::exists(cache.path_of(key)));
  };
  auto changed = [&](size_t at) {
    auto file = good;
    file[at] ^= 1;
    return file;
  };
  for (size_t at = 0; at < 56; ++at) expect_discarded(changed(at), "one bit of the header");
  expect_discarded(changed(56), "first byte of the object");
  expect_discarded(changed(good.size() - 1), "last byte of the object");
  expect_discarded({}, "empty");
  expect_discarded({good.begin(), good.begin() + 40}, "header cut short");
  expect_discarded({good.begin(), good.end() - 1}, "object cut short");
  auto padded = good;
  padded.push_back(0);
  expect_discarded(padded, "one byte too many");
  expect_discarded(encode_cache_entry(key_of(2), object_of(1, 1000)), "of another key");
  expect_discarded(std::vector<uint8_t>(3000, 'x'), "not an entry at all");

  fs::create_directories(cache.path_of(key) + "/folder");
  CHECK_FALSE(cache.find(key));
  CHECK_FALSE(fs::exists(cache.path_of(key)));
  fs::create_symlink("/dev/zero", cache.path_of(key));
  CHECK_FALSE(cache.find(key));
  CHECK_FALSE(fs::is_symlink(cache.path_of(key)));
  CHECK(fs::exists("/dev/zero"));

  cache.store(key, object_of(1, 1000));
  CHECK(cache.find(key) == object_of(1, 1000));
}

TEST_CASE("an entry larger than the cache may be is discarded unread") {
  TemporaryFolder folder;
  ObjectCache small(folder.path, 4096);
  fs::create_directories(fs::path(small.path_of(key_of(1))).parent_path());
  write_file_atomic(small.path_of(key_of(1)), std::string_view("x"));
  REQUIRE(truncate(small.path_of(key_of(1)).c_str(), off_t{1} << 40) == 0);  // sparse: 1 TiB
  CHECK_FALSE(small.find(key_of(1)));
  CHECK_FALSE(fs::exists(small.path_of(key_of(1))));
  small.store(key_of(2), object_of(2, 5000));
  CHECK_FALSE(small.find(key_of(2)));
  CHECK_FALSE(small.read_only());
}

TEST_CASE("mutated entries decode to the original or to nothing") {
  const Hash128 key = key_of(1);
  const auto object = object_of(1, 300);
  const auto good = encode_cache_entry(key, object);
  std::mt19937_64 random(3);
  for (int round = 0; round < 100000; ++round) {
    auto file = good;
    for (uint64_t n = 1 + random() % 3; n > 0; --n)
      file[random() % file.size()] = static_cast<uint8_t>(random());
    if (random() % 8 == 0) file.resize(random() % (2 * good.size()));
    const auto decoded = decode_cache_entry(key, file);
    if (decoded && *decoded != object) FAIL("round " << round);
    if (decoded && file != good) FAIL("accepted a changed entry, round " << round);
  }
}

TEST_CASE("a folder that cannot be made costs one warning and nothing else") {
  TemporaryFolder folder;
  write_file_atomic(folder.path + "/file", std::string_view("x"));
  const ChildResult result = in_child([&] {
    ObjectCache cache(folder.path + "/file/below", kPlenty_B);
    for (int i = 0; i < 10; ++i) {
      cache.store(key_of(i), object_of(i, 100));
      if (cache.find(key_of(i))) return false;
    }
    return cache.read_only();
  });
  CHECK(result.good);
  CHECK(lines_in(result.errors) == 1);
  CHECK_THAT(result.errors, Catch::StartsWith("rt_tiny: warning: ") &&
                                Catch::Contains(folder.path + "/file/below"));
}

TEST_CASE("a full disk costs one warning, leaves no part of a file, and reading goes on") {
  TemporaryFolder folder;
  ObjectCache(folder.path, kPlenty_B).store(key_of(1), object_of(1, 500));
  const ChildResult result = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);  // writes past the limit then fail with EFBIG, as with ENOSPC
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    ObjectCache cache(folder.path, kPlenty_B);
    cache.store(key_of(2), object_of(2, 5000));
    cache.store(key_of(3), object_of(3, 5000));
    return cache.read_only() && cache.find(key_of(1)) == object_of(1, 500) &&
           !cache.find(key_of(2));
  });
  CHECK(result.good);
  CHECK(lines_in(result.errors) == 1);
  CHECK_THAT(result.errors, Catch::Contains("File too large"));
  CHECK(files_below(folder.path) == 1);
}

TEST_CASE("the folder stays within its limit and loses the least recently used entries") {
  TemporaryFolder folder;
  constexpr uint64_t kLimit_B = 100 << 10;
  ObjectCache cache(folder.path, kLimit_B);
  for (int i = 0; i < 60; ++i) {
    cache.store(key_of(i), object_of(i, 4096));
    // Entries get distinct, increasing times whatever the file system's resolution.
    const timespec times[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    REQUIRE(utimensat(AT_FDCWD, cache.path_of(key_of(i)).c_str(), times, 0) == 0);
    CHECK(cache.find(key_of(0)).has_value());  // in use all the time
    uint64_t size_B = 0;
    files_below(folder.path, &size_B);
    CHECK(size_B <= kLimit_B);
  }
  CHECK_FALSE(fs::exists(cache.path_of(key_of(1))));
  CHECK(fs::exists(cache.path_of(key_of(59))));
  CHECK(files_below(folder.path) > 15);
}

TEST_CASE("temporaries of dead writers are swept, fresh ones are left alone") {
  TemporaryFolder folder;
  fs::create_directories(folder.path + "/objects/00");
  const std::string old = folder.path + "/objects/00/dead.1.0.tmp",
                    fresh = folder.path + "/objects/00/living.1.0.tmp";
  write_file_atomic(old, std::string_view("part"));
  write_file_atomic(fresh, std::string_view("part"));
  const timespec times[2] = {{1000000, 0}, {1000000, 0}};
  REQUIRE(utimensat(AT_FDCWD, old.c_str(), times, 0) == 0);
  ObjectCache(folder.path, kPlenty_B).store(key_of(1), object_of(1, 10));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
}

TEST_CASE("threads and processes share a folder: every hit is whole and is its own") {
  TemporaryFolder folder;
  constexpr int kKeys = 16;
  auto hammer = [&](ObjectCache& cache, uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 300; ++i) {
      const int k = static_cast<int>(random() % kKeys);
      if (random() % 2) cache.store(key_of(k), object_of(k, 2000));
      const auto found = cache.find(key_of(k));
      if (found && *found != object_of(k, 2000)) return false;
    }
    return true;
  };
  auto process = [&](uint32_t seed) {
    ObjectCache cache(folder.path, 20 << 10);  // small, so that eviction runs all the time
    std::atomic<bool> good{true};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        if (!hammer(cache, seed * 10 + t)) good = false;
      });
    for (std::thread& t : threads) t.join();
    return good.load() && !cache.read_only();
  };
  std::vector<pid_t> children;
  for (uint32_t c = 0; c < 3; ++c) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(process(c) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder.path))
    CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("the process-wide cache follows the knobs") {
  TemporaryFolder folder;
  {
    ScopedKnobs on({{"TINY_CACHE", "1"}, {"TINY_CACHE_DIR", folder.path}});
    object_cache().store(key_of(1), object_of(1, 10));
    CHECK(object_cache().find(key_of(1)) == object_of(1, 10));
    CHECK(object_cache().path_of(key_of(1)).starts_with(folder.path));
  }
  ScopedKnobs off({{"TINY_CACHE", "0"}, {"TINY_CACHE_DIR", folder.path}});
  CHECK_FALSE(object_cache().find(key_of(1)));
}
