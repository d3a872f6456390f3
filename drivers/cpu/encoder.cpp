// SPDX-License-Identifier: MIT
#include "drivers/cpu/encoder.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/cpu/packets.h"
#include "runtime/hwqueue/dword_stream.h"

#include <algorithm>
#include <cstring>

namespace tiny::cpu {
namespace {

constexpr size_t kKernargAlign_B = 64;

uint64_t bits_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class Encoder {
 public:
  explicit Encoder(const ListPlan& plan) : plan_(plan), list_(std::make_unique<CpuList>()) {}

  std::unique_ptr<CpuList> run() {
    for (const Segment& segment : plan_.segments) {
      stream_ = DwordStream();
      for (uint32_t index : segment.commands)
        std::visit([this](const auto& c) { emit(c); }, plan_.commands[index]);
      stream_.link();
      list_->segments.push_back({segment.queue, stream_.take_words(), stream_.take_relocations()});
    }
    return std::move(list_);
  }

 private:
  RelocationSource source(const MemoryRef& ref) {
    if (ref.is_symbol())
      return {SourceKind::argument, ref.slot, static_cast<int64_t>(ref.offset_B)};
    return {SourceKind::fixed, stream_.add_fixed(ref.buffer.device_address()), 0};
  }

  template <class Packet>
  size_t put(const Packet& packet) {
    const size_t at = stream_.size_dw();
    stream_.emit(packet.encode());
    return at;
  }

  void emit(const WaitCommand& c) {
    put(packets::WAIT{bits_of(c.fence.timeline().get()), c.fence.value()});
  }
  void emit(const SignalCommand& c) {
    put(packets::SIGNAL{bits_of(c.fence.timeline().get()), c.fence.value()});
  }
  void emit(const BarrierCommand&) { put(packets::BARRIER{}); }
  void emit(const TimestampCommand& c) {
    const size_t at = put(packets::TIMESTAMP{});
    stream_.relocate64(at + packets::TIMESTAMP_dw::address, source(c.dst));
  }
  void emit(const CopyCommand& c) {
    const size_t at = put(packets::COPY{.size_B = c.size_B});
    stream_.relocate64(at + packets::COPY_dw::dst, source(c.dst));
    stream_.relocate64(at + packets::COPY_dw::src, source(c.src));
  }

  void emit(const DispatchCommand& d) {
    const auto* code = static_cast<const CpuCode*>(d.program->code().get());
    list_->code.push_back(d.program->code());
    packets::DISPATCH packet{.code = bits_of(code), .cost_ns = code->cost_ns()};
    const bool constant = d.groups_constant();
    if (constant) {
      const auto n = d.evaluate_groups({});
      packet.groups_x = n[0], packet.groups_y = n[1], packet.groups_z = n[2];
    }
    const size_t at = put(packet);
    stream_.relocate64(at + packets::DISPATCH_dw::kernarg,
                       {SourceKind::kernarg, 0, add_kernarg(d)});
    if (constant) return;
    const auto first = static_cast<uint32_t>(list_->launches.size() * 3);
    for (uint32_t i = 0; i < 3; ++i)
      stream_.relocate32(at + packets::DISPATCH_dw::groups_x + i,
                         {SourceKind::launch, first + i, 0});
    list_->launches.push_back({d.groups, d.launch_variables});
  }

  /// Appends the block and its relocations; returns its offset.
  int64_t add_kernarg(const DispatchCommand& d) {
    auto& block = list_->kernarg;
    const size_t start_B = (block.size() + kKernargAlign_B - 1) & ~(kKernargAlign_B - 1);
    block.resize(start_B);
    block.insert(block.end(), d.kernarg.begin(), d.kernarg.end());
    auto patch = [&](uint32_t offset_B, RelocationSource from) {
      list_->kernarg_relocations.push_back(
          {static_cast<uint32_t>(start_B) + offset_B, 8, 0, 0, ~uint64_t{0}, from});
    };
    for (const auto& m : d.memory) {
      if (m.ref.is_symbol()) {
        patch(m.offset_B, {SourceKind::argument, m.ref.slot, static_cast<int64_t>(m.ref.offset_B)});
        continue;
      }
      const uint64_t address = m.ref.buffer.device_address();
      std::memcpy(block.data() + start_B + m.offset_B, &address, sizeof address);
    }
    for (const auto& v : d.variables) patch(v.offset_B, {SourceKind::variable, v.slot, 0});
    return static_cast<int64_t>(start_B);
  }

  const ListPlan& plan_;
  std::unique_ptr<CpuList> list_;
  DwordStream stream_;
};

}  // namespace

std::unique_ptr<CpuList> encode_list(const ListPlan& plan) {
  auto list = Encoder(plan).run();
  list->launch_values.resize(list->launches.size() * 3);
  return list;
}

void make_instances(CpuList& list) {
  constexpr size_t kInstances = 2;
  std::vector<std::vector<Relocation>> rest(list.segments.size());
  for (size_t i = 0; i < kInstances; ++i) {
    CpuList::Instance instance;
    instance.kernarg_memory = std::make_unique<uint8_t[]>(list.kernarg.size() + kKernargAlign_B);
    void* start = instance.kernarg_memory.get();
    size_t room_B = list.kernarg.size() + kKernargAlign_B;
    std::align(kKernargAlign_B, list.kernarg.size(), start, room_B);
    instance.kernarg = {static_cast<uint8_t*>(start), list.kernarg.size()};
    std::copy(list.kernarg.begin(), list.kernarg.end(), instance.kernarg.begin());
    const uint64_t base[1] = {bits_of(start)};
    RelocationValues values;
    values.set(SourceKind::kernarg, base);
    for (size_t s = 0; s < list.segments.size(); ++s) {
      instance.words.push_back(list.segments[s].words);
      rest[s] = fold(list.segments[s].relocations, bytes_of(instance.words[s]), values);
    }
    list.instances.push_back(std::move(instance));
  }
  for (size_t s = 0; s < list.segments.size(); ++s) {
    list.segments[s].relocations = std::move(rest[s]);
    list.segments[s].words = {};
  }
  list.kernarg = {};
}

RelocationValues gather_values(CpuList& list, const Submission& submission) {
  list.argument_values.resize(submission.buffers.size());
  for (size_t i = 0; i < submission.buffers.size(); ++i)
    list.argument_values[i] = submission.buffers[i].device_address();
  std::array<int64_t, 64> variables;
  for (size_t i = 0; i < list.launches.size(); ++i) {
    const VariableLaunch& launch = list.launches[i];
    for (size_t v = 0; v < launch.variables.size(); ++v) {
      const VariableRef& ref = launch.variables[v];
      variables[v] = ref.is_symbol ? submission.variables[ref.slot] : ref.value;
    }
    for (size_t d = 0; d < 3; ++d)
      list.launch_values[3 * i + d] = static_cast<uint64_t>(
          launch.groups[d].evaluate(std::span(variables).first(launch.variables.size())));
  }
  RelocationValues values;
  values.set(SourceKind::argument, list.argument_values);
  values.set(SourceKind::variable, {reinterpret_cast<const uint64_t*>(submission.variables.data()),
                                    submission.variables.size()});
  values.set(SourceKind::launch, list.launch_values);
  return values;
}

}  // namespace tiny::cpu
