// SPDX-License-Identifier: MIT
// The part of the NVIDIA decoders that recorders run inside the traced program: it knows sizes and
// offsets only, reads no table and allocates nothing but the few ranges that it returns.
#include "tools/decode/nv.h"

#include "tools/decode/nv_nested.h"
#include "tools/decode/nv_words.h"

#include <algorithm>
#include <utility>

namespace tiny::decode {
namespace nv {
namespace {

constexpr NestedList kNested[] = {
    {0x20801201, 0, 8, 8, ElementKind::kInfo},     // NV2080 GR_GET_INFO
    {0x20801301, 0, 8, 8, ElementKind::kInfo},     // NV2080 FB_GET_INFO
    {0x20800101, 0, 8, 8, ElementKind::kInfo},     // NV2080 GPU_GET_INFO
    {0x20801802, 0, 8, 8, ElementKind::kInfo},     // NV2080 BUS_GET_INFO
    {0x00801104, 0, 8, 8, ElementKind::kInfo},     // NV0080 GR_GET_INFO
    {0x00800201, 0, 8, 4, ElementKind::kClass},    // NV0080 GPU_GET_CLASSLIST
    {0x20800124, 4, 8, 4, ElementKind::kClass},    // NV2080 GPU_GET_ENGINE_CLASSLIST
    {0x20800123, 0, 8, 4, ElementKind::kEngine},   // NV2080 GPU_GET_ENGINES
    {0x0080170d, 0, 8, 4, ElementKind::kHandle},   // NV0080 FIFO_GET_CHANNELLIST: handles
    {0x0080170d, 0, 16, 4, ElementKind::kNumber},  // and channel ids
    {0x00801102, 0, 8, 1, ElementKind::kByte},     // NV0080 GR_GET_CAPS
    {0x00801301, 0, 8, 1, ElementKind::kByte},     // NV0080 FB_GET_CAPS
    {0x00801401, 0, 8, 1, ElementKind::kByte},     // NV0080 HOST_GET_CAPS
    {0x00801701, 0, 8, 1, ElementKind::kByte},     // NV0080 FIFO_GET_CAPS
    {0x20802a01, 4, 8, 1, ElementKind::kByte},     // NV2080 CE_GET_CAPS
    {0x00000101, 0, 8, 1, ElementKind::kText},     // NV0000 SYSTEM_GET_BUILD_VERSION: driver,
    {0x00000101, 0, 16, 1, ElementKind::kText},    // version
    {0x00000101, 0, 24, 1, ElementKind::kText},    // and title
    {0x20800122, 20, 24, 32, ElementKind::kByte},  // NV2080 GPU_EXEC_REG_OPS
};

bool is_graphics(std::uint32_t id) {
  const std::uint32_t low = id & 0xff;
  return (id >= 0xc300 && (low == 0xc0 || low == 0x97)) || id == 0x902d || id == 0xa140 ||
         id == 0xcd40;
}

struct ClassSize {
  std::uint32_t class_id, size_B;
};
constexpr ClassSize kClassSizes[] = {
    {0x0, 4},      {0x1, 4},    {0x41, 4},    {0x80, 56},   {0x2080, 4},  {0x5, 24},
    {0x78, 24},    {0x79, 24},  {0x7e, 24},   {0x3e, 128},  {0x3f, 128},  {0x40, 128},
    {0x50a0, 128}, {0x70, 24},  {0x71, 40},   {0x90f1, 56}, {0xa06c, 20}, {0x9067, 12},
    {0xc661, 2},   {0xc761, 2}, {0x83de, 12}, {0x503c, 4},  {0xb2cc, 8},  {0xcb33, 4},
};
constexpr std::uint32_t kChannelParams_B = 376, kCopyParams_B = 8, kGraphicsParams_B = 16;

void add_range(std::vector<Range>& ranges, std::uint64_t address, std::uint64_t size_B) {
  if (address && size_B) ranges.push_back({address, std::min(size_B, kFollowLimit_B)});
}

}  // namespace

std::span<const NestedList> nested_lists() { return kNested; }

std::uint32_t alloc_params_size(std::uint32_t class_id) {
  for (const ClassSize& entry : kClassSizes)
    if (entry.class_id == class_id) return entry.size_B;
  if (is_channel(class_id)) return kChannelParams_B;
  if (is_copy(class_id)) return kCopyParams_B;
  return is_graphics(class_id) ? kGraphicsParams_B : 0;
}

AllocFrame read_alloc(Bytes argument, std::uint32_t size_B) {
  AllocFrame frame;
  const bool is_long = size_B >= 48;  // NVOS64
  frame.class_id = read_at<std::uint32_t>(argument, 0xc);
  frame.params = read_at<std::uint64_t>(argument, 0x10);
  frame.rights = is_long ? read_at<std::uint64_t>(argument, 0x18) : 0;
  frame.params_size_B = read_at<std::uint32_t>(argument, is_long ? 0x20 : 0x18);
  return frame;
}

}  // namespace nv

namespace {

using namespace nv;

constexpr std::uint32_t kAccessRights_B = 4;  // RS_ACCESS_MASK

struct UvmSize {
  std::uint32_t request, size_B;
};
// Argument structures by command (uvm_ioctl.h, uvm_linux_ioctl.h), the largest of branches 550–610.
constexpr UvmSize kUvmSizes[] = {
    {0x1, 24},    {0x2, 24},   {0x3, 48},   {0x4, 24},        {0x5, 48},   {0x6, 16},  {0x7, 272},
    {0x9, 44},    {0xa, 24},   {0xb, 8},    {0xc, 908},       {0xd, 48},   {0xe, 40},  {0xf, 12},
    {0x10, 56},   {0x11, 20},  {0x12, 536}, {0x13, 16},       {0x14, 520}, {0x17, 16}, {0x18, 16},
    {0x19, 32},   {0x1a, 20},  {0x1b, 56},  {0x1c, 28},       {0x1d, 36},  {0x1e, 36}, {0x1f, 32},
    {0x21, 9264}, {0x22, 24},  {0x23, 24},  {0x24, 64},       {0x25, 40},  {0x26, 20}, {0x27, 8},
    {0x28, 272},  {0x29, 272}, {0x2a, 40},  {0x2b, 24},       {0x2c, 24},  {0x2d, 24}, {0x2e, 40},
    {0x2f, 40},   {0x33, 80},  {0x35, 32},  {0x36, 20},       {0x37, 20},  {0x38, 64}, {0x39, 8},
    {0x3a, 16},   {0x3b, 16},  {0x3c, 16},  {0x3d, 16},       {0x3e, 40},  {0x3f, 40}, {0x40, 24},
    {0x41, 40},   {0x42, 40},  {0x43, 4},   {0x44, 9248},     {0x45, 4},   {0x46, 24}, {0x47, 24},
    {0x48, 24},   {0x49, 24},  {0x4a, 40},  {0x4b, 8},        {0x4c, 56},  {0x4d, 16}, {0x4e, 56},
    {0x4f, 4},    {0x50, 32},  {0x7ff, 8},  {0x30000001, 16},
};

std::vector<Range> follow_frame(std::uint32_t number, std::uint32_t size_B, Bytes argument) {
  std::vector<Range> ranges;
  if (number == kRmControl) {
    add_range(ranges, read_at<std::uint64_t>(argument, 0x10),
              read_at<std::uint32_t>(argument, 0x18));
  } else if (number == kRmAlloc) {
    const AllocFrame frame = read_alloc(argument, size_B);
    add_range(ranges, frame.params,
              frame.params_size_B ? frame.params_size_B : alloc_params_size(frame.class_id));
    add_range(ranges, frame.rights, kAccessRights_B);
  } else if (number == kXferCmd) {
    add_range(ranges, read_at<std::uint64_t>(argument, 8), read_at<std::uint32_t>(argument, 4));
  }
  return ranges;
}

const Attachment* find(std::span<const Attachment> known, std::uint64_t address) {
  for (const Attachment& attachment : known)
    if (attachment.address == address) return &attachment;
  return nullptr;
}

void append(std::vector<Range>& ranges, const std::vector<Range>& more) {
  ranges.insert(ranges.end(), more.begin(), more.end());
}

std::vector<Range> without(std::vector<Range> ranges, std::span<const Attachment> known) {
  std::erase_if(ranges, [&](const Range& range) { return find(known, range.address); });
  return ranges;
}

std::uint32_t frame_size(std::uint32_t request, Bytes argument) {
  return escape_size(request) ? escape_size(request) : static_cast<std::uint32_t>(argument.size());
}

}  // namespace

std::size_t uvm_argument_size(std::uint32_t request) {
  for (const UvmSize& entry : kUvmSizes)
    if (entry.request == request) return entry.size_B;
  return 0;
}

std::vector<Range> follow_nv(std::uint32_t request, Bytes argument,
                             std::span<const Attachment> known) {
  if (!is_escape(request)) return {};
  std::uint32_t number = escape_number(request), size_B = frame_size(request, argument);
  std::vector<Range> ranges = follow_frame(number, size_B, argument);
  if (number == kXferCmd) {
    const Attachment* frame = find(known, read_at<std::uint64_t>(argument, 8));
    number = read_at<std::uint32_t>(argument, 0);
    if (frame && number != kXferCmd) {
      size_B = read_at<std::uint32_t>(argument, 4);
      argument = frame->before;
      append(ranges, follow_frame(number, size_B, argument));
    }
  }
  if (number == kRmControl)
    if (const Attachment* params = find(known, read_at<std::uint64_t>(argument, 0x10)))
      append(ranges, follow_nv_nested(read_at<std::uint32_t>(argument, 8), params->before));
  return without(std::move(ranges), known);
}

std::vector<Range> follow_nv_nested(std::uint32_t cmd, Bytes params) {
  std::vector<Range> ranges;
  for (const NestedList& list : kNested)
    if (list.cmd == cmd)
      add_range(ranges, read_at<std::uint64_t>(params, list.pointer_B),
                std::uint64_t{read_at<std::uint32_t>(params, list.count_B)} * list.element_B);
  return ranges;
}

std::vector<Range> follow_nv_next(std::uint32_t request, Bytes argument, Bytes attached) {
  if (!is_escape(request)) return {};
  const std::uint32_t number = escape_number(request);
  if (number == kRmControl) return follow_nv_nested(read_at<std::uint32_t>(argument, 8), attached);
  if (number != kXferCmd) return {};
  const std::uint32_t inner = read_at<std::uint32_t>(argument, 0);
  if (inner == kXferCmd || attached.size() != read_at<std::uint32_t>(argument, 4)) return {};
  return follow_frame(inner, read_at<std::uint32_t>(argument, 4), attached);
}

std::vector<Range> follow_uvm(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known) {
  // UVM_TOOLS_GET_PROCESSOR_UUID_TABLE and _V2 fill a table of 16-byte UUIDs.
  constexpr std::uint32_t kUuidTable = 0x40, kUuidTableV2 = 0x4d;
  constexpr std::uint64_t kUuid_B = 16, kProcessors = 33, kProcessorsV2 = 257;
  std::vector<Range> ranges;
  if (request == kUuidTable || request == kUuidTableV2)
    add_range(ranges, read_at<std::uint64_t>(argument, 0),
              kUuid_B * (request == kUuidTable ? kProcessors : kProcessorsV2));
  return without(std::move(ranges), known);
}

// ---- Submissions ----

std::vector<Range> walk_gpfifo(Words entries, std::uint64_t& extended_base) {
  constexpr std::uint32_t kSetExtendedBase = 4;
  std::vector<Range> segments;
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    const std::uint32_t low = entries[i], high = entries[i + 1];
    const std::uint32_t length_dw = (high >> 10) & 0x1fffff;
    if (length_dw)
      segments.push_back({extended_base << 40 | std::uint64_t{high & 0xff} << 32 | (low & ~3u),
                          std::uint64_t{length_dw} * 4});
    else if ((high & 0xff) == kSetExtendedBase)
      extended_base = (low >> 8) & 0x1ffff;
  }
  return segments;
}

namespace {

constexpr std::uint32_t kSetObject = 0x0, kSendPcasA = 0x2b4;

std::uint32_t qmd_bytes(std::uint32_t compute_class) { return compute_class >= 0xcbc0 ? 384 : 256; }

}  // namespace

void PushbufferWalker::bind(std::uint32_t subchannel, std::uint32_t class_id) {
  classes_[subchannel & 7] = class_id;
}

std::vector<QmdReference> PushbufferWalker::walk(Words segment) {
  std::vector<QmdReference> found;
  const auto method = [&](std::uint32_t subchannel, std::uint32_t address, std::uint32_t data) {
    const std::uint32_t id = classes_[subchannel];
    if (address == kSetObject) classes_[subchannel] = data & 0xffff;
    if (address == kSendPcasA && (id == 0 || is_compute(id)))
      found.push_back({std::uint64_t{data} << 8, id ? qmd_bytes(id) : 384, id});
  };
  for (std::size_t i = 0; i < segment.size();) {
    const Header header = read_header(segment[i]);
    if (segment[i] >> 29 == 7) break;  // END_PB_SEGMENT
    ++i;
    if (header.immediate) method(header.subchannel, header.address, header.data);
    std::uint32_t address = header.address;
    for (std::uint32_t k = 0; k < header.count && i < segment.size(); ++k, ++i) {
      method(header.subchannel, address, segment[i]);
      if (header.step == Header::Step::kEach || (header.step == Header::Step::kOnce && k == 0))
        address += 4;
    }
  }
  return found;
}

namespace {

/// Where the constant buffers are in a QMD of one major version: bit positions of element 0 and
/// their strides (cl*c0qmd.h).
struct ConstantBuffers {
  std::uint32_t valid, valid_stride, low, high, high_bits, size, shift;
};
constexpr ConstantBuffers kConstants23 = {640, 1, 1024, 1056, 17, 1075, 0};
constexpr ConstantBuffers kConstants4 = {416, 4, 1536, 1568, 19, 1587, 6};
constexpr ConstantBuffers kConstants5 = {1856, 4, 1344, 1376, 19, 1395, 6};
constexpr std::uint32_t kConstantBuffers = 8, kConstantStride = 64, kSizeBits = 13, kSizeShift = 4;

std::uint64_t bits(Words words, std::uint32_t low, std::uint32_t count) {
  std::uint64_t value = 0;
  for (std::uint32_t done = 0; done < count;) {
    const std::uint32_t word = (low + done) / 32, shift = (low + done) % 32;
    if (word >= words.size()) break;
    value |= (std::uint64_t{words[word]} >> shift) << done;
    done += 32 - shift;
  }
  return value & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

std::vector<Range> walk_qmd(Words qmd, std::uint32_t compute_class) {
  const std::uint32_t id = compute_class ? compute_class : 0xcbc0;
  const ConstantBuffers& at = id >= 0xcdc0   ? kConstants5
                              : id >= 0xcbc0 ? kConstants4
                                             : kConstants23;
  std::vector<Range> ranges;
  for (std::uint32_t i = 0; i < kConstantBuffers; ++i) {
    if (!bits(qmd, at.valid + i * at.valid_stride, 1)) continue;
    const std::uint32_t step = i * kConstantStride;
    const std::uint64_t address =
        (bits(qmd, at.high + step, at.high_bits) << 32 | bits(qmd, at.low + step, 32)) << at.shift;
    add_range(ranges, address, bits(qmd, at.size + step, kSizeBits) << kSizeShift);
  }
  return ranges;
}

}  // namespace tiny::decode
