// SPDX-License-Identifier: MIT
// Candidates that are measured against each other: in turns, the least time counts.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tiny::bench {

struct Candidate {
  std::string name;
  std::function<void()> run;  ///< returns when its work is done
  double best_s = 1e30;
};

/// Calls of a candidate in a row take about so long; the first ones warm caches up.
inline constexpr double kTurn_s = 0.03;
/// Threads of a library that was just measured go to sleep meanwhile.
inline constexpr auto kPause = std::chrono::milliseconds(60);

inline double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline void take_turn(Candidate& candidate) {
  double spent_s = 0;
  for (int calls = 0; calls < 3 || (spent_s < kTurn_s && calls < 10000); ++calls) {
    const double s = seconds_of(candidate.run);
    spent_s += s;
    candidate.best_s = std::min(candidate.best_s, s);
  }
}

/// Measures them in `rounds` turns, each time in another order.
inline void compare(std::vector<Candidate>& candidates, int rounds, bool pause) {
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& candidate : candidates) {
      if (pause) std::this_thread::sleep_for(kPause);
      take_turn(candidate);
    }
    std::rotate(candidates.begin(), candidates.begin() + 1, candidates.end());
  }
}

}  // namespace tiny::bench
