// SPDX-License-Identifier: MIT
#include "runtime/list_state.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tiny {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

constexpr int64_t kMaxGroups = int64_t{1} << 31;

bool is_copy(const Command& c) { return std::holds_alternative<CopyCommand>(c); }
bool is_dispatch(const Command& c) { return std::holds_alternative<DispatchCommand>(c); }
/// Between commands of these kinds order matters, whatever memory they touch.
bool ends_epoch(const Command& c) {
  return std::holds_alternative<BarrierCommand>(c) || std::holds_alternative<WaitCommand>(c) ||
         std::holds_alternative<SignalCommand>(c) || std::holds_alternative<TimestampCommand>(c);
}

/// What comes after is ordered behind all before. A signal or a timestamp only comes after.
bool is_barrier(const Command& c) {
  return std::holds_alternative<BarrierCommand>(c) || std::holds_alternative<WaitCommand>(c);
}

/// Calls f(ref, written) for the memory of a command.
template <class F>
void for_each_access(const Command& command, F&& f) {
  std::visit(Overloaded{[&](const DispatchCommand& d) {
                          for (const auto& m : d.memory) f(m.ref, m.written);
                        },
                        [&](const CopyCommand& c) {
                          f(c.src, false);
                          f(c.dst, true);
                        },
                        [&](const TimestampCommand& t) { f(t.dst, true); }, [](const auto&) {}},
             command);
}

/// Builds the segments of one list, an epoch (what lies between barriers) at a time.
class QueuePlanner {
 public:
  QueuePlanner(ListPlan& plan, uint32_t copy_queue) : plan_(plan), copy_queue_(copy_queue) {}

  void run() {
    const auto& commands = plan_.commands;
    const bool only_copies = std::any_of(commands.begin(), commands.end(), is_copy) &&
                             std::none_of(commands.begin(), commands.end(), is_dispatch);
    home_ = only_copies ? copy_queue_ : 0;
    open_home();
    for (uint32_t begin = 0; begin < commands.size();) {
      uint32_t end = begin;
      while (end < commands.size() && !ends_epoch(commands[end])) ++end;
      epoch(begin, end);
      if (end < commands.size()) {
        join();
        plan_.segments[home_segment_].commands.push_back(end++);
      }
      begin = end;
    }
    join();
  }

 private:
  void open_home() {
    home_segment_ = static_cast<uint32_t>(plan_.segments.size());
    plan_.segments.push_back({home_, {}, {}});
  }

  /// Copies that can overlap the epoch's dispatches go to the copy queue; they start after all
  /// earlier epochs.
  void epoch(uint32_t begin, uint32_t end) {
    const auto& commands = plan_.commands;
    const auto first = commands.begin() + begin, last = commands.begin() + end;
    const bool split = home_ != copy_queue_ && std::any_of(first, last, is_copy) &&
                       std::any_of(first, last, is_dispatch);
    if (split) {
      Segment copies{copy_queue_, {}, {}};
      if (home_segment_ > 0 || !plan_.segments[home_segment_].commands.empty()) {
        copies.after = {home_segment_};
        plan_.segments.push_back(std::move(copies));
        copy_segment_ = static_cast<uint32_t>(plan_.segments.size() - 1);
        open_home();
      } else {  // nothing precedes: the copies may start first
        plan_.segments.insert(plan_.segments.begin(), std::move(copies));
        copy_segment_ = 0;
        home_segment_ = 1;
      }
      pending_copies_ = true;
    }
    for (uint32_t i = begin; i < end; ++i)
      plan_.segments[split && is_copy(commands[i]) ? copy_segment_ : home_segment_]
          .commands.push_back(i);
  }

  /// What follows on the home queue comes after the copies.
  void join() {
    if (!pending_copies_) return;
    open_home();
    plan_.segments[home_segment_].after = {copy_segment_};
    pending_copies_ = false;
  }

  ListPlan& plan_;
  uint32_t copy_queue_, home_ = 0, home_segment_ = 0, copy_segment_ = 0;
  bool pending_copies_ = false;
};

void collect_touches(ListPlan& plan) {
  for (const Segment& segment : plan.segments) {
    auto& list = plan.touched[segment.queue];
    for (uint32_t index : segment.commands)
      for_each_access(plan.commands[index], [&](const MemoryRef& ref, bool written) {
        list.push_back({ref.buffer.allocation(), ref.slot, written});
      });
  }
  for (auto& list : plan.touched) {
    auto key = [](const QueueTouch& t) { return std::pair(t.allocation, t.slot); };
    std::sort(list.begin(), list.end(), [&](const QueueTouch& a, const QueueTouch& b) {
      return key(a) != key(b) ? key(a) < key(b) : a.written > b.written;
    });
    list.erase(
        std::unique(list.begin(), list.end(),
                    [&](const QueueTouch& a, const QueueTouch& b) { return key(a) == key(b); }),
        list.end());
  }
}

}  // namespace

bool DispatchCommand::groups_constant() const {
  return std::all_of(groups.begin(), groups.end(),
                     [](const LaunchExpr& e) { return e.is_constant(); }) ||
         std::none_of(launch_variables.begin(), launch_variables.end(),
                      [](const VariableRef& v) { return v.is_symbol; });
}

std::array<uint32_t, 3> DispatchCommand::evaluate_groups(std::span<const int64_t> bound) const {
  std::array<int64_t, 64> values;
  CHECK_INVARIANT(launch_variables.size() <= values.size(), "too many launch variables");
  for (size_t i = 0; i < launch_variables.size(); ++i) {
    const VariableRef& v = launch_variables[i];
    values[i] = v.is_symbol ? bound[v.slot] : v.value;
  }
  std::array<uint32_t, 3> out{};
  for (size_t d = 0; d < 3; ++d) {
    const int64_t n = groups[d].evaluate(std::span(values).first(launch_variables.size()));
    if (n < 0 || n > kMaxGroups)
      throw UsageError(
          fmt::format("[dispatch] {}: {} groups along axis {}", program->name(), n, d));
    out[d] = static_cast<uint32_t>(n);
  }
  return out;
}

ListPlan plan_queues(std::vector<Command> commands, size_t queue_count, size_t copy_queue) {
  ListPlan plan;
  plan.commands = std::move(commands);
  plan.touched.resize(queue_count);
  QueuePlanner(plan, static_cast<uint32_t>(copy_queue)).run();
  collect_touches(plan);
  return plan;
}

std::vector<Command> add_timestamps(const std::vector<Command>& commands, uint32_t slot,
                                    std::vector<uint32_t>& profiled_commands) {
  std::vector<Command> out;
  auto stamp = [&](uint64_t offset_B) {
    out.push_back(TimestampCommand{{Buffer(), slot, offset_B, 8}});
  };
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const bool timed = is_copy(commands[i]) || is_dispatch(commands[i]);
    const uint64_t at_B = profiled_commands.size() * 16;
    if (timed) stamp(at_B);
    out.push_back(commands[i]);
    if (!timed) continue;
    stamp(at_B + 8);
    profiled_commands.push_back(static_cast<uint32_t>(out.size() - 2));
  }
  return out;
}

bool HazardTracker::conflicts(const MemoryRef& ref, bool written) const {
  if (!any_ || (!written && !any_written_)) return false;
  if (ref.is_symbol()) {  // may alias anything, but two reads never conflict
    return true;
  }
  if (written ? !symbols_.empty() : symbol_written_) return true;
  const auto found = fixed_.find(ref.buffer.allocation());
  if (found == fixed_.end()) return false;
  const uint64_t begin = ref.buffer.offset_B(), end = begin + ref.buffer.size_B();
  return std::any_of(found->second.begin(), found->second.end(), [&](const Range& r) {
    return (r.written || written) && r.begin < end && begin < r.end;
  });
}

void HazardTracker::add(const MemoryRef& ref, bool written) {
  any_ = true;
  any_written_ |= written;
  if (ref.is_symbol()) {
    symbols_[ref.slot] |= written;
    symbol_written_ |= written;
    return;
  }
  const uint64_t begin = ref.buffer.offset_B();
  fixed_[ref.buffer.allocation()].push_back({begin, begin + ref.buffer.size_B(), written});
}

void HazardTracker::clear() { *this = HazardTracker(); }

void ListState::append(Command command) {
  if (is_barrier(command)) hazards.clear();
  const auto* dispatch = std::get_if<DispatchCommand>(&command);
  if (dispatch && !dispatch->groups_constant()) variable_launches.push_back(commands.size());
  commands.push_back(std::move(command));
  encoded = {};
}

void ListState::order(std::span<const std::pair<const MemoryRef*, bool>> accesses) {
  const bool conflict = std::any_of(accesses.begin(), accesses.end(), [&](const auto& a) {
    return hazards.conflicts(*a.first, a.second);
  });
  if (conflict) append(BarrierCommand{});
  for (const auto& [ref, written] : accesses) hazards.add(*ref, written);
}

}  // namespace tiny
