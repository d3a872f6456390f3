// SPDX-License-Identifier: MIT
// AMD: calls of /dev/kfd and of DRM with amdgpu, PM4 and SDMA streams, AQL packets and the
// structures in memory around them.
//
// Output: names are those of the headers. Of a packet with many fields, those of less than 32 bits
// that are zero are left out; everything else is shown: bits that no field covers as
// `unk_dwN=…`, dwords beyond a packet's layout as `data`, `payload` or `extra`, words with parts as
// `0x8005{COMPUTE_SHADER_EN,…,ORDER_MODE=2}` (parts of one bit by their name alone). Words that
// start no packet are `RAW word=…`, one a line, and decoding goes on with the next word.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiny::decode {

/// Generations with their own packet formats.
enum class Gfx { gfx9, gfx10, gfx103, gfx11, gfx12 };
enum class Sdma { v4_0, v5_0, v5_2, v6_0, v7_0 };

/// From gfx_target_version of the topology (110000, 90402, …); nothing for what we do not know.
std::optional<Gfx> gfx_of_target(std::uint32_t gfx_target_version);
/// The copy engines that come with a generation.
Sdma sdma_of(Gfx gfx);

// ---- calls ----------------------------------------------------------------------------------

/// The first line is the call, lines below it (names begin with two spaces) what its argument
/// points to. Dispatch is by number: structures grow, so the layout is the largest one that the
/// size in the request holds.
Lines decode_kfd_ioctl(const IoctlCall& call, const Symbols& symbols);
/// DRM core and amdgpu calls.
Lines decode_drm_ioctl(const IoctlCall& call, const Symbols& symbols);

/// What the recorder should attach to a call of /dev/kfd or DRM. `known` is what it has attached so
/// far: call again with it until nothing new comes (arrays of pointers take two rounds). Sizes are
/// clamped to kFollowLimit_B. Reads embedded constants only; allocates nothing but the result.
std::vector<Range> follow_amd(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known = {});

/// The offset of a mapping of /dev/kfd: `DOORBELL gpu_id=0x697d offset=0x850`.
std::string kfd_mmap_text(std::uint64_t offset);

// ---- PM4 ------------------------------------------------------------------------------------

/// One packet of a stream. opcode is the IT opcode of type-3 packets, else one of the kinds.
struct PacketSpan {
  enum : std::uint32_t { kType0 = 0x10000, kType2, kZeros, kRaw };
  std::uint32_t opcode = 0;
  std::uint32_t offset_dw = 0, size_dw = 0;  ///< header included; size is clipped to the stream
  std::uint32_t missing_dw = 0;              ///< dwords that lie beyond the stream's end
};
struct IndirectBuffer {
  std::uint64_t address = 0;
  std::uint32_t size_dw = 0;
  std::uint32_t offset_dw = 0;  ///< of the packet that names it
  bool chain = false;
};
struct StreamWalk {
  std::vector<PacketSpan> packets;
  std::vector<IndirectBuffer> indirect_buffers;
};
StreamWalk walk_pm4(Words stream, Gfx gfx);
Lines decode_pm4(Words stream, Gfx gfx, const Symbols& symbols);
/// One packet that walk_pm4 found.
Line decode_pm4_packet(Words stream, const PacketSpan& span, Gfx gfx, const Symbols& symbols);

// ---- SDMA -----------------------------------------------------------------------------------

StreamWalk walk_sdma(Words stream, Sdma version);  ///< opcode is op | sub_op << 8
Lines decode_sdma(Words stream, Sdma version, const Symbols& symbols);
Line decode_sdma_packet(Words stream, const PacketSpan& span, Sdma version, const Symbols& symbols);

// ---- AQL and memory structures ------------------------------------------------------------------

/// Packets of 64 bytes; runs of equal invalid packets are one line.
Lines decode_aql(Bytes packets, Gfx gfx, const Symbols& symbols);
Line decode_kernel_descriptor(Bytes descriptor, Gfx gfx, const Symbols& symbols);
Line decode_amd_signal(Bytes signal, const Symbols& symbols);
Line decode_amd_queue(Bytes queue, const Symbols& symbols);

}  // namespace tiny::decode
