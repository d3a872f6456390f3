// SPDX-License-Identifier: MIT
// The recorded form of a command list, and its split over queues: what `encode` of a back end sees.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/launch_expr.h>
#include <rt_tiny/runtime/command_list.h>
#include <rt_tiny/runtime/memory.h>
#include <rt_tiny/runtime/program.h>
#include <rt_tiny/runtime/timeline.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tiny {

class EncodedList;

/// Memory a command uses: a fixed slice, or the slice bound to a symbol.
struct MemoryRef {
  Buffer buffer;                      ///< empty for a symbol
  uint32_t slot = 0;                  ///< symbol
  uint64_t offset_B = 0, size_B = 0;  ///< symbol: size 0 reaches to the end

  bool is_symbol() const { return !buffer; }
};

/// An integer known now or at submit.
struct VariableRef {
  bool is_symbol = false;
  uint32_t slot = 0;
  int64_t value = 0;
};

struct WaitCommand {
  Fence fence;
};
struct SignalCommand {
  Fence fence;
};
struct BarrierCommand {};
struct TimestampCommand {
  MemoryRef dst;
};
struct CopyCommand {
  MemoryRef dst, src;
  uint64_t size_B = 0;
};
struct DispatchCommand {
  struct Memory {
    uint32_t offset_B = 0;  ///< in the kernarg block
    uint32_t index = 0;     ///< of the argument
    MemoryRef ref;
    bool read = true, written = true;
  };
  struct Variable {
    uint32_t offset_B = 0;  ///< in the kernarg block, 8 bytes
    uint32_t slot = 0;
  };
  std::shared_ptr<Program> program;
  std::vector<uint8_t> kernarg;  ///< numbers filled in, memory and variables zero
  std::vector<Memory> memory;
  std::vector<Variable> variables;
  std::array<LaunchExpr, 3> groups;
  std::array<uint32_t, 3> group_size{1, 1, 1};
  std::vector<VariableRef> launch_variables;  ///< what the expressions see

  bool groups_constant() const;
  /// Evaluates the group counts. Throws UsageError if one is negative or above 2^31.
  std::array<uint32_t, 3> evaluate_groups(std::span<const int64_t> variables) const;
};
using Command = std::variant<WaitCommand, SignalCommand, BarrierCommand, TimestampCommand,
                             CopyCommand, DispatchCommand>;

/// Consecutive commands of one queue. It starts after the segments named, which are earlier and on
/// other queues; same-queue order is implied.
struct Segment {
  uint32_t queue = 0;
  std::vector<uint32_t> commands;
  std::vector<uint32_t> after;
};

/// What one queue touches, an entry an allocation or slot.
struct QueueTouch {
  const Allocation* allocation = nullptr;  ///< nullptr: symbol
  uint32_t slot = 0;
  bool written = false;
};

struct ListPlan {
  std::vector<Command> commands;
  std::vector<Segment> segments;                 ///< at least one; the last one finishes last
  std::vector<std::vector<QueueTouch>> touched;  ///< by queue
  bool indirect = false;                         ///< encode into memory of its own, twice (graphs)
  /// Commands with timestamps around them.
  std::vector<uint32_t> profiled_commands;
};

/// Names for the timestamps of a profiled list.
struct ProfileLayout {
  struct Row {
    std::string name;
    uint32_t queue = 0;
    double flops = 0, bytes = 0;
  };
  std::vector<Row> rows;
};

/// Splits over queues: copies that overlap compute, and lists of copies only, go to the copy queue.
ListPlan plan_queues(std::vector<Command> commands, size_t queue_count, size_t copy_queue);

/// Puts timestamps around every dispatch and copy.
std::vector<Command> add_timestamps(const std::vector<Command>& commands, uint32_t slot,
                                    std::vector<uint32_t>& profiled_commands);

/// What is touched since the last barrier, to find the commands that need one between them.
class HazardTracker {
 public:
  /// True if a barrier must come before an access; records it either way.
  bool conflicts(const MemoryRef&, bool written) const;
  void add(const MemoryRef&, bool written);
  void clear();

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
    bool written = false;
  };
  std::unordered_map<const Allocation*, std::vector<Range>> fixed_;
  std::unordered_map<uint32_t, bool> symbols_;  ///< slot → written
  bool any_written_ = false, any_ = false, symbol_written_ = false;
};

struct ListState {
  std::shared_ptr<Device> device;
  std::vector<Command> commands;
  size_t user_commands = 0;
  std::vector<size_t> variable_launches;  ///< commands whose group counts depend on variables
  HazardTracker hazards;
  uint32_t buffer_slots = 0, variable_slots = 0;
  std::vector<uint64_t> slot_min_B;  ///< bytes a bound buffer needs
  bool indirect = false;

  /// By profiled or not; dropped when something is recorded. Guarded by the device's submit lock.
  struct Encoded {
    std::shared_ptr<EncodedList> list;
    std::vector<uint32_t> queues;              ///< by segment
    std::vector<std::vector<uint32_t>> after;  ///< by segment
    std::vector<std::vector<QueueTouch>> touched;
    std::shared_ptr<const ProfileLayout> profile;
    std::vector<std::shared_ptr<Timeline>> waited;
  };
  std::array<Encoded, 2> encoded;

  void append(Command command);
  /// Inserts a barrier if the accesses need one, then records them.
  void order(std::span<const std::pair<const MemoryRef*, bool>> accesses);
};

}  // namespace tiny
