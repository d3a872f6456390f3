// SPDX-License-Identifier: MIT
// The packet processors: PM4, SDMA and AQL queues, fences, waits, interrupts, and what they refuse.
#include "tests/models/amd/client.h"

#include <chrono>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

using namespace kfd_test;

namespace {

struct Bench {
  explicit Bench(Options o = quiet()) : model(o), c(model) {
    if (c.acquire() != 0) throw std::runtime_error("acquire");
    memory = c.buffer(4 * kPage);
  }
  uint32_t word(unsigned i) const { return std::atomic_ref<uint32_t>(memory.cpu()[i]).load(); }
  Model model;
  Client c;
  Buffer memory;
};

}  // namespace

TEST_CASE("A PM4 queue writes memory, moves its read pointer and signals") {
  Bench b;
  TestQueue q(b.c, 0);
  REQUIRE(q.error == 0);
  const uint64_t at = b.memory.va;
  q.submit(write_data(at, {1, 2, 3}) + nop(5) + nop(1) + release(at + 16, 0x1234567890));
  CHECK(b.model.run());
  CHECK(b.word(0) == 1);
  CHECK(b.word(2) == 3);
  CHECK(b.memory.cpu<uint64_t>()[2] == 0x1234567890);
  CHECK(q.read() == 7 + 5 + 1 + 8);
  CHECK(b.model.reports().empty());
  CHECK(b.model.stats().pm4_packets == 4);
}

TEST_CASE("Indirect buffers run, nest once, and return to the ring") {
  Bench b;
  TestQueue q(b.c, 0);
  const Buffer ib = b.c.buffer(kPage), inner = b.c.buffer(kPage);
  const uint64_t at = b.memory.va;
  const Words deep = write_data(at + 4, {22});
  std::copy(deep.begin(), deep.end(), inner.cpu());
  const Words outer =
      write_data(at, {11}) + indirect(inner.va, uint32_t(deep.size())) + write_data(at + 8, {33});
  std::copy(outer.begin(), outer.end(), ib.cpu());
  q.submit(indirect(ib.va, uint32_t(outer.size())) + write_data(at + 12, {44}));
  CHECK(b.model.run());
  for (unsigned i = 0; i < 4; ++i) CHECK(b.word(i) == 11 * (i + 1));
  CHECK(q.read() == 4 + 5);
  CHECK(b.model.reports().empty());
}

TEST_CASE("A wait holds the queue until memory says so") {
  Bench b;
  TestQueue q(b.c, 0);
  const uint64_t at = b.memory.va;
  q.submit(wait_mem(at, 5) + write_data(at + 4, {1}));
  CHECK(b.model.run());
  CHECK(b.word(1) == 0);
  b.memory.cpu()[0] = 6;
  CHECK(b.model.run());
  CHECK(b.word(1) == 1);
}

TEST_CASE("Malformed packets stop the queue and are named") {
  const struct {
    Words words;
    const char* text;
  } cases[] = {
      {{0x12345678}, "not a type 3"},
      {{pm4(0xee, 1), 0}, "unknown opcode 0xee"},
      {{pm4(0x49, 3), 0, 0, 0}, "RELEASE_MEM has 4 dwords"},
      {{pm4(0x10, 200), 0}, "asks for 201 dwords, 2 are left"},
      {release(0x1000004, 1), "not aligned to 8"},
      {release(0x1000000, 1, 1u << 29), "RELEASE_MEM dword 1"},
      {{pm4(0x58, 7), 0, 0, 0x100, 0, 0, 0, 0}, "ACQUIRE_MEM dword 3"},
      {{pm4(0x3f, 3), 0, 1, 4}, "without VALID"},
      {{pm4(0x46, 1), 7}, "index 0, not 4"},
      {{pm4(0x46, 1), 0x123}, "type 0x23"},
      {set_sh(0x100, {1}), "register 0x100"},
      {dispatch(1, 1, 1), "before SH register"},
      {{pm4(0x76, 1) | 1, 0x212}, "predicate"},
      {{pm4(0x40, 5), 0, 0, 0, 0, 0}, "src_sel 0"},
      {{pm4(0x1e, 8), 99, 0, 0, 0, 0, 0, 0, 0}, "operation 99"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    Bench b;
    TestQueue q(b.c, 0);
    q.submit(nop(2) + one.words);
    CHECK(b.model.run());
    CHECK(mentions(b.model, Report::Kind::packet, one.text));
    CHECK(mentions(b.model, Report::Kind::packet, "ring offset 0x8"));
    q.submit(write_data(b.memory.va, {1}));
    CHECK(b.model.run());
    CHECK(b.word(0) == 0);  // it stays stopped
  }
}

TEST_CASE("Unmapped and read-only addresses are page faults with MEMORY events") {
  Bench b;
  TestQueue q(b.c, 0);
  Buffer page = b.c.buffer(32768), read_only;
  uint32_t id = 0, memory_event = 0;
  REQUIRE(b.c.create_event(0, true, id, page.handle) == 0);
  REQUIRE(b.c.create_event(8, false, memory_event) == 0);
  REQUIRE(b.c.alloc(read_only, kPage, 0x56000002) == 0);
  REQUIRE(b.c.map(read_only) == 0);
  q.submit(write_data(read_only.va + 0x10, {1}));
  CHECK(b.model.run());
  CHECK(mentions(b.model, Report::Kind::fault, "read-only"));
  std::vector<Client::EventData> data(1);
  data[0].w[10] = memory_event;
  uint32_t result = 9;
  REQUIRE(b.c.wait(data, 0, result) == 0);
  CHECK(result == 0);
  CHECK(data[0].w[0] == 0);
  CHECK(data[0].w[1] == 1);  // ReadOnly
  CHECK((uint64_t(data[0].w[5]) << 32 | data[0].w[4]) == read_only.va);
  CHECK(data[0].w[6] == b.c.gpu_id);
}

TEST_CASE("A fault on one GPU leaves the other alone", "[amd:23]") {
  Options o = quiet();
  o.gpus = 2;
  Model model(o);
  Client first(model, 0), second(model, 1);
  REQUIRE(first.acquire() == 0);
  REQUIRE(second.acquire() == 0);
  TestQueue bad(first, 0), other(first, 0), good(second, 0);
  const Buffer memory = second.buffer(kPage);
  bad.submit(write_data(0x10000000, {1}));
  CHECK(model.run());
  CHECK(mentions(model, Report::Kind::fault, "page not present at 0x10000000"));
  good.submit(write_data(memory.va, {7}));
  other.submit(nop(2));
  CHECK(model.run());
  CHECK(memory.cpu()[0] == 7);
  CHECK(other.read() == 0);  // all queues of the GPU stop
}

TEST_CASE("Impossible doorbells are reported", "[amd:9]") {
  {
    Bench b;
    TestQueue q(b.c, 0);
    q.put(write_data(b.memory.va, {1}));
    q.ring_doorbell(0, 5);  // before the write pointer was stored
    CHECK(b.model.run());
    CHECK(mentions(b.model, Report::Kind::doorbell, "ahead of the write pointer"));
  }
  {
    Bench b;
    TestQueue q(b.c, 0);
    q.ring_doorbell(2000, 2000);  // the ring has 1024 dwords
    CHECK(b.model.run());
    CHECK(mentions(b.model, Report::Kind::packet, "more than the ring"));
  }
  {
    Bench b;
    TestQueue q(b.c, 0);
    *reinterpret_cast<uint32_t*>(q.doorbell) = 5;
    CHECK(b.model.run());
    CHECK(mentions(b.model, Report::Kind::doorbell, "64-bit"));
  }
}

TEST_CASE("100000 packets of random sizes go round a PM4 ring, none lost, none twice", "[amd:8]") {
  Bench b;
  TestQueue q(b.c, 0, 1024);
  REQUIRE(q.error == 0);
  std::mt19937 random(7);
  uint32_t packets = 0;
  const Words count{pm4(0x1e, 8), 47, lo(b.memory.va), hi(b.memory.va), 1, 0, 0, 0, 0};
  while (packets < 100'000) {
    while (q.written + 40 - q.read() < 256) {
      q.put(nop(1 + random() % 30));
      q.put(count);
      packets += 2;
    }
    q.submit();
    for (unsigned steps = random() % 100; steps > 0; --steps) b.model.step();  // the reader lags
    if (random() % 8 == 0) REQUIRE(b.model.run());
  }
  REQUIRE(b.model.run());
  CHECK(b.memory.cpu<uint64_t>()[0] == packets / 2);
  CHECK(b.model.reports().empty());
}

TEST_CASE("100000 packets of random sizes go round an SDMA ring, none across its end", "[amd:8]") {
  Bench b;
  TestQueue q(b.c, 1, 4096);
  REQUIRE(q.error == 0);
  std::mt19937 random(8);
  uint64_t packets = 0, counted = 0;
  const Words count{10 | 47u << 25, lo(b.memory.va), hi(b.memory.va), 1, 0, 0, 0, 0};
  const auto room_dw = [&] { return 1024 - 8 - (q.written - q.read() / 4); };
  const auto put = [&](const Words& words) {
    const uint64_t to_end = 1024 - q.written % 1024;
    if (words.size() > to_end) q.put(Words(to_end, 0));  // NOPs of one dword
    q.put(words);
    ++packets;
  };
  while (packets < 100'000) {
    while (room_dw() > 100) {
      Words gap(1 + random() % 40, 0xabcd);
      gap[0] = uint32_t(gap.size() - 1) << 16;
      put(gap);
      put(count);
      ++counted;
    }
    q.submit();
    for (unsigned steps = random() % 100; steps > 0; --steps) b.model.step();
    if (random() % 8 == 0) REQUIRE(b.model.run());
  }
  REQUIRE(b.model.run());
  CHECK(b.memory.cpu<uint64_t>()[0] == counted);
  CHECK(b.model.reports().empty());
}

TEST_CASE("COPY_DATA, ATOMIC_MEM, DMA_DATA and COND_EXEC do what they say") {
  Bench b;
  TestQueue q(b.c, 0);
  const uint64_t at = b.memory.va;
  b.memory.cpu<uint64_t>()[0] = 0x1111111122222222;
  b.memory.cpu<uint64_t>()[4] = 40;
  const Words copy{pm4(0x40, 5), 2 | 2u << 8 | 1u << 16, lo(at), hi(at), lo(at + 8), hi(at + 8)};
  const Words clock{pm4(0x40, 5), 9 | 2u << 8 | 1u << 16, 0, 0, lo(at + 16), hi(at + 16)};
  const Words add{pm4(0x1e, 8), 47, lo(at + 32), hi(at + 32), 2, 0, 0, 0, 0};
  const Words dma{pm4(0x50, 6), 0, lo(at), hi(at), lo(at + 64), hi(at + 64), 8};
  const Words fill{pm4(0x50, 6), 2u << 29, 0xabcdef01, 0, lo(at + 72), hi(at + 72), 8};
  const Words skip{pm4(0x22, 4), lo(at + 128), hi(at + 128), 0, 5};
  q.submit(copy + clock + add + dma + fill + skip + write_data(at + 132, {9}) +
           write_data(at + 136, {8}) + release(at + 144, 1));
  CHECK(b.model.run());
  CHECK(b.memory.cpu<uint64_t>()[1] == 0x1111111122222222);
  CHECK(b.memory.cpu<uint64_t>()[2] != 0);
  CHECK(b.memory.cpu<uint64_t>()[4] == 42);
  CHECK(b.memory.cpu<uint64_t>()[8] == 0x1111111122222222);
  CHECK(b.word(18) == 0xabcdef01);
  CHECK(b.word(33) == 0);  // skipped: the condition is 0
  CHECK(b.word(34) == 8);
  CHECK(b.model.reports().empty());
}

// ---- interrupts

TEST_CASE("An interrupt wakes the event whose slot was written, and only then",
          "[amd:21][amd:22]") {
  for (const bool with_slot : {true, false}) {
    Bench b;
    TestQueue q(b.c, 0);
    Buffer page = b.c.buffer(32768);
    uint32_t id = 0;
    REQUIRE(b.c.create_event(0, true, id, page.handle) == 0);
    const uint64_t slot = with_slot ? page.va + id * 8 : b.memory.va;
    q.submit(release(slot, id, 0, 2, id));
    CHECK(b.model.run());
    std::vector<Client::EventData> data(1);
    data[0].w[10] = id;
    uint32_t result = 9;
    REQUIRE(b.c.wait(data, 0, result) == 0);
    CHECK(result == (with_slot ? 0 : 1));
    CHECK(page.cpu<uint64_t>()[id] == ~0ull);
  }
}

TEST_CASE("With its thread, the chip answers doorbells and wakes waiters") {
  Bench b(quiet(false));
  TestQueue q(b.c, 0);
  TestQueue s(b.c, 1, 16384);
  Buffer page = b.c.buffer(32768);
  uint32_t id = 0;
  REQUIRE(b.c.create_event(0, true, id, page.handle) == 0);
  for (uint32_t i = 1; i <= 200; ++i) {
    const uint64_t at = b.memory.va;
    // SDMA waits for PM4, PM4's result is copied, SDMA wakes us.
    s.submit(sdma_poll(at, i) + sdma_copy(at + 64, at + 32, 4) + sdma_fence(page.va + id * 8, id) +
             sdma_trap(id));
    q.submit(write_data(at + 32, {i * 3}) + release(at, i));
    std::vector<Client::EventData> data(1);
    data[0].w[10] = id;
    uint32_t result = 9;
    REQUIRE(b.c.wait(data, 20'000, result) == 0);
    REQUIRE(result == 0);
    REQUIRE(b.word(16) == i * 3);
  }
  CHECK(b.model.reports().empty());
}

// ---- SDMA

TEST_CASE("SDMA copies, fills, writes, counts and stamps", "[amd:21]") {
  Bench b;
  TestQueue q(b.c, 1);
  const uint64_t at = b.memory.va;
  for (unsigned i = 0; i < 64; ++i) b.memory.cpu()[i] = i * 17;
  const Words fill{11 | 2u << 30, lo(at + 1024), hi(at + 1024), 0xcafe, 15};
  const Words write{2, lo(at + 2048), hi(at + 2048), 1, 71, 72};
  const Words stamp{13 | 2u << 8, lo(at + 3072), hi(at + 3072)};
  const Words add{10 | 0x2fu << 25, lo(at + 4096), hi(at + 4096), 5, 0, 0, 0, 0};
  q.submit(sdma_copy(at + 512, at, 255) + fill + write + stamp + add + Words{2u << 16, 1, 2} +
           sdma_fence(at + 4104, 3));
  CHECK(b.model.run());
  CHECK(std::memcmp(b.memory.cpu<char>(512), b.memory.cpu<char>(0), 255) == 0);
  CHECK(b.memory.cpu<char>(512)[255] == 0);
  for (unsigned i = 0; i < 4; ++i) CHECK(b.word(256 + i) == 0xcafe);
  CHECK(b.word(260) == 0);
  CHECK(b.word(512) == 71);
  CHECK(b.word(513) == 72);
  CHECK(b.memory.cpu<uint64_t>(3072)[0] != 0);
  CHECK(b.memory.cpu<uint64_t>(4096)[0] == 5);
  CHECK(b.word(1026) == 3);
  CHECK(b.model.reports().empty());
  CHECK(q.read() == q.written * 4);
}

TEST_CASE("SDMA refuses what its engine would", "[amd:21]") {
  const struct {
    Words words;
    const char* text;
  } cases[] = {
      {{0x55}, "unknown packet header"},
      {{1 | 1u << 28, 0, 0, 0, 0, 0, 0}, "COPY_LINEAR dword 0"},
      {{1, 1u << 30, 0, 0, 0, 0, 0}, "COPY_LINEAR dword 1"},
      {{1, 3}, "packet of 7 dwords, 2 are left"},
      {{5, 2, 0, 0}, "misaligned"},
      {{13 | 2u << 8, 4, 0}, "not aligned to 8"},
      {{4, 32, 0, 7, 0, 0}, "not of 8s"},
      {{8 | 7u << 28 | 1u << 31, 0, 0, 0, 0, 0}, "function 7"},
      {{6, 1u << 28}, "TRAP dword 1"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    Bench b;
    TestQueue q(b.c, 1);
    q.submit(one.words);
    CHECK(b.model.run());
    CHECK(mentions(b.model, Report::Kind::packet, one.text));
  }
  Bench b;
  TestQueue q(b.c, 1);
  q.submit(Words{1021u << 16} + Words(1021, 0));
  CHECK(b.model.run());
  CHECK(b.model.reports().empty());
  q.submit(sdma_copy(b.memory.va, b.memory.va, 4));
  CHECK(b.model.run());
  CHECK(mentions(b.model, Report::Kind::packet, "straddles the end"));
}

TEST_CASE("Large and overlapping SDMA copies", "[amd:21]") {
  Bench b;
  TestQueue q(b.c, 1);
  constexpr uint64_t kSize = (4 << 20) + 1;
  const Buffer from = b.c.buffer(5 << 20, kVramPublic), to = b.c.buffer(5 << 20, kVramPublic);
  for (uint64_t i = 0; i < kSize; ++i) from.cpu<uint8_t>()[i] = uint8_t(i * 31 + i / 251);
  q.submit(sdma_copy(to.va, from.va, kSize) + sdma_copy(from.va, from.va + 3, 100'000));
  CHECK(b.model.run());
  bool same = true;
  for (uint64_t i = 0; i < kSize; ++i)
    same = same && to.cpu<uint8_t>()[i] == uint8_t(i * 31 + i / 251);
  CHECK(same);
  CHECK(to.cpu<uint8_t>()[kSize] == 0x7f);  // still poison
  for (uint64_t i = 0; i < 100'000; ++i)
    same = same && from.cpu<uint8_t>()[i] == uint8_t((i + 3) * 31 + (i + 3) / 251);
  CHECK(same);
  CHECK(b.model.reports().empty());
}

TEST_CASE("Two queues that copy over each other's data must be ordered") {
  for (const bool ordered : {true, false}) {
    Bench b;
    TestQueue first(b.c, 1), second(b.c, 1);
    const uint64_t at = b.memory.va;
    first.put(sdma_copy(at + 4096, at + 8192, 256) + sdma_fence(at, 1));
    if (ordered) second.put(sdma_poll(at, 1));
    second.put(sdma_copy(at + 12288, at + 4096, 256));
    first.submit();
    second.submit();
    CHECK(b.model.run());
    CHECK((count(b.model, Report::Kind::wait) == 0) == ordered);
  }
}

// ---- AQL

namespace {

struct AqlQueue : TestQueue {
  explicit AqlQueue(Client& c) : TestQueue(c, 2) {
    for (unsigned i = 0; i < ring.size_B / 64; ++i) ring.cpu<uint16_t>(i * 64)[0] = 1;
  }
  uint8_t* slot() { return ring.cpu<uint8_t>(packets * 64 % ring.size_B); }
  template <class T>
  static void field(uint8_t* at, unsigned offset, T value) {
    std::memcpy(at + offset, &value, sizeof value);
  }
  void publish(uint8_t* at, uint16_t header) {
    std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(at)).store(header);
    ++packets;
    ring_doorbell(packets, packets - 1);
  }
  void barrier_and(uint64_t dependency, uint64_t completion, uint16_t type = 3) {
    uint8_t* const at = slot();
    std::memset(at + 2, 0, 62);
    field(at, 8, dependency);
    field(at, 0x38, completion);
    publish(at, uint16_t(type | 1u << 8 | 2u << 9 | 2u << 11));
  }
  uint64_t packets = 0;
};

}  // namespace

TEST_CASE("AQL barriers wait for signals and complete others") {
  Bench b;
  AqlQueue q(b.c);
  REQUIRE(q.error == 0);
  Buffer page = b.c.buffer(32768);
  uint32_t id = 0;
  REQUIRE(b.c.create_event(0, true, id, page.handle) == 0);
  int64_t* const dependency = b.memory.cpu<int64_t>(0);
  int64_t* const done = b.memory.cpu<int64_t>(64);
  dependency[1] = 1;
  done[1] = 1;
  done[2] = int64_t(page.va + id * 8);
  done[3] = id;
  q.barrier_and(b.memory.va, b.memory.va + 64);
  CHECK(b.model.run());
  CHECK(done[1] == 1);
  dependency[1] = 0;
  CHECK(b.model.run());
  CHECK(done[1] == 0);
  CHECK(done[5] >= done[4]);
  CHECK(q.read() == 1);
  CHECK(*q.ring.cpu<uint16_t>() == 1);  // the slot is free again
  std::vector<Client::EventData> data(1);
  data[0].w[10] = id;
  uint32_t result = 9;
  REQUIRE(b.c.wait(data, 0, result) == 0);
  CHECK(result == 0);
  CHECK(b.model.reports().empty());
}

TEST_CASE("100000 packets go round an AQL ring, in batches of any size", "[amd:8]") {
  Bench b;
  AqlQueue q(b.c);
  REQUIRE(q.error == 0);
  std::mt19937 random(9);
  const uint64_t slots = q.ring.size_B / 64;
  int64_t* const done = b.memory.cpu<int64_t>(64);
  done[1] = 100'000;
  for (uint64_t sent = 0; sent < 100'000;) {
    for (uint64_t n = 1 + random() % slots; n > 0 && sent < 100'000 && sent - q.read() < slots; --n)
      q.barrier_and(0, b.memory.va + 64), ++sent;
    for (unsigned steps = random() % 100; steps > 0; --steps) b.model.step();
    if (random() % 8 == 0) REQUIRE(b.model.run());
  }
  REQUIRE(b.model.run());
  CHECK(done[1] == 0);
  CHECK(q.read() == 100'000);
  CHECK(b.model.reports().empty());
}

TEST_CASE("An AQL vendor packet runs a PM4 buffer") {
  Bench b;
  AqlQueue q(b.c);
  const Buffer ib = b.c.buffer(kPage);
  const Words code = write_data(b.memory.va, {99}) + acquire();
  std::copy(code.begin(), code.end(), ib.cpu());
  b.memory.cpu<int64_t>(64)[1] = 1;
  uint8_t* const at = q.slot();
  std::memset(at + 2, 0, 62);
  AqlQueue::field<uint16_t>(at, 2, 1);
  const Words command = indirect(ib.va, uint32_t(code.size()));
  std::memcpy(at + 4, command.data(), 16);
  AqlQueue::field<uint32_t>(at, 20, 10);
  AqlQueue::field(at, 0x38, b.memory.va + 64);
  q.publish(at, 0 | 1u << 8);
  CHECK(b.model.run());
  CHECK(b.word(0) == 99);
  CHECK(b.memory.cpu<int64_t>(64)[1] == 0);
  CHECK(b.model.reports().empty());
}

TEST_CASE("AQL fills in the index stride of a wave's scratch descriptor") {
  Bench b;
  AqlQueue q(b.c);
  // llvm-mc -mcpu=gfx1100: s_load_b64 s[6:7], s[4:5], null · s_waitcnt lgkmcnt(0) · v_mov_b32 v0, 0
  // v_mov_b32 v1, s3 · global_store_b32 v0, v1, s[6:7] · s_endpgm
  const Words code{0xf4040182, 0xf8000000, 0xbf89fc07, 0x7e000280,
                   0x7e020203, 0xdc6a0000, 0x00060100, 0xbfb00000};
  const Buffer object = b.c.buffer(kPage, kVramPublic), arguments = b.c.buffer(kPage);
  std::copy(code.begin(), code.end(), object.cpu(256));
  *arguments.cpu<uint64_t>() = b.memory.va;
  // ADD_TID_ENABLE and OOB_SELECT of ROCr; it leaves INDEX_STRIDE, 22:21, to the processor.
  constexpr uint32_t kDescriptor3 = 2u << 28 | 1u << 23;
  *q.pointers.cpu(0x90 + 12) = kDescriptor3;
  for (const bool wave32 : {true, false}) {
    auto* const kd = object.cpu<uint8_t>();
    AqlQueue::field<uint64_t>(kd, 16, 256);         // where the code begins
    AqlQueue::field<uint32_t>(kd, 48, 0x60af0080);  // RSRC1
    AqlQueue::field<uint32_t>(kd, 52, 6u << 1);     // RSRC2: six user SGPRs
    AqlQueue::field<uint16_t>(kd, 56, uint16_t(1 | 1u << 3 | unsigned(wave32) << 10));
    uint8_t* const at = q.slot();
    std::memset(at + 2, 0, 62);
    AqlQueue::field<uint16_t>(at, 2, 1);
    for (unsigned d = 0; d < 3; ++d) {
      AqlQueue::field<uint16_t>(at, 4 + 2 * d, 1);
      AqlQueue::field<uint32_t>(at, 12 + 4 * d, 1);
    }
    AqlQueue::field(at, 0x20, object.va);
    AqlQueue::field(at, 0x28, arguments.va);
    q.publish(at, 2 | 1u << 8 | 2u << 9 | 2u << 11);
    CHECK(b.model.run());
    CHECK(b.word(0) == (kDescriptor3 | (wave32 ? 2u : 3u) << 21));
  }
  CHECK(b.model.reports().empty());
}

TEST_CASE("An AQL packet of an unknown type goes to the inactive signal") {
  Bench b;
  AqlQueue q(b.c);
  // queue_inactive_signal is 0xc0 into amd_queue_t, which begins at the page.
  *q.pointers.cpu<uint64_t>(0xc0) = b.memory.va;
  q.barrier_and(0, 0, 9);
  CHECK(b.model.run());
  CHECK(b.memory.cpu<int64_t>()[1] == 32);
  CHECK(mentions(b.model, Report::Kind::packet, "type 9"));
}
