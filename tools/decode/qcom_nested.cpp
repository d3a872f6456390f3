// SPDX-License-Identifier: MIT
#include "tools/decode/qcom_nested.h"

#include "tools/decode/qcom.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tiny::decode {
namespace qcom {
namespace {

constexpr Number kOne{1, 0};
constexpr Number constant(std::uint16_t value) { return {value, 0}; }
constexpr Number u32(std::uint16_t offset_B) { return {offset_B, 4}; }
constexpr Number u64(std::uint16_t offset_B) { return {offset_B, 8}; }

constexpr CallRoot kKgslRoots[] = {
    {0x02, "kgsl_device_getproperty"},
    {0x10, "kgsl_ringbuffer_issueibcmds"},
    {0x31, "kgsl_timestamp_event"},
    {0x32, "kgsl_device_getproperty"},
    {0x33, "kgsl_timestamp_event"},
    {0x3a, "kgsl_perfcounter_query"},
    {0x3b, "kgsl_perfcounter_read"},
    {0x3c, "kgsl_gpumem_sync_cache_bulk"},
    {0x3d, "kgsl_submit_commands"},
    {0x45, "kgsl_gpuobj_alloc"},
    {0x46, "kgsl_gpuobj_free"},
    {0x48, "kgsl_gpuobj_import"},
    {0x49, "kgsl_gpuobj_sync"},
    {0x4a, "kgsl_gpu_command"},
    {0x4b, "kgsl_preemption_counters_query"},
    {0x4c, "kgsl_gpuobj_set_info"},
    {0x54, "kgsl_sparse_bind"},
    {0x55, "kgsl_gpu_sparse_command"},
    {0x56, "kgsl_gpumem_bind_ranges"},
    {0x57, "kgsl_gpu_aux_command"},
    {0x59, "kgsl_timeline_wait"},
    {0x5b, "kgsl_timeline_signal"},
    {0x5e, "kgsl_fault_report"},
    {0x5f, "kgsl_recurring_command"},
    {0x60, "kgsl_read_calibrated_timestamps"},
};

/// A value of GETPROPERTY and SETPROPERTY: one structure of `sizebytes`.
constexpr NestedRule property(std::uint32_t type, std::string_view element) {
  return {"kgsl_device_getproperty", "value", 8, element, kOne, u64(16), u32(0), type};
}

// Command, object and sync lists: the kernel checks the caller's element size but steps by its own
// (reference: kgsl's copying of cmdlist, objlist and synclist).
constexpr NestedRule kKgslRules[] = {
    property(0x01, "kgsl_devinfo"),
    property(0x02, "kgsl_shadowprop"),
    property(0x06, "kgsl_property_u32"),
    property(0x07, "kgsl_property_u32"),
    property(0x08, "kgsl_version"),
    property(0x09, "kgsl_reset_stat"),
    property(0x0e, "kgsl_property_u32"),
    property(0x12, "kgsl_device_constraint"),
    property(0x13, "kgsl_property_u64"),
    property(0x14, "kgsl_sp_generic_mem"),
    property(0x15, "kgsl_ucode_version"),
    property(0x16, "kgsl_gpmu_version"),
    property(0x17, "kgsl_property_u32"),
    property(0x18, "kgsl_property_u32"),
    property(0x19, "kgsl_address_range"),
    property(0x1a, "kgsl_property_u32"),
    property(0x1b, "kgsl_property_u32"),
    property(0x20, "kgsl_address_range"),
    property(0x22, "kgsl_device_constraint"),
    property(0x23, "kgsl_property_u32"),
    property(0x24, "kgsl_property_u32"),
    property(0x25, "kgsl_property_u32"),
    property(0x26, "kgsl_property_u32"),
    property(0x27, "kgsl_capabilities"),
    property(0x28, "kgsl_context_property"),
    property(0x29, "kgsl_gpu_model"),
    property(0x2a, "kgsl_property_u32"),
    property(0x2b, "kgsl_property_u32"),
    property(0x2c, "kgsl_property_u64"),
    property(0x2d, "kgsl_property_u32"),
    property(0x2e, "kgsl_property_u32"),
    property(0x2f, "kgsl_property_u64"),
    property(0x30, "kgsl_property_u32"),
    property(0x31, "kgsl_property_u64"),
    property(0x32, "kgsl_property_u64"),
    {"kgsl_device_getproperty", "value", 8, "", u64(16), kOne},
    {"kgsl_device_constraint", "data", 8, "kgsl_device_constraint_pwrlevel", kOne, u64(16)},
    {"kgsl_capabilities", "data", 0, "kgsl_capabilities_properties", kOne, u64(8), u32(16), 1},
    {"kgsl_capabilities_properties", "list", 0, "u32", u32(8), constant(4)},
    {"kgsl_context_property", "data", 0, "kgsl_context_property_fault", kOne, u32(8), u32(12), 1},
    {"kgsl_ringbuffer_issueibcmds", "ibdesc_addr", 8, "kgsl_ibdesc", u32(16), constant(32)},
    {"kgsl_timestamp_event", "priv", 16, "kgsl_timestamp_event_fence", kOne, u64(24), u32(0), 2},
    {"kgsl_perfcounter_query", "countables", 8, "u32", u32(16), constant(4)},
    {"kgsl_perfcounter_read", "reads", 0, "kgsl_perfcounter_read_group", u32(8), constant(16)},
    {"kgsl_gpumem_sync_cache_bulk", "id_list", 0, "u32", u32(8), constant(4)},
    {"kgsl_submit_commands", "cmdlist", 8, "kgsl_ibdesc", u32(16), constant(32)},
    {"kgsl_submit_commands", "synclist", 24, "kgsl_cmd_syncpoint", u32(32), constant(24)},
    {"kgsl_cmd_syncpoint", "priv", 8, "kgsl_cmd_syncpoint_timestamp", kOne, u64(16), u32(0), 0},
    {"kgsl_cmd_syncpoint", "priv", 8, "kgsl_cmd_syncpoint_fence", kOne, u64(16), u32(0), 1},
    {"kgsl_cmd_syncpoint", "priv", 8, "kgsl_cmd_syncpoint_timeline", kOne, u64(16), u32(0), 2},
    {"kgsl_gpuobj_alloc", "metadata", 40, "text", u32(36), kOne},
    {"kgsl_gpuobj_free", "priv", 8, "kgsl_gpu_event_timestamp", kOne, u32(24), u32(20), 1},
    {"kgsl_gpuobj_free", "priv", 8, "kgsl_gpu_event_fence", kOne, u32(24), u32(20), 2},
    {"kgsl_gpuobj_import", "priv", 0, "kgsl_gpuobj_import_useraddr", kOne, u64(8), u32(24), 2},
    {"kgsl_gpuobj_import", "priv", 0, "kgsl_gpuobj_import_dma_buf", kOne, u64(8), u32(24), 3},
    {"kgsl_gpuobj_sync", "objs", 0, "kgsl_gpuobj_sync_obj", u32(12), constant(24)},
    {"kgsl_gpu_command", "cmdlist", 8, "kgsl_command_object", u32(20), constant(32)},
    {"kgsl_gpu_command", "objlist", 24, "kgsl_command_object", u32(36), constant(32)},
    {"kgsl_gpu_command", "synclist", 40, "kgsl_command_syncpoint", u32(52), constant(24)},
    {"kgsl_command_syncpoint", "priv", 0, "kgsl_cmd_syncpoint_timestamp", kOne, u64(8), u32(16), 0},
    {"kgsl_command_syncpoint", "priv", 0, "kgsl_cmd_syncpoint_fence", kOne, u64(8), u32(16), 1},
    {"kgsl_command_syncpoint", "priv", 0, "kgsl_cmd_syncpoint_timeline", kOne, u64(8), u32(16), 2},
    {"kgsl_cmd_syncpoint_timeline", "timelines", 0, "kgsl_timeline_val", u32(8), u32(12)},
    {"kgsl_preemption_counters_query", "counters", 0, "u64", u32(8), constant(8)},
    {"kgsl_gpuobj_set_info", "metadata", 8, "text", u32(20), kOne},
    {"kgsl_sparse_bind", "list", 0, "kgsl_sparse_binding_object", u32(16), u32(12)},
    {"kgsl_gpu_sparse_command", "sparselist", 8, "kgsl_sparse_binding_object", u32(28), u32(24)},
    {"kgsl_gpu_sparse_command", "synclist", 16, "kgsl_command_syncpoint", u32(36), constant(24)},
    {"kgsl_gpumem_bind_ranges", "ranges", 0, "kgsl_gpumem_bind_range", u32(8), u32(12)},
    {"kgsl_gpu_aux_command", "cmdlist", 8, "kgsl_gpu_aux_command_generic", u32(20), u32(16)},
    {"kgsl_gpu_aux_command", "synclist", 24, "kgsl_command_syncpoint", u32(36), constant(24)},
    {"kgsl_gpu_aux_command_generic", "priv", 0, "kgsl_gpu_aux_command_bind", kOne, u64(8), u32(16),
     1},
    {"kgsl_gpu_aux_command_generic", "priv", 0, "kgsl_gpu_aux_command_timeline", kOne, u64(8),
     u32(16), 2},
    {"kgsl_gpu_aux_command_bind", "rangeslist", 0, "kgsl_gpumem_bind_range", u64(8), u64(16)},
    {"kgsl_gpu_aux_command_timeline", "timelines", 0, "kgsl_timeline_val", u32(8), u32(12)},
    {"kgsl_timeline_wait", "timelines", 16, "kgsl_timeline_val", u32(24), u32(28)},
    {"kgsl_timeline_signal", "timelines", 0, "kgsl_timeline_val", u32(8), u32(12)},
    {"kgsl_fault_report", "faultlist", 0, "kgsl_fault", u32(8), u32(12)},
    {"kgsl_fault", "fault", 0, "kgsl_pagefault_report", u32(12), u32(16), u32(8), 1},
    {"kgsl_recurring_command", "cmdlist", 8, "kgsl_command_object", u32(20), constant(32)},
    {"kgsl_recurring_command", "objlist", 24, "kgsl_command_object", u32(36), constant(32)},
    {"kgsl_read_calibrated_timestamps", "sources", 0, "u32", u32(24), constant(4)},
    {"kgsl_read_calibrated_timestamps", "ts", 8, "u64", u32(24), constant(8)},
    {"kgsl_read_calibrated_timestamps", "deviation", 16, "u64", kOne, constant(8)},
};

constexpr CallRoot kMsmRoots[] = {
    {0x00, "drm_version"},
    {0x01, "drm_unique"},
    {0xc3, "drm_syncobj_wait"},
    {0xc4, "drm_syncobj_array"},
    {0xc5, "drm_syncobj_array"},
    {0xca, "drm_syncobj_timeline_wait"},
    {0xcb, "drm_syncobj_timeline_array"},
    {0xcd, "drm_syncobj_timeline_array"},
    {0x43, "drm_msm_gem_info"},
    {0x46, "drm_msm_gem_submit"},
    {0x4c, "drm_msm_submitqueue_query"},
    {0x4d, "drm_msm_vm_bind"},
};

// Not followed: what SET_PARAM COMM and CMDLINE and SET_CLIENT_NAME point to, names of the process.
constexpr NestedRule kMsmRules[] = {
    {"drm_version", "name", 24, "text", u64(16), kOne},
    {"drm_version", "date", 40, "text", u64(32), kOne},
    {"drm_version", "desc", 56, "text", u64(48), kOne},
    {"drm_unique", "unique", 8, "text", u64(0), kOne},
    {"drm_syncobj_wait", "handles", 0, "u32", u32(16), constant(4)},
    {"drm_syncobj_array", "handles", 0, "u32", u32(8), constant(4)},
    {"drm_syncobj_timeline_wait", "handles", 0, "u32", u32(24), constant(4)},
    {"drm_syncobj_timeline_wait", "points", 8, "u64", u32(24), constant(8)},
    {"drm_syncobj_timeline_array", "handles", 0, "u32", u32(16), constant(4)},
    {"drm_syncobj_timeline_array", "points", 8, "u64", u32(16), constant(8)},
    {"drm_msm_gem_info", "value", 8, "text", u32(16), kOne, u32(4), 2},
    {"drm_msm_gem_info", "value", 8, "text", u32(16), kOne, u32(4), 3},
    {"drm_msm_gem_info", "value", 8, "", u32(16), kOne, u32(4), 6},
    {"drm_msm_gem_info", "value", 8, "", u32(16), kOne, u32(4), 7},
    {"drm_msm_gem_submit", "bos", 16, "drm_msm_gem_submit_bo", u32(8), constant(16)},
    {"drm_msm_gem_submit", "cmds", 24, "drm_msm_gem_submit_cmd", u32(12), constant(32)},
    {"drm_msm_gem_submit", "in_syncobjs", 40, "drm_msm_syncobj", u32(56), u32(64)},
    {"drm_msm_gem_submit", "out_syncobjs", 48, "drm_msm_syncobj", u32(60), u32(64)},
    {"drm_msm_gem_submit_cmd", "relocs", 24, "drm_msm_gem_submit_reloc", u32(20), constant(24)},
    {"drm_msm_submitqueue_query", "data", 0, "u64", kOne, constant(8)},
    {"drm_msm_vm_bind", "in_syncobjs", 16, "drm_msm_syncobj", u32(32), u32(40)},
    {"drm_msm_vm_bind", "out_syncobjs", 24, "drm_msm_syncobj", u32(36), u32(40)},
    {"drm_msm_vm_bind_many", "in_syncobjs", 16, "drm_msm_syncobj", u32(32), u32(40)},
    {"drm_msm_vm_bind_many", "out_syncobjs", 24, "drm_msm_syncobj", u32(36), u32(40)},
    {"drm_msm_vm_bind_many", "ops", 48, "drm_msm_vm_bind_op", u32(4), u32(44)},
};

bool applies(const NestedRule& rule, Bytes bytes) {
  if (bytes.size() < rule.pointer_B + std::size_t{8}) return false;
  return rule.selector.size_B == 0 || read_number(bytes, rule.selector) == rule.selected;
}

}  // namespace

constinit const NestedTable kKgslNested{0x09, kKgslRoots, kKgslRules};
constinit const NestedTable kMsmNested{'d', kMsmRoots, kMsmRules};

std::uint64_t read_number(Bytes bytes, Number number) {
  if (number.size_B == 0) return number.offset_B;
  if (number.offset_B + std::size_t{number.size_B} > bytes.size()) return 0;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + number.offset_B, number.size_B);
  return value;
}

std::string_view root_structure(const NestedTable& table, std::uint32_t request, Bytes argument) {
  if (ioc_type(request) != table.magic) return {};
  for (const CallRoot& root : table.roots)
    if (root.nr == ioc_nr(request)) {
      // One operation lies in the argument itself, several behind a pointer in the same place.
      const bool many = root.structure == "drm_msm_vm_bind" && read_number(argument, u32(4)) != 1;
      return many ? "drm_msm_vm_bind_many" : root.structure;
    }
  return {};
}

std::vector<Target> targets(const NestedTable& table, std::string_view structure, Bytes bytes) {
  std::vector<Target> found;
  for (const NestedRule& rule : table.rules) {
    if (rule.owner != structure || !applies(rule, bytes)) continue;
    if (!found.empty() && found.back().rule->member == rule.member) continue;
    const Target target{&rule, read_number(bytes, u64(rule.pointer_B)),
                        read_number(bytes, rule.count), read_number(bytes, rule.stride)};
    if (target.address != 0) found.push_back(target);
  }
  return found;
}

std::uint64_t size_B(const Target& target) {
  if (target.count == 0 || target.stride_B == 0) return 0;
  if (target.count > kFollowLimit_B || target.stride_B > kFollowLimit_B) return kFollowLimit_B;
  return std::min(target.count * target.stride_B, kFollowLimit_B);
}

Bytes attached(std::span<const Attachment> attachments, std::uint64_t address) {
  for (const Attachment& attachment : attachments)
    if (attachment.address == address)
      return attachment.before.empty() ? attachment.after : attachment.before;
  return {};
}

namespace {

/// A structure whose pointers are still to be looked at.
struct Pending {
  std::string_view structure;
  Bytes bytes;
};

bool is_known(std::span<const Attachment> known, const std::vector<Range>& found,
              std::uint64_t address) {
  return std::any_of(known.begin(), known.end(),
                     [&](const Attachment& a) { return a.address == address; }) ||
         std::any_of(found.begin(), found.end(),
                     [&](const Range& range) { return range.address == address; });
}

/// The elements of an attached list, to be looked into.
void push_elements(const Target& target, Bytes list, std::vector<Pending>& pending) {
  if (target.rule->element.empty() || target.stride_B == 0) return;
  for (std::uint64_t i = 0; i < target.count && pending.size() < kFollowRanges; ++i) {
    if (i * target.stride_B >= list.size()) break;
    const Bytes rest = list.subspan(i * target.stride_B);
    pending.push_back(
        {target.rule->element, rest.first(std::min<std::size_t>(rest.size(), target.stride_B))});
  }
}

std::vector<Range> follow(const NestedTable& table, std::uint32_t request, Bytes argument,
                          std::span<const Attachment> known) {
  std::vector<Range> found;
  std::vector<Pending> pending{{root_structure(table, request, argument), argument}};
  // Grows while it is walked; rules go from owners to elements only, so it ends.
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const Pending owner = pending[i];
    for (const Target& target : targets(table, owner.structure, owner.bytes)) {
      if (const std::uint64_t bytes = size_B(target); bytes != 0 &&
                                                      found.size() + known.size() < kFollowRanges &&
                                                      !is_known(known, found, target.address))
        found.push_back({target.address, bytes});
      push_elements(target, attached(known, target.address), pending);
    }
  }
  return found;
}

}  // namespace
}  // namespace qcom

std::vector<Range> follow_kgsl(std::uint32_t request, Bytes argument,
                               std::span<const Attachment> known) {
  return qcom::follow(qcom::kKgslNested, request, argument, known);
}

std::vector<Range> follow_msm(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known) {
  return qcom::follow(qcom::kMsmNested, request, argument, known);
}

}  // namespace tiny::decode
