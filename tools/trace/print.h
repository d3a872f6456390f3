// SPDX-License-Identifier: MIT
// Prints a trace: one line a record, and below a snapshot one line for each packet in it. The
// columns are fixed; docs/trace.md describes them.
#pragma once

#include "tools/trace/format.h"
#include "tools/trace/scrub.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tiny::trace {

struct PrintOptions {
  bool raw_secrets = false;  ///< of a trace that was recorded with them
  bool full = false;         ///< raw bytes to the last one
};

class Printer {
 public:
  using Sink = std::function<void(std::string_view line)>;  ///< without line end
  Printer(const PrintOptions& options, Sink sink);
  ~Printer();

  void begin(const FileHeader& header);
  void print(const Record& record);
  void problem(std::uint64_t offset, std::string_view text);

 private:
  struct Process;
  struct Line;
  void print_clean(const Record& record);
  Process& process_of(const Record& record);
  void ioctl(const Record& record, Line& line, Process& process);
  void mmap(const Record& record, Line& line, Process& process);
  void unmapped(const Record& record, Line& line, Process& process);
  void small(const Record& record, Line& line, Process& process);
  void snapshot(const Record& record, Line& line, Process& process);

  PrintOptions options_;
  Sink sink_;
  FileHeader header_;
  std::uint32_t processes_seen_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;  // by pid
  std::unique_ptr<Scrubber> scrubber_;  // where the trace has secrets that must not be shown
};

}  // namespace tiny::trace
