// SPDX-License-Identifier: MIT
// Which decoder reads what: calls by device, snapshots by contents. Holds what the decoders of one
// process must remember.
#pragma once

#include "tools/decode/decode.h"
#include "tools/decode/nv.h"
#include "tools/trace/format.h"
#include "tools/trace/names.h"
#include "tools/trace/watch.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tiny::trace {

/// `+0x20  de ad be ef …`, 32 bytes a line; at most 8 lines unless `full`.
std::vector<std::string> hex_lines(decode::Bytes bytes, bool full);

/// Vendors' parts, one file each.
using Lines = std::vector<decode::Line>;
Lines print_amd_ioctl(const DeviceCall& call, const decode::Symbols& symbols);
Lines print_amd_contents(Contents contents, std::uint64_t generation, decode::Bytes data,
                         const decode::Symbols& symbols);
/// Is this a generation that the AMD decoders know?
bool is_amd_generation(std::uint64_t generation);
Lines print_kgsl_ioctl(const DeviceCall& call, const decode::Symbols& symbols);
Lines print_msm_ioctl(const DeviceCall& call, const decode::Symbols& symbols);
Lines print_adreno(std::uint64_t chip_id, decode::Bytes data, const decode::Symbols& symbols);

class DeviceDecoders {
 public:
  DeviceDecoders() = default;
  /// For the child of a fork: its streams begin anew.
  DeviceDecoders(const DeviceDecoders& parent) : nv_(parent.nv_), drm_(parent.drm_) {}
  DeviceDecoders& operator=(const DeviceDecoders&) = delete;

  /// The call's line first, never empty; then lines about what it points to.
  std::vector<std::string> ioctl(const DeviceCall& call, const decode::Symbols& symbols);
  std::vector<std::string> contents(Contents contents, const Record& record, decode::Bytes data,
                                    const Names& names, bool full);
  /// AMD packets of a generation that was not told.
  static bool is_guess(Contents contents, std::uint64_t generation);

 private:
  decode::NvState nv_;
  DrmDrivers drm_;
  std::map<std::uint64_t, decode::PushbufferDecoder> pushbuffers_;  // by channel
};

}  // namespace tiny::trace
