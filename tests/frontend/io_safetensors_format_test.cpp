// SPDX-License-Identifier: MIT
// The safetensors container: round trips, one claim for each rule of the format, atomic writing.
#include "frontend/io/safetensors_format.h"
#include "tests/frontend/io_mutate.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <filesystem>

using namespace tiny;
using namespace tiny::io;
using tiny::testing::Bytes;

namespace {

/// A file of a hand-written header and `data_size_B` bytes 0, 1, 2, ….
Bytes file_of(const std::string& json, size_t data_size_B) {
  Bytes file;
  for (size_t i = 0; i < 8; ++i) file.push_back(static_cast<uint8_t>(json.size() >> (8 * i)));
  file.insert(file.end(), json.begin(), json.end());
  for (size_t i = 0; i < data_size_B; ++i) file.push_back(static_cast<uint8_t>(i));
  return file;
}

std::string error_of(const Bytes& file) {
  try {
    parse_safetensors(file, "f");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

std::string error_of(const std::string& json, size_t data_size_B) {
  return error_of(file_of(json, data_size_B));
}

std::vector<SafetensorsEntry> sample_entries() {
  return {{.name = "weight", .dtype = DType::f32, .shape = {2, 3}},
          {.name = "mask", .dtype = DType::boolean, .shape = {5}},
          {.name = "scalar \"π\"", .dtype = DType::i64, .shape = {}},
          {.name = "empty", .dtype = DType::bf16, .shape = {0, 4}},
          {.name = "", .dtype = DType::f16, .shape = {1}}};
}

/// A folder that goes away with the test.
struct TempDir {
  TempDir() {
    char name[] = "/tmp/rt_tiny_io_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  size_t file_count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
  std::string path;
};

}  // namespace

TEST_CASE("safetensors lays out, writes and reads back every element type") {
  std::vector<SafetensorsEntry> entries = sample_entries();
  for (int i = 0; i < kDTypeCount; ++i)
    entries.push_back({.name = std::string(name(static_cast<DType>(i))),
                       .dtype = static_cast<DType>(i),
                       .shape = {3}});
  const auto header = layout_safetensors(entries, {{"format", "pt"}, {"note", "ü\n"}}, "f");
  CHECK(header.data_B % 8 == 0);
  const std::string head = serialise_safetensors(header);
  REQUIRE(head.size() == header.data_B);
  Bytes file(head.begin(), head.end());
  file.resize(file_size_B(header));
  const auto back = parse_safetensors(file, "f");
  CHECK(back.data_B == header.data_B);
  CHECK(back.metadata == header.metadata);
  REQUIRE(back.entries.size() == header.entries.size());
  for (const SafetensorsEntry& want : header.entries) {
    const auto got = std::find_if(back.entries.begin(), back.entries.end(),
                                  [&](const auto& e) { return e.name == want.name; });
    REQUIRE(got != back.entries.end());
    CHECK(got->dtype == want.dtype);
    CHECK(got->shape == want.shape);
    CHECK(got->begin_B == want.begin_B);
    CHECK(got->begin_B % size_B(got->dtype) == 0);
    CHECK(got->end_B == want.end_B);
  }
}

TEST_CASE("safetensors reads a header as other programs print it") {
  const auto header = parse_safetensors(
      file_of(R"({"__metadata__":{"format":"pt"}, "b":{"dtype":"F16","shape":[2],)"
              R"("data_offsets":[4,8]},"a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}}   )",
              8),
      "f");
  REQUIRE(header.entries.size() == 2);
  CHECK(header.entries[0].name == "a");
  CHECK(header.entries[0].shape.empty());
  CHECK(header.entries[1].dtype == DType::f16);
  CHECK(header.entries[1].begin_B == 4);
  CHECK(header.metadata.at("format") == "pt");
}

TEST_CASE("safetensors reads a file without tensors") {
  CHECK(parse_safetensors(file_of("{}", 0), "f").entries.empty());
}

TEST_CASE("safetensors refuses a header size beyond the file or beyond 100 MB") {
  CHECK(error_of(Bytes{1, 2, 3}) == "[safetensors] f: truncated: 3 bytes are no header");
  CHECK_THAT(error_of({3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}),
             Catch::Contains("truncated: the header"));
  CHECK_THAT(error_of({1, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{', '}'}),
             Catch::Contains("header of 100000001 bytes is above the limit"));
  CHECK_THAT(error_of(Bytes(64, 0xff)), Catch::Contains("above the limit"));
}

TEST_CASE("safetensors refuses headers that are not the expected JSON") {
  for (const char* json : {"",
                           " {}",
                           "[]",
                           "{",
                           "{}x",
                           "{}{}",
                           R"({"a":1})",
                           R"({"a":null})",
                           R"({"a":[]})",
                           R"({"a":"b"})",
                           R"({"a":{"dtype":7}})",
                           R"({"a":{"shape":{}}})",
                           R"({"a":{"dtype":{}}})",
                           R"({"a":{"shape":[[]]}})",
                           R"({"a":{"shape":["1"]}})",
                           R"({"a":{"shape":[-1]}})",
                           R"({"a":{"shape":[1.0]}})",
                           R"({"a":{"shape":[1e3]}})",
                           R"({"a":{"shape":[true]}})",
                           R"({"a":{"dtype":"F32",}})",
                           R"({"__metadata__":{"a":1}})",
                           R"({"__metadata__":{"a":{}}})",
                           R"({"__metadata__":"a"})",
                           R"({"__metadata__":["a"]})"}) {
    INFO(json);
    CHECK_THAT(error_of(json, 0), Catch::StartsWith("[safetensors] f: the header "));
  }
}

TEST_CASE("safetensors refuses a header nested a million deep") {
  CHECK_THAT(error_of("{\"a\":" + std::string(1'000'000, '['), 0), Catch::Contains("an array"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"shape\":";
  CHECK_THAT(error_of(objects, 0), Catch::Contains("an object"));
}

TEST_CASE("safetensors refuses text that is not UTF-8") {
  CHECK_THAT(error_of("{\"\xff\":{}}", 0), Catch::Contains("not valid JSON in UTF-8"));
  CHECK_THAT(error_of("{\"\xc0\x80\":{}}", 0), Catch::Contains("not valid JSON in UTF-8"));
  CHECK_THAT(error_of(R"({"\ud800":{}})", 0), Catch::Contains("not valid JSON in UTF-8"));
}

TEST_CASE("safetensors refuses names and fields that appear twice") {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  CHECK(error_of("{" + a + "," + a + "}", 1) == "[safetensors] f: tensor 'a' appears twice");
  CHECK_THAT(error_of(R"({"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)" + a + "}", 1),
             Catch::Contains("tensor 'a' appears twice"));
  CHECK_THAT(error_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
             Catch::Contains("metadata 'k' appears twice"));
  CHECK_THAT(error_of(R"({"__metadata__":{},"__metadata__":{}})", 0), Catch::Contains("twice"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", 0),
             Catch::Contains("'dtype' appears twice"));
}

TEST_CASE("safetensors refuses missing and unknown fields and unknown element types") {
  CHECK_THAT(error_of(R"({"a":{"shape":[0],"data_offsets":[0,0]}})", 0),
             Catch::Contains("no 'dtype'"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0),
             Catch::Contains("no 'shape'"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","shape":[0]}})", 0),
             Catch::Contains("no 'data_offsets'"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", 0),
             Catch::Contains("unknown field 'x'"));
  CHECK(error_of(R"({"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})", 0) ==
        "[safetensors] f: tensor 'a': dtype 'F8_E4M3' is not supported");
  CHECK_THAT(error_of(R"({"a":{"dtype":"f32","shape":[0],"data_offsets":[0,0]}})", 0),
             Catch::Contains("not supported"));
  for (const char* offsets : {"[]", "[0]", "[0,0,0]"})
    CHECK_THAT(
        error_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":)" + std::string(offsets) + "}}",
                 0),
        Catch::Contains("data_offsets needs 2 numbers"));
}

TEST_CASE("safetensors refuses byte ranges that do not match type and shape") {
  CHECK(
      error_of(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20) ==
      "[safetensors] f: tensor 'a': f32 of shape [2, 3] needs 24 bytes, data_offsets are [0, 20]");
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1),
             Catch::Contains("needs 1 bytes"));
  CHECK_THAT(
      error_of(R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      Catch::Contains("overflows"));
  CHECK_THAT(
      error_of(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0),
      Catch::Contains("overflows"));
  CHECK_THAT(
      error_of(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}})", 0),
      Catch::Contains("too large"));
  CHECK_THAT(
      error_of(R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}})", 0),
      Catch::Contains("fraction"));
}

TEST_CASE("safetensors refuses overlaps, holes, bytes left over and data that is cut off") {
  const auto two = [](int begin) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                       R"("b":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}}}})",
                       begin, begin + 4);
  };
  CHECK(error_of(two(4), 8).empty());
  CHECK(error_of(two(3), 8) ==
        "[safetensors] f: tensor 'b': overlap at byte 3 of the data, expected to begin at 4");
  CHECK_THAT(error_of(two(5), 9), Catch::Contains("'b': hole at byte 5"));
  CHECK_THAT(error_of(two(0), 8), Catch::Contains("overlap"));
  CHECK_THAT(error_of(two(4), 9), Catch::Contains("trailing bytes: the tensors need 8 bytes"));
  CHECK_THAT(error_of(two(4), 7), Catch::Contains("truncated: the tensors need 8 bytes"));
  CHECK_THAT(error_of("{}", 1), Catch::Contains("trailing bytes"));
}

TEST_CASE("safetensors refuses to write what it would refuse to read") {
  const auto layout = [](std::vector<SafetensorsEntry> entries,
                         std::map<std::string, std::string> metadata = {}) -> std::string {
    try {
      layout_safetensors(std::move(entries), std::move(metadata), "f");
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(layout(sample_entries()).empty());
  CHECK_THAT(layout({{.name = "a", .shape = {}}, {.name = "a", .shape = {}}}),
             Catch::Contains("appears twice"));
  CHECK_THAT(layout({{.name = "__metadata__", .shape = {}}}), Catch::Contains("reserved"));
  CHECK_THAT(layout({{.name = "\xff", .shape = {}}}), Catch::Contains("not valid UTF-8"));
  CHECK_THAT(layout({}, {{"a", "\xff"}}), Catch::Contains("not valid UTF-8"));
  CHECK_THAT(layout({{.name = "a", .shape = {int64_t{1} << 62, 4}}}), Catch::Contains("overflows"));
  CHECK_THAT(layout({{.name = std::string(100'000'001, 'a'), .shape = {}}}),
             Catch::Contains("above the limit"));
}

TEST_CASE("safetensors writes the tensors one at a time, in the order of the header") {
  TempDir dir;
  const auto header = layout_safetensors(sample_entries(), {}, "f");
  std::vector<std::string> asked;
  Bytes one;
  write_safetensors(dir.path + "/w", header, [&](const SafetensorsEntry& e) {
    asked.push_back(e.name);
    one.assign(e.end_B - e.begin_B, static_cast<uint8_t>(asked.size()));
    return std::span<const uint8_t>(one);
  });
  const Bytes file = read_file(dir.path + "/w");
  const auto back = parse_safetensors(file, "w");
  REQUIRE(asked.size() == back.entries.size());
  for (size_t i = 0; i < asked.size(); ++i)
    for (uint64_t at = header.entries[i].begin_B; at < header.entries[i].end_B; ++at)
      CHECK(file[header.data_B + at] == i + 1);
  CHECK(dir.file_count() == 1);
}

TEST_CASE("safetensors leaves the old file and nothing else when writing fails midway") {
  TempDir dir;
  const std::string path = dir.path + "/w";
  write_file_atomic(path, std::string_view("old"));
  const auto header =
      layout_safetensors({{.name = "a", .dtype = DType::u8, .shape = {100'000}}}, {}, "f");
  const Bytes data(100'000, 1);
  SECTION("the source of the bytes throws") {
    CHECK_THROWS_WITH(write_safetensors(path, header,
                                        [](const auto&) -> std::span<const uint8_t> {
                                          throw std::runtime_error("device lost");
                                        }),
                      "device lost");
  }
  SECTION("the disk is full") {
    rlimit old{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit small{.rlim_cur = 50'000, .rlim_max = old.rlim_max};
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string error;
    try {
      write_safetensors(path, header, [&](const auto&) { return std::span<const uint8_t>(data); });
    } catch (const SystemError& e) {
      error = e.what();
    }
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, old_handler);
    CHECK_THAT(error, Catch::Contains("write(" + path));
  }
  CHECK(read_file(path) == Bytes{'o', 'l', 'd'});
  CHECK(dir.file_count() == 1);
}

TEST_CASE("safetensors refuses to write to a device or a missing folder") {
  const auto header = layout_safetensors({}, {}, "f");
  const auto no_bytes = [](const auto&) { return std::span<const uint8_t>(); };
  CHECK_THROWS_AS(write_safetensors("/dev/full", header, no_bytes), SystemError);
  CHECK_THROWS_AS(write_safetensors("/nonexistent/w", header, no_bytes), SystemError);
}

TEST_CASE("safetensors survives 100000 mutated files") {
  const auto header = layout_safetensors(sample_entries(), {{"k", "v"}}, "f");
  const std::string head = serialise_safetensors(header);
  Bytes seed(head.begin(), head.end());
  seed.resize(file_size_B(header));
  tiny::testing::Mutator mutator(
      {seed, file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2)}, 3);
  size_t refused = 0, accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Bytes file = mutator.next();
    try {
      const auto parsed = parse_safetensors(file, "f");
      if (file_size_B(parsed) != file.size()) FAIL("the tensors do not cover the file");
      ++accepted;
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(refused > 50'000);
  CHECK(accepted > 1'000);
}
