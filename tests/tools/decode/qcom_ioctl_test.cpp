// SPDX-License-Identifier: MIT
// KGSL and msm calls: numbers and layouts against what is written in kernel headers, golden text,
// what a recorder is told to follow.
#include "tools/decode/qcom.h"
#include "tools/decode/qcom_nested.h"
#include "tools/decode/table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace tiny::decode;

namespace {

using Buffer = std::vector<std::byte>;

/// A structure, put together from its members.
class Builder {
 public:
  explicit Builder(std::size_t size_B) : bytes_(size_B) {}
  Builder& u32(std::size_t offset, std::uint32_t value) { return put(offset, value); }
  Builder& u64(std::size_t offset, std::uint64_t value) { return put(offset, value); }
  operator Buffer() const { return bytes_; }
  operator Bytes() const { return bytes_; }

 private:
  template <typename T>
  Builder& put(std::size_t offset, T value) {
    REQUIRE(offset + sizeof value <= bytes_.size());
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  Buffer bytes_;
};

Buffer text_bytes(const char* text) {
  const auto* first = reinterpret_cast<const std::byte*>(text);
  return {first, first + std::strlen(text)};
}

/// A process's memory, as a recorder sees it.
struct Memory {
  std::map<std::uint64_t, Buffer> before, after;

  /// What a recorder does: follows until nothing comes back.
  template <typename Follow>
  std::vector<Attachment> record(Follow follow, std::uint32_t request, const Buffer& argument) {
    std::vector<Attachment> attachments;
    for (int rounds = 0; rounds < 8; ++rounds) {
      const std::vector<Range> ranges = follow(request, argument, attachments);
      if (ranges.empty()) return attachments;
      for (const Range& range : ranges)
        attachments.push_back({range.address, read(before, range), read(after, range)});
    }
    FAIL("following does not end");
    return attachments;
  }

  static Bytes read(const std::map<std::uint64_t, Buffer>& memory, const Range& range) {
    const auto found = memory.find(range.address);
    if (found == memory.end()) return {};
    return Bytes(found->second).first(std::min<std::size_t>(found->second.size(), range.size_B));
  }
};

constexpr std::uint32_t kGetProperty = 0xc0180902, kSetProperty = 0x40180932,
                        kGpuCommand = 0xc040094a, kSubmit = 0xc0486446, kVmBind = 0xc058644d;

std::string kgsl(std::uint32_t request, const Buffer& before, const Buffer& after = {},
                 Memory memory = {}) {
  const auto attachments = memory.record(follow_kgsl, request, before);
  return to_text(decode_kgsl_ioctl({request, 0, before, after, attachments}));
}
std::string msm(std::uint32_t request, const Buffer& before, const Buffer& after = {},
                Memory memory = {}) {
  const auto attachments = memory.record(follow_msm, request, before);
  return to_text(decode_msm_ioctl({request, 0, before, after, attachments}));
}

}  // namespace

TEST_CASE("calls have the numbers and sizes of the kernel's headers") {
  struct Known {
    std::uint32_t request;
    const char* name;
  };
  const Known kKgsl[] = {{0xc0180902, "DEVICE_GETPROPERTY"},
                         {0x400c0907, "DEVICE_WAITTIMESTAMP_CTXTID"},
                         {0xc0200910, "RINGBUFFER_ISSUEIBCMDS"},
                         {0xc0080911, "CMDSTREAM_READTIMESTAMP"},
                         {0xc0080913, "DRAWCTXT_CREATE"},
                         {0x40040914, "DRAWCTXT_DESTROY"},
                         {0xc0300915, "MAP_USER_MEM"},
                         {0xc00c0916, "CMDSTREAM_READTIMESTAMP_CTXTID"},
                         {0x40180917, "CMDSTREAM_FREEMEMONTIMESTAMP_CTXTID"},
                         {0xc0180920, "SHAREDMEM_FROM_PMEM"},
                         {0x40080921, "SHAREDMEM_FREE"},
                         {0x40480922, "DRAWCTXT_BIND_GMEM_SHADOW"},
                         {0xc0100923, "SHAREDMEM_FROM_VMALLOC"},
                         {0x400c092e, "CMDWINDOW_WRITE"},
                         {0xc018092f, "GPUMEM_ALLOC"},
                         {0x40180930, "CFF_SYNCMEM"},
                         {0x40180932, "SETPROPERTY"},
                         {0xc0200933, "TIMESTAMP_EVENT"},
                         {0xc0300934, "GPUMEM_ALLOC_ID"},
                         {0xc0080935, "GPUMEM_FREE_ID"},
                         {0xc0480936, "GPUMEM_GET_INFO"},
                         {0x40200937, "GPUMEM_SYNC_CACHE"},
                         {0xc0140938, "PERFCOUNTER_GET"},
                         {0x40100939, "PERFCOUNTER_PUT"},
                         {0xc020093a, "PERFCOUNTER_QUERY"},
                         {0xc018093b, "PERFCOUNTER_READ"},
                         {0xc018093c, "GPUMEM_SYNC_CACHE_BULK"},
                         {0xc038093d, "SUBMIT_COMMANDS"},
                         {0xc0100940, "SYNCSOURCE_CREATE"},
                         {0xc0180942, "SYNCSOURCE_CREATE_FENCE"},
                         {0xc0300945, "GPUOBJ_ALLOC"},
                         {0x40200946, "GPUOBJ_FREE"},
                         {0xc0300947, "GPUOBJ_INFO"},
                         {0xc0200948, "GPUOBJ_IMPORT"},
                         {0x40100949, "GPUOBJ_SYNC"},
                         {0xc040094a, "GPU_COMMAND"},
                         {0xc018094b, "PREEMPTIONCOUNTER_QUERY"},
                         {0x4020094c, "GPUOBJ_SET_INFO"},
                         {0xc0200950, "SPARSE_PHYS_ALLOC"},
                         {0xc0280952, "SPARSE_VIRT_ALLOC"},
                         {0x40180954, "SPARSE_BIND"},
                         {0xc0380955, "GPU_SPARSE_COMMAND"},
                         {0xc0200956, "GPUMEM_BIND_RANGES"},
                         {0xc0300957, "GPU_AUX_COMMAND"},
                         {0xc0100958, "TIMELINE_CREATE"},
                         {0x40280959, "TIMELINE_WAIT"},
                         {0xc010095a, "TIMELINE_QUERY"},
                         {0x4010095b, "TIMELINE_SIGNAL"},
                         {0xc010095c, "TIMELINE_FENCE_GET"},
                         {0x4004095d, "TIMELINE_DESTROY"},
                         {0xc018095e, "GET_FAULT_REPORT"},
                         {0xc030095f, "RECURRING_COMMAND"},
                         {0xc0200960, "READ_CALIBRATED_TIMESTAMPS"}};
  for (const Known& known : kKgsl) {
    const Line line = decode_kgsl_ioctl({known.request, 0, {}, {}, {}});
    CHECK(line.name == std::string("IOCTL_KGSL_") + known.name);
    // Names of members only, none for a size that is not the header's.
    for (const Field& field : line.fields) CHECK(field.name == "truncated");
    REQUIRE(line.fields.size() == 1);
    CHECK(line.fields[0].text == std::to_string(known.request >> 16 & 0x3fff));
  }
  const Known kMsm[] = {{0xc0406400, "VERSION"},
                        {0x40086409, "GEM_CLOSE"},
                        {0xc010640c, "GET_CAP"},
                        {0xc00c642d, "PRIME_HANDLE_TO_FD"},
                        {0xc00c642e, "PRIME_FD_TO_HANDLE"},
                        {0xc00864bf, "SYNCOBJ_CREATE"},
                        {0xc02864c3, "SYNCOBJ_WAIT"},
                        {0xc03064ca, "SYNCOBJ_TIMELINE_WAIT"},
                        {0xc0186440, "MSM_GET_PARAM"},
                        {0x40186441, "MSM_SET_PARAM"},
                        {0xc0106442, "MSM_GEM_NEW"},
                        {0xc0186443, "MSM_GEM_INFO"},
                        {0x40186444, "MSM_GEM_CPU_PREP"},
                        {0x40046445, "MSM_GEM_CPU_FINI"},
                        {0xc0486446, "MSM_GEM_SUBMIT"},
                        {0x40206447, "MSM_WAIT_FENCE"},
                        {0xc00c6448, "MSM_GEM_MADVISE"},
                        {0xc00c644a, "MSM_SUBMITQUEUE_NEW"},
                        {0x4004644b, "MSM_SUBMITQUEUE_CLOSE"},
                        {0x4018644c, "MSM_SUBMITQUEUE_QUERY"},
                        {0xc058644d, "MSM_VM_BIND"}};
  for (const Known& known : kMsm) {
    const Line line = decode_msm_ioctl({known.request, 0, {}, {}, {}});
    CHECK(line.name == std::string("DRM_IOCTL_") + known.name);
    REQUIRE(line.fields.size() == 1);
    CHECK(line.fields[0].text == std::to_string(known.request >> 16 & 0x3fff));
  }
}

TEST_CASE("the offsets a recorder follows are those of the structures") {
  for (const auto* table : {&qcom::kKgslNested, &qcom::kMsmNested}) {
    const StructTable structs(
        embedded_table(table == &qcom::kKgslNested ? "kgsl_structs" : "msm_structs"));
    for (const qcom::CallRoot& root : table->roots) CHECK(structs.find(root.structure));
    for (const qcom::NestedRule& rule : table->rules) {
      INFO(rule.owner << "." << rule.member);
      const StructLayout* owner = structs.find(rule.owner);
      REQUIRE(owner);
      const auto is_member = [&](std::size_t offset, std::size_t size) {
        return std::any_of(owner->members.begin(), owner->members.end(), [&](const Member& m) {
          return m.offset_B == offset && m.size_B == size;
        });
      };
      CHECK(is_member(rule.pointer_B, 8));
      for (const Member& member : owner->members)
        if (member.name == rule.member) CHECK(member.offset_B == rule.pointer_B);
      for (const qcom::Number& number : {rule.count, rule.stride, rule.selector})
        if (number.size_B) CHECK(is_member(number.offset_B, number.size_B));
      const bool plain = rule.element.empty() || rule.element == "text" || rule.element == "u32" ||
                         rule.element == "u64";
      if (plain) continue;
      const StructLayout* element = structs.find(rule.element);
      REQUIRE(element);
      if (rule.stride.size_B == 0) CHECK(rule.stride.offset_B == element->size_B);
    }
  }
}

TEST_CASE("a context is created with flags by name") {
  // What user space of OpenCL asks for, and gets back.
  const Buffer before = Builder(8).u32(0, 0x04208812);
  const Buffer after = Builder(8).u32(0, 0x04208812).u32(4, 7);
  CHECK(kgsl(0xc0080913, before, after) ==
        "IOCTL_KGSL_DRAWCTXT_CREATE "
        "flags=NO_GMEM_ALLOC|PREAMBLE|PWR_CONSTRAINT|PRIORITY(8)|TYPE(CL)|PREEMPT_STYLE(FINEGRAIN) "
        "drawctxt_id=0->7");
}

TEST_CASE("memory is allocated with cache mode, type and alignment by name") {
  const Buffer before =
      Builder(48).u64(0, 0x10000).u64(8, 3u << 26 | 1u << 28 | 1u << 31 | 10u << 8 | 16u << 16);
  Buffer after = before;
  after[32] = std::byte{0x2a};
  CHECK(kgsl(0xc0300945, before, after) ==
        "IOCTL_KGSL_GPUOBJ_ALLOC size=0x10000 flags=MEMTYPE(CL)|MEMALIGN(0x10)|"
        "CACHEMODE(WRITEBACK)|USE_CPU_MAP|IOCOHERENT va_len=0 mmapsize=0 id=0->0x2a metadata_len=0 "
        "metadata=0");
}

TEST_CASE("properties have names and their values are taken apart") {
  Memory memory;
  memory.before[0x7000] = Buffer(40);
  memory.after[0x7000] = Builder(40)
                             .u32(0, 1)
                             .u32(4, 0x06030001)
                             .u32(8, 1)
                             .u64(16, 0x100000)
                             .u32(24, 630)
                             .u64(32, 0x100000);
  const Buffer argument = Builder(24).u32(0, 1).u64(8, 0x7000).u64(16, 40);
  CHECK(
      kgsl(kGetProperty, argument, argument, memory) ==
      "IOCTL_KGSL_DEVICE_GETPROPERTY type=DEVICE_INFO value=0x7000 sizebytes=0x28 "
      "value.device_id=0->1 value.chip_id=0x0->0x6030001 value.mmu_enabled=0->1 "
      "value.gmem_gpubaseaddr=0x0->0x100000 value.gpu_id=0->630 value.gmem_sizebytes=0->0x100000");
  // In: which context. Out: what happened to it.
  memory.before[0x7000] = Builder(4).u32(0, 1);
  memory.after[0x7000] = Builder(4).u32(0, 2);
  const Buffer reset = Builder(24).u32(0, 9).u64(8, 0x7000).u64(16, 4);
  CHECK(kgsl(kGetProperty, reset, reset, memory) ==
        "IOCTL_KGSL_DEVICE_GETPROPERTY type=GPU_RESET_STAT value=0x7000 sizebytes=4 "
        "value.context_id=1 value.status=INNOCENT");
  // A structure that points on.
  memory.before[0x7000] = Builder(24).u32(0, 1).u32(4, 3).u64(8, 0x7100).u64(16, 4);
  memory.before[0x7100] = Builder(4).u32(0, 1);
  memory.after.clear();
  const Buffer constraint = Builder(24).u32(0, 0x12).u64(8, 0x7000).u64(16, 24);
  CHECK(kgsl(kSetProperty, constraint, {}, memory) ==
        "IOCTL_KGSL_SETPROPERTY type=PWR_CONSTRAINT value=0x7000 sizebytes=0x18 "
        "value.type=PWRLEVEL value.context_id=3 value.data=0x7100 value.size=4 "
        "value.data.level=MAX");
  // One nobody knows yet.
  memory.before[0x7000] = Builder(8).u32(0, 0xabcd);
  const Buffer unknown = Builder(24).u32(0, 0x99).u64(8, 0x7000).u64(16, 8);
  CHECK(kgsl(kGetProperty, unknown, {}, memory) ==
        "IOCTL_KGSL_DEVICE_GETPROPERTY type=0x99 value=0x7000 sizebytes=8 "
        "value[]=cdab0000 00000000");
}

TEST_CASE("a submission is shown with its commands, objects and waits") {
  Memory memory;
  // The kernel steps by its own 32 bytes whatever cmdsize says; one driver passes 64.
  memory.before[0x1000] = Builder(64)
                              .u64(8, 0x500000000)
                              .u64(16, 0x200)
                              .u32(24, 1)
                              .u32(28, 4)
                              .u64(40, 0x500001000)
                              .u64(48, 0x80)
                              .u32(56, 2)
                              .u32(60, 5);
  memory.before[0x2000] = Builder(32).u64(8, 0x600000000).u64(16, 0x1000).u32(24, 8).u32(28, 6);
  memory.before[0x3000] =
      Builder(48).u64(0, 0x3100).u64(8, 8).u32(16, 0).u64(24, 0x3200).u64(32, 4).u32(40, 1);
  memory.before[0x3100] = Builder(8).u32(0, 3).u32(4, 0x99);
  memory.before[0x3200] = Builder(4).u32(0, 11);
  const Buffer before = Builder(64)
                            .u64(0, 0x800)
                            .u64(8, 0x1000)
                            .u32(16, 64)
                            .u32(20, 2)
                            .u64(24, 0x2000)
                            .u32(32, 32)
                            .u32(36, 1)
                            .u64(40, 0x3000)
                            .u32(48, 24)
                            .u32(52, 2)
                            .u32(56, 7);
  Buffer after = before;
  after[60] = std::byte{0x10};
  CHECK(kgsl(kGpuCommand, before, after, memory) ==
        "IOCTL_KGSL_GPU_COMMAND flags=PWR_CONSTRAINT cmdlist=0x1000 cmdsize=0x40 numcmds=2 "
        "objlist=0x2000 objsize=0x20 numobjs=1 synclist=0x3000 syncsize=0x18 numsyncs=2 "
        "context_id=7 timestamp=0->0x10 "
        "cmdlist[0].offset=0 cmdlist[0].gpuaddr=0x500000000 cmdlist[0].size=0x200 "
        "cmdlist[0].flags=IB cmdlist[0].id=4 "
        "cmdlist[1].offset=0 cmdlist[1].gpuaddr=0x500001000 cmdlist[1].size=0x80 "
        "cmdlist[1].flags=CTXTSWITCH_PREAMBLE cmdlist[1].id=5 "
        "objlist[0].offset=0 objlist[0].gpuaddr=0x600000000 objlist[0].size=0x1000 "
        "objlist[0].flags=MEMOBJ objlist[0].id=6 "
        "synclist[0].priv=0x3100 synclist[0].size=8 synclist[0].type=TIMESTAMP "
        "synclist[0].priv.context_id=3 synclist[0].priv.timestamp=0x99 "
        "synclist[1].priv=0x3200 synclist[1].size=4 synclist[1].type=FENCE "
        "synclist[1].priv.fd=11");
  const auto attachments = memory.record(follow_kgsl, kGpuCommand, before);
  const auto buffers = kgsl_command_buffers(kGpuCommand, before, attachments);
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].address == 0x500000000);
  CHECK(buffers[1].address == 0x500001000);
  CHECK(buffers[1].size_B == 0x80);
  CHECK(kgsl_command_buffers(kGetProperty, before, attachments).empty());
}

TEST_CASE("older ways to submit name their buffers in dwords") {
  Memory memory;
  memory.before[0x1000] =
      Builder(64).u64(0, 0xa000).u64(16, 10).u64(32, 0xb000).u64(48, 4).u32(56, 1);
  const Buffer argument = Builder(56).u32(0, 7).u64(8, 0x1000).u32(16, 2);
  const auto attachments = memory.record(follow_kgsl, 0xc038093d, argument);
  const auto buffers = kgsl_command_buffers(0xc038093d, argument, attachments);
  REQUIRE(buffers.size() == 1);  // the second is a list of memory
  CHECK(buffers[0].address == 0xa000);
  CHECK(buffers[0].size_B == 40);
}

TEST_CASE("an imported buffer says what it was made of") {
  Memory memory;
  memory.before[0x900] = Builder(8).u64(0, 0x7f0012340000);
  const Buffer user = Builder(32).u64(0, 0x900).u64(8, 8).u64(16, 2u << 5).u32(24, 2);
  CHECK(kgsl(0xc0200948, user, {}, memory) ==
        "IOCTL_KGSL_GPUOBJ_IMPORT priv=0x900 priv_len=8 flags=USERMEM(ASHMEM) type=ADDR id=0 "
        "priv.virtaddr=0x7f0012340000");
  memory.before[0x900] = Builder(4).u32(0, 0xffffffff);
  const Buffer dmabuf = Builder(32).u64(0, 0x900).u64(8, 4).u32(24, 3);
  CHECK(kgsl(0xc0200948, dmabuf, {}, memory) ==
        "IOCTL_KGSL_GPUOBJ_IMPORT priv=0x900 priv_len=4 flags=0 type=DMABUF id=0 priv.fd=-1");
}

TEST_CASE("a submission to msm is shown with its buffers and commands") {
  Memory memory;
  memory.before[0x100] = Builder(32).u32(0, 5).u32(4, 3).u64(8, 0x1000000).u32(16, 2).u32(20, 9);
  memory.before[0x200] =
      Builder(64).u32(0, 1).u32(4, 0).u32(8, 0x40).u32(12, 0x80).u32(32, 1).u32(36, 1).u32(44, 16);
  memory.before[0x300] = Builder(16).u32(0, 1).u32(4, 1).u64(8, 77);
  const Buffer before = Builder(72)
                            .u32(0, 0x88000010)
                            .u32(8, 2)
                            .u32(12, 2)
                            .u64(16, 0x100)
                            .u64(24, 0x200)
                            .u32(32, 0xffffffff)
                            .u32(36, 1)
                            .u64(40, 0x300)
                            .u32(56, 1)
                            .u32(64, 16);
  CHECK(msm(kSubmit, before, before, memory) ==
        "DRM_IOCTL_MSM_GEM_SUBMIT flags=PIPE(3D0)|SYNCOBJ_IN|NO_IMPLICIT fence=0 nr_bos=2 "
        "nr_cmds=2 bos=0x100 cmds=0x200 fence_fd=-1 queueid=1 in_syncobjs=0x300 out_syncobjs=0 "
        "nr_in_syncobjs=1 nr_out_syncobjs=0 syncobj_stride=0x10 pad=0 "
        "bos[0].flags=READ|DUMP bos[0].handle=3 bos[0].presumed=0x1000000 "
        "bos[1].flags=WRITE bos[1].handle=9 bos[1].presumed=0 "
        "cmds[0].type=BUF cmds[0].submit_idx=0 cmds[0].submit_offset=0x40 cmds[0].size=0x80 "
        "cmds[0].pad=0 cmds[0].nr_relocs=0 cmds[0].relocs=0 "
        "cmds[1].type=BUF cmds[1].submit_idx=1 cmds[1].submit_offset=0 cmds[1].size=0x10 "
        "cmds[1].pad=0 cmds[1].nr_relocs=0 cmds[1].relocs=0 "
        "in_syncobjs[0].handle=1 in_syncobjs[0].flags=RESET in_syncobjs[0].point=0x4d");
  const auto attachments = memory.record(follow_msm, kSubmit, before);
  const auto buffers = msm_command_buffers(kSubmit, before, attachments);
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].address == 0x1000040);
  CHECK(buffers[0].size_B == 0x80);
  CHECK(buffers[1].address == 0);
  CHECK(buffers[1].handle == 9);
}

TEST_CASE("structures of older kernels are read by their size") {
  const Buffer param = Builder(16).u32(0, 0x10).u32(4, 3).u64(8, 0x6030001);
  CHECK(msm(0xc0106440, param, {}) ==
        "DRM_IOCTL_MSM_GET_PARAM argument_B=16 pipe=3D0 param=CHIP_ID value=0x6030001");
  const Buffer submit = Builder(40).u32(0, 0x10).u32(36, 2);
  CHECK(msm(0xc0286446, submit, {}) ==
        "DRM_IOCTL_MSM_GEM_SUBMIT argument_B=40 flags=PIPE(3D0) fence=0 nr_bos=0 nr_cmds=0 bos=0 "
        "cmds=0 fence_fd=0 queueid=2");
  // And of kernels to come.
  const Buffer longer = Builder(16).u32(0, 4).u32(12, 1);
  CHECK(kgsl(0x40100914, longer, {}) ==
        "IOCTL_KGSL_DRAWCTXT_DESTROY argument_B=16 drawctxt_id=4 extra=00000000 00000000 01000000");
}

TEST_CASE("one bind operation lies in the call, several lie behind it") {
  const Buffer one =
      Builder(88).u32(4, 1).u32(48, 1).u32(52, 8).u64(64, 0x100000).u64(72, 0x2000).u32(80, 1);
  CHECK(msm(kVmBind, one, {}) ==
        "DRM_IOCTL_MSM_VM_BIND flags=0 nr_ops=1 fence_fd=0 queue_id=0 in_syncobjs=0 out_syncobjs=0 "
        "nr_in_syncobjs=0 nr_out_syncobjs=0 syncobj_stride=0 op_stride=0 op.op=MAP op.handle=8 "
        "op.obj_offset=0 op.iova=0x100000 op.range=0x2000 op.flags=DUMP op.pad=0");
  Memory memory;
  memory.before[0x400] = Builder(80).u64(16, 0x1000).u32(40, 2).u64(56, 0x9000);
  const Buffer two = Builder(88).u32(4, 2).u32(44, 40).u64(48, 0x400);
  const std::string text = msm(kVmBind, two, {}, memory);
  CHECK(text.find(" ops=0x400 ") != std::string::npos);
  CHECK(text.find("ops[0].op=UNMAP") != std::string::npos);
  CHECK(text.find("ops[1].op=MAP_NULL") != std::string::npos);
  CHECK(text.find("ops[1].iova=0x9000") != std::string::npos);
}

TEST_CASE("values of GEM_INFO are what the question makes them") {
  struct Buf final : Symbols {
    std::string address(std::uint64_t) const override { return "bufN"; }
  };
  const auto text = [](const Buffer& before, const Buffer& after) {
    return to_text(decode_msm_ioctl({0xc0186443, 0, before, after, {}}, Buf()));
  };
  CHECK(text(Builder(24).u32(0, 3).u32(4, 1), Builder(24).u32(0, 3).u32(4, 1).u64(8, 0x4000)) ==
        "DRM_IOCTL_MSM_GEM_INFO handle=3 info=GET_IOVA value=0->bufN len=0 pad=0");
  CHECK(text(Builder(24).u32(0, 3), Builder(24).u32(0, 3).u64(8, 0x4000)) ==
        "DRM_IOCTL_MSM_GEM_INFO handle=3 info=GET_OFFSET value=0->0x4000 len=0 pad=0");
  Memory memory;
  memory.before[0x800] = text_bytes("tensor");
  CHECK(msm(0xc0186443, Builder(24).u32(0, 3).u32(4, 2).u64(8, 0x800).u32(16, 6), {}, memory) ==
        "DRM_IOCTL_MSM_GEM_INFO handle=3 info=SET_NAME value=0x800 len=6 pad=0 value[]=\"tensor\"");
}

TEST_CASE("texts and lists that the kernel fills in are shown as they came back") {
  Memory memory;
  memory.after[0x10] = text_bytes("msm");
  const Buffer version = Builder(64).u64(16, 3).u64(24, 0x10);
  const std::string text = msm(0xc0406400, version, version, memory);
  CHECK(text.find("name[]=\"msm\"") != std::string::npos);
  memory.before[0x20] = Builder(12).u32(0, 4).u32(4, 5).u32(8, 0x60);
  CHECK(msm(0xc01064c4, Builder(16).u64(0, 0x20).u32(8, 3), {}, memory) ==
        "DRM_IOCTL_SYNCOBJ_RESET handles=0x20 count_handles=3 pad=0 handles[]=[4,5,0x60]");
}

TEST_CASE("names of the process are not followed") {
  CHECK(follow_msm(0x40186441, Builder(24).u32(4, 0xd).u64(8, 0x1000).u32(16, 20)).empty());
  CHECK(follow_msm(0xc01064d1, Builder(16).u64(0, 8).u64(8, 0x1000)).empty());
}

TEST_CASE("calls that are not known are shown raw") {
  CHECK(kgsl(0xc004097e, Builder(4).u32(0, 0x01020304), Builder(4).u32(0, 1)) ==
        "IOCTL_KGSL_0x7e request=0xc004097e argument=04030201->01000000");
  CHECK(to_text(decode_kgsl_ioctl({0xc0186440, 0, {}, {}, {}})) ==
        "_IOC(RW,'d',0x40,24) request=0xc0186440");
  CHECK(msm(0x0000641e, {}) == "DRM_IOCTL_SET_MASTER");
}

TEST_CASE("what a recorder attaches is clamped in size and in number") {
  const auto ranges = follow_kgsl(kGpuCommand, Builder(64)
                                                   .u64(8, 0x1000)
                                                   .u32(20, 0xffffffff)
                                                   .u64(24, 0x2000)
                                                   .u32(36, 3)
                                                   .u64(40, 0x3000)
                                                   .u32(52, 0));
  REQUIRE(ranges.size() == 2);  // nothing for a list without elements
  CHECK(ranges[0].address == 0x1000);
  CHECK(ranges[0].size_B == kFollowLimit_B);
  CHECK(ranges[1].size_B == 96);
  // Thousands of waits, each with memory of its own.
  Buffer waits(24 * 2000);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t address = 0x100000 + i * 64, size = 8;
    std::memcpy(waits.data() + i * 24, &address, 8);
    std::memcpy(waits.data() + i * 24 + 8, &size, 8);
  }
  Memory memory;
  memory.before[0x3000] = waits;
  const Buffer argument = Builder(64).u64(40, 0x3000).u32(52, 2000);
  CHECK(memory.record(follow_kgsl, kGpuCommand, argument).size() <= kFollowRanges);
  CHECK(follow_kgsl(0xc0180955, {}).empty());
}
