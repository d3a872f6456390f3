// SPDX-License-Identifier: MIT
// The mutator and the gzip writer of the parser tests.
#include "tests/frontend/io_mutate.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace tiny::testing {

Bytes Mutator::next() {
  Bytes bytes = seeds_[below(seeds_.size())];
  for (size_t rounds = 1 + below(3); rounds-- > 0;) mutate(bytes);
  return bytes;
}

void Mutator::mutate(Bytes& bytes) {
  static constexpr uint8_t kOdd[] = {0,   1,   0x7f, 0x80, 0xff, '"', '{',
                                     '}', '[', ']',  ',',  '9',  '-'};
  const size_t at = below(bytes.size());
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (bytes.empty() ? 3 : below(6)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1u << below(8));
      break;
    case 1:
      bytes[at] = kOdd[below(std::size(kOdd))];
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(place, kOdd[below(std::size(kOdd))]);
      break;
    case 4:
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(below(bytes.size() - at)));
      break;
    case 5: {
      const Bytes piece(place, place + static_cast<std::ptrdiff_t>(below(bytes.size() - at)));
      const auto to = static_cast<std::ptrdiff_t>(below(bytes.size()));
      bytes.insert(bytes.begin() + to, piece.begin(), piece.end());
      break;
    }
  }
}

Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2 failed");
  Bytes packed(deflateBound(&stream, plain.size()));
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.erase(packed.end() - static_cast<std::ptrdiff_t>(stream.avail_out), packed.end());
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return packed;
}

}  // namespace tiny::testing
