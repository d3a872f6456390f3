// SPDX-License-Identifier: MIT
// Device nodes that answer every call: what a tracer's tests need of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::test {

inline constexpr const char* kKfd = "/dev/kfd";
inline constexpr const char* kAmdgpu = "/dev/dri/renderD128";
inline constexpr const char* kMsm = "/dev/dri/renderD129";
inline constexpr const char* kNvidiaCtl = "/dev/nvidiactl";
inline constexpr const char* kUvm = "/dev/nvidia-uvm";
inline constexpr const char* kKgsl = "/dev/kgsl-3d0";

/// What a call gets beside its success: nothing, or what a driver would say (ids, addresses).
/// Answers are written through the call's pointers, which must then be good.
enum class Answers : std::uint8_t { none, all };

/// Mounts them in this process.
void mount_fake_devices(Answers answers = Answers::none);

/// A call that the decoders' tables know.
struct KnownCall {
  const char* path = nullptr;
  std::uint32_t request = 0;
  std::uint32_t control = 0;       ///< of an RM control or the class of an RM allocation
  std::vector<std::string> names;  ///< any of these must be in the decoded line
};
/// Every number in the tables, in a fixed order. The size in a request varies with its place.
std::vector<KnownCall> known_calls();

inline constexpr std::uint32_t kRmControl = 0xc020462a, kRmAlloc = 0xc030462b;

}  // namespace tiny::test
