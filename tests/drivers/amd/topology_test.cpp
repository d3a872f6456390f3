// SPDX-License-Identifier: MIT
// The description of GPUs in sysfs, from trees that the interposer serves.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "drivers/amd/clock.h"
#include "drivers/amd/topology.h"
#include "tests/drivers/amd/fake_kfd.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include <random>

using namespace tiny;
using namespace tiny::amd;
using namespace tiny::test;
using Catch::Contains;

namespace {

/// A system of its own under /tiny-system, until the end of the scope.
struct System {
  std::shared_ptr<interpose::Tree> tree = std::make_shared<interpose::Tree>();
  SystemPaths paths{"/tiny-system/topology", "/tiny-system/kfd", "/tiny-system/dri"};

  System() {
    device("kfd", 0);
    tree->add_file(paths.topology + "/generation_id", "1\n");
    add_cpu_node(*tree, paths.topology, 0);
    interpose::mount("/tiny-system", tree);
  }
  ~System() { interpose::unmount("/tiny-system"); }

  void device(const std::string& name, int error) {
    tree->add_device("/tiny-system/" + name, makedev(226, 128),
                     [error](const interpose::OpenRequest&) {
                       return interpose::Opened{nullptr, error ? error : EIO};
                     });
  }
  void gpu(uint32_t node, uint32_t render_minor, const FakeGpuOptions& options = {}) {
    add_gpu_node(*tree, paths.topology, node, 0x100 + node, render_minor, options);
    device(fmt::format("dri/renderD{}", render_minor), 0);
  }
  void file(const std::string& path, std::string text) {
    tree->add_file(paths.topology + "/nodes/" + path, std::move(text));
  }
  Topology read() const { return read_topology(paths); }
};

}  // namespace

TEST_CASE("a GPU's numbers come from its node", "[amd:1]") {
  System system;
  system.gpu(1, 128);
  const Topology t = system.read();
  REQUIRE(t.absent.empty());
  REQUIRE(t.skipped.empty());
  REQUIRE(t.gpus.size() == 1);
  const Gpu& gpu = t.gpus[0];
  REQUIRE(gpu.node == 1);
  REQUIRE(gpu.gpu_id == 0x101);
  REQUIRE(gpu.render_minor == 128);
  REQUIRE(gpu.generation->arch == "gfx1100");
  REQUIRE(gpu.compute_units == 96);
  REQUIRE(gpu.shader_engines == 6);
  REQUIRE(gpu.large_bar);
  REQUIRE(gpu.vram_B == uint64_t{24} << 30);
  REQUIRE(gpu.l2_B == 6 << 20);
  REQUIRE(gpu.pci_address == "0000:03:00.0");
  REQUIRE(gpu.host_atomics);
  REQUIRE(!gpu.save_area.cwsr_size);
  REQUIRE(save_area_sizes(gpu.save_area).total_B == 0x2c02000);
  REQUIRE(gpu.description() == "gfx1100 (ip discovery), 96 CUs, 24576 MiB, 0000:03:00.0");
}

TEST_CASE("several GPUs keep the order of their nodes, and those that cannot be used have a reason",
          "[amd:1]") {
  System system;
  system.gpu(1, 128, {.gfx_target_version = 100306});
  system.gpu(2, 129, {.large_bar = false, .extra = "cwsr_size 45981696\nctl_stack_size 40960\n"});
  system.gpu(3, 130);
  system.tree->remove("/tiny-system/dri/renderD130");
  system.gpu(4, 131);
  system.tree->remove(system.paths.topology + "/nodes/4/gpu_id");
  system.tree->add_device(
      system.paths.topology + "/nodes/4/gpu_id", makedev(1, 1),
      [](const interpose::OpenRequest&) { return interpose::Opened{nullptr, EPERM}; });
  system.gpu(5, 132, {.gfx_target_version = 90402});
  system.gpu(6, 133);
  system.file("6/io_links/0/properties", "type 2\nnode_to 0\nflags 8\n");
  const Topology t = system.read();
  REQUIRE(t.gpus.size() == 3);
  REQUIRE(t.gpus[0].generation->arch == "gfx1036");
  REQUIRE(t.gpus[1].node == 2);
  REQUIRE(!t.gpus[1].large_bar);
  REQUIRE(t.gpus[1].save_area.cwsr_size == 45981696u);
  REQUIRE(t.gpus[1].save_area.ctl_stack_size == 40960u);
  REQUIRE(t.gpus[2].node == 6);
  REQUIRE(!t.gpus[2].host_atomics);
  REQUIRE(t.skipped.size() == 3);
  REQUIRE(t.skipped[0].node == 3);
  REQUIRE_THAT(t.skipped[0].reason, Contains("renderD130"));
  REQUIRE(t.skipped[1].node == 4);
  REQUIRE_THAT(t.skipped[1].reason, Contains("hidden"));
  REQUIRE(t.skipped[2].node == 5);
  REQUIRE_THAT(t.skipped[2].reason, Contains("gfx942"));
}

TEST_CASE("a system without GPUs, driver or permission says so", "[amd:1]") {
  System system;
  REQUIRE_THAT(system.read().absent, Contains("has no GPU"));
  SystemPaths none = system.paths;
  none.kfd = "/tiny-system/nothing";
  REQUIRE_THAT(read_topology(none).absent, Contains("no /tiny-system/nothing"));
  SystemPaths empty = system.paths;
  empty.topology = "/tiny-system/elsewhere";
  REQUIRE_THAT(read_topology(empty).absent, Contains("/tiny-system/elsewhere"));
}

TEST_CASE("nodes that make no sense are skipped with what is wrong") {
  for (const auto& [from, to, why] : std::initializer_list<std::array<const char*, 3>>{
           {"simd_count 192", "simd_count 0", "simd_count"},
           {"simd_per_cu 2", "simd_per_cu 9999999999", "simd_per_cu"},
           {"array_count 12", "array_count 1", "makes no sense"},
           {"num_xcc 1", "num_xcc 8", "8 dies"},
           {"capability 671588992", "capability 0", "64-bit doorbells"},
           {"drm_render_minor 128", "drm_render_minor -1", "drm_render_minor"},
           {"gfx_target_version 110000", "gfx_target_version 80300", "gfx830"}}) {
    System system;
    system.gpu(1, 128);
    // The served file is made again with one line changed.
    std::string text =
        "simd_count 192\nmem_banks_count 1\nmax_waves_per_simd 16\nlds_size_in_kb 64\n"
        "array_count 12\nsimd_arrays_per_engine 2\nsimd_per_cu 2\nmax_slots_scratch_cu 32\n"
        "gfx_target_version 110000\ndrm_render_minor 128\nnum_xcc 1\ncapability 671588992\n";
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(from).size(), to);
    system.file("1/properties", text);
    const Topology t = system.read();
    REQUIRE(t.gpus.empty());
    REQUIRE(t.skipped.size() == 1);
    CHECK_THAT(t.skipped[0].reason, Contains(why));
  }
  System system;
  system.gpu(1, 128);
  system.file("1/gpu_id", "garbage\n");
  REQUIRE_THAT(system.read().skipped.at(0).reason, Contains("no number"));
}

namespace {

void read_damaged(int runs) {
  std::mt19937 random(5);
  System system;
  system.gpu(1, 128);
  const std::string good = node_properties({}, 128);
  for (int run = 0; run < runs; ++run) {
    std::string text = good;
    for (uint32_t i = 0; i < 1 + random() % 8; ++i) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 40);
      else
        text[at] =
            random() % 4 ? static_cast<char>('0' + random() % 10) : static_cast<char>(random());
      if (text.empty()) text = "x";
    }
    system.file("1/properties", text);
    if (run % 10 == 0) system.file("1/mem_banks/0/properties", text);
    const Topology t = system.read();
    REQUIRE(t.gpus.size() + t.skipped.size() == 1);
    for (const Gpu& gpu : t.gpus) REQUIRE(save_area_sizes(gpu.save_area).total_B > 0);
  }
}

}  // namespace

TEST_CASE("random bytes in the tree never hurt", "[amd:1]") { read_damaged(3000); }

TEST_CASE("a million damaged trees", "[.long]") { read_damaged(1'000'000); }

TEST_CASE("properties are lines of a name and a number") {
  const Properties p = parse_properties("a 1\n\nb  2\nc x\n d 4\ne 18446744073709551615\nf 7");
  REQUIRE(p == Properties{{"a", 1}, {"e", ~uint64_t{0}}, {"f", 7}});
}

TEST_CASE("the GPU's clock is put on the host's") {
  ClockMap clock({1000, 5'000'000'000}, 100'000'000);
  REQUIRE(clock.to_host_ns(1000) == 5'000'000'000);
  REQUIRE(clock.to_host_ns(1100) == 5'000'001'000);
  REQUIRE(clock.to_host_ns(900) == 4'999'999'000);
  REQUIRE(!clock.wants_sample(5'400'000'000));
  REQUIRE(clock.wants_sample(5'500'000'000));
  // It turns out to run a little fast.
  clock.add({1000 + 100'010'000, 6'000'000'000});
  REQUIRE(clock.to_host_ns(1000 + 100'010'000) == 6'000'000'000);
  const auto near = static_cast<int64_t>(clock.to_host_ns(1000));
  REQUIRE(std::abs(near - 5'000'000'000) <= 1);
}
