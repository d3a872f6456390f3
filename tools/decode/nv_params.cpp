// SPDX-License-Identifier: MIT
#include "tools/decode/nv_params.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace tiny::decode::nv {
namespace {

/// From this number of members on, a structure's zero members are left out.
constexpr std::size_t kManyMembers = 13;
/// Elements of a list on one field.
constexpr std::uint32_t kListPart = 32;
/// Elements of a list that are printed at all.
constexpr std::uint32_t kMaxElements = 4096;

/// Symbols that carry the context to the text of a member.
class ContextSymbols final : public Symbols {
 public:
  explicit ContextSymbols(const Context& context) : context(context) {}
  std::string address(std::uint64_t va) const override { return context.symbols.address(va); }
  const Context& context;
};

/// `data.AllocSize.attr` → `attr`, `grInfoList[3]` → `grInfoList`.
std::string_view last_part(std::string_view member) {
  if (const std::size_t dot = member.rfind('.'); dot != member.npos) member.remove_prefix(dot + 1);
  return member.substr(0, member.find('['));
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// The kind of a member: what is bound to its name, else what the name's form says.
std::string_view kind_of(std::string_view structure, std::string_view member,
                         std::uint32_t each_B) {
  const std::string_view part = last_part(member);
  if (const std::string_view bound = binding(structure, part); !bound.empty()) return bound;
  if (part.size() < 2) return {};
  if (each_B == 4 && part[0] == 'h' && is_upper(part[1])) return "@handle";
  if (each_B == 8 && part[0] == 'p' && is_upper(part[1])) return "@address";
  if (each_B == 8 && (part.ends_with("List") || part.ends_with("Tbl"))) return "@address";
  return {};
}

std::string handle_of(std::string_view member, std::uint32_t handle, const Context& context) {
  const std::string_view part = last_part(member);
  if (part.starts_with("hClient") || part == "hRoot")
    return context.state.handle_text(handle, handle);
  const bool source = part.ends_with("Src") && context.source_client;
  return context.state.handle_text(source ? context.source_client : context.client, handle);
}

std::string kind_text(std::string_view kind, std::string_view member, std::uint64_t value,
                      const Context& context) {
  const std::string_view branch = context.state.branch();
  if (kind == "@handle") return handle_of(member, static_cast<std::uint32_t>(value), context);
  if (kind == "@class") return name_text("class", value, branch);
  if (kind == "@status") return name_text("status", value, branch);
  if (kind == "@address") return value ? context.symbols.address(value) : "0";
  if (kind == "@int") return fmt::format("{}", static_cast<std::int32_t>(value));
  const Vocabulary* known = vocabulary(kind);
  return known ? known->text(value) : std::string();
}

std::string member_text(const StructLayout& layout, const Member& member, std::uint64_t value,
                        const Symbols& symbols) {
  const Context& context = static_cast<const ContextSymbols&>(symbols).context;
  const std::string_view part = last_part(member.name);
  for (const std::string_view hidden : context.hidden)
    if (part == hidden) return std::string(kOmit);
  const std::uint32_t each_B = member.size_B / std::max(1u, member.elements);
  const std::string_view kind = kind_of(layout.name, member.name, each_B);
  return kind.empty() ? std::string() : kind_text(kind, member.name, value, context);
}

Bytes part_of(Bytes bytes, std::size_t offset, std::size_t size) {
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min(size, bytes.size() - offset));
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::uint64_t number_at(Bytes bytes, std::size_t offset, std::size_t size_B) {
  std::uint64_t value = 0;
  const Bytes part = part_of(bytes, offset, std::min<std::size_t>(size_B, sizeof value));
  if (!part.empty()) std::memcpy(&value, part.data(), part.size());
  return value;
}

/// How many elements of list `head` are in use, by the member that counts them; 0 where none does.
std::uint64_t used_elements(const StructLayout& layout, std::string_view head, Bytes bytes) {
  for (const Member& member : layout.members) {
    const bool counts = (member.name.starts_with(head) && member.name.ends_with("Size")) ||
                        (head == "perGpuAttributes" && member.name == "gpuAttributesCount");
    if (counts && member.elements == 1) return number_at(bytes, member.offset_B, member.size_B);
  }
  return 0;
}

/// The text of an (index, data) list: `{SM_VERSION:0x900,…}`, with data as it is after the call.
std::string info_text(const Vocabulary* vocabulary, Bytes elements, std::uint64_t count) {
  std::string out = "{";
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t index = read_at<std::uint32_t>(elements, i * 8);
    const std::uint32_t data = read_at<std::uint32_t>(elements, i * 8 + 4);
    out +=
        fmt::format("{}{}:{}", i ? "," : "",
                    vocabulary ? vocabulary->text(index) : number_text(index), number_text(data));
  }
  return out + "}";
}

/// Rewrites a layout for the bytes at hand: elements of arrays of structures one by one, long lists
/// in parts and without their zero tail, zero members of large structures left out. Bytes that no
/// member covers then are zero, or shown raw by add_members.
class Expansion {
 public:
  Expansion(const StructLayout& layout, Bytes before, Bytes after)
      : from_(layout), before_(before), after_(after) {
    out_.name = layout.name;
    out_.size_B = layout.size_B;
    many_ = std::count_if(layout.members.begin(), layout.members.end(), [](const Member& m) {
              return m.name.find("[0].") == m.name.npos;
            }) >= static_cast<std::ptrdiff_t>(kManyMembers);
    choose_union();
    for (std::size_t i = 0; i < from_.members.size(); i = next_) add(i);
  }
  const StructLayout& layout() const { return out_; }
  /// (index, data) lists: name and text; their bytes are covered by no member.
  const std::vector<std::pair<std::string_view, std::string>>& infos() const { return infos_; }
  /// Ranges to blank, as they are printed otherwise or hold nothing.
  const std::vector<std::pair<std::size_t, std::size_t>>& blanks() const { return blanks_; }

 private:
  /// NVOS32 holds one variant of its union, by function.
  void choose_union() {
    if (from_.name != "NVOS32_PARAMETERS") return;
    constexpr std::pair<std::uint32_t, std::string_view> kVariants[] = {
        {0x2, "AllocSize"},      {0x3, "Free"},
        {0x5, "Info"},           {0x6, "AllocTiledPitchHeight"},
        {0xe, "AllocSizeRange"}, {0xf, "ReacquireCompr"},
        {0x10, "ReleaseCompr"},  {0x12, "AllocHintAlignment"},
        {0x13, "HwAlloc"},       {0x14, "HwFree"},
        {0x1b, "AllocOsDesc"}};
    const std::uint32_t function = read_at<std::uint32_t>(before_.empty() ? after_ : before_, 8);
    variant_ = "data.?";
    for (const auto& [number, name] : kVariants)
      if (number == function) variant_ = fmt::format("data.{}.", name);
  }
  bool other_variant(std::string_view name) const {
    return !variant_.empty() && name.starts_with("data.") && !name.starts_with(variant_);
  }

  bool zero(std::size_t offset, std::size_t size_B) const {
    return all_zero(part_of(before_, offset, size_B)) && all_zero(part_of(after_, offset, size_B));
  }

  void add(std::size_t i) {
    next_ = i + 1;
    const Member& member = from_.members[i];
    if (other_variant(member.name)) return;
    const std::string prefix = fmt::format("{}[0].", member.name);
    std::size_t end = i + 1;
    while (end < from_.members.size() && from_.members[end].name.starts_with(prefix)) ++end;
    if (end > i + 1) {
      next_ = end;
      return add_structs(member, i + 1, end);
    }
    if (member.elements > kListPart) return add_list(member);
    const bool is_status = binding(from_.name, last_part(member.name)) == "@status";
    if (!many_ || is_status || !zero(member.offset_B, member.size_B))
      out_.members.push_back(member);
  }

  void add_structs(const Member& head, std::size_t first, std::size_t last) {
    const std::uint32_t each_B = head.size_B / std::max(1u, head.elements);
    const Bytes bytes = after_.empty() ? before_ : after_;
    const std::uint64_t used = used_elements(from_, head.name, bytes);
    if (last - first == 2 && from_.members[first].name.ends_with("].index") && each_B == 8)
      return add_info(head, bytes, used);
    const bool counted = head.name == "perGpuAttributes";
    for (std::uint32_t e = 0; e < head.elements; ++e) {
      const std::size_t offset = head.offset_B + std::size_t{e} * each_B;
      if (counted && e >= used) {
        blanks_.emplace_back(offset, head.offset_B + std::size_t{head.size_B});
        return;
      }
      if (zero(offset, each_B)) continue;
      for (std::size_t m = first; m < last; ++m) add_element(head, from_.members[m], e, each_B);
    }
  }

  void add_element(const Member& head, const Member& inner, std::uint32_t e, std::uint32_t each_B) {
    Member member = inner;
    member.offset_B += e * each_B;
    if (zero(member.offset_B, member.size_B)) return;
    const std::string_view rest = inner.name.substr(head.name.size() + 3);
    member.name = names_.emplace_back(fmt::format("{}[{}]{}", head.name, e, rest));
    out_.members.push_back(member);
  }

  void add_info(const Member& head, Bytes bytes, std::uint64_t used) {
    const Bytes elements = part_of(bytes, head.offset_B, head.size_B);
    std::uint64_t count = std::min<std::uint64_t>(used, elements.size() / 8);
    for (std::uint64_t i = count; i < elements.size() / 8; ++i)
      if (read_at<std::uint64_t>(elements, i * 8)) count = i + 1;
    infos_.emplace_back(head.name, info_text(list_vocabulary(from_.name), elements, count));
    blanks_.emplace_back(head.offset_B, head.offset_B + std::size_t{head.size_B});
  }

  void add_list(const Member& member) {
    const std::uint32_t each_B = member.size_B / member.elements;
    if (each_B <= 1) {
      if (!zero(member.offset_B, member.size_B)) out_.members.push_back(member);
      return;
    }
    std::uint32_t count = member.elements;
    while (count && zero(member.offset_B + std::size_t{count - 1} * each_B, each_B)) --count;
    for (std::uint32_t first = 0; first < count; first += kListPart) {
      Member part = member;
      part.elements = std::min(kListPart, count - first);
      part.offset_B += first * each_B;
      part.size_B = part.elements * each_B;
      part.name =
          names_.emplace_back(count <= kListPart ? std::string(member.name)
                                                 : fmt::format("{}[{}..{}]", member.name, first,
                                                               first + part.elements - 1));
      out_.members.push_back(part);
    }
  }

  const StructLayout& from_;
  const Bytes before_, after_;
  StructLayout out_;
  std::deque<std::string> names_;
  std::vector<std::pair<std::string_view, std::string>> infos_;
  std::vector<std::pair<std::size_t, std::size_t>> blanks_;
  std::string variant_;
  std::size_t next_ = 0;
  bool many_ = false;
};

/// A copy whose status codes are those after the call and whose blanked ranges are zero.
std::vector<std::byte> settled(Bytes bytes, Bytes after, const Expansion& expansion) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  for (const Member& member : expansion.layout().members) {
    const std::size_t end = member.offset_B + std::size_t{member.size_B};
    if (end > copy.size() || end > after.size() || member.size_B != 4) continue;
    if (binding(expansion.layout().name, last_part(member.name)) == "@status")
      std::copy_n(after.begin() + member.offset_B, member.size_B, copy.begin() + member.offset_B);
  }
  for (const auto& [from, to] : expansion.blanks())
    for (std::size_t i = from; i < std::min(to, copy.size()); ++i) copy[i] = std::byte{0};
  return copy;
}

std::string element_text(ElementKind kind, std::uint32_t value, const Context& context) {
  switch (kind) {
    case ElementKind::kClass:
      return kind_text("@class", "", value, context);
    case ElementKind::kEngine:
      return kind_text("NV2080_ENGINE_TYPE", "", value, context);
    case ElementKind::kHandle:
      return context.state.handle_text(context.client, value);
    default:
      return number_text(value);
  }
}

std::string text_of(Bytes bytes) {
  std::string out = "\"";
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == 0) break;
    out += c >= 0x20 && c <= 0x7e && c != '"' ? c : '?';
  }
  return out + "\"";
}

std::string list_text(const NestedList& list, const Vocabulary* infos, Bytes bytes,
                      std::uint64_t count, const Context& context) {
  count = std::min<std::uint64_t>({count, bytes.size() / list.element_B, kMaxElements});
  bytes = bytes.first(static_cast<std::size_t>(count * list.element_B));
  if (list.kind == ElementKind::kInfo) return info_text(infos, bytes, count);
  if (list.kind == ElementKind::kByte) return hex_bytes(bytes, 256);
  if (list.kind == ElementKind::kText) return text_of(bytes);
  std::string out = "{";
  for (std::uint64_t i = 0; i < count; ++i)
    out += (i ? "," : "") +
           element_text(list.kind, read_at<std::uint32_t>(bytes, i * list.element_B), context);
  return out + "}";
}

std::string_view member_at(const StructLayout* layout, std::uint32_t offset_B) {
  if (layout)
    for (const Member& member : layout->members)
      if (member.offset_B == offset_B) return last_part(member.name);
  return "list";
}

const Vocabulary* info_vocabulary(std::uint32_t cmd) {
  const Name* name = find_name("control", cmd);
  return name ? list_vocabulary(fmt::format("{}_", name->name)) : nullptr;
}

}  // namespace

const StructLayout* find_layout(std::string_view structure, std::size_t size_B,
                                const NvState& state) {
  const StructLayout* own = structs().find(structure, state.branch());
  if (!own || size_B == 0 || own->size_B == size_B) return own;
  const StructLayout* sized = structs().find_size(structure, size_B);
  return sized && sized->size_B == size_B ? sized : own;
}

void add_struct(Line& line, const StructLayout& layout, Bytes before, Bytes after,
                const Context& context) {
  const Expansion expansion(layout, before, after);
  const std::vector<std::byte> first = settled(before, after, expansion);
  const std::vector<std::byte> second = settled(after, after, expansion);
  const ContextSymbols symbols(context);
  add_members(line, expansion.layout(), first, second, symbols, member_text);
  for (const auto& [name, text] : expansion.infos()) line.add(name, text);
}

void add_raw(Line& line, std::string_view name, Bytes before, Bytes after) {
  const bool changed = !before.empty() && !after.empty() &&
                       !std::equal(before.begin(), before.end(), after.begin(), after.end());
  std::string text = hex_bytes(before.empty() ? after : before, 256);
  if (changed) text += "->" + hex_bytes(after, 256);
  if (!text.empty()) line.add(name, std::move(text));
}

void add_nested(Line& line, std::uint32_t cmd, const StructLayout* layout, Bytes before,
                Bytes after, const IoctlCall& call, const Context& context) {
  const Bytes params = after.empty() ? before : after;
  for (const NestedList& list : nested_lists()) {
    if (list.cmd != cmd) continue;
    const Attachment* target = call.at(read_at<std::uint64_t>(params, list.pointer_B));
    if (!target) continue;
    const Bytes bytes = target->after.empty() ? target->before : target->after;
    if (bytes.empty()) continue;
    const std::uint32_t count = read_at<std::uint32_t>(params, list.count_B);
    line.add(member_at(layout, list.pointer_B),
             list_text(list, info_vocabulary(cmd), bytes, count, context));
  }
}

}  // namespace tiny::decode::nv
