// SPDX-License-Identifier: MIT
// Queues of /dev/kfd, their packets assembled by hand.
#include "tests/tools/trace/client.h"
#include "tests/tools/trace/fake_devices.h"

namespace tiny::test {
namespace {

// Free also under sanitizers; a page for each.
constexpr std::uint64_t kBase = 0x7e8000000000, kPage_B = 0x1000;
constexpr std::uint64_t kRing = kBase, kIb = kBase + kPage_B, kPointers = kBase + 2 * kPage_B;
constexpr std::uint64_t kRing2 = kBase + 3 * kPage_B, kCode = kBase + 4 * kPage_B,
                        kArguments = kBase + 5 * kPage_B, kData = kBase + 6 * kPage_B;
constexpr std::uint64_t kDoorbells = 3ull << 62 | 0x697dull << 46;  // an mmap offset
constexpr std::uint32_t kPm4 = 0, kSdma = 1, kAql = 2;

std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

void reserve(std::size_t pages) {
  if (::mmap(at(kBase), pages * kPage_B, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
    std::exit(5);
}

void allocate(int fd, std::uint64_t va, std::uint64_t handle) {
  Frame<40> args;
  args.u64(0, va).u64(8, kPage_B).u64(16, handle).u32(32, 0x697d).u32(36, 0xd6000002);  // GTT
  call(fd, 0xc0284b16, args);
}

struct Queue {
  std::uint32_t id = 0, type = 0;
  std::uint64_t ring = 0, ring_B = 0, pointers = 0, doorbell_B = 0;
};

void create(int fd, const Queue& queue) {
  Frame<96> args;
  args.u64(0, queue.ring).u64(8, queue.pointers).u64(16, queue.pointers + 8);
  args.u64(24, kDoorbells | queue.doorbell_B).u32(32, queue.ring_B).u32(36, 0x697d);
  args.u32(40, queue.type).u32(44, 100).u32(48, 7).u32(52, queue.id);
  call(fd, 0xc0604b02, args);
}

void destroy(int fd, std::uint32_t id) {
  Frame<8> args;
  call(fd, 0xc0084b03, args.u32(0, id));
}

void ring(std::byte* page, const Queue& queue, std::uint64_t wptr, std::uint64_t value) {
  *reinterpret_cast<volatile std::uint64_t*>(at(queue.pointers)) = wptr;
  barrier();
  *reinterpret_cast<volatile std::uint64_t*>(page + queue.doorbell_B) = value;
  barrier();
}

void versions_of(int fd) {
  Frame<8> version;
  call(fd, 0x80084b01, version);
}

/// An AQL kernel dispatch packet: 4 groups of 64 work-items.
void put_dispatch(std::byte* packet, std::uint64_t kernel, std::uint64_t arguments) {
  put(packet, {1u << 16 | 0x1502, 1u << 16 | 64, 1, 256, 1, 1, 0, 0, lo(kernel), hi(kernel),
               lo(arguments), hi(arguments), 0, 0, 0, 0});
}

/// kernel_descriptor_t: 24 bytes of arguments, code 0x100 behind, wave32.
void put_descriptor(std::byte* descriptor) {
  put(descriptor, {0, 0, 24, 0, 0x100, 0, 0, 0, 0, 0, 0, 0, 0x60af0041, 0x84, 0x408, 0});
}

void submit_sdma(std::byte* page, const Queue& queue) {
  put(at(kIb), {11 | 2u << 30, lo(kData), hi(kData), 0x55555555, 0xffc, 0, 0, 0});
  put(at(queue.ring), {1, 0xfff, 0, lo(kData), hi(kData), lo(kCode), hi(kCode),  // copy
                       5 | 3u << 16, lo(kPointers + 64), hi(kPointers + 64), 1,  // fence
                       6, 7,                                                     // trap
                       4, lo(kIb), hi(kIb), 8, 0, 0});                           // indirect
  ring(page, queue, 76, 76);
  put(at(queue.ring) + 76, {12u << 16});  // a NOP up to the end of the ring
  put(at(queue.ring), {6, 8});
  ring(page, queue, queue.ring_B + 8, queue.ring_B + 8);
}

void submit_aql(std::byte* page, const Queue& queue) {
  put_descriptor(at(kCode));
  put(at(kArguments), {lo(kData), hi(kData), lo(kData + 0x40), hi(kData + 0x40), 256, 0});
  put_dispatch(at(queue.ring), kCode, kArguments);
  put(at(queue.ring) + 64, {0x1503, 0, lo(kPointers + 64), hi(kPointers + 64)});  // barrier-and
  put(at(queue.ring) + 128, {1u << 16 | 0x1500, 0xc0023f00, lo(kIb + 0x100), hi(kIb + 0x100),
                             5 | 1u << 23, 10});  // the vendor's: a jump to PM4
  put(at(kIb) + 0x100, {0xc0031500, 2, 1, 1, 0x8005});
  ring(page, queue, 3, 2);  // the last packet's index
}

}  // namespace

void submit_amd_pm4(const char* mark) {
  close_inherited();
  reserve(3);
  const int fd = open_or_die(kKfd);
  versions_of(fd);
  allocate(fd, kRing, 1);
  allocate(fd, kIb, 2);
  const Queue queue{5, kPm4, kRing, kPage_B, kPointers, 8};
  create(fd, queue);
  std::byte* page = map_or_die(fd, 0x2000, kDoorbells);
  // DISPATCH_DIRECT 2 1 1 in the indirect buffer; the ring jumps there.
  put(at(kIb), {0xc0031500, 2, 1, 1, 0x8005});
  put(at(kRing), {0xc0023f00, lo(kIb), hi(kIb), 5 | 1u << 23});
  ring(page, queue, 4, 4);
  ring(page, queue, 4, 4);  // rung again: nothing new
  if (mark)
    while (::access(mark, F_OK) != 0) ::usleep(1000);
  destroy(fd, queue.id);
  ::munmap(page, 0x2000);
  ::close(fd);
}

void submit_amd_rings() {
  close_inherited();
  reserve(7);
  const int fd = open_or_die(kKfd);
  std::uint64_t handle = 0;
  for (const std::uint64_t va : {kRing, kIb, kRing2, kCode, kArguments, kData})
    allocate(fd, va, ++handle);
  const Queue sdma{6, kSdma, kRing, 128, kPointers, 0x10};
  const Queue aql{7, kAql, kRing2, kPage_B, kPointers + 32, 0x18};
  create(fd, sdma);
  create(fd, aql);
  std::byte* page = map_or_die(fd, 0x2000, kDoorbells);
  submit_sdma(page, sdma);
  submit_aql(page, aql);
  destroy(fd, sdma.id);
  destroy(fd, aql.id);
  ::munmap(page, 0x2000);
  ::close(fd);
}

}  // namespace tiny::test
