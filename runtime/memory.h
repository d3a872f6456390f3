// SPDX-License-Identifier: MIT
// Device memory: allocations from a size-class cache, and reference-counted slices of them.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/timeline.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tiny {

class Device;

struct TINY_API AllocOptions {
  std::string tag{};          ///< who owns it; shown when memory runs out
  bool host_visible = false;  ///< `host_pointer` must work
  bool uncached = false;      ///< the device writes around its caches (signals, rings)
};

struct TINY_API MemoryStats {
  size_t in_use_B = 0;       ///< in live allocations, rounded to size classes
  size_t cached_B = 0;       ///< free, kept for reuse
  size_t peak_in_use_B = 0;  ///< largest in_use_B so far
  size_t allocations = 0;    ///< live ones
};

/// What a driver hands out for one piece of memory.
struct TINY_API Block {
  uint64_t address = 0;  ///< what a kernel sees; 0 where memory is an opaque handle
  void* host = nullptr;  ///< mapped in this process, or nullptr
  size_t size_B = 0;
  uint64_t handle = 0;    ///< the driver's own
  bool imported = false;  ///< the memory belongs to somebody else
  uint64_t serial = 0;    ///< the pool's own
};

inline constexpr size_t kMaxQueues = 4;

/// Memory of one device, move-only. Destroying it gives the memory back to the device's cache,
/// which hands it out again only after the work submitted on it has retired.
class TINY_API Allocation {
 public:
  Allocation() = default;
  Allocation(std::shared_ptr<Device>, Block, size_t size_B, std::string tag);
  ~Allocation();
  Allocation(Allocation&&) noexcept;
  Allocation& operator=(Allocation&&) noexcept;

  size_t size_B() const { return size_B_; }
  const Block& block() const { return block_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::string& tag() const { return tag_; }

  /// The last timeline values, by queue of the device, of work that touches this memory.
  struct Uses {
    std::array<std::atomic<uint64_t>, kMaxQueues> write{}, any{};
  };
  Uses& uses() const { return *uses_; }

  /// Leaves the memory to the caller and lets go of the device; `block` and `uses` stay readable.
  Block release();

 private:
  void give_back() noexcept;
  std::shared_ptr<Device> device_;
  Block block_;
  size_t size_B_ = 0;
  std::string tag_;
  std::unique_ptr<Uses> uses_;
};

/// A slice {allocation, offset, size}. Copies share the memory and keep it and the device alive.
/// Host accesses are ordered after the submitted work that touches the memory.
class TINY_API Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Allocation> allocation, size_t offset_B, size_t size_B)
      : allocation_(std::move(allocation)), offset_B_(offset_B), size_B_(size_B) {}

  explicit operator bool() const { return allocation_ != nullptr; }
  size_t size_B() const { return size_B_; }
  size_t offset_B() const { return offset_B_; }
  std::shared_ptr<Device> device() const;
  /// Identity of the memory: equal for slices of one allocation.
  const Allocation* allocation() const { return allocation_.get(); }
  /// Throws UsageError if the range leaves this slice.
  Buffer slice(size_t offset_B, size_t size_B) const;

  /// nullptr when the host cannot see it. Does not wait: see `wait`.
  void* host_pointer() const;
  /// The address a kernel sees; 0 where memory is an opaque handle.
  uint64_t device_address() const;
  /// Blocks until no submitted work touches the memory.
  void wait() const;

  void copy_in(const void* src, size_t size_B, size_t offset_B = 0) const;
  void copy_out(void* dst, size_t size_B, size_t offset_B = 0) const;

  template <class T>
  std::vector<T> read() const {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    std::vector<T> out(size_B_ / sizeof(T));
    copy_out(out.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  void write(std::span<const T> values) const {
    copy_in(values.data(), values.size_bytes());
  }
  template <class T>
  void write(const std::vector<T>& values) const {
    copy_in(values.data(), values.size() * sizeof(T));
  }
  /// Repeats `value` over the slice.
  template <class T>
  void fill(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    fill_bytes(&value, sizeof(T));
  }
  void fill_bytes(const void* pattern, size_t pattern_B) const;

  /// The same bytes of the same memory.
  friend bool operator==(const Buffer& a, const Buffer& b) {
    return a.allocation_ == b.allocation_ && a.offset_B_ == b.offset_B_ && a.size_B_ == b.size_B_;
  }

 private:
  std::shared_ptr<Allocation> allocation_;
  size_t offset_B_ = 0, size_B_ = 0;
};

/// Copies between any two buffers of equal size, on any devices, and waits. Goes through the host
/// where no direct way exists.
TINY_API void copy(const Buffer& dst, const Buffer& src);

}  // namespace tiny
