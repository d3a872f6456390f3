// SPDX-License-Identifier: MIT
// Our code for AMD GPUs, run by the model's interpreter: what the kernel's own interpreter says.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "compiler/lower/interpret_kernel.h"
#include "compiler/opt/heuristic.h"
#include "tests/compiler/lower_kernels.h"
#include "tests/models/amd/isa_harness.h"

using namespace tiny;

namespace {

/// Every buffer is a region of its own, exactly as large as the kernel says: a read outside faults.
test::Bytes run_on_interpreter(const Binary& binary, const std::string& arch, test::Bytes buffers) {
  isa_test::Program program(arch, binary.code);
  std::vector<uint64_t> addresses;
  isa_test::Arguments arguments;
  for (const auto& buffer : buffers) {
    addresses.push_back(program.memory.add(buffer.size()));
    program.memory.write(addresses.back(), buffer.data(), buffer.size());
    arguments.add(addresses.back());
  }
  program.launch(binary.name, {static_cast<unsigned>(binary.groups[0].evaluate({})), 1, 1},
                 binary.group_size, arguments);
  for (size_t i = 0; i < buffers.size(); ++i)
    program.memory.read(addresses[i], buffers[i].data(), buffers[i].size());
  return buffers;
}

std::string check_on(const Target& target, const test::Sample& sample,
                     const CompileOptions& options, uint64_t seed) {
  const Kernel kernel = sample.make();
  const test::Bytes buffers = test::make_buffers(kernel, seed);
  test::Bytes expected = buffers;
  lower::interpret_kernel(kernel, expected);
  const Binary binary = compile(sample.make(), target, options);
  return test::difference(kernel, expected, run_on_interpreter(binary, target.arch, buffers));
}

}  // namespace

TEST_CASE("kernels for gfx1100 do what the kernel's interpreter does") {
  for (const test::Sample& sample : test::samples()) {
    INFO(sample.name);
    CHECK(check_on(test::gfx_target("gfx1100"), sample, {}, 3) == "");
  }
}

TEST_CASE("kernels for gfx1100 without actions do what the kernel's interpreter does") {
  for (const test::Sample& sample : test::samples()) {
    INFO(sample.name);
    CHECK(check_on(test::gfx_target("gfx1100"), sample, {.noopt = true}, 4) == "");
  }
}

TEST_CASE("kernels for gfx1030 do what the kernel's interpreter does") {
  for (const test::Sample& sample : test::samples()) {
    INFO(sample.name);
    CHECK(check_on(test::gfx_target("gfx1030"), sample, {}, 5) == "");
  }
}

TEST_CASE("a group's items read shared operands from local memory") {
  const test::Sample samples[] = {
      {"linear", [] { return test::linear_relu(70, 90, 50, false); }},
      {"linear, transposed", [] { return test::linear_relu(64, 64, 64, true); }},
      {"f16", [] { return test::linear_relu(65, 128, 33, false, DType::f16); }},
      {"conv", [] { return test::conv(1, 20, 64, 20, 3); }},
  };
  for (const char* arch : {"gfx1100", "gfx1030"})
    for (const test::Sample& sample : samples) {
      INFO(arch << " " << sample.name);
      Target small = test::gfx_target(arch);
      small.parallelism = 2;  // or these sizes would be too small to share
      Kernel tuned = sample.make();
      optimize(tuned, small, false);
      INFO(print(tuned));
      int arrays = 0;
      for (const Stage& s : tuned.pieces[0].stages) arrays += s.placement == Placement::local;
      CHECK(arrays >= 1);
      CHECK(check_on(small, sample, {}, 6) == "");
    }
}
