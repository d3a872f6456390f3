// SPDX-License-Identifier: MIT
// The interpreter of gfx1100 and gfx1030: a code cache that decodes each PC once and runs waves.
#pragma once

#include "models/amd/isa/wave.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tiny::models::amd {

struct Op;

/// One target. Thread-safe; costs some milliseconds to make, so keep it.
class Isa {
 public:
  /// Throws UsageError for targets that are not modelled.
  explicit Isa(std::string_view target);
  ~Isa();
  const std::string& target() const { return target_; }
  bool gfx11() const { return gfx11_; }
  const Disassembler& disassembler(unsigned lanes) const;
  /// Opcode names with a meaning here, folded as in Instruction::name.
  static std::vector<std::string> modelled();
  static bool models(std::string_view name);

 private:
  std::string target_;
  bool gfx11_;
  std::unique_ptr<Disassembler> wave32_, wave64_;
};

/// The instruction cache and its decoded form: bytes are fetched in lines of 64 once, and stay
/// until invalidate(), whatever happens to memory. What was decoded is kept for longer, and serves
/// again where the bytes turn out to be the same. One host thread at a time; waves of 32 and 64 may
/// mix.
class CodeCache {
 public:
  explicit CodeCache(const Isa& isa);
  ~CodeCache();
  /// Runs until something in StopReason happens; `budget` counts instructions. After `barrier`,
  /// `yield`, `message`, `trap` and `budget` the wave can be run on; pc is the next instruction.
  /// After `fault` pc is the instruction at fault.
  Stop run(Wave& wave, uint64_t budget);
  void invalidate();
  /// The first address from `pc` on, in lines that are cached without a gap, at which memory holds
  /// other bytes than the cache.
  std::optional<uint64_t> stale_from(Memory& memory, uint64_t pc) const;
  const Isa& isa() const { return isa_; }

 private:
  struct Line {
    uint8_t bytes[64];
    unsigned valid;
  };
  const Op* decode(Wave& wave, uint64_t pc);
  const Op* find(Wave& wave, uint64_t pc);
  bool unchanged(Memory& memory, const Op& op);
  unsigned read(Memory& memory, uint64_t pc, uint8_t* out, unsigned size_B);
  Stop finish(Wave& wave, const Op& op);

  const Isa& isa_;
  std::unordered_map<uint64_t, Line> lines_;
  std::unordered_map<uint64_t, Op*> by_pc_[2];
  std::deque<Op> ops_;
  uint64_t invalidations_ = 1;
};

}  // namespace tiny::models::amd
