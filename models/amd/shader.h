// SPDX-License-Identifier: MIT
// Runs dispatches: workgroups, waves, LDS, barriers and scratch, on the interpreter in isa/. Knows
// nothing of queues and packets.
#pragma once

#include "models/amd/chip_memory.h"
#include "models/amd/profile.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

namespace tiny::models::amd {

/// What the packet processor gives the dispatcher.
struct Launch {
  std::array<uint32_t, 3> groups{1, 1, 1}, group_size{1, 1, 1};
  std::array<uint32_t, 3> last_size{};  ///< of the last group in each direction; 0: a whole one
  uint64_t pc = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::array<uint32_t, 16> user_data{};
  bool wave32 = true;
  uint32_t lds_B = 0;
  uint64_t scratch_base = 0;
  uint32_t scratch_wave_B = 0;
  uint32_t scratch_waves = 0;  ///< slots of the whole GPU
  std::string text;
};

struct Outcome {
  enum class State : uint8_t { running, done, memory_fault, illegal, broken };
  State state = State::running;
  MemoryFault fault;  ///< memory_fault
  std::string text;   ///< with instruction and PC
  uint64_t pc = 0;
};

/// One dispatch being run.
class Execution {
 public:
  virtual ~Execution() = default;
  /// About `budget` instructions.
  virtual Outcome run(uint64_t budget) = 0;
  virtual uint64_t instructions() const = 0;
  virtual uint64_t waves() const = 0;
};

/// The shader part of one GPU. Its instruction cache keeps what it fetched until invalidate().
class ShaderEngine {
 public:
  ShaderEngine(ChipMemory& memory, const Profile& profile, uint64_t seed);
  ~ShaderEngine();
  /// The reason why a launch cannot be, or "".
  std::string check(const Launch& launch) const;
  /// Where the instruction cache holds other code than memory.
  std::optional<uint64_t> stale_code(const Launch& launch, const Task& task) const;
  std::unique_ptr<Execution> start(const Launch& launch, const Task& task);
  void invalidate_code();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tiny::models::amd
