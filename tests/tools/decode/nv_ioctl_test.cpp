// SPDX-License-Identifier: MIT
#include "tests/tools/decode/nv_call.h"
#include "tools/decode/nv_nested.h"
#include "tools/decode/nv_tables.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

using namespace nv_test;

namespace {

constexpr std::uint32_t kClient = 0xc1d00051, kDevice = 0x5c000001, kSubdevice = 0x5c000002,
                        kUsermode = 0x5c000003, kVaspace = 0x5c000004, kRing = 0x5c000005,
                        kNotifier = 0x5c000006, kGroup = 0x5c000007, kShare = 0x5c000008,
                        kChannel = 0x5c000009, kCompute = 0x5c00000a, kCopy = 0x5c00000b,
                        kDebugger = 0x5c00000c;
constexpr std::uint64_t kRingVa = 0x200600000;

Frame uuid(Frame frame, std::size_t offset) {
  return frame.u64(offset, 0x8877665544332211).u64(offset + 8, 0x00ffeeddccbbaa99);
}

/// Device files, client, device and subdevice.
void open_device(Process& p, std::vector<std::string>& out) {
  out.push_back(p.rm(0xd6, Frame(8), Frame(8).u64(0, 0x80000000)));
  out.push_back(
      p.rm(0xd2, Frame(72).u32(0, '2'), Frame(72).u32(0, '2').u32(4, 1).text(8, "580.159.03")));
  Frame cards(0x900);
  cards.put<std::uint8_t>(0, 1).put<std::uint8_t>(8, 0x1b).put<std::uint16_t>(12, 0x10de);
  cards.put<std::uint16_t>(14, 0x2335).u32(16, 0x1b00).u64(32, 0x1000000).u64(48, 0x4000000000);
  out.push_back(p.rm(0xc8, Frame(0x900), cards));
  out.push_back(p.rm(0xc9, Frame(4).u32(0, 3), Frame(4).u32(0, 3)));
  out.push_back(p.alloc(0, 0, 0, 0x41, Frame(4), 0, kClient));
  out.push_back(p.uvm(0x30000001, Frame(16).u64(0, 2), Frame(16).u64(0, 2)));
  out.push_back(p.uvm(75, Frame(8).u32(0, 7), Frame(8).u32(0, 7).u32(4, 0x10006)));
  out.push_back(p.control(kClient, kClient, 0x205, Frame(32).u32(0, 0x1b00),
                          Frame(32).u32(0, 0x1b00).u32(4, 1).u32(8, 0).u32(0xc, 0)));
  out.push_back(p.alloc(kClient, kClient, kDevice, 0x80, Frame(56).u32(4, kClient)));
  out.push_back(p.alloc(kClient, kDevice, kSubdevice, 0x2080, Frame(4)));
}

void query(Process& p, std::vector<std::string>& out) {
  const Frame classes = Frame(16).u32(0, 0xcbc0).u32(4, 0xc86f).u32(8, 0xc8b5).u32(12, 0xc661);
  out.push_back(p.control(kClient, kDevice, 0x800201, Frame(16).u32(0, 4).u64(8, 0x7000),
                          Frame(16).u32(0, 4).u64(8, 0x7000), 0,
                          {{0x7000, Frame(16).bytes(), classes.bytes()}}));
  const Frame asked = Frame(16).u32(0, 0x0c).u32(8, 0x14);
  const Frame told = Frame(16).u32(0, 0x0c).u32(4, 0x900).u32(8, 0x14).u32(12, 8);
  const Frame info = Frame(32).u32(0, 2).u64(8, 0x7000);
  out.push_back(p.control(kClient, kSubdevice, 0x20801201, info, info, 0,
                          {{0x7000, asked.bytes(), told.bytes()}}));
  out.push_back(p.control(
      kClient, kSubdevice, 0x20801303, Frame(1028).u32(0, 2).u32(4, 7).u32(12, 0x16),
      Frame(1028).u32(0, 2).u32(4, 7).u32(8, 0x8c00000).u32(12, 0x16).u32(16, 0x8a00000)));
}

void channel(Process& p, std::vector<std::string>& out) {
  out.push_back(p.alloc(kClient, kSubdevice, kUsermode, 0xc661, Frame(2)));
  out.push_back(p.rm(0x4e,
                     Frame(56)
                         .u32(0, kClient)
                         .u32(4, kSubdevice)
                         .u32(8, kUsermode)
                         .u64(0x18, 0x10000)
                         .u32(0x30, 9),
                     Frame(56)
                         .u32(0, kClient)
                         .u32(4, kSubdevice)
                         .u32(8, kUsermode)
                         .u64(0x18, 0x10000)
                         .u64(0x20, 0x9000000)
                         .u32(0x2c, 6u << 23)
                         .u32(0x30, 9)));
  out.push_back(p.control(kClient, kSubdevice, 0x2080200a, Frame(8).u32(0, 0x12).u32(4, ~0u),
                          Frame(8).u32(0, 0x12).u32(4, ~0u)));
  out.push_back(
      p.alloc(kClient, kDevice, kVaspace, 0x90f1, Frame(56).u32(4, 0x48).u64(0x28, 0x1000)));
  out.push_back(p.control(kClient, kSubdevice, 0x2080014a, Frame(268).u32(4, 2),
                          uuid(Frame(268).u32(4, 2).u32(8, 16), 0xc)));
  out.push_back(p.uvm(37, uuid(Frame(40).u32(0x18, ~0u), 0), uuid(Frame(40).u32(0x18, ~0u), 0)));
  const Frame space = uuid(Frame(32).u32(0x10, 3).u32(0x14, kClient).u32(0x18, kVaspace), 0);
  out.push_back(p.uvm(25, space, space));
  out.push_back(p.alloc(kClient, kDevice, kRing, 0x40,
                        Frame(128)
                            .u32(0, kClient)
                            .u32(8, 0x1c101)
                            .u32(0x18, 0x18000000)
                            .u64(0x40, 0x200000)
                            .u64(0x48, 0x200000)));
  out.push_back(p.uvm(73, Frame(24).u64(0, kRingVa).u64(8, 0x200000),
                      Frame(24).u64(0, kRingVa).u64(8, 0x200000)));
  Frame map = uuid(Frame(9264).u64(0, kRingVa).u64(8, 0x200000), 0x18);
  map.u32(0x28, 1).u64(0x2418, 1).u32(0x2420, 3).u32(0x2424, kClient).u32(0x2428, kRing);
  // Slots beyond the count are not the caller's words.
  map.u64(0x18 + 36, 0xbad).u32(0x18 + 36 * 255, 0xbad);
  out.push_back(p.uvm(33, map, map));
  out.push_back(p.alloc(kClient, kDevice, kNotifier, 0x3e,
                        Frame(128)
                            .u32(0, kDevice)
                            .u32(4, 0xd)
                            .u32(8, 0xc001)
                            .u32(0x18, 0x3a000000)
                            .u64(0x40, 0x1000)));
  out.push_back(p.alloc(kClient, kDevice, kGroup, 0xa06c, Frame(20).u32(0xc, 1)));
  out.push_back(p.alloc(kClient, kGroup, kShare, 0x9067, Frame(12).u32(0, kVaspace).u32(4, 1)));
  out.push_back(p.alloc(kClient, kGroup, kChannel, 0xc86f,
                        Frame(368)
                            .u32(0, kNotifier)
                            .u32(4, kRing)
                            .u64(8, kRingVa)
                            .u32(0x10, 1024)
                            .u32(0x18, kShare)
                            .u32(0x20, kRing)
                            .u64(0x40, 0x100000)));
  out.push_back(p.alloc(kClient, kChannel, kCompute, 0xcbc0, Frame(0)));
  out.push_back(p.alloc(kClient, kChannel, kCopy, 0xc8b5, Frame(8).u32(4, 1)));
}

void schedule(Process& p, std::vector<std::string>& out) {
  out.push_back(p.control(kClient, kChannel, 0xc36f0108, Frame(4), Frame(4).u32(0, 0x00020004)));
  out.push_back(p.control(kClient, kSubdevice, 0x20801218, Frame(16).u32(0, kChannel),
                          Frame(16).u32(0, kChannel).u64(8, 0x8000000)));
  const Frame registered = uuid(Frame(56)
                                    .u32(0x10, 3)
                                    .u32(0x14, kClient)
                                    .u32(0x18, kChannel)
                                    .u64(0x20, 0x1000000000)
                                    .u64(0x28, 0x40000000),
                                0);
  out.push_back(p.uvm(27, registered, registered));
  out.push_back(p.control(kClient, kGroup, 0xa06c0101, Frame(3).put<std::uint8_t>(0, 1),
                          Frame(3).put<std::uint8_t>(0, 1)));
  out.push_back(
      p.alloc(kClient, kDevice, kDebugger, 0x83de, Frame(12).u32(4, kClient).u32(8, kCompute)));
  out.push_back(p.control(kClient, kDebugger, 0x83de0309, Frame(4).u32(0, 3), Frame(4).u32(0, 3)));
  const Frame unregistered = uuid(Frame(28).u32(0x10, kClient).u32(0x14, kChannel), 0);
  out.push_back(p.uvm(28, unregistered, unregistered));
  const Frame freed = Frame(16).u32(0, kClient).u32(4, kGroup).u32(8, kChannel);
  out.push_back(p.rm(0x29, freed, freed));
  const Frame again = Frame(32).u32(0, kClient).u32(4, kChannel);
  out.push_back(p.rm(0x2a, again, Frame(again).u32(0x1c, 0x57)));
}

/// The whole sequence, one line a call.
std::string bring_up() {
  Process p("");
  std::vector<std::string> out;
  open_device(p, out);
  query(p, out);
  channel(p, out);
  schedule(p, out);
  std::string text;
  for (const std::string& line : out) text += line + "\n";
  return text;
}

constexpr const char* kGolden = NV_DATA "/bringup.golden.txt";

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("bring-up of an H200 reads as the calls that it is") {
  const std::string text = bring_up();
  INFO(text);
  CHECK((text == read_file(kGolden)));
}

TEST_CASE("write the golden text of the bring-up, to be reviewed", "[.bless]") {
  std::ofstream(kGolden) << bring_up();
}

TEST_CASE("a short frame of RM_ALLOC is NVOS21") {
  Process p;
  const Frame params = Frame(4).u32(0, 1);
  Frame frame(32);
  frame.u32(0, kClient).u32(4, kDevice).u32(8, kSubdevice).u32(0xc, 0x2080).u64(0x10, 0x5000);
  frame.u32(0x18, 4).u32(0x1c, 0x1a);
  CHECK(p.rm(0x2b, frame, frame, {{0x5000, params.bytes(), params.bytes()}}) ==
        "RM_ALLOC hRoot=0xc1d00051 hObjectParent=0x5c000001 hObjectNew=0x5c000002 "
        "hClass=NV20_SUBDEVICE_0 status=NV_ERR_INSUFFICIENT_RESOURCES subDeviceId=1");
  // It failed, so nobody is remembered.
  CHECK_FALSE(p.state.object_class(kClient, kSubdevice));
}

TEST_CASE("the two-step transport is decoded as what it carries") {
  Process p;
  const Frame params = Frame(4).u32(0, 0x77);
  Frame inner(32);
  inner.u32(0, kClient).u32(4, kChannel).u32(8, 0xc36f0108).u64(0x10, 0x9000).u32(0x18, 4);
  const Frame outer = Frame(16).u32(0, 0x2a).u32(4, 32).u64(8, 0x8000);
  CHECK(p.rm(0xd3, outer, outer,
             {{0x8000, inner.bytes(), inner.bytes()}, {0x9000, params.bytes(), params.bytes()}}) ==
        "RM_CONTROL by=IOCTL_XFER_CMD hClient=0xc1d00051 hObject=0x5c000009 "
        "cmd=NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN status=NV_OK workSubmitToken=0x77");
  CHECK(p.rm(0xd3, outer, outer) == "IOCTL_XFER_CMD cmd=RM_CONTROL size=0x20 ptr=0x8000");

  std::vector<Range> ranges = follow_nv(escape(0xd3, 16), outer.bytes());
  REQUIRE(ranges.size() == 1);
  CHECK((ranges[0].address == 0x8000 && ranges[0].size_B == 32));
  std::vector<Attachment> known = {{0x8000, inner.bytes(), {}}};
  ranges = follow_nv(escape(0xd3, 16), outer.bytes(), known);
  REQUIRE(ranges.size() == 1);
  CHECK((ranges[0].address == 0x9000 && ranges[0].size_B == 4));
  known.push_back({0x9000, params.bytes(), {}});
  CHECK(follow_nv(escape(0xd3, 16), outer.bytes(), known).empty());
}

TEST_CASE("handles carry their class until they or a parent are freed") {
  NvState state;
  state.add_object(1, 1, 0, 0x41);
  state.add_object(1, 10, 1, 0x80);
  state.add_object(1, 11, 10, 0x2080);
  state.add_object(1, 12, 11, 0xc661);
  state.add_object(2, 12, 2, 0x3e);
  CHECK(state.handle_text(1, 12) == "0xc(HOPPER_USERMODE_A)");
  CHECK(state.handle_text(2, 12) == "0xc(NV01_MEMORY_SYSTEM)");
  CHECK(state.handle_text(1, 99) == "0x63");
  CHECK(state.handle_text(1, 0) == "0");
  state.remove_object(1, 11);
  CHECK(state.handle_text(1, 12) == "0xc");
  CHECK(state.handle_text(1, 10) == "0xa(NV01_DEVICE_0)");
  state.remove_object(1, 1);
  CHECK(state.handle_text(1, 10) == "0xa");
  CHECK(state.handle_text(2, 12) == "0xc(NV01_MEMORY_SYSTEM)");
}

TEST_CASE("duplicates and heap allocations are objects too") {
  Process p;
  p.state.add_object(2, 0x30, 2, 0x3e);
  const Frame dup = Frame(28).u32(0, 1).u32(4, 0x10).u32(8, 0x40).u32(0xc, 2).u32(0x10, 0x30);
  CHECK(p.rm(0x34, dup, dup) ==
        "RM_DUP_OBJECT hClient=0x1 hParent=0x10 hObject=0x40(NV01_MEMORY_SYSTEM) hClientSrc=0x2 "
        "hObjectSrc=0x30(NV01_MEMORY_SYSTEM) flags=0 status=NV_OK");
  Frame heap(184);
  heap.u32(0, 1).u32(4, 0x10).u32(8, 2).u32(40, 1).u32(44, 0x50).u64(88, 0x1000);
  const std::string text = p.rm(0x4a, heap, heap);
  CHECK((contains(text, "function=ALLOC_SIZE") && contains(text, "status=NV_OK")));
  CHECK(contains(text, "data.AllocSize.hMemory=0x50(NV01_MEMORY_LOCAL_USER)"));
  CHECK_FALSE(contains(text, "AllocTiledPitchHeight"));
  CHECK(p.state.object_class(1, 0x50) == 0x40u);
  const Frame free = Frame(184).u32(0, 1).u32(4, 0x10).u32(8, 3).u32(44, 0x50);
  CHECK(contains(p.rm(0x4a, free, free), "data.Free.hMemory=0x50"));
  CHECK_FALSE(p.state.object_class(1, 0x50));
}

TEST_CASE("an unknown driver takes the nearest older branch and says so once") {
  Process p("575.51.02");
  CHECK(p.state.branch() == "570");
  const Frame params = Frame(2).put<std::uint8_t>(0, 1);
  const std::string first = p.control(1, 2, 0xa06c0101, params, params);
  CHECK(contains(first, " note=\"driver 575.51.02 is not in the tables: layouts of 570\""));
  CHECK_FALSE(contains(p.control(1, 2, 0xa06c0101, params, params), "note="));
  // The size given is that of another branch: 575.51.02 already has the 3 bytes of 580.
  const Frame grown = Frame(3).put<std::uint8_t>(0, 1).put<std::uint8_t>(2, 1);
  CHECK(
      contains(p.control(1, 2, 0xa06c0101, grown, grown), "bEnable=1 bSkipSubmit=0 bSkipEnable=1"));
  CHECK(Process("531.1").state.branch() == "550");
  CHECK(Process("620.06.00").state.branch() == "610");
  CHECK(Process("595.45.04").state.branch() == "595");
  CHECK(Process("").state.branch() == "580");
  CHECK(contains(Process("").control(1, 2, 0xa06c0101, grown, grown),
                 "note=\"driver version unknown: layouts of 580\""));
}

TEST_CASE("structures have the sizes that each driver gives them") {
  struct Drift {
    const char* structure;
    std::size_t sizes[5];  // 550, 570, 580, 590, 610
  };
  // Sizes as the kernel modules check them, from bring-up notes and gVisor.
  const Drift drifts[] = {
      {"NV_VASPACE_ALLOCATION_PARAMETERS", {48, 48, 56, 56, 56}},
      {"NV_CHANNEL_ALLOC_PARAMS", {360, 368, 368, 368, 376}},
      {"NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS", {2, 2, 3, 3, 3}},
      {"NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS", {2, 2, 3, 3, 3}},
      {"NVOS46_PARAMETERS", {56, 56, 64, 64, 64}},
      {"NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS", {700, 404, 804, 804, 804}},
      {"NV2080_CTRL_FB_GET_INFO_V2_PARAMS", {444, 460, 1028, 1028, 1028}},
      {"NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS", {256, 256, 384, 384, 384}},
      {"NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS", {132, 132, 132, 132, 68}},
      {"NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS", {260, 340, 340, 340, 340}},
      {"NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS", {6168, 6168, 9240, 9240, 9240}},
      {"UVM_FREE_PARAMS", {24, 24, 24, 16, 16}},
      {"UVM_UNREGISTER_CHANNEL_PARAMS", {28, 28, 28, 12, 12}},
      {"UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", {9264, 9264, 9264, 9264, 9264}},
      {"NVOS47_PARAMETERS", {48, 48, 48, 48, 48}},
  };
  const char* branches[] = {"550", "570", "580", "590", "610"};
  for (const Drift& drift : drifts)
    for (std::size_t i = 0; i < 5; ++i) {
      INFO(drift.structure << " in " << branches[i]);
      const StructLayout* layout = nv::structs().find(drift.structure, branches[i]);
      REQUIRE(layout);
      CHECK(layout->size_B == drift.sizes[i]);
    }
}

TEST_CASE("members move with the driver") {
  // hUserdMemory is at 0x20, from 610 on at 0x24; engineType at 0x80 and 0x88.
  Process old_driver("580.1"), new_driver("610.1");
  CHECK(contains(old_driver.alloc(1, 2, 3, 0xc86f, Frame(368).u32(0x20, 5).u32(0x80, 9)),
                 "hUserdMemory=[0x5,0,0,0,0,0,0,0] engineType=COPY0"));
  CHECK(contains(new_driver.alloc(1, 2, 3, 0xc86f, Frame(376).u32(0x24, 5).u32(0x88, 9)),
                 "hUserdMemory=[0x5,0,0,0,0,0,0,0] engineType=COPY0"));
  // The status of UVM_FREE is at 16 (of 24 bytes), from 590 on at 8 (of 16).
  const Frame freed = Frame(24).u64(0, 0x1000).u64(8, 0x2000).u32(16, 0x1f);
  CHECK(Process("580.1").uvm(34, freed, freed) ==
        "UVM_FREE base=0x1000 length=0x2000 rmStatus=NV_ERR_INVALID_ARGUMENT");
  CHECK(Process("590.1").uvm(34, Frame(24).u64(0, 0x1000).u32(8, 0x1f),
                             Frame(24).u64(0, 0x1000).u32(8, 0x1f)) ==
        "UVM_FREE base=0x1000 rmStatus=NV_ERR_INVALID_ARGUMENT");
}

TEST_CASE("a long parameter buffer of an allocation is read as far as the class reads it") {
  Process p;
  const std::string text = p.alloc(1, 1, 3, 0x80, Frame(512).u32(0x30, 1).u32(100, 0xbad));
  CHECK(contains(text, "vaMode=SINGLE_VASPACE"));
  CHECK_FALSE(contains(text, "bad"));
}

TEST_CASE("truncated arguments say what is missing") {
  Process p;
  const Frame frame = Frame(10).u32(0, 1).u32(4, 2);
  CHECK(to_text(decode_nvidia_ioctl({escape(0x2a, 32), -14, frame.bytes(), {}, {}}, p.state,
                                    no_symbols())) ==
        "RM_CONTROL hClient=0x1 hObject=0x2 cmd[:2]=0000 truncated=22 "
        "result=-EFAULT");
  CHECK(contains(p.control(1, 2, 0x205, Frame(6).u32(0, 7), Frame(6).u32(0, 7)), "gpuId=7"));
}

TEST_CASE("what controls and allocations point to is followed") {
  const Frame control = Frame(32).u32(8, 0x800201).u64(0x10, 0x4000).u32(0x18, 16);
  const Frame params = Frame(16).u32(0, 5).u64(8, 0x6000);
  std::vector<Range> ranges = follow_nv(escape(0x2a, 32), control.bytes());
  REQUIRE(ranges.size() == 1);
  CHECK((ranges[0].address == 0x4000 && ranges[0].size_B == 16));
  const Attachment known[] = {{0x4000, params.bytes(), {}}};
  ranges = follow_nv(escape(0x2a, 32), control.bytes(), known);
  REQUIRE(ranges.size() == 1);
  CHECK((ranges[0].address == 0x6000 && ranges[0].size_B == 20));
  ranges = follow_nv_next(escape(0x2a, 32), control.bytes(), params.bytes());
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].size_B == 20);

  // By class where the size is not given: NVOS64 of a channel, the largest of all drivers.
  const Frame alloc = Frame(48).u32(0xc, 0xc86f).u64(0x10, 0x4000).u64(0x18, 0x5000);
  ranges = follow_nv(escape(0x2b, 48), alloc.bytes());
  REQUIRE(ranges.size() == 2);
  CHECK((ranges[0].size_B == 376 && ranges[1].address == 0x5000));
  // Sizes that no caller means are clamped, null pointers and other devices are nothing.
  const Frame huge = Frame(32).u64(0x10, 0x4000).u32(0x18, ~0u);
  CHECK(follow_nv(escape(0x2a, 32), huge.bytes()).at(0).size_B == kFollowLimit_B);
  CHECK(follow_nv(escape(0x2a, 32), Frame(32).u32(0x18, 8).bytes()).empty());
  CHECK(follow_nv(0xc0206d2a, control.bytes()).empty());
  CHECK(follow_nv(escape(0x2a, 32), {}).empty());
}

TEST_CASE("sizes that the recorder knows by heart are the largest of the tables") {
  const auto largest = [](std::string_view structure) {
    std::size_t size = 0;
    for (const char* branch : {"550", "570", "580", "590", "595", "610"})
      if (const StructLayout* layout = nv::structs().find(structure, branch))
        size = std::max<std::size_t>(size, layout->size_B);
    return size;
  };
  for (const auto& [value, name] : nv::all_names("class")) {
    INFO(name->name);
    const auto id = static_cast<std::uint32_t>(value);
    if (!name->params.empty()) CHECK(nv::alloc_params_size(id) == largest(name->params));
  }
  for (const auto& [value, name] : nv::all_names("uvm")) {
    INFO(name->name);
    const auto number = static_cast<std::uint32_t>(value);
    CHECK(uvm_argument_size(number) == (name->params.empty() ? 0 : largest(name->params)));
  }
  CHECK(uvm_argument_size(33) == 9264);
  CHECK(uvm_argument_size(0x12345) == 0);
}
