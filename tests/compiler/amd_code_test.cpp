// SPDX-License-Identifier: MIT
// What the compiler makes for AMD GPUs: objects whose kernels ask for nothing but their arguments.
#include <rt_tiny/runtime/base/elf.h>
#include <catch2/catch.hpp>

#include <cstring>

#include "compiler/compile.h"
#include "compiler/opt/actions.h"
#include "tests/compiler/lower_kernels.h"

using namespace tiny;

namespace {

/// amdhsa kernel descriptor, as far as a loader reads it (LLVM, AMDGPU usage, kernel descriptor).
struct Descriptor {
  uint32_t group_segment_B, private_segment_B, kernarg_B;
  uint16_t properties;
};

Descriptor descriptor(const Binary& binary) {
  const ElfObject object(binary.code);
  const ElfSymbol* symbol = object.find_symbol(binary.name + ".kd");
  REQUIRE(symbol);
  const auto bytes = object.contents(object.sections().at(symbol->section));
  REQUIRE(symbol->value + 64 <= bytes.size());
  const uint8_t* at = bytes.data() + symbol->value;
  Descriptor d{};
  std::memcpy(&d.group_segment_B, at, 4);
  std::memcpy(&d.private_segment_B, at + 4, 4);
  std::memcpy(&d.kernarg_B, at + 8, 4);
  std::memcpy(&d.properties, at + 56, 2);
  return d;
}

constexpr uint16_t kKernargPointer = 1 << 3, kWave32 = 1 << 10;

}  // namespace

TEST_CASE("every kernel has code for gfx1100 that asks for its arguments and nothing else") {
  const Target target = test::gfx_target("gfx1100");
  for (const test::Sample& sample : test::samples())
    for (const bool noopt : {false, true}) {
      INFO(sample.name << (noopt ? " without actions" : ""));
      Kernel kernel = sample.make();
      const Binary binary = compile(std::move(kernel), target, {.noopt = noopt});
      const Descriptor d = descriptor(binary);
      CHECK(d.properties == (kKernargPointer | kWave32));
      CHECK(d.kernarg_B == binary.kernarg_B);
      CHECK(d.private_segment_B == 0);  // nothing spills
      CHECK(binary.group_size[0] % 32 == 0);
      CHECK(binary.group_size[0] <= 256);
    }
}

TEST_CASE("a GPU's kernel has a work-item for each position that threads share") {
  const Target target = test::gfx_target("gfx1100");
  const Binary binary = compile(test::add(1 << 20, DType::f32), target);
  const int64_t items = binary.groups[0].evaluate({}) * binary.group_size[0];
  CHECK(items == (1 << 20) / 4);  // four floats an item
}

TEST_CASE("few rows are shared by the work-items of a group") {
  const Target target = test::gfx_target("gfx1100");
  const Binary sum = compile(test::full_sum(100000), target);
  CHECK(sum.groups[0].evaluate({}) == 1);
  CHECK(sum.group_size[0] == 256);
  CHECK(descriptor(sum).group_segment_B == 256 / 32 * 4);  // a float a wave
  const Binary softmax = compile(test::softmax(8, 4096), target);
  CHECK(softmax.groups[0].evaluate({}) == 8);
  CHECK(softmax.group_size[0] == 256);
}

TEST_CASE("work-items are shared by one axis class, and never fold apart") {
  Kernel k = test::softmax(8, 64);
  const Action over_columns = parse_action("local(1, 32)");
  apply(k, 0, over_columns);
  CHECK_THROWS_WITH(apply(k, 0, parse_action("local(0, 4)")),
                    Catch::Contains("would not fold together"));
  CHECK_THROWS_WITH(apply(k, 0, parse_action("local(0, 3)")), Catch::Contains("power of two"));
  CHECK_THROWS_WITH(apply(k, 0, parse_action("local(0, 512)")), Catch::Contains("exceeds 256"));
}
