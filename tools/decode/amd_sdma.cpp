// SPDX-License-Identifier: MIT
// SDMA: finding packets in a stream and printing them.
#include "tools/decode/amd.h"
#include "tools/decode/amd_tables.h"

#include <fmt/format.h>
#include <algorithm>

namespace tiny::decode {
namespace {

/// op | sub_op << 8, as in table amd_sdma.
enum : std::uint32_t {
  kNop = 0x0000,
  kCopyLinear = 0x0001,
  kCopyTiled = 0x0101,
  kWriteUntiled = 0x0002,
  kIndirect = 0x0004,
  kPollRegmem = 0x0008,
};
constexpr std::uint32_t kHeaderMask = 0xffff;
constexpr std::uint32_t kBroadcastBit = 1u << 27;
/// SDMA 7: the packet has an eighth dword of compression parameters.
constexpr std::uint32_t kParametersBit = 1u << 19;
/// Host data path flush: a poll of nothing (reference: the only use of such an address).
constexpr std::uint32_t kHdpFlush[] = {8, 0, 0x80000000, 0, 0, 0};

const amd::PacketLayout* layout_at(Words stream, std::size_t offset, const amd::Vocabulary& words) {
  const std::uint32_t header = stream[offset], key = header & kHeaderMask;
  if (key == kCopyLinear || key == kCopyTiled) {
    const bool broadcast = (header & kBroadcastBit) != 0;
    const char* wide = key == kCopyLinear ? "COPY_BROADCAST_LINEAR" : "COPY_L2T_BROADCAST";
    const char* plain = key == kCopyLinear ? "COPY_LINEAR" : "COPY_TILED";
    return words.find(key, std::string_view(broadcast ? wide : plain));
  }
  return words.find(key, 0u);
}

/// Dwords of the packet as its own fields say.
std::uint64_t size_at(Words stream, std::size_t offset, const amd::PacketLayout& layout,
                      Sdma version) {
  const std::uint32_t header = stream[offset], key = header & kHeaderMask;
  if (key == kNop) return 1 + (header >> 16 & 0x3fff);
  if (key == kWriteUntiled) {
    const std::uint32_t count = offset + 3 < stream.size() ? stream[offset + 3] & 0xfffff : 0;
    return 4 + std::uint64_t{count} + 1;
  }
  if (version == Sdma::v7_0 && layout.name == "COPY_LINEAR") return header & kParametersBit ? 8 : 7;
  return layout.size_dw;
}

PacketSpan span_at(Words stream, std::size_t offset, Sdma version, const amd::Vocabulary& words) {
  const auto at = static_cast<std::uint32_t>(offset);
  if (stream[offset] == 0) {
    std::size_t end = offset;
    while (end < stream.size() && stream[end] == 0) ++end;
    return {PacketSpan::kZeros, at, static_cast<std::uint32_t>(end - offset), 0};
  }
  const amd::PacketLayout* layout = layout_at(stream, offset, words);
  if (!layout) return {PacketSpan::kRaw, at, 1, 0};
  const std::uint64_t wanted = size_at(stream, offset, *layout, version);
  const std::uint64_t size = std::min<std::uint64_t>(wanted, stream.size() - offset);
  return {stream[offset] & kHeaderMask, at, static_cast<std::uint32_t>(size),
          static_cast<std::uint32_t>(wanted - size)};
}

void add_fields(Line& line, const amd::PacketLayout& layout, const PacketSpan& span, Words packet,
                const amd::Vocabulary& words, const Symbols& symbols) {
  // What a NOP or WRITE carries is data, though the layout has a first dword of it.
  const bool carries = span.opcode == kNop || span.opcode == kWriteUntiled;
  const std::size_t fixed = span.opcode == kNop            ? 1
                            : span.opcode == kWriteUntiled ? 4
                                                           : packet.size();
  const Words head = packet.first(std::min(fixed, packet.size()));
  amd::add_fields(line, layout, head, kHeaderMask, words, symbols);
  if (carries && packet.size() > fixed)
    line.add(span.opcode == kNop ? "payload" : "data", amd::word_list(packet.subspan(fixed)));
}

}  // namespace

// Zeros are NOPs of one dword; a run of them is one span. The kinds of PacketSpan lie among the
// numbers of operations (op | sub_op << 8), so they are told apart by the header.
StreamWalk walk_sdma(Words stream, Sdma version) {
  const amd::Vocabulary& words = amd::vocabulary(version);
  StreamWalk walk;
  for (std::size_t offset = 0; offset < stream.size();) {
    const PacketSpan span = span_at(stream, offset, version, words);
    walk.packets.push_back(span);
    if (span.opcode == kIndirect && span.size_dw >= 4)
      walk.indirect_buffers.push_back(
          {std::uint64_t{stream[offset + 2]} << 32 | (stream[offset + 1] & ~31u),
           stream[offset + 3] & 0xfffff, span.offset_dw, false});
    offset += span.size_dw;
  }
  return walk;
}

Line decode_sdma_packet(Words stream, const PacketSpan& span, Sdma version,
                        const Symbols& symbols) {
  const amd::Vocabulary& words = amd::vocabulary(version);
  const Words packet = stream.subspan(span.offset_dw, span.size_dw);
  Line line;
  if (packet[0] == 0) {
    line.name = "NOP";
    line.add("repeat", fmt::format("{}", packet.size()));
    return line;
  }
  const amd::PacketLayout* layout = layout_at(stream, span.offset_dw, words);
  if (!layout) {
    line.name = "RAW";
    line.add_hex("word", packet[0]);
    return line;
  }
  line.name = layout->name;
  if (span.opcode == kPollRegmem && std::ranges::equal(packet, kHdpFlush))
    line.name = "HDP_FLUSH";
  else
    add_fields(line, *layout, span, packet, words, symbols);
  if (span.missing_dw) line.add("truncated", fmt::format("{}", span.missing_dw));
  return line;
}

Lines decode_sdma(Words stream, Sdma version, const Symbols& symbols) {
  Lines lines;
  for (const PacketSpan& span : walk_sdma(stream, version).packets)
    lines.push_back(decode_sdma_packet(stream, span, version, symbols));
  return lines;
}

}  // namespace tiny::decode
