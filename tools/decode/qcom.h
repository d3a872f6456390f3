// SPDX-License-Identifier: MIT
// Decoders for Qualcomm: KGSL and msm calls, and the packets of the Adreno command processor.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tiny::decode {

/// The call. Objects it points to, where they were attached, follow with the path to them:
/// `cmdlist[0].gpuaddr=…`.
Line decode_kgsl_ioctl(const IoctlCall& call, const Symbols& symbols = no_symbols());
/// The same for a render node of the msm driver: calls of the DRM core and of the driver.
Line decode_msm_ioctl(const IoctlCall& call, const Symbols& symbols = no_symbols());

/// The memory that `argument`, and what is already in `known`, points to and that is not in `known`
/// yet. A recorder asks until nothing comes back; for what it cannot read it adds an attachment
/// without bytes. Every range is clamped to kFollowLimit_B, their number to kFollowRanges.
std::vector<Range> follow_kgsl(std::uint32_t request, Bytes argument,
                               std::span<const Attachment> known = {});
std::vector<Range> follow_msm(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known = {});
constexpr std::size_t kFollowRanges = 128;

/// A piece of command stream that a submission names: by GPU address, or by the handle of its
/// buffer and an offset where the address is 0 (not known to the caller).
struct CommandBuffer {
  std::uint64_t address = 0;
  std::uint32_t handle = 0;
  std::uint64_t offset_B = 0, size_B = 0;
};
/// Of GPU_COMMAND, SUBMIT_COMMANDS, RINGBUFFER_ISSUEIBCMDS; empty for every other call.
std::vector<CommandBuffer> kgsl_command_buffers(std::uint32_t request, Bytes argument,
                                                std::span<const Attachment> attachments);
/// Of MSM_GEM_SUBMIT.
std::vector<CommandBuffer> msm_command_buffers(std::uint32_t request, Bytes argument,
                                               std::span<const Attachment> attachments);

enum class AdrenoGeneration { a6xx = 6, a7xx = 7 };

/// One line a packet, and one a register for the runs that type-4 packets write. What is no packet
/// is shown raw up to where packets go on.
std::vector<Line> decode_adreno(Words words, AdrenoGeneration generation,
                                const Symbols& symbols = no_symbols());

/// Memory that a command stream refers to.
struct AdrenoReference {
  enum class Kind { indirect_buffer, program, constants, descriptors } kind;
  Range range;
};
const char* to_string(AdrenoReference::Kind kind);
/// What a recorder should follow at a submission, in stream order. Needs no table.
std::vector<AdrenoReference> adreno_references(Words words);

}  // namespace tiny::decode
