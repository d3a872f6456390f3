// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/command_list.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/device.h>

#include "runtime/backend.h"
#include "runtime/device_impl.h"
#include "runtime/list_state.h"
#include "runtime/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace tiny {
namespace {

constexpr size_t kMaxLaunchVariables = 64;

ListState& checked(const std::shared_ptr<ListState>& state, std::string_view op) {
  if (!state) throw UsageError(fmt::format("[{}] the list is empty; use Device::make_list", op));
  check_process(state->device->impl().process, op, state->device->name());
  return *state;
}

void check_device(const ListState& s, const Device* other, std::string_view op) {
  if (s.device.get() == other) return;
  throw UsageError(fmt::format("[{}] memory or program of {} in a list of {}", op,
                               other ? other->name() : "nothing", s.device->name()));
}

uint32_t bound_slot(std::vector<uint64_t>& min_B, const Symbol& symbol) {
  if (min_B.size() <= symbol.slot) min_B.resize(symbol.slot + 1);
  min_B[symbol.slot] = std::max(min_B[symbol.slot], symbol.offset_B + symbol.size_B);
  return symbol.slot;
}

MemoryRef memory_ref(ListState& s, const Symbol& symbol, std::string_view op) {
  constexpr uint32_t kMaxSlots = 1 << 16;
  if (symbol.kind != Symbol::Kind::buffer || symbol.slot >= kMaxSlots)
    throw UsageError(fmt::format("[{}] symbol {} is not a buffer", op, symbol.slot));
  bound_slot(s.slot_min_B, symbol);
  s.buffer_slots = std::max(s.buffer_slots, symbol.slot + 1);
  return {Buffer(), symbol.slot, symbol.offset_B, symbol.size_B};
}

MemoryRef memory_ref(ListState& s, const Buffer& buffer, std::string_view op) {
  check_device(s, buffer.device().get(), op);
  return {buffer, 0, 0, 0};
}

/// Fills the kernarg block of one dispatch from arguments and the program's table.
class DispatchBuilder {
 public:
  DispatchBuilder(ListState& state, const std::shared_ptr<Program>& program)
      : state_(state), binary_(program->binary()), raw_(!program->has_layout()) {
    out_.program = program;
  }

  DispatchCommand build(const Arguments& arguments) {
    const auto& values = arguments.values();
    if (!raw_ && values.size() != binary_.args.size())
      throw UsageError(fmt::format("[dispatch] {} takes {} arguments, {} given", binary_.name,
                                   binary_.args.size(), values.size()));
    if (!raw_) out_.kernarg.resize(binary_.kernarg_B);
    for (uint32_t i = 0; i < values.size(); ++i) raw_ ? add_raw(i, values[i]) : add(i, values[i]);
    const size_t limit = state_.device->target().max_buffers;
    if (out_.memory.size() > limit)
      throw UsageError(fmt::format("[dispatch] {} binds {} buffers, {} allows {}", binary_.name,
                                   out_.memory.size(), state_.device->name(), limit));
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(uint32_t index, std::string_view what) const {
    throw UsageError(fmt::format("[dispatch] {}: argument {} {}", binary_.name, index, what));
  }

  bool is_buffer(const Argument& a) const {
    return a.kind == Argument::Kind::buffer ||
           (a.kind == Argument::Kind::symbol && a.symbol.kind == Symbol::Kind::buffer);
  }

  void add_memory(uint32_t index, const Argument& a, uint32_t offset_B, bool read, bool written) {
    MemoryRef ref = a.kind == Argument::Kind::buffer ? memory_ref(state_, a.buffer, "dispatch")
                                                     : memory_ref(state_, a.symbol, "dispatch");
    out_.memory.push_back({offset_B, index, std::move(ref), read, written});
  }

  void put(uint32_t offset_B, const void* bytes, size_t size_B) {
    std::memcpy(out_.kernarg.data() + offset_B, bytes, size_B);
  }

  void add_variable_symbol(const Argument& a, uint32_t offset_B) {
    state_.variable_slots = std::max(state_.variable_slots, a.symbol.slot + 1);
    out_.variables.push_back({offset_B, a.symbol.slot});
    out_.launch_variables.push_back({true, a.symbol.slot, 0});
  }

  void add(uint32_t index, const Argument& a) {
    const ArgSlot& slot = binary_.args[index];
    if (slot.kind == ArgSlot::Kind::buffer) {
      if (!is_buffer(a)) fail(index, "must be a buffer");
      add_memory(index, a, slot.offset_B, slot.read, slot.written);
      return;
    }
    if (is_buffer(a)) fail(index, "must be an integer, not a buffer");
    if (a.kind == Argument::Kind::symbol) return add_variable_symbol(a, slot.offset_B);
    if (!a.is_integer) fail(index, "must be an integer");
    put(slot.offset_B, &a.integer, sizeof a.integer);
    out_.launch_variables.push_back({false, 0, a.integer});
  }

  /// Natural alignment, as the C ABI and AMD's kernargs have it.
  void add_raw(uint32_t index, const Argument& a) {
    const size_t size_B = a.kind == Argument::Kind::scalar ? a.scalar_B : 8;
    const size_t at_B = (out_.kernarg.size() + size_B - 1) / size_B * size_B;
    out_.kernarg.resize(at_B + size_B);
    const auto offset_B = static_cast<uint32_t>(at_B);
    if (is_buffer(a)) return add_memory(index, a, offset_B, true, true);
    if (a.kind == Argument::Kind::symbol) return add_variable_symbol(a, offset_B);
    put(offset_B, &a.bits, size_B);
    if (a.is_integer) out_.launch_variables.push_back({false, 0, a.integer});
  }

  ListState& state_;
  const Binary& binary_;
  bool raw_;
  DispatchCommand out_;
};

void append_dispatch(ListState& s, DispatchCommand d) {
  if (d.groups_constant()) {
    const auto n = d.evaluate_groups({});
    for (size_t i = 0; i < 3; ++i) d.groups[i] = LaunchExpr(n[i]);
    d.launch_variables.clear();
  } else if (d.launch_variables.size() > kMaxLaunchVariables) {
    throw UsageError(fmt::format("[dispatch] {} launch variables, at most {}",
                                 d.launch_variables.size(), kMaxLaunchVariables));
  }
  std::vector<std::pair<const MemoryRef*, bool>> accesses;
  for (const auto& m : d.memory) accesses.emplace_back(&m.ref, m.written);
  s.order(accesses);
  s.append(std::move(d));
  ++s.user_commands;
}

void append_copy(ListState& s, MemoryRef dst, MemoryRef src) {
  const uint64_t size_B = dst.is_symbol() ? src.buffer.size_B() : dst.buffer.size_B();
  for (MemoryRef* ref : {&dst, &src}) {
    if (!ref->is_symbol()) continue;
    ref->size_B = size_B;
    bound_slot(s.slot_min_B, Symbol::buffer(ref->slot, ref->offset_B, size_B));
  }
  const std::pair<const MemoryRef*, bool> accesses[] = {{&dst, true}, {&src, false}};
  s.order(accesses);
  s.append(CopyCommand{std::move(dst), std::move(src), size_B});
  ++s.user_commands;
}

}  // namespace

CommandList::CommandList() = default;
CommandList::CommandList(std::shared_ptr<ListState> state) : state_(std::move(state)) {}

void CommandList::wait(const Fence& fence) {
  ListState& s = checked(state_, "wait");
  ++s.user_commands;
  if (fence.timeline()) s.append(WaitCommand{fence});
}

void CommandList::signal(const Fence& fence) {
  ListState& s = checked(state_, "signal");
  if (!fence.timeline()) throw UsageError("[signal] the fence names no timeline");
  Backend& backend = *s.device->impl().backend;
  for (size_t q = 0; q < backend.queue_count(); ++q)
    if (backend.timeline(q) == fence.timeline())
      throw UsageError("[signal] a queue's own timeline advances by submitting only");
  ++s.user_commands;
  s.append(SignalCommand{fence});
}

void CommandList::barrier() {
  ListState& s = checked(state_, "barrier");
  ++s.user_commands;
  s.append(BarrierCommand{});
}

void CommandList::timestamp(const Buffer& dst) {
  ListState& s = checked(state_, "timestamp");
  if (!s.device->impl().backend->has_timestamps())
    throw UsageError(fmt::format("[timestamp] {} has no device clock", s.device->name()));
  if (!dst || dst.size_B() < 8 || dst.offset_B() % 8)
    throw UsageError("[timestamp] needs 8 bytes of 8-aligned memory");
  MemoryRef ref = memory_ref(s, dst.slice(0, 8), "timestamp");
  ++s.user_commands;
  const std::pair<const MemoryRef*, bool> accesses[] = {{&ref, true}};
  s.order(accesses);
  s.append(TimestampCommand{std::move(ref)});
}

void CommandList::dispatch(const std::shared_ptr<Program>& program, const LaunchShape& shape,
                           const Arguments& arguments) {
  ListState& s = checked(state_, "dispatch");
  if (!program) throw UsageError("[dispatch] no program");
  check_device(s, program->device().get(), "dispatch");
  DispatchCommand d = DispatchBuilder(s, program).build(arguments);
  d.groups = {LaunchExpr(shape.groups.x), LaunchExpr(shape.groups.y), LaunchExpr(shape.groups.z)};
  d.group_size = {shape.group_size.x, shape.group_size.y, shape.group_size.z};
  append_dispatch(s, std::move(d));
}

void CommandList::dispatch(const std::shared_ptr<Program>& program, const Arguments& arguments) {
  ListState& s = checked(state_, "dispatch");
  if (!program) throw UsageError("[dispatch] no program");
  check_device(s, program->device().get(), "dispatch");
  DispatchCommand d = DispatchBuilder(s, program).build(arguments);
  d.groups = program->binary().groups;
  d.group_size = program->binary().group_size;
  append_dispatch(s, std::move(d));
}

void CommandList::copy(const Buffer& dst, const Buffer& src) {
  ListState& s = checked(state_, "copy");
  if (!dst || !src) throw UsageError("[copy] a buffer is empty");
  if (dst.size_B() != src.size_B())
    throw UsageError(fmt::format("[copy] sizes {} and {} differ", dst.size_B(), src.size_B()));
  append_copy(s, memory_ref(s, dst, "copy"), memory_ref(s, src, "copy"));
}

void CommandList::copy(const Symbol& dst, const Buffer& src) {
  ListState& s = checked(state_, "copy");
  append_copy(s, memory_ref(s, dst, "copy"), memory_ref(s, src, "copy"));
}

void CommandList::copy(const Buffer& dst, const Symbol& src) {
  ListState& s = checked(state_, "copy");
  append_copy(s, memory_ref(s, dst, "copy"), memory_ref(s, src, "copy"));
}

size_t CommandList::size() const { return state_ ? state_->user_commands : 0; }

std::vector<Touched> CommandList::touched() const {
  std::map<std::pair<const Allocation*, uint32_t>, Touched> found;
  auto add = [&](const MemoryRef& ref, bool read, bool written) {
    Touched& t = found[{ref.buffer.allocation(), ref.slot}];
    t.buffer = ref.buffer;
    t.slot = ref.slot;
    t.read |= read;
    t.written |= written;
  };
  if (state_)
    for (const Command& command : state_->commands) {
      if (const auto* d = std::get_if<DispatchCommand>(&command))
        for (const auto& m : d->memory) add(m.ref, m.read, m.written);
      if (const auto* c = std::get_if<CopyCommand>(&command)) {
        add(c->src, true, false);
        add(c->dst, false, true);
      }
      if (const auto* t = std::get_if<TimestampCommand>(&command)) add(t->dst, false, true);
    }
  std::vector<Touched> out;
  for (auto& [key, touched] : found) out.push_back(std::move(touched));
  return out;
}

}  // namespace tiny
