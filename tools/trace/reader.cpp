// SPDX-License-Identifier: MIT
#include "tools/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tiny::trace {

void Reader::feed(Bytes bytes) {
  if (begin_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void Reader::drop(std::size_t size_B) {
  begin_ += size_B;
  consumed_ += size_B;
}

Reader::Got Reader::next() {
  if (dead_) return Got::end;
  if (!header_read_) return read_header();
  return skipping_ ? skip() : read_record();
}

Reader::Got Reader::give_up(std::string problem) {
  dead_ = true;
  problem_ = std::move(problem);
  return Got::problem;
}

Reader::Got Reader::read_header() {
  if (unread().size() < kFileHeader_B && !finished_) return Got::more;
  const std::string wrong = parse_header(unread(), header_);
  if (!wrong.empty()) return give_up("not a readable trace: " + wrong);
  header_read_ = true;
  drop(kFileHeader_B);
  return read_record();
}

Reader::Got Reader::read_record() {
  at_ = consumed_;
  if (unread().empty()) return finished_ ? Got::end : Got::more;
  std::size_t size_B = 0;
  switch (parse_record(unread(), record_, size_B, bad_)) {
    case Parse::record:
      drop(size_B);
      return Got::record;
    case Parse::partial:
      return finished_ ? torn() : Got::more;
    case Parse::corrupt:
      break;
  }
  skipping_ = true;
  bad_at_ = consumed_;
  drop(std::max<std::size_t>(size_B, 1));
  return skip();
}

/// The file ends inside a record: the program was killed while it wrote, the disk was full, or a
/// damaged length points beyond the end. In the last case there may be records behind it.
Reader::Got Reader::torn() {
  skipping_ = true;
  bad_at_ = consumed_;
  bad_ = fmt::format("the file ends inside a record, after {} bytes of it", unread().size());
  drop(std::min<std::size_t>(unread().size(), 4));
  return skip();
}

/// Drops bytes up to the next that look like a record's first; false where there are none yet.
bool Reader::seek_magic() {
  const Bytes rest = unread();
  const std::uint32_t magic = kRecordMagic;
  const auto* first = reinterpret_cast<const std::byte*>(&magic);
  const auto found = std::search(rest.begin(), rest.end(), first, first + sizeof magic);
  const bool is_found = found != rest.end();
  const std::size_t cut = finished_ ? 0 : sizeof magic - 1;  // a magic may be half here
  drop(is_found ? static_cast<std::size_t>(found - rest.begin())
                : rest.size() - std::min(rest.size(), cut));
  return is_found;
}

Reader::Got Reader::skip() {
  while (true) {
    if (!seek_magic()) {
      if (!finished_) return Got::more;
      break;
    }
    std::size_t size_B = 0;
    std::string ignored;
    Record candidate;
    const Parse parse = parse_record(unread(), candidate, size_B, ignored);
    if (parse == Parse::record) break;
    if (parse == Parse::partial && !finished_) return Got::more;
    drop(std::max<std::size_t>(size_B, 1));
  }
  skipping_ = false;
  at_ = bad_at_;
  const std::uint64_t lost_B = consumed_ - bad_at_;
  problem_ = fmt::format("{}; {} bytes skipped", bad_, lost_B);
  return Got::problem;
}

}  // namespace tiny::trace
