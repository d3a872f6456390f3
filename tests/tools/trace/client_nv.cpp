// SPDX-License-Identifier: MIT
// A compute channel as a user-space driver for Hopper makes it (classes c661, c86f, cbc0), with
// words assembled by hand: ring entries, methods, a launch descriptor of version 04_00.
#include <algorithm>

#include "tests/tools/trace/client.h"
#include "tests/tools/trace/fake_devices.h"

namespace tiny::test {
namespace {

constexpr std::uint64_t kMemory_B = 2 << 20;
constexpr std::uint64_t kControl = 0x200400000;  // ring, and USERD at +0x10000
constexpr std::uint64_t kWork = 0x200600000;     // pushbuffer; descriptor +0x1000; bank +0x2000
constexpr std::uint64_t kUserd_B = 0x10000, kQmd_B = 0x1000, kBank_B = 0x2000, kDone_B = 0x4000;

enum Object : std::uint32_t {
  kDevice = 0x5c000001,
  kSubdevice,
  kUsermode,
  kVaspace,
  kControlMemory,
  kWorkMemory,
  kTsg,
  kShare,
  kChannel,
  kCompute
};

/// The client of RM: allocations, controls, mappings.
class Rm {
 public:
  explicit Rm(const char* version) : ctl_(open_or_die(kNvidiaCtl)) {
    Frame<72> text;
    std::strncpy(reinterpret_cast<char*>(text.bytes.data()) + 8, version, 63);
    call(ctl_, 0xc04846d2, text);
    Frame<8> handle;
    Frame<48> root;
    root.u32(12, 0x41).u64(16, handle.address());
    call(ctl_, kRmAlloc, root);
    client_ = root.get32(8);
  }

  template <std::size_t kSize_B>
  void alloc(std::uint32_t parent, std::uint32_t object, std::uint32_t its_class,
             const Frame<kSize_B>& params) {
    Frame<48> args;
    args.u32(0, client_).u32(4, parent).u32(8, object).u32(12, its_class);
    call(ctl_, kRmAlloc, args.u64(16, params.address()).u32(32, kSize_B));
  }

  template <std::size_t kSize_B>
  void control(std::uint32_t object, std::uint32_t command, const Frame<kSize_B>& params) {
    Frame<32> args;
    args.u32(0, client_).u32(4, object).u32(8, command);
    call(ctl_, kRmControl, args.u64(16, params.address()).u32(24, kSize_B));
  }

  /// A fresh descriptor for every mapping, registered and told to RM first.
  std::byte* map(std::uint32_t object, std::size_t size_B) {
    const int fd = open_or_die("/dev/nvidia0");
    Frame<4> registered;
    call(fd, 0xc00446c9, registered.u32(0, static_cast<std::uint32_t>(ctl_)));
    Frame<56> args;
    args.u32(0, client_).u32(4, kSubdevice).u32(8, object).u64(24, size_B);
    call(ctl_, 0xc038464e, args.u32(48, static_cast<std::uint32_t>(fd)));
    return map_or_die(fd, size_B, 0);
  }

  void free(std::uint32_t parent, std::uint32_t object) {
    Frame<16> args;
    call(ctl_, 0xc0104629, args.u32(0, client_).u32(4, parent).u32(8, object));
  }

  std::uint32_t client() const { return client_; }
  int fd() const { return ctl_; }

 private:
  int ctl_ = -1;
  std::uint32_t client_ = 0;
};

/// Makes a memory object visible to the GPU at `va`.
void map_to_gpu(int uvm, const Rm& rm, std::uint32_t memory, std::uint64_t va) {
  Frame<24> range;
  call(uvm, 73, range.u64(0, va).u64(8, kMemory_B));
  static Frame<9264> map;  // 256 attributes of 36 bytes
  map = {};
  map.u64(0, va).u64(8, kMemory_B).u32(0x18 + 16, 1).u64(0x2418, 1);
  map.u32(0x2420, static_cast<std::uint32_t>(rm.fd())).u32(0x2424, rm.client());
  call(uvm, 33, map.u32(0x2428, memory));
}

struct Channel {
  Rm rm;
  int uvm = -1;
  std::byte *doorbell = nullptr, *control = nullptr, *work = nullptr;

  Channel(const char* version, std::uint32_t entries) : rm(version) {
    rm.alloc(rm.client(), kDevice, 0x80, Frame<56>().u32(4, rm.client()));
    rm.alloc(kDevice, kSubdevice, 0x2080, Frame<4>());
    rm.alloc(kSubdevice, kUsermode, 0xc661, Frame<2>());
    doorbell = rm.map(kUsermode, 0x10000) + 0x90;
    rm.alloc(kDevice, kVaspace, 0x90f1, Frame<56>().u32(4, 0x48).u64(0x28, 0x1000));
    uvm = open_or_die(kUvm);
    call(uvm, 0x30000001, initialize_.u64(0, 2));
    control = memory(kControlMemory, kControl);
    work = memory(kWorkMemory, kWork);
    make_channel(entries);
  }

  /// One more entry of the ring, not told yet.
  void entry(std::uint32_t index, std::uint32_t first, std::uint32_t second) {
    put(control + index * 8, {first, second});
  }
  void submit(std::uint32_t put_index) {
    put(control + kUserd_B + 0x8c, {put_index});
    barrier();
    *reinterpret_cast<volatile std::uint32_t*>(doorbell) = 0x2a;  // the channel's token
    barrier();
  }

 private:
  std::byte* memory(std::uint32_t object, std::uint64_t va) {
    Frame<128> params;
    params.u32(0, rm.client()).u32(8, 0x1c101).u32(24, 0x18000000);
    rm.alloc(kDevice, object, 0x40, params.u64(64, kMemory_B).u64(72, kMemory_B));
    std::byte* mapped = rm.map(object, kMemory_B);
    map_to_gpu(uvm, rm, object, va);
    return mapped;
  }

  void make_channel(std::uint32_t entries) {
    rm.alloc(kDevice, kTsg, 0xa06c, Frame<20>().u32(12, 1));
    rm.alloc(kTsg, kShare, 0x9067, Frame<12>().u32(0, kVaspace).u32(4, 1));
    Frame<368> params;
    params.u64(8, kControl).u32(16, entries).u32(0x18, kShare);
    rm.alloc(kTsg, kChannel, 0xc86f, params.u32(0x20, kControlMemory).u64(0x40, kUserd_B));
    rm.alloc(kChannel, kCompute, 0xcbc0, Frame<16>());
    rm.control(kChannel, 0xc36f0108, Frame<4>());
    rm.control(kTsg, 0xa06c0101, schedule());
  }

  static Frame<3> schedule() {
    Frame<3> params;
    params.bytes[0] = std::byte{1};
    return params;
  }

  Frame<16> initialize_;
};

/// Bits [high:low] of a launch descriptor, as the class headers number them.
void set_bits(std::byte* qmd, std::uint32_t high, std::uint32_t low, std::uint64_t value) {
  for (std::uint32_t bit = low; bit <= high; ++bit, value >>= 1)
    if (value & 1) qmd[bit / 8] |= std::byte(1u << bit % 8);
}

void fill_qmd(std::byte* qmd, std::uint64_t program, std::uint64_t bank, std::uint64_t bank_B) {
  set_bits(qmd, 583, 580, 4);  // version 04_00
  set_bits(qmd, 25, 23, 2);    // GRID_CTA
  set_bits(qmd, 568, 568, 1);  // no limit of API-visible calls
  set_bits(qmd, 1055, 1024, 160);
  set_bits(qmd, 1071, 1056, 2);
  set_bits(qmd, 1103, 1088, 1);
  set_bits(qmd, 1167, 1152, 256);
  set_bits(qmd, 1183, 1168, 1);
  set_bits(qmd, 1199, 1184, 1);
  set_bits(qmd, 1208, 1200, 40);  // registers
  set_bits(qmd, 1215, 1211, 1);   // barriers
  set_bits(qmd, 601, 584, 0x400);
  set_bits(qmd, 567, 544, 0x240);  // local memory, high part
  set_bits(qmd, 1247, 1216, program & 0xffffffff);
  set_bits(qmd, 1272, 1248, program >> 32);
  set_bits(qmd, 1567, 1536, bank >> 6 & 0xffffffff);
  set_bits(qmd, 1599, 1587, bank_B >> 4);
  set_bits(qmd, 416, 416, 1);
}

/// 24 words: the example of a ring entry 0x00600000 0x00006002.
void put_launch(std::byte* segment) {
  put(segment, {0x20012000,
                0xcbc0,  // SET_OBJECT
                0x200220a8,
                0x7294,
                0,  // shared memory window
                0x200125a6,
                0x1011,  // invalidate caches
                0x200120ad,
                (kWork + kQmd_B) >> 8,  // SEND_PCAS_A
                0x200120b0,
                0xa,  // SEND_SIGNALING_PCAS2_B
                0x20012044,
                0,  // WAIT_FOR_IDLE
                0x20050017,
                lo(kWork + kDone_B),
                hi(kWork + kDone_B),
                1,
                0,
                0x03100001,
                0x20018000,
                0xc8b5,  // SET_OBJECT of the copy engine
                0x200180c0,
                0x182,         // LAUNCH_DMA
                0x80002044});  // WAIT_FOR_IDLE, immediate
}

}  // namespace

void submit_nv(const char* version) {
  close_inherited();
  Channel channel(version, 1024);
  put_launch(channel.work);
  fill_qmd(channel.work + kQmd_B, kWork + 0x8000, kWork + kBank_B, 0x240);
  std::byte* bank = channel.work + kBank_B;
  put(bank, {256, 1, 1, 160, 2, 1});
  put(bank + 0x28, {0xfffdc0});
  put(bank + 0x210,
      {lo(kWork + 0x9000), hi(kWork + 0x9000), lo(kWork + 0xa000), hi(kWork + 0xa000), 10000});
  channel.entry(0, 0x00600000, 0x00006002);
  channel.submit(1);
  // A second one: only the new entry is of interest. WAIT_FOR_IDLE and a NOP.
  put(channel.work + 0x100, {0x20012044, 0, 0});
  channel.entry(1, 0x00600100, 0x00000c02);
  channel.submit(2);
  channel.rm.free(kTsg, kChannel);
  channel.rm.free(kDevice, kWorkMemory);
}

void submit_nv_wrap() {
  close_inherited();
  Channel channel("580.159.03", 4);
  put(channel.work, {0x20012000, 0xcbc0});
  for (std::uint32_t i = 0; i < 3; ++i) channel.entry(i, 0x00600000, 0x00000802);
  channel.submit(3);
  for (const std::uint32_t i : {3u, 0u, 1u}) channel.entry(i, 0x00600000, 0x00000802);
  channel.submit(2);
}

}  // namespace tiny::test
