// SPDX-License-Identifier: MIT
// Sees the calls of this process on the devices and writes them down: raw bytes, with no more
// understanding than is needed to know what to keep. Never changes what the program gets.
#pragma once

#include "models/interpose/interpose.h"
#include "tools/trace/attach.h"
#include "tools/trace/scrub.h"
#include "tools/trace/settings.h"
#include "tools/trace/watch.h"
#include "tools/trace/writer.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::trace {

/// Prefixes for interpose::observe.
std::span<const char* const> device_prefixes();

class Recorder : public interpose::Observer {
 public:
  /// `environment`: whose values are private. Writes the process's first record.
  Recorder(const Settings& settings, const char* const* environment);
  ~Recorder() override;

  void before(interpose::Call& call) override;
  void after(interpose::Call& call) override;

  void note(std::string_view text);
  /// The last record: what was lost. Stops sampling.
  void finish();
  /// Around a fork of the program: nothing of ours is half done in the child.
  void lock_for_fork();
  void unlock_after_fork();

 private:
  struct Pending;
  class Guard;  // this thread is in the recorder

  void begin_ioctl(Pending& pending, const interpose::Call& call);
  void end_ioctl(Pending& pending, const interpose::Call& call);
  void end_mmap(const Pending& pending, const interpose::Call& call);
  void end_other(const Pending& pending, const interpose::Call& call);
  void watch_doorbells(const interpose::Call& call);
  void rung(std::uint64_t address, std::uint64_t size_B, std::uint64_t value);
  void sample();
  void start_sampling();
  void write_process(bool is_fork_child);
  void write(Type type, std::uint64_t start_ns, std::uint64_t end_ns,
             std::vector<std::uint64_t> numbers, std::vector<Blob> blobs = {});
  void write(const Snapshots& snapshots);

  Settings settings_;
  Writer writer_;
  Scrubber scrubber_;
  std::mutex mutex_;  // of what follows; never held while the program's call runs
  Watchers watchers_;
  DrmDrivers drm_;
  std::atomic<bool> sampling_ = false, stop_ = false;
  std::atomic<std::uint64_t> missed_ = 0;
};

}  // namespace tiny::trace
