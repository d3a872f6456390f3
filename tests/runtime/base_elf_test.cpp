// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/base/error.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/elf_link.h"
#include "tests/runtime/elf_builder.h"

using namespace tiny;
using tiny::test::ElfBuilder;

namespace {

constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR, kConstant = SHF_ALLOC,
                   kData = SHF_ALLOC | SHF_WRITE;

template <class T>
T read(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  REQUIRE(offset + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::vector<uint8_t> bytes_of_words(std::initializer_list<uint32_t> words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), std::data(words), bytes.size());
  return bytes;
}

/// A linked image and where its parts are.
struct Image {
  ElfLayout layout;
  std::vector<uint8_t> bytes;
};

Image link_at(const ElfBuilder& builder, uint64_t base, std::span<const HostSymbol> allowed = {}) {
  const ElfObject object(builder.build());
  Image image{lay_out(object), {}};
  image.bytes.resize(image.layout.size_B);
  link(object, image.layout, allowed, base, image.bytes);
  return image;
}

/// An object with each kind of section and reference; also the seed of the mutation test.
ElfBuilder rich_object() {
  ElfBuilder b(EM_X86_64);
  // lea table(%rip),%rax; mov counter@GOTPCREL(%rip),%rcx; call cosf@PLT; ret
  const uint16_t text = b.section(
      ".text", kCode,
      {0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x0d, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xc3});
  const uint16_t rodata = b.section(".rodata", kConstant, std::vector<uint8_t>(32, 7), 32);
  const uint16_t bss = b.section(".bss", kData, std::vector<uint8_t>(64), 64, SHT_NOBITS);
  const uint16_t pointers = b.section(".data.rel.ro", kData, std::vector<uint8_t>(16), 8);
  b.section(".comment", 0, {'x', 0});
  b.symbol("entry", text);
  const uint32_t table = b.symbol("table", rodata), counter = b.symbol("counter", bss, 8),
                 cosine = b.symbol("cosf", 0);
  b.relocate(text, 3, R_X86_64_PC32, table, -4);
  b.relocate(text, 10, R_X86_64_REX_GOTPCRELX, counter, -4);
  b.relocate(text, 15, R_X86_64_PLT32, cosine, -4);
  b.relocate(pointers, 8, R_X86_64_64, table, 4);
  return b;
}

/// The permissions of the page at address, such as "r-xp"; empty if unmapped.
[[maybe_unused]] std::string permissions_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    char permissions[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, permissions) != 3) continue;
    const auto at = reinterpret_cast<unsigned long>(address);
    if (at >= from && at < to) return permissions;
  }
  return "";
}

}  // namespace

TEST_CASE("the parser reads sections, symbols and relocations") {
  const ElfObject object(rich_object().build());
  CHECK(object.machine() == EM_X86_64);
  REQUIRE(object.find_section(".rodata"));
  CHECK(object.find_section(".rodata")->align_B == 32);
  CHECK(object.contents(*object.find_section(".rodata")).size() == 32);
  CHECK(object.contents(*object.find_section(".bss")).empty());
  CHECK(object.find_section(".bss")->size_B == 64);
  CHECK(object.find_section(".data") == nullptr);
  REQUIRE(object.find_symbol("counter"));
  CHECK(object.find_symbol("counter")->value == 8);
  CHECK(object.find_symbol("cosf") == nullptr);  // undefined ones are not found
  REQUIRE(object.relocations().size() == 4);
  CHECK(object.relocations()[0].type == R_X86_64_PC32);
  CHECK(object.relocations()[0].addend == -4);
  ElfObject copy(rich_object().build());
  const ElfObject moved = std::move(copy);
  CHECK(moved.find_symbol("entry") != nullptr);
}

TEST_CASE("layout separates code, constants and data into whole pages") {
  const Image image = link_at(rich_object(), 0x10000000, host_math_symbols());
  const ElfLayout& l = image.layout;
  CHECK(l.sections[1] < l.text_end_B);
  CHECK((l.sections[2] >= l.text_end_B && l.sections[2] + 32 <= l.constant_end_B));
  CHECK(l.sections[2] % 32 == 0);
  CHECK((l.sections[3] >= l.constant_end_B && l.sections[3] + 64 <= l.size_B));
  CHECK((l.sections[4] >= l.text_end_B && l.sections[4] + 16 <= l.constant_end_B));
  CHECK(l.sections[5] == ElfLayout::kNowhere);
  CHECK(l.text_end_B % 4096 == 0);
  CHECK(l.constant_end_B % 4096 == 0);
  CHECK(l.size_B % 4096 == 0);
}

TEST_CASE("x86-64 relocations compute what the ABI says") {
  const uint64_t base = 0x7f0000000000;
  const Image image = link_at(rich_object(), base, host_math_symbols());
  const ElfLayout& l = image.layout;
  const uint64_t text = l.sections[1];
  auto target_of = [&](uint64_t at) {
    return text + at + 4 + read<int32_t>(image.bytes, text + at);
  };
  CHECK(target_of(3) == l.sections[2]);
  REQUIRE(l.got.size() == 1);
  const uint64_t slot = l.got.begin()->second;
  CHECK(target_of(10) == slot);
  CHECK(read<uint64_t>(image.bytes, slot) == base + l.sections[3] + 8);
  REQUIRE(l.stubs.size() == 1);
  const uint64_t stub = l.stubs.begin()->second;
  CHECK(target_of(15) == stub);
  CHECK(stub < l.text_end_B);
  CHECK(read<uint16_t>(image.bytes, stub) == 0x25ff);
  CHECK(read<uint64_t>(image.bytes, stub + 6 + read<uint32_t>(image.bytes, stub + 2)) ==
        reinterpret_cast<uint64_t>(static_cast<float (*)(float)>(cosf)));
  CHECK(read<uint64_t>(image.bytes, l.sections[4] + 8) == base + l.sections[2] + 4);
}

TEST_CASE("32-bit absolute x86-64 relocations ask for a low base and are range-checked") {
  for (uint32_t type : {R_X86_64_32, R_X86_64_32S}) {
    ElfBuilder b(EM_X86_64);
    const uint16_t text = b.section(".text", kCode, std::vector<uint8_t>(16));
    b.relocate(text, 4, type, b.symbol("f", text), 2);
    const Image image = link_at(b, 0x10000);
    CHECK(image.layout.low);
    CHECK(read<uint32_t>(image.bytes, image.layout.sections[1] + 4) == 0x10002);
    CHECK_THROWS_WITH(link_at(b, 0x7f0000000000), Catch::Contains("R_X86_64_32"));
  }
  // 32 is zero-extended, 32S sign-extended: 0x80000000 fits only the first.
  ElfBuilder b(EM_X86_64);
  const uint16_t text = b.section(".text", kCode, std::vector<uint8_t>(16));
  b.relocate(text, 4, R_X86_64_32S, b.symbol("f", text), 0x7fff0000);
  CHECK_NOTHROW(link_at(b, 0xf000));
  CHECK_THROWS_AS(link_at(b, 0x10000), UsageError);
}

TEST_CASE("PC64 reaches anything") {
  ElfBuilder b(EM_X86_64);
  const uint16_t text = b.section(".text", kCode, std::vector<uint8_t>(16));
  b.relocate(text, 8, R_X86_64_PC64, b.symbol("sinf", 0), 3);
  const uint64_t base = 0x1000000;
  const Image image = link_at(b, base, host_math_symbols());
  const uint64_t target = reinterpret_cast<uint64_t>(static_cast<float (*)(float)>(sinf));
  CHECK(base + 8 + read<uint64_t>(image.bytes, 8) == target + 3);
}

TEST_CASE("AArch64 relocations patch the instruction fields they name") {
  ElfBuilder b(EM_AARCH64);
  const uint16_t text = b.section(".text", kCode,
                                  bytes_of_words({
                                      0x90000000,  // adrp x0, .
                                      0x91000000,  // add x0, x0, #0
                                      0x39400001,  // ldrb w1, [x0]
                                      0x79400001,  // ldrh w1, [x0]
                                      0xb9400001,  // ldr w1, [x0]
                                      0xf9400001,  // ldr x1, [x0]
                                      0x3dc00001,  // ldr q1, [x0]
                                      0x94000000,  // bl .
                                      0x14000000,  // b .
                                      0x94000000,  // bl .
                                      0x10000002,  // adr x2, .
                                      0x90000003,  // adrp x3, .
                                      0xf9400063,  // ldr x3, [x3]
                                      0x00000000,
                                  }));
  const uint16_t rodata = b.section(".rodata", kConstant, std::vector<uint8_t>(0x200), 16);
  const uint16_t data = b.section(".data", kData, std::vector<uint8_t>(8), 8);
  const uint32_t f = b.symbol("f", text), table = b.symbol("table", rodata, 0x130),
                 sine = b.symbol("sinf", 0);
  b.relocate(text, 0, R_AARCH64_ADR_PREL_PG_HI21, table, 0);
  b.relocate(text, 4, R_AARCH64_ADD_ABS_LO12_NC, table, 1);
  b.relocate(text, 8, R_AARCH64_LDST8_ABS_LO12_NC, table, 3);
  b.relocate(text, 12, R_AARCH64_LDST16_ABS_LO12_NC, table, 2);
  b.relocate(text, 16, R_AARCH64_LDST32_ABS_LO12_NC, table, 4);
  b.relocate(text, 20, R_AARCH64_LDST64_ABS_LO12_NC, table, 8);
  b.relocate(text, 24, R_AARCH64_LDST128_ABS_LO12_NC, table, 16);
  b.relocate(text, 28, R_AARCH64_CALL26, f, 0);
  b.relocate(text, 32, R_AARCH64_JUMP26, f, 8);
  b.relocate(text, 36, R_AARCH64_CALL26, sine, 0);
  b.relocate(text, 40, R_AARCH64_ADR_PREL_LO21, f, 4 + 1);
  b.relocate(text, 44, R_AARCH64_ADR_GOT_PAGE, table, 0);
  b.relocate(text, 48, R_AARCH64_LD64_GOT_LO12_NC, table, 0);
  b.relocate(text, 52, R_AARCH64_PREL32, table, 0);
  b.relocate(data, 0, R_AARCH64_ABS64, table, 0);
  const uint64_t base = 0x40000000;
  const Image image = link_at(b, base, host_math_symbols());
  const ElfLayout& l = image.layout;
  REQUIRE(l.sections[1] == 0);
  REQUIRE(l.sections[2] == 0x10000);  // the first page behind the code
  auto word = [&](uint64_t at) { return read<uint32_t>(image.bytes, at); };
  // Expected words assembled by hand from the Arm ARM encodings, table at 0x40010130.
  CHECK(word(0) == 0x90000080);   // adrp x0, +0x10 pages: immhi 4, immlo 0
  CHECK(word(4) == 0x9104c400);   // add x0, x0, #0x131
  CHECK(word(8) == 0x3944cc01);   // ldrb w1, [x0, #0x133]
  CHECK(word(12) == 0x79426401);  // ldrh w1, [x0, #0x132]
  CHECK(word(16) == 0xb9413401);  // ldr w1, [x0, #0x134]
  CHECK(word(20) == 0xf9409c01);  // ldr x1, [x0, #0x138]
  CHECK(word(24) == 0x3dc05001);  // ldr q1, [x0, #0x140]
  CHECK(word(28) == 0x97fffff9);  // bl .-28
  CHECK(word(32) == 0x17fffffa);  // b .-24
  const uint64_t stub = l.stubs.at(sine);
  CHECK(word(36) == (0x94000000 | static_cast<uint32_t>((stub - 36) / 4)));
  CHECK(word(stub) == 0x58000050);
  CHECK(word(stub + 4) == 0xd61f0200);
  CHECK(read<uint64_t>(image.bytes, stub + 8) ==
        reinterpret_cast<uint64_t>(static_cast<float (*)(float)>(sinf)));
  CHECK(word(40) == 0x30fffee2);  // adr x2, .-35: immlo 1, immhi -9
  const uint64_t slot = l.got.at(table);
  CHECK(word(48) == (0xf9400063 | static_cast<uint32_t>((slot & 0xfff) / 8) << 10));
  CHECK(read<uint64_t>(image.bytes, slot) == base + 0x10130);
  CHECK(word(52) == 0x10130 - 52);
  CHECK(read<uint64_t>(image.bytes, l.sections[3]) == base + 0x10130);
}

TEST_CASE("a misaligned AArch64 access is refused, not rounded") {
  ElfBuilder b(EM_AARCH64);
  const uint16_t text = b.section(".text", kCode, bytes_of_words({0xf9400001}));
  b.relocate(text, 0, R_AARCH64_LDST64_ABS_LO12_NC, b.symbol("f", text), 4);
  CHECK_THROWS_WITH(link_at(b, 0x10000), Catch::Contains("R_AARCH64_LDST64_ABS_LO12_NC"));
}

TEST_CASE("what cannot be loaded is refused by name") {
  auto with_relocation = [](uint32_t type) {
    ElfBuilder b(EM_X86_64);
    const uint16_t text = b.section(".text", kCode, std::vector<uint8_t>(16));
    b.relocate(text, 0, type, b.symbol("f", text), 0);
    return b;
  };
  CHECK_THROWS_WITH(link_at(with_relocation(R_X86_64_TPOFF32), 0),
                    Catch::Contains("R_X86_64_TPOFF32"));
  CHECK_THROWS_WITH(link_at(with_relocation(250), 0), Catch::Contains("250"));

  auto with_section = [](uint64_t flags, uint32_t type, uint64_t size_B = 8) {
    ElfBuilder b(EM_X86_64);
    b.section(".odd", flags, std::vector<uint8_t>(size_B), 8, type);
    return b;
  };
  CHECK_THROWS_WITH(link_at(with_section(kData | SHF_TLS, SHT_PROGBITS), 0),
                    Catch::Contains("thread-local") && Catch::Contains(".odd"));
  CHECK_THROWS_WITH(link_at(with_section(kData, SHT_INIT_ARRAY), 0),
                    Catch::Contains("constructors"));
  CHECK_THROWS_WITH(link_at(with_section(kData | kCode, SHT_PROGBITS), 0),
                    Catch::Contains("writable code"));
  CHECK_THROWS_WITH(link_at(with_section(kData, SHT_NOBITS, 300u << 20), 0),
                    Catch::Contains("256 MiB"));

  ElfBuilder unresolved(EM_X86_64);
  const uint16_t text = unresolved.section(".text", kCode, std::vector<uint8_t>(16));
  unresolved.relocate(text, 0, R_X86_64_PLT32, unresolved.symbol("system", 0), -4);
  CHECK_THROWS_WITH(link_at(unresolved, 0, host_math_symbols()), Catch::Contains("\"system\""));

  ElfBuilder amd(224);
  amd.section(".text", kCode, {1, 2, 3, 4});
  const ElfObject object(amd.build());                                // parses …
  CHECK_THROWS_WITH(load_host_code(object), Catch::Contains("224"));  // … but is not host code
}

TEST_CASE("a relocation may not write past its section") {
  ElfBuilder b(EM_X86_64);
  const uint16_t text = b.section(".text", kCode, std::vector<uint8_t>(16));
  const uint32_t f = b.symbol("f", text);
  b.relocate(text, 12, R_X86_64_PC32, f, 0);
  CHECK_NOTHROW(link_at(b, 0x1000));
  b.relocate(text, 9, R_X86_64_64, f, 0);
  CHECK_THROWS_WITH(link_at(b, 0x1000), Catch::Contains("9+8 of 16"));
}

TEST_CASE("truncation at any byte is an error, never a crash") {
  const std::vector<uint8_t> whole = rich_object().build();
  for (size_t n = 0; n < whole.size(); ++n) {
    std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_THROWS_AS(ElfObject(cut), UsageError);
  }
}

TEST_CASE("mutated objects are parsed and linked or refused, never more") {
  const std::vector<uint8_t> seed = rich_object().build();
  const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0xff};
  std::mt19937_64 random(7);
  int linked = 0;
  std::vector<uint8_t> image;
  for (int round = 0; round < 100000; ++round) {
    std::vector<uint8_t> bytes = seed;
    for (uint64_t n = 1 + random() % 4; n > 0; --n) {
      const size_t at = random() % bytes.size();
      if (random() % 3 == 0)
        bytes[at] = interesting[random() % std::size(interesting)];
      else
        bytes[at] = static_cast<uint8_t>(random());
      if (random() % 16 == 0)  // a whole 64-bit field goes wild
        for (size_t i = at & ~size_t{7}; i < std::min(bytes.size(), (at & ~size_t{7}) + 8); ++i)
          bytes[i] = static_cast<uint8_t>(random() % 2 ? 0xff : random());
    }
    if (random() % 64 == 0) bytes.resize(random() % bytes.size());
    try {
      const ElfObject object(bytes);
      const ElfLayout layout = lay_out(object);
      if (layout.size_B > (1 << 20)) continue;
      image.assign(layout.size_B, 0);
      link(object, layout, host_math_symbols(), 0x10000, image);
      ++linked;
    } catch (const UsageError&) {
    }
  }
  CHECK(linked > 1000);  // the mutations also reach the linker
}

TEST_CASE("the table of host functions is sorted, unique and works") {
  const auto table = host_math_symbols();
  for (size_t i = 1; i < table.size(); ++i) CHECK(table[i - 1].name < table[i].name);
  auto find = [&](std::string_view name) -> const void* {
    for (const HostSymbol& s : table)
      if (s.name == name) return s.address;
    return nullptr;
  };
  for (const char* name : {"exp", "expf", "log2f", "sinf", "cos", "powf", "fmod", "fmaf", "sincosf",
                           "memcpy", "memset", "memmove", "__truncsfhf2", "__truncsfbf2"})
    CHECK(find(name) != nullptr);
  CHECK(find("system") == nullptr);
  using Binary = double (*)(double, double);
  CHECK(reinterpret_cast<Binary>(const_cast<void*>(find("fmod")))(7, 4) == 3);
  // double → f16 must round once: 1 + 2^-11 + 2^-40 is above the tie, its float is on it.
  using Narrow = float (*)(double);
  const float carried = reinterpret_cast<Narrow>(const_cast<void*>(find("__truncdfhf2")))(
      1 + std::ldexp(1, -11) + std::ldexp(1, -40));
  uint32_t bits;
  std::memcpy(&bits, &carried, sizeof bits);
  CHECK((bits & 0xffff) == 0x3c01);
}

#if defined(__x86_64__)
TEST_CASE("loaded code runs, and no page of it is writable and executable") {
  ElfBuilder b(EM_X86_64);
  // count: incl counter(%rip); mov counter(%rip),%eax; add constant(%rip),%eax; ret
  // round: sub $8,%rsp; call floorf@PLT; add $8,%rsp; ret
  // where: mov counter@GOTPCREL(%rip),%rax; ret
  const uint16_t text = b.section(
      ".text", kCode, {0xff, 0x05, 0,    0,    0,    0,    0x8b, 0x05, 0,    0,    0, 0, 0x03, 0x05,
                       0,    0,    0,    0,    0xc3, 0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0,    0,
                       0x48, 0x83, 0xc4, 0x08, 0xc3, 0x48, 0x8b, 0x05, 0,    0,    0, 0, 0xc3});
  const uint16_t rodata = b.section(".rodata", kConstant, {40, 0, 0, 0}, 4);
  const uint16_t bss = b.section(".bss", kData, std::vector<uint8_t>(4), 4, SHT_NOBITS);
  b.symbol("count", text);
  b.symbol("round", text, 19);
  b.symbol("where", text, 33);
  const uint32_t constant = b.symbol("constant", rodata), counter = b.symbol("counter", bss),
                 external = b.symbol("floorf", 0);
  b.relocate(text, 2, R_X86_64_PC32, counter, -4);
  b.relocate(text, 8, R_X86_64_PC32, counter, -4);
  b.relocate(text, 14, R_X86_64_PC32, constant, -4);
  b.relocate(text, 24, R_X86_64_PLT32, external, -4);
  b.relocate(text, 36, R_X86_64_REX_GOTPCRELX, counter, -4);

  HostCode first = load_host_code(ElfObject(b.build()));
  const HostCode code = std::move(first);
  auto function = [&](const char* name) { return const_cast<void*>(code.symbol(name)); };
  const auto count = reinterpret_cast<int (*)()>(function("count"));
  CHECK(count() == 41);
  CHECK(count() == 42);
  CHECK(reinterpret_cast<float (*)(float)>(function("round"))(-1.5f) == -2.0f);
  CHECK(reinterpret_cast<void* (*)()>(function("where"))() == code.symbol("counter"));
  CHECK(permissions_at(code.symbol("count")) == "r-xp");
  CHECK(permissions_at(code.symbol("constant")) == "r--p");
  CHECK(permissions_at(code.symbol("counter")) == "rw-p");
  CHECK_THROWS_WITH(code.symbol("absent"), Catch::Contains("\"absent\""));
}

TEST_CASE("code with 32-bit absolute addresses is loaded low and runs") {
  ElfBuilder b(EM_X86_64);
  // mov $constant,%eax; mov (%rax),%eax; ret
  const uint16_t text = b.section(".text", kCode, {0xb8, 0, 0, 0, 0, 0x8b, 0x00, 0xc3});
  const uint16_t rodata = b.section(".rodata", kConstant, {77, 0, 0, 0}, 4);
  b.symbol("f", text);
  b.relocate(text, 1, R_X86_64_32, b.symbol("constant", rodata), 0);
  const HostCode code = load_host_code(ElfObject(b.build()));
  CHECK(reinterpret_cast<int (*)()>(const_cast<void*>(code.symbol("f")))() == 77);
}
#endif
