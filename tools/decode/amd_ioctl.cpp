// SPDX-License-Identifier: MIT
// Calls of /dev/kfd and of DRM (core and amdgpu), with the memory their arguments point to.
#include "tools/decode/amd.h"
#include "tools/decode/amd_calls.h"
#include "tools/decode/table.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace tiny::decode {
namespace {

constexpr std::uint32_t kKfdType = 'K', kDrmType = 'd';
/// Elements of an array that get a line of their own.
constexpr std::size_t kShownElements = 64;
/// Event numbers from here on are not signals (KFD_FIRST_NONSIGNAL_EVENT_ID).
constexpr std::uint64_t kFirstExceptionEvent = 0x40000000;
/// GET_PROCESS_APERTURES begins with seven apertures.
constexpr std::size_t kAperture_B = 56, kApertures_B = 7 * kAperture_B;

struct Call {
  std::string_view name, structure;
};

/// The tables of calls, structures and values, indexed.
class Tables {
 public:
  Tables() : kfd_(embedded_table("kfd_structs")), drm_(embedded_table("drm_structs")) {
    for (const std::string_view table : {"kfd_calls", "drm_calls"})
      for (const Row& row : rows(embedded_table(table)))
        calls_.try_emplace(static_cast<std::uint32_t>(row.number(1)), Call{row[0], row[2]});
    for (const Row& row : rows(embedded_table("kfd_values")))
      values_[row[0]].push_back({row[1], row.number(2)});
  }
  const Call* call(std::uint32_t request) const {
    const auto found = calls_.find(amd::call_key(request));
    return found == calls_.end() ? nullptr : &found->second;
  }
  const StructLayout* structure(std::string_view name, std::size_t size_B) const {
    const StructLayout* layout = kfd_.find_size(name, size_B);
    return layout ? layout : drm_.find_size(name, size_B);
  }
  std::span<const NamedValue> values(std::string_view set) const {
    const auto found = values_.find(set);
    return found == values_.end() ? std::span<const NamedValue>() : found->second;
  }

 private:
  StructTable kfd_, drm_;
  std::unordered_map<std::uint32_t, Call> calls_;
  std::unordered_map<std::string_view, std::vector<NamedValue>> values_;
};

const Tables& tables() {
  static const Tables all;
  return all;
}

std::uint64_t read(Bytes bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  if (offset + size <= bytes.size()) std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

// ---- values -----------------------------------------------------------------------------------

enum class As { kEnum, kFlags };
struct Use {
  std::string_view structure, member;  ///< structure: a prefix of its name
  std::string_view set;
  As as = As::kEnum;
};

constexpr Use kUses[] = {
    {"kfd_ioctl_create_queue", "queue_type", "queue_type"},
    {"kfd_ioctl_alloc_memory", "flags", "alloc_flags", As::kFlags},
    {"kfd_ioctl_get_dmabuf_info", "flags", "alloc_flags", As::kFlags},
    {"kfd_criu_bo", "alloc_flags", "alloc_flags", As::kFlags},
    {"kfd_ioctl_create_event", "event_type", "event_type"},
    {"kfd_ioctl_wait_events", "wait_result", "wait_result"},
    {"kfd_ioctl_set_memory_policy", "default_policy", "cache_policy"},
    {"kfd_ioctl_set_memory_policy", "alternate_policy", "cache_policy"},
    {"kfd_ioctl_svm_args", "op", "svm_op"},
    {"kfd_ioctl_svm_attribute", "type", "svm_attr"},
    {"kfd_ioctl_criu", "op", "criu_op"},
    {"kfd_ioctl_dbg_trap_args_deprecated", "op", "dbg_op_deprecated"},
    {"kfd_ioctl_dbg_trap_args", "op", "dbg_op"},
    {"kfd_ioctl_spm_args", "op", "spm_op"},
    {"kfd_ioctl_pc_sample_args", "op", "pc_sample_op"},
    {"kfd_ioctl_profiler", "op", "profiler_op"},
    {"kfd_ioctl_profiler", "pc_sample.op", "pc_sample_op"},
    {"kfd_ioctl_runtime_enable", "mode_mask", "runtime_mode", As::kFlags},
    {"kfd_event_data", "memory_exception_data.ErrorType", "mem_error"},
    {"drm_amdgpu_gem_create", "in.domains", "drm_domain", As::kFlags},
    {"drm_amdgpu_gem_create", "in.domain_flags", "drm_create", As::kFlags},
    {"drm_amdgpu_ctx", "in.op", "drm_ctx_op"},
    {"drm_amdgpu_vm", "in.op", "drm_vm_op"},
    {"drm_amdgpu_gem_va", "operation", "drm_va_op"},
    {"drm_amdgpu_gem_va", "flags", "drm_va_flags", As::kFlags},
    {"drm_amdgpu_gem_userptr", "flags", "drm_userptr", As::kFlags},
    {"drm_amdgpu_gem_metadata", "op", "drm_metadata_op"},
    {"drm_amdgpu_gem_op", "op", "drm_gem_op"},
    {"drm_amdgpu_gem_wait_idle", "out.domain", "drm_domain", As::kFlags},
    {"drm_amdgpu_info", "query", "drm_info"},
    {"drm_amdgpu_info", "query_hw_ip.type", "drm_hw_ip"},
    {"drm_amdgpu_info", "query_fw.fw_type", "drm_fw"},
    {"drm_amdgpu_info", "sensor_info.type", "drm_sensor"},
    {"drm_amdgpu_info_device", "family", "drm_family"},
    {"drm_amdgpu_info_device", "vram_type", "drm_vram_type"},
    {"drm_amdgpu_info_device", "ids_flags", "drm_ids_flags", As::kFlags},
    {"drm_amdgpu_wait_cs", "in.ip_type", "drm_hw_ip"},
    {"drm_amdgpu_fence", "ip_type", "drm_hw_ip"},
    {"drm_amdgpu_cs_chunk_ib", "ip_type", "drm_hw_ip"},
    {"drm_amdgpu_cs_chunk_dep", "ip_type", "drm_hw_ip"},
    {"drm_amdgpu_cs_chunk", "chunk_id", "cs_chunk"},
    {"kfd_event_data", "hw_exception_data.reset_type", "reset_type"},
    {"kfd_event_data", "hw_exception_data.reset_cause", "reset_cause"},
};

// Values that the headers give under one prefix with two meanings (KFD_HW_EXCEPTION_*), and those
// of amdgpu_drm.h that no fact table lists (AMDGPU_CHUNK_ID_*).
constexpr NamedValue kResetTypes[] = {{"WHOLE_GPU_RESET", 0}, {"PER_ENGINE_RESET", 1}};
constexpr NamedValue kResetCauses[] = {{"GPU_HANG", 0}, {"ECC", 1}};
constexpr NamedValue kChunks[] = {{"IB", 1},
                                  {"FENCE", 2},
                                  {"DEPENDENCIES", 3},
                                  {"SYNCOBJ_IN", 4},
                                  {"SYNCOBJ_OUT", 5},
                                  {"BO_HANDLES", 6},
                                  {"SCHEDULED_DEPENDENCIES", 7},
                                  {"SYNCOBJ_TIMELINE_WAIT", 8},
                                  {"SYNCOBJ_TIMELINE_SIGNAL", 9},
                                  {"CP_GFX_SHADOW", 10}};
// Of number 0x82, which only the kernel modules of ROCm 4 and 5 knew (kfd_ioctl.h there): other
// numbers than those of the call that replaced it.
constexpr NamedValue kDeprecatedDebugOps[] = {{"ENABLE", 0},
                                              {"SET_WAVE_LAUNCH_OVERRIDE", 1},
                                              {"SET_WAVE_LAUNCH_MODE", 2},
                                              {"NODE_SUSPEND", 3},
                                              {"NODE_RESUME", 4},
                                              {"QUERY_DEBUG_EVENT", 5},
                                              {"GET_QUEUE_SNAPSHOT", 6},
                                              {"GET_VERSION", 7},
                                              {"CLEAR_ADDRESS_WATCH", 8},
                                              {"SET_ADDRESS_WATCH", 9},
                                              {"SET_PRECISE_MEM_OPS", 10}};

std::span<const NamedValue> value_set(std::string_view set) {
  if (set == "reset_type") return kResetTypes;
  if (set == "reset_cause") return kResetCauses;
  if (set == "cs_chunk") return kChunks;
  if (set == "dbg_op_deprecated") return kDeprecatedDebugOps;
  return tables().values(set);
}

bool is_address(std::string_view member) {
  static constexpr std::string_view kEnds[] = {"_address", "va_addr",  "_ptr",
                                               "tba_addr", "tma_addr", "start_addr",
                                               "r_debug",  "dest_buf", "_pointer"};
  static constexpr std::string_view kNames[] = {
      "devices",   "bos",      "priv_data",  "in.chunks",
      "in.fences", "va_start", "chunk_data", "handles",
      "points",    "name",     "date",       "desc",
      "unique",    "addr",     "address",    "memory_exception_data.va",
      "data"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return member.ends_with(end); }) ||
         std::ranges::find(kNames, member) != std::end(kNames);
}

/// Offsets that the two upper bits mark as those of /dev/kfd; others belong to the render node.
std::string offset_text(std::uint64_t offset) {
  if (offset >> 62 == 0) return {};
  return fmt::format("{:#x}({})", offset, kfd_mmap_text(offset));
}

std::string member_text(const StructLayout& layout, const Member& member, std::uint64_t value,
                        const Symbols& symbols) {
  const std::string_view name = member.name;
  if (name.ends_with("pad") && value == 0) return std::string(kOmit);
  if (name == "doorbell_offset" || name == "mmap_offset") return offset_text(value);
  for (const Use& use : kUses) {
    if (use.member != name || !layout.name.starts_with(use.structure)) continue;
    const auto names = value_set(use.set);
    return use.as == As::kFlags ? flags_text(value, names) : enum_text(value, names);
  }
  if (name == "fd" || name == "dmabuf_fd" || name == "drm_fd" || name == "anon_fd")
    return fmt::format("{}", static_cast<std::int32_t>(value));
  if (member.size_B == 8 && value != 0 && is_address(name)) return symbols.address(value);
  return {};
}

// ---- structures with alternatives ---------------------------------------------------------------

/// The union member that applies, by the names of structures that have one; empty: none does.
std::string_view info_arm(std::uint64_t query) {
  switch (query) {
    case 0x01:
      return "mode_crtc";
    case 0x02:
    case 0x03:
      return "query_hw_ip";
    case 0x0e:
      return "query_fw";
    case 0x15:
      return "read_mmr_reg";
    case 0x1b:
      return "vbios_info";
    case 0x1d:
      return "sensor_info";
    case 0x21:
      return "video_cap";
    case 0x51:
      return "virtual_range";
    default:
      return {};
  }
}

std::string_view ctx_arm(std::uint64_t op) {
  if (op == 1) return "alloc";
  if (op == 3 || op == 4) return "state";
  return op == 5 || op == 6 ? "pstate" : std::string_view();
}

/// An event's number tells signals from exceptions; which exception, only its data can: a memory
/// exception names an address or a GPU in its second half.
std::string_view event_arm(Bytes bytes) {
  if (read(bytes, 40, 4) < kFirstExceptionEvent) return "signal_event_data";
  const bool memory = read(bytes, 16, 8) || read(bytes, 24, 8);
  return memory ? "memory_exception_data" : "hw_exception_data";
}

bool has_arms(std::string_view name) {
  return name == "drm_amdgpu_info" || name == "drm_amdgpu_ctx" || name == "kfd_event_data" ||
         name == "kfd_ioctl_profiler_args";
}

std::string_view arm_of(std::string_view name, Bytes before, Bytes after) {
  if (name == "drm_amdgpu_info") return info_arm(read(before, 12, 4));
  if (name == "drm_amdgpu_ctx") return ctx_arm(read(before, 0, 4));
  if (name == "kfd_event_data") return event_arm(after.empty() ? before : after);
  static constexpr std::string_view kProfiler[] = {"pmc", "pc_sample", "version"};
  const std::uint64_t op = read(before, 0, 4);
  return op < 3 ? kProfiler[op] : std::string_view();
}

/// The members that are read from one side of a call: all that are neither in.… nor out.…, or only
/// those, and of alternatives the one that applies.
StructLayout side_of(const StructLayout& layout, std::string_view side, std::string_view arm) {
  StructLayout part{layout.name, 0, {}};
  for (const Member& member : layout.members) {
    std::string_view name = member.name;
    if (!side.empty()) {
      if (!name.starts_with(side)) continue;
      name.remove_prefix(side.size());
    }
    const std::size_t dot = name.find('.');
    const bool other_arm = dot != std::string_view::npos && name.substr(0, dot) != arm;
    if (has_arms(layout.name) && other_arm) continue;
    part.members.push_back(member);
    part.size_B = std::max(part.size_B, member.offset_B + member.size_B);
  }
  return part;
}

void add_structure(Line& line, const StructLayout& layout, Bytes before, Bytes after,
                   const Symbols& symbols) {
  const std::string_view arm = arm_of(layout.name, before, after);
  const bool split = !layout.members.empty() &&
                     std::ranges::any_of(layout.members,
                                         [](const Member& m) { return m.name.starts_with("in."); });
  if (!split) {
    StructLayout whole = side_of(layout, {}, arm);
    whole.size_B = layout.size_B;
    return add_members(line, whole, before, after, symbols, member_text);
  }
  StructLayout in = side_of(layout, "in.", arm);
  in.size_B = layout.size_B;
  add_members(line, in, before, {}, symbols, member_text);
  const StructLayout out = side_of(layout, "out.", arm);
  if (after.empty() || out.members.empty()) return;
  add_members(line, out, after.first(std::min<std::size_t>(out.size_B, after.size())), {}, symbols,
              member_text);
}

// ---- what arguments point to ------------------------------------------------------------------

std::string list_text(Bytes bytes, std::size_t each_B) {
  std::string text = "[";
  const std::size_t count = bytes.size() / each_B;
  for (std::size_t i = 0; i < std::min(count, kShownElements); ++i)
    text += (i ? "," : "") + number_text(read(bytes, i * each_B, each_B));
  if (count > kShownElements) text += fmt::format(",…+{}", count - kShownElements);
  return text + "]";
}

bool differ(Bytes a, Bytes b) { return !a.empty() && !b.empty() && !std::ranges::equal(a, b); }

/// One line for an array of numbers, text or bytes.
Line plain_line(std::string_view label, std::string_view element, Bytes before, Bytes after) {
  const auto text = [&](Bytes bytes) -> std::string {
    if (element == "u32") return list_text(bytes, 4);
    if (element == "u64") return list_text(bytes, 8);
    if (element != "text") return hex_bytes(bytes);
    std::string_view chars(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    chars = chars.substr(0, chars.find('\0'));
    const bool printable = std::ranges::all_of(chars, [](char c) { return c >= 0x20 && c < 0x7f; });
    return printable ? fmt::format("\"{}\"", chars.substr(0, 96)) : hex_bytes(bytes);
  };
  Line line{fmt::format("  {}", label), {}};
  std::string out = text(before.empty() ? after : before);
  if (differ(before, after)) out += "->" + text(after);
  line.add("values", std::move(out));
  return line;
}

void add_elements(Lines& lines, std::string_view label, std::string_view structure, Bytes before,
                  Bytes after, std::size_t each_B, const Symbols& symbols) {
  const std::size_t count = (std::max(before.size(), after.size()) + each_B - 1) / each_B;
  const StructLayout* layout = tables().structure(structure, each_B);
  const auto element = [&](Bytes bytes, std::size_t i) {
    const std::size_t from = std::min(i * each_B, bytes.size());
    return bytes.subspan(from, std::min(each_B, bytes.size() - from));
  };
  for (std::size_t i = 0; i < std::min(count, kShownElements); ++i) {
    Line line{fmt::format("  {}[{}]", label, i), {}};
    if (layout)
      add_structure(line, *layout, element(before, i), element(after, i), symbols);
    else
      line.add("raw", hex_bytes(element(before.empty() ? after : before, i)));
    lines.push_back(std::move(line));
  }
  if (count > kShownElements)
    lines.push_back(
        {fmt::format("  {}[…]", label), {{"more", fmt::format("{}", count - kShownElements)}}});
}

/// What AMDGPU_INFO returned, by query.
std::string_view info_structure(std::uint64_t query) {
  switch (query) {
    case 0x02:
      return "drm_amdgpu_info_hw_ip";
    case 0x0e:
      return "drm_amdgpu_info_firmware";
    case 0x13:
      return "drm_amdgpu_info_gds";
    case 0x14:
      return "drm_amdgpu_info_vram_gtt";
    case 0x16:
      return "drm_amdgpu_info_device";
    case 0x19:
      return "drm_amdgpu_memory_info";
    case 0x1c:
      return "drm_amdgpu_info_num_handles";
    case 0x23:
      return "drm_amdgpu_info_gpuvm_fault";
    default:
      return {};
  }
}

void add_info(Lines& lines, const IoctlCall& call, const Attachment& at, const Symbols& symbols) {
  const std::uint64_t query = read(call.before, 12, 4);
  const Bytes answer = at.after.empty() ? at.before : at.after;
  const std::string_view structure = info_structure(query);
  Line line{fmt::format("  {}", enum_text(query, value_set("drm_info"))), {}};
  const StructLayout* layout =
      structure.empty() ? nullptr : tables().structure(structure, answer.size());
  if (layout)
    add_members(line, *layout, answer, {}, symbols, member_text);
  else if (answer.size() == 4 || answer.size() == 8)
    line.add("value", number_text(read(answer, 0, answer.size())));
  else if (query == 0x15)
    line.add("values", list_text(answer, 4));
  else
    line.add("raw", hex_bytes(answer));
  lines.push_back(std::move(line));
}

std::pair<std::string_view, std::size_t> chunk_structure(std::uint64_t id) {
  switch (id) {
    case 1:
      return {"drm_amdgpu_cs_chunk_ib", 32};
    case 2:
      return {"drm_amdgpu_cs_chunk_fence", 8};
    case 3:
    case 7:
      return {"drm_amdgpu_cs_chunk_dep", 24};
    case 4:
    case 5:
      return {"drm_amdgpu_cs_chunk_sem", 4};
    case 6:
      return {"drm_amdgpu_bo_list_in", 24};
    case 8:
    case 9:
      return {"drm_amdgpu_cs_chunk_syncobj", 16};
    default:
      return {{}, 0};
  }
}

void add_chunks(Lines& lines, const IoctlCall& call, const Attachment& array,
                const Symbols& symbols) {
  const std::size_t count = std::min<std::size_t>(array.before.size() / 8, amd::kMaxChunks);
  for (std::size_t i = 0; i < count; ++i) {
    const Attachment* chunk = call.at(read(array.before, i * 8, 8));
    if (!chunk || chunk->before.size() < amd::kChunk_B) continue;
    Line line{fmt::format("  chunk[{}]", i), {}};
    add_structure(line, *tables().structure("drm_amdgpu_cs_chunk", amd::kChunk_B), chunk->before,
                  {}, symbols);
    lines.push_back(std::move(line));
    const auto [structure, each_B] = chunk_structure(read(chunk->before, 0, 4));
    const Attachment* data = call.at(read(chunk->before, 8, 8));
    if (data && each_B)
      add_elements(lines, "  data", structure, data->before, {}, each_B, symbols);
    else if (data)
      lines.push_back(plain_line("  data", "bytes", data->before, {}));
  }
}

void add_pointer(Lines& lines, const IoctlCall& call, const amd::Pointer& pointer,
                 const Symbols& symbols) {
  const Attachment* at = call.at(read(call.before, pointer.pointer_B, 8));
  if (!at || (at->before.empty() && at->after.empty())) return;
  if (pointer.element == "info") return add_info(lines, call, *at, symbols);
  if (pointer.call == amd::kCsCall) return add_chunks(lines, call, *at, symbols);
  if (pointer.element.starts_with("kfd_") || pointer.element.starts_with("drm_"))
    return add_elements(lines, pointer.pointer_member, pointer.element, at->before, at->after,
                        pointer.element_B, symbols);
  lines.push_back(plain_line(pointer.pointer_member, pointer.element, at->before, at->after));
}

// ---- calls ------------------------------------------------------------------------------------

/// The structure that follows pid and op.
std::string_view dbg_structure(std::uint64_t op) {
  static constexpr std::string_view kByOp[] = {"enable",
                                               {},
                                               "send_runtime_event",
                                               "set_exceptions_enabled",
                                               "set_wave_launch_override",
                                               "set_wave_launch_mode",
                                               "suspend_queues",
                                               "resume_queues",
                                               "set_node_address_watch",
                                               "clear_node_address_watch",
                                               "set_flags",
                                               "query_debug_event",
                                               "query_exception_info",
                                               "queue_snapshot",
                                               "device_snapshot"};
  return op < std::size(kByOp) ? kByOp[op] : std::string_view();
}

Bytes tail(Bytes bytes, std::size_t from) { return bytes.subspan(std::min(from, bytes.size())); }
Bytes head(Bytes bytes, std::size_t size) { return bytes.first(std::min(size, bytes.size())); }

void add_dbg_trap(Line& line, const IoctlCall& call, const Symbols& symbols) {
  static constexpr std::size_t kHead_B = 8;
  const StructLayout* layout = tables().structure("kfd_ioctl_dbg_trap_args", call.before.size());
  StructLayout first{layout->name, kHead_B, {}};
  for (const Member& member : layout->members)
    if (member.offset_B < kHead_B) first.members.push_back(member);
  add_members(line, first, head(call.before, kHead_B), head(call.after, kHead_B), symbols,
              member_text);
  const std::string_view op = dbg_structure(read(call.before, 4, 4));
  const StructLayout* rest =
      op.empty()
          ? nullptr
          : tables().structure(fmt::format("kfd_ioctl_dbg_trap_{}_args", op), call.before.size());
  if (rest)
    add_members(line, *rest, head(tail(call.before, kHead_B), rest->size_B),
                head(tail(call.after, kHead_B), rest->size_B), symbols, member_text);
  else if (call.before.size() > kHead_B)
    line.add("raw", hex_bytes(tail(call.before, kHead_B)));
}

/// An array that follows the structure in the argument itself, as long as the request says.
void add_inline_array(Lines& lines, const IoctlCall& call, const Symbols& symbols) {
  if (amd::call_key(call.request) == amd::kSvmCall && call.before.size() > 24)
    add_elements(lines, "attrs", "kfd_ioctl_svm_attribute", tail(call.before, 24),
                 tail(call.after, 24), 8, symbols);
  if (amd::call_key(call.request) == amd::kAperturesCall)
    add_elements(lines, "process_apertures", "kfd_process_device_apertures",
                 head(call.before, kApertures_B), head(call.after, kApertures_B), kAperture_B,
                 symbols);
}

Line call_line(const IoctlCall& call, const Call& known, const Symbols& symbols) {
  Line line{std::string(known.name), {}};
  line.add("ret", result_text(call.result));
  const std::uint32_t key = amd::call_key(call.request);
  if (key == amd::kDbgTrapCall) {
    add_dbg_trap(line, call, symbols);
    return line;
  }
  const StructLayout* layout = tables().structure(known.structure, ioc_size_B(call.request));
  if (!layout) {
    if (!call.before.empty()) line.add("raw", hex_bytes(call.before));
    if (differ(call.before, call.after)) line.add("raw_after", hex_bytes(call.after));
    return line;
  }
  const bool inlined = key == amd::kSvmCall;
  if (key == amd::kAperturesCall) {
    // The array of seven comes first and has lines of its own.
    const StructLayout count{layout->name, 8, {{"num_of_nodes", 0, 4, 1}, {"pad", 4, 4, 1}}};
    add_members(line, count, tail(call.before, kApertures_B), tail(call.after, kApertures_B),
                symbols, member_text);
    return line;
  }
  add_structure(line, *layout, inlined ? head(call.before, layout->size_B) : call.before,
                inlined ? head(call.after, layout->size_B) : call.after, symbols);
  return line;
}

Lines unknown_call(const IoctlCall& call) {
  Line line{ioc_text(call.request), {}};
  line.add("ret", result_text(call.result));
  if (!call.before.empty()) line.add("raw", hex_bytes(call.before, 256));
  if (call.before.empty() ? !call.after.empty() : differ(call.before, call.after))
    line.add("raw_after", hex_bytes(call.after, 256));
  return {line};
}

Lines decode_call(const IoctlCall& call, std::uint32_t type, const Symbols& symbols) {
  const Call* known = ioc_type(call.request) == type ? tables().call(call.request) : nullptr;
  if (!known) return unknown_call(call);
  Lines lines{call_line(call, *known, symbols)};
  add_inline_array(lines, call, symbols);
  for (const amd::Pointer& pointer : amd::pointers())
    if (pointer.call == amd::call_key(call.request)) add_pointer(lines, call, pointer, symbols);
  return lines;
}

}  // namespace

Lines decode_kfd_ioctl(const IoctlCall& call, const Symbols& symbols) {
  return decode_call(call, kKfdType, symbols);
}

Lines decode_drm_ioctl(const IoctlCall& call, const Symbols& symbols) {
  return decode_call(call, kDrmType, symbols);
}

std::string kfd_mmap_text(std::uint64_t offset) {
  // kfd_priv.h: KFD_MMAP_TYPE_SHIFT 62, KFD_MMAP_GPU_ID_SHIFT 46, KFD_GPU_ID_HASH_WIDTH 16.
  static constexpr std::string_view kTypes[] = {"MMIO", "RESERVED_MEM", "EVENTS", "DOORBELL"};
  const std::uint64_t gpu_id = offset >> 46 & 0xffff,
                      rest = offset & ((std::uint64_t{1} << 46) - 1);
  return fmt::format("{} gpu_id={} offset={}", kTypes[offset >> 62], number_text(gpu_id),
                     number_text(rest));
}

}  // namespace tiny::decode
