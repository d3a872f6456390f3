// SPDX-License-Identifier: MIT
// `tiny devices`: what this machine has, and why it does not have the rest.
#include "tools/tiny/commands.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>

#include <algorithm>
#include <vector>

namespace tiny::tool {
namespace {

/// The last line. An unknown DEV is the caller's mistake and throws; an absent one is an answer.
std::string default_line(const std::vector<ProbeResult>& devices) {
  const std::string chosen = knobs().dev.empty() ? "the best one present" : "DEV=" + knobs().dev;
  for (const ProbeResult& d : devices)
    if (d.is_default && d.present) return fmt::format("default: {} ({})", d.spec, chosen);
  try {
    return fmt::format("default: {} ({})", default_device()->name(), chosen);
  } catch (const SystemError& e) {
    return fmt::format("default: none ({}: {})", chosen, e.what());
  }
}

}  // namespace

int run_devices(std::span<const std::string>) {
  const std::vector<ProbeResult> devices = probe_devices();
  const std::string last = default_line(devices);
  size_t width = 0;
  for (const ProbeResult& d : devices) width = std::max(width, d.spec.size());
  for (const ProbeResult& d : devices)
    fmt::print("{} {:<{}}  {:<7}  {}\n", d.is_default && d.present ? '*' : ' ', d.spec, width,
               d.present ? "present" : "absent", d.reason);
  fmt::print("{}\n", last);
  return 0;
}

}  // namespace tiny::tool
