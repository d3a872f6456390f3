// SPDX-License-Identifier: MIT
#include "tests/runtime/host_api.h"

#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/host_cpu.h>

#include "runtime/backend.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <variant>

namespace tiny::test {
namespace {

/// The foreign API: an in-order queue run by its own thread. Everything is a number to its client.
class FakeApi {
 public:
  using Handle = uint64_t;
  using Entry = void (*)(const void*, const int64_t*, void*);
  struct BufferArg {
    uint32_t offset_B;
    Handle buffer;
    uint64_t buffer_offset_B;
  };

  FakeApi() : thread_([this] { run(); }) {}
  ~FakeApi() {
    enqueue(nullptr);
    thread_.join();
  }

  Handle create_buffer(size_t size_B) {
    std::lock_guard lock(mutex_);
    buffers_.emplace(++next_, std::vector<uint8_t>(size_B, 0xcd));
    return next_;
  }
  void release_buffer(Handle h) {
    std::lock_guard lock(mutex_);
    CHECK_INVARIANT(buffers_.erase(h) == 1, "released twice");
  }
  uint8_t* memory(Handle h) {  // not for clients
    std::lock_guard lock(mutex_);
    return buffers_.at(h).data();
  }
  void read_buffer(Handle h, size_t at_B, void* dst, size_t n) {
    std::memcpy(dst, memory(h) + at_B, n);
  }
  void write_buffer(Handle h, size_t at_B, const void* src, size_t n) {
    std::memcpy(memory(h) + at_B, src, n);
  }
  void enqueue_kernel(Entry entry, std::vector<uint8_t> block, std::vector<BufferArg> args,
                      std::array<uint32_t, 3> n, uint64_t scratch_B) {
    enqueue([=, this]() mutable {
      for (const BufferArg& a : args) {
        const uint8_t* p = memory(a.buffer) + a.buffer_offset_B;
        std::memcpy(block.data() + a.offset_B, &p, sizeof p);
      }
      std::vector<uint8_t> scratch(scratch_B + 64);
      void* s =
          reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~63ull);
      for (int64_t z = 0; z < n[2]; ++z)
        for (int64_t y = 0; y < n[1]; ++y)
          for (int64_t x = 0; x < n[0]; ++x) {
            const int64_t group[3] = {x, y, z};
            entry(block.data(), group, s);
          }
    });
  }
  void enqueue_copy(Handle dst, uint64_t dst_B, Handle src, uint64_t src_B, size_t n) {
    enqueue([=, this] { std::memmove(memory(dst) + dst_B, memory(src) + src_B, n); });
  }
  /// An event that is complete when all earlier commands are.
  uint64_t enqueue_marker() {
    std::lock_guard lock(mutex_);
    return enqueued_;
  }
  bool complete(uint64_t event) {
    std::lock_guard lock(mutex_);
    return finished_ >= event;
  }
  void wait(uint64_t event) {
    std::unique_lock lock(mutex_);
    progress_.wait(lock, [&] { return finished_ >= event; });
  }

 private:
  void enqueue(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    ++enqueued_;
    queue_.push_back(std::move(work));
    ready_.notify_one();
  }
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [&] { return !queue_.empty(); });
      auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
      lock.lock();
      if (++finished_ % 16 == 0) {  // a slow device now and then
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        lock.lock();
      }
      progress_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_, progress_;
  std::deque<std::function<void()>> queue_;
  std::map<Handle, std::vector<uint8_t>> buffers_;
  Handle next_ = 0;
  uint64_t enqueued_ = 0, finished_ = 0;
  std::thread thread_;
};

/// Asks the API which events are complete; nothing writes to memory of ours.
class EventTimeline : public Timeline {
 public:
  explicit EventTimeline(FakeApi& api) : Timeline("HOSTAPI"), api_(api) {}
  void expect(uint64_t value, uint64_t event) {
    std::lock_guard lock(mutex_);
    pending_.emplace_back(value, event);
  }

 protected:
  uint64_t load() const override {
    std::lock_guard lock(mutex_);
    while (!pending_.empty() && api_.complete(pending_.front().second)) {
      done_ = pending_.front().first;
      pending_.pop_front();
    }
    return done_;
  }
  void park(uint64_t, uint64_t) override {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  FakeApi& api_;
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<uint64_t, uint64_t>> pending_;
  mutable uint64_t done_ = 0;
};

struct Kernel : ProgramCode {
  HostCode code;
  FakeApi::Entry entry = nullptr;
  uint64_t scratch_B = 0;
};

/// Memory by handle, fixed or of a slot.
struct Place {
  bool symbol = false;
  uint32_t slot = 0;
  uint64_t handle = 0, offset_B = 0;
};
Place place_of(const MemoryRef& ref) {
  if (ref.is_symbol()) return {true, ref.slot, 0, ref.offset_B};
  return {false, 0, ref.buffer.allocation()->block().handle, ref.buffer.offset_B()};
}

/// What is replayed: no Buffer, Program or Device, only handles.
struct ReplayedList : EncodedList {
  struct Dispatch {
    std::shared_ptr<Kernel> kernel;
    std::vector<uint8_t> kernarg;
    std::vector<std::pair<uint32_t, Place>> memory;
    std::vector<DispatchCommand::Variable> variables;
    std::array<LaunchExpr, 3> groups;
    std::vector<VariableRef> launch_variables;
  };
  struct Copy {
    Place dst, src;
    uint64_t size_B;
  };
  using Step = std::variant<Dispatch, Copy, WaitCommand, SignalCommand>;
  std::vector<Step> steps;
};

class HostApiBackend : public Backend {
 public:
  HostApiBackend() : timeline_(std::make_shared<EventTimeline>(api_)) {
    base_ = timeline_;
    target_.arch = host_arch();
    target_.is_cpu = true;
    target_.max_buffers = 4;
    pump_ = std::thread([this] { pump(); });
  }
  ~HostApiBackend() override {
    post(nullptr);
    pump_.join();
  }

  const Target& target() const override { return target_; }
  std::string description() const override { return "a host API"; }
  std::optional<Block> allocate(size_t size_B, const AllocOptions& options) override {
    if (options.host_visible) throw UsageError("[alloc] HOSTAPI has no memory the host could see");
    if (size_B > size_t{1} << 30) return std::nullopt;
    Block block;
    block.handle = api_.create_buffer(size_B);
    block.size_B = size_B;
    return block;
  }
  std::optional<Block> import_host(void*, size_t) override { return std::nullopt; }
  void release(const Block& b) noexcept override { api_.release_buffer(b.handle); }
  void read(const Block& b, size_t at_B, void* dst, size_t n) override {
    api_.read_buffer(b.handle, at_B, dst, n);
  }
  void write(const Block& b, size_t at_B, const void* src, size_t n) override {
    api_.write_buffer(b.handle, at_B, src, n);
  }
  std::shared_ptr<ProgramCode> load(const Binary& binary) override {
    auto k = std::make_shared<Kernel>();
    k->code = load_host_code(ElfObject(binary.code));
    k->entry =
        reinterpret_cast<FakeApi::Entry>(reinterpret_cast<uintptr_t>(k->code.symbol(binary.name)));
    k->scratch_B = binary.scratch_B;
    return k;
  }
  size_t queue_count() const override { return 1; }
  size_t copy_queue() const override { return 0; }
  std::string queue_name(size_t) const override { return "queue"; }
  const std::shared_ptr<Timeline>& timeline(size_t) const override { return base_; }
  bool has_timestamps() const override { return false; }

  std::unique_ptr<EncodedList> encode(const ListPlan& plan) override {
    auto list = std::make_unique<ReplayedList>();
    for (const Segment& segment : plan.segments)
      for (uint32_t i : segment.commands) encode(*list, plan.commands[i]);
    return list;
  }

  void submit(EncodedList& encoded, const Submission& s) override {
    auto& list = static_cast<ReplayedList&>(encoded);
    CHECK_INVARIANT(s.segments.size() == 1, "one queue, one segment");
    std::vector<Place> bound;
    for (const Buffer& b : s.buffers)
      bound.push_back({false, 0, b.allocation()->block().handle, b.offset_B()});
    std::vector<int64_t> variables(s.variables.begin(), s.variables.end());
    // The device keeps `list` until its timeline value passes.
    post([this, &list, bound = std::move(bound), variables = std::move(variables),
          segment = s.segments[0]] {
      for (const auto& [timeline, value] : segment.waits) timeline->wait(value);
      for (const auto& step : list.steps) replay(step, bound, variables);
      timeline_->expect(segment.signal_value, api_.enqueue_marker());
    });
  }

 private:
  void encode(ReplayedList& list, const Command& command) {
    if (const auto* d = std::get_if<DispatchCommand>(&command)) {
      ReplayedList::Dispatch out;
      out.kernel = std::static_pointer_cast<Kernel>(d->program->code());
      out.kernarg = d->kernarg;
      for (const auto& m : d->memory) out.memory.emplace_back(m.offset_B, place_of(m.ref));
      out.variables = d->variables;
      out.groups = d->groups;
      out.launch_variables = d->launch_variables;
      list.steps.push_back(std::move(out));
    } else if (const auto* c = std::get_if<CopyCommand>(&command)) {
      list.steps.push_back(ReplayedList::Copy{place_of(c->dst), place_of(c->src), c->size_B});
    } else if (const auto* w = std::get_if<WaitCommand>(&command)) {
      list.steps.push_back(*w);
    } else if (const auto* g = std::get_if<SignalCommand>(&command)) {
      list.steps.push_back(*g);
    }  // barriers: the queue is in order
  }

  static FakeApi::BufferArg resolve(uint32_t offset_B, const Place& p,
                                    const std::vector<Place>& bound) {
    if (!p.symbol) return {offset_B, p.handle, p.offset_B};
    return {offset_B, bound[p.slot].handle, bound[p.slot].offset_B + p.offset_B};
  }

  void replay(const ReplayedList::Step& step, const std::vector<Place>& bound,
              const std::vector<int64_t>& variables) {
    if (const auto* d = std::get_if<ReplayedList::Dispatch>(&step)) {
      std::vector<uint8_t> block = d->kernarg;
      for (const auto& v : d->variables) std::memcpy(&block[v.offset_B], &variables[v.slot], 8);
      std::vector<FakeApi::BufferArg> args;
      for (const auto& [offset_B, place] : d->memory)
        args.push_back(resolve(offset_B, place, bound));
      std::vector<int64_t> values;
      for (const VariableRef& v : d->launch_variables)
        values.push_back(v.is_symbol ? variables[v.slot] : v.value);
      std::array<uint32_t, 3> n;
      for (size_t i = 0; i < 3; ++i) n[i] = static_cast<uint32_t>(d->groups[i].evaluate(values));
      api_.enqueue_kernel(d->kernel->entry, std::move(block), std::move(args), n,
                          d->kernel->scratch_B);
    } else if (const auto* c = std::get_if<ReplayedList::Copy>(&step)) {
      const auto dst = resolve(0, c->dst, bound), src = resolve(0, c->src, bound);
      api_.enqueue_copy(dst.buffer, dst.buffer_offset_B, src.buffer, src.buffer_offset_B,
                        c->size_B);
    } else if (const auto* w = std::get_if<WaitCommand>(&step)) {
      w->fence.wait();
    } else if (const auto* g = std::get_if<SignalCommand>(&step)) {
      api_.wait(api_.enqueue_marker());
      g->fence.timeline()->signal(g->fence.value());
    }
  }

  // Submits run on a thread of their own: a wait for a foreign fence must not block the caller.
  void post(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    posted_.notify_one();
  }
  void pump() {
    for (;;) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [&] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      job();
    }
  }

  FakeApi api_;
  Target target_;
  std::shared_ptr<EventTimeline> timeline_;
  std::shared_ptr<Timeline> base_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> jobs_;
  std::thread pump_;
};

}  // namespace

void register_host_api() {
  static const bool once = [] {
    BackendInfo info;
    info.vendor = "HOSTAPI";
    info.rank = -1;
    info.probe = []() -> std::vector<ProbeResult> { return {{"HOSTAPI", true, "a test", false}}; };
    info.canonical = [](std::string_view) { return std::string(); };
    info.open = [](std::string_view) { return std::make_unique<HostApiBackend>(); };
    register_backend(std::move(info));
    return true;
  }();
  (void)once;
}

}  // namespace tiny::test
