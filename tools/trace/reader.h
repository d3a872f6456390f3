// SPDX-License-Identifier: MIT
// Reads a trace as far as it can be read: from a finished file, from one that still grows, and
// around damage. Never holds more than one record and a chunk of the file.
#pragma once

#include "tools/trace/format.h"

#include <functional>
#include <string>

namespace tiny::trace {

/// Bytes go in with feed() in any pieces, records come out with next().
class Reader {
 public:
  enum class Got : std::uint8_t {
    record,   ///< record() is valid until the next call of feed() or next()
    problem,  ///< problem() says what is wrong with the file at offset(); reading goes on behind
    more,     ///< feed() more bytes, or finish()
    end,      ///< after finish(): nothing is left
  };
  void feed(Bytes bytes);
  void finish() { finished_ = true; }  ///< no more bytes will come
  Got next();

  const Record& record() const { return record_; }
  const std::string& problem() const { return problem_; }
  std::uint64_t offset() const { return at_; }  ///< of what next() gave last
  const FileHeader& header() const { return header_; }
  bool is_trace() const { return header_read_; }

 private:
  Bytes unread() const { return Bytes(buffer_).subspan(begin_); }
  void drop(std::size_t size_B);
  Got read_header();
  Got read_record();
  Got give_up(std::string problem);
  Got torn();
  bool seek_magic();
  /// Goes to the next place that may be a record; the damage is reported once it is known how long
  /// it is.
  Got skip();

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;       // of what was not given yet, in buffer_
  std::uint64_t consumed_ = 0;  // bytes of the file before begin_
  std::uint64_t at_ = 0, bad_at_ = 0;
  bool finished_ = false, header_read_ = false, dead_ = false, skipping_ = false;
  FileHeader header_;
  Record record_;
  std::string problem_, bad_;
};

}  // namespace tiny::trace
