// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "runtime/hwqueue/doorbell.h"
#include "runtime/hwqueue/dword_stream.h"
#include "runtime/hwqueue/kernarg_arena.h"
#include "runtime/hwqueue/packet.h"
#include "runtime/hwqueue/relocation.h"
#include "runtime/hwqueue/ring.h"
#include "runtime/hwqueue/signal.h"

#include <rt_tiny/runtime/base/error.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

using namespace tiny;

namespace {

std::vector<uint8_t> bytes(size_t n, uint8_t value = 0) { return std::vector<uint8_t>(n, value); }

template <class T>
T at(const std::vector<uint8_t>& b, size_t offset) {
  T value;
  std::memcpy(&value, &b[offset], sizeof value);
  return value;
}

/// Bit by bit, the readable way.
uint64_t patched_slowly(uint64_t word, const Relocation& r, uint64_t value) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(r.mask >> bit & 1)) continue;
    const unsigned to = bit + r.lsb, from = bit + r.shift;
    if (to >= r.width_B * 8u) continue;
    const uint64_t v = from < 64 ? value >> from & 1 : 0;
    word = (word & ~(uint64_t{1} << to)) | v << to;
  }
  return word;
}

}  // namespace

TEST_CASE("a relocation changes its field and no other bit") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    Relocation r;
    r.width_B = random() % 2 ? 8 : 4;
    const unsigned bits = r.width_B * 8u, width = 1 + random() % bits;
    r.lsb = static_cast<uint8_t>(random() % (bits - width + 1));
    r.shift = static_cast<uint8_t>(random() % 64);
    r.mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    r.offset_B = static_cast<uint32_t>(random() % 8);
    r.source = {SourceKind::argument, 1, static_cast<int64_t>(random() % 1000) - 500};
    const uint64_t values[2] = {0, random()};
    RelocationValues v;
    v.set(SourceKind::argument, values);
    auto target = bytes(16, static_cast<uint8_t>(random()));
    auto expected = target;
    uint64_t word = 0;
    std::memcpy(&word, &target[r.offset_B], r.width_B);
    word = patched_slowly(word, r, values[1] + static_cast<uint64_t>(r.source.addend));
    std::memcpy(&expected[r.offset_B], &word, r.width_B);
    apply(std::span(&r, 1), target, v);
    REQUIRE(target == expected);
  }
}

TEST_CASE("an address split in two dwords is two relocations") {
  DwordStream s;
  s.emit(0x11111111);
  s.emit(0xabc00000);  // low half of the field is the address' upper 17 bits (NV)
  const uint64_t values[1] = {0x1'2345'6789'abcdull};
  s.relocate({4, 4, 32, 0, 0x1ffff, {SourceKind::argument, 0, 0}});
  s.relocate({0, 4, 0, 0, 0xffffffff, {SourceKind::argument, 0, 0x10}});
  auto words = s.take_words();
  RelocationValues v;
  v.set(SourceKind::argument, values);
  apply(s.relocations(), bytes_of(words), v);
  REQUIRE(words[0] == 0x6789abddu);
  REQUIRE(words[1] == (0xabc00000u & ~0x1ffffu) + 0x12345u);
}

TEST_CASE("link-time relocations are folded, run-time ones stay") {
  DwordStream s;
  s.emit64(0);
  s.emit64(0);
  s.relocate64(0, {SourceKind::fixed, s.add_fixed(0x1122334455667788), 8});
  s.relocate64(2, {SourceKind::variable, 3, 0});
  s.link();
  REQUIRE(s.words()[0] == 0x55667790);
  REQUIRE(s.words()[1] == 0x11223344);
  REQUIRE(s.relocations().size() == 1);
  REQUIRE(s.relocations()[0].source.kind == SourceKind::variable);
}

TEST_CASE("packet fields may straddle dwords") {
  std::array<uint32_t, 3> w{0xffffffff, 0, 0xffffffff};
  put_field(w, 70, 20, 4, 0x7'1234'5678'9ab0);
  REQUIRE(get_field(w, 70, 20, 4) == 0x7'1234'5678'9ab0);
  REQUIRE((w[0] & 0xfffff) == 0xfffff);
  REQUIRE(w[2] >> 7 == 0xffffffff >> 7);
  static_assert([] {
    std::array<uint32_t, 2> x{};
    put_field(x, 63, 2, 2, 0x100000000);
    return x[0] == 0 && x[1] == 1;
  }());
}

TEST_CASE("a ring never overwrites what has not retired") {
  constexpr size_t kSize = 64;
  std::vector<uint32_t> memory(kSize);
  auto timeline = std::make_shared<Timeline>("ring");
  Doorbell door;
  Ring ring({.memory = memory,
             .timeline = timeline,
             .fill_padding = [](std::span<uint32_t> gap) { std::fill(gap.begin(), gap.end(), 0u); },
             .ring_doorbell = [&](uint64_t put) { door.ring(put); }});
  // Packets {n, payload × (n-1)} and a release {1<<31 | value}; the reader is slow at random.
  std::vector<uint32_t> seen;
  std::thread reader([&] {
    std::mt19937 random(3);
    uint64_t get = 0;
    while (!door.stopped() || get < door.value()) {
      const uint64_t put = door.wait_past(get, 1000);
      while (get < put) {
        const uint32_t head = memory[get % kSize];
        if (random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        if (head >> 31) {
          timeline->signal(head & 0x7fffffff);
          get += 1;
        } else if (head == 0) {
          get += 1;  // padding
        } else {
          for (uint32_t i = 1; i < head; ++i) seen.push_back(memory[(get + i) % kSize]);
          get += head;
        }
      }
    }
  });
  std::mt19937 random(7);
  std::vector<uint32_t> sent;
  for (uint32_t value = 1; value <= 3000; ++value) {
    const auto n = static_cast<uint32_t>(1 + random() % 20);
    auto out = ring.reserve(n + 1);
    out[0] = n;
    for (uint32_t i = 1; i < n; ++i) sent.push_back(out[i] = static_cast<uint32_t>(random()));
    out[n] = 1u << 31 | value;
    ring.publish(value);
  }
  timeline->wait(3000);
  door.stop();
  reader.join();
  REQUIRE(seen == sent);
  REQUIRE(ring.put_dw() > 10 * kSize);  // it wrapped many times
  REQUIRE(ring.stalls() > 0);           // and was exhausted
}

TEST_CASE("a reservation is contiguous and padding fills the end") {
  std::vector<uint32_t> memory(16, 9);
  auto timeline = std::make_shared<Timeline>("t");
  size_t padded = 0;
  uint64_t rung = 0;
  Ring ring({.memory = memory,
             .timeline = timeline,
             .fill_padding =
                 [&](std::span<uint32_t> gap) {
                   padded += gap.size();
                   gap[0] = 0;
                 },
             .ring_doorbell = [&](uint64_t put) { rung = put; }});
  ring.reserve(10);
  ring.publish(1);
  REQUIRE(rung == 10);
  timeline->signal(1);
  auto out = ring.reserve(7);
  REQUIRE(out.data() == memory.data());
  REQUIRE(padded == 6);
  REQUIRE(memory[10] == 0);
  ring.publish(2);
  REQUIRE(rung == 23);
  REQUIRE(ring.fits(8));
  REQUIRE(!ring.fits(9));
}

TEST_CASE("a ring may keep a slot free") {
  auto timeline = std::make_shared<Timeline>("t");
  WrapSpace full(8, timeline), kept(8, timeline, 1);
  for (uint64_t i = 1; i <= 8; ++i) full.take(1), full.retire_at(i);
  REQUIRE(full.stalls() == 0);
  for (uint64_t i = 1; i <= 7; ++i) kept.take(1), kept.retire_at(i);
  REQUIRE(kept.stalls() == 0);
  timeline->signal(1);
  kept.take(1);
  REQUIRE(kept.put() - kept.get() <= 7);
}

TEST_CASE("a poisoned timeline frees the ring instead of blocking it") {
  auto timeline = std::make_shared<Timeline>("t");
  WrapSpace space(8, timeline);
  space.take(8);
  space.retire_at(1);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    timeline->poison("dead");
  });
  space.take(8);
  killer.join();
  REQUIRE(space.get() == 8);
}

TEST_CASE("kernarg blocks in flight do not overlap") {
  auto memory = bytes(1024);
  auto timeline = std::make_shared<Timeline>("t");
  KernargArena arena(memory, 0x10000, timeline);
  std::mt19937 random(5);
  struct InFlight {
    uint64_t begin, end, value;
  };
  std::vector<InFlight> flying;
  for (uint64_t value = 1; value < 2000; ++value) {
    const size_t size_B = 1 + random() % 200, align_B = size_t{1} << (random() % 8);
    // The oldest ones retire at random; when the arena is full nothing would, so keep 512 B free.
    uint64_t used = 0;
    for (const auto& f : flying) used += f.end - f.begin;
    while (!flying.empty() && (used > 200 || random() % 2)) {
      used -= flying.front().end - flying.front().begin;
      timeline->signal(flying.front().value);
      flying.erase(flying.begin());
    }
    if (!flying.empty() && flying.size() > 1)
      timeline->signal(flying[0].value), flying.erase(flying.begin());
    const auto slot = arena.allocate(size_B, align_B);
    REQUIRE(slot.address % align_B == 0);
    REQUIRE(slot.host.size() == size_B);
    const uint64_t begin = slot.address - 0x10000;
    REQUIRE(slot.host.data() == memory.data() + begin);
    for (const auto& f : flying) REQUIRE((begin + size_B <= f.begin || f.end <= begin));
    arena.retire_at(value);
    flying.push_back({begin, begin + size_B, value});
  }
}

TEST_CASE("signal lines are 64 bytes apart and drive a timeline") {
  std::vector<SignalLine> lines(3);
  SignalMemory memory(lines, 0x5000);
  auto a = memory.take(), b = memory.take();
  REQUIRE(b.address - a.address == 64);
  memory.take();
  REQUIRE_THROWS_AS(memory.take(), SystemError);
  memory.give_back(b);
  REQUIRE(memory.take().line == b.line);

  SignalTimeline timeline("sig", a.line);
  std::thread device([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic_ref(a.line->value).store(uint64_t{1} << 40, std::memory_order_release);
  });
  timeline.wait((uint64_t{1} << 40) - 1);
  device.join();
  REQUIRE(timeline.value() == uint64_t{1} << 40);
  REQUIRE(!timeline.reached((uint64_t{1} << 40) + 1));
}

TEST_CASE("no ring of the doorbell is missed") {
  Doorbell there, back;
  std::thread echo([&] {
    for (uint64_t seen = 0; !there.stopped();) {
      seen = there.wait_past(seen, 0);  // always parks
      back.ring(seen);
    }
  });
  for (uint64_t i = 1; i < 2000; ++i) {
    there.ring(i);
    while (back.wait_past(i - 1, 500) != i) {
    }
  }
  there.stop();
  echo.join();
  REQUIRE(back.value() == 1999);
}
