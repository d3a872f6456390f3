// SPDX-License-Identifier: MIT
// Reading memory that may not be there.
#include <catch2/catch.hpp>

#include "tools/trace/process_memory.h"

#include <sys/mman.h>

#include <cstring>

using tiny::trace::own_memory;

namespace {

std::uint64_t number(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

}  // namespace

TEST_CASE("memory is read up to the first page that is not there") {
  auto* at = static_cast<std::uint8_t*>(
      mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(at != MAP_FAILED);
  std::memset(at, 0x5a, 3 * 4096);
  CHECK(own_memory().read(number(at), 3 * 4096).size() == 3 * 4096);
  REQUIRE(mprotect(at + 4096, 4096, PROT_NONE) == 0);
  const auto bytes = own_memory().read(number(at) + 4000, 1000);
  REQUIRE(bytes.size() == 96);
  CHECK(bytes[95] == std::byte{0x5a});
  CHECK(own_memory().read(number(at) + 4096, 8).empty());
  munmap(at, 3 * 4096);
  CHECK(own_memory().read(number(at), 8).empty());
}

TEST_CASE("wild addresses are an answer") {
  CHECK(own_memory().read(0, 16).empty());
  CHECK(own_memory().read(0x10, 16).empty());
  CHECK(own_memory().read(~0ull, 16).empty());
  CHECK(own_memory().read(0xffff800000000000, 4096).empty());
  CHECK(own_memory().read(~0ull - 8, SIZE_MAX / 2).empty());
  int here = 77, copy = 0;
  CHECK(own_memory().read_value(number(&here), copy));
  CHECK(copy == 77);
  CHECK_FALSE(own_memory().read_value(8, copy));
  CHECK(own_memory().read(number(&here), 0).empty());
}
