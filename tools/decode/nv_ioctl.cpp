// SPDX-License-Identifier: MIT
#include "tools/decode/nv.h"

#include "tools/decode/nv_params.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace tiny::decode {
namespace {

using namespace nv;

constexpr std::uint32_t kRootClasses[] = {0x0, 0x1, 0x41};
constexpr std::uint32_t kMemoryLocalUser = 0x40;

/// The structure of an escape by number and size, `nullptr` where the argument is something else
/// (nv-unix-nvos-params-wrappers.h and nv-ioctl.h name them, nvos.h the NVOS ones).
struct EscapeFrame {
  std::uint32_t number;
  std::uint32_t size_B;  ///< 0: any
  const char* structure;
};
constexpr EscapeFrame kFrames[] = {
    {0x27, 48, "NVOS02_PARAMETERS"},
    {0x27, 0, "nv_ioctl_nvos02_parameters_with_fd"},
    {0x28, 0, "NVOS05_PARAMETERS"},
    {0x29, 0, "NVOS00_PARAMETERS"},
    {0x2a, 0, "NVOS54_PARAMETERS"},
    {0x2b, 32, "NVOS21_PARAMETERS"},
    {0x2b, 0, "NVOS64_PARAMETERS"},
    {0x34, 0, "NVOS55_PARAMETERS"},
    {0x35, 0, "NVOS57_PARAMETERS"},
    {0x41, 0, "NVOS30_PARAMETERS"},
    {0x4a, 0, "NVOS32_PARAMETERS"},
    {0x4e, 48, "NVOS33_PARAMETERS"},
    {0x4e, 0, "nv_ioctl_nvos33_parameters_with_fd"},
    {0x4f, 0, "NVOS34_PARAMETERS"},
    {0x54, 0, "NVOS39_PARAMETERS"},
    {0x57, 0, "NVOS46_PARAMETERS"},
    {0x58, 0, "NVOS47_PARAMETERS"},
    {0x59, 0, "NVOS49_PARAMETERS"},
    {0x5e, 0, "NVOS56_PARAMETERS"},
    {0xc9, 0, "nv_ioctl_register_fd_t"},
    {0xce, 0, "nv_ioctl_alloc_os_event_t"},
    {0xcf, 0, "nv_ioctl_free_os_event_t"},
    {0xd1, 0, "nv_ioctl_status_code_t"},
    {0xd2, 0, "nv_ioctl_rm_api_version_t"},
    {0xd3, 0, "nv_ioctl_xfer_t"},
    {0xd5, 0, "nv_ioctl_query_device_intr"},
    {0xd6, 0, "nv_ioctl_sys_params_t"},
    {0xd7, 0, "nv_ioctl_numa_info_t"},
    {0xd9, 0, "nv_ioctl_export_to_dma_buf_fd_t"},
    {0xda, 0, "nv_ioctl_wait_open_complete_t"},
};

const char* frame_structure(std::uint32_t number, std::uint32_t size_B) {
  for (const EscapeFrame& frame : kFrames)
    if (frame.number == number && (frame.size_B == 0 || frame.size_B == size_B))
      return frame.structure;
  return nullptr;
}

Bytes first_of(Bytes bytes, std::size_t size_B) {
  return bytes.first(std::min(bytes.size(), size_B));
}

/// One call with what several steps need.
struct Call {
  const IoctlCall& ioctl;
  NvState& state;
  const Symbols& symbols;
  std::uint32_t number = 0, size_B = 0;

  Bytes before() const { return ioctl.before; }
  /// What the call left; what it was given where that was not recorded.
  Bytes settled() const { return ioctl.after.empty() ? ioctl.before : ioctl.after; }
  std::uint32_t given(std::size_t offset) const {
    return read_at<std::uint32_t>(ioctl.before.empty() ? ioctl.after : ioctl.before, offset);
  }
  std::uint64_t given_pointer(std::size_t offset) const {
    return read_at<std::uint64_t>(ioctl.before.empty() ? ioctl.after : ioctl.before, offset);
  }
  std::uint32_t left(std::size_t offset) const { return read_at<std::uint32_t>(settled(), offset); }
  /// Whether the driver did it, by the status at this offset.
  bool succeeded(std::size_t status_offset) const {
    return ioctl.result == 0 && !ioctl.after.empty() &&
           ioctl.after.size() >= status_offset + sizeof(std::uint32_t) && left(status_offset) == 0;
  }
};

/// The frame's own members; `hidden` are printed by the caller.
void add_frame(Line& line, const Call& call, std::uint32_t client,
               std::vector<std::string_view> hidden = {}, std::uint32_t source_client = 0) {
  const char* name = frame_structure(call.number, call.size_B);
  const StructLayout* layout = name ? find_layout(name, call.size_B, call.state) : nullptr;
  const Bytes before = call.ioctl.before, after = call.ioctl.after;
  if (!layout) return add_raw(line, "data", before, after);
  if (before.empty() && after.empty()) return line.add("truncated", "all");
  add_struct(line, *layout, before, after,
             {call.state, call.symbols, client, source_client, std::move(hidden)});
}

void add_params(Line& line, std::string_view structure, std::size_t size_B, Bytes before,
                Bytes after, const Call& call, const Context& context) {
  const StructLayout* layout =
      structure.empty() ? nullptr : find_layout(structure, size_B, call.state);
  if (!layout) return add_raw(line, "params", before, after);
  const std::size_t end = size_B ? size_B : layout->size_B;
  if (size_B && size_B != layout->size_B)
    line.add("paramsSize", fmt::format("{}(not {})", size_B, layout->size_B));
  add_struct(line, *layout, first_of(before, end), first_of(after, end), context);
}

/// Pointers whose targets are printed instead.
std::vector<std::string_view> nested_members(std::uint32_t cmd, const StructLayout* layout,
                                             Bytes params, const IoctlCall& call) {
  std::vector<std::string_view> names;
  if (!layout) return names;
  for (const NestedList& list : nested_lists()) {
    if (list.cmd != cmd || !call.at(read_at<std::uint64_t>(params, list.pointer_B))) continue;
    for (const Member& member : layout->members)
      if (member.offset_B == list.pointer_B) names.push_back(member.name);
  }
  return names;
}

void decode_control(Line& line, const Call& call) {
  const std::uint32_t client = call.given(0), cmd = call.given(8), size_B = call.given(0x18);
  const std::uint64_t pointer = call.given_pointer(0x10);
  const Attachment* target = pointer ? call.ioctl.at(pointer) : nullptr;
  std::vector<std::string_view> hidden = {"cmd", "status", "paramsSize", "flags"};
  if (target) hidden.push_back("params");
  const Name* name = find_name("control", cmd, call.state.branch());
  add_frame(line, call, client, std::move(hidden));
  if (call.settled().size() >= 0xc) line.add("cmd", name_text("control", cmd, call.state.branch()));
  if (const std::uint32_t flags = call.given(0xc)) line.add_hex("flags", flags);
  if (call.settled().size() >= 0x20)
    line.add("status", name_text("status", call.left(0x1c), call.state.branch()));
  if (!target) {
    if (size_B) line.add("paramsSize", fmt::format("{}", size_B));
    return;
  }
  const std::string_view structure = name ? name->params : std::string_view();
  const Bytes before = target->before, after = target->after;
  const StructLayout* layout =
      structure.empty() ? nullptr : find_layout(structure, size_B, call.state);
  const Bytes params = after.empty() ? before : after;
  const Context context{call.state, call.symbols, client, 0,
                        nested_members(cmd, layout, params, call.ioctl)};
  if (size_B) add_params(line, structure, size_B, before, after, call, context);
  add_nested(line, cmd, layout, before, after, call.ioctl, context);
}

bool is_root(std::uint32_t class_id) {
  return std::find(std::begin(kRootClasses), std::end(kRootClasses), class_id) !=
         std::end(kRootClasses);
}

void remember_alloc(const Call& call, std::uint32_t class_id) {
  const std::uint32_t handle = call.left(8);
  if (is_root(class_id))
    call.state.add_object(handle, handle, 0, class_id);
  else
    call.state.add_object(call.given(0), handle, call.given(4), class_id);
}

void decode_alloc(Line& line, const Call& call) {
  const bool is_long = call.size_B >= 48;
  const AllocFrame frame =
      read_alloc(call.before().empty() ? call.settled() : call.before(), call.size_B);
  const Attachment* target = frame.params ? call.ioctl.at(frame.params) : nullptr;
  if (call.succeeded(is_long ? 0x28 : 0x1c)) remember_alloc(call, frame.class_id);
  std::vector<std::string_view> hidden = {"status", "paramsSize"};
  if (target) hidden.push_back("pAllocParms");
  if (is_long && call.given(0x24) == 0) hidden.push_back("flags");
  if (is_long && frame.rights == 0) hidden.push_back("pRightsRequested");
  const std::uint32_t client = is_root(frame.class_id) ? call.left(8) : call.given(0);
  add_frame(line, call, client, std::move(hidden));
  const std::size_t status = is_long ? 0x28 : 0x1c;
  if (call.settled().size() >= status + 4)
    line.add("status", name_text("status", call.left(status), call.state.branch()));
  if (!target) {
    if (frame.params_size_B) line.add("paramsSize", fmt::format("{}", frame.params_size_B));
    return;
  }
  const Name* name = find_name("class", frame.class_id, call.state.branch());
  const Context context{call.state, call.symbols, client, 0, {}};
  if (is_root(frame.class_id)) {
    line.add("params",
             fmt::format("{:#x}", read_at<std::uint32_t>(
                                      target->after.empty() ? target->before : target->after, 0)));
    return;
  }
  // RM takes the size from the class and ignores paramsSize, so a larger buffer is no news.
  const std::string_view structure = name ? name->params : std::string_view();
  const StructLayout* layout =
      structure.empty() ? nullptr : find_layout(structure, frame.params_size_B, call.state);
  if (!layout) return add_raw(line, "params", target->before, target->after);
  add_struct(line, *layout, first_of(target->before, layout->size_B),
             first_of(target->after, layout->size_B), context);
}

void decode_free(Line& line, const Call& call) {
  add_frame(line, call, call.given(0));
  if (call.succeeded(0xc)) call.state.remove_object(call.given(0), call.given(8));
}

void decode_dup(Line& line, const Call& call) {
  const std::uint32_t client = call.given(0), source = call.given(0xc);
  const auto class_id = call.state.object_class(source, call.given(0x10));
  if (call.succeeded(0x18) && class_id)
    call.state.add_object(client, call.left(8), call.given(4), *class_id);
  add_frame(line, call, client, {}, source);
}

void decode_alloc_memory(Line& line, const Call& call) {
  if (call.succeeded(0x28))
    call.state.add_object(call.given(0), call.left(8), call.given(4), call.given(0xc));
  add_frame(line, call, call.given(0));
}

void decode_heap(Line& line, const Call& call) {
  constexpr std::uint32_t kAllocSize = 2, kAllocSizeRange = 0xe, kFree = 3;
  const std::uint32_t function = call.given(8), handle = call.left(0x2c);
  const bool done = call.succeeded(0x14);
  if (done && (function == kAllocSize || function == kAllocSizeRange))
    call.state.add_object(call.given(0), handle, call.given(4), kMemoryLocalUser);
  add_frame(line, call, call.given(0));
  if (done && function == kFree) call.state.remove_object(call.given(0), handle);
}

/// The cards that are there, of an array that is passed with its size.
void decode_cards(Line& line, const Call& call) {
  const StructLayout* layout = structs().find("nv_ioctl_card_info_t", call.state.branch());
  const Bytes cards = call.settled();
  if (!layout) return add_raw(line, "data", call.ioctl.before, call.ioctl.after);
  line.add("entries", fmt::format("{}", call.size_B / layout->size_B));
  for (std::size_t i = 0; (i + 1) * layout->size_B <= cards.size(); ++i) {
    const Bytes card = cards.subspan(i * layout->size_B, layout->size_B);
    if (card[0] == std::byte{0}) continue;
    Line one;
    add_struct(one, *layout, card, {}, {call.state, call.symbols, 0, 0, {}});
    for (Field& field : one.fields)
      line.add(fmt::format("card{}.{}", i, field.name), std::move(field.text));
  }
  if (const std::size_t tail = cards.size() % layout->size_B)
    add_raw(line, "extra", cards.last(tail), {});
}

void decode_attach(Line& line, const Call& call) {
  const Bytes ids = call.settled();
  std::string list;
  for (std::size_t i = 0; i + 4 <= ids.size(); i += 4)
    list += fmt::format("{}{:#x}", i ? "," : "", read_at<std::uint32_t>(ids, i));
  line.add("gpu_ids", "{" + list + "}");
  if (ids.size() % 4) add_raw(line, "extra", ids.last(ids.size() % 4), {});
}

void decode_version(Line& line, const Call& call) {
  add_frame(line, call, 0);
  const Bytes reply = call.settled();
  if (reply.size() <= 8 || call.ioctl.after.empty()) return;
  std::string text;
  for (const std::byte byte : reply.subspan(8)) {
    if (byte == std::byte{0}) break;
    text += static_cast<char>(byte);
  }
  call.state.set_driver_version(text);
}

void decode_frame(Line& line, const Call& call) {
  switch (call.number) {
    case kRmControl:
      return decode_control(line, call);
    case kRmAlloc:
      return decode_alloc(line, call);
    case kRmFree:
      return decode_free(line, call);
    case kRmDupObject:
      return decode_dup(line, call);
    case kRmAllocMemory:
      return decode_alloc_memory(line, call);
    case kRmVidHeapControl:
      return decode_heap(line, call);
    case kCardInfo:
      return decode_cards(line, call);
    case kAttachGpusToFd:
      return decode_attach(line, call);
    case kCheckVersionStr:
      return decode_version(line, call);
    default:
      return add_frame(line, call, call.given(0));
  }
}

/// `NV_ESC_RM_CONTROL` as `RM_CONTROL`.
std::string escape_text(std::uint32_t number, std::string_view branch) {
  const Name* name = find_name("escape", number, branch);
  if (!name) return fmt::format("NV_ESC_{:#04x}", number);
  constexpr std::string_view kPrefix = "NV_ESC_";
  return std::string(name->name.starts_with(kPrefix) ? name->name.substr(kPrefix.size())
                                                     : name->name);
}

void add_end(Line& line, const IoctlCall& call, NvState& state) {
  if (call.result != 0) line.add("result", result_text(call.result));
  if (std::string note = state.take_note(); !note.empty())
    line.add("note", fmt::format("\"{}\"", note));
}

/// Whether the layout of this escape differs between drivers.
bool depends_on_version(std::uint32_t number) {
  return number == kRmControl || number == kRmAlloc || number == 0x57 || number == 0xd9;
}

std::uint32_t frame_bytes(std::uint32_t size_B, const IoctlCall& call) {
  return size_B ? size_B
                : static_cast<std::uint32_t>(std::max(call.before.size(), call.after.size()));
}

/// The frame that NV_ESC_IOCTL_XFER_CMD points to, or the pointer where it was not recorded.
Line decode_xfer(const Call& outer) {
  const std::uint32_t number = outer.given(0) & 0xff, size_B = outer.given(4);
  const Attachment* target = outer.ioctl.at(outer.given_pointer(8));
  Line line;
  if (!target || number == kXferCmd) {
    line.name = escape_text(kXferCmd, outer.state.branch());
    add_frame(line, outer, 0);
    if (line.fields.size() > 0 && line.fields[0].name == "cmd")
      line.fields[0].text = escape_text(outer.given(0), outer.state.branch());
    return line;
  }
  IoctlCall inner = outer.ioctl;
  inner.request = escape_request(number, size_B);
  inner.before = target->before;
  inner.after = target->after;
  line.name = escape_text(number, outer.state.branch());
  line.add("by", "IOCTL_XFER_CMD");
  const Call call{inner, outer.state, outer.symbols, number, frame_bytes(size_B, inner)};
  decode_frame(line, call);
  return line;
}

}  // namespace

Line decode_nvidia_ioctl(const IoctlCall& call, NvState& state, const Symbols& symbols) {
  Line line;
  if (!is_escape(call.request)) {
    line.name = ioc_text(call.request);
    add_raw(line, "data", call.before, call.after);
    if (call.result != 0) line.add("result", result_text(call.result));
    return line;
  }
  const std::uint32_t number = escape_number(call.request);
  const Call own{call, state, symbols, number, frame_bytes(escape_size(call.request), call)};
  if (number == kXferCmd) {
    line = decode_xfer(own);
  } else {
    line.name = escape_text(number, state.branch());
    decode_frame(line, own);
  }
  if (depends_on_version(number) || number == kXferCmd || number == kCheckVersionStr) {
    if (number != kCheckVersionStr || !state.driver_version().empty()) {
      add_end(line, call, state);
      return line;
    }
  }
  if (call.result != 0) line.add("result", result_text(call.result));
  return line;
}

Line decode_uvm_ioctl(const IoctlCall& call, NvState& state, const Symbols& symbols) {
  Line line;
  const Name* name = find_name("uvm", call.request, state.branch());
  line.name = name ? std::string(name->name) : fmt::format("UVM_{:#x}", call.request);
  const StructLayout* layout =
      name && !name->params.empty() ? find_layout(name->params, 0, state) : nullptr;
  if (!layout) {
    add_raw(line, "data", call.before, call.after);
  } else if (call.before.empty() && call.after.empty()) {
    line.add("truncated", "all");
  } else {
    // The recorder reads the largest of all versions; what lies beyond is not the argument.
    const Bytes before = first_of(call.before, layout->size_B),
                after = first_of(call.after, layout->size_B);
    std::uint32_t client = 0;
    for (const Member& member : layout->members)
      if (member.name == "hClient")
        client = read_at<std::uint32_t>(before.empty() ? after : before, member.offset_B);
    add_struct(line, *layout, before, after, {state, symbols, client, 0, {}});
  }
  add_end(line, call, state);
  return line;
}

}  // namespace tiny::decode
