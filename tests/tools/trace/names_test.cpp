// SPDX-License-Identifier: MIT
// Symbolic addresses.
#include <catch2/catch.hpp>

#include "tools/trace/names.h"

using tiny::trace::Names;

TEST_CASE("buffers are named in order of appearance") {
  Names names;
  names.add(0x9000, 0x1000, "buf");
  names.add(0x1000, 0x2000, "buf");
  CHECK(names.address(0x9000) == "buf0");
  CHECK(names.address(0x9040) == "buf0+0x40");
  CHECK(names.address(0x2fff) == "buf1+0x1fff");
  CHECK(names.address(0x3000) == "0x3000");
  CHECK(names.address(0xfff) == "0xfff");
  CHECK(names.address(0) == "0x0");
}

TEST_CASE("each role counts for itself, and a better role replaces buf") {
  Names names;
  names.add(0x1000, 0x1000, "buf");
  names.add(0x2000, 0x1000, "buf");
  names.add(0x2000, 0x1000, "ring");
  CHECK(names.address(0x2010) == "ring0+0x10");
  names.add(0x2000, 0x1000, "buf");  // the mapping of what is known already
  CHECK(names.address(0x2010) == "ring0+0x10");
  names.add(0x2000, 0x1000, "ring");
  CHECK(names.address(0x2010) == "ring0+0x10");
  names.add(0x3000, 0x1000, "buf");
  CHECK(names.address(0x3000) == "buf2");
}

TEST_CASE("a range inside a buffer takes its place there") {
  Names names;
  names.add(0x1000, 0x3000, "buf");
  names.add(0x2000, 0x800, "ring");
  CHECK(names.address(0x1fff) == "buf0+0xfff");
  CHECK(names.address(0x2004) == "ring0+0x4");
  CHECK(names.address(0x2800) == "buf0+0x1800");
  CHECK(names.ranges() == 3);
}

TEST_CASE("what is unmapped has no name, what is left keeps its offsets") {
  Names names;
  names.add(0x1000, 0x3000, "buf");
  names.remove(0x2000, 0x1000);
  CHECK(names.address(0x1800) == "buf0+0x800");
  CHECK(names.address(0x2000) == "0x2000");
  CHECK(names.address(0x3000) == "buf0+0x2000");
  names.remove(0, UINT64_MAX);
  CHECK(names.ranges() == 0);
}

TEST_CASE("ranges at the end of the address space and empty ones do no harm") {
  Names names;
  names.add(UINT64_MAX - 0xff, UINT64_MAX, "buf");
  CHECK(names.address(UINT64_MAX - 0xf0) == "buf0+0xf");
  names.add(0x1000, 0, "buf");
  names.add(0x1000, std::uint64_t{1} << 60, "buf");  // no machine has that
  names.add(0, 0x1000, "buf");
  CHECK(names.address(0x1000) == "0x1000");
  CHECK(names.address(0x10) == "0x10");
  names.remove(0x1000, 0);
}
