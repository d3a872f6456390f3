// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/hash.h>
#include <rt_tiny/runtime/base/host_cpu.h>
#include <rt_tiny/runtime/base/launch_expr.h>
#include <rt_tiny/runtime/base/target.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

using namespace tiny;
namespace fs = std::filesystem;

namespace {

/// A fresh folder, removed with its contents.
struct TemporaryFolder {
  std::string path = (fs::temp_directory_path() / "tiny_base_XXXXXX").string();
  TemporaryFolder() { REQUIRE(mkdtemp(path.data())); }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return path + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

/// Runs the body in a child; true if it returned true. Keeps limits and aborts away from us.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Every write beyond limit_B fails with EFBIG, as it would with ENOSPC on a full disk.
void limit_file_size(rlim_t limit_B) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{limit_B, limit_B};
  setrlimit(RLIMIT_FSIZE, &limit);
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST_CASE("a file written atomically reads back, replaces the old one, and leaves no temporary") {
  TemporaryFolder folder;
  const std::string path = folder / "f";
  write_file_atomic(path, std::string_view("one"));
  CHECK(text_of(read_file(path)) == "one");
  write_file_atomic(path, std::string_view(""));
  CHECK(read_file(path).empty());
  std::vector<uint8_t> big(3 << 20);
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<uint8_t>(i * 7);
  write_file_atomic(path, big, FileSync::no);
  CHECK(read_file(path) == big);
  CHECK(folder.files() == 1);
}

TEST_CASE("a file whose size is not known in advance is read whole") {
  CHECK(text_of(read_file("/proc/self/status")).find("Name:") != std::string::npos);
}

TEST_CASE("a missing file and a folder are system errors that name the path") {
  TemporaryFolder folder;
  CHECK_THROWS_AS(read_file(folder / "none"), SystemError);
  CHECK_THROWS_WITH(read_file(folder / "none"),
                    Catch::Contains("/none") && Catch::Contains("No such file"));
  CHECK_THROWS_AS(read_file(folder.path), SystemError);
}

TEST_CASE("a full disk removes the temporary, keeps the old file and throws") {
  TemporaryFolder folder;
  const std::string path = folder / "f";
  write_file_atomic(path, std::string_view("old"));
  const bool threw = in_child([&] {
    limit_file_size(1000);
    try {
      write_file_atomic(path, std::vector<uint8_t>(5000));
    } catch (const SystemError&) {
      return true;
    }
    return false;
  });
  CHECK(threw);
  CHECK(text_of(read_file(path)) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("writing where nothing can be created, onto a folder or onto a device throws") {
  TemporaryFolder folder;
  write_file_atomic(folder / "f", std::string_view("x"));
  CHECK_THROWS_AS(write_file_atomic(folder / "f/below", std::string_view("y")), SystemError);
  CHECK_THROWS_AS(write_file_atomic(folder / "no/folder", std::string_view("y")), SystemError);
  CHECK_THROWS_AS(write_file_atomic(folder.path, std::string_view("y")), SystemError);
  CHECK_THROWS_AS(write_file_atomic("/dev/full", std::string_view("y")), SystemError);
  CHECK(fs::is_character_file("/dev/full"));
  CHECK(folder.files() == 1);
}

TEST_CASE("concurrent atomic writers leave one of their files, never a mixture") {
  TemporaryFolder folder;
  const std::string path = folder / "f";
  std::vector<std::thread> writers;
  for (uint8_t w = 1; w <= 4; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 50; ++i)
        write_file_atomic(path, std::vector<uint8_t>(10000, w), FileSync::no);
    });
  for (std::thread& t : writers) t.join();
  const std::vector<uint8_t> bytes = read_file(path);
  REQUIRE(bytes.size() == 10000);
  CHECK(std::set<uint8_t>(bytes.begin(), bytes.end()).size() == 1);
  CHECK(folder.files() == 1);
}

TEST_CASE("descriptors and mappings have one owner and close") {
  TemporaryFolder folder;
  write_file_atomic(folder / "f", std::string_view("mapped"));
  Fd a = Fd::open(folder / "f", O_RDONLY);
  const int number = a.get();
  Fd b = std::move(a);
  CHECK_FALSE(a);
  CHECK(b.get() == number);
  CHECK((fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  b.reset();
  CHECK(fcntl(number, F_GETFD) == -1);

  Mapping m = Mapping::of_file(folder / "f");
  Mapping n = std::move(m);
  CHECK(m.data() == nullptr);
  CHECK(text_of({n.bytes().begin(), n.bytes().end()}) == "mapped");
  Mapping pages = Mapping::anonymous(8192);
  CHECK(pages.data()[8191] == 0);
  pages.data()[0] = 1;
  pages = std::move(n);
  CHECK(pages.size_B() == 6);
  write_file_atomic(folder / "empty", std::string_view(""));
  CHECK(Mapping::of_file(folder / "empty").size_B() == 0);
}

TEST_CASE("hashes tell fields apart, stream like one shot and print as 32 digits") {
  // XXH3-128 of nothing, seed 0: the reference implementation's test vector.
  CHECK(hash128(std::string_view("")).hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(Hasher().add("ab").add("c").digest() != Hasher().add("a").add("bc").digest());
  CHECK(Hasher().add(1).digest() != Hasher().add(2).digest());
  CHECK(Hasher().add_raw("hello", 5).digest() == hash128(std::string_view("hello")));
  Hasher a;
  a.add(std::string(1000, 'x'));
  Hasher b = std::move(a);
  b.add(true).add(Hash128{1, 2});
  CHECK(b.digest() == b.digest());
  std::unordered_set<Hash128> set;
  for (int i = 0; i < 1000; ++i) set.insert(Hasher().add(i).digest());
  CHECK(set.size() == 1000);
}

TEST_CASE("launch expressions compute with floored division") {
  using C = LaunchExpr::Code;
  CHECK(LaunchExpr().evaluate({}) == 1);
  CHECK(LaunchExpr(7).is_constant());
  // (n + 31) // 32
  const LaunchExpr groups(
      {{C::variable, 0}, {C::constant, 31}, {C::add}, {C::constant, 32}, {C::floordiv}});
  const std::vector<int64_t> n{65};
  CHECK(groups.evaluate(n) == 3);
  CHECK_FALSE(groups.is_constant());
  auto binary = [](C code, int64_t a, int64_t b) {
    return LaunchExpr({{C::constant, a}, {C::constant, b}, {code}}).evaluate({});
  };
  CHECK(binary(C::floordiv, -7, 2) == -4);
  CHECK(binary(C::floordiv, 7, -2) == -4);
  CHECK(binary(C::floordiv, -8, 2) == -4);
  CHECK(binary(C::floormod, -7, 2) == 1);
  CHECK(binary(C::floormod, 7, -2) == -1);
  CHECK(binary(C::floormod, INT64_MIN, -1) == 0);
  CHECK(binary(C::floordiv, INT64_MIN, -1) == INT64_MIN);
  CHECK(binary(C::sub, 3, 5) == -2);
  CHECK(binary(C::mul, -3, 5) == -15);
  CHECK(binary(C::min, -3, 5) == -3);
  CHECK(binary(C::max, -3, 5) == 5);
}

TEST_CASE("malformed launch code, missing variables and division by zero abort") {
  using C = LaunchExpr::Code;
  auto survives = [](const std::function<void()>& body) {
    return in_child([&] {
      if (!freopen("/dev/null", "w", stderr)) return false;
      signal(SIGABRT, SIG_DFL);
      body();
      return true;
    });
  };
  CHECK(survives([] { LaunchExpr({{C::constant, 1}}); }));
  CHECK_FALSE(survives([] { LaunchExpr(std::vector<LaunchExpr::Instruction>{}); }));
  CHECK_FALSE(survives([] { LaunchExpr({{C::constant, 1}, {C::add}}); }));
  CHECK_FALSE(survives([] { LaunchExpr({{C::constant, 1}, {C::constant, 1}}); }));
  CHECK_FALSE(survives([] {
    std::vector<LaunchExpr::Instruction> deep(LaunchExpr::kMaxDepth + 1, {C::constant, 1});
    deep.insert(deep.end(), LaunchExpr::kMaxDepth, {C::add});
    LaunchExpr{deep};
  }));
  CHECK_FALSE(survives([] { LaunchExpr({{C::variable, 0}}).evaluate({}); }));
  CHECK_FALSE(survives(
      [] { LaunchExpr({{C::constant, 1}, {C::constant, 0}, {C::floordiv}}).evaluate({}); }));
}

TEST_CASE("system errors name the call, errno and the hint") {
  CHECK_THROWS_WITH(throw_system_error("open(/dev/kfd)", EACCES, "join the render group"),
                    "open(/dev/kfd): Permission denied (errno 13). HINT: join the render group");
}

TEST_CASE("a target's key changes with every field") {
  std::set<std::string> keys{Target{}.key()};
  auto changed = [&](auto change) {
    Target t;
    change(t);
    keys.insert(t.key());
  };
  changed([](Target& t) { t.arch = "a"; });
  changed([](Target& t) { t.triple = "a"; });
  changed([](Target& t) { t.cpu = "a"; });
  changed([](Target& t) { t.features = "a"; });
  changed([](Target& t) { t.is_cpu = true; });
  changed([](Target& t) { t.vector_B = 1; });
  changed([](Target& t) { t.vector_registers = 1; });
  changed([](Target& t) { t.parallelism = 7; });
  changed([](Target& t) { t.max_buffers = 1; });
  changed([](Target& t) { t.local_B = 1; });
  changed([](Target& t) { t.cache_B = 1; });
  changed([](Target& t) { t.has_f64 = false; });
  changed([](Target& t) { t.has_f16_math = true; });
  changed([](Target& t) { t.has_bf16_math = true; });
  changed([](Target& t) { t.has_fma = false; });
  CHECK(keys.size() == 16);
}

TEST_CASE("the host's fingerprint is stable and its vector facts are consistent") {
  CHECK(host_cpu_key() == host_cpu_key());
  CHECK(host_cpu_key().size() > 33);
  const uint32_t width_B = host_vector_B(), registers = host_vector_registers();
  CHECK((width_B == 16 || width_B == 32 || width_B == 64));
  CHECK((registers == 16 || registers == 32));
  if (width_B == 64) CHECK(registers == 32);
  CHECK(host_triple().starts_with(host_arch()));
}
