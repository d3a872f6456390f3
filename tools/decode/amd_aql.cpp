// SPDX-License-Identifier: MIT
// AQL packets, kernel descriptors, signals and queue descriptors in memory.
#include "tools/decode/amd.h"
#include "tools/decode/amd_tables.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>

namespace tiny::decode {
namespace {

constexpr std::size_t kPacket_B = 64;

// Values of hsa_packet_type_t, hsa_fence_scope_t, hsa_signal_condition_t, amd_signal_kind_t and
// hsa_queue_type_t; table amd_kd of the facts has them too and the tests compare.
constexpr NamedValue kPacketTypes[] = {{"VENDOR_SPECIFIC", 0}, {"INVALID", 1},
                                       {"KERNEL_DISPATCH", 2}, {"BARRIER_AND", 3},
                                       {"AGENT_DISPATCH", 4},  {"BARRIER_OR", 5}};
constexpr NamedValue kScopes[] = {{"NONE", 0}, {"AGENT", 1}, {"SYSTEM", 2}};
constexpr NamedValue kConditions[] = {{"EQ", 0}, {"NE", 1}, {"LT", 2}, {"GTE", 3}};
constexpr NamedValue kSignalKinds[] = {{"INVALID", 0},
                                       {"USER", 1},
                                       {"DOORBELL", ~std::uint64_t{0}},
                                       {"LEGACY_DOORBELL", ~std::uint64_t{1}}};
constexpr NamedValue kQueueTypes[] = {{"MULTI", 0}, {"SINGLE", 1}, {"COOPERATIVE", 2}};

enum : std::uint32_t { kVendor = 0, kInvalid = 1, kDispatch = 2, kAnd = 3, kAgent = 4, kOr = 5 };
/// Formats of vendor packets (AmdFormat).
enum : std::uint32_t { kFormatPm4Ib = 1, kFormatBarrierValue = 2 };

const StructTable& structs() {
  static const StructTable table(embedded_table("amd_aql"));
  return table;
}

const amd::Parts& parts_of(Gfx gfx, std::string_view word) {
  static const amd::Parts none;
  const amd::Parts* parts = amd::vocabulary(gfx).find_parts(word);
  return parts ? *parts : none;
}

bool is_address(std::string_view name) {
  static constexpr std::string_view kNames[] = {"kernel_object",
                                                "kernarg_address",
                                                "completion_signal",
                                                "dep_signal",
                                                "return_address",
                                                "signal",
                                                "event_mailbox_ptr",
                                                "queue_ptr",
                                                "hsa_queue.base_address",
                                                "hsa_queue.doorbell_signal",
                                                "queue_inactive_signal",
                                                "scratch_backing_memory_location",
                                                "alt_scratch_backing_memory_location"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// Reserved members are shown where they are not zero.
std::string member_text(const StructLayout&, const Member& member, std::uint64_t value,
                        const Symbols& symbols) {
  if (member.name == "header" || member.name == "setup" || member.name == "ib_jump_cmd" ||
      member.name == "ven_hdr")
    return std::string(kOmit);
  if (member.name.starts_with("reserved") && value == 0 && member.elements == 1)
    return std::string(kOmit);
  if (is_address(member.name)) return value ? symbols.address(value) : "0";
  if (member.name == "cond") return enum_text(value, kConditions);
  if (member.name == "kind") return enum_text(value, kSignalKinds);
  if (member.name == "hsa_queue.type") return enum_text(value, kQueueTypes);
  if (member.name == "value") return fmt::format("{}", static_cast<std::int64_t>(value));
  return {};
}

std::uint32_t read_u16(Bytes bytes, std::size_t offset) {
  if (offset + 2 > bytes.size()) return 0;
  return std::to_integer<std::uint32_t>(bytes[offset]) |
         std::to_integer<std::uint32_t>(bytes[offset + 1]) << 8;
}

void add_header(Line& line, std::uint32_t header) {
  if (header >> 8 & 1) line.add("barrier", "1");
  line.add("acquire", enum_text(header >> 9 & 3, kScopes));
  line.add("release", enum_text(header >> 11 & 3, kScopes));
  if (header >> 13) line.add_hex("unk_header", header & 0xe000);
}

void add_struct(Line& line, std::string_view name, Bytes packet, const Symbols& symbols) {
  add_members(line, *structs().find(name), packet, {}, symbols, member_text);
}

/// The packet that the queue's PM4 firmware runs instead: an INDIRECT_BUFFER.
void add_pm4_ib(Line& line, Bytes packet, Gfx gfx, const Symbols& symbols) {
  std::array<std::uint32_t, 4> words{};
  if (packet.size() >= 20) {
    std::memcpy(words.data(), packet.data() + 4, sizeof words);
    for (const Line& inner : decode_pm4(words, gfx, symbols)) {
      line.add("pm4", inner.name);
      for (const Field& field : inner.fields) line.add(field.name, field.text);
    }
  }
  add_struct(line, "amd_aql_pm4_ib", packet, symbols);
}

void add_vendor(Line& line, Bytes packet, Gfx gfx, const Symbols& symbols) {
  // amd_aql_pm4_ib has 16 bits of format, newer vendor packets 8; the values are below 256.
  const std::uint32_t format = read_u16(packet, 2) & 0xff;
  if (format == kFormatPm4Ib) {
    line.name = "PM4_IB";
    add_pm4_ib(line, packet, gfx, symbols);
  } else if (format == kFormatBarrierValue) {
    line.name = "BARRIER_VALUE";
    add_struct(line, "hsa_amd_barrier_value_packet_t", packet, symbols);
  } else {
    line.add_hex("format", read_u16(packet, 2));
    line.add("raw", hex_bytes(packet));
  }
}

Line decode_packet(Bytes packet, Gfx gfx, const Symbols& symbols) {
  const std::uint32_t header = read_u16(packet, 0), type = header & 0xff;
  Line line{enum_text(type, kPacketTypes), {}};
  if (packet.size() < 2) {
    line.name = "RAW";
    line.add("bytes", hex_bytes(packet));
    return line;
  }
  add_header(line, header);
  switch (type) {
    case kVendor:
      add_vendor(line, packet, gfx, symbols);
      break;
    case kDispatch:
      line.add("dimensions", number_text(read_u16(packet, 2)));
      add_struct(line, "hsa_kernel_dispatch_packet_t", packet, symbols);
      break;
    case kAnd:
    case kOr:
      add_struct(line, "hsa_barrier_and_packet_t", packet, symbols);
      break;
    case kAgent:
      add_struct(line, "hsa_agent_dispatch_packet_t", packet, symbols);
      break;
    default:
      if (type != kInvalid) line.name = fmt::format("TYPE_{:#04x}", type);
      line.add("raw", hex_bytes(packet));
  }
  return line;
}

bool is_invalid(Bytes packet) {
  return packet.size() == kPacket_B && (read_u16(packet, 0) & 0xff) == kInvalid;
}

std::size_t equal_run(Bytes packets) {
  const Bytes first = packets.first(kPacket_B);
  std::size_t count = 1;
  while ((count + 1) * kPacket_B <= packets.size() &&
         std::ranges::equal(first, packets.subspan(count * kPacket_B, kPacket_B)))
    ++count;
  return count;
}

Line invalid_run(Bytes packet, std::size_t count) {
  Line line{"INVALID", {}};
  if (count > 1) line.add("repeat", fmt::format("{}", count));
  const bool empty =
      std::ranges::all_of(packet.subspan(2), [](std::byte b) { return b == std::byte{0}; });
  if (read_u16(packet, 0) != kInvalid || !empty) line.add("raw", hex_bytes(packet));
  return line;
}

}  // namespace

Lines decode_aql(Bytes packets, Gfx gfx, const Symbols& symbols) {
  Lines lines;
  while (!packets.empty()) {
    const Bytes packet = packets.first(std::min(packets.size(), kPacket_B));
    std::size_t count = 1;
    if (is_invalid(packet)) {
      count = equal_run(packets);
      lines.push_back(invalid_run(packet, count));
    } else {
      lines.push_back(decode_packet(packet, gfx, symbols));
    }
    packets = packets.subspan(std::min(count * kPacket_B, packets.size()));
  }
  return lines;
}

Line decode_kernel_descriptor(Bytes descriptor, Gfx gfx, const Symbols& symbols) {
  Line line{"KERNEL_DESCRIPTOR", {}};
  add_struct(line, "kernel_descriptor_t", descriptor, symbols);
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"compute_pgm_rsrc1", "KD_COMPUTE_PGM_RSRC1"},
      {"compute_pgm_rsrc2", "KD_COMPUTE_PGM_RSRC2"},
      {"compute_pgm_rsrc3", "KD_COMPUTE_PGM_RSRC3"},
      {"kernel_code_properties", "KERNEL_CODE_PROPERTY"},
      {"kernarg_preload", "KERNARG_PRELOAD_SPEC"}};
  for (const Member& member : structs().find("kernel_descriptor_t")->members) {
    if (member.offset_B + member.size_B > descriptor.size()) continue;
    for (const auto& [name, parts] : kWords) {
      if (name != member.name) continue;
      std::uint64_t value = 0;
      std::memcpy(&value, descriptor.data() + member.offset_B, member.size_B);
      for (Field& field : line.fields)
        if (field.name == name) field.text = amd::parts_text(value, parts_of(gfx, parts));
    }
  }
  return line;
}

Line decode_amd_signal(Bytes signal, const Symbols& symbols) {
  Line line{"SIGNAL", {}};
  add_struct(line, "amd_signal_t", signal, symbols);
  return line;
}

Line decode_amd_queue(Bytes queue, const Symbols& symbols) {
  Line line{"AMD_QUEUE", {}};
  const StructLayout* old = structs().find("amd_queue_t");
  const bool v2 = queue.size() > old->size_B;
  add_struct(line, v2 ? "amd_queue_v2_t" : "amd_queue_t", queue, symbols);
  for (Field& field : line.fields) {
    const bool properties = field.name == "queue_properties";
    if (!properties && field.name != "caps") continue;
    std::uint32_t value = 0;
    std::memcpy(&value, queue.data() + (properties ? 0xb4 : 0x28), sizeof value);
    field.text = amd::parts_text(
        value, parts_of(Gfx::gfx11, properties ? "AMD_QUEUE_PROPERTIES" : "AMD_QUEUE_CAPS"));
  }
  return line;
}

}  // namespace tiny::decode
