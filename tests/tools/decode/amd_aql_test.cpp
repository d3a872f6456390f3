// SPDX-License-Identifier: MIT
// AQL packets, kernel descriptors, signals and queue descriptors, filled by the offsets of the HSA
// specification.
#include "tests/tools/decode/amd_support.h"

#include <catch2/catch.hpp>

using namespace amd_test;

namespace {

constexpr std::uint64_t kAddress = OneBuffer::kBase + 0x40;
/// barrier, acquire and release at system scope
constexpr std::uint16_t kFenced = 1 << 8 | 2 << 9 | 2 << 11;

std::string aql(Bytes packets) { return text(decode_aql(packets, Gfx::gfx11, kSymbols)); }

}  // namespace

TEST_CASE("a kernel dispatch") {
  Blob packet(64);
  packet.put<std::uint16_t>(0, 2 | kFenced).put<std::uint16_t>(2, 1);
  packet.put<std::uint16_t>(4, 64).put<std::uint16_t>(6, 1).put<std::uint16_t>(8, 1);
  packet.put<std::uint32_t>(0xc, 4096).put<std::uint32_t>(0x10, 1).put<std::uint32_t>(0x14, 1);
  packet.put<std::uint32_t>(0x1c, 512).put(0x20, kAddress).put(0x28, kAddress + 0x100);
  packet.put(0x38, kAddress + 0x200);
  CHECK(aql(packet.bytes()) ==
        "KERNEL_DISPATCH barrier=1 acquire=SYSTEM release=SYSTEM dimensions=1 "
        "workgroup_size_x=0x40 workgroup_size_y=1 workgroup_size_z=1 grid_size_x=0x1000 "
        "grid_size_y=1 grid_size_z=1 private_segment_size=0 group_segment_size=0x200 "
        "kernel_object=buf3+0x40 kernarg_address=buf3+0x140 completion_signal=buf3+0x240\n");
}

TEST_CASE("barriers wait for signals") {
  Blob packet(64);
  packet.put<std::uint16_t>(0, 3).put(8, kAddress).put(0x38, kAddress + 0x40);
  CHECK(aql(packet.bytes()) ==
        "BARRIER_AND acquire=NONE release=NONE dep_signal=[buf3+0x40,0,0,0,0] "
        "completion_signal=buf3+0x80\n");
  packet.put<std::uint16_t>(0, 5 | 1 << 9);
  CHECK(aql(packet.bytes()).starts_with("BARRIER_OR acquire=AGENT release=NONE dep_signal="));
}

TEST_CASE("a vendor packet that makes the queue run PM4") {
  Blob packet(64);
  packet.put<std::uint16_t>(0, 0 | kFenced).put<std::uint16_t>(2, 1);
  packet.put<std::uint32_t>(4, 3u << 30 | 2 << 16 | 0x3f << 8);
  packet.put<std::uint32_t>(8, static_cast<std::uint32_t>(kAddress));
  packet.put<std::uint32_t>(12, static_cast<std::uint32_t>(kAddress >> 32));
  packet.put<std::uint32_t>(16, 0x20 | 1 << 23).put<std::uint32_t>(20, 0xa).put(0x38, kAddress);
  CHECK(aql(packet.bytes()) ==
        "PM4_IB barrier=1 acquire=SYSTEM release=SYSTEM pm4=INDIRECT_BUFFER ib_base=buf3+0x40 "
        "ib_size=0x20 valid=1 dw_cnt_remain=0xa completion_signal=buf3+0x40\n");
}

TEST_CASE("a vendor packet that waits for a value") {
  Blob packet(64);
  packet.put<std::uint16_t>(0, 0).put<std::uint16_t>(2, 2).put(8, kAddress);
  packet.put<std::int64_t>(16, -1).put<std::uint64_t>(24, 0xff).put<std::uint32_t>(32, 3);
  CHECK(aql(packet.bytes()) ==
        "BARRIER_VALUE acquire=NONE release=NONE signal=buf3+0x40 value=-1 mask=0xff cond=GTE "
        "completion_signal=0\n");
}

TEST_CASE("runs of invalid packets are one line; what they hold is shown") {
  Blob packets(64 * 4);
  for (std::size_t i = 0; i < 3; ++i) packets.put<std::uint16_t>(i * 64, 1);
  packets.put<std::uint16_t>(3 * 64, 1).put<std::uint8_t>(3 * 64 + 5, 7);
  const std::string out = aql(packets.bytes());
  CHECK(out.starts_with("INVALID repeat=3\nINVALID raw=01000000 00070000"));
}

TEST_CASE("unknown types and packets cut short are raw") {
  Blob packet(64);
  packet.put<std::uint16_t>(0, 0x77);
  CHECK(aql(packet.bytes()).starts_with("TYPE_0x77 acquire=NONE release=NONE raw=77000000"));
  CHECK(aql(packet.bytes().first(1)) == "RAW bytes=77\n");
  packet.put<std::uint16_t>(0, 2);
  CHECK(aql(packet.bytes().first(6)).find("truncated=58") != std::string::npos);
}

TEST_CASE("kernel descriptors as LLVM 19 wrote them for gfx1100, gfx942 and gfx1030") {
  const auto descriptor = [](std::uint32_t rsrc1, std::uint32_t rsrc2, std::uint32_t rsrc3,
                             std::uint16_t properties) {
    Blob blob(64);
    blob.put<std::uint32_t>(8, 272).put<std::int64_t>(16, 0x10c0).put(44, rsrc3);
    blob.put(48, rsrc1).put(52, rsrc2).put(56, properties);
    return blob;
  };
  const Line gfx11 = decode_kernel_descriptor(descriptor(0x60af0080, 0x9e, 0, 0x408).bytes(),
                                              Gfx::gfx11, kSymbols);
  CHECK(to_text(gfx11) ==
        "KERNEL_DESCRIPTOR group_segment_fixed_size=0 private_segment_fixed_size=0 "
        "kernarg_size=0x110 kernel_code_entry_byte_offset=0x10c0 compute_pgm_rsrc3=0 "
        "compute_pgm_rsrc1=0x60af0080{GRANULATED_WAVEFRONT_SGPR_COUNT=2,FLOAT_DENORM_MODE_32=3,"
        "FLOAT_DENORM_MODE_16_64=3,ENABLE_DX10_CLAMP,ENABLE_IEEE_MODE,WGP_MODE,MEM_ORDERED} "
        "compute_pgm_rsrc2=0x9e{USER_SGPR_COUNT=0xf,ENABLE_SGPR_WORKGROUP_ID_X} "
        "kernel_code_properties=0x408{ENABLE_SGPR_KERNARG_SEGMENT_PTR,ENABLE_WAVEFRONT_SIZE32} "
        "kernarg_preload=0");
  const Line gfx9 =
      decode_kernel_descriptor(descriptor(0xaf0040, 0x84, 1, 8).bytes(), Gfx::gfx9, kSymbols);
  CHECK(field(gfx9, "compute_pgm_rsrc2") == "0x84{USER_SGPR_COUNT=2,ENABLE_SGPR_WORKGROUP_ID_X}");
  CHECK(field(gfx9, "kernel_code_properties") == "0x8{ENABLE_SGPR_KERNARG_SEGMENT_PTR}");
  CHECK(field(gfx9, "compute_pgm_rsrc3") == "0x1{ACCUM_OFFSET=1}");
  const Line gfx10 = decode_kernel_descriptor(descriptor(0x60af0040, 0x8c, 0, 0x409).bytes(),
                                              Gfx::gfx103, kSymbols);
  CHECK(field(gfx10, "compute_pgm_rsrc2") == "0x8c{USER_SGPR_COUNT=6,ENABLE_SGPR_WORKGROUP_ID_X}");
}

TEST_CASE("signals and queue descriptors") {
  Blob signal(64);
  signal.put<std::int64_t>(0, 1).put<std::int64_t>(8, -1).put(0x10, kAddress);
  signal.put<std::uint32_t>(0x18, 5).put<std::uint64_t>(0x20, 100).put<std::uint64_t>(0x28, 200);
  CHECK(to_text(decode_amd_signal(signal.bytes(), kSymbols)) ==
        "SIGNAL kind=USER value=-1 event_mailbox_ptr=buf3+0x40 event_id=5 start_ts=0x64 "
        "end_ts=0xc8 queue_ptr=0");
  Blob queue(256);
  queue.put<std::uint32_t>(0, 1).put(8, kAddress).put<std::uint32_t>(24, 1024);
  queue.put<std::uint64_t>(0x38, 17).put<std::uint64_t>(0x80, 16).put<std::uint32_t>(0xb4, 2 | 8);
  const Line line = decode_amd_queue(queue.bytes(), kSymbols);
  CHECK(field(line, "hsa_queue.type") == "SINGLE");
  CHECK(field(line, "hsa_queue.base_address") == "buf3+0x40");
  CHECK(field(line, "write_dispatch_id") == "0x11");
  CHECK(field(line, "read_dispatch_id") == "0x10");
  CHECK(field(line, "queue_properties") == "0xa{IS_PTR64,ENABLE_PROFILING}");
}
