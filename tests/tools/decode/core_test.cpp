// SPDX-License-Identifier: MIT
// The decoders' common core: text of lines, tables, structure layouts, bit ranges.
#include "tools/decode/decode.h"
#include "tools/decode/table.h"

#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

using namespace tiny::decode;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

constexpr char kStructs[] =
    "# a comment\n"
    "thing\t16\t1.2,1.10\n"
    "\tid\t0\t4\n"
    "\tflags\t4\t2\n"
    "\tpair\t8\t8\t2\n"
    "thing\t8\t1.1\n"
    "\tid\t0\t4\n"
    "label\t8\t*\n"
    "\ttext\t0\t8\t8\n";

std::string members(std::string_view version, Bytes before, Bytes after = {},
                    MemberText text = nullptr) {
  const StructTable table(kStructs);
  Line line;
  add_members(line, *table.find("thing", version), before, after, no_symbols(), text);
  return to_text(line);
}

}  // namespace

TEST_CASE("a line is its name and fields") {
  Line line{"CALL", {}};
  line.add("a", "x");
  line.add_hex("b", 0x1f);
  CHECK(to_text(line) == "CALL a=x b=0x1f");
  CHECK(to_text(Line{}).empty());
}

TEST_CASE("bytes are shown in groups of four up to a limit") {
  CHECK(hex_bytes(bytes_of({0xde, 0xad, 0xbe, 0xef, 1})) == "deadbeef 01");
  CHECK(hex_bytes({}).empty());
  CHECK(hex_bytes(bytes_of({1, 2, 3, 4, 5, 6}), 4) == "01020304 …+2 bytes");
  CHECK(hex_bytes(bytes_of({1, 2}), 0) == "…+2 bytes");
}

TEST_CASE("values, flags, results and requests have names") {
  constexpr NamedValue kNames[] = {{"ZERO", 0}, {"A", 1}, {"BC", 6}, {"D", 8}};
  CHECK(enum_text(8, kNames) == "D");
  CHECK(enum_text(0, kNames) == "ZERO");
  CHECK(enum_text(0x20, kNames) == "0x20");
  CHECK(flags_text(0, kNames) == "0");
  CHECK(flags_text(7, kNames) == "A|BC");
  CHECK(flags_text(0x4a, kNames) == "D|0x42");
  CHECK(flags_text(0x40, kNames) == "0x40");
  CHECK(result_text(0) == "0");
  CHECK(result_text(17) == "17");
  CHECK(result_text(-22) == "-EINVAL");
  CHECK(result_text(-3000) == "-3000");
  CHECK(ioc_text(0xc0184b0c) == "_IOC(RW,'K',0xc,24)");
  CHECK(ioc_text(0x00000981) == "_IOC(NONE,0x9,0x81,0)");
}

TEST_CASE("an attachment is found by its address only") {
  const auto data = bytes_of({1});
  const Attachment attachments[] = {{0x10, data, {}}, {0x20, {}, data}};
  IoctlCall call;
  CHECK(call.at(0x10) == nullptr);
  call.attachments = attachments;
  CHECK(call.at(0x20) == &attachments[1]);
  CHECK(call.at(0x11) == nullptr);
}

TEST_CASE("rows have cells, absent ones are empty") {
  const auto found = rows("# c\n\na\t0x1F\t7\n\tb\nlast");
  REQUIRE(found.size() == 3);
  CHECK(found[0][0] == "a");
  CHECK(found[0].number(1) == 0x1f);
  CHECK(found[0].number(2) == 7);
  CHECK(found[0][9].empty());
  CHECK(found[0].number(9) == 0);
  CHECK(found[1][0].empty());
  CHECK(found[1][1] == "b");
  CHECK(found[2][0] == "last");
}

TEST_CASE("tables are found by name, an unknown name is an error") {
  CHECK(embedded_table("kfd_structs").starts_with("# Generated"));
  CHECK_THROWS_AS(embedded_table("nothing"), tiny::UsageError);
}

TEST_CASE("layouts are found by version, the newest where the version is unknown") {
  const StructTable table(kStructs);
  CHECK(table.find("thing", "1.1")->size_B == 8);
  CHECK(table.find("thing", "1.2")->size_B == 16);
  CHECK(table.find("thing", "9")->size_B == 16);
  CHECK(table.find("thing")->size_B == 16);
  CHECK(table.find("label", "anything")->members.size() == 1);
  CHECK(table.find("other") == nullptr);
}

TEST_CASE("layouts are found by the size of what was passed") {
  const StructTable table(kStructs);
  CHECK(table.find_size("thing", 8)->size_B == 8);
  CHECK(table.find_size("thing", 15)->size_B == 8);
  CHECK(table.find_size("thing", 16)->size_B == 16);
  CHECK(table.find_size("thing", 99)->size_B == 16);
  CHECK(table.find_size("thing", 3)->size_B == 8);
  CHECK(table.find_size("other", 3) == nullptr);
}

TEST_CASE("members print with what changed, what is missing and what is unknown") {
  const auto full = bytes_of({5, 0, 0, 0, 0x10, 1, 0, 0, 1, 0, 0, 0, 0xff, 0, 0, 0});
  CHECK(members("1.2", full) == "id=5 flags=0x110 pair=[1,0xff]");
  auto after = full;
  after[0] = std::byte{0x2a};
  CHECK(members("1.2", full, after) == "id=5->0x2a flags=0x110 pair=[1,0xff]");
  CHECK(members("1.2", {}, after) == "id=0x2a flags=0x110 pair=[1,0xff]");
  CHECK(members("1.2", Bytes(full).first(9)) == "id=5 flags=0x110 pair[:1]=01 truncated=7");
  CHECK(members("1.2", {}) == "truncated=16");
  CHECK(members("1.1", full) == "id=5 unk_04=10010000 extra=01000000 ff000000");
  auto hole = full;
  hole[7] = std::byte{9};
  CHECK(members("1.2", hole) == "id=5 flags=0x110 unk_06=0009 pair=[1,0xff]");
}

TEST_CASE("a member's own text wins and may leave it out") {
  const auto full = bytes_of({5, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0});
  const auto own = +[](const StructLayout&, const Member& member, std::uint64_t value,
                       const Symbols&) -> std::string {
    if (member.name == "id") return std::string(kOmit);
    return member.name == "flags" && value == 2 ? "TWO" : "";
  };
  CHECK(members("1.2", full, {}, own) == "flags=TWO pair=[1,2]");
}

TEST_CASE("byte arrays that hold text print as text") {
  const StructTable table(kStructs);
  const auto text = [&](Bytes bytes) {
    Line line;
    add_members(line, *table.find("label"), bytes, {}, no_symbols());
    return to_text(line);
  };
  CHECK(text(bytes_of({'a', 'b', 'c', 0, 0, 0, 0, 0})) == "text=\"abc\"");
  CHECK(text(bytes_of({'a', 'b', 'c', 0, 0, 0, 0, 1})) == "text=61626300 00000001");
  CHECK(text(bytes_of({0, 0, 0, 0, 0, 0, 0, 0})) == "text=[0 x8]");
}

TEST_CASE("bit ranges cross words and read zero beyond them") {
  const std::uint32_t words[] = {0x80000001, 0x7, 0xabcdef01};
  CHECK(extract_bits(words, 0, 0) == 1);
  CHECK(extract_bits(words, 34, 31) == 0xf);
  CHECK(extract_bits(words, 63, 0) == 0x780000001);
  CHECK(extract_bits(words, 95, 32) == 0xabcdef0100000007);
  CHECK(extract_bits(words, 67, 4) == 0x1000000078000000);
  CHECK(extract_bits(words, 127, 80) == 0xabcd);
  CHECK(extract_bits({}, 5, 0) == 0);
}
