// SPDX-License-Identifier: MIT
// libtiny_trace.so: the recorder as a preload library. Reads its settings from the one variable
// that `tiny trace` sets; without it, it does nothing.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "models/interpose/interpose.h"
#include "tools/trace/recorder.h"
#include "tools/trace/settings.h"

namespace {

// Never destroyed: calls come until the very end of the process.
tiny::trace::Recorder* recorder = nullptr;

void lock_for_fork() { recorder->lock_for_fork(); }
void unlock_after_fork() { recorder->unlock_after_fork(); }

[[gnu::destructor]] void finish() {
  if (!recorder) return;
  for (const tiny::interpose::Bypass& bypass : tiny::interpose::find_bypasses())
    recorder->note(bypass.path +
                   " is in use, but its open was not seen: a raw system call, or a "
                   "descriptor from elsewhere");
  const tiny::interpose::PassThrough pass;
  recorder->finish();
}

}  // namespace

extern "C" void tiny_interpose_setup() {
  const char* text = std::getenv(tiny::trace::kSettingsVariable);
  const auto settings = text ? tiny::trace::parse_settings(text) : std::nullopt;
  if (!settings) return;
  static const auto& shared =
      *new auto(std::make_shared<tiny::trace::Recorder>(*settings, environ));
  recorder = shared.get();
  ::pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
  for (const char* prefix : tiny::trace::device_prefixes())
    tiny::interpose::observe(prefix, shared);
}
