// SPDX-License-Identifier: MIT
// What the parser tests share: a deterministic mutator of files, and a gzip writer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tiny::testing {

using Bytes = std::vector<uint8_t>;

/// Returns damaged copies of good files: flipped bits, odd bytes, cuts, insertions, spliced pieces.
class Mutator {
 public:
  Mutator(std::vector<Bytes> seeds, uint32_t seed) : seeds_(std::move(seeds)), random_(seed) {}
  Bytes next();

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  void mutate(Bytes& bytes);

  std::vector<Bytes> seeds_;
  std::mt19937 random_;
};

/// The bytes as one gzip member.
Bytes gzip(const Bytes& plain);

}  // namespace tiny::testing
