// SPDX-License-Identifier: MIT
#include "tools/decode/qcom_packets.h"

#include "tools/decode/qcom.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

namespace tiny::decode {
namespace qcom {
namespace {

constexpr std::uint32_t type_of(std::uint32_t header) { return header >> 28; }
constexpr std::uint32_t register_of(std::uint32_t header) { return header >> 8 & 0x3ffff; }
constexpr std::uint32_t opcode_of(std::uint32_t header) { return header >> 16 & 0x7f; }

constexpr std::size_t count_of(std::uint32_t header) {
  return type_of(header) == 4 ? header & 0x7f : header & 0x3fff;
}

/// Bits that a type-7 header never has.
constexpr std::uint32_t kReserved7 = 0x0f004000;

constexpr bool is_header(std::uint32_t header) {
  if (type_of(header) == 4)
    return (header >> 7 & 1) == odd_parity_bit(header & 0x7f) &&
           (header >> 27 & 1) == odd_parity_bit(register_of(header));
  return type_of(header) == 7 && (header & kReserved7) == 0 &&
         (header >> 15 & 1) == odd_parity_bit(header & 0x3fff) &&
         (header >> 23 & 1) == odd_parity_bit(opcode_of(header));
}

}  // namespace

std::string header_error(std::uint32_t header) {
  if (is_header(header)) return {};
  const std::uint32_t type = type_of(header);
  if (type != 4 && type != 7) return fmt::format("type {} is no packet", type);
  if (type == 7 && (header & kReserved7))
    return fmt::format("reserved bits {:#x}", header & kReserved7);
  const std::uint32_t count_bit = type == 4 ? header >> 7 & 1 : header >> 15 & 1;
  if (count_bit != odd_parity_bit(static_cast<std::uint32_t>(count_of(header))))
    return "parity of the count";
  return type == 4 ? "parity of the register" : "parity of the opcode";
}

bool PacketReader::plausible(std::size_t at) const {
  for (int packets = 0; packets < 3 && at < words_.size(); ++packets) {
    const std::uint32_t header = words_[at];
    if (header == 0 && packets > 0) return true;  // padding behind a packet
    if (!is_header(header) || count_of(header) >= words_.size() - at) return false;
    at += 1 + count_of(header);
  }
  return true;
}

bool PacketReader::next(Packet& packet) {
  if (at_ >= words_.size()) return false;
  packet = {PacketKind::bad, at_, words_[at_], 0, 0, 0, {}};
  const std::size_t left = words_.size() - at_ - 1;
  if (is_header(packet.header)) {
    const bool registers = type_of(packet.header) == 4;
    packet.kind = registers ? PacketKind::registers : PacketKind::command;
    packet.target = registers ? register_of(packet.header) : opcode_of(packet.header);
    packet.count = count_of(packet.header);
    packet.missing = packet.count > left ? packet.count - left : 0;
    packet.body = words_.subspan(at_ + 1, packet.count - packet.missing);
    at_ += 1 + packet.body.size();
    return true;
  }
  std::size_t end = at_ + 1;
  if (packet.header == 0) {
    packet.kind = PacketKind::padding;
    while (end < words_.size() && words_[end] == 0) ++end;
  } else {
    while (end < words_.size() && words_[end] != 0 && !plausible(end)) ++end;
  }
  packet.count = end - at_;
  packet.body = words_.subspan(at_, packet.count);
  at_ = end;
  return true;
}

namespace {

constexpr std::uint32_t kIndirectBuffer = 0x3f, kIndirectBufferPfd = 0x37,
                        kIndirectBufferChain = 0x57, kSetAmble = 0x55;
constexpr std::uint32_t kLoadState6Geom = 0x32, kLoadState6Frag = 0x34, kLoadState6 = 0x36;
constexpr std::uint32_t kSpCsBase = 0xa9b4, kSpCsInstrSize = 0xa9bc;

std::uint64_t address_at(Words body, std::size_t index) {
  return body[index] | std::uint64_t{body[index + 1]} << 32;
}

/// Bytes of one unit of CP_LOAD_STATE6 by what is loaded: samplers and constants are four words,
/// programs come in groups of 16 instructions, descriptors of textures and UAVs have 16 words, of
/// UBOs two.
std::uint64_t unit_B(std::uint32_t type, bool texture_block) {
  switch (type) {
    case 0:
      return texture_block ? 16 : 128;
    case 1:
      return texture_block ? 64 : 16;
    case 2:
      return 8;
    default:
      return 64;
  }
}

std::optional<AdrenoReference> load_state(Words body) {
  using Kind = AdrenoReference::Kind;
  if (body.size() < 3 || (body[0] >> 16 & 3) != 2) return {};  // only INDIRECT is in memory
  const std::uint32_t type = body[0] >> 14 & 3, block = body[0] >> 18 & 15;
  const bool texture_block = block < 8;
  Kind kind = Kind::descriptors;
  if (!texture_block && type == 0) kind = Kind::program;
  if (!texture_block && type == 1) kind = Kind::constants;
  const std::uint64_t size_B = (body[0] >> 22) * unit_B(type, texture_block);
  return AdrenoReference{kind, {address_at(body, 1) & ~std::uint64_t{3}, size_B}};
}

std::optional<AdrenoReference> command_reference(const Packet& packet) {
  constexpr std::uint32_t kSize_dw = 0xfffff;
  switch (packet.target) {
    case kIndirectBuffer:
    case kIndirectBufferPfd:
    case kIndirectBufferChain:
    case kSetAmble:
      if (packet.body.size() < 3) return {};
      return AdrenoReference{AdrenoReference::Kind::indirect_buffer,
                             {address_at(packet.body, 0), (packet.body[2] & kSize_dw) * 4ull}};
    case kLoadState6Geom:
    case kLoadState6Frag:
    case kLoadState6:
      return load_state(packet.body);
    default:
      return {};
  }
}

/// Base and size of the compute program, as the registers come by.
class ProgramRegisters {
 public:
  /// A program once both are known and one of them has just been written.
  std::optional<AdrenoReference> write(const Packet& packet) {
    bool written = false;
    for (std::size_t i = 0; i < packet.body.size(); ++i)
      written |= write(packet.target + static_cast<std::uint32_t>(i), packet.body[i]);
    if (!written || base_ == 0 || size_B_ == 0) return {};
    return AdrenoReference{AdrenoReference::Kind::program, {base_, size_B_}};
  }

 private:
  bool write(std::uint32_t reg, std::uint32_t value) {
    if (reg == kSpCsBase) base_ = (base_ & ~std::uint64_t{0xffffffff}) | value;
    if (reg == kSpCsBase + 1) base_ = (base_ & 0xffffffff) | std::uint64_t{value} << 32;
    if (reg == kSpCsInstrSize) size_B_ = std::uint64_t{value} * 128;
    return reg == kSpCsBase + 1 || reg == kSpCsInstrSize;
  }

  std::uint64_t base_ = 0, size_B_ = 0;
};

}  // namespace
}  // namespace qcom

const char* to_string(AdrenoReference::Kind kind) {
  switch (kind) {
    case AdrenoReference::Kind::indirect_buffer:
      return "indirect_buffer";
    case AdrenoReference::Kind::program:
      return "program";
    case AdrenoReference::Kind::constants:
      return "constants";
    default:
      return "descriptors";
  }
}

std::vector<AdrenoReference> adreno_references(Words words) {
  std::vector<AdrenoReference> found;
  qcom::ProgramRegisters program;
  qcom::Packet packet;
  for (qcom::PacketReader reader(words); reader.next(packet);) {
    std::optional<AdrenoReference> reference;
    if (packet.kind == qcom::PacketKind::registers) reference = program.write(packet);
    if (packet.kind == qcom::PacketKind::command) reference = qcom::command_reference(packet);
    if (reference && reference->range.size_B != 0 && reference->range.address != 0)
      found.push_back(*reference);
  }
  return found;
}

}  // namespace tiny::decode
