// SPDX-License-Identifier: MIT
// Qualcomm decoders on arbitrary input: no crash, no endless loop, nothing dropped silently.
#include "tools/decode/qcom.h"
#include "tools/decode/qcom_packets.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace tiny::decode;

namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    // Small numbers and repeated ones hit counts, types and pointers that are alike.
    byte = static_cast<std::byte>(below(random, 4) ? below(random, 4) : random());
  return bytes;
}

/// One call with random contents, attachments at every address that is asked for.
template <typename Follow, typename Decode>
std::size_t fuzz_call(Random& random, std::uint8_t magic, std::uint8_t nr, Follow follow,
                      Decode decode) {
  const std::size_t size = below(random, 112);
  const auto request =
      static_cast<std::uint32_t>(below(random, 4) << 30 | size << 16 | magic << 8 | nr);
  const auto before = random_bytes(random, below(random, 8) ? size : below(random, size + 1));
  const auto after = below(random, 3) ? random_bytes(random, before.size()) : before;
  std::vector<std::vector<std::byte>> memory;
  std::vector<Attachment> attachments;
  memory.reserve(4 * kFollowRanges);
  for (int round = 0; round < 6; ++round) {
    const auto ranges = follow(request, before, attachments);
    if (ranges.empty()) break;
    if (round == 5) FAIL("following does not end");
    for (const Range& range : ranges) {
      if (range.size_B == 0 || range.size_B > kFollowLimit_B) FAIL("a range of " << range.size_B);
      memory.push_back(
          random_bytes(random, below(random, std::min<std::uint64_t>(range.size_B, 300) + 1)));
      const Bytes bytes = memory.back();
      attachments.push_back({range.address, bytes, below(random, 2) ? bytes : Bytes()});
    }
  }
  if (attachments.size() > kFollowRanges) FAIL("too many ranges");
  const std::int64_t result = below(random, 4) ? 0 : -22;
  return to_text(decode({request, result, before, after, attachments})).size();
}

std::size_t fuzz_calls(Random& random, int rounds) {
  std::size_t characters = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto nr = static_cast<std::uint8_t>(i);
    characters += fuzz_call(random, 0x09, nr, follow_kgsl,
                            [](const IoctlCall& call) { return decode_kgsl_ioctl(call); });
    characters += fuzz_call(random, 'd', nr, follow_msm,
                            [](const IoctlCall& call) { return decode_msm_ioctl(call); });
  }
  return characters;
}

/// Words of which many are headers, some with counts that run past the end.
std::vector<std::uint32_t> random_stream(Random& random) {
  std::vector<std::uint32_t> words(below(random, 24));
  for (std::uint32_t& word : words) {
    const auto pick = static_cast<std::uint32_t>(random());
    const std::uint32_t count = pick >> 8 & (below(random, 16) ? 7 : 0x3fff);
    const std::uint32_t opcode = pick & 0x7f, reg = 0xa800 + (pick & 0x17ff);
    switch (below(random, 6)) {
      case 0:
        word = pick;
        break;
      case 1:
        word = 0;
        break;
      case 2:
        word = 4u << 28 | qcom::odd_parity_bit(reg) << 27 | reg << 8 |
               qcom::odd_parity_bit(count & 0x7f) << 7 | (count & 0x7f);
        break;
      case 3:
        word = pick & 0xff;
        break;
      default:
        word = 7u << 28 | qcom::odd_parity_bit(opcode) << 23 | opcode << 16 |
               qcom::odd_parity_bit(count) << 15 | count;
    }
  }
  return words;
}

void fuzz_streams(Random& random, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const auto words = random_stream(random);
    const auto generation = i % 2 ? AdrenoGeneration::a6xx : AdrenoGeneration::a7xx;
    const auto lines = decode_adreno(words, generation);
    if (lines.empty() != words.empty()) FAIL("a stream of " << words.size() << " words got lost");
    for (const auto& reference : adreno_references(words))
      if (reference.range.size_B == 0) FAIL("an empty reference");
    // Packets tile the stream.
    std::size_t at = 0;
    qcom::Packet packet;
    for (qcom::PacketReader reader(words); reader.next(packet);) {
      if (packet.at != at) FAIL("a packet at " << packet.at << " instead of " << at);
      const bool has_header =
          packet.kind == qcom::PacketKind::registers || packet.kind == qcom::PacketKind::command;
      at += packet.body.size() + (has_header ? 1 : 0);
    }
    if (at != words.size()) FAIL("packets end at " << at << " of " << words.size());
  }
}

}  // namespace

TEST_CASE("every call number takes random and truncated arguments") {
  Random random(1);
  CHECK(fuzz_calls(random, 256 * 40) > 256 * 40 * 20);
}

TEST_CASE("random command streams are decoded to the last word") {
  Random random(2);
  fuzz_streams(random, 100'000);
}

TEST_CASE("many more random calls and streams", "[.long]") {
  Random random(3);
  CHECK(fuzz_calls(random, 256 * 2000) > 0);
  fuzz_streams(random, 2'000'000);
}
