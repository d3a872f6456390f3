// SPDX-License-Identifier: MIT
// Every field, value and call number of the fact tables, one by one: a value put into a field where
// the facts say comes out under its name. tests/data/decode/amd_facts.tsv.gz is described in
// copy_amd_facts.py.
#include "tests/tools/decode/amd_support.h"
#include "tools/decode/table.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

using namespace amd_test;

namespace {

std::string read_facts() {
  std::string text(4 << 20, '\0');
  gzFile file = gzopen(TINY_DECODE_DATA "/amd_facts.tsv.gz", "rb");
  REQUIRE(file != nullptr);
  const int size = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  REQUIRE(size > 0);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

const std::vector<Row>& facts() {
  static const std::string text = read_facts();
  static const std::vector<Row> all = rows(text);
  return all;
}

Gfx gfx_of(std::string_view generation) {
  if (generation == "gfx9") return Gfx::gfx9;
  if (generation == "gfx10") return Gfx::gfx10;
  if (generation == "gfx10.3") return Gfx::gfx103;
  return generation == "gfx11" ? Gfx::gfx11 : Gfx::gfx12;
}

Sdma sdma_version(std::string_view version) {
  if (version == "4.0") return Sdma::v4_0;
  if (version == "5.0") return Sdma::v5_0;
  if (version == "5.2") return Sdma::v5_2;
  return version == "6.0" ? Sdma::v6_0 : Sdma::v7_0;
}

struct FieldFact {
  std::string name;
  std::size_t dword = 0, hi = 0, lo = 0;
};
struct PacketFact {
  std::uint32_t opcode = 0;
  std::size_t size_dw = 0;
  std::vector<FieldFact> fields;
};
using Packets = std::map<std::pair<std::string, std::string>, PacketFact>;  // (version, packet)

Packets packets_of(std::string_view kind) {
  Packets packets;
  for (const Row& row : facts()) {
    if (row[0] != kind) continue;
    const bool sdma = kind == "sdma";
    PacketFact& packet = packets[{std::string(row[1]), std::string(row[2])}];
    packet.opcode =
        static_cast<std::uint32_t>(sdma ? row.number(3) | row.number(4) << 8 : row.number(3));
    const std::size_t at = sdma ? 5 : 4;
    packet.fields.push_back(
        {std::string(row[at + 1]), row.number(at), row.number(at + 2), row.number(at + 3)});
    packet.size_dw = std::max(packet.size_dw, packet.fields.back().dword + 1);
  }
  return packets;
}

std::uint32_t mask(const FieldFact& field) {
  return static_cast<std::uint32_t>((std::uint64_t{2} << (field.hi - field.lo)) - 1) << field.lo;
}

/// `address` of `address_lo_32b`, `src_addr` of `src_addr_63_32`.
std::string stem(std::string name) {
  for (const char* end : {"_lo_32b", "_lo_64b", "_31_0", "_31_2", "_31_3", "_31_4", "_31_5",
                          "_31_6", "_31_7", "_63_32", "_47_32", "_15_0", "_18_16", "_lo", "_hi"})
    if (name.ends_with(end)) return name.substr(0, name.size() - std::string_view(end).size());
  return name;
}

/// Fields that are joined to one whose name is not their stem.
bool same_field(const std::string& shown, const std::string& fact) {
  static const std::map<std::string, std::string> kJoined = {
      {"src_32b_addr", "src_addr"},
      {"src_64b_addr", "src_addr"},
      {"src_memtc_addr", "src_addr"},
      {"dst_32b_addr", "dst_addr"},
      {"dst_64b_addr", "dst_addr"},
      {"src_imm_data", "imm_data"},
      {"src_addr_lo_or_data", "src_addr_or_data"}};
  if (shown == fact || shown == stem(fact) || shown.starts_with(fact + "_dw")) return true;
  const auto joined = kJoined.find(stem(fact));
  if (joined != kJoined.end() && joined->second == shown) return true;
  return fact == "src_addr_hi" && shown == "src_addr_or_data";
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = parsed.ptr == text.data() + text.size() || *parsed.ptr == '{';
  return parsed.ec == std::errc() && whole ? std::optional(value) : std::nullopt;
}

/// Whether a line shows `value` of a field: as itself, at its place in an address (of 256-byte
/// units too), or in the upper half of a joined field.
bool shows(const Line& line, const FieldFact& fact, std::uint64_t value,
           const std::map<std::uint64_t, std::string>* names) {
  for (const Field& shown : line.fields) {
    if (!same_field(shown.name, fact.name)) continue;
    if (names && names->count(value) && names->at(value) == shown.text) return true;
    const auto found = number(shown.text);
    if (!found) continue;
    for (const std::uint64_t expected :
         {value, value << fact.lo, value << 8, value << 32, value << 40, value << 16})
      if (*found == expected) return true;
  }
  return false;
}

/// Selectors whose values decide which of several meanings a dword has.
const std::vector<std::string> kSelectors = {"mem_space", "operation", "src_sel",
                                             "dst_sel",   "data_sel",  "int_sel"};

std::vector<const FieldFact*> selectors_of(const PacketFact& packet) {
  std::vector<const FieldFact*> found;
  for (const FieldFact& field : packet.fields)
    if (std::find(kSelectors.begin(), kSelectors.end(), field.name) != kSelectors.end())
      found.push_back(&field);
  return found;
}

/// Tries the meanings until one shows the field.
template <class Decode>
bool some_meaning_shows(const PacketFact& packet, const FieldFact& fact,
                        const std::vector<std::uint32_t>& words, const Decode& decode,
                        const std::function<bool(const Line&)>& check) {
  const auto selectors = selectors_of(packet);
  const std::size_t count = std::min<std::size_t>(selectors.size(), 3);
  for (std::uint32_t pick = 0; pick < 1u << 3 * count; ++pick) {
    std::vector<std::uint32_t> changed = words;
    for (std::size_t i = 0; i < count; ++i)
      if (selectors[i] != &fact)
        changed[selectors[i]->dword] |=
            ((pick >> 3 * i & 7) << selectors[i]->lo) & mask(*selectors[i]);
    if (check(decode(changed))) return true;
  }
  return false;
}

std::uint64_t value_for(const FieldFact& fact, std::mt19937& random) {
  const std::uint64_t most = (std::uint64_t{2} << (fact.hi - fact.lo)) - 1;
  return 1 + random() % most;
}

}  // namespace

TEST_CASE("every PM4 field of the facts is read back under its name") {
  std::map<std::pair<std::string, std::string>, std::map<std::uint64_t, std::string>> names;
  for (const Row& row : facts())
    if (row[0] == "enum")
      names[{fmt::format("{}/{}", row[1], row[2]), std::string(row[3])}][row.number(4)] = row[5];
  std::mt19937 random(1);
  std::size_t checked = 0;
  for (const auto& [key, packet] : packets_of("pm4")) {
    // Register packets print registers: tested by hand. VGT events have a table of their own.
    if (key.second.starts_with("SET_") && key.second != "SET_BASE") continue;
    for (const FieldFact& fact : packet.fields) {
      if (fact.name == "event_type" || fact.name.find("reg_poll") != std::string::npos ||
          fact.name.find("reg_write_addr") != std::string::npos ||
          fact.name.find("reg_offset") != std::string::npos ||
          fact.name.find("mmreg") != std::string::npos)
        continue;
      const std::uint64_t value = value_for(fact, random);
      std::vector<std::uint32_t> words(packet.size_dw);
      words[0] =
          3u << 30 | static_cast<std::uint32_t>(packet.size_dw - 2) << 16 | packet.opcode << 8;
      words[fact.dword] |= static_cast<std::uint32_t>(value << fact.lo);
      const auto found = names.find({key.first + "/" + key.second, fact.name});
      const auto decode = [&, gfx = gfx_of(key.first)](const std::vector<std::uint32_t>& stream) {
        return decode_pm4(stream, gfx, no_symbols()).at(0);
      };
      INFO(key.first << " " << key.second << "." << fact.name << " = " << value << "\n"
                     << to_text(decode(words)));
      CHECK(some_meaning_shows(packet, fact, words, decode, [&](const Line& line) {
        return shows(line, fact, value, found == names.end() ? nullptr : &found->second);
      }));
      ++checked;
    }
  }
  CHECK(checked > 1000);
}

TEST_CASE("every SDMA field of the facts is read back under its name") {
  std::mt19937 random(2);
  std::size_t checked = 0;
  for (const auto& [key, packet] : packets_of("sdma")) {
    for (const FieldFact& fact : packet.fields) {
      const bool header = fact.dword == 0 && (fact.name == "op" || fact.name == "sub_op");
      // The length of the packet hangs on these; data0 stands for data of any length. The
      // seventh dword of a poll is not part of the interface that programs use.
      const bool length = (key.second == "NOP" || key.second == "WRITE_UNTILED") &&
                          (fact.name == "count" || fact.name == "data0");
      const bool beyond = key.second == "POLL_REGMEM" && fact.dword == 6;
      if (header || length || beyond) continue;
      const std::uint64_t value = value_for(fact, random);
      std::vector<std::uint32_t> words(packet.size_dw);
      words[0] = packet.opcode;
      // The headers before 7.0 have no constant for this sub-operation.
      if (key.second == "REGISTER_RMW") words[0] |= 1u << 8;
      if (key.second.find("BROADCAST") != std::string::npos) words[0] |= 1u << 27;
      const bool linear7 = key.first == "7.0" && key.second == "COPY_LINEAR";
      if (linear7 && fact.dword == 7) words[0] |= 1u << 19;
      words[fact.dword] |= static_cast<std::uint32_t>(value << fact.lo);
      if (words[0] == 0) continue;  // a NOP
      const Line line = decode_sdma(words, sdma_version(key.first), no_symbols()).at(0);
      // The broadcast bit makes a copy another packet; invalidations share a number with GPUVM_INV.
      if (line.name != key.second) {
        CHECK((line.name.find("BROADCAST") != std::string::npos || line.name == "GPUVM_INV" ||
               line.name == "INVALIDATION" || line.name == "GCR_USER"));
        continue;
      }
      INFO(key.first << " " << key.second << "." << fact.name << " = " << value << "\n"
                     << to_text(line));
      CHECK(shows(line, fact, value, nullptr));
      ++checked;
    }
  }
  CHECK(checked > 2000);
}

TEST_CASE("every KFD and amdgpu call has the facts' name at the facts' number") {
  std::size_t checked = 0;
  for (const Row& row : facts()) {
    if (row[0] != "call") continue;
    std::string name(row[1]);
    if (const std::size_t at = name.find("_DEPRECATED"); at != std::string::npos) name.resize(at);
    const auto request = static_cast<std::uint32_t>(row.number(2));
    const std::vector<std::byte> argument(ioc_size_B(request));
    const IoctlCall call{request, 0, argument, argument, {}};
    const bool kfd = ioc_type(request) == 'K';
    const Lines lines =
        kfd ? decode_kfd_ioctl(call, no_symbols()) : decode_drm_ioctl(call, no_symbols());
    CHECK(lines.at(0).name == name);
    if (row.number(4) == ioc_size_B(request)) {
      INFO(to_text(lines[0]));
      CHECK(field(lines[0], "truncated").empty());
      CHECK(field(lines[0], "extra").empty());
      CHECK(lines[0].fields.size() >= 2);
    }
    ++checked;
  }
  CHECK(checked > 100);
}
