// SPDX-License-Identifier: MIT
// idx parsing: what a good file means, and one claim for each way a header can lie.
#include "frontend/io/idx.h"
#include "tests/frontend/io_mutate.h"

#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>

using tiny::DType;
using tiny::UsageError;
using tiny::io::parse_idx;
using tiny::testing::Bytes;

namespace {

std::string error_of(const Bytes& bytes) {
  try {
    parse_idx(bytes, "f");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("idx gives type, shape and the data after the header") {
  const Bytes file{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 15};
  const auto array = parse_idx(file, "f");
  CHECK(array.dtype == DType::u8);
  CHECK(array.shape == std::vector<int64_t>{2, 3});
  CHECK(Bytes(array.data.begin(), array.data.end()) == Bytes{10, 11, 12, 13, 14, 15});
}

TEST_CASE("idx knows its six element types and no others") {
  const std::vector<std::pair<int, DType>> known{{0x08, DType::u8},  {0x09, DType::i8},
                                                 {0x0b, DType::i16}, {0x0c, DType::i32},
                                                 {0x0d, DType::f32}, {0x0e, DType::f64}};
  size_t accepted = 0;
  for (int code = 0; code < 256; ++code) {
    Bytes file{0, 0, static_cast<uint8_t>(code), 1, 0, 0, 0, 0};
    accepted += error_of(file).empty();
  }
  CHECK(accepted == known.size());
  for (const auto& [code, dtype] : known)
    CHECK(parse_idx(Bytes{0, 0, static_cast<uint8_t>(code), 1, 0, 0, 0, 0}, "f").dtype == dtype);
  CHECK(error_of({0, 0, 7, 1, 0, 0, 0, 0}) == "[idx] f: unknown element type 0x07");
}

TEST_CASE("idx counts the size of wide elements") {
  CHECK(parse_idx(Bytes{0, 0, 0x0c, 1, 0, 0, 0, 1, 1, 2, 3, 4}, "f").data.size() == 4);
  CHECK_THAT(error_of({0, 0, 0x0e, 1, 0, 0, 0, 1, 1, 2, 3, 4}), Catch::Contains("needs 8 bytes"));
}

TEST_CASE("idx allows an empty array") {
  CHECK(parse_idx(Bytes{0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3}, "f").data.empty());
}

TEST_CASE("idx refuses a file that ends early, at whatever byte") {
  const Bytes file{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 15};
  for (size_t size_B = 0; size_B < file.size(); ++size_B)
    CHECK_THAT(error_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size_B)}),
               Catch::StartsWith("[idx] f: truncated: "));
}

TEST_CASE("idx refuses bytes after the data") {
  CHECK(error_of({0, 0, 8, 1, 0, 0, 0, 1, 7, 7}) ==
        "[idx] f: trailing bytes: u8 of shape [1] needs 1 bytes of data, the file has 2");
}

TEST_CASE("idx refuses dimensions whose product overflows") {
  Bytes file{0, 0, 8, 3};
  file.insert(file.end(), 12, 0xff);
  CHECK(error_of(file) == "[idx] f: shape [4294967295, 4294967295, 4294967295] overflows");
}

TEST_CASE("idx refuses a wrong magic number and a scalar") {
  CHECK_THAT(error_of({1, 0, 8, 1, 0, 0, 0, 0}), Catch::Contains("bad magic number"));
  CHECK_THAT(error_of({0, 0, 8, 0, 1}), Catch::Contains("at least one dimension"));
}

TEST_CASE("idx survives 100000 mutated files") {
  tiny::testing::Mutator mutator({{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6},
                                  {0, 0, 0x0d, 1, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8},
                                  {0, 0, 8, 1, 0, 0, 0, 0}},
                                 2);
  size_t refused = 0, accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Bytes file = mutator.next();
    try {
      const auto array = parse_idx(file, "f");
      size_t size_B = tiny::size_B(array.dtype);
      for (const int64_t dim : array.shape) size_B *= static_cast<size_t>(dim);
      if (array.data.size() != size_B || array.data.size() > file.size()) FAIL("span out of range");
      ++accepted;
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(refused > 50'000);
  CHECK(accepted > 1'000);
}
