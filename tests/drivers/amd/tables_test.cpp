// SPDX-License-Identifier: MIT
// The driver's tables against what public headers say (tests/data/amd/driver_facts.tsv), and the
// packets made from them.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>

#include "drivers/amd/code_object.h"
#include "drivers/amd/generation.h"
#include "drivers/amd/kfd_abi.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/registers.h"
#include "drivers/amd/save_area.h"
#include "drivers/amd/scratch.h"
#include "drivers/amd/sdma.h"
#include "drivers/amd/stream.h"

#include <sys/ioctl.h>

#include <fstream>
#include <map>
#include <random>
#include <sstream>

using namespace tiny;
using namespace tiny::amd;

namespace {

/// "kind key…" → the other columns.
using Facts = std::multimap<std::string, std::vector<std::string>>;

const Facts& facts() {
  static const Facts table = [] {
    // How many columns are the key.
    const std::map<std::string, size_t> keys = {
        {"struct", 2},    {"number", 1},  {"pm4_opcode", 2}, {"pm4_size", 2},   {"pm4_field", 2},
        {"pm4_enum", 3},  {"sdma_op", 2}, {"sdma_size", 2},  {"sdma_field", 2}, {"register", 2},
        {"reg_field", 2}, {"kd_bits", 1}, {"elf", 1}};
    Facts out;
    std::ifstream file(TINY_AMD_DATA "/driver_facts.tsv");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream in(line);
      std::vector<std::string> columns;
      for (std::string c; std::getline(in, c, '\t');) columns.push_back(c);
      const size_t n = keys.at(columns[0]);
      std::string key = columns[0];
      for (size_t i = 1; i <= n; ++i) key += " " + columns[i];
      out.emplace(
          key, std::vector<std::string>(columns.begin() + 1 + static_cast<long>(n), columns.end()));
    }
    return out;
  }();
  return table;
}

uint64_t number(const std::string& text) { return std::stoull(text, nullptr, 0); }

/// Some row of that key has these first columns.
bool agrees(const std::string& key, const std::vector<uint64_t>& values) {
  const auto [begin, end] = facts().equal_range(key);
  for (auto it = begin; it != end; ++it) {
    bool same = it->second.size() >= values.size();
    for (size_t i = 0; same && i < values.size(); ++i) same = number(it->second[i]) == values[i];
    if (same) return true;
  }
  return false;
}

#define REQUIRE_FACT(key, ...)                               \
  {                                                          \
    INFO(key);                                               \
    REQUIRE(facts().count(key) > 0);                         \
    REQUIRE(agrees(key, std::vector<uint64_t> __VA_ARGS__)); \
  }

/// Our name → the headers', where they differ.
const std::map<std::string, std::vector<std::string>>& renamed() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"INDIRECT_BUFFER.ib_base", {"ib_base_lo", "ib_base_hi"}},
      {"ACQUIRE_MEM.coher_size", {"coher_size", "coher_size_hi"}},
      {"ACQUIRE_MEM.coher_base", {"coher_base_lo", "coher_base_hi"}},
      {"RELEASE_MEM.address", {"address_lo_64b", "address_hi"}},
      {"RELEASE_MEM.data", {"data_lo", "data_hi"}},
      {"WAIT_REG_MEM.mem_poll_addr", {"mem_poll_addr_lo", "mem_poll_addr_hi"}},
      {"COPY_LINEAR.src_addr", {"src_addr_31_0", "src_addr_63_32"}},
      {"COPY_LINEAR.dst_addr", {"dst_addr_31_0", "dst_addr_63_32"}},
      {"WRITE_UNTILED.dst_addr", {"dst_addr_31_0", "dst_addr_63_32"}},
      {"INDIRECT.ib_base", {"ib_base_31_0", "ib_base_63_32"}},
      {"INDIRECT.csa_addr", {"csa_addr_31_0", "csa_addr_63_32"}},
      {"FENCE.addr", {"addr_31_0", "addr_63_32"}},
      {"POLL_REGMEM.addr", {"addr_31_0", "addr_63_32"}},
      {"TIMESTAMP_GET_GLOBAL.write_addr", {"write_addr_31_3", "write_addr_63_32"}},
      {"GCR.base_va", {"baseva_lo", "baseva_hi"}},
      {"GCR.limit_va", {"limitva_lo", "limitva_hi"}},
  };
  return table;
}

/// The rows that one FIELD must agree with: a field over two dwords is two rows.
void require_field(const std::string& table, const std::string& version, const std::string& packet,
                   std::string name, unsigned dword, unsigned hi, unsigned lo) {
  const auto found = renamed().find(packet + "." + name);
  const std::vector<std::string> names =
      found == renamed().end() ? std::vector<std::string>{name} : found->second;
  const std::string prefix = table + " " + version + " " + packet + ".";
  // The addresses of these are aligned further than the field says.
  const bool aligned = (packet == "INDIRECT" && name == "ib_base") || packet == "FENCE" ||
                       packet == "POLL_REGMEM" || packet == "WRITE_UNTILED";
  if (hi < 32) {
    const std::string spelled = packet == "GCR" && hi != lo && name != "gli_inv" ? name : names[0];
    const std::string gcr = packet == "GCR" ? "gcr_control_" + spelled : spelled;
    REQUIRE_FACT(prefix + gcr, {dword, hi, lo});
    return;
  }
  REQUIRE(names.size() == 2);
  REQUIRE_FACT(prefix + names[0], {dword, 31, aligned ? 0 : lo});
  REQUIRE_FACT(prefix + names[1], {dword + 1, hi - 32, 0});
}

}  // namespace

TEST_CASE("the kernel's structs are laid out as its headers have them") {
  size_t fields = 0;
#define FIELD(type, member)                                                                   \
  REQUIRE_FACT("struct " #type " " #member,                                                   \
               {offsetof(type, member), sizeof(std::declval<type&>().member), sizeof(type)}); \
  ++fields;
#include "tests/drivers/amd/abi_fields.inc"
#undef FIELD
  REQUIRE(fields > 100);
  REQUIRE_FACT("struct drm_amdgpu_info_device gpu_counter_freq", {kGpuCounterFreqOffset_B, 4});
}

TEST_CASE("ioctl numbers follow from number, direction and size"){
#define KFD_IOC(NAME, nr, args, direction) \
  REQUIRE_FACT("number " #NAME, {_IOC(direction, AMDKFD_IOCTL_BASE, nr, sizeof(args))});
    TINY_KFD_IOCTLS(KFD_IOC)
#undef KFD_IOC
#define NUMBER(NAME) REQUIRE_FACT("number " #NAME, {uint64_t{NAME}});
        NUMBER(AMDKFD_IOCTL_BASE) NUMBER(KFD_IOCTL_MAJOR_VERSION) NUMBER(
            KFD_IOC_QUEUE_TYPE_COMPUTE) NUMBER(KFD_IOC_QUEUE_TYPE_SDMA)
            NUMBER(KFD_MAX_QUEUE_PERCENTAGE) NUMBER(KFD_MIN_QUEUE_RING_SIZE) NUMBER(
                KFD_IOC_EVENT_SIGNAL) NUMBER(KFD_IOC_EVENT_HW_EXCEPTION) NUMBER(KFD_IOC_EVENT_MEMORY)
                NUMBER(KFD_SIGNAL_EVENT_LIMIT) NUMBER(KFD_HW_EXCEPTION_WHOLE_GPU_RESET) NUMBER(
                    KFD_HW_EXCEPTION_PER_ENGINE_RESET) NUMBER(KFD_HW_EXCEPTION_GPU_HANG)
                    NUMBER(KFD_HW_EXCEPTION_ECC) NUMBER(KFD_IOC_WAIT_RESULT_COMPLETE) NUMBER(
                        KFD_IOC_WAIT_RESULT_TIMEOUT) NUMBER(KFD_IOC_WAIT_RESULT_FAIL)
                        NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_VRAM) NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_GTT) NUMBER(
                            KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL)
                            NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) NUMBER(
                                KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED)
                                NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_COHERENT) NUMBER(
                                    KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)
                                    NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) NUMBER(
                                        KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
                                        NUMBER(KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE) NUMBER(
                                            KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK)
                                            NUMBER(KFD_MMAP_TYPE_SHIFT) NUMBER(
                                                KFD_MMAP_GPU_ID_SHIFT) NUMBER(KFD_MMAP_TYPE_DOORBELL)
                                                NUMBER(KFD_MMAP_TYPE_MMIO) NUMBER(
                                                    HSA_CAP_DOORBELL_TYPE_TOTALBITS_SHIFT)
                                                    NUMBER(HSA_CAP_DOORBELL_TYPE_TOTALBITS_MASK)
                                                        NUMBER(HSA_CAP_DOORBELL_TYPE_2_0) NUMBER(
                                                            HSA_MEM_HEAP_TYPE_FB_PUBLIC)
                                                            NUMBER(HSA_MEM_HEAP_TYPE_FB_PRIVATE)
                                                                NUMBER(
                                                                    HSA_IOLINK_FLAGS_NO_ATOMICS_64_BIT)
                                                                    NUMBER(DRM_IOCTL_AMDGPU_INFO)
                                                                        NUMBER(AMDGPU_INFO_DEV_INFO)
#undef NUMBER
#define EC(NAME, code) REQUIRE_FACT("number " #NAME, {code});
                                                                            TINY_KFD_EXCEPTIONS(EC)
#undef EC
}

TEST_CASE("PM4 packets have the headers' opcodes, sizes and fields", "[amd:7]") {
  for (const std::string gen : {"gfx10.3", "gfx11"}) {
#define ENUM(TYPE)
#define VALUE(NAME, value)
#define END_ENUM(TYPE)
#define PACKET(NAME, opcode, sub, size_dw, meaning)                           \
  {                                                                           \
    const std::string packet = #NAME;                                         \
    REQUIRE_FACT("pm4_opcode " + gen + " " + packet, {opcode});               \
    const bool shorter = packet == "EVENT_WRITE";  /* without an address */   \
    const bool one_value = packet == "WRITE_DATA"; /* with a dword of data */ \
    REQUIRE_FACT("pm4_size " + gen + " " + packet,                            \
                 {(size_dw) + (shorter ? 2u : 0u) - (one_value ? 1u : 0u)});
#define FIELD(name, type, dword, hi, lo, shift)                                     \
  if (packet == "WRITE_DATA" && dword >= 2) {                                       \
    if (dword == 2) {                                                               \
      REQUIRE_FACT("pm4_field " + gen + " WRITE_DATA.dst_mem_addr_lo", {2, 31, 2}); \
      REQUIRE_FACT("pm4_field " + gen + " WRITE_DATA.dst_mem_addr_hi", {3, 31, 0}); \
    }                                                                               \
  } else {                                                                          \
    require_field("pm4_field", gen, packet, #name, dword, hi, lo);                  \
  }
#define END(NAME) }
#include "drivers/amd/pm4.def"
#undef PACKET
#undef FIELD
#undef END
  }
  auto value = [](const std::string& type, const std::string& name, auto v) {
    for (const std::string gen : {"gfx10.3", "gfx11"})
      REQUIRE_FACT("pm4_enum " + (type == "VGT_EVENT_TYPE" && gen == "gfx10.3" ? "gfx10" : gen) +
                       " " + type + " " + name,
                   {static_cast<uint64_t>(v)});
  };
  using namespace pm4;
  value("VGT_EVENT_TYPE", "CS_PARTIAL_FLUSH", VGT_EVENT_TYPE::CS_PARTIAL_FLUSH);
  value("VGT_EVENT_TYPE", "CACHE_FLUSH_AND_INV_TS_EVENT",
        VGT_EVENT_TYPE::CACHE_FLUSH_AND_INV_TS_EVENT);
  value("MEC_EVENT_WRITE_event_index_enum", "event_index__mec_event_write__cs_partial_flush",
        EVENT_INDEX::CS_PARTIAL_FLUSH);
  value("MEC_RELEASE_MEM_event_index_enum", "event_index__mec_release_mem__end_of_pipe",
        EVENT_INDEX::END_OF_PIPE);
  value("MEC_RELEASE_MEM_int_sel_enum",
        "int_sel__mec_release_mem__send_interrupt_after_write_confirm",
        INT_SEL::SEND_INTERRUPT_AFTER_WRITE_CONFIRM);
  value("MEC_RELEASE_MEM_data_sel_enum", "data_sel__mec_release_mem__send_64_bit_data",
        DATA_SEL::SEND_64_BIT_DATA);
  value("MEC_RELEASE_MEM_data_sel_enum", "data_sel__mec_release_mem__send_gpu_clock_counter",
        DATA_SEL::SEND_GPU_CLOCK_COUNTER);
  value("MEC_WAIT_REG_MEM_function_enum",
        "function__mec_wait_reg_mem__equal_to_the_reference_value", FUNCTION::EQUAL);
  value("MEC_WAIT_REG_MEM_function_enum",
        "function__mec_wait_reg_mem__greater_than_or_equal_reference_value",
        FUNCTION::GREATER_EQUAL);
  value("MEC_WAIT_REG_MEM_mem_space_enum", "mem_space__mec_wait_reg_mem__memory_space",
        MEM_SPACE::MEMORY);
  value("MEC_WRITE_DATA_dst_sel_enum", "dst_sel__mec_write_data__memory", DST_SEL::MEMORY);
}

TEST_CASE("SDMA packets have the headers' opcodes, sizes and fields", "[amd:7]") {
  for (const std::string version : {"5.2", "6.0"}) {
#define PACKET(NAME, op, sub, size_dw, meaning)                              \
  {                                                                          \
    const std::string packet = #NAME, v = packet == "GCR" ? "any" : version; \
    REQUIRE_FACT("sdma_op " + v + " " + packet, {op, sub});                  \
    REQUIRE_FACT("sdma_size " + v + " " + packet, {packet == "NOP" ? 2u : (size_dw)});
#define FIELD(name, type, dword, hi, lo, shift) \
  require_field("sdma_field", v, packet, #name, dword, hi, lo);
#define END(NAME) }
#include "drivers/amd/sdma.def"
#undef PACKET
#undef FIELD
#undef END
#undef ENUM
#undef VALUE
#undef END_ENUM
  }
}

TEST_CASE("registers have the headers' offsets and bits") {
  for (const std::string gc : {"10.3.0", "11.0.0"}) {
#define REGISTER(NAME, offset) REQUIRE_FACT("register " + gc + " " #NAME, {offset});
#define BITS(reg, NAME, hi, lo) REQUIRE_FACT("reg_field " + gc + " " #reg "." #NAME, {hi, lo});
#include "drivers/amd/registers.def"
#undef REGISTER
#undef BITS
  }
  for (const Generation& g : generations()) {
    std::string name = "EF_AMDGPU_MACH_AMDGCN_GFX" + std::string(g.arch.substr(3));
    REQUIRE_FACT("elf " + name, {g.elf_mach});
    REQUIRE(arch_name(g.gfx_target_version).text == g.arch);
    const std::string gc = g.gfx_target_version >= 110000 ? "11.0.0" : "10.3.0";
    REQUIRE_FACT("reg_field " + gc + " COMPUTE_TMPRING_SIZE.WAVESIZE",
                 {11 + g.scratch_wavesize_bits, 12});
  }
  REQUIRE(std::string(arch_name(90010).text) == "gfx90a");
}

TEST_CASE("every packet survives encoding and decoding, and prints its fields") {
  std::mt19937_64 random(7);
#define ENUM(TYPE)
#define VALUE(NAME, value)
#define END_ENUM(TYPE)
#define PACKET(NAME, op, sub, size_dw, meaning) \
  for (int run = 0; run < 200; ++run) {         \
    NAME p{};                                   \
    std::vector<std::pair<std::string, uint64_t>> set;
#define FIELD(name, type, dword, hi, lo, shift)                                           \
  {                                                                                       \
    constexpr unsigned width = (hi) - (lo) + 1;                                           \
    const uint64_t v = (random() & (width >= 64 ? ~0ull : (1ull << width) - 1)) << shift; \
    p.name = static_cast<type>(v);                                                        \
    if (v) set.emplace_back(#name, v);                                                    \
  }
#define END(NAME)                                                               \
  const auto words = p.encode();                                                \
  REQUIRE(words.size() == NAME::kSize_dw);                                      \
  REQUIRE(NAME::decode(words).encode() == words);                               \
  if (std::string(#NAME) == "NOP") continue;                                    \
  const std::string text = to_string(words);                                    \
  REQUIRE(text.substr(0, text.find(' ')) == #NAME);                             \
  if (std::string(#NAME) == "SET_SH_REG") continue;                             \
  for (const auto& [name, v] : set)                                             \
    REQUIRE(text.find(fmt::format(" {}={:#x}", name, v)) != std::string::npos); \
  validate(words);                                                              \
  }
  {
    using namespace pm4;
#include "drivers/amd/pm4.def"
  }
  {
    using namespace sdma;
#include "drivers/amd/sdma.def"
  }
#undef ENUM
#undef VALUE
#undef END_ENUM
#undef PACKET
#undef FIELD
#undef END
}

TEST_CASE("what is no packet is refused and printed as such") {
  REQUIRE_THROWS_AS(pm4::validate(Words{0x12345678}), UsageError);
  REQUIRE_THROWS_AS(pm4::validate(Words{pm4::header(0xee, 0, 2), 0}), UsageError);
  REQUIRE_THROWS_AS(pm4::validate(Words{pm4::header(pm4::RELEASE_MEM::kOpcode, 0, 8), 0}),
                    UsageError);
  REQUIRE_THROWS_AS(sdma::validate(Words{0xee}), UsageError);
  REQUIRE_THROWS_AS(sdma::validate(Words{sdma::FENCE{}.encode()[0], 0}), UsageError);
  REQUIRE(pm4::to_string(Words{0xee}) == "unknown packet 0xee");
  REQUIRE(sdma::dump(Words{0, 0, 0, 0xee}) == "     0: NOP x3\n     3: unknown packet 0xee\n");
  // A hostile stream is decoded to its end, whatever it holds.
  std::mt19937 random(3);
  for (int run = 0; run < 20000; ++run) {
    Words words(random() % 24);
    for (uint32_t& w : words) w = random() % 3 ? random() : 3u << 30 | (random() & 0x3ffff00);
    REQUIRE(pm4::dump(words).size() + sdma::dump(words).size() < 40000);
  }
}

TEST_CASE("gaps of any size are filled with no-operations") {
  for (size_t size_dw = 1; size_dw < 40000; size_dw += size_dw < 40 ? 1 : 997) {
    Words gap(size_dw, 0xdeadbeef);
    pm4::fill_nops(gap);
    size_t at = 0;
    while (at < gap.size()) {
      REQUIRE(pm4::is_header_of(gap[at], pm4::NOP::kOpcode, 0));
      at += pm4::size_dw_of(gap[at]);
    }
    REQUIRE(at == gap.size());
  }
}

TEST_CASE("sizes of the save area are the kernel's", "[amd:3]") {
  // Worked examples: Radeon RX 7900 XTX, and one of the eight dies of a Instinct MI300X.
  SaveAreaInput gfx1100{.gfx_target_version = 110000,
                        .simd_count = 192,
                        .simd_per_cu = 2,
                        .array_count = 12,
                        .simd_arrays_per_engine = 2};
  const SaveAreaSizes a = save_area_sizes(gfx1100);
  REQUIRE(a.ctl_stack_B == 0xa000);
  REQUIRE(a.cwsr_B == 0x2bea000);
  REQUIRE(a.debug_B == 3072 * 32);
  REQUIRE(a.total_B == 0x2c02000);
  SaveAreaInput gfx942{.gfx_target_version = 90402,
                       .simd_count = 1216,
                       .simd_per_cu = 4,
                       .num_xcc = 8,
                       .array_count = 32,
                       .simd_arrays_per_engine = 1};
  const SaveAreaSizes b = save_area_sizes(gfx942);
  REQUIRE(b.ctl_stack_B == 0x3000);
  REQUIRE(b.cwsr_B == 0x1621000);
  REQUIRE(b.total_B == 0xb167000);
  // gfx10 caps the control stack.
  SaveAreaInput gfx1030{.gfx_target_version = 100300,
                        .simd_count = 160,
                        .simd_per_cu = 2,
                        .array_count = 8,
                        .simd_arrays_per_engine = 2};
  REQUIRE(save_area_sizes(gfx1030).ctl_stack_B == 0x7000);
  REQUIRE(save_area_sizes(gfx1030).cwsr_B == 0x7000 + 80 * (0x40000 + 0x15000));
  // Register files: by chip.
  for (const auto& [version, vgprs_B] : std::map<uint32_t, uint32_t>{{90010, 0x80000},
                                                                     {90402, 0x80000},
                                                                     {100300, 0x40000},
                                                                     {110000, 0x60000},
                                                                     {110001, 0x60000},
                                                                     {110002, 0x40000},
                                                                     {110501, 0x60000},
                                                                     {120001, 0x60000}}) {
    SaveAreaInput one{.gfx_target_version = version,
                      .simd_count = 4,
                      .simd_per_cu = 2,
                      .array_count = 2,
                      .simd_arrays_per_engine = 2};
    const SaveAreaSizes s = save_area_sizes(one);
    REQUIRE(s.cwsr_B - s.ctl_stack_B == 2 * (vgprs_B + 0x15000));
  }
  // What the node says wins.
  gfx1100.cwsr_size = 0x2c00000;
  gfx1100.ctl_stack_size = 0xb000;
  REQUIRE(save_area_sizes(gfx1100).cwsr_B == 0x2c00000);
  REQUIRE(save_area_sizes(gfx1100).ctl_stack_B == 0xb000);
  REQUIRE(save_area_sizes(gfx1100).total_B == 0x2c18000);
}

TEST_CASE("scratch is counted an engine on gfx11 and in total on gfx10", "[amd:15]") {
  const ScratchInput gfx11{find_generation("gfx1100"), 96, 6, 32};
  const ScratchPlan a = plan_scratch(gfx11, 260);
  REQUIRE(a.thread_B == 260);
  REQUIRE(a.tmpring == (96 / 6 * 32 | 65 << 12));  // 260 B * 64 = 65 * 256 B
  REQUIRE(a.total_B == 65ull * 256 * 32 * 96);
  const ScratchInput gfx10{find_generation("gfx1030"), 80, 4, 32};
  const ScratchPlan b = plan_scratch(gfx10, 260);
  REQUIRE(b.thread_B == 272);
  REQUIRE(b.tmpring == (2560 | 17 << 12));  // 272 B * 64 = 17 KiB
  REQUIRE(b.total_B == 17ull * 1024 * 2560);
  REQUIRE(plan_scratch({find_generation("gfx1030"), 200, 4, 32}, 4).tmpring % 4096 % 4 == 0);
  REQUIRE_THROWS_WITH(plan_scratch(gfx11, 200000), Catch::Contains("200000 B of scratch"));
}
