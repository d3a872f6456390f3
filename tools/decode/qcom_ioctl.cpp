// SPDX-License-Identifier: MIT
#include "tools/decode/qcom.h"
#include "tools/decode/qcom_nested.h"
#include "tools/decode/table.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace tiny::decode {
namespace {

using qcom::NestedTable;
using qcom::Number;
using qcom::Target;

/// Elements of a list that are printed; the rest is counted.
constexpr std::uint64_t kShownElements = 64;
/// Lists of numbers: as many as the core prints of an array.
constexpr std::uint64_t kShownNumbers = 32;
/// Fields of one call.
constexpr std::size_t kShownFields = 4096;

struct Value {
  std::string_view name;
  std::uint64_t value = 0;            ///< of a flag or of an enumeration
  std::uint32_t hi = 0, lo = 0;       ///< of a bit range
  std::string_view enumeration = {};  ///< that names a bit range's values
  bool is_range = false;
};
struct ValueSet {
  bool is_flags = false;
  std::vector<Value> values;
};

/// The named values of one interface, and which member uses which.
class Values {
 public:
  explicit Values(std::string_view table) {
    for (const Row& row : rows(table)) add(row);
  }

  std::string text(std::string_view structure, const Member& member, std::uint64_t value,
                   const Symbols& symbols) const {
    const auto use = uses_.find({structure, member.name});
    if (use == uses_.end()) return {};
    const std::string_view set = use->second;
    if (set == "address") return value == 0 ? "0" : symbols.address(value);
    if (set == "hex") return fmt::format("{:#x}", value);
    if (set == "decimal") return fmt::format("{}", value);
    if (set == "signed")
      return fmt::format("{}", member.size_B / member.elements == 4
                                   ? static_cast<std::int32_t>(value)
                                   : static_cast<std::int64_t>(value));
    return text(set, value);
  }

 private:
  void add(const Row& row) {
    if (row[0] == "use") {
      uses_[{row[1], row[2]}] = row[3];
      return;
    }
    ValueSet& set = sets_[row[1]];
    set.is_flags |= row[0] != "enum";
    if (row[0] == "bits")
      set.values.push_back({row[2], 0, static_cast<std::uint32_t>(row.number(3)),
                            static_cast<std::uint32_t>(row.number(4)), row[5], true});
    else
      set.values.push_back({row[2], row.number(3)});
  }

  std::string text(std::string_view name, std::uint64_t value) const {
    const auto set = sets_.find(name);
    if (set == sets_.end()) return {};
    if (set->second.is_flags) return flags_text(set->second, value);
    for (const Value& known : set->second.values)
      if (known.value == value) return std::string(known.name);
    return {};
  }

  std::string flags_text(const ValueSet& set, std::uint64_t value) const {
    std::string out;
    std::uint64_t rest = value;
    for (const Value& known : set.values) {
      const std::uint64_t mask =
          known.is_range ? ((std::uint64_t{1} << (known.hi - known.lo + 1)) - 1) << known.lo
                         : known.value;
      if ((value & mask) == 0) continue;
      out += (out.empty() ? "" : "|") + std::string(known.name);
      if (known.is_range) out += "(" + range_text(known, (value & mask) >> known.lo) + ")";
      rest &= ~mask;
    }
    if (out.empty()) return number_text(value);
    return rest == 0 ? out : out + fmt::format("|{:#x}", rest);
  }

  std::string range_text(const Value& range, std::uint64_t value) const {
    const std::string named =
        range.enumeration.empty() ? std::string() : text(range.enumeration, value);
    return named.empty() ? number_text(value) : named;
  }

  std::map<std::string_view, ValueSet> sets_;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> uses_;
};

struct Call {
  std::string_view name, structure;
};

/// Everything that the tables say about one kind of device.
struct Interface {
  std::string_view prefix;
  const NestedTable& nested;
  MemberText member_text;
  StructTable structs;
  Values values;
  std::map<std::uint8_t, Call> calls;

  Interface(std::string_view prefix_, const NestedTable& nested_, MemberText member_text_,
            const std::string& table)
      : prefix(prefix_),
        nested(nested_),
        member_text(member_text_),
        structs(embedded_table(table + "_structs")),
        values(embedded_table(table + "_values")) {
    for (const Row& row : rows(embedded_table(table + "_calls")))
      calls[static_cast<std::uint8_t>(row.number(0))] = {row[1], row[2]};
  }
};

const Interface& kgsl();
const Interface& msm();

std::string kgsl_text(const StructLayout& layout, const Member& member, std::uint64_t value,
                      const Symbols& symbols) {
  return kgsl().values.text(layout.name, member, value, symbols);
}

std::string msm_text(const StructLayout& layout, const Member& member, std::uint64_t value,
                     const Symbols& symbols) {
  return msm().values.text(layout.name, member, value, symbols);
}

const Interface& kgsl() {
  static const Interface interface("IOCTL_KGSL_", qcom::kKgslNested, kgsl_text, "kgsl");
  return interface;
}

const Interface& msm() {
  static const Interface interface("DRM_IOCTL_", qcom::kMsmNested, msm_text, "msm");
  return interface;
}

Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

/// `"msm"`, or bytes where it is no text.
std::string text_of(Bytes bytes) {
  std::string out = "\"";
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == 0) break;
    if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') return hex_bytes(bytes);
    out += c;
  }
  return out + "\"";
}

std::string numbers_text(Bytes bytes, std::uint64_t count, std::uint16_t size) {
  std::string out = "[";
  const std::uint64_t shown = std::min({count, kShownNumbers, bytes.size() / size});
  for (std::uint64_t i = 0; i < shown; ++i)
    out += (i ? "," : "") +
           number_text(qcom::read_number(part(bytes, i * size, size), Number{0, size}));
  if (shown < count) out += fmt::format("{}…+{}", shown ? "," : "", count - shown);
  return out + "]";
}

std::string plain_text(const Target& target, Bytes bytes) {
  const std::string_view kind = target.rule->element;
  if (kind == "u32") return numbers_text(bytes, target.count, 4);
  if (kind == "u64") return numbers_text(bytes, target.count, 8);
  return kind == "text" ? text_of(bytes) : hex_bytes(bytes);
}

/// A structure found behind a pointer, and the path to it.
struct Object {
  std::string path;
  std::string_view structure;
  Bytes before, after;
};

/// Prints the objects a call points to, owners before what they own.
class NestedPrinter {
 public:
  NestedPrinter(const Interface& interface, const IoctlCall& call, const Symbols& symbols,
                Line& line)
      : interface_(interface), call_(call), symbols_(symbols), line_(line) {}

  void print(std::string_view structure) {
    push_targets({"", structure, call_.before, call_.after});
    while (!stack_.empty() && line_.fields.size() < kShownFields) {
      const Object object = std::move(stack_.back());
      stack_.pop_back();
      print_object(object);
      push_targets(object);
    }
  }

 private:
  void print_object(const Object& object) {
    const Bytes bytes = object.before.empty() ? object.after : object.before;
    const StructLayout* layout = interface_.structs.find_size(object.structure, bytes.size());
    if (!layout) return;
    Line members;
    if (object.structure == "kgsl_reset_stat")
      add_reset_stat(members, object);
    else
      add_members(members, *layout, object.before, object.after, symbols_, interface_.member_text);
    for (Field& field : members.fields)
      line_.add(object.path + "." + field.name, std::move(field.text));
  }

  /// In: the context asked about. Out, in the same place: its state.
  void add_reset_stat(Line& members, const Object& object) {
    if (object.before.size() >= 4)
      members.add("context_id", number_text(qcom::read_number(object.before, {0, 4})));
    const StructLayout* layout = interface_.structs.find("kgsl_reset_stat");
    if (layout && call_.result >= 0 && object.after.size() >= 4)
      add_members(members, *layout, object.after, {}, symbols_, interface_.member_text);
  }

  /// Plain values are printed at once, structures wait on the stack: the first one on top.
  void push_targets(const Object& object) {
    const Bytes bytes = object.before.empty() ? object.after : object.before;
    const std::size_t bottom = stack_.size();
    for (const Target& target : qcom::targets(interface_.nested, object.structure, bytes))
      push_target(object, target);
    std::reverse(stack_.begin() + static_cast<std::ptrdiff_t>(bottom), stack_.end());
  }

  void push_target(const Object& owner, const Target& target) {
    const Attachment* attachment = call_.at(target.address);
    if (!attachment || (attachment->before.empty() && attachment->after.empty())) return;
    const std::string path =
        (owner.path.empty() ? "" : owner.path + ".") + std::string(target.rule->member);
    if (!interface_.structs.find(target.rule->element)) {
      line_.add(path + "[]",
                change(plain(target, attachment->before), plain(target, attachment->after)));
      return;
    }
    push_elements(path, target, *attachment);
  }

  std::string plain(const Target& target, Bytes bytes) const {
    return bytes.empty() ? std::string() : plain_text(target, part(bytes, 0, size_B(target)));
  }

  static std::string change(const std::string& before, const std::string& after) {
    if (before.empty() || after.empty() || before == after) return before.empty() ? after : before;
    return before + "->" + after;
  }

  void push_elements(const std::string& path, const Target& target, const Attachment& attachment) {
    if (target.stride_B == 0) return;
    const bool single = target.rule->count.size_B == 0;
    const std::uint64_t shown = std::min(target.count, kShownElements);
    for (std::uint64_t i = 0; i < shown; ++i) {
      const std::uint64_t offset = i * target.stride_B;
      const Bytes before = part(attachment.before, offset, target.stride_B);
      const Bytes after = part(attachment.after, offset, target.stride_B);
      if (before.empty() && after.empty()) break;
      stack_.push_back(
          {single ? path : fmt::format("{}[{}]", path, i), target.rule->element, before, after});
    }
    if (shown < target.count) line_.add(path + "[…]", fmt::format("+{}", target.count - shown));
  }

  const Interface& interface_;
  const IoctlCall& call_;
  const Symbols& symbols_;
  Line& line_;
  std::vector<Object> stack_;
};

void add_raw(Line& line, const IoctlCall& call) {
  line.add_hex("request", call.request);
  if (!call.before.empty() || !call.after.empty()) {
    std::string text = hex_bytes(call.before.empty() ? call.after : call.before);
    if (!call.before.empty() && !call.after.empty() &&
        !std::equal(call.before.begin(), call.before.end(), call.after.begin(), call.after.end()))
      text += "->" + hex_bytes(call.after);
    line.add("argument", std::move(text));
  }
}

Line unknown_call(const Interface& interface, const IoctlCall& call) {
  const bool ours = ioc_type(call.request) == interface.nested.magic;
  Line line;
  line.name = ours ? fmt::format("{}{:#04x}", interface.prefix, ioc_nr(call.request))
                   : ioc_text(call.request);
  add_raw(line, call);
  return line;
}

/// Where the caller's structure is not the newest one we know.
void add_size(Line& line, std::size_t size_B, const StructLayout& newest) {
  if (size_B != newest.size_B) line.add("argument_B", fmt::format("{}", size_B));
}

Line decode(const Interface& interface, const IoctlCall& call, const Symbols& symbols) {
  const auto known = interface.calls.find(static_cast<std::uint8_t>(ioc_nr(call.request)));
  if (ioc_type(call.request) != interface.nested.magic || known == interface.calls.end())
    return unknown_call(interface, call);
  Line line;
  line.name = fmt::format("{}{}", interface.prefix, known->second.name);
  const std::size_t size_B = ioc_size_B(call.request);
  std::string_view structure = known->second.structure;
  if (const auto root = qcom::root_structure(interface.nested, call.request, call.before);
      !root.empty())
    structure = root;
  const StructLayout* layout = interface.structs.find_size(structure, size_B);
  if (!layout) {  // a call without an argument
    if (!call.before.empty() || !call.after.empty() || size_B != 0) add_raw(line, call);
    return line;
  }
  add_size(line, size_B, *interface.structs.find_size(structure, SIZE_MAX));
  add_members(line, *layout, call.before, call.after, symbols, interface.member_text);
  NestedPrinter(interface, call, symbols, line).print(structure);
  return line;
}

void replace(Line& line, std::string_view name, std::string text) {
  for (Field& field : line.fields)
    if (field.name == name) field.text = std::move(text);
}

/// The value of GEM_INFO is an address of the GPU, of the caller, or an offset for mmap.
void name_gem_info_value(Line& line, const IoctlCall& call, const Symbols& symbols) {
  constexpr Number kInfo{4, 4}, kValue{8, 8};
  const std::uint64_t info = qcom::read_number(call.before, kInfo);
  if (info == 0 || info == 5 || call.before.size() < 16) return;  // GET_OFFSET, GET_FLAGS
  const std::uint64_t before = qcom::read_number(call.before, kValue);
  std::string text = before == 0 ? "0" : symbols.address(before);
  if (const std::uint64_t after = qcom::read_number(call.after, kValue);
      call.after.size() >= 16 && after != before)
    text += "->" + symbols.address(after);
  replace(line, "value", std::move(text));
}

bool is_call(std::uint32_t request, std::uint8_t magic, std::uint8_t nr) {
  return ioc_type(request) == magic && ioc_nr(request) == nr;
}

/// The elements of one list that a call's argument points to.
template <typename Use>
void for_each_element(const NestedTable& table, std::uint32_t request, Bytes argument,
                      std::span<const Attachment> attachments, std::string_view member, Use use) {
  const std::string_view root = qcom::root_structure(table, request, argument);
  for (const Target& target : qcom::targets(table, root, argument)) {
    if (target.rule->member != member || target.stride_B == 0) continue;
    const Bytes list = qcom::attached(attachments, target.address);
    for (std::uint64_t i = 0; i < target.count && i < kFollowLimit_B; ++i) {
      const Bytes element = part(list, i * target.stride_B, target.stride_B);
      if (element.size() < target.stride_B) break;
      use(element);
    }
  }
}

}  // namespace

Line decode_kgsl_ioctl(const IoctlCall& call, const Symbols& symbols) {
  return decode(kgsl(), call, symbols);
}

Line decode_msm_ioctl(const IoctlCall& call, const Symbols& symbols) {
  Line line = decode(msm(), call, symbols);
  if (is_call(call.request, 'd', 0x43)) name_gem_info_value(line, call, symbols);
  return line;
}

std::vector<CommandBuffer> kgsl_command_buffers(std::uint32_t request, Bytes argument,
                                                std::span<const Attachment> attachments) {
  std::vector<CommandBuffer> found;
  const auto add_object = [&](Bytes object) {  // kgsl_command_object
    constexpr Number kAddress{8, 8}, kSize{16, 8}, kFlags{24, 4};
    if (qcom::read_number(object, kFlags) & 7)  // IB, CTXTSWITCH_PREAMBLE, IB_PREAMBLE
      found.push_back(
          {qcom::read_number(object, kAddress), 0, 0, qcom::read_number(object, kSize)});
  };
  const auto add_ibdesc = [&](Bytes ibdesc) {
    constexpr Number kAddress{0, 8}, kSize_dw{16, 8}, kControl{24, 4};
    if (qcom::read_number(ibdesc, kControl) == 0)  // neither memory list nor profiling buffer
      found.push_back(
          {qcom::read_number(ibdesc, kAddress), 0, 0, qcom::read_number(ibdesc, kSize_dw) * 4});
  };
  const NestedTable& table = qcom::kKgslNested;
  if (is_call(request, 0x09, 0x4a) || is_call(request, 0x09, 0x5f))
    for_each_element(table, request, argument, attachments, "cmdlist", add_object);
  if (is_call(request, 0x09, 0x3d))
    for_each_element(table, request, argument, attachments, "cmdlist", add_ibdesc);
  if (is_call(request, 0x09, 0x10))
    for_each_element(table, request, argument, attachments, "ibdesc_addr", add_ibdesc);
  return found;
}

std::vector<CommandBuffer> msm_command_buffers(std::uint32_t request, Bytes argument,
                                               std::span<const Attachment> attachments) {
  std::vector<CommandBuffer> found;
  if (!is_call(request, 'd', 0x46)) return found;
  struct Bo {
    std::uint32_t handle;
    std::uint64_t presumed;
  };
  std::vector<Bo> bos;
  const NestedTable& table = qcom::kMsmNested;
  for_each_element(table, request, argument, attachments, "bos", [&](Bytes bo) {
    bos.push_back(
        {static_cast<std::uint32_t>(qcom::read_number(bo, {4, 4})), qcom::read_number(bo, {8, 8})});
  });
  for_each_element(table, request, argument, attachments, "cmds", [&](Bytes cmd) {
    const std::uint64_t index = qcom::read_number(cmd, {4, 4}),
                        offset = qcom::read_number(cmd, {8, 4}),
                        size = qcom::read_number(cmd, {12, 4}),
                        relocs = qcom::read_number(cmd, {20, 4}),
                        iova = qcom::read_number(cmd, {24, 8});
    if (bos.empty()) {  // with VM_BIND a command has an address, and there is no table of buffers
      if (relocs == 0) found.push_back({iova, 0, 0, size});
    } else if (index < bos.size()) {
      const Bo& bo = bos[index];
      found.push_back({bo.presumed ? bo.presumed + offset : 0, bo.handle, offset, size});
    }
  });
  return found;
}

}  // namespace tiny::decode
