// SPDX-License-Identifier: MIT
// Speed of the AMD device model, a line a graph: wave instructions, seconds, millions a second. The
// driver, compiled kernels and the model's one thread take part; compiling does not count.
//   amd-model [gfx1100,no-races]   the model as `tiny model` takes it, without "amd:"
#include <fmt/format.h>
#include <rt_tiny/rt_tiny.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <chrono>
#include <cstdio>
#include <exception>

#include "models/amd/model.h"

using namespace tiny;

namespace {

Tensor ones(const Shape& shape, DType type = DType::f32) {
  return Tensor::ones(shape, type).contiguous().realize();
}

struct Graph {
  const char* name;
  Tensor (*make)();
};
const Graph kGraphs[] = {
    {"matmul_f32_128", [] { return ones({128, 128}).matmul(ones({128, 128})); }},
    {"matmul_f16_128",
     [] { return ones({128, 128}, DType::f16).matmul(ones({128, 128}, DType::f16)); }},
    {"softmax_64x1000", [] { return ones({64, 1000}).softmax(-1); }},
    {"exp_1M", [] { return ones({1 << 20}).exp(); }},
};

int run(const std::string& text) {
  models::amd::Model model(models::amd::parse_options(text));
  const ScopedKnobs device({{"DEV", "AMD:0"}});
  fmt::print("{:16} {:>12} {:>8} {:>8}\n", "graph", "instructions", "seconds", "M/s");
  for (const Graph& graph : kGraphs) {
    graph.make().realize();  // compiled, and code caches warm
    default_device()->synchronize();
    const Tensor y = graph.make();
    default_device()->synchronize();
    const uint64_t before = model.stats().instructions;
    const auto start = std::chrono::steady_clock::now();
    y.realize();
    default_device()->synchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const auto count = static_cast<double>(model.stats().instructions - before);
    fmt::print("{:16} {:12.0f} {:8.3f} {:8.2f}\n", graph.name, count, took.count(),
               count / took.count() * 1e-6);
    std::fflush(stdout);
  }
  return model.reports().empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "gfx1100");
  } catch (const std::exception& e) {
    fmt::print(stderr, "amd-model: {}\n", e.what());
    return dynamic_cast<const UsageError*>(&e) ? 2 : 1;
  }
}
