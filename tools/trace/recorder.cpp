// SPDX-License-Identifier: MIT
#include "tools/trace/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

#include "models/interpose/trap.h"

namespace tiny::trace {
namespace {

using interpose::Call;
using interpose::Op;

constexpr std::uint64_t kPage_B = 4096;
constexpr std::size_t kTransferKept_B = 4096;
constexpr long kSamplePeriod_ns = 50'000;

struct NoNames : NameSink {
  void add(std::uint64_t, std::uint64_t, std::string_view) override {}
  void remove(std::uint64_t, std::uint64_t) override {}
};
NoNames no_names;

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string program_name() {
  std::array<char, 4096> path{};
  const ssize_t size_B = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view text(path.data(), size_B > 0 ? static_cast<std::size_t>(size_B) : 0);
  return std::string(text.substr(text.rfind('/') + 1));
}

thread_local bool in_recorder = false;
thread_local void* pending_calls = nullptr;  // Recorder::Pending of calls that have not returned

/// The next state of a call that a result can be wrong about: did it fail?
bool failed(const Call& call) { return call.result < 0; }

}  // namespace

std::span<const char* const> device_prefixes() {
  static constexpr const char* kPrefixes[] = {"/dev/kfd", "/dev/dri", "/dev/nvidia*",
                                              "/dev/kgsl-3d0"};
  return kPrefixes;
}

/// What before() leaves for after().
struct Recorder::Pending {
  Op op = Op::open;
  std::uint64_t start_ns = 0;
  std::vector<std::byte> argument;
  std::vector<Attached> attached;
  Pending* outer = nullptr;  // calls nest: a mapping that replaces another one
};

/// One thread is in the recorder once: a signal handler of the program that makes calls while we
/// hold the lock would wait for itself.
class Recorder::Guard {
 public:
  explicit Guard(Recorder& recorder) : entered_(!in_recorder) {
    if (entered_)
      in_recorder = true;
    else
      ++recorder.missed_;
  }
  ~Guard() {
    if (entered_) in_recorder = false;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

Recorder::Recorder(const Settings& settings, const char* const* environment)
    : settings_(settings), writer_(settings.file), scrubber_(settings.token_key) {
  if (!settings_.raw_secrets) scrubber_.add_surroundings(environment);
  write_process(false);
}

Recorder::~Recorder() { stop_ = true; }

void Recorder::write(Type type, std::uint64_t start_ns, std::uint64_t end_ns,
                     std::vector<std::uint64_t> numbers, std::vector<Blob> blobs) {
  thread_local const auto tid = static_cast<std::uint32_t>(::gettid());
  Record record;
  record.type = type;
  record.pid = static_cast<std::uint32_t>(::getpid());
  record.tid = tid;
  record.start_ns = start_ns;
  record.duration_ns = end_ns - start_ns;
  record.numbers = std::move(numbers);
  record.blobs = std::move(blobs);
  std::vector<std::byte> encoded = to_bytes(record);
  if (!settings_.raw_secrets) {
    const std::vector<std::span<std::byte>> parts = blob_bytes(encoded, record);
    scrubber_.scrub_call(record, parts);
    for (const std::span<std::byte> part : parts) scrubber_.scrub(part);
    seal(encoded);
  }
  if (type == Type::exit)
    writer_.append_last(encoded);
  else
    writer_.append(encoded);
}

void Recorder::write(const Snapshots& snapshots) {
  const std::uint64_t now = monotonic_ns();
  for (const Snapshot& s : snapshots)
    write(Type::snapshot, now, now,
          {static_cast<std::uint64_t>(s.contents), s.address, s.wanted_B, s.generation, s.queue},
          {{Part::data, s.address, s.bytes}});
}

void Recorder::write_process(bool is_fork_child) {
  const std::string name = program_name();
  const std::uint64_t now = monotonic_ns();
  write(Type::process, now, now, {number(std::int64_t{::getppid()}), is_fork_child},
        {{Part::text, 0, bytes_of(name)}});
}

void Recorder::note(std::string_view text) {
  const std::uint64_t now = monotonic_ns();
  write(Type::note, now, now, {}, {{Part::text, 0, bytes_of(text)}});
}

void Recorder::finish() {
  stop_ = true;
  const std::uint64_t now = monotonic_ns();
  write(Type::exit, now, now, {writer_.dropped(), writer_.dropped_B(), missed_.load()});
}

void Recorder::lock_for_fork() { mutex_.lock(); }
void Recorder::unlock_after_fork() { mutex_.unlock(); }

// ---- before the call ------------------------------------------------------------------------
void Recorder::before(Call& call) {
  const Guard guard(*this);
  if (!guard) return;
  const int kept = errno;
  auto* pending = new Pending;
  pending->op = call.op;
  pending->outer = static_cast<Pending*>(pending_calls);
  pending_calls = pending;
  if (call.op == Op::ioctl) begin_ioctl(*pending, call);
  pending->start_ns = monotonic_ns();
  errno = kept;
}

void Recorder::begin_ioctl(Pending& pending, const Call& call) {
  const auto request = static_cast<std::uint32_t>(call.request);
  const Memory& memory = own_memory();
  pending.argument = memory.read(number(call.argument), argument_size(call.path, request));
  const std::lock_guard lock(mutex_);
  pending.attached = attach(call.path, drm_.is_msm(call.path), request, pending.argument, memory);
  const std::vector<decode::Attachment> attachments = views(pending.attached);
  DeviceCall device{call.path, call.fd, {}};
  device.call.request = request;
  device.call.before = pending.argument;
  device.call.attachments = attachments;
  Snapshots snapshots;
  watchers_.before(device, memory, snapshots);
  write(snapshots);
}

// ---- after it ---------------------------------------------------------------------------------
void Recorder::after(Call& call) {
  const Guard guard(*this);
  if (!guard) return;
  const int kept = errno;
  auto* top = static_cast<Pending*>(pending_calls);
  if (call.op == Op::fork_child) {
    sampling_ = false;  // its thread stayed with the parent
    write_process(true);
  } else if (top && top->op == call.op) {
    pending_calls = top->outer;
    const std::unique_ptr<Pending> pending(top);
    if (call.op == Op::ioctl)
      end_ioctl(*pending, call);
    else if (call.op == Op::mmap)
      end_mmap(*pending, call);
    else
      end_other(*pending, call);
  }
  errno = kept;
}

void Recorder::end_ioctl(Pending& pending, const Call& call) {
  const std::uint64_t end_ns = monotonic_ns();
  const auto request = static_cast<std::uint32_t>(call.request);
  const Memory& memory = own_memory();
  const std::vector<std::byte> after = memory.read(number(call.argument), pending.argument.size());
  attach_after(pending.attached, memory);
  std::vector<Blob> blobs = {{Part::text, 0, bytes_of(call.path)},
                             {Part::before, 0, pending.argument}};
  if (after != pending.argument) blobs.push_back({Part::after, 0, after});
  for (const Attached& range : pending.attached) {
    blobs.push_back({Part::attached_before, range.address, range.before});
    if (range.after != range.before)
      blobs.push_back({Part::attached_after, range.address, range.after});
  }
  write(Type::ioctl, pending.start_ns, end_ns,
        {number(std::int64_t{call.fd}), request, number(call.argument), number(call.result)},
        std::move(blobs));
  const std::vector<decode::Attachment> attachments = views(pending.attached);
  DeviceCall device{call.path, call.fd, {}};
  device.call = {request, call.result, pending.argument, after, attachments};
  const std::lock_guard lock(mutex_);
  drm_.see(device);
  watchers_.after(device, no_names);
}

void Recorder::end_mmap(const Pending& pending, const Call& call) {
  const std::uint64_t end_ns = monotonic_ns();
  write(Type::mmap, pending.start_ns, end_ns,
        {number(call.address), call.length_B, number(std::int64_t{call.prot}),
         number(std::int64_t{call.flags}), number(std::int64_t{call.fd}), call.offset_B,
         number(call.result)},
        {{Part::text, 0, bytes_of(call.path)}});
  if (failed(call)) return;
  bool is_doorbell = false;
  {
    const std::lock_guard lock(mutex_);
    is_doorbell = watchers_.mapped(
        {call.path, call.fd, number(call.result), call.length_B, call.offset_B}, no_names);
  }
  if (is_doorbell && (call.prot & PROT_WRITE)) watch_doorbells(call);
}

void Recorder::end_other(const Pending& pending, const Call& call) {
  const std::uint64_t start = pending.start_ns, end = monotonic_ns();
  const auto n = [](auto value) { return number(static_cast<std::int64_t>(value)); };
  const std::vector<Blob> path = {{Part::text, 0, bytes_of(call.path)}};
  switch (call.op) {
    case Op::open:
      return write(Type::open, start, end, {n(call.flags), n(call.result)}, path);
    case Op::close:
      return write(Type::close, start, end, {n(call.fd), n(call.result)}, path);
    case Op::dup:
      return write(Type::dup, start, end, {n(call.fd), n(call.new_fd)}, path);
    case Op::munmap: {
      write(Type::munmap, start, end, {number(call.address), call.length_B, n(call.result)});
      const std::lock_guard lock(mutex_);
      if (!failed(call)) watchers_.unmapped(number(call.address), call.length_B, no_names);
      return;
    }
    case Op::mremap:
      return write(
          Type::mremap, start, end,
          {number(call.address), call.length_B, call.new_length_B, n(call.flags), n(call.result)});
    case Op::mprotect:
      return write(Type::mprotect, start, end,
                   {number(call.address), call.length_B, n(call.prot), n(call.result)});
    case Op::read:
    case Op::write: {
      const bool is_write = call.op == Op::write;
      const std::size_t moved_B = failed(call) ? 0 : static_cast<std::size_t>(call.result);
      const std::vector<std::byte> data =
          own_memory().read(number(call.argument), std::min(moved_B, kTransferKept_B));
      return write(Type::transfer, start, end,
                   {is_write, n(call.fd), call.length_B, call.offset_B, n(call.result)},
                   {path[0], {Part::data, number(call.argument), data}});
    }
    default:
      return;
  }
}

// ---- doorbells --------------------------------------------------------------------------------
void Recorder::watch_doorbells(const Call& call) {
  if (settings_.doorbells == Doorbells::off) return;
  if (settings_.doorbells == Doorbells::trap) {
    const std::size_t size_B = (call.length_B + kPage_B - 1) / kPage_B * kPage_B;
    const int watch = interpose::watch_stores(
        reinterpret_cast<void*>(call.result), size_B, call.prot,
        [this](const interpose::Store& store) { rung(store.address, store.size_B, store.word()); });
    if (watch > 0) return;
    note(std::string("doorbells cannot be trapped (") + std::strerror(-watch) +
         "); sampling write pointers instead");
  }
  start_sampling();
}

/// On the storing thread, in a signal handler: everything that is kept is copied here, before the
/// program goes on.
void Recorder::rung(std::uint64_t address, std::uint64_t size_B, std::uint64_t value) {
  const interpose::PassThrough pass;
  const Guard guard(*this);
  if (!guard) return;
  const std::uint64_t now = monotonic_ns();
  const Doorbell bell{address, size_B, value};
  Snapshots snapshots;
  {
    const std::lock_guard lock(mutex_);
    watchers_.rung(&bell, own_memory(), snapshots);
  }
  write(Type::doorbell, now, now, {address, size_B, value, static_cast<std::uint64_t>(Seen::trap)});
  write(snapshots);
}

void Recorder::sample() {
  Snapshots snapshots;
  {
    const std::lock_guard lock(mutex_);
    watchers_.rung(nullptr, own_memory(), snapshots);
  }
  if (snapshots.empty()) return;
  const std::uint64_t now = monotonic_ns();
  write(Type::doorbell, now, now, {0, 0, 0, static_cast<std::uint64_t>(Seen::sample)});
  write(snapshots);
}

void Recorder::start_sampling() {
  if (sampling_.exchange(true)) return;
  sigset_t all, kept;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);  // the program's handlers run on its own threads
  std::thread([this] {
    const interpose::PassThrough pass;
    in_recorder = true;
    const timespec period{0, kSamplePeriod_ns};
    while (!stop_) {
      sample();
      ::nanosleep(&period, nullptr);
    }
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
}

}  // namespace tiny::trace
