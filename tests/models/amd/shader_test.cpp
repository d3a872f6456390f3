// SPDX-License-Identifier: MIT
// Dispatches on the model: results, LDS, scratch, faults, and each missing wait, acquire and
// release.
#include "tests/models/amd/client.h"

#include <chrono>

#include <catch2/catch.hpp>

using namespace kfd_test;

namespace {

// Machine code by llvm-mc -mcpu=gfx1100 -mattr=+wavefrontsize32; s[0:1] are the kernel arguments,
// s2 the workgroup.

// s_load_b128 s[4:7], s[0:1], null · v_and_b32 v0, 0x3ff, v0 · v_lshl_add_u32 v0, s2, 5, v0
// v_lshlrev_b32 v0, 2, v0 · s_waitcnt lgkmcnt(0) · global_load_b32 v1, v0, s[4:5] · s_waitcnt
// vmcnt(0) v_add_nc_u32 v1, 1, v1 · global_store_b32 v0, v1, s[6:7] · s_endpgm
const Words kIncrement{0xf4080100, 0xf8000000, 0x360000ff, 0x000003ff, 0xd6460000,
                       0x04010a02, 0x30000082, 0xbf89fc07, 0xdc520000, 0x01040000,
                       0xbf8903f7, 0x4a020281, 0xdc6a0000, 0x00060100, 0xbfb00000};
constexpr unsigned kAddend = 11;  ///< the word that has the inline constant 1

// Each thread stores its square in LDS and, after the barrier, reads that of thread 63 - itself:
// s_load_b64 s[4:5], s[0:1], null · v_and_b32 v0, 0x3ff, v0 · v_lshlrev_b32 v1, 2, v0
// v_mul_u32_u24 v2, v0, v0 · ds_store_b32 v1, v2 · s_waitcnt lgkmcnt(0) · s_barrier
// v_xor_b32 v3, 0xfc, v1 · ds_load_b32 v4, v3 · s_waitcnt lgkmcnt(0)
// global_store_b32 v1, v4, s[4:5] · s_endpgm
const Words kLds{0xf4040100, 0xf8000000, 0x360000ff, 0x000003ff, 0x30020082, 0x16040100,
                 0xd8340000, 0x00000201, 0xbf89fc07, 0xbfbd0000, 0x3a0602ff, 0x000000fc,
                 0xd8d80000, 0x04000003, 0xbf89fc07, 0xdc6a0000, 0x00040401, 0xbfb00000};
constexpr unsigned kBarrier = 9;

// v2 = 3 * thread goes through the private segment at offset 16:
// s_load_b64 s[4:5], s[0:1], null · v_and_b32 v0, 0x3ff, v0 · v_lshlrev_b32 v1, 2, v0
// v_mul_u32_u24 v2, 3, v0 · scratch_store_b32 off, v2, off offset:16 · s_waitcnt_vscnt null, 0
// scratch_load_b32 v4, off, off offset:16 · s_waitcnt vmcnt(0) lgkmcnt(0)
// global_store_b32 v1, v4, s[4:5] · s_endpgm
const Words kScratch{0xf4040100, 0xf8000000, 0x360000ff, 0x000003ff, 0x30020082,
                     0x16040083, 0xdc690010, 0x007c0200, 0xbc7c0000, 0xdc510010,
                     0x047c0000, 0xbf890007, 0xdc6a0000, 0x00040401, 0xbfb00000};

const Words kLoop{0xbfa0ffff};  // s_branch to itself
// s_load_b64 s[4:5], s[0:1], null · s_waitcnt lgkmcnt(0) · s_setpc_b64 s[4:5]
const Words kJump{0xf4040100, 0xf8000000, 0xbf89fc07, 0xbe804804};

constexpr uint32_t kRsrc1 = 0x60af0080, kRsrc2 = 0x84;

struct Bench {
  explicit Bench(Options o = quiet()) : model(o), c(model) {
    if (c.acquire() != 0) throw std::runtime_error("acquire");
    code = c.buffer(kPage, kVramPublic);
    args = c.buffer(kPage);
    host = c.buffer(4 * kPage);
    vram = c.buffer(4 * kPage, kVramPublic);
    queue = std::make_unique<TestQueue>(c, 0);
    if (queue->error) throw std::runtime_error("queue");
    load(kIncrement);
  }
  void load(const Words& words, unsigned at_B = 0) const {
    std::copy(words.begin(), words.end(), code.cpu(at_B));
  }
  /// Registers and dispatch of one kernel with pointers as its arguments.
  Words launch(std::initializer_list<uint64_t> pointers, uint32_t groups = 1, uint32_t threads = 32,
               uint32_t rsrc2 = kRsrc2, unsigned code_at_B = 0) {
    const uint64_t at = args.va + slot_++ * 64;
    unsigned i = 0;
    for (uint64_t p : pointers) args.cpu<uint64_t>(at - args.va)[i++] = p;
    return launch_at(at, groups, threads, rsrc2, code_at_B);
  }
  Words launch_at(uint64_t kernarg, uint32_t groups = 1, uint32_t threads = 32,
                  uint32_t rsrc2 = kRsrc2, unsigned code_at_B = 0) const {
    const uint64_t pc = code.va + code_at_B;
    return set_sh(0x20c, {lo(pc >> 8), hi(pc >> 8)}) + set_sh(0x212, {kRsrc1, rsrc2}) +
           set_sh(0x207, {threads, 1, 1}) + set_sh(0x240, {lo(kernarg), hi(kernarg)}) +
           dispatch(groups, 1, 1);
  }
  void run(const Words& words) {
    queue->submit(words);
    REQUIRE(model.run());
  }
  unsigned reported(Report::Kind kind) const { return count(model, kind); }

  Model model;
  Client c;
  Buffer code, args, host, vram;
  std::unique_ptr<TestQueue> queue;

 private:
  unsigned slot_ = 0;
};

uint64_t fence_of(const Bench& b) { return b.host.va + 3 * kPage; }

}  // namespace

TEST_CASE("A dispatch computes, and its release makes the result visible") {
  Bench b;
  for (unsigned i = 0; i < 256; ++i) b.host.cpu()[i] = i * i;
  const uint64_t out = b.vram.va;
  b.run(acquire() + b.launch({b.host.va, out}, 8));
  CHECK(b.vram.cpu()[5] == 0x7fff7fff);  // in GL2 still
  b.run(release(fence_of(b), 1));
  for (unsigned i = 0; i < 256; ++i) REQUIRE(b.vram.cpu()[i] == i * i + 1);
  CHECK(b.vram.cpu()[256] == 0x7fff7fff);
  CHECK(b.model.reports().empty());
  CHECK(b.model.stats().dispatches == 1);
  CHECK(b.model.stats().waves == 8);
  CHECK(b.model.stats().instructions == 8 * 10);
}

TEST_CASE("Waves of a workgroup meet at the barrier and share LDS") {
  Bench b;
  b.load(kLds);
  b.run(acquire() + b.launch({b.host.va}, 1, 64, kRsrc2 | 1u << 15) + release(fence_of(b), 1));
  for (unsigned i = 0; i < 64; ++i) REQUIRE(b.host.cpu()[i] == (63 - i) * (63 - i));
  CHECK(b.model.reports().empty());
}

TEST_CASE("A missing barrier is a race in LDS", "[amd:19]") {
  Bench b;
  Words code = kLds;
  code[kBarrier] = 0xbf800000;  // s_nop
  b.load(code);
  b.run(acquire() + b.launch({b.host.va}, 1, 64, kRsrc2 | 1u << 15));
  CHECK(b.reported(Report::Kind::shader) == 1);
}

TEST_CASE("LDS that was not asked for is out of range") {
  Bench b;
  b.load(kLds);
  b.run(acquire() + b.launch({b.host.va}, 1, 64));
  CHECK(mentions(b.model, Report::Kind::shader, "ds_store_b32"));
}

TEST_CASE("Each wave has its own scratch", "[amd:15]") {
  Bench b;
  b.load(kScratch);
  const Buffer scratch = b.c.buffer(64 << 10, kVramPrivate);
  // 4 waves an engine, 1024 bytes a wave: 32 bytes a lane.
  const Words setup =
      set_sh(0x218, {4u | 4u << 12}) + set_sh(0x210, {lo(scratch.va >> 8), hi(scratch.va >> 8)});
  b.run(acquire() + setup + b.launch({b.host.va}, 1, 128, kRsrc2 | 1) + release(fence_of(b), 1));
  for (unsigned i = 0; i < 128; ++i) REQUIRE(b.host.cpu()[i] == 3 * i);
  CHECK(b.model.reports().empty());
  b.run(set_sh(0x218, {4u}) + b.launch({b.host.va}, 1, 32, kRsrc2 | 1));
  CHECK(mentions(b.model, Report::Kind::packet, "WAVESIZE"));
}

// ---- order and caches

TEST_CASE("Dependent dispatches need the flush between them") {
  for (const bool flushed : {true, false}) {
    Bench b;
    const uint64_t x = b.vram.va, y = x + 4096;
    b.run(acquire() + b.launch({b.host.va, x}) + (flushed ? flush() : Words{}) + acquire() +
          b.launch({x, y}) + release(fence_of(b), 1));
    CHECK((b.reported(Report::Kind::wait) == 0) == flushed);
    if (flushed) CHECK(b.vram.cpu()[1024] == 2);
  }
}

TEST_CASE("Dependent dispatches need the acquire between them") {
  for (const uint32_t gcr : {kAcquireAll, kAcquireAll & ~(1u << 8), kAcquireAll & ~(1u << 9), 0u}) {
    Bench b;
    const uint64_t x = b.vram.va, y = x + 4096;
    b.run(acquire() + b.launch({b.host.va, x}) + flush() + (gcr ? acquire(gcr) : Words{}) +
          b.launch({x, y}) + release(fence_of(b), 1));
    CHECK((b.reported(Report::Kind::acquire) == 0) == (gcr == kAcquireAll));
    CHECK(b.reported(Report::Kind::wait) == 0);
  }
}

TEST_CASE("Overwriting what an earlier dispatch still reads is reported") {
  for (const bool flushed : {true, false}) {
    Bench b;
    const uint64_t x = b.vram.va, y = x + 4096;
    b.run(acquire() + b.launch({x, y}) + (flushed ? flush() : Words{}) + b.launch({b.host.va, x}));
    CHECK((b.reported(Report::Kind::wait) == 0) == flushed);
  }
}

TEST_CASE("Kernel arguments in a reused slot need the scalar cache invalidated") {
  for (const bool invalidated : {true, false}) {
    Bench b;
    const uint64_t at = b.args.va;
    uint64_t* const slot = b.args.cpu<uint64_t>();
    slot[0] = b.host.va;
    slot[1] = b.vram.va;
    b.run(acquire() + b.launch_at(at) + release(fence_of(b), 1));
    slot[1] = b.vram.va + 4096;
    b.run((invalidated ? acquire() : acquire(kAcquireAll & ~(1u << 7))) + b.launch_at(at) +
          release(fence_of(b), 2));
    CHECK((b.reported(Report::Kind::acquire) == 0) == invalidated);
    CHECK((b.vram.cpu()[1024] == 1) == invalidated);
  }
}

TEST_CASE("Inputs that the CPU changed need an acquire") {
  for (const bool acquired : {true, false}) {
    Bench b;
    const Words again = acquired ? acquire() : acquire(kAcquireAll & ~(1u << 8) & ~(1u << 9));
    b.run(acquire() + b.launch({b.host.va, b.vram.va}) + release(fence_of(b), 1));
    b.host.cpu()[3] = 500;
    b.run(again + b.launch({b.host.va, b.vram.va}) + release(fence_of(b), 2));
    CHECK((b.vram.cpu()[3] == 501) == acquired);
    CHECK((b.reported(Report::Kind::acquire) == 0) == acquired);
  }
}

TEST_CASE("Code that was replaced runs only after the instruction cache was invalidated",
          "[amd:12]") {
  for (const bool invalidated : {true, false}) {
    Bench b;
    b.run(acquire() + b.launch({b.host.va, b.vram.va}) + release(fence_of(b), 1));
    Words other = kIncrement;
    other[kAddend] = 0x4a020285;  // + 5
    b.load(other);
    b.run((invalidated ? acquire() : acquire(kAcquireAll & ~1u)) +
          b.launch({b.host.va, b.vram.va}) + release(fence_of(b), 2));
    CHECK(b.vram.cpu()[0] == (invalidated ? 5 : 1));
  }
}

TEST_CASE("A copy engine sees a dispatch's result after fence, wait and write-back") {
  struct Case {
    bool wait;
    uint32_t gcr;
    Report::Kind kind;
  };
  for (const Case& one :
       {Case{true, kGl2Wb, Report::Kind::ioctl}, Case{false, kGl2Wb, Report::Kind::wait},
        Case{true, 0, Report::Kind::release}}) {
    Bench b;
    TestQueue copies(b.c, 1);
    const uint64_t x = b.vram.va, fence = fence_of(b);
    if (one.wait) copies.put(sdma_poll(fence, 1));
    copies.put(sdma_copy(b.host.va + 4096, x, 128) + sdma_fence(fence + 64, 1));
    b.queue->put(acquire() + b.launch({b.host.va, x}) + release(fence, 1, one.gcr));
    copies.submit();
    b.queue->submit();
    REQUIRE(b.model.run());
    if (one.kind == Report::Kind::ioctl) {
      CHECK(b.model.reports().empty());
      CHECK(b.host.cpu()[1024] == 1);
    } else {
      CHECK(b.reported(one.kind) > 0);
    }
  }
}

TEST_CASE("A dispatch sees a copy after fence, wait and GL2 invalidate") {
  for (const int broken : {0, 1, 2}) {
    Bench b;
    TestQueue copies(b.c, 1);
    const uint64_t x = b.vram.va, fence = fence_of(b);
    copies.put(sdma_copy(x, b.host.va, 128) + sdma_fence(fence, 1));
    if (broken != 1) b.queue->put(wait_mem(fence, 1));
    b.queue->put(acquire(broken == 2 ? kAcquireAll & ~(1u << 14) : kAcquireAll) +
                 b.launch({x, b.host.va + 4096}) + release(fence + 64, 1));
    b.queue->submit();
    copies.submit();
    REQUIRE(b.model.run());
    CHECK((b.reported(Report::Kind::wait) > 0) == (broken == 1));
    CHECK((b.reported(Report::Kind::acquire) > 0) == (broken == 2));
  }
}

// ---- faults

namespace {

struct Caught {
  uint32_t flags[4] = {};
  uint64_t va = 0;
  bool signalled = false;
};

struct FaultBench : Bench {
  FaultBench() {
    Args enable;
    enable.at(8) = 1;
    // Queues exist already in Bench: enabled by a fresh one here would be refused.
    page = c.buffer(32768);
    REQUIRE(c.create_event(0, true, signal, page.handle) == 0);
    REQUIRE(c.create_event(8, false, memory) == 0);
  }
  Caught caught() const {
    std::vector<Client::EventData> data(1);
    data[0].w[10] = memory;
    uint32_t result = 9;
    REQUIRE(c.wait(data, 0, result) == 0);
    Caught k;
    std::copy_n(data[0].w, 4, k.flags);
    k.va = uint64_t(data[0].w[5]) << 32 | data[0].w[4];
    k.signalled = result == 0;
    return k;
  }
  Buffer page;
  uint32_t signal = 0, memory = 0;
};

}  // namespace

TEST_CASE("A load outside of all buffers is a page fault that names instruction and address",
          "[amd:23]") {
  FaultBench b;
  const uint64_t bad = b.host.va + b.host.size_B + (64 << 20);
  b.run(acquire() + b.launch({bad, b.vram.va}) + release(fence_of(b), 1));
  CHECK(b.reported(Report::Kind::fault) == 1);
  CHECK(mentions(b.model, Report::Kind::fault, "global_load_b32"));
  const Caught k = b.caught();
  CHECK(k.signalled);
  CHECK(k.flags[0] == 1);
  CHECK(k.va == bad);
  CHECK(b.host.cpu(3 * kPage)[0] == 0);  // the fence never comes
}

TEST_CASE("A store to read-only memory and a jump into data are faults of their kind", "[amd:23]") {
  {
    FaultBench b;
    Buffer read_only;
    REQUIRE(b.c.alloc(read_only, kPage, 0x50000001) == 0);
    REQUIRE(b.c.map(read_only) == 0);
    b.run(acquire() + b.launch({b.host.va, read_only.va}));
    CHECK(b.caught().flags[1] == 1);
  }
  {
    FaultBench b;
    Buffer data;
    REQUIRE(b.c.alloc(data, kPage, 0x96000002) == 0);
    REQUIRE(b.c.map(data) == 0);
    b.load(kJump);
    b.run(acquire() + b.launch({data.va}));
    CHECK(b.caught().flags[2] == 1);
    CHECK(b.caught().va == data.va);
  }
}

TEST_CASE("An illegal instruction stops the queue and reaches the save area's payload",
          "[amd:23]") {
  Model model(quiet());
  Client c(model);
  REQUIRE(c.acquire() == 0);
  Args enable;
  enable.at(8) = 1;
  REQUIRE(c.call(0x25, 16, enable) == 0);
  const Buffer page = c.buffer(32768), payload = c.buffer(kPage),
               code = c.buffer(kPage, kVramPublic);
  uint32_t id = 0;
  REQUIRE(c.create_event(0, true, id, page.handle) == 0);
  TestQueue q(c, 0);
  REQUIRE(q.error == 0);
  q.save.cpu<uint64_t>(24)[0] = payload.va;
  q.save.cpu(32)[0] = id;
  code.cpu()[0] = 0xffffffff;
  q.submit(set_sh(0x20c, {lo(code.va >> 8), hi(code.va >> 8)}) + set_sh(0x212, {kRsrc1, kRsrc2}) +
           set_sh(0x207, {32, 1, 1}) + dispatch(1, 1, 1));
  REQUIRE(model.run());
  CHECK(count(model, Report::Kind::shader) == 1);
  CHECK(payload.cpu<uint64_t>()[0] == 1u << 3);  // EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION is 4
  std::vector<Client::EventData> data(1);
  data[0].w[10] = id;
  uint32_t result = 9;
  REQUIRE(c.wait(data, 0, result) == 0);
  CHECK(result == 0);
}

TEST_CASE("An endless kernel leaves the kernel driver answering", "[amd:24]") {
  Bench b(quiet(false));
  b.load(kLoop);
  const Buffer page = b.c.buffer(32768);
  uint32_t id = 0;
  REQUIRE(b.c.create_event(0, true, id, page.handle) == 0);
  b.queue->submit(acquire() + b.launch({b.host.va}) + release(fence_of(b), 1));
  std::vector<Client::EventData> data(1);
  data[0].w[10] = id;
  uint32_t result = 9;
  REQUIRE(b.c.wait(data, 50, result) == 0);
  CHECK(result == 1);
  CHECK(b.host.cpu(3 * kPage)[0] == 0);
  CHECK(b.queue->destroy() == 0);
}

TEST_CASE("A dispatch can be made to hang, or to fault", "[amd:24]") {
  Bench b;
  b.model.hang_next_dispatch();
  b.run(acquire() + b.launch({b.host.va, b.vram.va}) + release(fence_of(b), 1));
  CHECK(b.host.cpu(3 * kPage)[0] == 0);
  FaultBench f;
  f.model.fault_next_dispatch(0, 0x123456000);
  f.run(acquire() + f.launch({f.host.va, f.vram.va}));
  CHECK(f.caught().va == 0x123456000);
}

TEST_CASE("Dispatches that cannot be are refused") {
  const auto refused = [](const char* text, const Words& words) {
    Bench b;
    b.queue->submit(b.launch({b.host.va, b.vram.va}) + words);
    REQUIRE(b.model.run());
    CHECK(mentions(b.model, Report::Kind::packet, text));
  };
  refused("1025 threads", set_sh(0x207, {1025}) + dispatch(1, 1, 1));
  refused("no threads", set_sh(0x207, {0}) + dispatch(1, 1, 1));
  refused("COMPUTE_SHADER_EN", dispatch(1, 1, 1, 0x8004));
  refused("not modelled", dispatch(1, 1, 1, 0x8105));
}
