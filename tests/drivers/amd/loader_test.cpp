// SPDX-License-Identifier: MIT
// The loader on objects that LLVM made (tests/data/amd/make_objects.sh), and on broken ones.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include "drivers/amd/code_object.h"
#include "drivers/amd/copy_shader.h"
#include "drivers/amd/registers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace tiny;
using namespace tiny::amd;

namespace {

Binary object(const std::string& file, const std::string& kernel) {
  Binary b;
  b.name = kernel;
  b.code = read_file(TINY_AMD_DATA "/" + file);
  return b;
}

const Generation& gfx1100() { return *find_generation("gfx1100"); }

KernelRegisters load(const Binary& b, const Generation& g, uint64_t base = 0x7f0000000000) {
  const CodeObject code(b, g);
  return code.registers(code.link(base), base);
}

template <class T>
T at(const std::vector<uint8_t>& image, uint64_t offset) {
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

/// Changes the descriptor of k in relocations.o, which lies at the start of .rodata.
template <class F>
Binary edited(F&& edit) {
  Binary b = object("relocations.o", "k");
  const ElfObject elf(b.code);
  kernel_descriptor_t kd;
  uint8_t* bytes = b.code.data() + elf.find_section(".rodata")->offset_B;
  std::memcpy(&kd, bytes, sizeof kd);
  edit(kd);
  std::memcpy(bytes, &kd, sizeof kd);
  return b;
}

}  // namespace

TEST_CASE("a kernel's registers come from its descriptor", "[amd:10]") {
  const KernelRegisters r = load(object("kernels_gfx1100.o", "scale"), gfx1100());
  REQUIRE(r.entry == 0x7f0000000200);
  REQUIRE(r.wave32);
  REQUIRE(r.user.kernarg_ptr);
  REQUIRE(r.user.count() == 2);
  REQUIRE(r.scratch_B == 0);
  REQUIRE(r.kernarg_B >= 32 + 24);  // hidden arguments behind four explicit ones
  REQUIRE(r.rsrc1 >> regs::COMPUTE_PGM_RSRC1__PRIV_lo & 1);
  // User SGPRs are padded to 16 less one for the group's x.
  REQUIRE((r.rsrc2 >> regs::COMPUTE_PGM_RSRC2__USER_SGPR_lo & 31) == 15);
  REQUIRE((r.rsrc2 >> 7 & 1) == 1);

  const KernelRegisters old =
      load(object("kernels_gfx1030.o", "scale"), *find_generation("gfx1030"));
  REQUIRE(old.user.private_segment_buffer);
  REQUIRE(!(old.rsrc1 >> regs::COMPUTE_PGM_RSRC1__PRIV_lo & 1));
}

TEST_CASE("local memory is what the kernel or its caller needs, in 512 bytes", "[amd:14]") {
  Binary b = object("kernels_gfx1100.o", "reverse");
  auto local = [&] {
    return load(b, gfx1100()).rsrc2 >> regs::COMPUTE_PGM_RSRC2__LDS_SIZE_lo & 511;
  };
  REQUIRE(local() == 2);
  b.local_B = 1025;
  REQUIRE(local() == 3);
  b.local_B = 64 << 10;
  REQUIRE(local() == 128);
  b.local_B = (64 << 10) + 1;
  REQUIRE_THROWS_WITH(local(), Catch::Contains("65537 B of local memory"));
}

TEST_CASE("scratch of a kernel is known", "[amd:15]") {
  for (const char* chip : {"gfx1100", "gfx1030"}) {
    const KernelRegisters r =
        load(object(fmt::format("kernels_{}.o", chip), "use_scratch"), *find_generation(chip));
    REQUIRE(r.scratch_B >= 4096);
    REQUIRE((r.rsrc2 & 1) == 1);
  }
}

TEST_CASE("relocations give LLVM's formulas at any address", "[amd:11]") {
  const Binary b = object("relocations.o", "k");
  const CodeObject code(b, gfx1100());
  for (const uint64_t base : {uint64_t{0x10000}, uint64_t{0x7ffe12345000}, uint64_t{0xffffff000}}) {
    const auto image = code.link(base);
    const uint64_t entry = code.registers(image, base).entry;
    REQUIRE(entry % 256 == 0);
    const uint64_t text = entry - base;
    uint64_t target = 0;
    while (at<uint64_t>(image, target) != 0x1122334455667788) ++target;
    const uint64_t value = base + target + 8;
    auto relative = [&](uint64_t offset) { return value - (base + text + offset); };
    REQUIRE(at<uint32_t>(image, text + 4) == static_cast<uint32_t>(relative(4)));
    REQUIRE(at<uint32_t>(image, text + 8) == static_cast<uint32_t>(relative(8) >> 32));
    REQUIRE(at<uint32_t>(image, text + 20) == static_cast<uint32_t>(value));
    REQUIRE(at<uint32_t>(image, text + 24) == static_cast<uint32_t>(value >> 32));
    REQUIRE(at<uint64_t>(image, text + 28) == value);
    REQUIRE(at<uint64_t>(image, text + 36) == relative(36));
    REQUIRE(at<uint32_t>(image, text + 44) == static_cast<uint32_t>(relative(44)));
    // Through the global offset table: place + value - 8 is the slot, which holds the address.
    const auto low = static_cast<int32_t>(at<uint32_t>(image, text + 12));
    const uint64_t slot = text + 12 + static_cast<uint64_t>(int64_t{low}) - 8;
    REQUIRE(at<uint64_t>(image, slot) == base + target);
  }
}

TEST_CASE("what the driver cannot give a kernel is refused by name", "[amd:11][amd:13]") {
  using Catch::Contains;
  auto message = [&](const Binary& b, const Generation& g = gfx1100()) -> std::string {
    try {
      load(b, g);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  CHECK_THAT(message(object("kernels_gfx1100.o", "wants_dispatch_packet")),
             Contains("ENABLE_SGPR_DISPATCH_PTR"));
  CHECK_THAT(message(object("kernels_gfx1030.o", "scale")), Contains("for gfx1030"));
  CHECK_THAT(message(object("kernels_gfx1100.o", "scale"), *find_generation("gfx1102")),
             Contains("for gfx1100") && Contains("the device is gfx1102"));
  CHECK_THAT(message(object("kernels_gfx1100.o", "nothing")), Contains("nothing.kd"));
  auto properties = [&](uint16_t bits) {
    return message(edited([&](auto& kd) { kd.kernel_code_properties |= bits; }));
  };
  CHECK_THAT(properties(1 << 2), Contains("QUEUE_PTR"));
  CHECK_THAT(properties(1 << 4), Contains("DISPATCH_ID"));
  CHECK_THAT(properties(1 << 11), Contains("DYNAMIC_STACK"));
  CHECK_THAT(properties(1 << 14), Contains("unknown kernel code properties 0x4000"));
  CHECK_THAT(properties(1 << 0), Contains("scratch in SGPRs"));
  CHECK_THAT(message(edited([](auto& kd) { kd.kernarg_preload = 4; })), Contains("preloaded"));
  CHECK_THAT(message(edited([](auto& kd) { kd.compute_pgm_rsrc2 |= 1 << 15; })),
             Contains("LDS_SIZE"));
  CHECK_THAT(message(edited([](auto& kd) { kd.private_segment_fixed_size = 16; })),
             Contains("does not enable"));
  CHECK_THAT(message(edited([](auto& kd) {
               kd.kernel_code_properties |= 8;
               kd.compute_pgm_rsrc2 &= ~0x3eu;
             })),
             Contains("user SGPRs"));
  auto header = [&](size_t offset, uint8_t value) {
    Binary b = object("relocations.o", "k");
    b.code[offset] = value;
    return message(b);
  };
  CHECK_THAT(header(7, 0), Contains("OS ABI 0"));
  CHECK_THAT(header(8, 1), Contains("ABI version 1"));
  CHECK_THAT(header(18, 62), Contains("ELF machine 62"));
  Binary undefined = object("relocations.o", "k");
  CHECK(message(undefined).empty());
}

namespace {

void load_damaged(int runs) {
  const Binary whole = object("kernels_gfx1100.o", "use_scratch");
  size_t refused = 0, loaded = 0;
  auto attempt = [&](Binary b) {
    try {
      load(b, gfx1100());
      ++loaded;
    } catch (const UsageError& e) {
      REQUIRE(std::string(e.what()).starts_with('['));
      ++refused;
    }
  };
  for (size_t size_B = 0; size_B < whole.code.size(); size_B += size_B < 256 ? 1 : 61) {
    Binary b = whole;
    b.code.resize(size_B);
    attempt(std::move(b));
  }
  REQUIRE(loaded == 0);
  std::mt19937 random(11);
  for (int run = 0; run < runs; ++run) {
    Binary b = whole;
    for (uint32_t i = 0; i < 1 + random() % 4; ++i) {
      // Tables and headers more often than code.
      const size_t at =
          random() % 4 ? 0x1000 + random() % (b.code.size() - 0x1000) : random() % b.code.size();
      b.code[at] = static_cast<uint8_t>(random() % 3 ? random() : 0xff * (random() & 1));
    }
    attempt(std::move(b));
  }
  REQUIRE(refused > 1000);
  REQUIRE(loaded > 1000);
}

}  // namespace

TEST_CASE("cut and damaged objects give an error, never a crash", "[amd:11]") {
  load_damaged(20'000);
}

TEST_CASE("a million damaged objects", "[.long]") { load_damaged(1'000'000); }

TEST_CASE("the copy kernel's words are its source in machine code") {
  const std::string mc = TINY_LLVM_MC;
  if (mc.empty()) {
    WARN("SKIPPED: no llvm-mc of LLVM 19 here, so the words are not compared with their source");
    return;
  }
  for (const auto& [chip, source] :
       {std::pair("gfx1100", "copy_gfx11.s"), std::pair("gfx1030", "copy_gfx10.s")}) {
    const std::string object_file = fmt::format("{}_{}.o", TINY_AMD_SCRATCH, chip);
    REQUIRE(
        std::system(fmt::format("{} -triple=amdgcn-amd-amdhsa -mcpu={} -filetype=obj {}/{} -o {}",
                                mc, chip, TINY_AMD_SOURCE, source, object_file)
                        .c_str()) == 0);
    const ElfObject elf(read_file(object_file));
    std::remove(object_file.c_str());
    const auto bytes = elf.contents(*elf.find_section(".text"));
    const auto words = copy_shader_words(*find_generation(chip));
    REQUIRE(bytes.size() == words.size_bytes());
    REQUIRE(std::memcmp(bytes.data(), words.data(), bytes.size()) == 0);
  }
}
