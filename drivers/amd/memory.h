// SPDX-License-Identifier: MIT
// Memory the GPU sees, at addresses this process chose: a piece of address space is reserved first,
// and the buffer gets the same address on both sides. Around each lies a gap that faults. Caching
// is the runtime's.
#pragma once

#include "drivers/amd/kfd.h"
#include "drivers/amd/page.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace tiny::amd {

enum class MemoryKind : uint8_t {
  vram,          ///< of the GPU; mapped for the host where all of it can be
  gtt,           ///< of the host, cached by the GPU
  gtt_uncached,  ///< of the host, coherent: rings, signals, arguments
  user,          ///< the program's own, pinned
};

/// One buffer. Plain data: whoever allocated it gives it back.
struct Region {
  uint64_t address = 0;
  void* host = nullptr;  ///< nullptr: the host cannot reach it
  uint64_t size_B = 0;   ///< whole pages
  uint64_t handle = 0;
  MemoryKind kind = MemoryKind::vram;
  void* reserved = nullptr;  ///< the address space with its gaps
  uint64_t reserved_B = 0;

  template <class T>
  T* as(uint64_t offset_B = 0) const {
    return reinterpret_cast<T*>(static_cast<uint8_t*>(host) + offset_B);
  }
};

/// The memory of one GPU in this process. Safe from several threads.
class Memory {
 public:
  Memory(std::shared_ptr<Kfd> kfd, uint32_t gpu_id, int render_fd, bool large_bar);
  ~Memory();

  /// nullopt: out of memory. `label` names it in fault reports; empty for the runtime's own blocks,
  /// which it names itself.
  std::optional<Region> allocate(MemoryKind kind, uint64_t size_B, std::string label = {});
  /// Throws SystemError where memory is out.
  Region require(MemoryKind kind, uint64_t size_B, const std::string& label);
  void release(const Region&) noexcept;

  /// Pins whole pages around it; pieces of one range may be pinned again. False: the kernel
  /// refuses.
  bool pin(void* pointer, uint64_t size_B);
  void unpin(void* pointer, uint64_t size_B) noexcept;

  /// Makes the host's stores to VRAM visible to the GPU.
  void flush_host_stores() noexcept;
  bool host_reaches_vram() const { return large_bar_ && hdp_flush_; }
  /// "ring of the compute queue" for one of our own; empty for none.
  std::string describe(uint64_t address) const;
  Kfd& kfd() const { return *kfd_; }
  const std::shared_ptr<Kfd>& shared_kfd() const { return kfd_; }
  uint32_t gpu_id() const { return gpu_id_; }

 private:
  bool back(Region&, uint32_t flags);
  void map_host(const Region&, uint64_t mmap_offset);
  void map_hdp_flush() noexcept;

  std::shared_ptr<Kfd> kfd_;
  uint32_t gpu_id_;
  int render_fd_;
  bool large_bar_;
  kfd_process_device_apertures apertures_;
  volatile uint32_t* hdp_flush_ = nullptr;
  Region hdp_region_;

  struct Pinned {
    Region region;
    uint32_t users = 0;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, std::pair<uint64_t, std::string>> labels_;  ///< address → size, label
  std::map<uint64_t, Pinned> pinned_;                            ///< by address
};

/// A region given back at the end of its owner. Move-only.
class OwnedRegion {
 public:
  OwnedRegion() = default;
  OwnedRegion(std::shared_ptr<Memory> memory, Region region)
      : memory_(std::move(memory)), region_(region) {}
  /// Throws SystemError where memory is out.
  static OwnedRegion of(const std::shared_ptr<Memory>& memory, MemoryKind kind, uint64_t size_B,
                        const std::string& label) {
    return {memory, memory->require(kind, size_B, label)};
  }
  ~OwnedRegion() { reset(); }
  OwnedRegion(OwnedRegion&& other) noexcept
      : memory_(std::move(other.memory_)), region_(other.region_) {}
  OwnedRegion& operator=(OwnedRegion&& other) noexcept {
    if (this == &other) return *this;
    reset();
    memory_ = std::move(other.memory_);
    region_ = other.region_;
    return *this;
  }
  void reset() noexcept {
    if (memory_) memory_->release(region_);
    memory_.reset();
    region_ = {};
  }
  const Region& operator*() const { return region_; }
  const Region* operator->() const { return &region_; }

 private:
  std::shared_ptr<Memory> memory_;
  Region region_;
};

}  // namespace tiny::amd
