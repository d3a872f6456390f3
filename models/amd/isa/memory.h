// SPDX-License-Identifier: MIT
// What the interpreter needs from the rest of the chip: memory behind the caches, and the LDS of a
// workgroup. It knows nothing of pages, devices or queues.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tiny::models::amd {

enum class AtomicOp : uint8_t {
  swap,
  cmpswap,
  add,
  sub,
  csub,
  rsub,
  smin,
  umin,
  smax,
  umax,
  and_,
  or_,
  xor_,
  inc,
  dec,
  fadd,
  fmin,
  fmax,
  fcmpswap,
  mskor,
  wrap,
};
const char* atomic_name(AtomicOp op);
/// The new value of a 4- or 8-byte location. `compare` is used by cmpswap, fcmpswap (the value
/// compared with), mskor (the mask is `source`, the bits `compare`) and wrap (the limit).
uint64_t atomic_result(AtomicOp op, unsigned size_B, uint64_t old, uint64_t source,
                       uint64_t compare);

/// The cache-policy bits as encoded; what they mean is for the caller to model.
struct CachePolicy {
  bool glc = false, slc = false, dlc = false;
};

/// One vector memory instruction of one wave, already routed: global memory or scratch. Scratch is
/// in global memory too (its addresses are those of the wave's backing store), so the caller treats
/// both alike unless it wants to check the one from the other.
struct Access {
  uint64_t wave = 0;      ///< Wave::id
  uint64_t pc = 0;        ///< of the instruction
  uint64_t sequence = 0;  ///< of this wave's stores; see Memory::stores_complete
  unsigned lane = 0;
  uint64_t address = 0;
  unsigned size_B = 0;
  CachePolicy policy;
  bool scratch = false;
};

/// ok, or why not. `address` is the first bad byte.
struct MemoryResult {
  bool ok = true;
  uint64_t address = 0;
  const char* reason = "";
  static MemoryResult fault(uint64_t at, const char* why) { return {false, at, why}; }
};

enum class CacheControl : uint8_t { gl0_inv, gl1_inv, scalar_inv, scalar_writeback, icache_inv };

/// Memory as one shader processor sees it: caches, delayed visibility and bounds are the caller's.
/// Poison masks have one bit a byte, set where the byte was never written (at most 16 bytes).
class Memory {
 public:
  virtual ~Memory() = default;
  virtual MemoryResult load(const Access& access, void* data, uint32_t* poison) = 0;
  /// Loads of up to 32 bytes are welcome, for all lanes that ask for the same or adjoining bytes;
  /// Access::lane is the first of them.
  virtual bool joins_lanes() const { return false; }
  virtual MemoryResult store(const Access& access, const void* data, uint32_t poison) = 0;
  /// Returns the old value. `compare` as in atomic_result.
  virtual MemoryResult atomic(const Access& access, AtomicOp op, uint64_t source, uint64_t compare,
                              uint64_t* old, uint32_t* poison) = 0;
  /// Through the scalar cache, 4 to 64 bytes, dword aligned; poison has one bit a byte.
  virtual MemoryResult scalar_load(const Access& access, void* data, uint64_t* poison) = 0;
  /// Instruction fetch through the instruction cache: 64 aligned bytes. Returns how many, from the
  /// start, may be executed (0 = fault).
  virtual unsigned fetch(uint64_t address, std::span<uint8_t, 64> out) = 0;
  /// The wave has waited (s_waitcnt_vscnt or its end): its stores up to `sequence` are complete.
  virtual void stores_complete(uint64_t /*wave*/, uint64_t /*sequence*/) {}
  virtual void cache_control(uint64_t /*wave*/, CacheControl /*what*/) {}
};

/// Local data share of one workgroup. Bytes start poisoned. With `races` set, a byte that is
/// accessed by two waves, at least once for writing and not both times atomically, with no barrier
/// between, is a race; the caller reports a barrier by next_epoch().
class Lds {
 public:
  explicit Lds(unsigned size_B, bool races = false);
  unsigned size_B() const { return static_cast<unsigned>(bytes_.size()); }
  /// The caller has checked the range.
  void read(unsigned at, unsigned size_B, void* out, uint32_t* poison) const;
  void write(unsigned at, unsigned size_B, const void* in, uint32_t poison);
  /// Call after all waves of the workgroup passed a barrier.
  void next_epoch() { ++epoch_; }
  /// Notes an access for the race detector. Returns the id of the other wave, or -1 if no race.
  int64_t note(unsigned at, unsigned size_B, uint32_t wave, bool write, bool atomic);

 private:
  struct Shadow {
    uint32_t write_epoch = 0, write_wave = 0, read_epoch = 0, read_wave = 0;
    bool write_atomic = false, read_many = false;
  };
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> poison_;
  std::vector<Shadow> shadow_;
  uint32_t epoch_ = 1;
};

}  // namespace tiny::models::amd
