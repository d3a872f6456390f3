// SPDX-License-Identifier: MIT
// The test kernels (tests/drivers/kernels) with their argument tables.
#pragma once

#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tiny::test {

inline const std::vector<uint8_t>& kernel_object() {
  static const std::vector<uint8_t> bytes = read_file(TINY_TEST_KERNELS);
  return bytes;
}
/// The same kernels for this device's processor.
inline std::vector<uint8_t> kernel_object(const Device& device) {
  const std::string& arch = device.target().arch;
  if (!arch.starts_with("gfx")) return kernel_object();
  return read_file(TINY_TEST_DATA "/amd/kernels_" + arch + ".o");
}

constexpr int64_t kGroup = 256;

struct ArgRow {
  ArgSlot::Kind kind;
  bool read, written;
};
inline constexpr ArgRow kIn{ArgSlot::Kind::buffer, true, false};
inline constexpr ArgRow kOut{ArgSlot::Kind::buffer, false, true};
inline constexpr ArgRow kInOut{ArgSlot::Kind::buffer, true, true};
inline constexpr ArgRow kVariable{ArgSlot::Kind::variable, true, false};

/// One 8-byte slot an argument.
inline Binary kernel(const std::string& name, const std::vector<ArgRow>& rows) {
  Binary b;
  b.name = name;
  b.code = kernel_object();
  for (const ArgRow& row : rows) {
    b.args.push_back({row.kind, b.kernarg_B, row.written, row.read});
    b.kernarg_B += 8;
  }
  return b;
}

/// ceil(variable / kGroup), as a launch expression over the variable arguments.
inline LaunchExpr groups_of(int64_t variable) {
  using Code = LaunchExpr::Code;
  return LaunchExpr(std::vector<LaunchExpr::Instruction>{{Code::variable, variable},
                                                         {Code::constant, kGroup - 1},
                                                         {Code::add, 0},
                                                         {Code::constant, kGroup},
                                                         {Code::floordiv, 0}});
}

/// out = in * factor + index; the groups follow n.
inline Binary scale() {
  Binary b = kernel("scale", {kOut, kIn, kVariable, kVariable});
  b.groups = {groups_of(1), LaunchExpr(1), LaunchExpr(1)};
  return b;
}
/// data += 1; the groups follow n.
inline Binary increment() {
  Binary b = kernel("increment", {kInOut, kVariable});
  b.groups = {groups_of(0), LaunchExpr(1), LaunchExpr(1)};
  return b;
}

inline Binary for_device(Binary b, const Device& device) {
  b.code = kernel_object(device);
  return b;
}
inline Binary scale(const Device& device) { return for_device(scale(), device); }
inline Binary increment(const Device& device) { return for_device(increment(), device); }

}  // namespace tiny::test
