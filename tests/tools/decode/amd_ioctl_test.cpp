// SPDX-License-Identifier: MIT
// Calls of /dev/kfd and DRM: text of real argument values, nested memory, what a recorder follows.
#include "tests/tools/decode/amd_support.h"
#include "tools/decode/amd_calls.h"
#include "tools/decode/table.h"

#include <catch2/catch.hpp>

using namespace amd_test;

namespace {

constexpr std::uint64_t kAddress = OneBuffer::kBase;

constexpr std::uint32_t request(char type, std::uint32_t nr, std::uint32_t size_B) {
  return 3u << 30 | size_B << 16 | static_cast<std::uint32_t>(type) << 8 | nr;
}

std::string kfd(std::uint32_t nr, Bytes before, Bytes after = {}, std::int64_t result = 0,
                std::span<const Attachment> attachments = {}) {
  IoctlCall call{request('K', nr, static_cast<std::uint32_t>(before.size())), result, before, after,
                 attachments};
  return text(decode_kfd_ioctl(call, kSymbols));
}

std::string drm(std::uint32_t nr, Bytes before, Bytes after = {},
                std::span<const Attachment> attachments = {}) {
  IoctlCall call{request('d', nr, static_cast<std::uint32_t>(before.size())), 0, before, after,
                 attachments};
  return text(decode_drm_ioctl(call, kSymbols));
}

}  // namespace

TEST_CASE("allocations name their flags as the kernel does") {
  Blob before(40), after(40);
  before.put(0, kAddress).put<std::uint64_t>(8, 0x1000).put<std::uint32_t>(32, 0x697d);
  before.put<std::uint32_t>(36, 0xd6000002);
  after = before;
  after.put<std::uint64_t>(16, 0x697d00000001).put<std::uint64_t>(24, 0x1000);
  CHECK(kfd(0x16, before.bytes(), after.bytes()) ==
        "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU ret=0 va_addr=buf3+0x0 size=0x1000 "
        "handle=0->0x697d00000001 mmap_offset=0->0x1000 gpu_id=0x697d "
        "flags=GTT|UNCACHED|COHERENT|NO_SUBSTITUTE|EXECUTABLE|WRITABLE\n");
  before.put<std::uint32_t>(36, 0xf0000001);
  CHECK(kfd(0x16, before.bytes(), {}, -22).find("ret=-EINVAL") != std::string::npos);
  CHECK(kfd(0x16, before.bytes()).find("flags=VRAM|NO_SUBSTITUTE|PUBLIC|EXECUTABLE|WRITABLE") !=
        std::string::npos);
}

TEST_CASE("the doorbell offset says what it encodes") {
  CHECK(kfd_mmap_text(0xDA5F400000000850) == "DOORBELL gpu_id=0x697d offset=0x850");
  CHECK(kfd_mmap_text(0x2000) == "MMIO gpu_id=0 offset=0x2000");
  CHECK(kfd_mmap_text(1ull << 63) == "EVENTS gpu_id=0 offset=0");
}

TEST_CASE("CREATE_QUEUE has 88 or 96 bytes; a longer one shows its tail") {
  Blob before(96), after(96);
  before.put(0, kAddress).put<std::uint32_t>(32, 0x10000).put<std::uint32_t>(40, 2);
  before.put<std::uint32_t>(44, 100).put<std::uint32_t>(48, 7).put<std::uint32_t>(88, 3);
  after = before;
  after.put<std::uint64_t>(24, 0xDA5F400000000850).put<std::uint32_t>(52, 1);
  const std::string small = kfd(2, before.bytes().first(88), after.bytes().first(88));
  CHECK(small ==
        "AMDKFD_IOC_CREATE_QUEUE ret=0 ring_base_address=buf3+0x0 write_pointer_address=0 "
        "read_pointer_address=0 "
        "doorbell_offset=0->0xda5f400000000850(DOORBELL gpu_id=0x697d offset=0x850) "
        "ring_size=0x10000 gpu_id=0 queue_type=COMPUTE_AQL queue_percentage=0x64 "
        "queue_priority=7 queue_id=0->1 eop_buffer_address=0 eop_buffer_size=0 "
        "ctx_save_restore_address=0 ctx_save_restore_size=0 ctl_stack_size=0\n");
  CHECK(kfd(2, before.bytes(), after.bytes()).find("sdma_engine_id=3") != std::string::npos);
  Blob longer(100);
  longer.put<std::uint32_t>(96, 0xabcd);
  CHECK(kfd(2, longer.bytes()).find(" extra=cdab0000") != std::string::npos);
}

TEST_CASE("device lists are numbers on a line of their own") {
  Blob before(24), devices(8);
  before.put<std::uint64_t>(0, 7).put<std::uint64_t>(8, 0x5000).put<std::uint32_t>(16, 2);
  devices.put<std::uint32_t>(0, 0x697d).put<std::uint32_t>(4, 0x1234);
  const Attachment attachments[] = {{0x5000, devices.bytes(), {}}};
  CHECK(kfd(0x18, before.bytes(), {}, 0, attachments) ==
        "AMDKFD_IOC_MAP_MEMORY_TO_GPU ret=0 handle=7 device_ids_array_ptr=0x5000 n_devices=2 "
        "n_success=0\n"
        "  device_ids_array_ptr values=[0x697d,0x1234]\n");
}

TEST_CASE("waited events show the data of their kind") {
  Blob before(24), events(48 * 3);
  before.put<std::uint64_t>(0, 0x5000).put<std::uint32_t>(8, 3).put<std::uint32_t>(16, 0xfffffffe);
  before.put<std::uint32_t>(20, 1);
  events.put<std::uint32_t>(40, 5).put<std::uint64_t>(0, 9);
  events.put<std::uint32_t>(48 + 40, 0x40000001).put(48 + 16, kAddress);
  events.put<std::uint32_t>(48 + 0, 1).put<std::uint32_t>(48 + 24, 0x697d);
  events.put<std::uint32_t>(96 + 40, 0x40000002).put<std::uint32_t>(96 + 8, 1);
  const Attachment attachments[] = {{0x5000, events.bytes(), {}}};
  CHECK(kfd(0xc, before.bytes(), {}, 0, attachments) ==
        "AMDKFD_IOC_WAIT_EVENTS ret=0 events_ptr=0x5000 num_events=3 wait_for_all=0 "
        "timeout=0xfffffffe wait_result=TIMEOUT\n"
        "  events_ptr[0] signal_event_data.last_event_age=9 kfd_event_data_ext=0 event_id=5\n"
        "  events_ptr[1] memory_exception_data.failure.NotPresent=1 "
        "memory_exception_data.failure.ReadOnly=0 memory_exception_data.failure.NoExecute=0 "
        "memory_exception_data.failure.imprecise=0 memory_exception_data.va=buf3+0x0 "
        "memory_exception_data.gpu_id=0x697d memory_exception_data.ErrorType=NO_RAS "
        "kfd_event_data_ext=0 event_id=0x40000001\n"
        "  events_ptr[2] hw_exception_data.reset_type=WHOLE_GPU_RESET "
        "hw_exception_data.reset_cause=GPU_HANG hw_exception_data.memory_lost=1 "
        "hw_exception_data.gpu_id=0 kfd_event_data_ext=0 event_id=0x40000002\n");
}

TEST_CASE("shared virtual memory attributes follow their structure in the argument") {
  Blob before(24 + 16);
  before.put(0, kAddress).put<std::uint64_t>(8, 0x2c02000).put<std::uint32_t>(20, 2);
  before.put<std::uint32_t>(24, 5).put<std::uint32_t>(28, 0x51).put<std::uint32_t>(32, 7);
  before.put<std::uint32_t>(36, 0xff);
  CHECK(kfd(0x20, before.bytes()) ==
        "AMDKFD_IOC_SVM ret=0 start_addr=buf3+0x0 size=0x2c02000 op=SET_ATTR nattr=2\n"
        "  attrs[0] type=SET_FLAGS value=0x51\n"
        "  attrs[1] type=GRANULARITY value=0xff\n");
}

TEST_CASE("process apertures, old and new") {
  Blob before(16), apertures(56);
  before.put<std::uint64_t>(0, 0x5000).put<std::uint32_t>(8, 1);
  apertures.put<std::uint64_t>(0, 1ull << 48).put<std::uint32_t>(48, 0x697d);
  const Attachment attachments[] = {{0x5000, apertures.bytes(), {}}};
  CHECK(kfd(0x14, before.bytes(), {}, 0, attachments)
            .find("  kfd_process_device_apertures_ptr[0] lds_base=0x1000000000000 lds_limit=0 ") !=
        std::string::npos);
  Blob old(400);
  old.put<std::uint32_t>(392, 1).put<std::uint32_t>(48, 0x697d);
  const std::string out = kfd(6, old.bytes());
  CHECK(out.starts_with("AMDKFD_IOC_GET_PROCESS_APERTURES ret=0 num_of_nodes=1\n"));
  CHECK(out.find("process_apertures[0] lds_base=0 ") != std::string::npos);
  CHECK(out.find("gpu_id=0x697d") != std::string::npos);
}

TEST_CASE("debugger calls are decoded by operation") {
  Blob before(32);
  before.put<std::uint32_t>(0, 77).put<std::uint32_t>(4, 8).put(8, kAddress);
  before.put<std::uint32_t>(24, 0x697d);
  const std::string out = kfd(0x26, before.bytes());
  CHECK(out.find("pid=0x4d op=SET_NODE_ADDRESS_WATCH address=buf3+0x0") != std::string::npos);
  // What rocminfo 5.2.3 asks: the number of its time had operations of its own.
  Blob old(40);
  old.put<std::uint32_t>(16, 1234).put<std::uint32_t>(20, 7);
  CHECK(kfd(0x82, old.bytes()).find("op=GET_VERSION ") != std::string::npos);
}

TEST_CASE("unknown numbers and other types are raw with their parts") {
  Blob before(8), after(8);
  before.put<std::uint32_t>(0, 0x11223344);
  after.put<std::uint32_t>(0, 0x11223345);
  CHECK(kfd(0x7f, before.bytes(), after.bytes(), -25) ==
        "_IOC(RW,'K',0x7f,8) ret=-ENOTTY raw=44332211 00000000 raw_after=45332211 00000000\n");
  CHECK(drm(0xff, before.bytes()).starts_with("_IOC(RW,'d',0xff,8) ret=0 raw=44332211"));
  IoctlCall other{request('d', 0, 8), 0, before.bytes(), {}, {}};
  CHECK(text(decode_kfd_ioctl(other, kSymbols)).starts_with("_IOC(RW,'d',0x0,8)"));
}

TEST_CASE("DRM VERSION shows its strings") {
  Blob before(64), name(7);
  before.put<std::uint64_t>(16, 7).put<std::uint64_t>(24, 0x5000);
  std::memcpy(const_cast<std::byte*>(name.bytes().data()), "amdgpu", 6);
  const Attachment attachments[] = {{0x5000, {}, name.bytes()}};
  CHECK(drm(0, before.bytes(), {}, attachments).find("\n  name values=\"amdgpu\"\n") !=
        std::string::npos);
}

TEST_CASE("calls with an in and an out side read each from its own") {
  Blob before(32), after(32);
  before.put<std::uint64_t>(0, 0x2000).put<std::uint64_t>(8, 0x1000).put<std::uint64_t>(16, 4);
  after = before;
  after.put<std::uint64_t>(0, 12);
  CHECK(drm(0x40, before.bytes(), after.bytes()) ==
        "DRM_IOCTL_AMDGPU_GEM_CREATE ret=0 in.bo_size=0x2000 in.alignment=0x1000 in.domains=VRAM "
        "in.domain_flags=0 out.handle=0xc\n");
  Blob context(16), allocated(16);
  context.put<std::uint32_t>(0, 1);
  allocated.put<std::uint32_t>(0, 3);
  CHECK(drm(0x42, context.bytes(), allocated.bytes()) ==
        "DRM_IOCTL_AMDGPU_CTX ret=0 in.op=ALLOC_CTX in.flags=0 in.ctx_id=0 in.priority=0 "
        "out.alloc.ctx_id=3\n");
}

TEST_CASE("INFO queries show their own question and answer") {
  Blob before(32), answer(440);
  before.put<std::uint64_t>(0, 0x5000).put<std::uint32_t>(8, 440).put<std::uint32_t>(12, 0x16);
  answer.put<std::uint32_t>(0, 0x744c).put<std::uint32_t>(16, 0x91);
  const Attachment attachments[] = {{0x5000, {}, answer.bytes()}};
  const std::string out = drm(0x45, before.bytes(), {}, attachments);
  CHECK(
      out.starts_with("DRM_IOCTL_AMDGPU_INFO ret=0 return_pointer=0x5000 return_size=0x1b8 "
                      "query=DEV_INFO\n  DEV_INFO device_id=0x744c "));
  CHECK(out.find("family=GC_11_0_0") != std::string::npos);
  CHECK(out.find("extra") == std::string::npos);
  Blob mmr(32);
  mmr.put<std::uint32_t>(12, 0x15).put<std::uint32_t>(16, 0x263e).put<std::uint32_t>(20, 1);
  CHECK(drm(0x45, mmr.bytes())
            .find("query=READ_MMR_REG read_mmr_reg.dword_offset=0x263e read_mmr_reg.count=1") !=
        std::string::npos);
}

TEST_CASE("submissions are followed to their chunks and decoded") {
  Blob before(24), array(8), chunk(16), ib(32);
  before.put<std::uint32_t>(0, 3).put<std::uint32_t>(8, 1).put<std::uint64_t>(16, 0x5000);
  array.put<std::uint64_t>(0, 0x6000);
  chunk.put<std::uint32_t>(0, 1).put<std::uint32_t>(4, 8).put<std::uint64_t>(8, 0x7000);
  ib.put(8, kAddress).put<std::uint32_t>(16, 0x100).put<std::uint32_t>(20, 1);
  const std::uint32_t cs = request('d', 0x44, 24);
  std::vector<Attachment> known;
  const std::pair<std::uint64_t, Bytes> memory[] = {
      {0x5000, array.bytes()}, {0x6000, chunk.bytes()}, {0x7000, ib.bytes()}};
  for (const auto& [address, bytes] : memory) {
    const std::vector<Range> next = follow_amd(cs, before.bytes(), known);
    REQUIRE(next.size() == 1);
    CHECK(next[0].address == address);
    CHECK(next[0].size_B == bytes.size());
    known.push_back({address, bytes, {}});
  }
  CHECK(follow_amd(cs, before.bytes(), known).empty());
  CHECK(drm(0x44, before.bytes(), {}, known) ==
        "DRM_IOCTL_AMDGPU_CS ret=0 in.ctx_id=3 in.bo_list_handle=0 in.num_chunks=1 in.flags=0 "
        "in.chunks=0x5000\n"
        "  chunk[0] chunk_id=IB length_dw=8 chunk_data=0x7000\n"
        "    data[0] flags=0 va_start=buf3+0x0 ib_bytes=0x100 ip_type=COMPUTE ip_instance=0 "
        "ring=0\n");
}

TEST_CASE("what is followed has a bound") {
  Blob before(24);
  before.put<std::uint64_t>(8, 0x5000).put<std::uint32_t>(16, 0xffffffff);
  const std::vector<Range> ranges = follow_amd(request('K', 0x18, 24), before.bytes());
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].size_B <= kFollowLimit_B);
  CHECK(follow_amd(request('K', 0x18, 24), before.bytes().first(10)).empty());
  CHECK(follow_amd(request('K', 1, 8), before.bytes()).empty());
  Blob masks(16);
  masks.put<std::uint32_t>(4, 96).put<std::uint64_t>(8, 0x5000);
  CHECK(follow_amd(request('K', 0x1a, 16), masks.bytes())[0].size_B == 12);
}

TEST_CASE("the offsets that are followed are those of the members they name") {
  const StructTable kfd_structs(embedded_table("kfd_structs"));
  const StructTable drm_structs(embedded_table("drm_structs"));
  std::size_t found = 0;
  for (const char* table : {"kfd_calls", "drm_calls"})
    for (const Row& row : rows(embedded_table(table)))
      for (const amd::Pointer& pointer : amd::pointers()) {
        if (pointer.call != row.number(1)) continue;
        const StructLayout* layout = kfd_structs.find(row[2]);
        if (!layout) layout = drm_structs.find(row[2]);
        REQUIRE(layout != nullptr);
        for (const Member& member : layout->members) {
          if (member.name == pointer.pointer_member) {
            CHECK(member.offset_B == pointer.pointer_B);
            CHECK(member.size_B == 8);
            ++found;
          }
          if (member.name == pointer.count_member) {
            CHECK(member.offset_B == pointer.count_B);
            CHECK(member.size_B == pointer.count_size);
            ++found;
          }
        }
      }
  CHECK(found >= 2 * amd::pointers().size());
}
