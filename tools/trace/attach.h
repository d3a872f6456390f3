// SPDX-License-Identifier: MIT
// What memory of the program belongs to a call: its argument, and what this points to. Only asks
// the decoders' follow functions; knows no structure itself.
#pragma once

#include "tools/decode/decode.h"
#include "tools/trace/process_memory.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tiny::trace {

struct Attached {
  std::uint64_t address = 0, size_B = 0;
  std::vector<std::byte> before, after;
};

/// Bytes of the argument structure of an ioctl on this device. Where nothing tells, a guess that is
/// never too small for a known call; the recorder keeps what can be read.
std::size_t argument_size(std::string_view path, std::uint32_t request);

/// Reads what the argument points to, before the call. `is_msm`: the node is served by msm.
std::vector<Attached> attach(std::string_view path, bool is_msm, std::uint32_t request,
                             decode::Bytes argument, const Memory& memory);
/// Reads the same places again, after it.
void attach_after(std::vector<Attached>& attached, const Memory& memory);

/// The vendors' followers, each beside its watcher: what `argument` and `known` point to that is
/// not known yet.
using Follow = std::vector<decode::Range>(std::uint32_t request, decode::Bytes argument,
                                          std::span<const decode::Attachment> known);
Follow follow_amd_call, follow_qcom_kgsl, follow_qcom_msm;

/// Views for the decoders; valid while `attached` is.
std::vector<decode::Attachment> views(const std::vector<Attached>& attached);

}  // namespace tiny::trace
