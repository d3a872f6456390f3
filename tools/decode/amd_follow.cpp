// SPDX-License-Identifier: MIT
// What a recorder attaches to AMD and DRM calls. Runs inside the traced program: no tables, no
// exceptions, no memory but the result.
#include "tools/decode/amd.h"
#include "tools/decode/amd_calls.h"

#include <algorithm>
#include <cstring>

namespace tiny::decode {
namespace amd {
namespace {

constexpr Pointer kPointers[] = {
    {0x4b0c, 0, 8, 4, 48, "kfd_event_data", "events_ptr", "num_events"},
    {0x4b12, 0, 16, 4, 4, "u32", "tile_config_ptr", "num_tile_configs"},
    {0x4b12, 8, 20, 4, 4, "u32", "macro_tile_config_ptr", "num_macro_tile_configs"},
    {0x4b14, 0, 8, 4, 56, "kfd_process_device_apertures", "kfd_process_device_apertures_ptr",
     "num_of_nodes"},
    {0x4b18, 8, 16, 4, 4, "u32", "device_ids_array_ptr", "n_devices"},
    {0x4b19, 8, 16, 4, 4, "u32", "device_ids_array_ptr", "n_devices"},
    {0x4b1a, 8, 4, 4, 0, "u32", "cu_mask_ptr", "num_cu_mask"},
    {0x4b1c, 8, 16, 4, 1, "bytes", "metadata_ptr", "metadata_size"},
    {0x4b22, 0, 32, 4, 16, "kfd_criu_device_bucket", "devices", "num_devices"},
    {0x4b22, 8, 36, 4, 48, "kfd_criu_bo_bucket", "bos", "num_bos"},
    {0x6400, 24, 16, 8, 1, "text", "name", "name_len"},
    {0x6400, 40, 32, 8, 1, "text", "date", "date_len"},
    {0x6400, 56, 48, 8, 1, "text", "desc", "desc_len"},
    {0x6401, 8, 0, 8, 1, "text", "unique", "unique_len"},
    {kInfoCall, 0, 8, 4, 1, "info", "return_pointer", "return_size"},
    {kCsCall, kCsChunks_B, kCsCount_B, 4, 8, "u64", "in.chunks", "in.num_chunks"},
    {0x6443, 16, 8, 4, 8, "drm_amdgpu_bo_list_entry", "in.bo_info_ptr", "in.bo_number"},
    {0x6452, 0, 8, 4, 24, "drm_amdgpu_fence", "in.fences", "in.fence_count"},
    {0x64c3, 0, 16, 4, 4, "u32", "handles", "count_handles"},
    {0x64c4, 0, 8, 4, 4, "u32", "handles", "count_handles"},
    {0x64c5, 0, 8, 4, 4, "u32", "handles", "count_handles"},
    {0x64ca, 0, 24, 4, 4, "u32", "handles", "count_handles"},
    {0x64ca, 8, 24, 4, 8, "u64", "points", "count_handles"},
    {0x64cb, 0, 16, 4, 4, "u32", "handles", "count_handles"},
    {0x64cb, 8, 16, 4, 8, "u64", "points", "count_handles"},
    {0x64cd, 0, 16, 4, 4, "u32", "handles", "count_handles"},
    {0x64cd, 8, 16, 4, 8, "u64", "points", "count_handles"},
};

std::uint64_t read(Bytes bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  if (offset + size <= bytes.size()) std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

std::uint64_t clamp_bytes(std::uint64_t count, std::uint32_t element_B) {
  if (element_B == 0) return std::min((count + 31) / 32 * 4, kFollowLimit_B);
  return std::min(count, kFollowLimit_B / element_B) * element_B;
}

const Attachment* find(std::span<const Attachment> known, std::uint64_t address) {
  for (const Attachment& attachment : known)
    if (attachment.address == address) return &attachment;
  return nullptr;
}

void add(std::vector<Range>& ranges, std::span<const Attachment> known, std::uint64_t address,
         std::uint64_t size_B) {
  if (address && size_B && !find(known, address)) ranges.push_back({address, size_B});
}

/// Submission chunks are an array of pointers to structures that point to their data.
void add_chunks(std::vector<Range>& ranges, Bytes argument, std::span<const Attachment> known) {
  const Attachment* array = find(known, read(argument, kCsChunks_B, 8));
  if (!array) return;
  const std::size_t count = std::min<std::size_t>(array->before.size() / 8, kMaxChunks);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t chunk = read(array->before, i * 8, 8);
    const Attachment* attached = find(known, chunk);
    if (!attached)
      add(ranges, known, chunk, kChunk_B);
    else
      add(ranges, known, read(attached->before, 8, 8),
          clamp_bytes(read(attached->before, 4, 4), 4));
  }
}

}  // namespace

std::span<const Pointer> pointers() { return kPointers; }

}  // namespace amd

std::vector<Range> follow_amd(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known) {
  using namespace amd;
  std::vector<Range> ranges;
  const std::uint32_t call = call_key(request);
  for (const Pointer& pointer : kPointers)
    if (pointer.call == call)
      add(ranges, known, read(argument, pointer.pointer_B, 8),
          clamp_bytes(read(argument, pointer.count_B, pointer.count_size), pointer.element_B));
  if (call == kCsCall) add_chunks(ranges, argument, known);
  return ranges;
}

}  // namespace tiny::decode
