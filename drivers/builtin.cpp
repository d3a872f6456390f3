// SPDX-License-Identifier: MIT
// The list of drivers: an explicit one, because a static library drops what only registers itself.
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/registry.h>

#include "drivers/amd/backend.h"
#include "drivers/cpu/backend.h"
#include "drivers/null/backend.h"
#include "runtime/backend.h"

#include <fmt/format.h>

namespace tiny {
namespace {

/// A vendor we know but have no driver for: it answers with that, instead of being unknown.
BackendInfo unbuilt(std::string vendor, std::string_view what) {
  BackendInfo info;
  const std::string reason = fmt::format("driver not built yet: {}", what);
  info.vendor = vendor;
  info.rank = -1;
  info.probe = [vendor, reason]() -> std::vector<ProbeResult> {
    return {{vendor, false, reason, false}};
  };
  info.canonical = [](std::string_view suffix) {
    return std::string(suffix.empty() ? "0" : suffix);
  };
  info.open = [vendor, reason](std::string_view suffix) -> std::unique_ptr<Backend> {
    throw SystemError(fmt::format("[open_device] {}:{} is absent: {}", vendor, suffix, reason));
  };
  return info;
}

}  // namespace

void detail::register_builtin_backends(std::vector<BackendInfo>& list) {
  list.push_back(amd::backend_info());
  list.push_back(unbuilt("NV", "kernel driver nvidia (/dev/nvidiactl)"));
  list.push_back(unbuilt("QCOM", "kernel driver kgsl (/dev/kgsl-3d0)"));
  list.push_back(unbuilt("CL", "OpenCL (libOpenCL)"));
  list.push_back(unbuilt("METAL", "Metal (macOS)"));
  list.push_back(unbuilt("CUDA", "CUDA driver API (libcuda)"));
  list.push_back(unbuilt("WEBGPU", "a webgpu.h implementation"));
  list.push_back(cpu::backend_info());
  list.push_back(null::backend_info());
}

}  // namespace tiny
