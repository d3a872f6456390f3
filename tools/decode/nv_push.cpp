// SPDX-License-Identifier: MIT
#include "tools/decode/nv.h"

#include "tools/decode/nv_tables.h"
#include "tools/decode/nv_words.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tiny::decode {
namespace {

using namespace nv;

constexpr std::uint32_t kSubchannels = 8;
/// Inline data kept to look for a descriptor, in words; larger uploads are not one.
constexpr std::size_t kMaxInlineWords = 1024;

/// From this number of fields on, a method's zero fields are left out, but for what it is to do.
constexpr std::size_t kManyFields = 6;

/// The two methods that set the halves of an address.
struct AddressPair {
  std::uint32_t high, low, shift;
};
constexpr AddressPair kHostPairs[] = {{0x60, 0x5c, 0}, {0x10, 0x14, 0}};
constexpr AddressPair kComputePairs[] = {
    {0x130, 0x134, 0},   {0x164, 0x160, 0},   {0x188, 0x18c, 0},   {0x1dc, 0x1e0, 0},
    {0x200, 0x204, 0},   {0x2a0, 0x2a4, 0},   {0x318, 0x31c, 8},   {0x790, 0x794, 0},
    {0x7b0, 0x7b4, 0},   {0x7bc, 0x7b8, 0},   {0x1550, 0x1554, 0}, {0x155c, 0x1560, 0},
    {0x1574, 0x1578, 0}, {0x1b00, 0x1b04, 0}, {0x25f8, 0x25fc, 0}};
constexpr AddressPair kCopyPairs[] = {
    {0x220, 0x224, 0}, {0x240, 0x244, 0}, {0x254, 0x258, 0}, {0x400, 0x404, 0}, {0x408, 0x40c, 0}};

// Methods that the decoder itself understands (cl*6f.h, cl*c0.h, cl*b5.h).
namespace host {
constexpr std::uint32_t kSetObject = 0x0, kSemaphoreC = 0x18, kSemaphoreD = 0x1c,
                        kSemPayloadLo = 0x64, kSemPayloadHi = 0x68, kSemExecute = 0x6c;
constexpr AddressPair kSemaphore = {0x10, 0x14, 0}, kSem = {0x60, 0x5c, 0};
}  // namespace host
namespace compute {
constexpr std::uint32_t kReportPayloadLower = 0x158, kReportPayloadUpper = 0x15c,
                        kReportExecute = 0x168, kLineLengthIn = 0x180, kLineCount = 0x184,
                        kLaunchDma = 0x1b0, kLoadInlineData = 0x1b4, kSendPcasA = 0x2b4,
                        kLoadInlineQmdData = 0x320, kReportC = 0x1b08, kReportD = 0x1b0c;
constexpr std::uint32_t kInlineQmdWords = 96;
constexpr AddressPair kReport = {0x164, 0x160, 0}, kOldReport = {0x1b00, 0x1b04, 0},
                      kOffsetOut = {0x188, 0x18c, 0};
}  // namespace compute
namespace copy {
constexpr std::uint32_t kSemaphorePayload = 0x248, kSemaphorePayloadUpper = 0x24c,
                        kLaunchDma = 0x300, kLineLengthIn = 0x418, kLineCount = 0x41c;
constexpr AddressPair kSemaphore = {0x240, 0x244, 0}, kIn = {0x400, 0x404, 0},
                      kOut = {0x408, 0x40c, 0};
}  // namespace copy

std::uint64_t mask_of(const ValueField& field) {
  return ((std::uint64_t{2} << (field.hi - field.lo)) - 1) << field.lo;
}

}  // namespace

struct PushbufferDecoder::State {
  /// What was last written to the methods of one engine.
  using Shadow = std::unordered_map<std::uint32_t, std::uint32_t>;
  struct Subchannel {
    std::uint32_t class_id = 0;
    Shadow values;
    std::vector<std::uint32_t> inline_words;  // since LAUNCH_DMA
    std::uint64_t inline_left_B = 0;
  };

  std::uint32_t channel_class = 0;
  Shadow host_values;
  std::array<Subchannel, kSubchannels> subchannels;

  const Symbols* symbols = nullptr;
  std::vector<Line>* lines = nullptr;
  std::vector<std::uint32_t> run;  // words of one inline data header
  std::uint32_t run_index = 0;

  void decode(Words segment);
  std::size_t header(Words segment, std::size_t at);
  void method(std::uint32_t subchannel, std::uint32_t address, std::uint32_t data, bool last);
  void engine_line(std::uint32_t class_id, Shadow& values, std::uint32_t address,
                   std::uint32_t data, std::uint32_t subchannel);
  void set_object(std::uint32_t subchannel, std::uint32_t data);
  bool inline_data(Subchannel& sub, std::uint32_t address, std::uint32_t data, bool last);
  void flush_run(Subchannel& sub, std::string_view name, bool is_qmd);
  void host_summary(Line& line, std::uint32_t address, std::uint32_t data) const;
  void compute_summary(Line& line, Subchannel& sub, std::uint32_t address, std::uint32_t data);
  void copy_summary(Line& line, const Shadow& values, std::uint32_t address,
                    std::uint32_t data) const;
  void add_address(Line& line, std::string_view name, const Shadow& values,
                   const AddressPair& pair) const;
  void add_pair(Line& line, const Shadow& values, std::uint32_t address,
                std::span<const AddressPair> pairs) const;
  void add_qmd(Words words, std::uint32_t compute_class, std::uint64_t address, bool sure);

  Line& add(std::string name) {
    lines->emplace_back().name = std::move(name);
    return lines->back();
  }
};

namespace {

std::uint32_t value_of(const std::unordered_map<std::uint32_t, std::uint32_t>& values,
                       std::uint32_t address) {
  const auto found = values.find(address);
  return found == values.end() ? 0 : found->second;
}

std::string class_prefix(std::uint32_t class_id, std::uint32_t subchannel) {
  return class_id ? fmt::format("NV{:04X}", class_id) : fmt::format("SUBCH{}", subchannel);
}

/// `NVCBC0_NAME(index)`, or the address where the class has no such method.
std::string method_name(const MethodMatch& match, std::uint32_t class_id, std::uint32_t subchannel,
                        std::uint32_t address) {
  const std::string prefix = class_prefix(class_id, subchannel);
  if (!match.method) return fmt::format("{}_{:#06x}", prefix, address);
  if (!match.method->stride) return fmt::format("{}_{}", prefix, match.method->name);
  return fmt::format("{}_{}({})", prefix, match.method->name, match.index);
}

std::string field_text(const ValueField& field, std::uint64_t value) {
  if (field.name == "NVCLASS" || field.name == "CLASS_ID") return name_text("class", value);
  return field.text(value);
}

void add_fields(Line& line, const MethodMatch& match, std::uint32_t data) {
  if (!match.method || match.method->fields.empty()) {
    line.add_hex("data", data);
    return;
  }
  const auto& fields = match.method->fields;
  std::uint64_t rest = data;
  for (const ValueField& field : fields) {
    const std::uint64_t mask = mask_of(field);
    rest &= ~mask;
    const bool always =
        fields.size() < kManyFields || &field == &fields.front() || field.name == "OPERATION";
    if (always || data & mask) line.add(field.name, field_text(field, (data & mask) >> field.lo));
  }
  if (rest) line.add_hex("unk", rest);
}

std::string words_text(Words words) { return hex_bytes(std::as_bytes(words), 64); }

}  // namespace

void PushbufferDecoder::State::add_address(Line& line, std::string_view name, const Shadow& values,
                                           const AddressPair& pair) const {
  if (!values.contains(pair.high) && !values.contains(pair.low)) return;
  const std::uint64_t address =
      (std::uint64_t{value_of(values, pair.high)} << 32 | value_of(values, pair.low)) << pair.shift;
  line.add(name, symbols->address(address));
}

/// The whole address, on the line of the half that is written last.
void PushbufferDecoder::State::add_pair(Line& line, const Shadow& values, std::uint32_t address,
                                        std::span<const AddressPair> pairs) const {
  for (const AddressPair& pair : pairs)
    if (address == std::max(pair.high, pair.low) && values.contains(std::min(pair.high, pair.low)))
      add_address(line, "address", values, pair);
}

void PushbufferDecoder::State::host_summary(Line& line, std::uint32_t address,
                                            std::uint32_t data) const {
  add_pair(line, host_values, address, kHostPairs);
  if (address == host::kSemExecute) {
    const bool wide = data >> 24 & 1;
    add_address(line, "address", host_values, host::kSem);
    line.add_hex("payload",
                 std::uint64_t{wide ? value_of(host_values, host::kSemPayloadHi) : 0} << 32 |
                     value_of(host_values, host::kSemPayloadLo));
  } else if (address == host::kSemaphoreD) {
    add_address(line, "address", host_values, host::kSemaphore);
    line.add_hex("payload", value_of(host_values, host::kSemaphoreC));
  }
}

void PushbufferDecoder::State::compute_summary(Line& line, Subchannel& sub, std::uint32_t address,
                                               std::uint32_t data) {
  const Shadow& values = sub.values;
  add_pair(line, values, address, kComputePairs);
  if (address == compute::kSendPcasA) {
    line.add("qmd", symbols->address(std::uint64_t{data} << 8));
  } else if (address == compute::kReportExecute) {
    const bool wide = data >> 12 & 1;
    add_address(line, "address", values, compute::kReport);
    line.add_hex("payload",
                 std::uint64_t{wide ? value_of(values, compute::kReportPayloadUpper) : 0} << 32 |
                     value_of(values, compute::kReportPayloadLower));
  } else if (address == compute::kReportD) {
    add_address(line, "address", values, compute::kOldReport);
    line.add_hex("payload", value_of(values, compute::kReportC));
  } else if (address == compute::kLaunchDma) {
    add_address(line, "dst", values, compute::kOffsetOut);
    sub.inline_left_B = std::uint64_t{value_of(values, compute::kLineLengthIn)} *
                        std::max(1u, value_of(values, compute::kLineCount));
    sub.inline_words.clear();
    line.add("bytes", number_text(sub.inline_left_B));
  }
}

void PushbufferDecoder::State::copy_summary(Line& line, const Shadow& values, std::uint32_t address,
                                            std::uint32_t data) const {
  add_pair(line, values, address, kCopyPairs);
  if (address != copy::kLaunchDma) return;
  if (data & 3) {  // DATA_TRANSFER_TYPE
    add_address(line, "src", values, copy::kIn);
    add_address(line, "dst", values, copy::kOut);
    line.add("line_bytes", number_text(value_of(values, copy::kLineLengthIn)));
    if (data >> 9 & 1) line.add("lines", number_text(value_of(values, copy::kLineCount)));
  }
  if (data >> 3 & 3) {  // SEMAPHORE_TYPE
    const bool wide = data >> 27 & 1;
    add_address(line, "semaphore", values, copy::kSemaphore);
    line.add_hex("payload",
                 std::uint64_t{wide ? value_of(values, copy::kSemaphorePayloadUpper) : 0} << 32 |
                     value_of(values, copy::kSemaphorePayload));
  }
}

void PushbufferDecoder::State::set_object(std::uint32_t subchannel, std::uint32_t data) {
  Subchannel& sub = subchannels[subchannel];
  sub = {};
  sub.class_id = data & 0xffff;
  Line& line = add(fmt::format("NV{:04X}_SET_OBJECT", channel_class));
  line.add("subch", fmt::format("{}", subchannel));
  add_fields(line, find_method(channel_class, host::kSetObject), data);
}

void PushbufferDecoder::State::engine_line(std::uint32_t class_id, Shadow& values,
                                           std::uint32_t address, std::uint32_t data,
                                           std::uint32_t subchannel) {
  values[address] = data;
  const MethodMatch match = find_method(class_id, address);
  Line& line = add(method_name(match, class_id, subchannel, address));
  add_fields(line, match, data);
  if (address < kFirstEngineMethod)
    host_summary(line, address, data);
  else if (is_compute(class_id))
    compute_summary(line, subchannels[subchannel], address, data);
  else if (is_copy(class_id))
    copy_summary(line, values, address, data);
}

/// Descriptors are announced by their version; `sure` where the method says that it is one.
void PushbufferDecoder::State::add_qmd(Words words, std::uint32_t compute_class,
                                       std::uint64_t address, bool sure) {
  const std::string_view version = detect_qmd_version(words, compute_class);
  if (version.empty()) return;
  const std::size_t size = qmd_size_B(version) / 4;
  if (words.size() < size) return;
  const bool late = version >= "05";
  const std::uint64_t major = extract_bits(words, late ? 471 : 583, late ? 468 : 580);
  if (!sure && (words.size() != size || major != static_cast<std::uint64_t>(version[1] - '0')))
    return;
  Line line = decode_qmd(words.first(size), version, *symbols);
  if (address) line.fields.insert(line.fields.begin(), {"address", symbols->address(address)});
  lines->push_back(std::move(line));
}

void PushbufferDecoder::State::flush_run(Subchannel& sub, std::string_view name, bool is_qmd) {
  if (run.empty()) return;
  Line& line = add(fmt::format("NV{:04X}_{}", sub.class_id, name));
  if (is_qmd) line.add("first", fmt::format("{}", run_index));
  line.add("words", fmt::format("{}", run.size()));
  line.add("data", words_text(run));
  if (is_qmd) {
    if (run_index == 0) {
      const std::uint64_t address = std::uint64_t{value_of(sub.values, 0x318)} << 40 |
                                    std::uint64_t{value_of(sub.values, 0x31c)} << 8;
      add_qmd(run, sub.class_id, address, true);
    }
    run.clear();
    return;
  }
  const std::uint64_t bytes = run.size() * 4;
  if (sub.inline_words.size() + run.size() <= kMaxInlineWords)
    sub.inline_words.insert(sub.inline_words.end(), run.begin(), run.end());
  sub.inline_left_B -= std::min(sub.inline_left_B, bytes);
  run.clear();
  if (sub.inline_left_B != 0 || sub.inline_words.empty()) return;
  const std::uint64_t address = std::uint64_t{value_of(sub.values, compute::kOffsetOut.high)}
                                    << 32 |
                                value_of(sub.values, compute::kOffsetOut.low);
  add_qmd(sub.inline_words, sub.class_id, address, false);
  sub.inline_words.clear();
}

/// Collects the words of one header. False for other methods.
bool PushbufferDecoder::State::inline_data(Subchannel& sub, std::uint32_t address,
                                           std::uint32_t data, bool last) {
  if (!is_compute(sub.class_id)) return false;
  const bool is_qmd = address >= compute::kLoadInlineQmdData &&
                      address < compute::kLoadInlineQmdData + 4 * compute::kInlineQmdWords;
  if (!is_qmd && address != compute::kLoadInlineData) return false;
  const std::uint32_t index = (address - compute::kLoadInlineQmdData) / 4;
  if (run.empty()) run_index = is_qmd ? index : 0;
  run.push_back(data);
  const bool ends = is_qmd && index + 1 == compute::kInlineQmdWords;
  if (last || ends) flush_run(sub, is_qmd ? "LOAD_INLINE_QMD_DATA" : "LOAD_INLINE_DATA", is_qmd);
  return true;
}

void PushbufferDecoder::State::method(std::uint32_t subchannel, std::uint32_t address,
                                      std::uint32_t data, bool last) {
  Subchannel& sub = subchannels[subchannel];
  if (address == host::kSetObject) return set_object(subchannel, data);
  if (address < kFirstEngineMethod)
    return engine_line(channel_class, host_values, address, data, subchannel);
  if (inline_data(sub, address, data, last)) return;
  engine_line(sub.class_id, sub.values, address, data, subchannel);
}

/// Decodes the header at `at` with its words; returns where the next one is.
std::size_t PushbufferDecoder::State::header(Words segment, std::size_t at) {
  const std::uint32_t word = segment[at];
  const Header head = read_header(word);
  const std::uint32_t opcode = word >> 29;
  const bool is_new_form = opcode == 1 || opcode == 3 || opcode == 4 || opcode == 5;
  if (is_new_form && word >> 12 & 1) add("HEADER").add_hex("unk", word);
  if (head.immediate) {
    method(head.subchannel, head.address, head.data, true);
    return at + 1;
  }
  const std::size_t left = segment.size() - at - 1;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(head.count, left));
  if (head.count == 0) {
    const std::uint32_t tert = word >> 16 & 3;
    constexpr const char* kMaskOps[] = {"NOP", "SET_SUBDEVICE_MASK", "STORE_SUBDEVICE_MASK",
                                        "USE_SUBDEVICE_MASK"};
    add(opcode == 0 ? kMaskOps[tert] : opcode == 6 ? "RESERVED6" : "NOP").add_hex("header", word);
  }
  std::uint32_t address = head.address;
  for (std::uint32_t k = 0; k < count; ++k) {
    method(head.subchannel, address, segment[at + 1 + k], k + 1 == count);
    if (head.step == Header::Step::kEach || (head.step == Header::Step::kOnce && k == 0))
      address += 4;
  }
  if (count < head.count) {
    Line& line = add("TRUNCATED");
    line.add_hex("header", word);
    line.add("missing_words", fmt::format("{}", head.count - count));
  }
  return at + 1 + count;
}

void PushbufferDecoder::State::decode(Words segment) {
  for (std::size_t at = 0; at < segment.size();) {
    std::size_t end = at;
    while (end < segment.size() && segment[end] == 0) ++end;
    if (end > at) {
      add("NOP").add("words", fmt::format("{}", end - at));
      at = end;
      continue;
    }
    if (segment[at] >> 29 == kEndSegment) {
      Line& line = add("END_PB_SEGMENT");
      if (segment[at] << 3) line.add_hex("unk", segment[at]);
      if (at + 1 < segment.size())
        line.add("unread_words", fmt::format("{}", segment.size() - at - 1));
      return;
    }
    at = header(segment, at);
  }
}

PushbufferDecoder::PushbufferDecoder(std::uint32_t channel_class)
    : state_(std::make_unique<State>()) {
  state_->channel_class = channel_class;
}
PushbufferDecoder::~PushbufferDecoder() = default;
PushbufferDecoder::PushbufferDecoder(PushbufferDecoder&&) noexcept = default;
PushbufferDecoder& PushbufferDecoder::operator=(PushbufferDecoder&&) noexcept = default;

void PushbufferDecoder::bind(std::uint32_t subchannel, std::uint32_t class_id) {
  State::Subchannel& sub = state_->subchannels[subchannel % kSubchannels];
  sub = {};
  sub.class_id = class_id;
}

std::vector<Line> PushbufferDecoder::decode(Words segment, const Symbols& symbols) {
  std::vector<Line> lines;
  state_->symbols = &symbols;
  state_->lines = &lines;
  state_->run.clear();
  state_->decode(segment);
  state_->symbols = nullptr;
  state_->lines = nullptr;
  return lines;
}

namespace {

/// Entry words without a length are control entries (cl*6f.h, GP_ENTRY1_OPCODE).
void add_control_entry(Line& line, std::uint32_t low, std::uint32_t high,
                       std::uint64_t& extended_base) {
  constexpr std::uint32_t kSetExtendedBase = 4;
  constexpr const char* kOpcodes[] = {"NOP", "ILLEGAL", "GP_CRC", "PB_CRC",
                                      "SET_PB_SEGMENT_EXTENDED_BASE"};
  const std::uint32_t opcode = high & 0xff;
  line.add("OPCODE", opcode < std::size(kOpcodes) ? kOpcodes[opcode] : number_text(opcode));
  if (opcode == kSetExtendedBase) {
    extended_base = low >> 8 & 0x1ffff;
    line.add_hex("base", extended_base << 40);
    if (low & 0xfe0000ff) line.add_hex("unk", low);
  } else if (low) {
    line.add_hex("OPERAND", low);
  }
  if (high >> 8) line.add_hex("unk_high", high);
}

void add_segment_entry(Line& line, std::uint32_t low, std::uint32_t high,
                       std::uint64_t extended_base, const Symbols& symbols) {
  const std::uint64_t address =
      extended_base << 40 | std::uint64_t{high & 0xff} << 32 | (low & ~3u);
  line.add("address", symbols.address(address));
  line.add("length_dw", fmt::format("{}", high >> 10 & 0x1fffff));
  line.add("LEVEL", high >> 9 & 1 ? "SUBROUTINE" : "MAIN");
  if (low & 1) line.add("FETCH", "CONDITIONAL");
  if (high >> 8 & 1) line.add("PRIV", "KERNEL");
  if (high >> 31) line.add("SYNC", "WAIT");
  if (low & 2) line.add("unk", "2");
}

}  // namespace

std::vector<Line> decode_gpfifo(Words entries, const Symbols& symbols) {
  std::vector<Line> lines;
  std::uint64_t extended_base = 0;
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    const std::uint32_t low = entries[i], high = entries[i + 1];
    Line& line = lines.emplace_back();
    line.name = "GP_ENTRY";
    if (high >> 10 & 0x1fffff)
      add_segment_entry(line, low, high, extended_base, symbols);
    else
      add_control_entry(line, low, high, extended_base);
  }
  if (entries.size() % 2) {
    lines.emplace_back().name = "GP_ENTRY";
    lines.back().add_hex("truncated", entries.back());
  }
  return lines;
}

}  // namespace tiny::decode
