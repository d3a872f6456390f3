// SPDX-License-Identifier: MIT
// Arbitrary bytes through every NVIDIA decoder and walker: no crash, and the text stays bounded.
#include "tests/tools/decode/nv_call.h"
#include "tools/decode/nv_tables.h"

#include <catch2/catch.hpp>

using namespace nv_test;

namespace {

std::vector<std::uint32_t> random_words(std::mt19937& random, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) {
    word = random();
    if (word & 1) word &= random() & random();  // few bits
    // Headers of compute and copy methods, so that classes get bound and counts stay small.
    if ((random() & 3) == 0) word = 1u << 29 | (random() % 8) << 16 | (random() & 0xffff);
    if ((random() & 31) == 0) word = 0x20012000;
    if ((random() & 31) == 0) word = 0xcbc0;
  }
  return words;
}

std::uint32_t any_value(std::mt19937& random, std::string_view kind) {
  static const auto controls = nv::all_names("control"), classes = nv::all_names("class");
  const auto& names = kind == "control" ? controls : classes;
  return static_cast<std::uint32_t>(names[random() % names.size()].first);
}

std::size_t fuzz_ioctl(std::mt19937& random, NvState& state) {
  constexpr std::uint32_t kNumbers[] = {0x27, 0x29, 0x2a, 0x2b, 0x34, 0x4a, 0xc8, 0xd2, 0xd3, 0xd4};
  const std::uint32_t number = random() & 1 ? kNumbers[random() % 10] : random() & 0xff;
  const std::size_t size = random() % 80;
  std::vector<std::byte> before = random_bytes(random, size), after = random_bytes(random, size);
  if (number == 0x2a && size >= 12) {
    const std::uint32_t cmd = any_value(random, "control");
    std::memcpy(before.data() + 8, &cmd, 4);
  }
  if (number == 0x2b && size >= 16) {
    const std::uint32_t id = any_value(random, "class");
    std::memcpy(before.data() + 12, &id, 4);
  }
  const auto target = random_bytes(random, random() % 600),
             list = random_bytes(random, random() % 64);
  std::uint64_t pointer = 0, nested = 0;
  if (size >= 24) std::memcpy(&pointer, before.data() + 16, 8);
  if (number == 0xd3 && size >= 16) std::memcpy(&pointer, before.data() + 8, 8);
  if (target.size() >= 16) std::memcpy(&nested, target.data() + 8, 8);
  const Attachment attachments[] = {{pointer, target, target}, {nested, list, list}};
  const std::uint32_t request =
      escape(number, static_cast<std::uint32_t>(random() % 8 ? size : random() & 0x3fff));
  if (random() % 4 == 0) after.clear();
  const IoctlCall call{request, static_cast<int>(random() % 3) - 1, before, after, attachments};
  const std::size_t ranges = follow_nv(request, before, attachments).size() +
                             follow_nv_next(request, before, target).size();
  return to_text(decode_nvidia_ioctl(call, state, no_symbols())).size() + ranges;
}

std::size_t fuzz_uvm(std::mt19937& random, NvState& state) {
  const std::uint32_t number = random() % 0x58;
  const auto before = random_bytes(random, random() % 100),
             after = random_bytes(random, random() % 100);
  follow_uvm(number, before);
  return to_text(decode_uvm_ioctl({number, 0, before, after, {}}, state, no_symbols())).size();
}

std::size_t fuzz_words(std::mt19937& random) {
  const std::vector<std::uint32_t> words = random_words(random, random() % 120);
  std::size_t text = 0;
  for (const Line& line : decode_gpfifo(words, no_symbols())) text += to_text(line).size();
  PushbufferDecoder decoder(random() & 1 ? 0xc86f : random() & 0xffff);
  if (random() & 1) decoder.bind(random() & 7, any_value(random, "class"));
  for (int i = 0; i < 2; ++i)
    for (const Line& line : decoder.decode(words, no_symbols())) text += to_text(line).size();
  PushbufferWalker walker;
  for (const QmdReference& qmd : walker.walk(words)) text += qmd.size_B;
  std::uint64_t base = random();
  walk_gpfifo(words, base);
  const std::uint32_t compute = random() & 1 ? 0xcbc0 : any_value(random, "class");
  walk_qmd(words, compute);
  return text + to_text(decode_qmd(words, detect_qmd_version(words, compute), no_symbols())).size();
}

/// Every input makes some text, and no input of at most 14 KiB makes a megabyte.
void fuzz(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  NvState state;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 1000 == 0) {
      state = NvState();
      state.set_driver_version(i % 2000 ? "550.1" : "590.48");
    }
    const std::size_t text = i % 4 == 0   ? fuzz_words(random)
                             : i % 4 == 1 ? fuzz_uvm(random, state)
                                          : fuzz_ioctl(random, state);
    REQUIRE(text > 0);
    REQUIRE(text < (1u << 20));
  }
}

}  // namespace

TEST_CASE("decoders take 100000 arbitrary inputs") { fuzz(1, 100000); }

TEST_CASE("decoders take 3 million arbitrary inputs", "[.long]") { fuzz(2, 3000000); }
