// SPDX-License-Identifier: MIT
// The render node: what libdrm asks at initialisation, and the mmap of buffers.
#include "models/amd/chip.h"
#include "models/amd/sysfs.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

using interpose::Result;

struct DrmVersion {
  int32_t major, minor, patch, pad;
  uint64_t name_length_B, name, date_length_B, date, desc_length_B, desc;
};
static_assert(sizeof(DrmVersion) == 64);

struct DrmInfo {
  uint64_t return_pointer;
  uint32_t return_size, query, detail[4];
};
static_assert(sizeof(DrmInfo) == 32);

void give(uint64_t pointer, uint64_t& length_B, std::string_view text) {
  if (pointer)
    std::memcpy(reinterpret_cast<void*>(pointer), text.data(),
                std::min<size_t>(length_B, text.size()));
  length_B = text.size();
}

Result version(DrmVersion& v) {
  v.major = 3;
  v.minor = 57;
  v.patch = 0;
  give(v.name, v.name_length_B, "amdgpu");
  give(v.date, v.date_length_B, "20150101");
  give(v.desc, v.desc_length_B, "AMD GPU");
  return 0;
}

class Bytes {
 public:
  explicit Bytes(size_t size) : bytes_(size) {}
  template <class T>
  Bytes& put(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> word(uint32_t value) { return Bytes(4).put(0, value).take(); }

/// drm_amdgpu_info_device of Linux 6.12.
std::vector<std::byte> device_info(const Gpu& gpu) {
  const Profile& p = gpu.profile;
  Bytes b(440);
  b.put<uint32_t>(0, p.device_id).put<uint32_t>(4, 1).put<uint32_t>(8, p.gfx11() ? 0x11 : 0x28);
  b.put<uint32_t>(12, 0xc8).put<uint32_t>(16, p.family).put<uint32_t>(20, p.shader_engines());
  b.put<uint32_t>(24, p.simd_arrays_per_engine).put<uint32_t>(28, uint32_t(kClock_Hz / 1000));
  b.put<uint64_t>(32, uint64_t(p.engine_clock_MHz) * 1000).put<uint64_t>(40, 1'249'000);
  b.put<uint32_t>(48, p.cu_count());
  for (unsigned se = 0; se < std::min(p.shader_engines(), 4u); ++se)
    for (unsigned sa = 0; sa < p.simd_arrays_per_engine; ++sa)
      b.put<uint32_t>(56 + (se * 4 + sa) * 4, (1u << p.cu_per_simd_array) - 1);
  b.put<uint32_t>(120, 0xffffff).put<uint32_t>(124, 24).put<uint32_t>(128, 8).put<uint32_t>(132, 4);
  b.put<uint64_t>(144, 0x200000).put<uint64_t>(152, 0x800000000000).put<uint32_t>(160, kPage_B);
  b.put<uint32_t>(164, 0x200000).put<uint32_t>(168, kPage_B).put<uint32_t>(176, 9);
  b.put<uint32_t>(180, 384).put<uint32_t>(240, 32).put<uint32_t>(244, 512);
  b.put<uint32_t>(248, p.cu_per_simd_array).put<uint32_t>(252, 24).put<uint32_t>(268, 16);
  b.put<uint64_t>(336, 0xffff800000000000).put<uint64_t>(344, 0xffffffffffe00000);
  b.put<uint32_t>(384, 32).put<uint32_t>(388, 2).put<uint32_t>(392, 16).put<uint32_t>(396, 32);
  b.put<uint32_t>(400, 256).put<uint32_t>(404, 6144).put<uint64_t>(408, 96ull << 20);
  return b.take();
}

std::vector<std::byte> memory_info(const Gpu& gpu) {
  const Options& options = gpu.kernel.options;
  const uint64_t vram = vram_of(options, gpu.profile);
  const uint64_t visible = options.large_bar ? vram : 256ull << 20, gtt = 8ull << 30;
  Bytes b(96);
  const auto heap = [&](size_t at, uint64_t total, uint64_t used) {
    b.put(at, total).put(at + 8, total).put(at + 16, used).put(at + 24, total * 3 / 4);
  };
  heap(0, vram, gpu.vram_used_B);
  heap(32, visible, std::min(visible, gpu.vram_used_B));
  heap(64, gtt, 0);
  return b.take();
}

std::vector<std::byte> hw_ip(const Gpu& gpu, uint32_t type) {
  Bytes b(32);
  if (type == 1 || type == 0)
    b.put<uint32_t>(0, gpu.profile.gc_major).put<uint32_t>(4, gpu.profile.gc_minor);
  if (type == 2) b.put<uint32_t>(0, gpu.profile.sdma_major);
  if (type <= 2) b.put<uint32_t>(16, 32).put<uint32_t>(20, 4).put<uint32_t>(24, 1);
  return b.take();
}

Result info(Kernel& k, Gpu& gpu, const DrmInfo& a) {
  enum Query : uint32_t {
    kAccel = 0,
    kHwIp = 2,
    kHwIpCount = 3,
    kTimestamp = 5,
    kFirmware = 0xe,
    kVramUsage = 0x10,
    kGttUsage = 0x11,
    kVramGtt = 0x14,
    kReadMmr = 0x15,
    kDevice = 0x16,
    kVisibleUsage = 0x17,
    kMemory = 0x19,
    kVramLost = 0x1f,
  };
  std::vector<std::byte> out;
  switch (a.query) {
    case kAccel:
      out = word(1);
      break;
    case kHwIp:
      out = hw_ip(gpu, a.detail[0]);
      break;
    case kHwIpCount:
      out = word(a.detail[0] <= 2);
      break;
    case kTimestamp:
      out = Bytes(8).put(0, gpu_clock()).take();
      break;
    case kFirmware:
      out = Bytes(8).put<uint32_t>(0, gpu.profile.fw_version).take();
      break;
    case kVramUsage:
    case kVisibleUsage:
      out = Bytes(8).put(0, gpu.vram_used_B).take();
      break;
    case kGttUsage:
      out = Bytes(8).take();
      break;
    case kVramGtt: {
      const uint64_t vram = vram_of(k.options, gpu.profile);
      out = Bytes(24)
                .put(0, vram)
                .put<uint64_t>(8, k.options.large_bar ? vram : 256ull << 20)
                .put<uint64_t>(16, 8ull << 30)
                .take();
      break;
    }
    case kReadMmr:
      out.resize(size_t(std::min(a.detail[1], 64u)) * 4);
      break;
    case kDevice:
      out = device_info(gpu);
      break;
    case kMemory:
      out = memory_info(gpu);
      break;
    case kVramLost:
      out = word(0);
      break;
    default:
      return k.refuse(EINVAL, fmt::format("DRM INFO query 0x{:x} is not modelled", a.query));
  }
  if (!a.return_pointer) return -EFAULT;
  std::memcpy(reinterpret_cast<void*>(a.return_pointer), out.data(),
              std::min<size_t>(a.return_size, out.size()));
  return 0;
}

}  // namespace

interpose::Result Kernel::drm_ioctl(Gpu& gpu, unsigned long request, void* argument) {
  CallerLock lock(*this);
  ++stats.ioctls;
  constexpr unsigned kVersion = 0x00, kInfo = 0x45;
  if (_IOC_TYPE(request) != 'd' || !argument) return refuse(ENOTTY, "ioctl of a render node");
  const unsigned nr = _IOC_NR(request);
  if (const int error = injected('d', nr)) return error;
  if (nr == kVersion && _IOC_SIZE(request) == sizeof(DrmVersion))
    return version(*static_cast<DrmVersion*>(argument));
  if (nr == kInfo && _IOC_SIZE(request) == sizeof(DrmInfo))
    return info(*this, gpu, *static_cast<const DrmInfo*>(argument));
  return refuse(EINVAL, fmt::format("DRM ioctl 0x{:x} is not modelled", request));
}

/// Buffers are found by the offset that their allocation returned.
interpose::Result Kernel::drm_map(Gpu& gpu, const interpose::MapRequest& request) {
  CallerLock lock(*this);
  for (const auto& [handle, bo] : bos) {
    if (bo->gpu != gpu.index || bo->mmap_offset != request.offset_B) continue;
    if (bo->domain == Domain::userptr) return refuse(EPERM, "mmap of a user pointer's buffer");
    if (request.length_B > bo->size_B)
      return refuse(EINVAL, fmt::format("mmap of 0x{:x} bytes, the buffer has 0x{:x}",
                                        request.length_B, bo->size_B));
    const bool visible = bo->domain != Domain::vram || (bo->flags & abi::kPublic);
    if (!visible && request.prot != PROT_NONE)
      return refuse(EPERM, "mmap of VRAM that was not allocated PUBLIC");
    void* const at = ::mmap(request.address, request.length_B, request.prot, request.flags,
                            file.fd(), off_t(bo->file_offset_B));
    return at == MAP_FAILED ? -errno : Result(reinterpret_cast<uintptr_t>(at));
  }
  return refuse(EINVAL, fmt::format("mmap at offset 0x{:x}: no such buffer", request.offset_B));
}

}  // namespace tiny::models::amd
