// SPDX-License-Identifier: MIT
// No input makes a decoder fail: random words with plausible headers, random and truncated
// arguments of every known call.
#include "tests/tools/decode/amd_support.h"
#include "tools/decode/table.h"

#include <catch2/catch.hpp>
#include <random>

using namespace amd_test;

namespace {

using Random = std::mt19937_64;

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 ? random() : 0);
  return bytes;
}

/// Half of the words look like headers.
std::vector<std::uint32_t> random_stream(Random& random) {
  std::vector<std::uint32_t> words(1 + random() % 24);
  for (std::uint32_t& word : words) {
    word = static_cast<std::uint32_t>(random());
    if (random() % 2) word = (word & 0xc00fffff) | (random() % 4 ? 0xc0000000 : 0);
    if (random() % 8 == 0) word &= 0x1f;
  }
  return words;
}

/// Every word of the stream belongs to exactly one packet.
void check_walk(const StreamWalk& walk, std::size_t size) {
  std::size_t at = 0;
  for (const PacketSpan& span : walk.packets) {
    REQUIRE(span.offset_dw == at);
    REQUIRE(span.size_dw > 0);
    at += span.size_dw;
  }
  REQUIRE(at == size);
}

void fuzz_streams(int inputs, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < inputs; ++i) {
    const auto words = random_stream(random);
    const auto gfx = static_cast<Gfx>(random() % 5);
    const auto version = static_cast<Sdma>(random() % 5);
    check_walk(walk_pm4(words, gfx), words.size());
    check_walk(walk_sdma(words, version), words.size());
    for (const Line& line : decode_pm4(words, gfx, kSymbols)) REQUIRE(!line.name.empty());
    for (const Line& line : decode_sdma(words, version, kSymbols)) REQUIRE(!line.name.empty());
  }
}

void fuzz_memory(int inputs, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < inputs; ++i) {
    auto bytes = random_bytes(random, random() % 200);
    if (!bytes.empty()) bytes[0] = static_cast<std::byte>(random() % 7);
    const auto gfx = static_cast<Gfx>(random() % 5);
    for (const Line& line : decode_aql(bytes, gfx, kSymbols)) REQUIRE(!line.name.empty());
    REQUIRE(!to_text(decode_kernel_descriptor(bytes, gfx, kSymbols)).empty());
    REQUIRE(!to_text(decode_amd_signal(bytes, kSymbols)).empty());
    REQUIRE(!to_text(decode_amd_queue(bytes, kSymbols)).empty());
  }
}

std::vector<std::uint32_t> known_calls() {
  std::vector<std::uint32_t> keys;
  for (const char* table : {"kfd_calls", "drm_calls"})
    for (const Row& row : rows(embedded_table(table)))
      keys.push_back(static_cast<std::uint32_t>(row.number(1)));
  return keys;
}

/// Answers what follow_amd asks for, in rounds, as a recorder does.
std::vector<Attachment> attach(std::uint32_t request, Bytes argument, Random& random,
                               std::vector<std::vector<std::byte>>& memory) {
  std::vector<Attachment> known;
  for (int round = 0; round < 3; ++round)
    for (const Range& range : follow_amd(request, argument, known)) {
      REQUIRE(range.size_B <= kFollowLimit_B);
      memory.push_back(
          random_bytes(random, random() % (std::min<std::uint64_t>(range.size_B, 300) + 1)));
      known.push_back({range.address, memory.back(), {}});
    }
  return known;
}

void fuzz_calls(int inputs, std::uint64_t seed) {
  Random random(seed);
  const auto keys = known_calls();
  for (int i = 0; i < inputs; ++i) {
    std::uint32_t key = keys[random() % keys.size()];
    if (random() % 16 == 0) key = static_cast<std::uint32_t>(random() & 0xff) | (key & 0xff00);
    const auto size = static_cast<std::uint32_t>(random() % 120);
    const std::uint32_t request = 3u << 30 | size << 16 | key;
    const auto before = random_bytes(random, random() % 3 ? size : random() % 120);
    const auto after = random() % 2
                           ? random_bytes(random, random() % 3 ? before.size() : random() % 120)
                           : std::vector<std::byte>();
    std::vector<std::vector<std::byte>> memory;
    const auto attachments = attach(request, before, random, memory);
    const IoctlCall call{request, static_cast<std::int64_t>(random() % 40) - 39, before, after,
                         attachments};
    const Lines lines =
        key >> 8 == 'K' ? decode_kfd_ioctl(call, kSymbols) : decode_drm_ioctl(call, kSymbols);
    REQUIRE(!lines.empty());
    REQUIRE(!to_text(lines[0]).empty());
  }
}

}  // namespace

TEST_CASE("random streams decode, every word is part of one packet") { fuzz_streams(30000, 1); }
TEST_CASE("random memory decodes") { fuzz_memory(10000, 2); }
TEST_CASE("random and truncated arguments decode") { fuzz_calls(30000, 3); }

TEST_CASE("the same with many more inputs", "[.long]") {
  fuzz_streams(400000, 11);
  fuzz_memory(200000, 12);
  fuzz_calls(400000, 13);
}
