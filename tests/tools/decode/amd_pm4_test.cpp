// SPDX-License-Identifier: MIT
// PM4: packets assembled by hand from the packet layouts of the command processor (type-3 header:
// [31:30]=3, [29:16]=dwords after the header - 1, [15:8]=opcode), not from the decoder's tables.
#include "tests/tools/decode/amd_support.h"

#include <catch2/catch.hpp>

using namespace amd_test;

namespace {

constexpr std::uint32_t header(std::uint32_t opcode, std::uint32_t payload_dw) {
  return 3u << 30 | (payload_dw - 1) << 16 | opcode << 8;
}
constexpr std::uint32_t kLo = 0x00100040, kHi = 0x7f00;  // buf3+0x40

}  // namespace

TEST_CASE("RELEASE_MEM of gfx10 and later: event, cache actions, selectors, address, data") {
  // event 0x14 index 5, GLM_WB|GLM_INV|GLV_INV|GL1_INV|GL2_INV|GL2_WB (bits 12..15, 20, 21);
  // memory, interrupt after write confirm, 64-bit data.
  const std::uint32_t event = 0x14 | 5 << 8 | 0xf << 12 | 3 << 20;
  CHECK(pm4({header(0x49, 7), event, 2 << 24 | 2 << 29, kLo, kHi, 0x12, 0, 7}) ==
        "RELEASE_MEM event_type=CACHE_FLUSH_AND_INV_TS_EVENT event_index=end_of_pipe "
        "gcr_cntl=0x30f{GLM_WB,GLM_INV,GLV_INV,GL1_INV,GL2_INV,GL2_WB} "
        "int_sel=send_interrupt_after_write_confirm data_sel=send_64_bit_data "
        "address=buf3+0x40 data=0x12 int_ctxid=7\n");
  // GPU clock: the data words mean nothing but are shown.
  CHECK(pm4({header(0x49, 7), 0x514, 3u << 29, kLo, kHi, 0, 0, 0})
            .find("data_sel=send_gpu_clock_counter address=buf3+0x40 data=0 int_ctxid=0") !=
        std::string::npos);
}

TEST_CASE("RELEASE_MEM of gfx9 has cache actions of its own") {
  const std::uint32_t event = 0x14 | 5 << 8 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;
  const std::string out = pm4({header(0x49, 7), event, 2u << 29, kLo, kHi, 1, 0, 0}, Gfx::gfx9);
  CHECK(out.find("tc_wb_action_ena=1 tcl1_action_ena=1 tc_action_ena=1 tc_nc_action_ena=1") !=
        std::string::npos);
}

TEST_CASE("ACQUIRE_MEM: the instruction cache invalidation of ROCr on gfx11") {
  // GLI_INV|GLK_INV|GLV_INV|GL1_INV|GL2_INV over everything.
  const std::uint32_t gcr = 1 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 14;
  CHECK(pm4({header(0x58, 7), 0, 0xffffffff, 0xff, 0, 0, 0xa, gcr}) ==
        "ACQUIRE_MEM coher_size=0xffffffffff coher_base=0x0 poll_interval=0xa "
        "gcr_cntl=0x4381{GLI_INV=1,GLK_INV,GLV_INV,GL1_INV,GL2_INV}\n");
}

TEST_CASE("ACQUIRE_MEM of gfx9 names coherence actions; the base counts 256 bytes") {
  const std::uint32_t coher = 1u << 18 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 29 | 1u << 30;
  CHECK(pm4({header(0x58, 6), coher, 0x100, 0, 0xf0001000, 0x7, 0xa}, Gfx::gfx9) ==
        "ACQUIRE_MEM coher_cntl=0x68c40000{TC_WB_ACTION_ENA,TCL1_ACTION_ENA,TC_ACTION_ENA,"
        "SH_KCACHE_ACTION_ENA,SH_ICACHE_ACTION_ENA,SH_KCACHE_WB_ACTION_ENA} coher_size=0x100 "
        "coher_base=0x7f000100000 poll_interval=0xa\n");
}

TEST_CASE("WAIT_REG_MEM on memory and on a pair of registers") {
  CHECK(pm4({header(0x3c, 6), 5 | 1 << 4, kLo, kHi, 9, 0xffffffff, 4 | 1u << 31}) ==
        "WAIT_REG_MEM function=greater_than_or_equal_reference_value mem_space=memory_space "
        "mem_poll_addr=buf3+0x40 reference=9 mask=0xffffffff poll_interval=4 "
        "optimize_ace_offload_mode=1\n");
  // The flush of the host data path: write the request register, wait for the done register.
  CHECK(pm4({header(0x3c, 6), 3 | 1 << 6, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 0x20}) ==
        "WAIT_REG_MEM function=equal_to_the_reference_value operation=wr_wait_wr_reg "
        "reg_write_addr1=BIF_BX_PF_GPU_HDP_FLUSH_REQ reg_write_addr2=BIF_BX_PF_GPU_HDP_FLUSH_DONE "
        "reference=0xffffffff mask=0xffffffff poll_interval=0x20\n");
}

TEST_CASE("registers are set by name, with parts, and addresses joined") {
  const std::string out = pm4({header(0x76, 3), 0x20c, 0xf0001000, 0x7,  //
                               header(0x76, 3), 0x212, 0x60af0080, 0x9e});
  CHECK(out ==
        "SET_SH_REG COMPUTE_PGM_LO=0xf0001000 COMPUTE_PGM_HI=7 COMPUTE_PGM=0x7f000100000\n"
        "SET_SH_REG COMPUTE_PGM_RSRC1=0x60af0080{SGPRS=2,FLOAT_MODE=0xf0,DX10_CLAMP,IEEE_MODE,"
        "WGP_MODE,MEM_ORDERED} COMPUTE_PGM_RSRC2=0x9e{USER_SGPR=0xf,TGID_X_EN}\n");
}

TEST_CASE("user data that is an address of a buffer says so") {
  CHECK(pm4({header(0x76, 3), 0x240, kLo, kHi}) ==
        "SET_SH_REG COMPUTE_USER_DATA_0=0x100040 COMPUTE_USER_DATA_1=0x7f00 "
        "COMPUTE_USER_DATA_0:64=buf3+0x40\n");
}

TEST_CASE("other register spaces: UCONFIG by name, CONTEXT and unknown offsets by number") {
  CHECK(pm4({header(0x79, 2), 0x200, 0xe0000000}).starts_with("SET_UCONFIG_REG GRBM_GFX_INDEX="));
  CHECK(pm4({header(0x69, 2), 0x12, 3}) == "SET_CONTEXT_REG CONTEXT+0x12=3\n");
  CHECK(pm4({header(0x76, 2), 0x3f0, 3}) == "SET_SH_REG SH+0x3f0=3\n");
}

TEST_CASE("packed register pairs: two offsets in a dword, then two values") {
  CHECK(pm4({header(0xbb, 4), 2, 0x240 | 0x241u << 16, 5, 6}) ==
        "SET_SH_REG_PAIRS_PACKED reg_writes_count=0x2 COMPUTE_USER_DATA_0=5 "
        "COMPUTE_USER_DATA_1=6\n");
}

TEST_CASE("dispatches") {
  CHECK(pm4({header(0x15, 4), 4, 2, 1, 0x8005}) ==
        "DISPATCH_DIRECT dim_x=4 dim_y=2 dim_z=1 "
        "dispatch_initiator=0x8005{COMPUTE_SHADER_EN,FORCE_START_AT_000,CS_W32_EN}\n");
  CHECK(pm4({header(0x16, 3), kLo, kHi, 5}, Gfx::gfx9) ==
        "DISPATCH_INDIRECT addr=buf3+0x40 "
        "dispatch_initiator=0x5{COMPUTE_SHADER_EN,FORCE_START_AT_000}\n");
}

TEST_CASE("INDIRECT_BUFFER: address, size, valid, and the bit no header names") {
  CHECK(pm4({header(0x3f, 3), kLo, kHi, 0x100 | 1 << 23}) ==
        "INDIRECT_BUFFER ib_base=buf3+0x40 ib_size=0x100 valid=1\n");
  CHECK(pm4({header(0x3f, 3), kLo, kHi, 0x100 | 1 << 20 | 1u << 31}) ==
        "INDIRECT_BUFFER ib_base=buf3+0x40 ib_size=0x100 chain=1 unk_dw3=0x80000000\n");
}

TEST_CASE("moves of data: WRITE_DATA, COPY_DATA, ATOMIC_MEM, EVENT_WRITE, PRED_EXEC") {
  CHECK(pm4({header(0x37, 5), 5 << 8 | 1 << 20, kLo, kHi, 0xaa, 0xbb}) ==
        "WRITE_DATA dst_sel=memory wr_confirm=wait_for_write_confirmation "
        "dst_mem_addr=buf3+0x40 data=[0xaa,0xbb]\n");
  CHECK(
      pm4({header(0x40, 5), 9 | 2 << 8 | 1 << 16, 0, 0, kLo, kHi})
          .starts_with("COPY_DATA src_sel=gpu_clock_count dst_sel=tc_l2 count_sel=64_bits_of_data "
                       "dst_addr=buf3+0x40"));
  CHECK(pm4({header(0x40, 5), 0 | 2 << 8, 0xe27, 0, kLo, kHi}) ==
        "COPY_DATA dst_sel=tc_l2 src_reg_offset=BIF_BX_PF_GPU_HDP_FLUSH_DONE "
        "dst_addr=buf3+0x40\n");
  CHECK(pm4({header(0x1e, 8), 47, kLo, kHi, 1, 0, 0, 0, 0}) ==
        "ATOMIC_MEM atomic=0x2f addr=buf3+0x40 src_data=1 cmp_data=0\n");
  CHECK(pm4({header(0x46, 1), 7 | 4 << 8}) ==
        "EVENT_WRITE event_type=CS_PARTIAL_FLUSH event_index=cs_partial_flush\n");
  CHECK(pm4({header(0x23, 1), 0x10 | 3u << 24}, Gfx::gfx9) ==
        "PRED_EXEC exec_count=0x10 device_select=3\n");
}

TEST_CASE("fillers: NOPs of any length, zeros, type 2") {
  CHECK(pm4({0xffff1000}) == "NOP\n");
  CHECK(pm4({header(0x10, 2), 0x11, 0x22}) == "NOP payload=[0x11,0x22]\n");
  CHECK(pm4({0, 0, 0, 0x80000000, 0x80000000}) == "ZEROS count=3\nTYPE2\nTYPE2\n");
}

TEST_CASE("type 0 packets are a run of registers") {
  CHECK(pm4({1u << 16 | 0xe26, 7, 8}) == "TYPE0 reg=BIF_BX_PF_GPU_HDP_FLUSH_REQ data=[0x7,0x8]\n");
}

TEST_CASE("header bits are shown") {
  CHECK(pm4({header(0x46, 1) | 3, 7 | 4 << 8}) ==
        "EVENT_WRITE predicate=1 shader_type=1 event_type=CS_PARTIAL_FLUSH "
        "event_index=cs_partial_flush\n");
}

TEST_CASE("a packet that the stream cuts short shows what is there") {
  CHECK(pm4({header(0x49, 7), 0x514, 0}) ==
        "RELEASE_MEM event_type=CACHE_FLUSH_AND_INV_TS_EVENT event_index=end_of_pipe "
        "truncated=5\n");
  CHECK(pm4({header(0x76, 3), 0x240}) == "SET_SH_REG reg_offset=0x240 truncated=2\n");
}

TEST_CASE("garbage is raw word by word until a packet starts") {
  CHECK(pm4({0x7fffffff, 0x3fff0001, header(0x05, 100), header(0x10, 1), 1}) ==
        "RAW word=0x7fffffff\nRAW word=0x3fff0001\nRAW word=0xc0630500\nNOP payload=[0x1]\n");
  CHECK(pm4({header(0x05, 1), 3}) == "OPCODE_0x05 payload=[0x3]\n");
}

TEST_CASE("the walk finds packets and the indirect buffers they name") {
  const std::vector<std::uint32_t> words = {
      header(0x10, 1), 0, header(0x3f, 3), kLo, kHi, 0x40 | 1 << 20 | 1 << 23, 0, 0,
      header(0x15, 4), 1};
  const StreamWalk walk = walk_pm4(words, Gfx::gfx11);
  REQUIRE(walk.packets.size() == 4);
  CHECK(walk.packets[1].opcode == 0x3f);
  CHECK(walk.packets[1].offset_dw == 2);
  CHECK(walk.packets[1].size_dw == 4);
  CHECK(walk.packets[2].opcode == PacketSpan::kZeros);
  CHECK(walk.packets[3].missing_dw == 3);
  REQUIRE(walk.indirect_buffers.size() == 1);
  CHECK(walk.indirect_buffers[0].address == 0x7f0000100040);
  CHECK(walk.indirect_buffers[0].size_dw == 0x40);
  CHECK(walk.indirect_buffers[0].chain);
  CHECK(walk.indirect_buffers[0].offset_dw == 2);
}

TEST_CASE("generations by gfx_target_version, with their copy engines") {
  CHECK(gfx_of_target(90402) == Gfx::gfx9);
  CHECK(gfx_of_target(100100) == Gfx::gfx10);
  CHECK(gfx_of_target(100300) == Gfx::gfx103);
  CHECK(gfx_of_target(110501) == Gfx::gfx11);
  CHECK(gfx_of_target(120001) == Gfx::gfx12);
  CHECK(!gfx_of_target(80003));
  CHECK(!gfx_of_target(0));
  CHECK(sdma_of(Gfx::gfx9) == Sdma::v4_0);
  CHECK(sdma_of(Gfx::gfx103) == Sdma::v5_2);
  CHECK(sdma_of(Gfx::gfx12) == Sdma::v7_0);
}
