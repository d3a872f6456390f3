// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/profile.h>

#include "runtime/list_state.h"
#include "runtime/memory_pool.h"
#include "tests/runtime/kernels.h"

#include <nlohmann/json.hpp>

using namespace tiny;
using namespace tiny::test;

namespace {

/// D dispatch, C copy, | barrier, as recorded with hazards.
std::string shape(const CommandList& list) {
  std::string out;
  for (const Command& c : list.state()->commands)
    out += std::holds_alternative<DispatchCommand>(c)  ? 'D'
           : std::holds_alternative<CopyCommand>(c)    ? 'C'
           : std::holds_alternative<BarrierCommand>(c) ? '|'
                                                       : '?';
  return out;
}

struct Fixture {
  std::shared_ptr<Device> dev = open_device("NULL");
  std::shared_ptr<Program> inc = dev->load(increment()), mul = dev->load(scale());
  Buffer a = dev->alloc(4000), b = dev->alloc(4000), c = dev->alloc(4000);
  CommandList list = dev->make_list();
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a barrier goes between dependent commands only") {
  list.dispatch(mul, args(b, a, 1, 10));  // reads a
  list.dispatch(mul, args(c, a, 1, 10));  // reads a again: independent
  REQUIRE(shape(list) == "DD");
  list.dispatch(inc, args(a, 10));  // write after read
  REQUIRE(shape(list) == "DD|D");
  list.dispatch(inc, args(c, 10));  // ordered by the same barrier
  REQUIRE(shape(list) == "DD|DD");
  list.dispatch(inc, args(c, 10));  // write after write
  list.copy(b, c);                  // read after write
  REQUIRE(shape(list) == "DD|DD|D|C");
}

TEST_CASE_METHOD(Fixture, "slices of one allocation conflict where they overlap") {
  list.dispatch(inc, args(a.slice(0, 400), 100));
  list.dispatch(inc, args(a.slice(400, 400), 100));
  REQUIRE(shape(list) == "DD");
  list.dispatch(inc, args(a.slice(396, 8), 2));
  REQUIRE(shape(list) == "DD|D");
}

TEST_CASE_METHOD(Fixture, "a symbol may alias anything") {
  list.dispatch(mul, args(b, Symbol::buffer(0), 1, 10));
  list.dispatch(mul, args(c, Symbol::buffer(1), 1, 10));  // reads what b's writer may have written
  REQUIRE(shape(list) == "D|D");
  list.dispatch(inc, args(Symbol::buffer(1), 10));
  list.dispatch(mul, args(c, a, 1, 10));
  REQUIRE(shape(list) == "D|D|D|D");
}

TEST_CASE_METHOD(Fixture, "copies beside dispatches go to the copy queue and are joined") {
  list.copy(b, a);
  list.dispatch(inc, args(c, 10));
  list.barrier();
  list.dispatch(inc, args(b, 10));
  const ListPlan plan = plan_queues(list.state()->commands, 2, 1);
  REQUIRE(plan.segments.size() == 3);
  REQUIRE(plan.segments[0].queue == 1);
  REQUIRE(plan.segments[0].commands == std::vector<uint32_t>{0});
  REQUIRE(plan.segments[1].queue == 0);
  REQUIRE(plan.segments[1].commands == std::vector<uint32_t>{1});
  REQUIRE(plan.segments[2].queue == 0);
  REQUIRE(plan.segments[2].after == std::vector<uint32_t>{0});
  REQUIRE(plan.segments[2].commands == (std::vector<uint32_t>{2, 3}));
  REQUIRE(plan_queues(list.state()->commands, 1, 0).segments.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a list of copies only runs on the copy queue, a chain stays on one") {
  list.copy(b, a);
  list.copy(c, b);
  auto plan = plan_queues(list.state()->commands, 2, 1);
  REQUIRE(plan.segments.size() == 1);
  REQUIRE(plan.segments[0].queue == 1);
  list.dispatch(inc, args(c, 10));
  plan = plan_queues(list.state()->commands, 2, 1);
  REQUIRE(plan.segments.size() == 1);  // every epoch holds one kind: no crossing
  REQUIRE(plan.segments[0].queue == 0);
}

TEST_CASE_METHOD(Fixture, "what a queue touches is listed once, written if ever written") {
  list.dispatch(mul, args(b, a, 1, 10));
  list.dispatch(mul, args(a, b, 1, 10));
  const auto plan = plan_queues(list.state()->commands, 2, 1);
  REQUIRE(plan.touched[0].size() == 2);
  REQUIRE((plan.touched[0][0].written && plan.touched[0][1].written));
  REQUIRE(plan.touched[1].empty());
}

TEST_CASE("size classes waste at most a quarter") {
  REQUIRE(size_class_B(0) == 256);
  REQUIRE(size_class_B(256) == 256);
  size_t last = 0;
  for (size_t n = 257; n < (size_t{1} << 33); n += n / 7 + 1) {
    const size_t c = size_class_B(n);
    REQUIRE(c >= n);
    REQUIRE(c >= last);
    REQUIRE(size_class_B(c) == c);
    if (n < (2 << 20) || n > (8 << 20)) REQUIRE(c - n <= n / 4 + 64);
    if (n >= (2 << 20)) REQUIRE(c % (2 << 20) == 0);
    last = c;
  }
}

TEST_CASE("the trace is JSON that Perfetto reads") {
  std::vector<ProfileEvent> events{{"CPU:0", "compute", "k\"1\\\n", 1000, 3500, 2e3, 5e3},
                                   {"CPU:0", "copy", "copy 4 B", 2000, 2100, 0, 8},
                                   {"NULL:cpu", "compute", "k", 0, 1, 0, 0}};
  const auto json = nlohmann::json::parse(to_trace_json(events));
  const auto& rows = json["traceEvents"];
  int complete = 0;
  for (const auto& row : rows)
    if (row["ph"] == "X") ++complete;
  REQUIRE(complete == 3);
  const auto& first =
      *std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r["ph"] == "X"; });
  REQUIRE(first["name"] == "k\"1\\\n");
  REQUIRE(first["ts"] == 1.0);
  REQUIRE(first["dur"] == 2.5);
  REQUIRE(nlohmann::json::parse(to_trace_json({}))["traceEvents"].empty());
  REQUIRE(to_line(events[0]).find("GFLOP/s") != std::string::npos);
}
