// SPDX-License-Identifier: MIT
#include "drivers/amd/topology.h"

#include "drivers/amd/kfd_abi.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>

namespace tiny::amd {
namespace {

constexpr uint32_t kMaxNodes = 1024, kMaxEntries = 256;
constexpr size_t kMaxFile_B = 1 << 16;

struct FileText {
  std::string text;
  int error = 0;
};

FileText read_text(const std::string& path) {
  FileText out;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {"", errno};
  char chunk[4096];
  while (out.text.size() < kMaxFile_B) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) out.error = errno;
    if (n <= 0) break;
    out.text.append(chunk, static_cast<size_t>(n));
  }
  ::close(fd);
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0'))
    text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A node's properties with the names missing noted.
class Reader {
 public:
  explicit Reader(Properties properties) : properties_(std::move(properties)) {}

  uint64_t get(std::string_view name, uint64_t otherwise = 0) const {
    const auto found = properties_.find(name);
    return found == properties_.end() ? otherwise : found->second;
  }
  /// In [1, limit], else `problem` is set.
  uint32_t need(std::string_view name, uint64_t limit) {
    const uint64_t value = get(name);
    if ((value == 0 || value > limit) && problem.empty())
      problem = fmt::format("its {} is {}, which makes no sense", name, value);
    return static_cast<uint32_t>(value);
  }
  std::optional<uint32_t> maybe(std::string_view name) const {
    const uint64_t value = get(name);
    return value && value <= UINT32_MAX ? std::optional(static_cast<uint32_t>(value))
                                        : std::nullopt;
  }
  std::string problem;

 private:
  Properties properties_;
};

void read_memory(const std::string& folder, uint64_t count, Gpu& gpu) {
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxEntries); ++i) {
    const Reader bank(
        parse_properties(read_text(fmt::format("{}/mem_banks/{}/properties", folder, i)).text));
    const uint64_t type = bank.get("heap_type"), size_B = bank.get("size_in_bytes");
    if (type != HSA_MEM_HEAP_TYPE_FB_PUBLIC && type != HSA_MEM_HEAP_TYPE_FB_PRIVATE) continue;
    gpu.vram_B += size_B;
    if (type == HSA_MEM_HEAP_TYPE_FB_PUBLIC) gpu.visible_vram_B += size_B;
  }
  gpu.large_bar = gpu.vram_B && gpu.visible_vram_B == gpu.vram_B;
}

void read_caches(const std::string& folder, uint64_t count, Gpu& gpu) {
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxEntries); ++i) {
    const Reader cache(
        parse_properties(read_text(fmt::format("{}/caches/{}/properties", folder, i)).text));
    if (cache.get("level") == 2) gpu.l2_B = std::max(gpu.l2_B, cache.get("size") << 10);
  }
}

void read_links(const std::string& folder, uint64_t count, Gpu& gpu) {
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxEntries); ++i) {
    const Reader link(
        parse_properties(read_text(fmt::format("{}/io_links/{}/properties", folder, i)).text));
    if (link.get("node_to") == 0 && link.get("flags") & HSA_IOLINK_FLAGS_NO_ATOMICS_64_BIT)
      gpu.host_atomics = false;
  }
}

std::string render_problem(const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) == 0) return {};
  const int err = errno;
  if (err == EACCES)
    return fmt::format("{} may not be opened: join the groups `render` and `video`", path);
  return fmt::format("its render node {} cannot be reached: {}", path, std::strerror(err));
}

/// Fills the GPU; returns why it cannot be used.
std::string read_gpu(const SystemPaths& paths, const std::string& folder, Gpu& gpu) {
  const FileText properties = read_text(folder + "/properties");
  if (properties.error)
    return fmt::format("its properties cannot be read: {}", std::strerror(properties.error));
  Reader r(parse_properties(properties.text));
  gpu.name = trimmed(read_text(folder + "/name").text);
  const uint64_t location = r.get("location_id");
  gpu.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{}", r.get("domain"), location >> 8 & 0xff,
                                location >> 3 & 0x1f, location & 7);
  const uint32_t version = r.need("gfx_target_version", 999999);
  SaveAreaInput& s = gpu.save_area;
  s.gfx_target_version = version;
  s.simd_count = r.need("simd_count", 1 << 16);
  s.simd_per_cu = r.need("simd_per_cu", 64);
  s.num_xcc = static_cast<uint32_t>(std::max<uint64_t>(r.get("num_xcc", 1), 1));
  s.array_count = r.need("array_count", 1 << 12);
  s.simd_arrays_per_engine = r.need("simd_arrays_per_engine", 1 << 8);
  s.lds_size_in_kb = r.need("lds_size_in_kb", 1 << 12);
  s.cwsr_size = r.maybe("cwsr_size");
  s.ctl_stack_size = r.maybe("ctl_stack_size");
  gpu.render_minor = r.need("drm_render_minor", 1 << 20);
  gpu.max_waves_per_simd = r.need("max_waves_per_simd", 256);
  gpu.scratch_slots_per_cu = r.need("max_slots_scratch_cu", 1 << 12);
  if (!r.problem.empty()) return r.problem;
  gpu.generation = find_generation(version);
  const std::string arch = arch_name(version).text;
  if (!gpu.generation) return fmt::format("{} is no chip this driver knows", arch);
  if (s.num_xcc != 1) return fmt::format("{} with {} dies is not supported", arch, s.num_xcc);
  const uint64_t capability = r.get("capability");
  if ((capability & HSA_CAP_DOORBELL_TYPE_TOTALBITS_MASK) >>
          HSA_CAP_DOORBELL_TYPE_TOTALBITS_SHIFT !=
      HSA_CAP_DOORBELL_TYPE_2_0)
    return fmt::format("{} without 64-bit doorbells (capability {:#x})", arch, capability);
  gpu.compute_units = s.simd_count / s.simd_per_cu;
  gpu.shader_engines = s.array_count / s.simd_arrays_per_engine;
  if (gpu.compute_units == 0 || gpu.shader_engines == 0)
    return fmt::format("{} with {} SIMDs and {} arrays makes no sense", arch, s.simd_count,
                       s.array_count);
  gpu.lds_B = s.lds_size_in_kb << 10;
  gpu.sdma_engines = static_cast<uint32_t>(r.get("num_sdma_engines"));
  read_memory(folder, r.get("mem_banks_count"), gpu);
  if (gpu.vram_B == 0) return fmt::format("{} without memory of its own", arch);
  read_caches(folder, r.get("caches_count"), gpu);
  read_links(folder, r.get("io_links_count"), gpu);
  return render_problem(fmt::format("{}/renderD{}", paths.dri, gpu.render_minor));
}

void read_nodes(const SystemPaths& paths, Topology& out) {
  for (uint32_t node = 0; node < kMaxNodes; ++node) {
    const std::string folder = fmt::format("{}/nodes/{}", paths.topology, node);
    const FileText id = read_text(folder + "/gpu_id");
    if (id.error == ENOENT) return;
    if (id.error) {
      out.skipped.push_back({node, id.error == EPERM
                                       ? "hidden from this process by its device cgroup"
                                       : std::string(std::strerror(id.error))});
      continue;
    }
    const auto gpu_id = to_number(trimmed(id.text));
    if (!gpu_id || *gpu_id > UINT32_MAX) {
      out.skipped.push_back({node, "its gpu_id is no number"});
      continue;
    }
    if (*gpu_id == 0) continue;  // a processor
    Gpu gpu;
    gpu.node = node;
    gpu.gpu_id = static_cast<uint32_t>(*gpu_id);
    std::string problem = read_gpu(paths, folder, gpu);
    if (problem.empty())
      out.gpus.push_back(std::move(gpu));
    else
      out.skipped.push_back({node, std::move(problem)});
  }
}

std::string kfd_problem(const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) == 0) return {};
  const int err = errno;
  if (err == ENOENT) return fmt::format("no {}: the amdgpu kernel driver is not loaded", path);
  if (err == EACCES)
    return fmt::format("{} may not be opened: join the groups `render` and `video`", path);
  return fmt::format("{}: {}", path, std::strerror(err));
}

Topology read_snapshot(const SystemPaths& paths) {
  constexpr int kTries = 5;  // the generation changes while GPUs come and go
  for (int i = 0;; ++i) {
    Topology out;
    const FileText before = read_text(paths.topology + "/generation_id");
    if (before.error) {
      out.absent = fmt::format("{}: {}", paths.topology, std::strerror(before.error));
      return out;
    }
    read_nodes(paths, out);
    if (read_text(paths.topology + "/generation_id").text == before.text || i == kTries) return out;
  }
}

}  // namespace

Properties parse_properties(std::string_view text) {
  Properties out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0) continue;
    if (const auto value = to_number(trimmed(line.substr(space + 1))))
      out.insert_or_assign(std::string(line.substr(0, space)), *value);
  }
  return out;
}

std::string Gpu::description() const {
  return fmt::format("{} ({}), {} CUs, {} MiB, {}", generation->arch, name, compute_units,
                     vram_B >> 20, pci_address);
}

Topology read_topology(const SystemPaths& paths) noexcept try {
  Topology out;
  out.absent = kfd_problem(paths.kfd);
  if (!out.absent.empty()) return out;
  out = read_snapshot(paths);
  if (out.absent.empty() && out.gpus.empty() && out.skipped.empty())
    out.absent = "the amdgpu kernel driver is loaded but has no GPU";
  return out;
} catch (const std::exception& e) {
  Topology out;
  out.absent = e.what();
  return out;
}

}  // namespace tiny::amd
