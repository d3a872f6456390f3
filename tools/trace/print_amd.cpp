// SPDX-License-Identifier: MIT
#include "tools/decode/amd.h"
#include "tools/trace/print_device.h"

namespace tiny::trace {

/// Without the result, which ends the line of every vendor's calls.
Lines print_amd_ioctl(const DeviceCall& call, const decode::Symbols& symbols) {
  Lines lines = call.path == "/dev/kfd" ? decode::decode_kfd_ioctl(call.call, symbols)
                                        : decode::decode_drm_ioctl(call.call, symbols);
  if (!lines.empty())
    std::erase_if(lines[0].fields, [](const decode::Field& field) { return field.name == "ret"; });
  return lines;
}

bool is_amd_generation(std::uint64_t generation) {
  return decode::gfx_of_target(static_cast<std::uint32_t>(generation)).has_value();
}

Lines print_amd_contents(Contents contents, std::uint64_t generation, decode::Bytes data,
                         const decode::Symbols& symbols) {
  const decode::Gfx gfx =
      decode::gfx_of_target(static_cast<std::uint32_t>(generation)).value_or(decode::Gfx::gfx11);
  switch (contents) {
    case Contents::pm4:
      return decode::decode_pm4(words_of(data), gfx, symbols);
    case Contents::sdma:
      return decode::decode_sdma(words_of(data), decode::sdma_of(gfx), symbols);
    case Contents::aql:
      return decode::decode_aql(data, gfx, symbols);
    default:
      return {decode::decode_kernel_descriptor(data, gfx, symbols)};
  }
}

}  // namespace tiny::trace
