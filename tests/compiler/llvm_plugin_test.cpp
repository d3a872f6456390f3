// SPDX-License-Identifier: MIT
#include "compiler/llvm/plugin.h"

#include <elf.h>
#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/host_cpu.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/elf_link.h"

using namespace tiny;

namespace {

Target target_for(const char* triple, const char* cpu, const char* features = "") {
  Target t;
  t.triple = triple;
  t.cpu = cpu;
  t.features = features;
  return t;
}

Target host_target() {
  Target t = target_for(host_triple().c_str(), "native");
  t.features = host_cpu_key();  // as the CPU driver publishes it
  return t;
}

template <class Signature>
Signature* function(const HostCode& code, const char* name) {
  return reinterpret_cast<Signature*>(const_cast<void*>(code.symbol(name)));
}

HostCode build(std::string_view text, const Target& target = host_target()) {
  return load_host_code(ElfObject(compile_llvm_ir(text, target).object));
}

// Vectors, a constant pool, a libm call, a table in .rodata and a contracting multiply-add.
constexpr const char* kKernels = R"(
@table = private constant [4 x float] [float 1.0, float 2.0, float 4.0, float 8.0]

define void @scale(ptr noalias %x, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %x, i64 %i
  %v = load <8 x float>, ptr %p, align 4
  %w = fmul <8 x float> %v, <float 1.0, float 2.0, float 3.0, float 4.0,
                             float 5.0, float 6.0, float 7.0, float 8.0>
  store <8 x float> %w, ptr %p, align 4
  %next = add i64 %i, 8
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

declare float @llvm.sin.f32(float)
declare float @llvm.cos.f32(float)
define float @wave(float %x) nounwind {
  %s = call float @llvm.sin.f32(float %x)
  %c = call float @llvm.cos.f32(float %x)
  %r = fsub float %s, %c
  ret float %r
}

define float @lookup(i64 %i) nounwind {
  %p = getelementptr [4 x float], ptr @table, i64 0, i64 %i
  %v = load float, ptr %p
  ret float %v
}

declare double @llvm.pow.f64(double, double)
define double @power(double %a, double %b) nounwind {
  %r = call double @llvm.pow.f64(double %a, double %b)
  ret double %r
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @clear(ptr %p, i64 %n) nounwind {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}

define i16 @to_half(float %x) nounwind {
  %h = fptrunc float %x to half
  %b = bitcast half %h to i16
  ret i16 %b
}

define i16 @to_bfloat(float %x) nounwind {
  %h = fptrunc float %x to bfloat
  %b = bitcast bfloat %h to i16
  ret i16 %b
}

define float @from_half(i16 %b) nounwind {
  %h = bitcast i16 %b to half
  %x = fpext half %h to float
  ret float %x
}
)";

void check_kernels(const HostCode& code) {
  std::vector<float> x(16, 1);
  function<void(float*, int64_t)>(code, "scale")(x.data(), 16);
  for (size_t i = 0; i < x.size(); ++i) CHECK(x[i] == static_cast<float>(i % 8 + 1));
  CHECK(function<float(float)>(code, "wave")(1.5f) == sinf(1.5f) - cosf(1.5f));
  CHECK(function<float(int64_t)>(code, "lookup")(3) == 8.0f);
  CHECK(function<double(double, double)>(code, "power")(2.5, 3.5) == pow(2.5, 3.5));
  function<void(void*, int64_t)>(code, "clear")(x.data(), 64);
  CHECK(x[0] == 0);
  CHECK(function<uint16_t(float)>(code, "to_half")(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(function<uint16_t(float)>(code, "to_half")(65520.0f) == 0x7c00);
  CHECK(function<uint16_t(float)>(code, "to_bfloat")(1.0f + 0x1.8p-8f) == 0x3f81);
  CHECK(function<float(uint16_t)>(code, "from_half")(0x0001) == 0x1p-24f);
}

}  // namespace

// First in the file and run in order, so nothing has opened the plugin yet.
TEST_CASE("the version key is known without opening the plugin") {
  CHECK(llvm_version_key() == llvm_version_key());
  CHECK_THAT(llvm_version_key(), Catch::Contains(std::string(llvm_default_passes())));
  CHECK_FALSE(llvm_plugin_opened());
}

TEST_CASE("IR becomes host code that our loader runs") {
  check_kernels(build(kKernels));
  CHECK(llvm_plugin_opened());
}

#if defined(__x86_64__)
TEST_CASE("code for the baseline x86-64, without F16C and FMA, runs as well") {
  check_kernels(build(kKernels, target_for("x86_64-unknown-linux-gnu", "x86-64")));
}

TEST_CASE("multiply and add contract where the text allows it and nowhere else") {
  const Target t = target_for("x86_64-unknown-linux-gnu", "x86-64-v3");
  const char* text = R"(
define float @f(float %a, float %b, float %c) {
  %p = fmul FLAGS float %a, %b
  %s = fadd FLAGS float %p, %c
  ret float %s
})";
  auto with_flags = [&](const std::string& flags) {
    std::string ir = text;
    for (size_t at; (at = ir.find("FLAGS")) != std::string::npos;) ir.replace(at, 5, flags);
    return compile_llvm_ir(ir, t, true).assembly;
  };
  CHECK_THAT(with_flags("contract"), Catch::Contains("vfmadd"));
  CHECK_THAT(with_flags(""), !Catch::Contains("vfmadd"));
}

TEST_CASE("features and cpu reach the code generator") {
  const char* text =
      "define <8 x float> @f(<8 x float> %a) { %r = fadd <8 x float> %a, %a\n"
      "ret <8 x float> %r }";
  auto assembly = [&](const char* cpu, const char* features) {
    return compile_llvm_ir(text, target_for("x86_64-unknown-linux-gnu", cpu, features), true)
        .assembly;
  };
  CHECK_THAT(assembly("x86-64", "+avx"), Catch::Contains("ymm"));
  CHECK_THAT(assembly("x86-64", ""), !Catch::Contains("ymm"));
  CHECK_THAT(assembly("x86-64-v3", ""), Catch::Contains("ymm"));
}
#endif

TEST_CASE("the same text compiles to the same bytes, with or without assembly") {
  const LlvmOutput a = compile_llvm_ir(kKernels, host_target(), false);
  const LlvmOutput b = compile_llvm_ir(kKernels, host_target(), true);
  CHECK(a.object == b.object);
  CHECK(a.assembly.empty());
  CHECK_THAT(b.assembly, Catch::Contains("scale:"));
}

TEST_CASE("bad IR is an error that gives its line, and the next compilation works") {
  const Target t = host_target();
  CHECK_THROWS_AS(compile_llvm_ir("define void @f() {\n  bogus\n}", t), UsageError);
  CHECK_THROWS_WITH(compile_llvm_ir("define void @f() {\n  bogus\n}", t),
                    Catch::StartsWith("[llvm] ") && Catch::Contains(":2:3: error:"));
  CHECK_THROWS_WITH(compile_llvm_ir("define i32 @f() {\n  ret i64 0\n}", t),
                    Catch::Contains(":2:"));
  CHECK_THROWS_WITH(  // parses, but uses a value that does not dominate it
      compile_llvm_ir("define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, "
                      "2\n br label %b\nb:\n ret i32 %x\n}",
                      t),
      Catch::Contains("invalid IR") && Catch::Contains("dominate"));
  CHECK_THROWS_WITH(compile_llvm_ir("", target_for("z80-unknown-none", "")),
                    Catch::Contains("z80"));
  CHECK_THROWS_WITH(compile_llvm_ir("", target_for("x86_64-unknown-linux-gnu", "zx81")),
                    Catch::Contains("zx81"));
  CHECK_THROWS_WITH(
      compile_llvm_ir("", target_for("x86_64-unknown-linux-gnu", "x86-64", "+avx,+warp")),
      Catch::Contains("+warp"));
  CHECK_THROWS_WITH(compile_llvm_ir(kKernels, t, false, "no-such-pass"),
                    Catch::Contains("no-such-pass"));
  check_kernels(build(kKernels));
}

TEST_CASE("the default passes clean up what a naive emitter writes") {
  // A stack slot, a repeated load and dead arithmetic.
  const char* text = R"(
define i32 @f(ptr %p) {
  %slot = alloca i32
  %a = load i32, ptr %p
  store i32 %a, ptr %slot
  %b = load i32, ptr %slot
  %c = load i32, ptr %p
  %dead = mul i32 %c, 77
  %s = add i32 %b, %c
  ret i32 %s
})";
  const LlvmOutput with = compile_llvm_ir(text, host_target(), true);
  const LlvmOutput without = compile_llvm_ir(text, host_target(), true, "");
  CHECK(with.assembly.size() < without.assembly.size());
  const HostCode code = load_host_code(ElfObject(with.object));
  const int32_t value = 21;
  CHECK(function<int(const int32_t*)>(code, "f")(&value) == 42);
}

TEST_CASE("threads compile at the same time") {
  const std::vector<uint8_t> expected = compile_llvm_ir(kKernels, host_target()).object;
  std::vector<std::vector<uint8_t>> objects(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i : {t, t + 4}) objects[i] = compile_llvm_ir(kKernels, host_target()).object;
    });
  for (std::thread& t : threads) t.join();
  for (const auto& object : objects) CHECK(object == expected);
}

TEST_CASE("an AMDGPU kernel compiles to an object with a descriptor our parser reads") {
  const char* text = R"(
define amdgpu_kernel void @fill(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %id
  store i32 %id, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x())";
  const LlvmOutput out = compile_llvm_ir(text, target_for("amdgcn-amd-amdhsa", "gfx1100"), true);
  CHECK_THAT(out.assembly, Catch::Contains("s_endpgm"));
  const ElfObject object(out.object);
  CHECK(object.machine() == EM_AMDGPU);
  CHECK((object.flags() & 0xff) == 0x41);  // EF_AMDGPU_MACH_AMDGCN_GFX1100
  REQUIRE(object.find_symbol("fill.kd"));
  CHECK(object.find_symbol("fill.kd")->size_B == 64);
  REQUIRE(object.find_symbol("fill"));
  REQUIRE(object.find_section(".note"));
}

TEST_CASE("an NVPTX kernel compiles to PTX text") {
  const char* text = R"(
define ptx_kernel void @fill(ptr addrspace(1) %p) {
  store i32 7, ptr addrspace(1) %p
  ret void
})";
  const LlvmOutput out =
      compile_llvm_ir(text, target_for("nvptx64-nvidia-cuda", "sm_80", "+ptx80"));
  const std::string ptx(out.object.begin(), out.object.end());
  CHECK_THAT(ptx, Catch::Contains(".target sm_80") && Catch::Contains(".version 8.0") &&
                      Catch::Contains("fill"));
}

TEST_CASE("an AArch64 kernel compiles and links with our relocations") {
  const Target t = target_for("aarch64-unknown-linux-gnu", "neoverse-n1");
  const ElfObject object(compile_llvm_ir(kKernels, t).object);
  CHECK(object.machine() == EM_AARCH64);
  std::set<uint32_t> types;
  for (const ElfRelocation& r : object.relocations()) types.insert(r.type);
  CHECK(types.count(R_AARCH64_CALL26) + types.count(R_AARCH64_JUMP26) > 0);
  CHECK(types.count(R_AARCH64_ADR_PREL_PG_HI21) == 1);
  const ElfLayout layout = lay_out(object);
  std::vector<uint8_t> image(layout.size_B);
  CHECK_NOTHROW(link(object, layout, host_math_symbols(), 0x7f0000000000, image));
}

TEST_CASE("real objects survive mutation: parsed and linked, or refused") {
  std::mt19937_64 random(11);
  std::vector<uint8_t> image;
  int accepted = 0;
  for (const Target& t : {host_target(), target_for("aarch64-unknown-linux-gnu", "neoverse-n1")}) {
    const std::vector<uint8_t> seed = compile_llvm_ir(kKernels, t).object;
    for (int round = 0; round < 10000; ++round) {
      std::vector<uint8_t> bytes = seed;
      for (uint64_t n = 1 + random() % 4; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
      try {
        const ElfObject object(bytes);
        const ElfLayout layout = lay_out(object);
        if (layout.size_B > (4 << 20)) continue;
        image.assign(layout.size_B, 0);
        link(object, layout, host_math_symbols(), 0x100000, image);
        ++accepted;
      } catch (const UsageError&) {
      }
    }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("code that calls anything but the host's mathematics is refused") {
  const LlvmOutput out = compile_llvm_ir(
      "declare i32 @system(ptr)\ndefine i32 @f(ptr %p) { %r = call i32 @system(ptr %p)\nret i32 "
      "%r }",
      host_target());
  CHECK_THROWS_WITH(load_host_code(ElfObject(out.object)), Catch::Contains("\"system\""));
}
