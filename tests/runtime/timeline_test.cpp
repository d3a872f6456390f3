// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/timeline.h>

#include <chrono>
#include <thread>
#include <vector>

using namespace tiny;

TEST_CASE("a timeline never goes back") {
  Timeline t("t");
  t.signal(5);
  t.signal(3);
  REQUIRE(t.value() == 5);
  REQUIRE(t.reached(5));
  REQUIRE(!t.reached(6));
}

TEST_CASE("values above 32 bits are told apart") {
  Timeline t("t");
  t.signal((uint64_t{1} << 32) + 1);
  REQUIRE(!t.reached(uint64_t{2} << 32));
  REQUIRE(t.reached(uint64_t{1} << 32));
}

TEST_CASE("every waiter wakes, each at its own value") {
  auto t = std::make_shared<Timeline>("t");
  std::vector<std::thread> waiters;
  std::vector<uint64_t> seen(8);
  for (uint64_t i = 0; i < 8; ++i)
    waiters.emplace_back([&, i] {
      Fence(t, i + 1).wait();
      seen[i] = t->value();
    });
  for (uint64_t v = 1; v <= 8; ++v) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    t->signal(v);
  }
  for (auto& w : waiters) w.join();
  for (uint64_t i = 0; i < 8; ++i) REQUIRE(seen[i] >= i + 1);
}

TEST_CASE("a wait with a deadline gives up") {
  Timeline t("t");
  REQUIRE(!t.wait_for(1, 1'000'000));
  t.signal(1);
  REQUIRE(t.wait_for(1, 0));
}

TEST_CASE("poison throws at values not reached, and keeps its first reason") {
  auto t = std::make_shared<Timeline>("t");
  t->signal(2);
  std::string what;
  std::thread waiter([&] {
    try {
      t->wait(3);
    } catch (const DeviceFault& e) {
      what = e.what();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  t->poison("first");
  t->poison("second");
  waiter.join();
  REQUIRE(what == "first");
  t->wait(2);
  REQUIRE(Fence(t, 3).done());
  REQUIRE_THROWS_AS(Fence(t, 3).wait(), DeviceFault);
}
