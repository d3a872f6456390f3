// SPDX-License-Identifier: MIT
// A trace as lines, for tests.
#pragma once

#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/file.h>

#include "tools/trace/print.h"
#include "tools/trace/reader.h"

#include <string>
#include <vector>

namespace tiny::test {

struct Decoded {
  std::vector<std::string> lines;  ///< with those about damage
  std::vector<std::string> problems;
  std::size_t records = 0;

  std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (const std::string& line : lines) found += line.find(part) != std::string::npos;
    return found;
  }
};

inline Decoded decode_bytes(trace::Bytes file, const trace::PrintOptions& options = {}) {
  Decoded out;
  trace::Printer printer(options, [&out](std::string_view line) { out.lines.emplace_back(line); });
  trace::Reader reader;
  reader.feed(file);
  reader.finish();
  bool begun = false;
  while (true) {
    const trace::Reader::Got got = reader.next();
    if (got == trace::Reader::Got::end || got == trace::Reader::Got::more) return out;
    if (!begun && reader.is_trace()) printer.begin(reader.header());
    begun = reader.is_trace();
    if (got == trace::Reader::Got::record) {
      ++out.records;
      printer.print(reader.record());
    } else {
      out.problems.push_back(reader.problem());
      if (begun) printer.problem(reader.offset(), reader.problem());
    }
  }
}

inline Decoded decode_file(const std::string& path, const trace::PrintOptions& options = {}) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return decode_bytes(std::as_bytes(std::span(bytes)), options);
}

/// The columns are time (12), duration (8), thread (6), each followed by two spaces.
inline std::string event_of(const std::string& line) {
  return line.size() > 32 && line[0] == ' ' ? line.substr(32) : line;
}

}  // namespace tiny::test
