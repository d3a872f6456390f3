// SPDX-License-Identifier: MIT
// PM4: finding packets in a stream and printing them.
#include "tools/decode/amd.h"
#include "tools/decode/amd_tables.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace tiny::decode {
namespace {

// Opcodes with a meaning beyond their fields (table amd_pm4_opcodes has all of them).
enum : std::uint32_t {
  kNop = 0x10,
  kIndirectBufferCnst = 0x33,
  kWriteData = 0x37,
  kIndirectBuffer = 0x3f,
  kIndirectBufferPasid = 0x5c,
  kSetConfigReg = 0x68,
  kSetContextReg = 0x69,
  kSetContextRegIndex = 0x6a,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
  kSetUconfigRegIndex = 0x7a,
  kSetShRegIndex = 0x9b,
  kSetContextRegPairs = 0xb8,
  kSetContextRegPairsPacked = 0xb9,
  kSetShRegPairs = 0xba,
  kSetShRegPairsPacked = 0xbb,
  kSetShRegPairsPackedN = 0xbd,
};

/// A NOP whose count field is all ones is one dword long.
constexpr std::uint32_t kSingleDwordCount = 0x3fff;
constexpr std::uint32_t kCondIndirectSize_dw = 14;

struct RegisterSpace {
  std::string_view name;
  std::uint32_t base_dw = 0;
};

/// The space that a packet's register offsets count from (PACKET3_SET_*_REG_START).
const RegisterSpace* space_of(std::uint32_t opcode) {
  static constexpr RegisterSpace kSh{"SH", 0x2c00}, kUconfig{"UCONFIG", 0xc000},
      kContext{"CONTEXT", 0xa000}, kConfig{"CONFIG", 0x2000};
  switch (opcode) {
    case kSetShReg:
    case kSetShRegIndex:
    case kSetShRegPairs:
    case kSetShRegPairsPacked:
    case kSetShRegPairsPackedN:
      return &kSh;
    case kSetUconfigReg:
    case kSetUconfigRegIndex:
      return &kUconfig;
    case kSetContextReg:
    case kSetContextRegIndex:
    case kSetContextRegPairs:
    case kSetContextRegPairsPacked:
      return &kContext;
    case kSetConfigReg:
      return &kConfig;
    default:
      return nullptr;
  }
}

bool is_packed(std::uint32_t opcode) {
  return opcode == kSetShRegPairsPacked || opcode == kSetShRegPairsPackedN ||
         opcode == kSetContextRegPairsPacked;
}

bool is_pairs(std::uint32_t opcode) {
  return opcode == kSetShRegPairs || opcode == kSetContextRegPairs;
}

PacketSpan clip(std::uint32_t opcode, std::size_t offset, std::uint32_t wanted, std::size_t left) {
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(wanted, left));
  return {opcode, static_cast<std::uint32_t>(offset), size, wanted - size};
}

PacketSpan zeros_at(Words stream, std::size_t offset) {
  std::size_t end = offset;
  while (end < stream.size() && stream[end] == 0) ++end;
  return {PacketSpan::kZeros, static_cast<std::uint32_t>(offset),
          static_cast<std::uint32_t>(end - offset), 0};
}

/// A packet that is not known and does not fit, and types 0 and 1 that do not fit, are garbage: one
/// raw word. A known packet that does not fit is shown with what is there.
PacketSpan span_at(Words stream, std::size_t offset, const amd::Vocabulary& words) {
  const std::uint32_t header = stream[offset], type = header >> 30;
  const std::size_t left = stream.size() - offset;
  const std::uint32_t count = header >> 16 & 0x3fff, opcode = header >> 8 & 0xff;
  const PacketSpan raw{PacketSpan::kRaw, static_cast<std::uint32_t>(offset), 1, 0};
  if (header == 0) return zeros_at(stream, offset);
  if (type == 2) return {PacketSpan::kType2, static_cast<std::uint32_t>(offset), 1, 0};
  if (type == 1) return raw;
  if (type == 0) return count + 2 <= left ? clip(PacketSpan::kType0, offset, count + 2, left) : raw;
  if (opcode == kNop && count == kSingleDwordCount) return clip(opcode, offset, 1, left);
  if (count + 2 > left && words.opcode_name(opcode).empty()) return raw;
  return clip(opcode, offset, count + 2, left);
}

/// An indirect buffer's address, size and flags as they lie in three dwords.
IndirectBuffer buffer_at(Words packet, std::size_t at, std::uint32_t offset_dw) {
  return {std::uint64_t{packet[at + 1]} << 32 | (packet[at] & ~3u), packet[at + 2] & 0xfffff,
          offset_dw, (packet[at + 2] >> 20 & 1) != 0};
}

void add_buffers(StreamWalk& walk, Words stream, const PacketSpan& span) {
  const Words packet = stream.subspan(span.offset_dw, span.size_dw);
  if (span.opcode == kIndirectBuffer && packet.size() == kCondIndirectSize_dw) {
    for (const std::size_t at : {8, 11})
      if (packet[at + 2] & 0xfffff)
        walk.indirect_buffers.push_back(buffer_at(packet, at, span.offset_dw));
    return;
  }
  const bool names_buffer = span.opcode == kIndirectBuffer || span.opcode == kIndirectBufferCnst ||
                            span.opcode == kIndirectBufferPasid;
  if (names_buffer && packet.size() >= 4)
    walk.indirect_buffers.push_back(buffer_at(packet, 1, span.offset_dw));
}

/// Adds `REGISTER=value`, and for the second half of an address the whole one.
struct RegisterPrinter {
  Line& line;
  const amd::Vocabulary& words;
  const Symbols& symbols;
  const RegisterSpace& space;

  std::string previous_name = {};
  std::uint32_t previous_value = 0;

  void add(std::uint32_t offset, std::uint32_t value) {
    const amd::Register* reg = words.find_register(space.base_dw + offset);
    const std::string name =
        reg ? std::string(reg->name) : fmt::format("{}+{:#x}", space.name, offset);
    line.add(name, amd::register_text(value, reg));
    add_address(name, value);
    previous_name = name;
    previous_value = value;
  }

  /// The COMPUTE_* registers of addresses count in units of 256 bytes.
  void add_address(const std::string& name, std::uint32_t value) {
    if (!name.starts_with("COMPUTE_") || !name.ends_with("_HI")) return;
    const std::string stem = name.substr(0, name.size() - 3);
    if (previous_name != stem + "_LO") return;
    const std::uint64_t high = value & 0xff;  // 48 bits in all
    line.add(stem, symbols.address((high << 32 | previous_value) << 8));
  }

  /// Two user data registers that hold an address of a known buffer.
  void add_user_data(std::uint32_t first, Words values) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const amd::Register* reg =
          words.find_register(space.base_dw + first + static_cast<std::uint32_t>(i));
      if (!reg || !reg->name.starts_with("COMPUTE_USER_DATA_")) continue;
      const std::string text = symbols.address(std::uint64_t{values[i + 1]} << 32 | values[i]);
      if (text.starts_with("0x")) continue;
      line.add(fmt::format("{}:64", reg->name), text);
      ++i;
    }
  }
};

void add_register_run(Line& line, Words packet, RegisterPrinter& print) {
  if (packet.size() < 2) return;
  const std::uint32_t first = packet[1] & 0xffff;
  if (const std::uint32_t shift = packet[1] >> 23 & 0x1f) line.add_hex("vmid_shift", shift);
  if (const std::uint32_t index = packet[1] >> 28) line.add_hex("index", index);
  if (const std::uint32_t rest = packet[1] & 0x007f0000) line.add_hex("unk_dw1", rest);
  if (packet.size() == 2) line.add_hex("reg_offset", first);
  for (std::size_t i = 2; i < packet.size(); ++i)
    print.add(first + static_cast<std::uint32_t>(i) - 2, packet[i]);
  print.add_user_data(first, packet.subspan(2));
}

/// Header, count, then groups of two offsets in one dword and two values.
void add_packed_pairs(Line& line, Words packet, RegisterPrinter& print) {
  if (packet.size() > 1) line.add_hex("reg_writes_count", packet[1]);
  std::size_t i = 2;
  for (; i + 2 < packet.size(); i += 3) {
    print.add(packet[i] & 0xffff, packet[i + 1]);
    print.add(packet[i] >> 16, packet[i + 2]);
  }
  if (i < packet.size()) line.add("extra", amd::word_list(packet.subspan(i)));
}

void add_pairs(Line& line, Words packet, RegisterPrinter& print) {
  std::size_t i = 1;
  for (; i + 1 < packet.size(); i += 2) print.add(packet[i] & 0xffff, packet[i + 1]);
  if (i < packet.size()) line.add("extra", amd::word_list(packet.subspan(i)));
}

void add_registers(Line& line, const PacketSpan& span, Words packet, const RegisterSpace& space,
                   const amd::Vocabulary& words, const Symbols& symbols) {
  RegisterPrinter print{line, words, symbols, space};
  if (is_packed(span.opcode))
    add_packed_pairs(line, packet, print);
  else if (is_pairs(span.opcode))
    add_pairs(line, packet, print);
  else
    add_register_run(line, packet, print);
}

/// Bits of a type-3 header that are neither type, count nor opcode.
void add_header_bits(Line& line, std::uint32_t header) {
  if (header & 1) line.add("predicate", "1");
  if (header >> 1 & 1) line.add("shader_type", "1");
  if (const std::uint32_t rest = header & 0xfc) line.add_hex("unk_dw0", rest);
}

void add_type3(Line& line, const PacketSpan& span, Words packet, const amd::Vocabulary& words,
               const Symbols& symbols) {
  add_header_bits(line, packet[0]);
  if (const RegisterSpace* space = space_of(span.opcode))
    return add_registers(line, span, packet, *space, words, symbols);
  const amd::PacketLayout* layout = words.find(span.opcode, span.size_dw + span.missing_dw);
  std::size_t known = 1;
  if (layout) {
    line.name = layout->name;
    amd::add_fields(line, *layout, packet, 0xffffffff, words, symbols);
    known = std::min<std::size_t>(layout->size_dw, packet.size());
  }
  if (known == packet.size()) return;
  const char* rest = span.opcode == kNop || !layout ? "payload"
                     : span.opcode == kWriteData    ? "data"
                                                    : "extra";
  line.add(rest, amd::word_list(packet.subspan(known)));
}

}  // namespace

std::optional<Gfx> gfx_of_target(std::uint32_t gfx_target_version) {
  const std::uint32_t major = gfx_target_version / 10000, minor = gfx_target_version / 100 % 100;
  switch (major) {
    case 9:
      return Gfx::gfx9;
    case 10:
      return minor < 3 ? Gfx::gfx10 : Gfx::gfx103;
    case 11:
      return Gfx::gfx11;
    case 12:
      return Gfx::gfx12;
    default:
      return std::nullopt;
  }
}

Sdma sdma_of(Gfx gfx) { return static_cast<Sdma>(static_cast<int>(gfx)); }

StreamWalk walk_pm4(Words stream, Gfx gfx) {
  const amd::Vocabulary& words = amd::vocabulary(gfx);
  StreamWalk walk;
  for (std::size_t offset = 0; offset < stream.size();) {
    walk.packets.push_back(span_at(stream, offset, words));
    add_buffers(walk, stream, walk.packets.back());
    offset += walk.packets.back().size_dw;
  }
  return walk;
}

Line decode_pm4_packet(Words stream, const PacketSpan& span, Gfx gfx, const Symbols& symbols) {
  const amd::Vocabulary& words = amd::vocabulary(gfx);
  const Words packet = stream.subspan(span.offset_dw, span.size_dw);
  Line line;
  switch (span.opcode) {
    case PacketSpan::kZeros:
      line.name = "ZEROS";
      line.add("count", fmt::format("{}", packet.size()));
      return line;
    case PacketSpan::kRaw:
      line.name = "RAW";
      line.add_hex("word", packet[0]);
      return line;
    case PacketSpan::kType2:
      line.name = "TYPE2";
      if (packet[0] & 0x3fffffff) line.add_hex("unk_dw0", packet[0] & 0x3fffffff);
      return line;
    case PacketSpan::kType0:
      line.name = "TYPE0";
      line.add("reg", amd::register_name(words, packet[0] & 0xffff));
      line.add("data", amd::word_list(packet.subspan(1)));
      return line;
    default:
      break;
  }
  const std::string_view name = words.opcode_name(span.opcode);
  line.name = name.empty() ? fmt::format("OPCODE_{:#04x}", span.opcode) : std::string(name);
  add_type3(line, span, packet, words, symbols);
  if (span.missing_dw) line.add("truncated", fmt::format("{}", span.missing_dw));
  return line;
}

Lines decode_pm4(Words stream, Gfx gfx, const Symbols& symbols) {
  Lines lines;
  for (const PacketSpan& span : walk_pm4(stream, gfx).packets)
    lines.push_back(decode_pm4_packet(stream, span, gfx, symbols));
  return lines;
}

}  // namespace tiny::decode
