// SPDX-License-Identifier: MIT
#include "models/amd/sysfs.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr const char* kTopology = "/sys/devices/virtual/kfd/kfd/topology";
constexpr uint64_t kSystemMemory_B = 16ull << 30;

class Properties {
 public:
  Properties& add(std::string_view key, uint64_t value) {
    text_ += fmt::format("{} {}\n", key, value);
    return *this;
  }
  operator std::string() const { return text_; }  // NOLINT

 private:
  std::string text_;
};

/// A file that opens, but whose read is refused: what a device cgroup does to gpu_id.
class Refused : public interpose::File {
 public:
  interpose::Result read(std::span<std::byte>, uint64_t) override { return -EPERM; }
};

bool contains(const std::vector<unsigned>& list, unsigned value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

struct Writer {
  interpose::Tree& tree;
  const Options& options;
  const Profile& p;

  void system() {
    tree.add_file(std::string(kTopology) + "/generation_id", "2\n");
    tree.add_file(std::string(kTopology) + "/system_properties",
                  Properties().add("platform_oem", 0).add("platform_id", 0).add("platform_rev", 0));
    tree.add_link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd");
    tree.add_file("/sys/module/amdgpu/initstate", "live\n");
    tree.add_file("/sys/module/amdgpu/version", "6.12.0\n");
    tree.add_file("/sys/module/amdgpu/refcnt", "1\n");
    tree.add_directory("/sys/module/amdgpu/holders");
    tree.add_directory("/sys/module/amdgpu/parameters");
    tree.add_file("/proc/modules", "amdgpu 15204352 1 - Live 0x0000000000000000\n");
  }

  std::string node(unsigned n) const { return fmt::format("{}/nodes/{}", kTopology, n); }

  void memory_bank(const std::string& at, uint32_t heap, uint64_t size_B, uint32_t width,
                   uint32_t clock) {
    tree.add_file(at + "/properties", Properties()
                                          .add("heap_type", heap)
                                          .add("size_in_bytes", size_B)
                                          .add("flags", 0)
                                          .add("width", width)
                                          .add("mem_clk_max", clock));
  }

  void cache(const std::string& at, uint32_t level, uint32_t size_KiB, uint32_t type,
             uint32_t line_B, uint32_t first) {
    tree.add_file(at + "/properties", std::string(Properties()
                                                      .add("processor_id_low", first)
                                                      .add("level", level)
                                                      .add("size", size_KiB)
                                                      .add("cache_line_size", line_B)
                                                      .add("cache_lines_per_tag", 1)
                                                      .add("association", 16)
                                                      .add("latency", 0)
                                                      .add("type", type)) +
                                          "sibling_map 1\n");
  }

  /// The processor and other GPUs have a link to a GPU only where its BAR shows all of its memory
  /// (kfd_crat.c, amdgpu_device_is_peer_accessible).
  unsigned links_over_bar(unsigned count) const { return options.large_bar ? count : 0; }

  void link(const std::string& at, unsigned from, unsigned to, uint32_t weight) {
    const uint32_t flags = 1u | (options.no_atomics64 ? 1u << 3 : 0u);
    tree.add_file(at + "/properties", Properties()
                                          .add("type", 2)
                                          .add("version_major", 0)
                                          .add("version_minor", 0)
                                          .add("node_from", from)
                                          .add("node_to", to)
                                          .add("weight", weight)
                                          .add("min_latency", 0)
                                          .add("max_latency", 0)
                                          .add("min_bandwidth", 312)
                                          .add("max_bandwidth", 31504)
                                          .add("recommended_transfer_size", 0)
                                          .add("recommended_sdma_engine_id_mask", 0)
                                          .add("flags", flags));
  }

  void cpu_node() {
    const std::string at = node(0);
    tree.add_file(at + "/gpu_id", "0\n");
    tree.add_file(at + "/name", "\n");
    tree.add_file(at + "/properties", Properties()
                                          .add("cpu_cores_count", 2)
                                          .add("simd_count", 0)
                                          .add("mem_banks_count", 1)
                                          .add("caches_count", 1)
                                          .add("io_links_count", links_over_bar(options.gpus))
                                          .add("p2p_links_count", 0)
                                          .add("cpu_core_id_base", 0)
                                          .add("simd_id_base", 0)
                                          .add("max_waves_per_simd", 0)
                                          .add("lds_size_in_kb", 0)
                                          .add("gds_size_in_kb", 0)
                                          .add("num_gws", 0)
                                          .add("wave_front_size", 0)
                                          .add("array_count", 0)
                                          .add("simd_arrays_per_engine", 0)
                                          .add("cu_per_simd_array", 0)
                                          .add("simd_per_cu", 0)
                                          .add("max_slots_scratch_cu", 0)
                                          .add("gfx_target_version", 0)
                                          .add("vendor_id", 0)
                                          .add("device_id", 0)
                                          .add("location_id", 0)
                                          .add("domain", 0)
                                          .add("drm_render_minor", 0)
                                          .add("hive_id", 0)
                                          .add("num_sdma_engines", 0)
                                          .add("num_sdma_xgmi_engines", 0)
                                          .add("num_sdma_queues_per_engine", 0)
                                          .add("num_cp_queues", 0)
                                          .add("max_engine_clk_ccompute", 3000));
    memory_bank(at + "/mem_banks/0", 0, kSystemMemory_B, 64, 3200);
    // libhsakmt up to 6.2 reads the CPU's caches elsewhere, and fails where a VM has none there,
    // unless this says that there are some.
    cache(at + "/caches/0", 1, 32, 5, 64, 0);
    for (unsigned gpu = 0; gpu < links_over_bar(options.gpus); ++gpu)
      link(fmt::format("{}/io_links/{}", at, gpu), 0, gpu + 1, 20);
    tree.add_directory(at + "/io_links");
    tree.add_directory(at + "/p2p_links");
    tree.add_directory(at + "/perf");
  }

  Properties gpu_properties(unsigned gpu) const {
    Properties text;
    text.add("cpu_cores_count", 0)
        .add("simd_count", p.simd_count)
        .add("mem_banks_count", 1)
        .add("caches_count", 3)
        .add("io_links_count", 1)
        .add("p2p_links_count", links_over_bar(options.gpus - 1))
        .add("cpu_core_id_base", 0)
        .add("simd_id_base", 0x80001000u + gpu * 0x1000)
        .add("max_waves_per_simd", p.max_waves_per_simd)
        .add("lds_size_in_kb", p.lds_KiB)
        .add("gds_size_in_kb", 0)
        .add("num_gws", 64)
        .add("wave_front_size", 32)
        .add("array_count", p.array_count)
        .add("simd_arrays_per_engine", p.simd_arrays_per_engine)
        .add("cu_per_simd_array", p.cu_per_simd_array)
        .add("simd_per_cu", p.simd_per_cu)
        .add("max_slots_scratch_cu", 32)
        .add("gfx_target_version", p.gfx_target_version)
        .add("vendor_id", 0x1002)
        .add("device_id", p.device_id)
        .add("location_id", uint64_t(3 + gpu) << 8)
        .add("domain", 0)
        .add("drm_render_minor", kFirstRenderMinor + gpu)
        .add("hive_id", 0)
        .add("num_sdma_engines", p.sdma_engines)
        .add("num_sdma_xgmi_engines", 0)
        .add("num_sdma_queues_per_engine", p.sdma_queues_per_engine)
        .add("num_cp_queues", p.cp_queues)
        .add("max_engine_clk_fcompute", p.engine_clock_MHz)
        .add("local_mem_size", 0)
        .add("fw_version", p.fw_version)
        .add("capability", p.capability)
        .add("debug_prop", 1495)
        .add("sdma_fw_version", p.sdma_fw_version)
        .add("unique_id", 0x1d5f2a0c3b7e4411ull + gpu)
        .add("num_xcc", 1);
    if (options.sysfs_sizes)
      text.add("cwsr_size", p.cwsr_B()).add("ctl_stack_size", p.ctl_stack_B());
    return text.add("max_engine_clk_ccompute", 3000);
  }

  void gpu_id_file(unsigned gpu) {
    const std::string at = node(gpu + 1) + "/gpu_id";
    if (!contains(options.hidden, gpu)) {
      tree.add_file(at, fmt::format("{}\n", gpu_id_of(gpu)));
      return;
    }
    tree.add_device(at, 0, [](const interpose::OpenRequest&) {
      return interpose::Opened{std::make_shared<Refused>(), 0};
    });
  }

  void gpu_node(unsigned gpu) {
    const std::string at = node(gpu + 1);
    gpu_id_file(gpu);
    tree.add_file(at + "/name", "ip discovery\n");
    tree.add_file(at + "/properties", gpu_properties(gpu));
    const uint64_t vram_B = vram_of(options, p);
    // One bank: where the CPU reaches only a part of it, all of it is private (kfd_crat.c).
    memory_bank(at + "/mem_banks/0", options.large_bar ? 1 : 2, vram_B, 384, 1249);
    const uint32_t first = 0x80001000u + gpu * 0x1000;
    cache(at + "/caches/0", 1, 32, 9, 128, first);
    cache(at + "/caches/1", 2, 6144, 9, 128, first);
    cache(at + "/caches/2", 3, 98304, 9, 64, first);
    link(at + "/io_links/0", gpu + 1, 0, 20);
    unsigned links = 0;
    for (unsigned peer = 0; peer < links_over_bar(options.gpus); ++peer)
      if (peer != gpu) link(fmt::format("{}/p2p_links/{}", at, links++), gpu + 1, peer + 1, 40);
    tree.add_directory(at + "/p2p_links");
    tree.add_directory(at + "/perf");
  }

  void ip(const std::string& device, unsigned hwid, unsigned major, unsigned minor) {
    const std::string at = fmt::format("{}/ip_discovery/die/0/{}/0", device, hwid);
    tree.add_file(at + "/major", fmt::format("{}\n", major));
    tree.add_file(at + "/minor", fmt::format("{}\n", minor));
    tree.add_file(at + "/revision", "0\n");
  }

  /// The PCI device's folder, as libdrm and drivers look into it.
  void pci_device(const std::string& at, unsigned gpu) {
    const std::string slot = fmt::format("0000:{:02x}:00.0", 3 + gpu);
    tree.add_file(at + "/vendor", "0x1002\n");
    tree.add_file(at + "/device", fmt::format("0x{:04x}\n", p.device_id));
    tree.add_file(at + "/subsystem_vendor", "0x1002\n");
    tree.add_file(at + "/subsystem_device", "0x0e3b\n");
    tree.add_file(at + "/revision", "0xc8\n");
    tree.add_file(at + "/class", "0x030000\n");
    tree.add_file(at + "/uevent", fmt::format("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:{:04X}\n"
                                              "PCI_SUBSYS_ID=1002:0E3B\nPCI_SLOT_NAME={}\n",
                                              p.device_id, slot));
    tree.add_link(at + "/subsystem", "/sys/bus/pci");
    tree.add_directory(fmt::format("{}/drm/card{}", at, gpu));
    tree.add_directory(fmt::format("{}/drm/renderD{}", at, kFirstRenderMinor + gpu));
    ip(at, 11, p.gc_major, p.gc_minor);
    ip(at, 42, p.sdma_major, p.gc_major == 10 ? 2 : 0);
    ip(at, 108, p.gc_major == 10 ? 3 : 4, 3);
  }

  void drm(unsigned gpu) {
    const unsigned minor = kFirstRenderMinor + gpu;
    for (const std::string& at : {fmt::format("/sys/class/drm/renderD{}", minor),
                                  fmt::format("/sys/dev/char/226:{}", minor)}) {
      tree.add_file(at + "/dev", fmt::format("226:{}\n", minor));
      tree.add_file(at + "/uevent", fmt::format("MAJOR=226\nMINOR={}\nDEVNAME=dri/renderD{}\n"
                                                "DEVTYPE=drm_minor\n",
                                                minor, minor));
      pci_device(at + "/device", gpu);
    }
  }
};

}  // namespace

uint32_t gpu_id_of(unsigned gpu) { return (0x697du + gpu * 0x0b35u) & 0xffff; }

uint64_t vram_of(const Options& options, const Profile& profile) {
  return options.vram_B ? options.vram_B : profile.vram_B;
}

void add_sysfs(interpose::Tree& tree, const Options& options, const Profile& profile) {
  Writer writer{tree, options, profile};
  writer.system();
  writer.cpu_node();
  for (unsigned gpu = 0; gpu < options.gpus; ++gpu) {
    writer.gpu_node(gpu);
    if (!contains(options.without_render_node, gpu)) writer.drm(gpu);
  }
}

std::vector<std::string> mounted_prefixes() {
  return {"/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/class/drm", "/sys/dev/char/226:*",
          "/sys/module/amdgpu",       "/proc/modules",  "/dev/kfd",       "/dev/dri"};
}

}  // namespace tiny::models::amd
