// SPDX-License-Identifier: MIT
// The engine among processes and threads: warm starts, forked children, two threads at once, memory
// that cannot be had.
#include <rt_tiny/frontend/jit.h>
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <thread>

#include "compiler/llvm/plugin.h"
#include "engine/executable.h"

using namespace tiny;

namespace {

/// A folder of its own for the disk cache, gone afterwards.
struct CacheFolder {
  std::filesystem::path path;
  CacheFolder() {
    std::string name = std::filesystem::temp_directory_path() / "rt_tiny_cache_XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// This executable again, running the one hidden case `name`; its exit status.
int run_case(const std::string& name, const std::string& cache_folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TINY_CACHE_DIR", cache_folder.c_str(), 1);
    ::execl("/proc/self/exe", "engine_tests", name.c_str(), "-o", "/dev/null",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<float> train(int steps) {
  nn::Linear layer{8, 4};
  optim::SGD opt{nn::parameters(layer), {.lr = 0.1f}};
  const Tensor x = (Tensor::arange(64).cast(DType::f32) / 64).reshape({8, 8});
  const Tensor y = Tensor::arange(8) % 4;
  {
    const NoGrad no_grad;
    layer.weight.assign(layer.weight.full_like(0.125));
    layer.bias.assign(layer.bias.full_like(0));
  }
  auto step = jit([&](const Tensor& a, const Tensor& b) {
    const Tensor loss = layer(a).cross_entropy(b);
    opt.zero_grad();
    loss.backward();
    opt.step();
    return loss;
  });
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(step(x, y).item<float>());
  return losses;
}

}  // namespace

TEST_CASE("hidden: some work through the disk cache", "[.child]") {
  CHECK((Tensor::arange(10).cast(DType::f32).exp().sum() > 0).item<bool>());
}

TEST_CASE("hidden: the same work without LLVM", "[.child]") {
  CHECK((Tensor::arange(10).cast(DType::f32).exp().sum() > 0).item<bool>());
  CHECK_FALSE(llvm_plugin_opened());
  CHECK(engine::cache_stats().kernels_compiled == 0);
  CHECK(engine::cache_stats().kernels_from_disk > 0);
}

TEST_CASE("a warm start never opens LLVM") {
  const CacheFolder folder;
  REQUIRE(run_case("hidden: some work through the disk cache", folder.path) == 0);
  CHECK(run_case("hidden: the same work without LLVM", folder.path) == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  CHECK(run_case("hidden: some work through the disk cache", folder.path) == 0);
  CHECK(run_case("hidden: the same work without LLVM", folder.path) == 0);
}

TEST_CASE("a forked child is told that it cannot use the device") {
  const Tensor x = Tensor::of({1, 2, 3}).realize();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      (x + 1).realize();
    } catch (const UsageError&) {
      ::_exit(7);
    } catch (...) {
      ::_exit(8);
    }
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
  CHECK((x + 1).to_vector<int64_t>() == std::vector<int64_t>{2, 3, 4});
}

TEST_CASE("two threads build and run at once") {
  const std::vector<float> alone = train(12);
  std::vector<std::vector<float>> together(2);
  std::vector<std::thread> threads;
  for (auto& losses : together) threads.emplace_back([&losses] { losses = train(12); });
  for (std::thread& t : threads) t.join();
  for (const auto& losses : together)
    for (size_t i = 0; i < alone.size(); ++i) CHECK(losses[i] == Approx(alone[i]).epsilon(1e-5));
}

TEST_CASE("two threads may realize the same unrealized tensor") {
  for (int round = 0; round < 20; ++round) {
    const Tensor x = Tensor::arange(100).cast(DType::f32) + float(round);
    const Tensor shared = (x * 2).sum();
    std::vector<float> seen(2);
    std::thread a([&] { seen[0] = (shared + 1).item<float>(); });
    std::thread b([&] { seen[1] = (shared + 1).item<float>(); });
    a.join();
    b.join();
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == 9900 + 200 * float(round) + 1);
  }
}

TEST_CASE("memory that cannot be had is one clear error, and work goes on") {
  // A host may promise memory that it does not have; a GPU's grid ends before its addresses do.
  const bool host = default_device()->name().starts_with("CPU");
  const Tensor huge = Tensor::zeros({int64_t(1) << (host ? 46 : 40)});
  CHECK_THROWS_AS((huge + 1).realize(), SystemError);
  CHECK((Tensor::of(1) + 1).item<int64_t>() == 2);
}
