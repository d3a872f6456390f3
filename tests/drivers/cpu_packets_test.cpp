// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>

#include "drivers/cpu/packets.h"

#include <vector>

using namespace tiny;
using namespace tiny::cpu::packets;

static_assert(BARRIER{}.encode()[0] == 0x12000000);
static_assert(RELEASE{.value = 0x1'0000'0002}.encode()[2] == 1);
static_assert(TIMESTAMP::decode(TIMESTAMP{.address = 0x7f0000001238}.encode()).address ==
              0x7f0000001238);

TEST_CASE("every packet survives encoding and decoding, and prints its fields") {
#define PACKET(NAME, opcode, body_dw, meaning) \
  {                                            \
    NAME p{};                                  \
    [[maybe_unused]] uint64_t next = 8;        \
    std::vector<uint64_t> set;
#define FIELD(name, type, hi, lo, shift) \
  p.name = static_cast<type>(next += 8); \
  set.push_back(p.name);
#define END(NAME)                                     \
  const auto words = p.encode();                      \
  REQUIRE(words.size() == NAME::kBody_dw + 1);        \
  REQUIRE(NAME::decode(words).encode() == words);     \
  const std::string text = to_string(words);          \
  REQUIRE(text.substr(0, text.find(' ')) == #NAME);   \
  size_t at = 0;                                      \
  for (uint64_t v : set) {                            \
    at = text.find(fmt::format("={:#x}", v), at + 1); \
    REQUIRE(at != std::string::npos);                 \
  }                                                   \
  validate(words);                                    \
  }
#include "drivers/cpu/packets.def"
#undef PACKET
#undef FIELD
#undef END
}

TEST_CASE("what is no packet is refused and printed as such") {
  REQUIRE_THROWS_AS(validate(std::vector<uint32_t>{0xee000000}), UsageError);
  REQUIRE_THROWS_AS(validate(std::vector<uint32_t>{header(RELEASE::kOpcode, 2), 0}), UsageError);
  REQUIRE_THROWS_AS(validate(std::vector<uint32_t>{header(RELEASE::kOpcode, 1), 0}), UsageError);
  REQUIRE(to_string(std::vector<uint32_t>{0xee000000}) == "unknown packet 0xee000000");
  const std::vector<uint32_t> padded{header(NOP::kOpcode, 2), 5, 6, header(BARRIER::kOpcode, 0)};
  validate(padded);
  REQUIRE(dump(padded) == "     0: NOP\n     3: BARRIER\n");
}
