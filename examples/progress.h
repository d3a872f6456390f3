// SPDX-License-Identifier: MIT
// A progress bar on a terminal; elsewhere one plain line when it is full.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace examples {

class Progress {
 public:
  Progress(std::string label, int64_t total) : label_(std::move(label)), total_(total) {}

  /// One more of `total` is done. `note()` is called only when the bar is drawn: what it reads may
  /// be worth waiting for ten times a second, not at every step.
  template <class Note>
  void step(Note note) {
    ++done_;
    const Clock::time_point now = Clock::now();
    if (done_ < total_ && (!terminal_ || now - drawn_ < std::chrono::milliseconds(100))) return;
    const std::string text = note();  // may wait for the device, so the clock is read after it
    drawn_ = Clock::now();
    draw(std::chrono::duration<double>(drawn_ - start_).count(), text);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void draw(double elapsed_s, const std::string& note) const {
    const double rate = static_cast<double>(done_) / std::max(elapsed_s, 1e-9);
    if (terminal_) {
      constexpr int64_t kWidth = 24;
      const auto full = static_cast<size_t>(kWidth * done_ / std::max<int64_t>(total_, 1));
      fmt::print("\r{} |{:-<{}}| {}/{} [{:.1f}s<{:.1f}s, {:.1f}/s] {}\x1b[K", label_,
                 std::string(full, '#'), kWidth, done_, total_, elapsed_s,
                 static_cast<double>(total_ - done_) / rate, rate, note);
    } else {
      fmt::print("{} {}/{} {:.1f}s {}", label_, done_, total_, elapsed_s, note);
    }
    if (done_ >= total_) fmt::print("\n");
    std::fflush(stdout);
  }

  std::string label_;
  int64_t total_, done_ = 0;
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  Clock::time_point start_ = Clock::now(), drawn_ = start_;
};

}  // namespace examples
