// SPDX-License-Identifier: MIT
// Command buffers of Adreno through KGSL and through msm, their packets assembled by hand.
#include "tests/tools/trace/client.h"
#include "tests/tools/trace/fake_devices.h"

namespace tiny::test {
namespace {

constexpr std::uint64_t kSize_B = 0x1000;

/// A dispatch of 4 x 2 x 1 groups: program, constants, registers, a timestamp at the end.
std::uint32_t put_dispatch(std::byte* at, std::uint64_t gpu) {
  const std::uint64_t code = gpu + 0x400, constants = gpu + 0x200, done = gpu + 0x800;
  put(at, {0x70268000,  // CP_WAIT_FOR_IDLE
           0x48a9b402,
           lo(code),
           hi(code),  // the program's address
           0x40a9b001,
           0x80100104,  // its registers
           0x70348003,
           1u << 14 | 2u << 16 | 0xdu << 18 | 4u << 22,
           lo(constants),
           hi(constants),
           0x70b30004,
           0,
           4,
           2,
           1,  // CP_EXEC_CS
           0x70460004,
           4,
           lo(done),
           hi(done),
           77,  // CP_EVENT_WRITE CACHE_FLUSH_TS
           0x70460001,
           0x31});  // an event with two meanings
  put(at + 0x200, {0x3f800000, 0x40000000, 0x40400000, 0x40800000});
  return 22;
}

void put_jump(std::byte* at, std::uint64_t gpu, std::uint32_t size_dw) {
  put(at, {0x70bf8003, lo(gpu), hi(gpu), size_dw});
}

struct Buffer {
  std::uint32_t id = 0;
  std::uint64_t gpu = 0;
  std::byte* cpu = nullptr;
};

/// USE_CPU_MAP: the GPU's address is the CPU's.
Buffer kgsl_shared(int fd) {
  Frame<48> args;
  call(fd, 0xc0300945, args.u64(0, kSize_B).u64(8, 1u << 28));
  Buffer buffer{args.get32(32), 0, nullptr};
  buffer.cpu = map_or_die(fd, kSize_B, std::uint64_t{buffer.id} << 12);
  buffer.gpu = reinterpret_cast<std::uint64_t>(buffer.cpu);
  return buffer;
}

/// The kernel chooses where the GPU sees it.
Buffer kgsl_placed(int fd) {
  Frame<48> args;
  call(fd, 0xc0300934, args.u64(8, kSize_B));
  Buffer buffer{args.get32(0), args.get64(24), nullptr};
  buffer.cpu = map_or_die(fd, kSize_B, std::uint64_t{buffer.id} << 12);
  return buffer;
}

std::uint64_t gem_info(int fd, std::uint32_t handle, std::uint32_t what) {
  Frame<24> args;
  call(fd, 0xc0186443, args.u32(0, handle).u32(4, what));
  return args.get64(8);
}

Buffer msm_buffer(int fd) {
  Frame<16> args;
  call(fd, 0xc0106442, args.u64(0, kSize_B).u32(8, 1u << 17));
  Buffer buffer{args.get32(12), 0, nullptr};
  const std::uint64_t offset_B = gem_info(fd, buffer.id, 0);
  buffer.gpu = gem_info(fd, buffer.id, 1);
  buffer.cpu = map_or_die(fd, kSize_B, offset_B);
  return buffer;
}

}  // namespace

void submit_kgsl() {
  close_inherited();
  const int fd = open_or_die(kKgsl);
  Frame<40> info;
  Frame<24> property;
  call(fd, 0xc0180902, property.u32(0, 1).u64(8, info.address()).u64(16, 40));
  Frame<8> context;
  call(fd, 0xc0080913, context.u32(0, 0x12));
  const Buffer ring = kgsl_shared(fd), work = kgsl_placed(fd);
  put_jump(ring.cpu, work.gpu, put_dispatch(work.cpu, work.gpu));
  Frame<32> command;
  command.u64(8, ring.gpu).u64(16, 16).u32(24, 1).u32(28, ring.id);
  Frame<64> submit;
  submit.u64(8, command.address()).u32(16, 32).u32(20, 1);
  call(fd, 0xc040094a, submit.u32(56, context.get32(4)));
  Frame<32> release;
  call(fd, 0x40200946, release.u32(16, work.id));
}

void submit_msm() {
  close_inherited();
  const int fd = open_or_die(kMsm);
  Frame<24> param;
  call(fd, 0xc0186440, param.u32(0, 0x10).u32(4, 3));  // CHIP_ID
  const Buffer buffer = msm_buffer(fd);
  put_jump(buffer.cpu, buffer.gpu + 0x100, put_dispatch(buffer.cpu + 0x100, buffer.gpu + 0x100));
  Frame<16> bo;
  bo.u32(0, 3).u32(4, buffer.id);
  Frame<32> command;
  command.u32(0, 1).u32(12, 16);
  Frame<72> submit;
  submit.u32(0, 0x10).u32(8, 1).u32(12, 1).u64(16, bo.address()).u64(24, command.address());
  call(fd, 0xc0486446, submit.u32(36, 2));
}

}  // namespace tiny::test
