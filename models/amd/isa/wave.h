// SPDX-License-Identifier: MIT
// The state of one wave: registers with their poison, counters of outstanding memory operations,
// and what stopped it. The caller fills the registers the hardware would preload, then runs it.
#pragma once

#include "models/amd/isa/instruction.h"
#include "models/amd/isa/memory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tiny::models::amd {

enum class FaultKind : uint8_t {
  none,
  unknown_opcode,  ///< a valid instruction that the interpreter does not model
  illegal,         ///< no instruction of this target
  fetch,           ///< instruction fetch from memory that may not be executed
  memory,          ///< the Memory refused
  lds_range,       ///< outside the workgroup's LDS
  scratch_range,   ///< outside the lane's private segment
  misaligned,      ///< address not aligned as the operation needs
  register_range,  ///< a register the wave has not allocated
  hazard,          ///< a register used before the wait that covers its load
  uninitialized,   ///< see Policy
  race,            ///< LDS race detector
  unsupported,     ///< a mode or operand of a modelled opcode that is not modelled
};
const char* fault_name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::none;
  uint64_t pc = 0;
  std::string text;  ///< the instruction, disassembled
  uint64_t address = 0;
  unsigned lane = 0;
  std::string detail;
  /// "[amd isa] memory: v_… at pc 0x…, lane 3, address 0x…: detail"
  std::string message() const;
};

enum class StopReason : uint8_t { end, barrier, yield, budget, fault, trap, message };
struct Stop {
  StopReason reason = StopReason::budget;
  uint32_t value = 0;  ///< trap id; message (simm16); s_sleep's argument
  Fault fault;
};

/// What is reported. Uninitialised values are carried through registers, LDS and memory (two halves
/// of each dword of each lane); arithmetic on them is allowed, as compilers speculate.
struct Policy {
  bool hazards = true;         ///< use before wait; LDS stores not waited for at a barrier
  bool poison_address = true;  ///< an uninitialised address, or lane index
  bool poison_control = true;  ///< a branch condition, EXEC, M0 where it is used
  bool poison_store = true;    ///< data stored to memory (not to scratch or LDS, which carry it)
};

/// Lane masks of uninitialised low and high halves of one VGPR.
struct Poison {
  uint64_t lo = 0, hi = 0;
  uint64_t any() const { return lo | hi; }
};

/// Bits of MODE (hardware register 1).
struct Mode {
  uint8_t round32 = 0, round64 = 0;    ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero (64: also f16)
  uint8_t denorm32 = 3, denorm64 = 3;  ///< bit 0: inputs kept, bit 1: outputs kept
  bool dx10_clamp = true, ieee = true;
  uint32_t rest = 0;  ///< bits 10 and up, unmodelled, readable
  uint32_t bits() const;
  void set_bits(uint32_t bits);
};

struct WaveConfig {
  unsigned lanes = 32;
  unsigned vgprs = 256;
  uint64_t id = 0;
  uint64_t pc = 0;
  uint64_t exec = 0;
  uint8_t float_mode = 0xf0;  ///< rsrc1 bits 19:12
  bool dx10_clamp = true, ieee = true;
  uint64_t shared_base = 0, private_base = 0;  ///< apertures; 4 GiB each
  uint64_t scratch_base = 0;    ///< this wave's backing store, swizzled by dword across lanes
  uint32_t scratch_lane_B = 0;  ///< bytes a lane; 0 = no scratch
  uint32_t hw_id1 = 0, hw_id2 = 0;
  unsigned waves_in_group = 1;
  bool trap_handler = false;  ///< no handler: s_trap stops with StopReason::trap anyway
};

/// One memory operation that has been issued and not been waited for.
struct Outstanding {
  enum class Kind : uint8_t {
    vector_load,  ///< or flat, with no lane in LDS: the data come with vmcnt
    vector_store,
    lds,
    scalar,
    flat_load,
    flat_store,
    message
  };
  Kind kind;
  bool vm, vs, lgkm;  ///< the counters it still holds
  bool lds_write;
  uint16_t vgpr, vgprs;  ///< destination
  uint16_t sgpr, sgprs;
  uint64_t sequence;
  uint64_t pc;
};

class Wave {
 public:
  explicit Wave(const WaveConfig& config);

  // ---- registers. Writing through these clears poison; VGPR values are per lane.
  uint32_t sgpr(unsigned reg) const;
  void set_sgpr(unsigned reg, uint32_t value, uint32_t poison = 0);
  uint32_t vgpr(unsigned reg, unsigned lane) const { return vgprs_[reg * lanes + lane]; }
  void set_vgpr(unsigned reg, unsigned lane, uint32_t value);
  bool vgpr_poisoned(unsigned reg, unsigned lane) const { return vpoison[reg].any() >> lane & 1; }

  // ---- read and written by the micro-ops
  unsigned lanes;
  uint64_t lane_mask;
  uint64_t pc, next_pc;
  uint64_t exec;
  bool scc = false, scc_poison = true;
  Mode mode;
  uint32_t sgprs[kScalarRegCount] = {};  ///< EXEC's slots are unused: see exec
  uint32_t spoison[kScalarRegCount];     ///< one bit a bit
  std::vector<Poison> vpoison;
  uint32_t* vreg(unsigned reg) { return vgprs_.get() + reg * lanes; }
  const uint32_t* vreg(unsigned reg) const { return vgprs_.get() + reg * lanes; }
  WaveConfig config;
  Policy policy;
  Memory* memory = nullptr;
  Lds* lds = nullptr;
  uint64_t flat_scratch = 0;
  uint64_t instructions = 0;  ///< executed
  uint64_t cycles = 0;        ///< what s_memtime and SHADER_CYCLES read: one an instruction
  uint32_t trap_status = 0;
  uint64_t store_sequence = 0;

  // ---- outstanding memory operations
  std::vector<Outstanding> outstanding;
  std::vector<uint8_t> vpending;
  uint8_t spending[kScalarRegCount] = {};
  void issue(Outstanding what);
  void wait_vm(unsigned limit);
  void wait_vs(unsigned limit);
  void wait_lgkm(unsigned limit);
  unsigned vm_count() const, vs_count() const, lgkm_count() const;

  // ---- how a micro-op ends the run
  bool stopped = false;
  Stop stop;
  void stop_for(StopReason reason, uint32_t value = 0);
  void fail(FaultKind kind, std::string detail, unsigned lane = 0, uint64_t address = 0);

 private:
  struct Aligned {
    void operator()(uint32_t* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<uint32_t[], Aligned> vgprs_;
  void retire();
};

}  // namespace tiny::models::amd
