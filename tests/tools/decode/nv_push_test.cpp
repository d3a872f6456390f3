// SPDX-License-Identifier: MIT
// Words of rings and pushbuffers against their meaning in NVIDIA's manuals (open-gpu-doc:
// dev_pbdma, class headers), assembled by hand.
#include "tests/tools/decode/nv_call.h"
#include "tools/decode/nv_tables.h"

#include <catch2/catch.hpp>

using namespace nv_test;

namespace {

std::vector<std::string> texts(const std::vector<Line>& lines) {
  std::vector<std::string> out;
  for (const Line& line : lines) out.push_back(to_text(line));
  return out;
}

std::vector<std::string> decode(std::vector<std::uint32_t> words,
                                std::uint32_t channel_class = 0xc86f) {
  PushbufferDecoder decoder(channel_class);
  return texts(decoder.decode(words, no_symbols()));
}

/// Decodes with a class bound to a subchannel.
std::vector<std::string> decode_as(std::uint32_t subchannel, std::uint32_t class_id,
                                   std::vector<std::uint32_t> words) {
  PushbufferDecoder decoder;
  decoder.bind(subchannel, class_id);
  return texts(decoder.decode(words, no_symbols()));
}

using Texts = std::vector<std::string>;

/// Names 2 MiB at 0x200600000.
class Buffers final : public Symbols {
 public:
  std::string address(std::uint64_t va) const override {
    if (va - 0x200600000 < 0x200000) return "buf3+" + no_symbols().address(va - 0x200600000);
    return no_symbols().address(va);
  }
};

}  // namespace

TEST_CASE("ring entries give address, length and flags") {
  const std::uint32_t entries[] = {0x00600000, 0x00006002, 0x00600061, 0x80000602};
  CHECK(texts(decode_gpfifo(entries, Buffers())) ==
        Texts{"GP_ENTRY address=buf3+0x0 length_dw=24 LEVEL=MAIN",
              "GP_ENTRY address=buf3+0x60 length_dw=1 LEVEL=SUBROUTINE FETCH=CONDITIONAL "
              "SYNC=WAIT"});
}

TEST_CASE("ring entries without a length are control entries") {
  const std::uint32_t entries[] = {0, 0, 0x1234, 2, 0x00000300, 4, 0x00600000, 0x00000402, 0, 9};
  CHECK(texts(decode_gpfifo(entries, no_symbols())) ==
        Texts{"GP_ENTRY OPCODE=NOP", "GP_ENTRY OPCODE=GP_CRC OPERAND=0x1234",
              "GP_ENTRY OPCODE=SET_PB_SEGMENT_EXTENDED_BASE base=0x30000000000",
              "GP_ENTRY address=0x30200600000 length_dw=1 LEVEL=MAIN", "GP_ENTRY OPCODE=9"});
  std::uint64_t base = 0;
  const std::vector<Range> segments = walk_gpfifo(entries, base);
  REQUIRE(segments.size() == 1);
  CHECK((segments[0].address == 0x30200600000 && segments[0].size_B == 4));
  CHECK(base == 3);
}

TEST_CASE("the header words of a compute channel") {
  // SET_OBJECT, SEND_PCAS_A, SEND_SIGNALING_PCAS2_B, WAIT_FOR_IDLE, INVALIDATE_SHADER_CACHES_NO_WFI
  const Texts lines = decode({0x20012000, 0xcbc0, 0x200120ad, 0x02006001, 0x200120b0, 0xa,
                              0x20012044, 0, 0x200125a6, 0x1011});
  CHECK(lines ==
        Texts{"NVC86F_SET_OBJECT subch=1 NVCLASS=HOPPER_COMPUTE_A ENGINE=0",
              "NVCBC0_SEND_PCAS_A QMD_ADDRESS_SHIFTED8=0x2006001 qmd=0x200600100",
              "NVCBC0_SEND_SIGNALING_PCAS2_B PCAS_ACTION=INVALIDATE_PREFETCH_COPY_SCHEDULE "
              "SELECT=0 OFFSET_MINUS_ONE=0",
              "NVCBC0_WAIT_FOR_IDLE V=0",
              "NVCBC0_INVALIDATE_SHADER_CACHES_NO_WFI INSTRUCTION=TRUE GLOBAL_DATA=TRUE "
              "CONSTANT=TRUE"});
}

TEST_CASE("a timeline semaphore: five methods behind one header") {
  CHECK(decode({0x20050017, 0x00001000, 2, 0x22, 0x11, 0x01001002}) ==
        Texts{"NVC86F_SEM_ADDR_LO OFFSET=0x400", "NVC86F_SEM_ADDR_HI OFFSET=2 address=0x200001000",
              "NVC86F_SEM_PAYLOAD_LO PAYLOAD=0x22", "NVC86F_SEM_PAYLOAD_HI PAYLOAD=0x11",
              "NVC86F_SEM_EXECUTE OPERATION=ACQ_STRICT_GEQ ACQUIRE_SWITCH_TSG=EN "
              "PAYLOAD_SIZE=64BIT address=0x200001000 payload=0x1100000022"});
  const Texts circular = decode({0x2001001b, 0x01001003});
  CHECK(circular[0] ==
        "NVC86F_SEM_EXECUTE OPERATION=ACQ_CIRC_GEQ ACQUIRE_SWITCH_TSG=EN "
        "PAYLOAD_SIZE=64BIT payload=0x0");
  const Texts signal = decode({0x2001001b, 0x03100001});
  CHECK(signal[0] ==
        "NVC86F_SEM_EXECUTE OPERATION=RELEASE RELEASE_WFI=EN PAYLOAD_SIZE=64BIT "
        "RELEASE_TIMESTAMP=EN payload=0x0");
}

TEST_CASE("the upper half of a semaphore address is 8 bits up to Ada and 25 from Hopper on") {
  const std::uint32_t header = 1u << 29 | 1u << 16 | 0x60 >> 2;
  CHECK(decode({header, 0x1ff}, 0xc56f)[0] == "NVC56F_SEM_ADDR_HI OFFSET=0xff unk=0x100");
  CHECK(decode({header, 0x1ffffff}, 0xc86f)[0] == "NVC86F_SEM_ADDR_HI OFFSET=0x1ffffff");
}

TEST_CASE("every form of header") {
  // Opcodes 1 INC, 3 NON_INC, 4 IMMD, 5 ONE_INC of GP100's dev_ram; subchannel 4, copy class.
  const auto head = [](std::uint32_t op, std::uint32_t count, std::uint32_t address) {
    return op << 29 | count << 16 | 4u << 13 | address >> 2;
  };
  CHECK(decode_as(4, 0xc8b5, {head(1, 2, 0x410), 1, 2}) ==
        Texts{"NVC8B5_PITCH_IN VALUE=1", "NVC8B5_PITCH_OUT VALUE=2"});
  CHECK(decode_as(4, 0xc8b5, {head(3, 2, 0x410), 1, 2}) ==
        Texts{"NVC8B5_PITCH_IN VALUE=1", "NVC8B5_PITCH_IN VALUE=2"});
  CHECK(decode_as(4, 0xc8b5, {head(5, 3, 0x410), 1, 2, 3}) ==
        Texts{"NVC8B5_PITCH_IN VALUE=1", "NVC8B5_PITCH_OUT VALUE=2", "NVC8B5_PITCH_OUT VALUE=3"});
  CHECK(decode_as(4, 0xc8b5, {head(4, 0x1fff, 0x410)}) == Texts{"NVC8B5_PITCH_IN VALUE=0x1fff"});
  // The old forms: count in 28:18, address in 12:2.
  CHECK(decode_as(4, 0xc8b5, {2u << 18 | 4u << 13 | 0x410, 1, 2}) ==
        Texts{"NVC8B5_PITCH_IN VALUE=1", "NVC8B5_PITCH_OUT VALUE=2"});
  CHECK(decode_as(4, 0xc8b5, {2u << 29 | 2u << 18 | 4u << 13 | 0x410, 1, 2}) ==
        Texts{"NVC8B5_PITCH_IN VALUE=1", "NVC8B5_PITCH_IN VALUE=2"});
  CHECK(decode({0, 0, 0x00010ff0, 0x20000000}) ==
        Texts{"NOP words=2", "SET_SUBDEVICE_MASK header=0x10ff0", "NOP header=0x20000000"});
  CHECK(decode({7u << 29, 1, 2}) == Texts{"END_PB_SEGMENT unread_words=2"});
  CHECK(decode({0x20052000, 0xcbc0}).back() == "TRUNCATED header=0x20052000 missing_words=4");
}

TEST_CASE("methods of unknown classes and addresses are shown raw") {
  CHECK(decode({0x2001e0ad, 5}) == Texts{"SUBCH7_0x02b4 data=0x5"});
  CHECK(decode_as(1, 0xcbc0, {0x20012000 | 0xffc >> 2, 5}) == Texts{"NVCBC0_0x0ffc data=0x5"});
}

TEST_CASE("copies name source, destination and semaphore") {
  const auto inc = [](std::uint32_t count, std::uint32_t address) {
    return 1u << 29 | count << 16 | 4u << 13 | address >> 2;
  };
  PushbufferDecoder decoder;
  std::vector<std::uint32_t> words = {
      0x20018000, 0xc8b5, 0x20048100,    1, 0x1000,     2, 0x00600040, inc(2, 0x418),
      0x100,      1,      inc(4, 0x240), 2, 0x00601000, 7, 8,          inc(1, 0x300),
      0x0800018e};
  const Texts lines = texts(decoder.decode(words, Buffers()));
  CHECK(lines[2] == "NVC8B5_OFFSET_IN_LOWER VALUE=0x1000 address=0x100001000");
  CHECK(lines[4] == "NVC8B5_OFFSET_OUT_LOWER VALUE=0x600040 address=buf3+0x40");
  CHECK(lines.back() ==
        "NVC8B5_LAUNCH_DMA DATA_TRANSFER_TYPE=NON_PIPELINED FLUSH_ENABLE=TRUE "
        "SEMAPHORE_TYPE=RELEASE_SEMAPHORE_NO_TIMESTAMP SRC_MEMORY_LAYOUT=PITCH "
        "DST_MEMORY_LAYOUT=PITCH SEMAPHORE_PAYLOAD_SIZE=TWO_WORD src=0x100001000 dst=buf3+0x40 "
        "line_bytes=0x100 semaphore=buf3+0x1000 payload=0x800000007");
  // Plain copy; release alone; release with timestamp.
  CHECK(contains(decode_as(4, 0xc8b5, {inc(1, 0x300), 0x182})[0],
                 "DATA_TRANSFER_TYPE=NON_PIPELINED SRC_MEMORY_LAYOUT=PITCH "
                 "DST_MEMORY_LAYOUT=PITCH line_bytes=0"));
  CHECK(decode_as(4, 0xc8b5, {inc(1, 0x300), 0x0c})[0] ==
        "NVC8B5_LAUNCH_DMA DATA_TRANSFER_TYPE=NONE FLUSH_ENABLE=TRUE "
        "SEMAPHORE_TYPE=RELEASE_SEMAPHORE_NO_TIMESTAMP payload=0x0");
  CHECK(contains(decode_as(4, 0xc8b5, {inc(1, 0x300), 0x14})[0],
                 "SEMAPHORE_TYPE=RELEASE_SEMAPHORE_WITH_TIMESTAMP"));
  CHECK(contains(decode_as(4, 0xc5b5, {inc(1, 0x300), 0x14})[0],
                 "SEMAPHORE_TYPE=RELEASE_FOUR_WORD_SEMAPHORE"));
}

TEST_CASE("Turing launches by the older method") {
  CHECK(decode_as(1, 0xc5c0, {0x200120af, 3})[0] ==
        "NVC5C0_SEND_SIGNALING_PCAS_B INVALIDATE=TRUE SCHEDULE=TRUE");
}

TEST_CASE("compute set-up as libcuda sends it to Hopper") {
  const auto inc = [](std::uint32_t count, std::uint32_t address) {
    return 1u << 29 | count << 16 | 1u << 13 | address >> 2;
  };
  const Texts lines = decode_as(
      1, 0xcbc0,
      {inc(2, 0x2a0), 0x7294, 0, inc(2, 0x7b0), 0x7293, 0, inc(2, 0x790), 2, 0x600000,
       inc(3, 0x2e4), 0, 0x400000, 0x39, inc(1, 0x288), 0x00010040, inc(1, 0x310), 0x900});
  CHECK(contains(lines[1], "SET_SHADER_SHARED_MEMORY_WINDOW_B"));
  CHECK(contains(lines[1], "address=0x729400000000"));
  CHECK(contains(lines[3], "address=0x729300000000"));
  CHECK(contains(lines[5], "address=0x200600000"));
  CHECK(lines[8] ==
        "NVCBC0_SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_C MAX_SM_COUNT=0x39 "
        "MAX_PLURAL_TPC_GPC_COUNT=0 MAX_SINGLETON_TPC_GPC_COUNT=0");
  CHECK(lines[9] == "NVCBC0_SET_QMD_VERSION CURRENT=0x40 OLDEST_SUPPORTED=1");
  CHECK(lines[10] == "NVCBC0_SET_SPA_VERSION MINOR=0 MAJOR=9");
}

TEST_CASE("report semaphores give address and payload") {
  const auto inc = [](std::uint32_t count, std::uint32_t address) {
    return 1u << 29 | count << 16 | 1u << 13 | address >> 2;
  };
  const Texts lines =
      decode_as(1, 0xcbc0, {inc(5, 0x158), 0x44, 0x33, 0x600000, 2, 1u << 12 | 1u << 3});
  CHECK(contains(lines[4], "OPERATION=RELEASE"));
  CHECK(contains(lines[4], "address=0x200600000 payload=0x3300000044"));
  const Texts old_form = decode_as(1, 0xc6c0, {inc(4, 0x1b00), 2, 0x600000, 9, 1u << 28});
  CHECK(contains(old_form[3], "OPERATION=RELEASE"));
  CHECK(contains(old_form[3], "STRUCTURE_SIZE=ONE_WORD"));
  CHECK(contains(old_form[3], "address=0x200600000 payload=0x9"));
}

TEST_CASE("a descriptor sent inline is decoded where its upload ends") {
  std::vector<std::uint32_t> qmd(96);
  qmd[18] = 4 << 4;  // QMD_MAJOR_VERSION 583:580
  qmd[32] = 3;       // GRID_WIDTH 1055:1024
  std::vector<std::uint32_t> words = {0x20012000, 0xcbc0,   0x20042060, 384,  1,
                                      2,          0x600000, 0x2001206c, 0x41, 0x6060206d};
  words.insert(words.end(), qmd.begin(), qmd.end());
  PushbufferDecoder decoder;
  const Texts lines = texts(decoder.decode(words, Buffers()));
  CHECK(contains(lines[lines.size() - 3], "NVCBC0_LAUNCH_DMA"));
  CHECK(contains(lines[lines.size() - 3], "dst=buf3+0x0 bytes=0x180"));
  CHECK(contains(lines[lines.size() - 2], "NVCBC0_LOAD_INLINE_DATA words=96"));
  CHECK(lines.back() == "QMD address=buf3+0x0 version=04_00 QMD_MAJOR_VERSION=4 GRID_WIDTH=3");
}

TEST_CASE("a descriptor sent by LOAD_INLINE_QMD_DATA is decoded") {
  std::vector<std::uint32_t> words = {0x20012000, 0xcbc0, 0x206020c8};
  std::vector<std::uint32_t> qmd(96);
  qmd[18] = 4 << 4, qmd[33] = 5;
  words.insert(words.end(), qmd.begin(), qmd.end());
  const Texts lines = decode(words);
  REQUIRE(lines.size() == 3);
  CHECK(contains(lines[1], "NVCBC0_LOAD_INLINE_QMD_DATA first=0 words=96"));
  CHECK(lines[2] == "QMD version=04_00 QMD_MAJOR_VERSION=4 GRID_HEIGHT=5");
}

TEST_CASE("the walker finds the launches that the decoder prints") {
  PushbufferWalker walker;
  const std::uint32_t words[] = {0x20012000, 0xcbc0, 0x20018000, 0xc8b5,     0x200120ad, 0x2006000,
                                 0x200180ad, 7,      0x200120b0, 0xa,        0x60022100, 0x200120ad,
                                 0x200120ad, 0,      7u << 29,   0x200120ad, 0x1};
  const std::vector<QmdReference> found = walker.walk(words);
  REQUIRE(found.size() == 1);
  CHECK(found[0].address == 0x200600000);
  CHECK(found[0].size_B == 384);
  CHECK(found[0].compute_class == 0xcbc0);
  // The class carries over to the next segment.
  const std::uint32_t more[] = {0x200120ad, 0x2006001};
  CHECK(walker.walk(more).at(0).compute_class == 0xcbc0);
  PushbufferWalker turing;
  turing.bind(1, 0xc5c0);
  CHECK(turing.walk(more).at(0).size_B == 256);
}

TEST_CASE("every method of every class decodes by its name") {
  std::size_t methods = 0;
  for (const auto& [class_id, method] : nv::all_methods()) {
    if ((class_id & 0xff) == 0x61) continue;  // usermode: registers, not methods
    const bool is_host = (class_id & 0xff) == 0x6f;
    if (method->offset == 0 || (is_host && method->offset >= 0x100) ||
        (!is_host && method->offset < 0x100))
      continue;
    PushbufferDecoder decoder(is_host ? class_id : 0xc86f);
    if (!is_host) decoder.bind(2, class_id);
    const std::uint32_t last = method->offset + method->stride * (method->elements - 1);
    for (const std::uint32_t address : {method->offset, last}) {
      const std::uint32_t words[] = {1u << 29 | 1u << 16 | 2u << 13 | address >> 2, 0xffffffff};
      const std::vector<Line> lines = decoder.decode(words, no_symbols());
      INFO(method->name << " of " << std::hex << class_id << " at " << address);
      REQUIRE_FALSE(lines.empty());
      CHECK(contains(lines[0].name, method->name));
      ++methods;
    }
  }
  CHECK(methods > 2000);
}
