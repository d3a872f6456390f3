// SPDX-License-Identifier: MIT
// Tensors to files and back, byte for byte, and what is refused on the way.
#include <rt_tiny/frontend/io/safetensors.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>

using namespace tiny;

namespace {

struct TempDir {
  TempDir() {
    char name[] = "/tmp/rt_tiny_st_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

/// Distinct bytes; 0 and 1 where the type is bool.
std::vector<std::byte> some_bytes(DType dtype, size_t count) {
  std::vector<std::byte> bytes(count * size_B(dtype));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : 37 * i + 11);
  return bytes;
}

}  // namespace

TEST_CASE("every element type, 0-d and empty tensors come back from a file bit for bit") {
  TempDir dir;
  std::map<std::string, Tensor> saved;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string type(name(dtype));
    saved.emplace(type, Tensor::from_bytes(dtype, {2, 3}, some_bytes(dtype, 6)));
    saved.emplace(type + ".0d", Tensor::from_bytes(dtype, {}, some_bytes(dtype, 1)));
    saved.emplace(type + ".empty", Tensor::from_bytes(dtype, {0, 4}, {}));
  }
  save_safetensors(dir.path + "/w", saved, {{"made by", "a test"}});
  const auto loaded = load_safetensors(dir.path + "/w");
  REQUIRE(loaded.size() == saved.size());
  for (const auto& [key, tensor] : saved) {
    INFO(key);
    CHECK(loaded.at(key).dtype() == tensor.dtype());
    CHECK(loaded.at(key).shape() == tensor.shape());
    CHECK(loaded.at(key).to_bytes() == tensor.to_bytes());
  }
  CHECK(safetensors_metadata(dir.path + "/w").at("made by") == "a test");
}

TEST_CASE("saving computes lazy tensors and writes views in row-major order") {
  TempDir dir;
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3});
  save_safetensors(dir.path + "/w", {{"sum", x + x}, {"view", x.transpose(0, 1)}});
  const auto loaded = load_safetensors(dir.path + "/w");
  CHECK(loaded.at("sum").to_vector<float>() == std::vector<float>{2, 4, 6, 8, 10, 12});
  CHECK(loaded.at("view").shape() == Shape{3, 2});
  CHECK(loaded.at("view").to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("a name that cannot be written leaves no file") {
  TempDir dir;
  const Tensor x = Tensor::from(std::vector<float>{1});
  CHECK_THROWS_AS(save_safetensors(dir.path + "/w", {{"__metadata__", x}}), UsageError);
  CHECK_THROWS_AS(save_safetensors(dir.path + "/w", {{"\xff", x}}), UsageError);
  CHECK_THROWS_AS(save_safetensors(dir.path + "/w", {{"x", Tensor()}}), UsageError);
  CHECK(std::filesystem::is_empty(dir.path));
}

TEST_CASE("a full disk keeps the previous weights and leaves nothing half-written") {
  TempDir dir;
  const std::string path = dir.path + "/w";
  save_safetensors(path, {{"x", Tensor::from(std::vector<float>{1, 2})}});
  const auto before = read_file(path);
  const Tensor large = Tensor::from(std::vector<float>(100'000, 1.0f));
  large.realize();
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{.rlim_cur = 50'000, .rlim_max = old.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  bool refused = false;
  try {
    save_safetensors(path, {{"x", large}});
  } catch (const SystemError&) {
    refused = true;
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  CHECK(refused);
  CHECK(read_file(path) == before);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path), {}) == 1);
}

TEST_CASE("loading refuses a missing file, a damaged one and a bool that is neither 0 nor 1") {
  TempDir dir;
  const std::string path = dir.path + "/w";
  CHECK_THROWS_AS(load_safetensors(path), SystemError);
  write_file_atomic(path, std::string_view(""));
  CHECK_THROWS_AS(load_safetensors(path), UsageError);
  save_safetensors(path,
                   {{"b", Tensor::from_bytes(DType::boolean, {2}, some_bytes(DType::boolean, 2))}});
  auto bytes = read_file(path);
  bytes.back() = 2;
  write_file_atomic(path, bytes);
  CHECK_THROWS_WITH(load_safetensors(path),
                    "[safetensors] " + path + ": tensor 'b': element 1 is 2, which is no bool");
  bytes.pop_back();
  write_file_atomic(path, bytes);
  CHECK_THROWS_WITH(load_safetensors(path), Catch::Contains("truncated"));
}
