// SPDX-License-Identifier: MIT
// Launch descriptors: bit positions as drivers other than ours use them (NVK, a raw-ioctl project
// on an H100), one row a field, not taken from the tables.
#include "tests/tools/decode/nv_call.h"
#include "tools/decode/table.h"

#include <catch2/catch.hpp>

using namespace nv_test;

namespace {

constexpr std::string_view kAll[] = {"02_02", "02_03", "02_04", "03_00",
                                     "04_00", "04_01", "05_00", "05_01"};

void set_bits(std::vector<std::uint32_t>& qmd, std::uint32_t hi, std::uint32_t lo,
              std::uint64_t value) {
  for (std::uint32_t bit = lo; bit <= hi; ++bit, value >>= 1)
    qmd[bit / 32] = (qmd[bit / 32] & ~(1u << bit % 32)) | static_cast<std::uint32_t>(value & 1)
                                                              << bit % 32;
}

/// A field at [hi:lo] with a value of which the decoder makes a text.
struct Sample {
  const char* versions;
  std::uint32_t hi, lo;
  std::uint64_t value;
  const char* text;
};

const Sample kSamples[] = {
    {"02_02 02_03", 579, 576, 3, "QMD_VERSION=3"},
    {"02_02 02_03", 583, 580, 2, "QMD_MAJOR_VERSION=2"},
    {"03_00", 583, 580, 3, "QMD_MAJOR_VERSION=3"},
    {"04_00", 579, 576, 1, "QMD_MINOR_VERSION=1"},
    {"04_00", 583, 580, 4, "QMD_MAJOR_VERSION=4"},
    {"05_00", 467, 464, 1, "QMD_MINOR_VERSION=1"},
    {"05_00", 471, 468, 5, "QMD_MAJOR_VERSION=5"},
    {"04_00", 25, 23, 2, "QMD_TYPE=GRID_CTA"},
    {"05_00", 153, 151, 2, "QMD_TYPE=GRID_CTA"},
    {"02_02 02_03 03_00", 133, 128, 0x3f, "QMD_GROUP_ID=0x3f"},
    {"04_00", 21, 16, 5, "QMD_GROUP_ID=5"},
    {"05_00", 149, 144, 0x1f, "QMD_GROUP_ID=0x1f"},
    {"02_02 03_00", 134, 134, 1, "SM_GLOBAL_CACHING_ENABLE=1"},
    {"02_02 03_00", 186, 186, 1, "INVALIDATE_TEXTURE_HEADER_CACHE=TRUE"},
    {"02_02 03_00", 191, 191, 1, "INVALIDATE_SHADER_CONSTANT_CACHE=TRUE"},
    {"04_00", 602, 602, 1, "INVALIDATE_TEXTURE_HEADER_CACHE=TRUE"},
    {"04_00", 607, 607, 1, "INVALIDATE_SHADER_CONSTANT_CACHE=TRUE"},
    {"05_00", 472, 472, 1, "INVALIDATE_TEXTURE_HEADER_CACHE=TRUE"},
    {"05_00", 477, 477, 1, "INVALIDATE_SHADER_CONSTANT_CACHE=TRUE"},
    {"02_02 03_00", 378, 378, 1, "API_VISIBLE_CALL_LIMIT=NO_CHECK"},
    {"04_00", 568, 568, 1, "API_VISIBLE_CALL_LIMIT=NO_CHECK"},
    {"05_00", 456, 456, 1, "API_VISIBLE_CALL_LIMIT=NO_CHECK"},
    {"02_02 03_00", 382, 382, 1, "SAMPLER_INDEX=VIA_HEADER_INDEX"},
    {"04_00", 569, 569, 1, "SAMPLER_INDEX=VIA_HEADER_INDEX"},
    {"05_00", 457, 457, 1, "SAMPLER_INDEX=VIA_HEADER_INDEX"},
    {"02_02 03_00", 369, 368, 1, "CWD_MEMBAR_TYPE=L1_SYSMEMBAR"},
    {"04_00", 1137, 1136, 1, "CWD_MEMBAR_TYPE=L1_SYSMEMBAR"},
    {"05_00", 625, 624, 1, "CWD_MEMBAR_TYPE=L1_SYSMEMBAR"},
    {"02_02 03_00", 415, 384, 3, "CTA_RASTER_WIDTH=3"},
    {"02_02 03_00", 431, 416, 5, "CTA_RASTER_HEIGHT=5"},
    {"02_02 03_00", 463, 448, 7, "CTA_RASTER_DEPTH=7"},
    {"04_00", 1055, 1024, 3, "GRID_WIDTH=3"},
    {"04_00", 1071, 1056, 5, "GRID_HEIGHT=5"},
    {"04_00", 1103, 1088, 7, "GRID_DEPTH=7"},
    {"05_00", 1279, 1248, 3, "GRID_WIDTH=3"},
    {"05_00", 1295, 1280, 5, "GRID_HEIGHT=5"},
    {"05_00", 1327, 1312, 7, "GRID_DEPTH=7"},
    {"02_02 03_00", 607, 592, 256, "CTA_THREAD_DIMENSION0=0x100"},
    {"02_02 03_00", 639, 624, 2, "CTA_THREAD_DIMENSION2=2"},
    {"04_00", 1167, 1152, 256, "CTA_THREAD_DIMENSION0=0x100"},
    {"04_00", 1199, 1184, 2, "CTA_THREAD_DIMENSION2=2"},
    {"05_00", 1103, 1088, 256, "CTA_THREAD_DIMENSION0=0x100"},
    {"05_00", 1127, 1120, 2, "CTA_THREAD_DIMENSION2=2"},
    {"02_02 03_00", 656, 648, 12, "REGISTER_COUNT_V=0xc"},
    {"04_00", 1208, 1200, 12, "REGISTER_COUNT=0xc"},
    {"05_00", 1136, 1128, 12, "REGISTER_COUNT=0xc"},
    {"02_02", 959, 955, 1, "BARRIER_COUNT=1"},
    {"03_00", 767, 763, 1, "BARRIER_COUNT=1"},
    {"04_00", 1215, 1211, 1, "BARRIER_COUNT=1"},
    {"05_00", 1141, 1137, 1, "BARRIER_COUNT=1"},
    {"02_02 03_00", 561, 544, 0x400, "SHARED_MEMORY_SIZE=0x400"},
    {"04_00", 601, 584, 0x400, "SHARED_MEMORY_SIZE=0x400"},
    {"05_00", 1162, 1152, 8, "SHARED_MEMORY_SIZE=0x400"},
    {"02_02", 568, 562, 3, "MIN_SM_CONFIG_SHARED_MEM_SIZE=3"},
    {"03_00", 567, 562, 3, "MIN_SM_CONFIG_SHARED_MEM_SIZE=3"},
    {"04_00", 613, 608, 0x3a, "MIN_SM_CONFIG_SHARED_MEM_SIZE=0x3a"},
    {"04_00", 619, 614, 0x3a, "MAX_SM_CONFIG_SHARED_MEM_SIZE=0x3a"},
    {"04_00", 625, 620, 0x3a, "TARGET_SM_CONFIG_SHARED_MEM_SIZE=0x3a"},
    {"05_00", 1180, 1175, 0x3a, "TARGET_SM_CONFIG_SHARED_MEM_SIZE=0x3a"},
    {"02_02", 983, 960, 0x640, "SHADER_LOCAL_MEMORY_HIGH_SIZE=0x640"},
    {"03_00", 1623, 1600, 0x640, "SHADER_LOCAL_MEMORY_HIGH_SIZE=0x640"},
    {"04_00", 567, 544, 0x640, "SHADER_LOCAL_MEMORY_HIGH_SIZE=0x640"},
    {"05_00", 1215, 1200, 0x64, "SHADER_LOCAL_MEMORY_HIGH_SIZE=0x640"},
    {"02_02 03_00", 1584, 1536, 0x200600100, "PROGRAM_ADDRESS=0x200600100"},
    {"04_00", 1272, 1216, 0x200600100, "PROGRAM_ADDRESS=0x200600100"},
    {"05_00", 1076, 1024, 0x20060010, "PROGRAM_ADDRESS=0x200600100"},
    {"04_00", 1392, 1344, 0x2006001, "PROGRAM_PREFETCH_ADDR=0x200600100"},
    {"02_02 03_00", 1072, 1024, 0x200600040, "CONSTANT_BUFFER_ADDR(0)=0x200600040"},
    {"02_02 03_00", 1072 + 192, 1024 + 192, 0x200600040, "CONSTANT_BUFFER_ADDR(3)=0x200600040"},
    {"02_02 03_00", 1087, 1075, 0x23, "CONSTANT_BUFFER_SIZE(0)=0x230"},
    {"02_02 03_00", 647, 647, 1, "CONSTANT_BUFFER_VALID(7)=TRUE"},
    {"02_02 03_00", 1074, 1074, 1, "CONSTANT_BUFFER_INVALIDATE(0)=TRUE"},
    {"04_00", 1586, 1536, 0x8018001, "CONSTANT_BUFFER_ADDR(0)=0x200600040"},
    {"04_00", 1586 + 448, 1536 + 448, 0x8018001, "CONSTANT_BUFFER_ADDR(7)=0x200600040"},
    {"04_00", 1599, 1587, 0x23, "CONSTANT_BUFFER_SIZE(0)=0x230"},
    {"04_00", 416 + 28, 416 + 28, 1, "CONSTANT_BUFFER_VALID(7)=TRUE"},
    {"04_00", 419, 419, 1, "CONSTANT_BUFFER_INVALIDATE(0)=TRUE"},
    {"05_00", 1394, 1344, 0x8018001, "CONSTANT_BUFFER_ADDR(0)=0x200600040"},
    {"05_00", 1407, 1395, 0x23, "CONSTANT_BUFFER_SIZE(0)=0x230"},
    {"05_00", 1856 + 4, 1856 + 4, 1, "CONSTANT_BUFFER_VALID(1)=TRUE"},
    {"03_00", 511, 480, 0x2006001, "DEPENDENT_QMD0_POINTER=0x200600100"},
    {"04_00", 479, 448, 0x2006001, "DEPENDENT_QMD0_POINTER=0x200600100"},
    {"04_00", 368, 368, 1, "DEPENDENT_QMD_ENABLE(0)=TRUE"},
    {"04_00", 371, 369, 1, "DEPENDENT_QMD_ACTION(0)=QMD_SCHEDULE"},
    {"05_00", 415, 384, 0x2006001, "DEPENDENT_QMD0_POINTER=0x200600100"},
    {"05_00", 336, 336, 1, "DEPENDENT_QMD0_ENABLE=TRUE"},
    {"03_00", 823, 823, 1, "RELEASE0_ENABLE=TRUE"},
    {"04_00", 320, 320, 1, "RELEASE_ENABLE(0)=TRUE"},
    {"04_00", 322, 321, 1, "RELEASE_STRUCTURE_SIZE(0)=SEMAPHORE_ONE_WORD"},
    {"04_00", 332, 332, 1, "RELEASE_PAYLOAD64B(0)=TRUE"},
    {"05_00", 288, 288, 1, "RELEASE_ENABLE(0)=TRUE"},
    {"04_00", 696, 640, 0x200601000, "RELEASE_SEMAPHORE0_ADDR=0x200601000"},
    {"04_00", 767, 704, 0x1100000022, "RELEASE_SEMAPHORE0_PAYLOAD=0x1100000022"},
    {"05_00", 536, 480, 0x200601000, "RELEASE_SEMAPHORE0_ADDR=0x200601000"},
    {"04_00", 2149, 2144, 2, "GPC_CGA_WIDTH=2"},
    {"05_00", 2053, 2048, 2, "GPC_CGA_WIDTH=2"},
};

}  // namespace

TEST_CASE("fields of launch descriptors are where other drivers put them") {
  std::size_t checked = 0;
  for (const Sample& sample : kSamples)
    for (const std::string_view version : kAll) {
      if (std::string_view(sample.versions).find(version) == std::string_view::npos) continue;
      std::vector<std::uint32_t> qmd(qmd_size_B(version) / 4);
      set_bits(qmd, sample.hi, sample.lo, sample.value);
      const std::string text = to_text(decode_qmd(qmd, version, no_symbols()));
      INFO(version << " " << sample.text << ": " << text);
      CHECK(contains(text, std::string(" ") + sample.text));
      ++checked;
    }
  CHECK(checked > 100);
}

TEST_CASE("the version is read from the descriptor and must be one of the class") {
  std::vector<std::uint32_t> hopper(96), ampere(64), blackwell(96);
  set_bits(hopper, 583, 580, 4);
  set_bits(ampere, 583, 580, 3);
  set_bits(blackwell, 471, 468, 5);
  CHECK(detect_qmd_version(hopper, 0xcbc0) == "04_00");
  CHECK(detect_qmd_version(hopper, 0) == "04_00");
  CHECK(detect_qmd_version(ampere, 0xc6c0) == "03_00");
  CHECK(detect_qmd_version(ampere, 0xcbc0) == "03_00");
  CHECK(detect_qmd_version(blackwell, 0xcdc0) == "05_00");
  CHECK(detect_qmd_version(blackwell, 0) == "05_00");
  CHECK(detect_qmd_version(std::vector<std::uint32_t>(96), 0xcbc0) == "04_00");
  CHECK(detect_qmd_version(std::vector<std::uint32_t>(96), 0).empty());
  CHECK(qmd_versions(0xc5c0).front() == "02_03");
  CHECK(qmd_versions(0xc8b5).empty());
  CHECK(qmd_size_B("03_00") == 256);
  CHECK(qmd_size_B("04_00") == 384);
}

TEST_CASE("all bits of a descriptor are shown, known or not") {
  // Setting any one bit must change the text.
  for (const std::string_view version : kAll) {
    std::vector<std::uint32_t> qmd(qmd_size_B(version) / 4);
    const std::string nothing = to_text(decode_qmd(qmd, version, no_symbols()));
    for (std::uint32_t bit = 0; bit < qmd.size() * 32; ++bit) {
      set_bits(qmd, bit, bit, 1);
      INFO(version << " bit " << bit);
      REQUIRE(to_text(decode_qmd(qmd, version, no_symbols())) != nothing);
      set_bits(qmd, bit, bit, 0);
    }
  }
}

TEST_CASE("unknown versions and truncated descriptors are shown raw") {
  const std::uint32_t words[] = {1, 2};
  CHECK(to_text(decode_qmd(words, "09_09", no_symbols())) ==
        "QMD version=? data=01000000 02000000");
  CHECK(contains(to_text(decode_qmd(words, "04_00", no_symbols())), "truncated=376"));
}

TEST_CASE("the walker's constant buffers are those that the decoder prints") {
  struct Row {
    std::uint32_t compute_class;
    std::uint32_t valid, low, high_hi, size, shift;
    const char* version;
  };
  for (const Row& row : {Row{0xc5c0, 642, 1024 + 128, 1072 + 128, 1075 + 128, 0, "02_03"},
                         Row{0xc6c0, 642, 1024 + 128, 1072 + 128, 1075 + 128, 0, "03_00"},
                         Row{0xcbc0, 424, 1536 + 128, 1586 + 128, 1587 + 128, 6, "04_00"},
                         Row{0xcdc0, 1864, 1344 + 128, 1394 + 128, 1395 + 128, 6, "05_00"}}) {
    std::vector<std::uint32_t> qmd(qmd_size_B(row.version) / 4);
    set_bits(qmd, row.high_hi, row.low, 0x200600040 >> row.shift);
    set_bits(qmd, row.size + 12, row.size, 0x23);
    CHECK(walk_qmd(qmd, row.compute_class).empty());  // not valid
    set_bits(qmd, row.valid, row.valid, 1);
    const std::vector<Range> ranges = walk_qmd(qmd, row.compute_class);
    REQUIRE(ranges.size() == 1);
    CHECK((ranges[0].address == 0x200600040 && ranges[0].size_B == 0x230));
    const std::string text = to_text(decode_qmd(qmd, row.version, no_symbols()));
    CHECK(contains(text, "CONSTANT_BUFFER_VALID(2)=TRUE"));
    CHECK(contains(text, "CONSTANT_BUFFER_ADDR(2)=0x200600040"));
    CHECK(contains(text, "CONSTANT_BUFFER_SIZE(2)=0x230"));
  }
  CHECK(walk_qmd({}, 0xcbc0).empty());
}
