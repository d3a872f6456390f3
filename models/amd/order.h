// SPDX-License-Identifier: MIT
// Which work is known to be finished before which: vector clocks over *lines* of work. A queue has
// one line for its packets and one for its dispatches; within a line, tasks are numbered in the
// order in which they were issued. A fence in memory carries the clock of whoever wrote it; a wait
// that passes takes it over.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace tiny::models::amd {

/// For each line, up to which task everything is known to be complete.
class Clock {
 public:
  uint32_t of(unsigned line) const { return line < seen_.size() ? seen_[line] : 0; }
  void set(unsigned line, uint32_t sequence);  ///< never backwards
  void join(const Clock& other);

 private:
  std::vector<uint32_t> seen_;
};

class OrderBook {
 public:
  /// A new line of work; `gpu` is where it runs.
  unsigned add_line(std::string name, unsigned gpu);
  /// The next task of a line. The text is for reports.
  uint32_t add_task(unsigned line, std::string text);
  std::string describe(unsigned line, uint32_t sequence) const;
  uint32_t last(unsigned line) const { return lines_[line].last; }
  unsigned gpu(unsigned line) const { return lines_[line].gpu; }

  void release(const void* word, const Clock& clock);
  /// What passing a wait on this word tells. A word that no engine ever wrote was written by the
  /// CPU, which knows all that was released so far.
  void acquire(const void* word, Clock& clock) const;
  const Clock& host() const { return host_; }
  void forget(const void* from, const void* to);  ///< memory that is gone

 private:
  struct Line {
    std::string name;
    unsigned gpu = 0;
    uint32_t last = 0;
    std::deque<std::pair<uint32_t, std::string>> texts;  ///< the latest tasks
  };
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, Clock> words_;
  Clock host_;
};

}  // namespace tiny::models::amd
