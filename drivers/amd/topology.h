// SPDX-License-Identifier: MIT
// Which GPUs there are, read from the kernel's description in sysfs; opens no device. Everything
// that is not usable has a reason.
#pragma once

#include "drivers/amd/generation.h"
#include "drivers/amd/save_area.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::amd {

/// Where the system keeps things; tests point elsewhere.
struct SystemPaths {
  std::string topology = "/sys/devices/virtual/kfd/kfd/topology";
  std::string kfd = "/dev/kfd";
  std::string dri = "/dev/dri";
};

struct Gpu {
  uint32_t node = 0, gpu_id = 0, render_minor = 0;
  const Generation* generation = nullptr;
  std::string name;         ///< "navi31" or "ip discovery"
  std::string pci_address;  ///< "0000:03:00.0"
  uint32_t compute_units = 0, shader_engines = 1, max_waves_per_simd = 0;
  uint32_t scratch_slots_per_cu = 0;
  uint32_t lds_B = 0, sdma_engines = 0;
  uint64_t vram_B = 0, visible_vram_B = 0;
  uint64_t l2_B = 0;
  bool large_bar = false;    ///< the host can reach all of VRAM
  bool host_atomics = true;  ///< 64-bit atomics over the link to the host
  SaveAreaInput save_area;
  std::string description() const;
};

struct SkippedNode {
  uint32_t node = 0;
  std::string reason;
};

struct Topology {
  std::vector<Gpu> gpus;  ///< usable ones, in node order: AMD:0, AMD:1, …
  std::vector<SkippedNode> skipped;
  std::string absent;  ///< why there is nothing at all; empty otherwise
};

/// Never throws.
Topology read_topology(const SystemPaths& = {}) noexcept;

using Properties = std::map<std::string, uint64_t, std::less<>>;
/// "name value" lines; what is no such line is dropped.
Properties parse_properties(std::string_view text);

}  // namespace tiny::amd
