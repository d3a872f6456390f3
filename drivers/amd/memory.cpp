// SPDX-License-Identifier: MIT
#include "drivers/amd/memory.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/log.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>

namespace tiny::amd {
namespace {

/// Wide enough that an index that is off by a row of a matrix faults instead of hitting the
/// neighbour.
constexpr uint64_t kGap_B = 64 << 10;
/// Large pages of the GPU's tables and of the host's.
constexpr uint64_t kHugePage_B = 2 << 20;
/// No GPU has more; keeps sums from overflowing.
constexpr uint64_t kLargest_B = uint64_t{1} << 44;

constexpr uint32_t kCommon = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
                             KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
constexpr uint32_t kCoherent = KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;

uint32_t flags_of(MemoryKind kind, bool large_bar) {
  switch (kind) {
    case MemoryKind::vram:
      return kCommon | KFD_IOC_ALLOC_MEM_FLAGS_VRAM |
             (large_bar ? KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC : 0);
    case MemoryKind::gtt:
      return kCommon | KFD_IOC_ALLOC_MEM_FLAGS_GTT;
    case MemoryKind::gtt_uncached:
      return kCommon | kCoherent | KFD_IOC_ALLOC_MEM_FLAGS_GTT;
    case MemoryKind::user:
      break;
  }
  return kCommon | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
}

}  // namespace

Memory::Memory(std::shared_ptr<Kfd> kfd, uint32_t gpu_id, int render_fd, bool large_bar)
    : kfd_(std::move(kfd)),
      gpu_id_(gpu_id),
      render_fd_(render_fd),
      large_bar_(large_bar),
      apertures_(kfd_->apertures(gpu_id)) {
  if (large_bar_) map_hdp_flush();
}

Memory::~Memory() {
  if (!hdp_flush_) return;
  release(hdp_region_);
}

/// Without it the host does not write to VRAM itself: see host_reaches_vram.
void Memory::map_hdp_flush() noexcept try {
  Region r;
  r.size_B = kPage_B;
  r.reserved_B = kPage_B;
  r.reserved = reserve_addresses(r.reserved_B);
  r.address = reinterpret_cast<uint64_t>(r.reserved);
  const auto allocation =
      kfd_->allocate(gpu_id_, r.address, kPage_B,
                     KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                         KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE);
  if (!allocation) {
    ::munmap(r.reserved, r.reserved_B);
    return;
  }
  r.handle = allocation->handle;
  void* p = kfd_->map_registers(r.reserved, kPage_B, allocation->mmap_offset);
  if (!p) {
    kfd_->free(r.handle);
    ::munmap(r.reserved, r.reserved_B);
    return;
  }
  r.kind = MemoryKind::user;  // was never mapped for the GPU
  r.host = p;
  hdp_region_ = r;
  hdp_flush_ = static_cast<volatile uint32_t*>(p);
} catch (const std::exception& e) {
  log_at(2, "amd/memory", "no flush register: {}", e.what());
}

void Memory::flush_host_stores() noexcept {
  if (!hdp_flush_) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  hdp_flush_[0] = 1;
  [[maybe_unused]] const uint32_t posted = hdp_flush_[0];  // the read waits for the write
}

/// False: out of memory. The address space stays reserved.
bool Memory::back(Region& r, uint32_t flags) {
  const auto allocation = kfd_->allocate(gpu_id_, r.address, r.size_B, flags);
  if (!allocation) return false;
  r.handle = allocation->handle;
  try {
    if (r.kind != MemoryKind::vram || host_reaches_vram()) {
      map_host(r, allocation->mmap_offset);
      r.host = reinterpret_cast<void*>(r.address);
    }
    kfd_->map(r.handle, std::span(&gpu_id_, 1));
  } catch (...) {
    kfd_->free(r.handle);
    throw;
  }
  return true;
}

void Memory::map_host(const Region& r, uint64_t mmap_offset) {
  void* const at = reinterpret_cast<void*>(r.address);
  void* p = ::mmap(at, r.size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render_fd_,
                   static_cast<off_t>(mmap_offset));
  if (p == MAP_FAILED)
    throw_system_error(fmt::format("mmap(render node, {:#x}, {} B, offset {:#x})", r.address,
                                   r.size_B, mmap_offset),
                       errno);
  if (r.kind == MemoryKind::vram) ::madvise(p, r.size_B, MADV_DONTFORK);  // nothing for a child
}

std::optional<Region> Memory::allocate(MemoryKind kind, uint64_t size_B, std::string label) {
  if (size_B > kLargest_B) return std::nullopt;
  Region r;
  r.kind = kind;
  r.size_B = align_up(std::max<uint64_t>(size_B, 1), kPage_B);
  const uint64_t align_B = r.size_B >= kHugePage_B ? kHugePage_B : kPage_B;
  r.reserved_B = r.size_B + 2 * kGap_B + align_B;
  r.reserved = reserve_addresses(r.reserved_B);
  r.address = align_up(reinterpret_cast<uint64_t>(r.reserved) + kGap_B, align_B);
  bool good = false;
  try {
    if (r.address < apertures_.gpuvm_base || r.address + r.size_B - 1 > apertures_.gpuvm_limit)
      throw SystemError(fmt::format("address {:#x} is outside the GPU's {:#x}..{:#x}", r.address,
                                    apertures_.gpuvm_base, apertures_.gpuvm_limit));
    good = back(r, flags_of(kind, large_bar_));
  } catch (...) {
    ::munmap(r.reserved, r.reserved_B);
    throw;
  }
  if (!good) {
    ::munmap(r.reserved, r.reserved_B);
    return std::nullopt;
  }
  if (!label.empty()) {
    std::lock_guard lock(mutex_);
    labels_[r.address] = {r.size_B, std::move(label)};
  }
  return r;
}

Region Memory::require(MemoryKind kind, uint64_t size_B, const std::string& label) {
  if (auto region = allocate(kind, size_B, label)) return *region;
  throw SystemError(fmt::format("out of memory: {} B for the {} ({} B are said to be free)", size_B,
                                label, kfd_->available_B(gpu_id_)));
}

void Memory::release(const Region& r) noexcept {
  if (r.reserved_B == 0) return;
  {
    std::lock_guard lock(mutex_);
    labels_.erase(r.address);
  }
  if (r.kind != MemoryKind::user) kfd_->unmap(r.handle, std::span(&gpu_id_, 1));
  ::munmap(r.reserved, r.reserved_B);
  kfd_->free(r.handle);
}

bool Memory::pin(void* pointer, uint64_t size_B) {
  const uint64_t begin = reinterpret_cast<uint64_t>(pointer) & ~(kPage_B - 1);
  const uint64_t end =
      align_up(reinterpret_cast<uint64_t>(pointer) + std::max<uint64_t>(size_B, 1), kPage_B);
  std::lock_guard lock(mutex_);
  auto next = pinned_.upper_bound(begin);
  if (next != pinned_.begin()) {
    Pinned& before = std::prev(next)->second;
    if (before.region.address + before.region.size_B >= end) {
      ++before.users;
      return true;
    }
    if (before.region.address + before.region.size_B > begin) return false;
  }
  if (next != pinned_.end() && next->first < end) return false;
  Region r;
  r.kind = MemoryKind::user;
  r.address = begin;
  r.size_B = end - begin;
  try {
    const auto allocation =
        kfd_->allocate(gpu_id_, begin, r.size_B, flags_of(r.kind, large_bar_), begin);
    if (!allocation) return false;
    r.handle = allocation->handle;
    kfd_->map(r.handle, std::span(&gpu_id_, 1));
  } catch (const SystemError& e) {
    log_at(1, "amd/memory", "{}", e.what());
    if (r.handle) kfd_->free(r.handle);
    return false;
  }
  pinned_[begin] = {r, 1};
  return true;
}

void Memory::unpin(void* pointer, uint64_t) noexcept {
  const uint64_t begin = reinterpret_cast<uint64_t>(pointer) & ~(kPage_B - 1);
  std::lock_guard lock(mutex_);
  auto found = pinned_.upper_bound(begin);
  if (found == pinned_.begin()) return;
  --found;
  if (--found->second.users) return;
  kfd_->unmap(found->second.region.handle, std::span(&gpu_id_, 1));
  kfd_->free(found->second.region.handle);
  pinned_.erase(found);
}

std::string Memory::describe(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto found = labels_.upper_bound(address);
  if (found == labels_.begin()) return {};
  --found;
  const auto& [size_B, label] = found->second;
  if (address - found->first < size_B)
    return fmt::format("{} B into the {}", address - found->first, label);
  if (address - found->first < size_B + kGap_B)
    return fmt::format("{} B past the end of the {}", address - found->first - size_B, label);
  return {};
}

}  // namespace tiny::amd
