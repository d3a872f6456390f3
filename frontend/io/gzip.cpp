// SPDX-License-Identifier: MIT
// gunzip over zlib's streaming interface: the output grows as data arrives, so that a small file
// which claims to be large costs no more than what it really holds.
#include "frontend/io/gzip.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace tiny::io {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h, inflateInit2: add 16 to decode gzip only
constexpr size_t kFirstChunk_B = 64 * 1024;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw UsageError(fmt::format("[gzip] {}: {}", path, reason));
}

/// One zlib decoder; ends it when the scope is left by an exception too.
class Inflater {
 public:
  Inflater(std::span<const uint8_t> bytes, const std::string& path) : rest_(bytes), path_(path) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool at_end() const { return rest_.empty(); }
  void next_member() { inflateReset(&stream_); }

  /// Fills `out` as far as the member goes; returns the bytes written and whether it ended.
  std::pair<size_t, bool> read(std::span<uint8_t> out) {
    const auto in_B = static_cast<uInt>(std::min<size_t>(rest_.size(), kMaxStep_B));
    const auto out_B = static_cast<uInt>(std::min<size_t>(out.size(), kMaxStep_B));
    stream_.next_in = const_cast<Bytef*>(rest_.data());  // zlib's input is not const by history
    stream_.avail_in = in_B;
    stream_.next_out = out.data();
    stream_.avail_out = out_B;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(in_B - stream_.avail_in);
    check(status, out_B);
    return {out_B - stream_.avail_out, status == Z_STREAM_END};
  }

 private:
  static constexpr size_t kMaxStep_B = std::numeric_limits<uInt>::max();

  void check(int status, uInt out_B) const {
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_DATA_ERROR || status == Z_NEED_DICT || status == Z_STREAM_ERROR)
      fail(path_, fmt::format("corrupt data ({})", stream_.msg ? stream_.msg : "bad stream"));
    const bool stuck = status != Z_STREAM_END && rest_.empty() && stream_.avail_out == out_B;
    if (stuck && out_B != 0) fail(path_, "truncated: the compressed stream does not end");
  }

  z_stream stream_{};
  std::span<const uint8_t> rest_;
  const std::string& path_;
};

/// Makes room for more output; one byte past the cap tells "exactly full" from "too large".
void grow(std::vector<uint8_t>& out, size_t max_size_B) {
  const size_t cap_B =
      max_size_B == std::numeric_limits<size_t>::max() ? max_size_B : max_size_B + 1;
  out.resize(std::min(cap_B, std::max(kFirstChunk_B, out.size() + out.size() / 2)));
}

}  // namespace

bool is_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

std::vector<uint8_t> gunzip(std::span<const uint8_t> bytes, const std::string& path,
                            size_t max_size_B) {
  if (!is_gzip(bytes)) fail(path, "not a gzip file (bad magic number)");
  std::vector<uint8_t> out;
  size_t used_B = 0;
  Inflater inflater(bytes, path);
  while (true) {
    if (used_B == out.size()) grow(out, max_size_B);
    const auto [read_B, member_ended] = inflater.read(std::span(out).subspan(used_B));
    used_B += read_B;
    if (used_B > max_size_B)
      fail(path, fmt::format("holds more than the {} bytes expected here", max_size_B));
    if (!member_ended) continue;
    if (inflater.at_end()) break;
    inflater.next_member();
  }
  out.resize(used_B);
  return out;
}

}  // namespace tiny::io
