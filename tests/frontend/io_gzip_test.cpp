// SPDX-License-Identifier: MIT
// gunzip: round trips, the cap, and every way a file can be broken.
#include "frontend/io/gzip.h"
#include "tests/frontend/io_mutate.h"

#include <rt_tiny/runtime/base/error.h>

#include <catch2/catch.hpp>

using tiny::UsageError;
using tiny::io::gunzip;
using tiny::testing::Bytes;
using tiny::testing::gzip;

namespace {

constexpr size_t kCap_B = 1 << 20;

Bytes pattern(size_t size_B) {
  Bytes bytes(size_B);
  for (size_t i = 0; i < size_B; ++i) bytes[i] = static_cast<uint8_t>(i * i >> 3);
  return bytes;
}

std::string error_of(const Bytes& bytes, size_t cap_B = kCap_B) {
  try {
    gunzip(bytes, "f.gz", cap_B);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("gunzip returns what was compressed") {
  for (const size_t size_B : {0, 1, 100, 65535, 65536, 65537, 1000000}) {
    const Bytes plain = pattern(size_B);
    CHECK(gunzip(gzip(plain), "f.gz", kCap_B) == plain);
  }
}

TEST_CASE("gunzip joins the members of a file") {
  Bytes two = gzip(pattern(1000));
  const Bytes second = gzip(pattern(10));
  two.insert(two.end(), second.begin(), second.end());
  Bytes want = pattern(1000);
  const Bytes tail = pattern(10);
  want.insert(want.end(), tail.begin(), tail.end());
  CHECK(gunzip(two, "f.gz", kCap_B) == want);
}

TEST_CASE("gunzip allows output of exactly the cap and not one byte more") {
  const Bytes packed = gzip(pattern(70000));
  CHECK(gunzip(packed, "f.gz", 70000).size() == 70000);
  CHECK(error_of(packed, 69999) == "[gzip] f.gz: holds more than the 69999 bytes expected here");
  CHECK(gunzip(gzip({}), "f.gz", 0).empty());
}

TEST_CASE("gunzip stops a decompression bomb at the cap") {
  const Bytes bomb = gzip(Bytes(50'000'000, 0));
  REQUIRE(bomb.size() < 100'000);
  CHECK_THAT(error_of(bomb), Catch::Contains("holds more than the 1048576 bytes"));
}

TEST_CASE("gunzip names the file that ends too early, at whatever byte") {
  const Bytes packed = gzip(pattern(300));
  for (size_t size_B = 0; size_B < packed.size(); ++size_B) {
    const std::string error = error_of({packed.begin(), packed.begin() + size_B});
    CHECK_THAT(error, Catch::StartsWith("[gzip] f.gz: "));
    if (size_B >= 2) CHECK_THAT(error, Catch::Contains("truncated"));
  }
}

TEST_CASE("gunzip refuses a wrong checksum, a wrong length and bytes after the end") {
  Bytes packed = gzip(pattern(300));
  Bytes bad_crc = packed, bad_length = packed, trailing = packed;
  bad_crc[packed.size() - 8] ^= 1;
  bad_length[packed.size() - 1] ^= 1;
  trailing.push_back(0);
  CHECK_THAT(error_of(bad_crc), Catch::Contains("corrupt data (incorrect data check)"));
  CHECK_THAT(error_of(bad_length), Catch::Contains("corrupt data (incorrect length check)"));
  CHECK_THAT(error_of(trailing), Catch::Contains("truncated"));
  CHECK_THAT(error_of({'n', 'o', 'p', 'e'}), Catch::Contains("not a gzip file"));
}

TEST_CASE("gunzip survives 100000 mutated files") {
  tiny::testing::Mutator mutator({gzip(pattern(300)), gzip(pattern(3)), gzip({})}, 1);
  size_t refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    try {
      if (gunzip(mutator.next(), "f", 4096).size() > 4096) FAIL("the cap was ignored");
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(refused > 50'000);
}
