// SPDX-License-Identifier: MIT
// Adreno command streams. Words and what they mean come from outside the tables: streams of Mesa's
// drivers as its own reference logs decode them (an a630 ring with a damaged buffer, the start of
// an a640 Vulkan submission), a capture of Qualcomm's OpenCL, and packets put together by hand from
// the header format.
#include "tools/decode/qcom.h"
#include "tools/decode/qcom_packets.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

using namespace tiny::decode;
using tiny::decode::qcom::odd_parity_bit;

namespace {

using Stream = std::vector<std::uint32_t>;
using Texts = std::vector<std::string>;

Texts decode(const Stream& words, AdrenoGeneration generation = AdrenoGeneration::a6xx,
             const Symbols& symbols = no_symbols()) {
  Texts texts;
  for (const Line& line : decode_adreno(words, generation, symbols)) texts.push_back(to_text(line));
  return texts;
}

/// The definition: the parity bit makes the number of ones odd.
std::uint32_t parity(std::uint32_t value) { return std::popcount(value) % 2 == 0; }

std::uint32_t write_registers(std::uint32_t reg, std::uint32_t count) {
  return 4u << 28 | parity(reg) << 27 | reg << 8 | parity(count) << 7 | count;
}
std::uint32_t command(std::uint32_t opcode, std::uint32_t count) {
  return 7u << 28 | parity(opcode) << 23 | opcode << 16 | parity(count) << 15 | count;
}

struct OneBuffer final : Symbols {
  std::string address(std::uint64_t va) const override {
    return va - 0x1010000 < 0x10000 ? "buf0+" + std::to_string(va - 0x1010000)
                                    : no_symbols().address(va);
  }
};

}  // namespace

TEST_CASE("parity bits follow their definition for every register, opcode and count") {
  for (std::uint32_t value = 0; value < 1u << 18; ++value)
    if (odd_parity_bit(value) != parity(value)) FAIL(value);
  for (std::uint32_t reg = 0; reg < 1u << 18; ++reg) {
    const std::uint32_t header = write_registers(reg, reg % 128);
    if (!qcom::header_error(header).empty()) FAIL(reg);
    for (const std::uint32_t bit : {1u << 7, 1u << 27, 1u << (reg % 7), 1u << (8 + reg % 18)})
      if (qcom::header_error(header ^ bit).empty()) FAIL(reg << " " << bit);
  }
  for (std::uint32_t count = 0; count < 1u << 14; ++count) {
    const std::uint32_t header = command(count % 128, count);
    if (!qcom::header_error(header).empty()) FAIL(count);
    for (const std::uint32_t bit : {1u << 15, 1u << 23, 1u << (count % 14), 1u << (16 + count % 7)})
      if (qcom::header_error(header ^ bit).empty()) FAIL(count << " " << bit);
  }
}

TEST_CASE("headers known from other drivers are what their registers and opcodes say") {
  struct Known {
    std::uint32_t header;
    std::uint32_t target, count;
  };
  for (const Known& known : {Known{0x40a9b001, 0xa9b0, 1},
                             {0x48a9b402, 0xa9b4, 2},
                             {0x40b99007, 0xb990, 7},
                             {0x48a9d407, 0xa9d4, 7}})
    CHECK(write_registers(known.target, known.count) == known.header);
  for (const Known& known : {Known{0x70268000, 0x26, 0},
                             {0x70b30004, 0x33, 4},
                             {0x70310001, 0x31, 1},
                             {0x70348003, 0x34, 3},
                             {0x70460001, 0x46, 1},
                             {0x70460004, 0x46, 4},
                             {0x70bc8006, 0x3c, 6},
                             {0x703e8003, 0x3e, 3},
                             {0x70e50001, 0x65, 1},
                             {0x70bf8003, 0x3f, 3},
                             {0x70970001, 0x17, 1}}) {
    CHECK(command(known.target, known.count) == known.header);
    CHECK(qcom::header_error(known.header).empty());
  }
}

TEST_CASE("the ring of a crashed a630 reads as Mesa reads it") {
  const Stream ring = {0x703e8003, 0x40080400, 0x00000028, 0x00010000, 0x703e8003,
                       0x4009f888, 0x00000038, 0x00010000, 0x70460001, 0x00000018,
                       0x70460001, 0x00000019, 0x70bf8003, 0x00000000, 0x00000001,
                       0x0000000c, 0x703e8003, 0x40080400, 0x00000030, 0x00010000,
                       0x70460004, 0x80000004, 0x00000004, 0x00010000, 0x00000001};
  CHECK(decode(ring) ==
        Texts{"CP_REG_TO_MEM REG=RBBM_PERFCTR_CP[0] CNT=2 64B=1 DEST=0x1000000000028",
              "CP_REG_TO_MEM REG=REG_0x1f888 CNT=2 64B=1 DEST=0x1000000000038",
              "CP_EVENT_WRITE EVENT=PC_CCU_INVALIDATE_DEPTH",
              "CP_EVENT_WRITE EVENT=PC_CCU_INVALIDATE_COLOR",
              "CP_INDIRECT_BUFFER IB_BASE=0x100000000 IB_SIZE=12",
              "CP_REG_TO_MEM REG=RBBM_PERFCTR_CP[0] CNT=2 64B=1 DEST=0x1000000000030",
              "CP_EVENT_WRITE EVENT=CACHE_FLUSH_TS IRQ=1 ADDR_0=0x1000000000004 DATA=1"});
  const auto references = adreno_references(ring);
  REQUIRE(references.size() == 1);
  CHECK(references[0].kind == AdrenoReference::Kind::indirect_buffer);
  CHECK(references[0].range.address == 0x100000000);
  CHECK(references[0].range.size_B == 48);
}

TEST_CASE("decoding goes on behind a word that is no packet") {
  const Stream buffer = {0x70e50001, 0x00000001, 0x70108000, 0x70108000, 0x70108000, 0x70108000,
                         0xdeadd00d, 0x70108000, 0x70108000, 0x70108000, 0x70108000, 0x70108000};
  const Texts texts = decode(buffer);
  REQUIRE(texts.size() == 11);
  CHECK(texts[0] == "CP_SET_MARKER MODE=RM6_DIRECT_RENDER MARKER_MODE=SET_RENDER_MODE");
  CHECK(texts[4] == "CP_NOP");
  CHECK(texts[5] == "BAD at=0x18 error=\"type 13 is no packet\" words=1 data=[0xdeadd00d]");
  CHECK(texts[6] == "CP_NOP");
  CHECK(texts[10] == "CP_NOP");
}

TEST_CASE("registers of an a640 submission read as Mesa reads them") {
  struct Known {
    Stream words;
    const char* text;
  };
  const OneBuffer symbols;
  for (const Known& known : {
           Known{{0x40bb0801, 0x000fffff},
                 "SP_UPDATE_CNTL value=0xfffff VS_STATE=1 HS_STATE=1 DS_STATE=1 GS_STATE=1 "
                 "FS_STATE=1 CS_STATE=1 CS_UAV=1 GFX_UAV=1 GFX_SHARED_CONST=1 CS_BINDLESS=0x1f "
                 "GFX_BINDLESS=0x1f CS_SHARED_CONST=1"},
           {{0x40ae0001, 0x00000000}, "SP_DBG_ECO_CNTL value=0x0"},
           {{0x40ae0f01, 0x0000003f},
            "SP_PERFCTR_SHADER_MASK value=0x3f VS=1 HS=1 DS=1 GS=1 FS=1 CS=1"},
           {{0x40b60001, 0x00100000}, "TPL1_DBG_ECO_CNTL value=0x100000"},
           {{0x40ae0301, 0x00000410}, "SP_CHICKEN_BITS value=0x410"},
           {{0x480e1901, 0x00000004}, "UCHE_CLIENT_PF value=0x4 PERFSEL=4"},
           {{0x40ab0001, 0x00000005},
            "SP_MODE_CNTL value=0x5 CONSTANT_DEMOTION_ENABLE=1 ISAMMODE=ISAMMODE_GL"},
           {{0x40b30901, 0x000000a2},
            "TPL1_MODE_CNTL value=0xa2 ISAMMODE=ISAMMODE_GL NEARESTMIPSNAP=1 "
            "DESTDATATYPEOVERRIDE=1"},
           {{0x48b98601, 0x000000fc},
            "SP_REG_PROG_ID_3 value=0xfc LINELENGTHREGID=none FOVEATIONQUALITYREGID=r0.x"},
           {{0x48b30202, 0x01011000, 0}, "TPL1_GFX_BORDER_COLOR_BASE value=buf0+4096"},
           {{0x40b18002, 0x01011000, 0}, "TPL1_CS_BORDER_COLOR_BASE value=buf0+4096"},
           {{0x48acc001, 0x0000f180}, "SP_A2D_OUTPUT_INFO value=0xf180 COLOR_FORMAT=0x30 MASK=0xf"},
           {{0x70460001, 0x00000031}, "CP_EVENT_WRITE EVENT=CACHE_INVALIDATE"},
           {{0x70460004, 0x0000001d, 0x01011880, 0, 0},
            "CP_EVENT_WRITE EVENT=PC_CCU_FLUSH_COLOR_TS ADDR_0=buf0+6272 DATA=0"},
           {{0x70268000}, "CP_WAIT_FOR_IDLE"},
           {{0x702c0001, 3}, "CP_BLIT data=[0x3]"},
           {{0x709d0001, 0}, "CP_SKIP_IB2_ENABLE_GLOBAL data=[0x0]"},
           {{0x70460001, 0x26}, "CP_EVENT_WRITE EVENT=LRZ_FLUSH"},
       })
    CHECK(decode(known.words, AdrenoGeneration::a6xx, symbols) == Texts{known.text});
}

TEST_CASE("packets that the freedreno notes on queries show") {
  CHECK(decode({0x70bc8006, 0x00000014, 0xc0456014, 0, 0xffffffff, 0xffffffff, 0x10}) ==
        Texts{"CP_WAIT_REG_MEM FUNCTION=WRITE_NE POLL=POLL_MEMORY POLL_ADDR=0xc0456014 "
              "REF=0xffffffff MASK=0xffffffff DELAY_LOOP_CYCLES=0x10"});
  CHECK(decode({0x70460004, 0x40000016, 0xc0456000, 0, 0xdead}) ==
        Texts{"CP_EVENT_WRITE EVENT=RB_DONE_TS TIMESTAMP=1 ADDR_0=0xc0456000 DATA=0xdead"});
  // dst = a + b - c, on 64 bits
  CHECK(decode({command(0x73, 9), 0x20000004, 0xc0456008, 0, 0xc0456008, 0, 0xc0456010, 0,
                0xc0456000, 0}) ==
        Texts{"CP_MEM_TO_MEM NEG_C=1 DOUBLE=1 DST=0xc0456008 SRC_A=0xc0456008 SRC_B=0xc0456010 "
              "SRC_C=0xc0456000"});
}

TEST_CASE("a program load of Qualcomm's OpenCL") {
  const Stream words = {0x70348003, 0x00b60000, 0xffba8000, 7};
  CHECK(decode(words) == Texts{"CP_LOAD_STATE6_FRAG DST_OFF=0 STATE_TYPE=ST6_SHADER "
                               "STATE_SRC=SS6_INDIRECT STATE_BLOCK=SB6_CS_SHADER NUM_UNIT=2 "
                               "EXT_SRC_ADDR=0x7ffba8000"});
  const auto references = adreno_references(words);
  REQUIRE(references.size() == 1);
  CHECK(references[0].kind == AdrenoReference::Kind::program);
  CHECK(references[0].range.address == 0x7ffba8000);
  CHECK(references[0].range.size_B == 2 * 16 * 8);
}

TEST_CASE("a whole dispatch of a6xx, put together by hand") {
  const Stream words = {command(0x65, 1),
                        8,  // compute mode
                        0x40bb0801,
                        0x60,
                        0x40b98701,
                        0x101,  // const file: 4 vec4
                        write_registers(0xa9bb, 1),
                        0x100,  //
                        0x40a9b001,
                        3u << 7 | 2u << 1 | 1u << 14 | 1u << 20,  // registers, stack, wave
                        write_registers(0xa9b1, 1),
                        2u << 5 | 1,  //
                        0x48a9b402,
                        0x00402080,
                        0x5,  // program
                        write_registers(0xa9bc, 1),
                        3,  //
                        0x40b99007,
                        3u | 63u << 2 | 1u << 12,
                        256,
                        0,
                        2,
                        0,
                        1,
                        0,  // range
                        write_registers(0xb997, 2),
                        0x00fcfcc0,
                        0x2fc,  // ids
                        command(0x34, 3),
                        1u << 14 | 2u << 16 | 13u << 18 | 4u << 22,
                        0x1000,
                        5,  // constants
                        0x70b30004,
                        0,
                        4,
                        2,
                        1,
                        0x70268000};
  CHECK(decode(words) ==
        Texts{"CP_SET_MARKER MODE=RM6_COMPUTE MARKER_MODE=SET_RENDER_MODE",
              "SP_UPDATE_CNTL value=0x60 CS_STATE=1 CS_UAV=1",
              "SP_CS_CONST_CONFIG value=0x101 CONSTLEN=0x4 ENABLED=1",
              "SP_CS_CONFIG value=0x100 ENABLED=1",
              "SP_CS_CNTL_0 value=0x104184 HALFREGFOOTPRINT=2 FULLREGFOOTPRINT=3 BRANCHSTACK=1 "
              "THREADSIZE=THREAD128",
              "SP_CS_CNTL_1 value=0x41 SHARED_SIZE=1 CONSTANTRAMMODE=2",
              "SP_CS_BASE value=0x500402080",
              "SP_CS_INSTR_SIZE value=0x3",
              "SP_CS_NDRANGE_0 value=0x10ff KERNELDIM=3 LOCALSIZEX=63 LOCALSIZEY=1",
              "SP_CS_NDRANGE_1 value=0x100 GLOBALSIZE_X=256",
              "SP_CS_NDRANGE_2 value=0x0",
              "SP_CS_NDRANGE_3 value=0x2 GLOBALSIZE_Y=2",
              "SP_CS_NDRANGE_4 value=0x0",
              "SP_CS_NDRANGE_5 value=0x1 GLOBALSIZE_Z=1",
              "SP_CS_NDRANGE_6 value=0x0",
              "SP_CS_CONST_CONFIG_0 value=0xfcfcc0 WGIDCONSTID=r48.x WGSIZECONSTID=none "
              "WGOFFSETCONSTID=none LOCALIDREGID=r0.x",
              "SP_CS_WGE_CNTL value=0x2fc LINEARLOCALIDREGID=none THREADSIZE=THREAD128",
              "CP_LOAD_STATE6_FRAG DST_OFF=0 STATE_TYPE=ST6_CONSTANTS STATE_SRC=SS6_INDIRECT "
              "STATE_BLOCK=SB6_CS_SHADER NUM_UNIT=4 EXT_SRC_ADDR=0x500001000",
              "CP_EXEC_CS DW0=0 NGROUPS_X=4 NGROUPS_Y=2 NGROUPS_Z=1",
              "CP_WAIT_FOR_IDLE"});
  const auto references = adreno_references(words);
  REQUIRE(references.size() == 2);
  CHECK(references[0].kind == AdrenoReference::Kind::program);
  CHECK(references[0].range.address == 0x500402080);
  CHECK(references[0].range.size_B == 3 * 128);
  CHECK(references[1].kind == AdrenoReference::Kind::constants);
  CHECK(references[1].range.address == 0x500001000);
  CHECK(references[1].range.size_B == 4 * 16);
}

TEST_CASE("what moved between a6xx and a7xx is named by the generation asked for") {
  const auto a6xx = AdrenoGeneration::a6xx, a7xx = AdrenoGeneration::a7xx;
  CHECK(decode({0x70460001, 0x31}, a6xx) == Texts{"CP_EVENT_WRITE EVENT=CACHE_INVALIDATE"});
  CHECK(
      decode({0x70460001, 0x31}, a7xx) ==
      Texts{"CP_EVENT_WRITE7 EVENT=CACHE_CLEAN WRITE_SRC=EV_WRITE_USER_32B WRITE_DST=EV_DST_RAM"});
  CHECK(decode({0x70460001, 0x33}, a6xx) == Texts{"CP_EVENT_WRITE EVENT=0x33"});
  CHECK(decode({0x70460004, 0x32 | 3u << 20 | 1u << 27, 0x2000, 1, 0}, a7xx) ==
        Texts{"CP_EVENT_WRITE7 EVENT=CACHE_FLUSH7 WRITE_SRC=EV_WRITE_ALWAYSON WRITE_DST=EV_DST_RAM "
              "WRITE_ENABLED=1 ADDR=0x100002000 PAYLOAD_0=0"});
  CHECK(decode({0x70970001, 1u | 1u << 27}, a7xx) ==
        Texts{"CP_THREAD_CONTROL THREAD=CP_SET_THREAD_BR CONCURRENT_BIN_DISABLE=1"});
  CHECK(decode({0x70970001, 1}, a6xx) == Texts{"CP_0x17 data=[0x1]"});
  CHECK(decode({0x48a9d407, 3, 1, 0, 1, 0, 1, 0}, a7xx)[0] ==
        "SP_CS_NDRANGE_0 value=0x3 KERNELDIM=3");
  CHECK(decode({write_registers(0xab1f, 1), 0x20}, a7xx) ==
        Texts{"SP_UPDATE_CNTL value=0x20 CS_STATE=1"});
  CHECK(decode({write_registers(0xab1f, 1), 0x20}, a6xx) ==
        Texts{"SP_UPDATE_CNTL(a7xx) value=0x20 CS_STATE=1"});
  // The same register with other fields.
  CHECK(decode({write_registers(0xa9c3, 1), 0x1fc}, a6xx) ==
        Texts{"SP_CS_WIE_CNTL_1 value=0x1fc LINEARLOCALIDREGID=none SINGLE_SP_CORE=1"});
  CHECK(decode({write_registers(0xa9c3, 1), 0x1fc}, a7xx) ==
        Texts{"SP_CS_WIE_CNTL_1 value=0x1fc LINEARLOCALIDREGID=none THREADSIZE=THREAD128"});
  // One that only the common list has.
  CHECK(decode({0x40a9b001, 1u << 31}, a7xx) ==
        Texts{"SP_CS_CNTL_0 value=0x80000000 MERGEDREGS=1"});
}

TEST_CASE("arrays of registers and halves of addresses have names of their own") {
  CHECK(decode({write_registers(0xa9e8, 4), 0x3003, 0x1, 0x5000, 0}) ==
        Texts{"SP_CS_BINDLESS_BASE[0] value=0x100003003 "
              "DESCRIPTOR_DESC_SIZE=BINDLESS_DESCRIPTOR_64B DESCRIPTOR_ADDR=0x100003000",
              "SP_CS_BINDLESS_BASE[1] value=0x5000 DESCRIPTOR_ADDR=0x5000"});
  CHECK(decode({write_registers(0xa9b5, 1), 7}) == Texts{"SP_CS_BASE_HI value=0x7"});
  CHECK(decode({write_registers(0xa9b4, 1), 0x80}) == Texts{"SP_CS_BASE value=0x80"});
  CHECK(decode({write_registers(0x885, 1), 9}) == Texts{"CP_SCRATCH[2] value=0x9"});
  CHECK(decode({write_registers(0x3fff0, 1), 9}) == Texts{"REG_0x3fff0 value=0x9"});
  // Bits that no field covers are not lost.
  CHECK(decode({write_registers(0xa9b1, 1), 0x80000001}) ==
        Texts{"SP_CS_CNTL_1 value=0x80000001 SHARED_SIZE=1 unk=0x80000000"});
}

TEST_CASE("lists inside packets are taken apart") {
  CHECK(decode({command(0x5c, 4), 0xa9b3, 5, 0xa9bc, 1}) ==
        Texts{"CP_CONTEXT_REG_BUNCH data=[0xa9b3,0x5,0xa9bc,0x1]",
              "SP_CS_PROGRAM_COUNTER_OFFSET value=0x5", "SP_CS_INSTR_SIZE value=0x1"});
  CHECK(decode({command(0x56, 6), 0, 0x1000, 2, 4, 0x8000, 0}) ==
        Texts{"CP_SET_PSEUDO_REG PSEUDO_REG=SMMU_INFO LO=0x1000 HI=2 PSEUDO_REG=COUNTER LO=0x8000 "
              "HI=0"});
  CHECK(decode({command(0x3d, 4), 0x40, 1, 0xaa, 0xbb}) ==
        Texts{"CP_MEM_WRITE ADDR=0x100000040 data=[0xaa,0xbb]"});
  CHECK(decode({command(0x65, 1), 0x101}) ==
        Texts{"CP_SET_MARKER IFPC_MODE=IFPC_DISABLE MARKER_MODE=SET_IFPC_MODE"});
  CHECK(decode({command(0x47, 2), 3u << 28 | 1u << 26, 12}) ==
        Texts{"CP_COND_REG_EXEC REG0=REG_0x0000 GMEM=1 MODE=RENDER_MODE DWORDS=12"});
  CHECK(decode({command(0x47, 2), 5u << 28 | 1u << 26, 12}, AdrenoGeneration::a7xx) ==
        Texts{"CP_COND_REG_EXEC REG0=REG_0x0000 BR=1 MODE=THREAD_MODE DWORDS=12"});
}

TEST_CASE("errors of headers are told apart, and cost no more than their words") {
  const std::uint32_t good = 0x70268000;
  CHECK(decode({good ^ 0x8000, good}) ==
        Texts{"BAD at=0x0 error=\"parity of the count\" words=1 data=[0x70260000]",
              "CP_WAIT_FOR_IDLE"});
  CHECK(decode({good ^ 0x800000, good}) ==
        Texts{"BAD at=0x0 error=\"parity of the opcode\" words=1 data=[0x70a68000]",
              "CP_WAIT_FOR_IDLE"});
  CHECK(decode({0x40a9b001u ^ 1u << 27, 0, good})[0] ==
        "BAD at=0x0 error=\"parity of the register\" words=1 data=[0x48a9b001]");
  CHECK(decode({good | 1u << 24, good})[0] ==
        "BAD at=0x0 error=\"reserved bits 0x1000000\" words=1 data=[0x71268000]");
  CHECK(decode({0, 0, 0, good}) == Texts{"PADDING words=3", "CP_WAIT_FOR_IDLE"});
  CHECK(decode({}) == Texts{});
}

TEST_CASE("packets that the stream cuts short are shown as far as they go") {
  CHECK(decode({0x70b30004, 0, 4}) == Texts{"CP_EXEC_CS DW0=0 NGROUPS_X=4 truncated=2"});
  CHECK(decode({0x48a9b402, 0x80}) ==
        Texts{"SP_CS_BASE value=0x80", "SP_CS_BASE count=2 truncated=1"});
  CHECK(decode({0x70bf8003, 0x80}) == Texts{"CP_INDIRECT_BUFFER data=[0x80] truncated=2"});
  CHECK(adreno_references(Stream{0x70bf8003, 0x80, 0}).empty());
  CHECK(decode({command(0x10, 40), 1, 2, 3})[0] == "CP_NOP data=[0x1,0x2,0x3] truncated=37");
}
