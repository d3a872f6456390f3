// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/device.h>

#include <rt_tiny/runtime/profile.h>

#include "runtime/device_impl.h"
#include "runtime/process.h"
#include "runtime/profile_sink.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny {
namespace {

std::shared_ptr<const ProfileLayout> profile_layout(const ListPlan& plan) {
  auto layout = std::make_shared<ProfileLayout>();
  std::vector<uint32_t> queue_of(plan.commands.size());
  for (const Segment& segment : plan.segments)
    for (uint32_t index : segment.commands) queue_of[index] = segment.queue;
  for (uint32_t index : plan.profiled_commands) {
    ProfileLayout::Row row;
    row.queue = queue_of[index];
    if (const auto* d = std::get_if<DispatchCommand>(&plan.commands[index])) {
      const Binary& binary = d->program->binary();
      row.name = binary.name;
      row.flops = binary.flops;
      row.bytes = binary.bytes;
    } else {
      const auto& c = std::get<CopyCommand>(plan.commands[index]);
      row.name = fmt::format("copy {} B", c.size_B);
      row.bytes = 2.0 * static_cast<double>(c.size_B);
    }
    layout->rows.push_back(std::move(row));
  }
  return layout;
}

void check_bindings(const ListState& s, const SubmitArgs& args) {
  if (args.buffers.size() < s.buffer_slots || args.variables.size() < s.variable_slots)
    throw UsageError(
        fmt::format("[submit] the list has {} buffer and {} variable symbols; {} and "
                    "{} are bound",
                    s.buffer_slots, s.variable_slots, args.buffers.size(), args.variables.size()));
  for (uint32_t i = 0; i < s.buffer_slots; ++i) {
    const Allocation* allocation = args.buffers[i].allocation();
    if (!allocation || allocation->device() != s.device)
      throw UsageError(
          fmt::format("[submit] buffer symbol {} is bound to {}", i,
                      allocation ? "memory of " + allocation->device()->name() : "nothing"));
    if (i < s.slot_min_B.size() && args.buffers[i].size_B() < s.slot_min_B[i])
      throw UsageError(fmt::format("[submit] buffer symbol {} needs {} B, bound are {} B", i,
                                   s.slot_min_B[i], args.buffers[i].size_B()));
  }
}

const Allocation& touched_by(const QueueTouch& touch, std::span<const Buffer> bound) {
  return touch.allocation ? *touch.allocation : *bound[touch.slot].allocation();
}

void check_launches(const ListState& s, const SubmitArgs& args) {
  for (size_t index : s.variable_launches)
    std::get<DispatchCommand>(s.commands[index]).evaluate_groups(args.variables);
}

}  // namespace

Device::Impl::Impl(std::string n, std::unique_ptr<Backend> b)
    : name(std::move(n)),
      backend(std::move(b)),
      process(process_generation()),
      pool(*backend),
      submitted(backend->queue_count()) {
  CHECK_INVARIANT(submitted.size() <= kMaxQueues && !submitted.empty(), "queue count");
  for (size_t q = 0; q < submitted.size(); ++q) timelines[q] = backend->timeline(q).get();
  backend->describe_address = [this](uint64_t address) { return pool.describe(address); };
}

bool Device::Impl::retired(const std::array<uint64_t, kMaxQueues>& values) const {
  for (size_t q = 0; q < submitted.size(); ++q)
    if (values[q] && !timelines[q]->retired(values[q])) return false;
  return true;
}

void Device::Impl::InFlight::clear() {
  list.reset();
  profile.reset();
  waited.clear();
  timestamps.reset();
}

void Device::Impl::retire() {
  while (!in_flight.empty() && retired(in_flight.front().values)) {
    InFlight& done = in_flight.front();
    if (done.timestamps) {
      publish_profile(done);
      pool.put(*done.timestamps, done.values);
    }
    done.clear();
    in_flight.pop();
  }
}

void Device::Impl::publish_profile(const InFlight& done) {
  for (size_t q = 0; q < submitted.size(); ++q)
    if (!timelines[q]->reached(done.values[q])) return;  // failed: clocks are garbage
  const auto& rows = done.profile->rows;
  std::vector<uint64_t> clocks(rows.size() * 2);
  backend->read(*done.timestamps, 0, clocks.data(), clocks.size() * 8);
  std::vector<ProfileEvent> events;
  for (size_t i = 0; i < rows.size(); ++i)
    events.push_back({name, backend->queue_name(rows[i].queue), rows[i].name,
                      backend->to_host_ns(clocks[2 * i]), backend->to_host_ns(clocks[2 * i + 1]),
                      rows[i].flops, rows[i].bytes});
  publish_events(std::move(events));
}

void Device::Impl::throw_if_poisoned() const {
  for (size_t q = 0; q < submitted.size(); ++q)
    if (timelines[q]->poisoned())
      throw DeviceFault(fmt::format("[submit] {} is dead: {}", name, timelines[q]->fault()));
}

void Device::Impl::wait_idle() {
  for (size_t q = 0; q < submitted.size(); ++q) try {
      timelines[q]->wait(submitted[q]);
    } catch (const DeviceFault&) {  // a dead queue is idle
    }
}

const ListState::Encoded& Device::Impl::encode(ListState& s, bool profiled) {
  ListState::Encoded& e = s.encoded[profiled];
  if (e.list) return e;
  std::vector<uint32_t> timed;
  ListPlan plan =
      plan_queues(profiled ? add_timestamps(s.commands, s.buffer_slots, timed) : s.commands,
                  submitted.size(), backend->copy_queue());
  plan.indirect = s.indirect;
  plan.profiled_commands = std::move(timed);
  e.list = backend->encode(plan);
  if (profiled) e.profile = profile_layout(plan);
  for (Segment& segment : plan.segments) {
    e.queues.push_back(segment.queue);
    e.after.push_back(std::move(segment.after));
  }
  for (const Command& command : plan.commands) {
    if (const auto* w = std::get_if<WaitCommand>(&command)) e.waited.push_back(w->fence.timeline());
    if (const auto* w = std::get_if<SignalCommand>(&command))
      e.waited.push_back(w->fence.timeline());
  }
  e.touched = std::move(plan.touched);
  return e;
}

/// Earlier work on other queues that touches the same memory.
void Device::Impl::wait_for_touched(const std::vector<QueueTouch>& touched, size_t queue,
                                    std::span<const Buffer> bound, SegmentSubmit& segment) const {
  for (size_t q = 0; q < submitted.size(); ++q) {
    if (q == queue) continue;
    uint64_t needed = 0;
    for (const QueueTouch& t : touched) {
      const Allocation::Uses& uses = touched_by(t, bound).uses();
      const auto& values = t.written ? uses.any : uses.write;
      needed = std::max(needed, values[q].load(std::memory_order_relaxed));
    }
    if (needed && !timelines[q]->reached(needed)) segment.waits.emplace_back(timelines[q], needed);
  }
}

void Device::Impl::mark_uses(const std::vector<QueueTouch>& touched, size_t queue,
                             std::span<const Buffer> bound, uint64_t value) const {
  for (const QueueTouch& t : touched) {
    Allocation::Uses& uses = touched_by(t, bound).uses();
    uses.any[queue].store(value, std::memory_order_release);
    if (t.written) uses.write[queue].store(value, std::memory_order_release);
  }
}

std::array<uint64_t, kMaxQueues> Device::Impl::order(const ListState::Encoded& e,
                                                     std::span<const Buffer> bound,
                                                     const SubmitArgs& args) {
  std::array<uint64_t, kMaxQueues> values{};
  const size_t count = e.queues.size();
  if (segments.size() != count) segments.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t queue = e.queues[i];
    SegmentSubmit& segment = segments[i];
    segment.waits.clear();
    for (uint32_t before : e.after[i])
      segment.waits.emplace_back(timelines[e.queues[before]], segments[before].signal_value);
    segment.signal_value = ++submitted[queue];
    const bool first = values[queue] == 0;
    values[queue] = segment.signal_value;
    if (!first) continue;
    wait_for_touched(e.touched[queue], queue, bound, segment);
    for (const Fence& fence : args.waits)
      if (fence.timeline() && !fence.timeline()->reached(fence.value()))
        segment.waits.emplace_back(fence.timeline().get(), fence.value());
  }
  // Only now: a queue does not wait for what another one does for this same list.
  for (size_t q = 0; q < submitted.size(); ++q)
    if (values[q]) mark_uses(e.touched[q], q, bound, values[q]);
  return values;
}

std::shared_ptr<Allocation> Device::Impl::add_clock(const std::shared_ptr<Device>& device,
                                                    const ListState& s, const ProfileLayout& layout,
                                                    std::span<const Buffer> bound,
                                                    std::vector<Buffer>& out) {
  const size_t clock_B = std::max<size_t>(layout.rows.size(), 1) * 16;
  auto clock =
      std::make_shared<Allocation>(device, pool.take(clock_B, {"profile"}), clock_B, "profile");
  out.assign(bound.begin(), bound.begin() + s.buffer_slots);
  out.emplace_back(clock, 0, clock_B);
  return clock;
}

Device::Device(std::string name, std::unique_ptr<Backend> backend)
    : impl_(std::make_unique<Impl>(std::move(name), std::move(backend))) {}

Device::~Device() {
  if (impl_->process != process_generation()) {  // its threads and locks stayed in the parent
    (void)impl_.release();
    return;
  }
  impl_->wait_idle();
  std::unique_lock lock(impl_->submit_mutex);
  impl_->retire();
  lock.unlock();
  impl_->pool.flush();
  write_profile_file();
}

const std::string& Device::name() const { return impl_->name; }
std::string Device::description() const { return impl_->backend->description(); }
const Target& Device::target() const { return impl_->backend->target(); }

Buffer Device::alloc(size_t size_B, const AllocOptions& options) {
  check_process(impl_->process, "alloc", impl_->name);
  const Block block = impl_->pool.take(size_B, options);
  auto allocation = std::make_shared<Allocation>(shared_from_this(), block, size_B, options.tag);
  return Buffer(std::move(allocation), 0, size_B);
}

Buffer Device::from_host_pointer(void* pointer, size_t size_B) {
  check_process(impl_->process, "from_host_pointer", impl_->name);
  const std::optional<Block> block = impl_->backend->import_host(pointer, size_B);
  if (!block)
    throw UsageError(fmt::format("[from_host_pointer] {} cannot reach host memory", impl_->name));
  auto allocation = std::make_shared<Allocation>(shared_from_this(),
                                                 impl_->pool.adopt(*block, "from_host_pointer"),
                                                 size_B, "from_host_pointer");
  return Buffer(std::move(allocation), 0, size_B);
}

std::shared_ptr<Program> Device::load(const Binary& binary) {
  check_process(impl_->process, "load", impl_->name);
  auto check = [&](bool ok, std::string_view what) {
    if (!ok) throw UsageError(fmt::format("[load] {}: {}", binary.name, what));
  };
  for (const ArgSlot& slot : binary.args)
    check(slot.offset_B % 8 == 0 && slot.offset_B + 8ull <= binary.kernarg_B,
          "an argument lies outside the kernarg block");
  return std::make_shared<Program>(shared_from_this(), binary, impl_->backend->load(binary), true);
}

std::shared_ptr<Program> Device::load(std::span<const uint8_t> code, std::string_view name) {
  check_process(impl_->process, "load", impl_->name);
  Binary binary;
  binary.name = name;
  binary.code.assign(code.begin(), code.end());
  auto loaded = impl_->backend->load(binary);
  return std::make_shared<Program>(shared_from_this(), std::move(binary), std::move(loaded), false);
}

std::shared_ptr<Program> Device::load(std::string_view code, std::string_view name) {
  return load(std::span(reinterpret_cast<const uint8_t*>(code.data()), code.size()), name);
}

CommandList Device::make_list() {
  check_process(impl_->process, "make_list", impl_->name);
  auto state = std::make_shared<ListState>();
  state->device = shared_from_this();
  return CommandList(std::move(state));
}

std::shared_ptr<Timeline> Device::make_timeline(std::string name) {
  check_process(impl_->process, "make_timeline", impl_->name);
  return std::make_shared<Timeline>(std::move(name));
}

Fence Device::submit(const CommandList& list, const SubmitArgs& args) {
  Impl& impl = *impl_;
  check_process(impl.process, "submit", impl.name);
  if (!list.state() || list.state()->device.get() != this)
    throw UsageError(fmt::format("[submit] the list was not made by {}", impl.name));
  ListState& s = *list.state();
  check_bindings(s, args);
  check_launches(s, args);
  std::lock_guard lock(impl.submit_mutex);
  impl.retire();
  impl.throw_if_poisoned();
  const bool profiled = impl.backend->has_timestamps() && profiling();
  const ListState::Encoded& e = impl.encode(s, profiled);

  std::vector<Buffer> with_clock;
  std::shared_ptr<Allocation> clock;
  std::span<const Buffer> bound = args.buffers;
  if (profiled) {
    clock = impl.add_clock(shared_from_this(), s, *e.profile, bound, with_clock);
    bound = with_clock;
  }
  const auto values = impl.order(e, bound, args);
  Impl::InFlight& flight = impl.in_flight.push();
  flight.values = values;
  flight.list = e.list;
  if (!e.waited.empty()) flight.waited = e.waited;
  for (const Fence& fence : args.waits)
    if (fence.timeline()) flight.waited.push_back(fence.timeline());
  impl.backend->submit(*e.list, {bound, args.variables, impl.segments});
  if (profiled) {
    flight.profile = e.profile;
    flight.timestamps = clock->release();
  }
  return Fence(impl.backend->timeline(e.queues.back()), impl.segments.back().signal_value);
}

void Device::synchronize() {
  Impl& impl = *impl_;
  check_process(impl.process, "synchronize", impl.name);
  std::vector<uint64_t> values;
  {
    std::lock_guard lock(impl.submit_mutex);
    values = impl.submitted;
  }
  for (size_t q = 0; q < values.size(); ++q) impl.backend->timeline(q)->wait(values[q]);
  std::lock_guard lock(impl.submit_mutex);
  impl.retire();
}

MemoryStats Device::memory_stats() const { return impl_->pool.stats(); }

void Device::flush_cache() {
  check_process(impl_->process, "flush_cache", impl_->name);
  impl_->pool.flush();
}

}  // namespace tiny
