// SPDX-License-Identifier: MIT
// Where memory is: buffer objects in one shared memory file, and what each GPU has mapped of them.
// Knows nothing of caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tiny::models::amd {

constexpr uint64_t kPage_B = 4096;
/// Never-written VRAM: NaN in f16, bf16, f32 and f64, and far out of range as an index.
constexpr uint16_t kPoison = 0x7fff;

enum class Domain : uint8_t { vram, gtt, userptr, doorbell, mmio };

struct Bo {
  uint64_t handle = 0, va = 0, size_B = 0, mmap_offset = 0;
  uint64_t file_offset_B = 0;  ///< in the memory file
  std::byte* host = nullptr;   ///< the model's own view; of user memory: the user's
  uint32_t flags = 0;
  unsigned gpu = 0;
  Domain domain = Domain::vram;
  unsigned queues = 0;           ///< that would break without it
  std::vector<unsigned> mapped;  ///< GPUs
};

/// The file behind VRAM, GTT, doorbells and the rest; offsets are never used twice, so that a stale
/// CPU mapping shows zeros and not somebody else's data.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  /// Sets file_offset_B and host. False: no memory.
  bool allocate(Bo& bo);
  void free(Bo& bo);

 private:
  int fd_;
  uint64_t next_B_ = 0;
};

struct GpuRange {
  uint64_t va = 0, size_B = 0;
  std::byte* host = nullptr;
  bool writable = false, executable = false;
  bool uncached = false;   ///< bypasses GL2 (MTYPE_UC)
  std::shared_ptr<Bo> bo;  ///< null: shared virtual memory
  uint64_t end() const { return va + size_B; }
};

enum class AccessFault : uint8_t { none, not_present, read_only, no_execute };
enum class AccessKind : uint8_t { read, write, execute };

/// The page tables of one GPU for the one process.
class GpuMap {
 public:
  /// False where something is mapped already.
  bool add(const GpuRange& range);
  bool remove(uint64_t va);
  /// The range that has `va`, or null.
  const GpuRange* find(uint64_t va) const;
  /// Where va is in our memory, if all of the bytes may be accessed so; else why not, and the first
  /// bad byte.
  std::byte* locate(uint64_t va, uint64_t size_B, AccessKind kind, AccessFault* fault,
                    uint64_t* bad) const;
  const std::map<uint64_t, GpuRange>& ranges() const { return ranges_; }
  void clear();

 private:
  std::map<uint64_t, GpuRange> ranges_;
  mutable const GpuRange* last_ = nullptr;
};

}  // namespace tiny::models::amd
