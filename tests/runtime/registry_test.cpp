// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/registry.h>

#include "runtime/backend.h"
#include "tests/runtime/host_api.h"

#include <algorithm>

using namespace tiny;

TEST_CASE("specs name devices in any case, and one device is shared") {
  auto a = open_device("CPU"), b = open_device("cpu:0");
  REQUIRE(a == b);
  REQUIRE(a->name() == "CPU:0");
  REQUIRE(open_device("null")->name() == "NULL:cpu");
  REQUIRE(open_device("NULL:CPU") == open_device("NULL"));
  REQUIRE(a->target().is_cpu);
  REQUIRE(open_device("NULL")->target().key() == a->target().key());
}

TEST_CASE("an unknown device is a usage error that lists the known ones") {
  REQUIRE_THROWS_AS(open_device("TPU"), UsageError);
  REQUIRE_THROWS_WITH(open_device("TPU"), Catch::Contains("CPU") && Catch::Contains("AMD"));
  REQUIRE_THROWS_AS(open_device(""), UsageError);
  REQUIRE_THROWS_AS(open_device("CPU:7"), UsageError);
  REQUIRE_THROWS_AS(open_device("NULL:z80"), UsageError);
}

TEST_CASE("an absent device says why") {
  REQUIRE_THROWS_AS(open_device("AMD:1"), SystemError);
  REQUIRE_THROWS_WITH(open_device("QCOM"), Catch::Contains("not built"));
}

TEST_CASE("probing lists every vendor with a reason and one default") {
  const auto rows = probe_devices();
  for (const char* vendor :
       {"AMD", "NV", "QCOM", "CL", "METAL", "CUDA", "WEBGPU", "CPU:0", "NULL:cpu"})
    REQUIRE(std::count_if(rows.begin(), rows.end(),
                          [&](const ProbeResult& r) { return r.spec == vendor; }) == 1);
  for (const ProbeResult& r : rows) REQUIRE(!r.reason.empty());
  REQUIRE(std::count_if(rows.begin(), rows.end(), [](const auto& r) { return r.is_default; }) == 1);
}

TEST_CASE("DEV chooses the default device") {
  {
    ScopedKnobs knobs({{"DEV", "NULL"}});
    REQUIRE(default_device()->name() == "NULL:cpu");
    const auto rows = probe_devices();
    REQUIRE(std::any_of(rows.begin(), rows.end(),
                        [](const auto& r) { return r.is_default && r.spec == "NULL:cpu"; }));
  }
  {
    ScopedKnobs knobs({{"DEV", "NONSENSE"}});
    REQUIRE_THROWS_AS(default_device(), UsageError);
    for (const auto& r : probe_devices()) REQUIRE(!r.is_default);
  }
  ScopedKnobs knobs({{"DEV", ""}});
  REQUIRE(default_device()->name() == "CPU:0");
}

TEST_CASE("a back end whose probe throws is absent, not a failure") {
  BackendInfo info;
  info.vendor = "broken";
  info.rank = -1;
  info.probe = []() -> std::vector<ProbeResult> { throw SystemError("probe went wrong"); };
  info.canonical = [](std::string_view) { return std::string(); };
  info.open = [](std::string_view) -> std::unique_ptr<Backend> { throw SystemError("absent"); };
  register_backend(info);
  const auto rows = probe_devices();
  REQUIRE(std::any_of(rows.begin(), rows.end(), [](const auto& r) {
    return r.spec == "BROKEN" && !r.present && r.reason == "probe went wrong";
  }));
}
