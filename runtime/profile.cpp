// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/profile.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>

#include "runtime/profile_sink.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

namespace tiny {
namespace {

/// Part of the device registry's state: what the process's devices measured. Never destroyed, as a
/// device may outlive main.
struct Sink {
  std::mutex mutex;
  std::atomic<int> sessions{0};
  std::vector<ProfileEvent> taken, file;
};
Sink& sink() {
  static Sink* const s = new Sink;
  return *s;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (u < 0x20)
      out += fmt::format("\\u{:04x}", u);
    else
      out += c;
  }
  return out + "\"";
}

double seconds(const ProfileEvent& e) {
  return static_cast<double>(e.end_ns > e.start_ns ? e.end_ns - e.start_ns : 1) * 1e-9;
}

}  // namespace

void start_profile() { sink().sessions.fetch_add(1); }

void stop_profile() {
  if (sink().sessions.fetch_sub(1) > 0) return;
  sink().sessions.fetch_add(1);
  throw UsageError("[stop_profile] no profile was started");
}

bool profiling() {
  if (sink().sessions.load(std::memory_order_relaxed) > 0) return true;
  const Knobs& k = knobs();
  return k.debug.level >= 1 || !k.profile.empty();
}

std::vector<ProfileEvent> take_profile() {
  std::lock_guard lock(sink().mutex);
  return std::exchange(sink().taken, {});
}

void publish_events(std::vector<ProfileEvent> events) {
  for (const ProfileEvent& e : events)
    if (log_enabled(1, "runtime/kernel")) log_line("runtime/kernel", to_line(e));
  std::lock_guard lock(sink().mutex);
  if (!knobs().profile.empty()) sink().file.insert(sink().file.end(), events.begin(), events.end());
  if (sink().sessions.load() > 0)
    for (ProfileEvent& e : events) sink().taken.push_back(std::move(e));
}

void write_profile_file() noexcept {
  try {
    if (knobs().profile.empty()) return;
    std::lock_guard lock(sink().mutex);
    if (!sink().file.empty()) write_file_atomic(knobs().profile, to_trace_json(sink().file));
  } catch (const std::exception& e) {
    log_line("runtime/profile", e.what());
  }
}

std::string to_trace_json(const std::vector<ProfileEvent>& events) {
  std::map<std::string, int> processes;
  std::map<std::pair<int, std::string>, int> tracks;
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  std::string body;
  for (const ProfileEvent& e : events) {
    const auto [process, new_process] = processes.try_emplace(e.device, processes.size() + 1);
    const int pid = process->second;
    const auto [track, new_track] =
        tracks.try_emplace({pid, e.queue}, static_cast<int>(tracks.size()) + 1);
    if (new_process)
      body += fmt::format(
          ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}", pid,
          json_string(e.device));
    if (new_track)
      body += fmt::format(
          ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}"
          "}}}",
          pid, track->second, json_string(e.queue));
    body += fmt::format(
        ",\n{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},"
        "\"args\":{{\"GFLOP/s\":{:.3f},\"GB/s\":{:.3f}}}}}",
        json_string(e.name), pid, track->second, static_cast<double>(e.start_ns) * 1e-3,
        static_cast<double>(e.end_ns - e.start_ns) * 1e-3, e.flops / seconds(e) * 1e-9,
        e.bytes / seconds(e) * 1e-9);
  }
  return out + (body.empty() ? body : body.substr(2)) + "\n]}\n";
}

std::string to_line(const ProfileEvent& e) {
  return fmt::format("{:<8} {:<7} {:<40} {:>10.2f} us {:>9.2f} GFLOP/s {:>8.2f} GB/s", e.device,
                     e.queue, e.name, seconds(e) * 1e6, e.flops / seconds(e) * 1e-9,
                     e.bytes / seconds(e) * 1e-9);
}

}  // namespace tiny
