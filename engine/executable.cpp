// SPDX-License-Identifier: MIT
#include "engine/executable.h"

#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>
#include "compiler/schedule/schedule.h"
#include "engine/compile_pool.h"

#include <mutex>
#include <unordered_map>

namespace tiny::engine {
namespace {

constexpr size_t kMaxEntries = 4096;

struct ScheduleCache {
  std::mutex mutex;
  std::unordered_map<Hash128, std::shared_ptr<const Executable>> entries;
  uint64_t made = 0, hits = 0;
};
ScheduleCache& schedule_cache() {
  static ScheduleCache cache;
  return cache;
}

Hash128 cache_key(const GraphView& view, const Device& device, const std::vector<char>& in_place) {
  Hasher hasher;
  hasher.add(view.key).add(device.name()).add(device.target().key());
  hasher.add(knobs().noopt).add(knobs().fast_math);
  for (const char c : in_place) hasher.add(c);
  return hasher.digest();
}

void number_symbols(Executable& exe) {
  exe.slots.resize(exe.plan.buffers.size());
  for (size_t i = 0; i < exe.plan.buffers.size(); ++i) {
    const PlanBuffer& b = exe.plan.buffers[i];
    if (b.kind != PlanBuffer::Kind::temporary)
      exe.slots[i] = b.in_place_of >= 0 ? exe.slots[b.in_place_of] : int(exe.slot_count++);
  }
  for (size_t i = 0; i < exe.plan.buffers.size(); ++i)
    if (exe.plan.buffers[i].kind == PlanBuffer::Kind::temporary) exe.slots[i] = int(exe.slot_count);
  ++exe.slot_count;
}

Symbol symbol_of(const Executable& exe, int id) {
  const PlanBuffer& b = exe.plan.buffers[id];
  const uint64_t offset_B = b.kind == PlanBuffer::Kind::temporary ? uint64_t(b.offset_B) : 0;
  return Symbol::buffer(uint32_t(exe.slots[id]), offset_B, uint64_t(b.size_in_B()));
}

void record(Executable& exe, const std::vector<std::shared_ptr<Program>>& programs) {
  exe.list = exe.device->make_list();
  for (size_t s = 0; s < exe.plan.steps.size(); ++s) {
    Arguments arguments;
    for (const int id : exe.plan.steps[s].buffers) arguments.add(symbol_of(exe, id));
    exe.list.dispatch(programs[s], arguments);
  }
}

std::shared_ptr<const Executable> build(const GraphView& view,
                                        const std::shared_ptr<Device>& device,
                                        const std::vector<char>& in_place) {
  auto exe = std::make_shared<Executable>();
  exe->device = device;
  exe->plan = schedule(import_graph(view), device->target(), {knobs().noopt, in_place});
  log_at(2, "schedule", "{}", print(exe->plan));
  std::vector<const Kernel*> kernels;
  for (const PlanStep& step : exe->plan.steps) kernels.push_back(&step.kernel);
  const auto programs = compile_kernels(kernels, device);
  number_symbols(*exe);
  record(*exe, programs);
  for (PlanStep& step : exe->plan.steps) {  // expressions are not needed to run
    step.kernel.pieces.clear();
    step.kernel.arena.reset();
  }
  return exe;
}

}  // namespace

std::shared_ptr<const Executable> executable_for(const GraphView& view,
                                                 const std::shared_ptr<Device>& device,
                                                 const std::vector<char>& in_place) {
  ScheduleCache& cache = schedule_cache();
  const Hash128 key = cache_key(view, *device, in_place);
  {
    const std::lock_guard lock(cache.mutex);
    const auto it = cache.entries.find(key);
    if (it != cache.entries.end() && it->second->device == device) {
      ++cache.hits;
      return it->second;
    }
  }
  auto exe = build(view, device, in_place);
  const std::lock_guard lock(cache.mutex);
  ++cache.made;
  if (cache.entries.size() >= kMaxEntries) cache.entries.clear();  // shapes that never repeat
  cache.entries[key] = exe;
  return exe;
}

Binding bind_memory(const Executable& exe, std::span<const Buffer> inputs) {
  Binding binding;
  binding.buffers.resize(exe.plan.buffers.size());
  binding.symbols.resize(exe.slot_count);
  for (size_t i = 0; i < exe.plan.buffers.size(); ++i) {
    const PlanBuffer& b = exe.plan.buffers[i];
    if (b.kind == PlanBuffer::Kind::temporary) continue;
    Buffer& buffer = binding.buffers[i];
    if (b.kind == PlanBuffer::Kind::input)
      buffer = inputs[size_t(b.slot)];
    else if (b.in_place_of >= 0)
      buffer = binding.buffers[size_t(b.in_place_of)];
    else
      buffer = exe.device->alloc(size_t(b.size_in_B()), {.tag = "tensor"});
    binding.symbols[size_t(exe.slots[i])] = buffer;
  }
  binding.symbols.back() = exe.device->alloc(size_t(exe.plan.temporary_B), {.tag = "temporaries"});
  return binding;
}

CacheStats cache_stats() {
  ScheduleCache& cache = schedule_cache();
  const CompileStats compiled = compile_stats();
  const std::lock_guard lock(cache.mutex);
  return {cache.made, cache.hits, compiled.compiled, compiled.from_disk, compiled.reused};
}

void clear_caches() {
  clear_programs();
  ScheduleCache& cache = schedule_cache();
  const std::lock_guard lock(cache.mutex);
  cache.entries.clear();
}

}  // namespace tiny::engine
