// SPDX-License-Identifier: MIT
#include "tools/decode/qcom.h"
#include "tools/trace/print_device.h"

namespace tiny::trace {
namespace {

/// Chip ids are core << 24 | …: 0x06 is a6xx; 0x07, 0x43 and later are read as a7xx.
decode::AdrenoGeneration adreno_of(std::uint64_t chip_id) {
  const std::uint64_t core = chip_id >> 24 & 0xff;
  return core == 7 || core >= 0x43 ? decode::AdrenoGeneration::a7xx
                                   : decode::AdrenoGeneration::a6xx;
}

}  // namespace

Lines print_kgsl_ioctl(const DeviceCall& call, const decode::Symbols& symbols) {
  return {decode::decode_kgsl_ioctl(call.call, symbols)};
}

Lines print_msm_ioctl(const DeviceCall& call, const decode::Symbols& symbols) {
  return {decode::decode_msm_ioctl(call.call, symbols)};
}

Lines print_adreno(std::uint64_t chip_id, decode::Bytes data, const decode::Symbols& symbols) {
  return decode::decode_adreno(words_of(data), adreno_of(chip_id), symbols);
}

}  // namespace tiny::trace
