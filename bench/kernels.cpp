// SPDX-License-Identifier: MIT
// Speed of single kernels, compiled by the heuristic and run in one thread:
// name, groups, GFLOP/s, GB/s, milliseconds to render and to assemble, lines of text.
#include <fmt/format.h>
#include <rt_tiny/runtime/base/elf.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/compiler/lower_kernels.h"

namespace {

using namespace tiny;
using Clock = std::chrono::steady_clock;
double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

void measure(const Kernel& kernel, bool noopt) {
  const Target target = test::host_target();
  const auto t0 = Clock::now();
  RenderedKernel rendered = render(kernel, target, {.noopt = noopt});
  const auto t1 = Clock::now();
  const auto lines = std::count(rendered.text.begin(), rendered.text.end(), '\n');
  const Binary binary = assemble(std::move(rendered), target);
  const auto t2 = Clock::now();
  const HostCode code = load_host_code(ElfObject(binary.code));
  using Entry = void(const void*, const int64_t*, void*);
  auto* entry = reinterpret_cast<Entry*>(const_cast<void*>(code.symbol(binary.name)));
  test::Bytes buffers = test::make_buffers(kernel, 1);
  std::vector<void*> kernarg;
  for (auto& b : buffers) kernarg.push_back(b.data());
  std::vector<uint8_t> scratch(binary.scratch_B + 64);
  void* const scratch_start = scratch.data() + (-reinterpret_cast<uintptr_t>(scratch.data()) & 63);
  const int64_t groups = binary.groups[0].evaluate({});
  double best = 1e9;
  const auto begin = Clock::now();
  for (int runs = 0; runs < 5 || (seconds(Clock::now() - begin) < 0.3 && runs < 100000); ++runs) {
    const auto start = Clock::now();
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t group[3] = {g, 0, 0};
      entry(kernarg.data(), group, scratch_start);
    }
    best = std::min(best, seconds(Clock::now() - start));
  }
  fmt::print(
      "{:34} {:4} {:8.2f} GF/s {:8.2f} GB/s {:9.3f} ms  render {:6.2f} assemble {:6.2f} lines {}\n",
      kernel.name, groups, binary.flops / best * 1e-9, binary.bytes / best * 1e-9, best * 1e3,
      seconds(t1 - t0) * 1e3, seconds(t2 - t1) * 1e3, lines);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tiny::test;
  const bool noopt = argc > 1 && std::strcmp(argv[1], "noopt") == 0;
  const std::string only = argc > 1 && !noopt ? argv[1] : "";
  const tiny::Kernel kernels[] = {
      linear_relu(512, 512, 512, false),
      linear_relu(512, 128, 784, true),
      linear_relu(64, 128, 784, true),
      linear_relu(512, 784, 128, false),
      conv(64, 1, 32, 28, 5),
      conv(64, 32, 32, 24, 5),
      conv(64, 32, 64, 10, 3),
      conv(64, 64, 64, 8, 3),
      conv_grad_input(64, 32, 32, 24, 5),
      conv_grad_weight(64, 32, 32, 24, 5),
      conv_grad_input(64, 64, 64, 8, 3),
      conv_grad_weight(64, 64, 64, 8, 3),
      softmax(512, 10),
      softmax(64, 1000),
      softmax(4096, 1000),
      softmax_kept(4096, 1000),
      attention(16, 128, 128, 64),
      add(1 << 16, tiny::DType::f32),
      full_sum(1 << 16),
      row_sum(256, 256),
      column_sum(256, 256),
      transpose(512, 512),
      batch_norm(64, 32, 400),
      adam({1000, 25600, 18432, 36864, 5760}),
  };
  for (const auto& k : kernels)
    if (only.empty() || k.name.find(only) != std::string::npos) measure(k, noopt);
}
