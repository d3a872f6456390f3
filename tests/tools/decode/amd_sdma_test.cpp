// SPDX-License-Identifier: MIT
// SDMA: packets assembled by hand from the packet formats of the copy engines.
#include "tests/tools/decode/amd_support.h"

#include <catch2/catch.hpp>

using namespace amd_test;

namespace {
constexpr std::uint32_t kLo = 0x00100040, kHi = 0x7f00;  // buf3+0x40
}

TEST_CASE("a copy as ROCr submits it: poll, invalidate, copy, write back, signal, interrupt") {
  const std::vector<std::uint32_t> stream = {8 | 3u << 28 | 1u << 31,
                                             kLo,
                                             kHi,
                                             0,
                                             0xffffffff,
                                             4 | 0xfffu << 16,  // poll until equal
                                             17 | 1 << 8,
                                             0,
                                             (1u << 7 | 1u << 8 | 1u << 9 | 1u << 14) << 16,
                                             0,
                                             0,  // GCR
                                             1,
                                             0xfff,
                                             0,
                                             kLo,
                                             kHi,
                                             0x2000,
                                             0,  // 4096 bytes
                                             10 | 0x2fu << 25,
                                             kLo,
                                             kHi,
                                             0xffffffff,
                                             0xffffffff,
                                             0,
                                             0,
                                             0,  // atomic add -1
                                             5 | 3 << 16,
                                             kLo,
                                             kHi,
                                             0x11,  // fence, uncached
                                             6,
                                             0x11};
  CHECK(sdma(stream) ==
        "POLL_REGMEM func=3 mem_poll=1 addr=buf3+0x40 value=0 mask=0xffffffff interval=4 "
        "retry_count=0xfff\n"
        "GCR_USER base_va=0x0 gcr_control=0x4380{GLK_INV,GLV_INV,GL1_INV,GL2_INV} limit_va=0x0\n"
        "COPY_LINEAR count=0xfff src_addr=buf3+0x40 dst_addr=0x2000\n"
        "ATOMIC atomic_op=0x2f addr=buf3+0x40 src_data=0xffffffffffffffff cmp_data=0\n"
        "FENCE mtype=3 addr=buf3+0x40 data=0x11\n"
        "TRAP int_context=0x11\n");
}

TEST_CASE("the width of a copy's count is that of the version") {
  const std::vector<std::uint32_t> copy = {1, 0x3fffffff, 0, kLo, kHi, 0x2000, 0};
  CHECK(sdma(copy, Sdma::v4_0) ==
        "COPY_LINEAR count=0x3fffff src_addr=buf3+0x40 dst_addr=0x2000 unk_dw1=0x3fc00000\n");
  CHECK(sdma(copy, Sdma::v5_2).find("count=0x3fffffff") != std::string::npos);
  CHECK(sdma(copy, Sdma::v7_0).find("count=0x3fffffff") != std::string::npos);
}

TEST_CASE("SDMA 7 copies have an eighth dword where bit 19 says so") {
  const std::vector<std::uint32_t> both = {1,           7, 0, kLo, kHi, 0x2000, 0,     //
                                           1 | 1 << 19, 7, 0, kLo, kHi, 0x2000, 0, 3,  //
                                           6,           1};
  CHECK(sdma(both, Sdma::v7_0) ==
        "COPY_LINEAR count=7 src_addr=buf3+0x40 dst_addr=0x2000\n"
        "COPY_LINEAR dcc=1 count=7 src_addr=buf3+0x40 dst_addr=0x2000 data_format=3\n"
        "TRAP int_context=1\n");
}

TEST_CASE("a broadcast copy is another packet under the same number") {
  const std::vector<std::uint32_t> words = {1 | 1u << 27, 7, 0, kLo, kHi, 0x2000, 0,
                                            0x3000,       0, 6, 1};
  const std::string out = sdma(words);
  CHECK(out.starts_with("COPY_BROADCAST_LINEAR broadcast=1 count=7"));
  CHECK(out.ends_with("\nTRAP int_context=1\n"));
}

TEST_CASE("writes carry data as long as their count says, NOPs what their header says") {
  CHECK(sdma({2, kLo, kHi, 1, 0xaa, 0xbb, 6, 1}) ==
        "WRITE_UNTILED dst_addr=buf3+0x40 count=1 data=[0xaa,0xbb]\nTRAP int_context=1\n");
  CHECK(sdma({2u << 16, 0x12345678, 0, 6, 1}) ==
        "NOP count=2 payload=[0x12345678,0x0]\nTRAP int_context=1\n");
  CHECK(sdma({0, 0, 0, 6, 1}) == "NOP repeat=3\nTRAP int_context=1\n");
}

TEST_CASE("fills, time stamps, traps that do nothing, indirect buffers") {
  CHECK(sdma({11 | 2u << 30, kLo, kHi, 0x55555555, 0xfff}) ==
        "CONSTANT_FILL fillsize=2 dst_addr=buf3+0x40 src_data_31_0=0x55555555 count=0xfff\n");
  CHECK(sdma({13 | 2 << 8, kLo, kHi}) == "TIMESTAMP_GET_GLOBAL write_addr=buf3+0x40\n");
  CHECK(sdma({32, 5}).starts_with("DUMMY_TRAP"));
  const std::vector<std::uint32_t> ib = {4 | 1 << 16, 0x00100040, 0x7f00, 0x20, 0, 0};
  CHECK(sdma(ib).starts_with("INDIRECT vmid=1 ib_base=buf3+0x40 ib_size=0x20"));
  const StreamWalk walk = walk_sdma(ib, Sdma::v6_0);
  REQUIRE(walk.indirect_buffers.size() == 1);
  CHECK(walk.indirect_buffers[0].address == 0x7f0000100040);
  CHECK(walk.indirect_buffers[0].size_dw == 0x20);
}

TEST_CASE("the flush of the host data path is recognised by its constant") {
  CHECK(sdma({8, 0, 0x80000000, 0, 0, 0}) == "HDP_FLUSH\n");
  CHECK(sdma({8, 0, 0x80000000, 0, 0, 0}, Sdma::v4_0) == "HDP_FLUSH\n");
}

TEST_CASE("what is no packet is raw, what is cut short says so") {
  CHECK(sdma({0x000000ff, 6, 1}) == "RAW word=0xff\nTRAP int_context=1\n");
  CHECK(sdma({1, 7, 0}) == "COPY_LINEAR count=7 truncated=4\n");
  CHECK(sdma({2, kLo}) == "WRITE_UNTILED dst_addr[31:0]=0x100040 truncated=3\n");
}
