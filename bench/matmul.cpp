// SPDX-License-Identifier: MIT
// Matrix products against libraries: `shape threads GFLOP/s ratio_vs_onednn ratio_vs_openblas`; a
// ratio is the library's time over ours. A shape is MxNxK, with At or Bt where an operand is stored
// transposed. Every result is compared with the library's.
//   matmul [--threads N] [SHAPE…]   N: 1 or 2, else one after the other in processes of their own
#include <fmt/format.h>
#include <malloc.h>
#include <rt_tiny/rt_tiny.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/peers.h"
#include "bench/timing.h"

#include <cmath>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

using namespace tiny;
using namespace tiny::bench;

namespace {

constexpr Matmul kShapes[] = {
    {64, 64, 64},          {96, 96, 96},
    {128, 128, 128},       {256, 256, 256},
    {512, 512, 512},       {1024, 1024, 1024},
    {2048, 2048, 2048},    {1000, 1000, 1000},
    {100, 100, 100},       {512, 128, 784},
    {784, 128, 512, true}, {512, 784, 128, false, true},
    {32, 128, 784},        {1024, 1024, 1024, true, true},
    {16384, 64, 64},       {6, 1024, 1024},
    {12, 1024, 1024},      {4096, 10, 576, false, true},
    {1, 128, 784},         {1, 512, 512},
    {1, 1024, 1024},       {1, 4096, 4096},
    {784, 1, 128},         {512, 1, 512},
    {1024, 1, 1024},       {4096, 1, 4096},
};

std::string name_of(const Matmul& s) {
  return fmt::format("{}{}{}x{}x{}", s.a_transposed ? "At" : "", s.b_transposed ? "Bt" : "", s.m,
                     s.n, s.k);
}

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<float>(seed >> 8) / static_cast<float>(1 << 24) - 0.5f;
  }
  return v;
}

struct Row {
  double ours_s, onednn_s = 0, openblas_s = 0;
};

void check(const Matmul& s, const std::vector<float>& ours, const std::vector<float>& theirs) {
  for (size_t i = 0; i < ours.size(); ++i)
    if (std::abs(ours[i] - theirs[i]) > 1e-5f * static_cast<float>(s.k) + 1e-5f)
      throw std::runtime_error(
          fmt::format("{}: element {} is {}, not {}", name_of(s), i, ours[i], theirs[i]));
}

Row measure(const Matmul& s, bool pause) {
  const std::vector<float> a = numbers(s.m * s.k, 1), b = numbers(s.k * s.n, 2);
  const Tensor x = Tensor::from(a, s.a_transposed ? Shape{s.k, s.m} : Shape{s.m, s.k}).realize();
  const Tensor y = Tensor::from(b, s.b_transposed ? Shape{s.n, s.k} : Shape{s.k, s.n}).realize();
  auto product = jit([&](const Tensor& p, const Tensor& q) {
    return (s.a_transposed ? p.t() : p).matmul(s.b_transposed ? q.t() : q);
  });
  const auto device = default_device();
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  std::vector<Candidate> candidates;
  candidates.push_back({"ours", [&] {
                          product(x, y);
                          device->synchronize();
                        }});
  product(x, y);
  const std::vector<float> result = product(x, y).to_vector<float>();
  const auto peer = [&](const char* name, auto* multiply) {
    if (!multiply(s, a.data(), b.data(), c.data())) return;
    check(s, result, c);
    candidates.push_back({name, [&, multiply] { multiply(s, a.data(), b.data(), c.data()); }});
  };
  peer("onednn", onednn_matmul);
  peer("openblas", openblas_matmul);
  compare(candidates, 6, pause);
  Row row{};
  for (const Candidate& candidate : candidates)
    (candidate.name == "ours"     ? row.ours_s
     : candidate.name == "onednn" ? row.onednn_s
                                  : row.openblas_s) = candidate.best_s;
  return row;
}

std::string ratio(double theirs, double ours) {
  return theirs > 0 ? fmt::format("{:.2f}", theirs / ours) : "-";
}

void run(int threads, const std::vector<std::string>& names) {
  double logs = 0;
  int count = 0;
  for (const Matmul& s : kShapes) {
    const bool wanted =
        names.empty() || std::find(names.begin(), names.end(), name_of(s)) != names.end();
    if (!wanted) continue;
    const Row r = measure(s, threads > 1);
    fmt::print("{:18} {} {:7.1f} {:>5} {:>5}\n", name_of(s), threads, s.flops() / r.ours_s * 1e-9,
               ratio(r.onednn_s, r.ours_s), ratio(r.openblas_s, r.ours_s));
    std::fflush(stdout);
    const double best = r.onednn_s > 0 && r.openblas_s > 0 ? std::min(r.onednn_s, r.openblas_s)
                                                           : std::max(r.onednn_s, r.openblas_s);
    if (best > 0) logs += std::log(best / r.ours_s), ++count;
  }
  if (count)
    fmt::print("geometric mean of the ratio to the better library, {} threads: {:.3f}\n", threads,
               std::exp(logs / count));
}

/// The libraries and our device take their number of threads once, when they start.
int run_apart(int threads, char** argv) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string n = std::to_string(threads);
    for (const char* name : {"TINY_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
      ::setenv(name, n.c_str(), 1);
    for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) ::unsetenv(name);
    std::vector<char*> args(argv, argv + 1);
    std::string option = "--threads";
    args.insert(args.end(), {option.data(), const_cast<char*>(n.c_str())});
    for (char** more = argv + 1; *more; ++more) args.push_back(*more);
    args.push_back(nullptr);
    ::execv("/proc/self/exe", args.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.size() < 2 || names[0] != "--threads") {
      fmt::print("{:18} t GFLOP/s onednn openblas\n", "shape");
      std::fflush(stdout);
      const int one = run_apart(1, argv), two = run_apart(2, argv);
      return one ? one : two;
    }
    // Memory that goes back to the system costs the libraries more than their work.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const int threads = std::stoi(names[1]);
    names.erase(names.begin(), names.begin() + 2);
    run(threads, names);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "matmul: {}\n", e.what());
    return 1;
  }
}
