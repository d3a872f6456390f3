// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace tiny;

namespace {

Knobs parse(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return parse_knobs(environment.data());
}

}  // namespace

TEST_CASE("an empty environment gives the defaults") {
  const Knobs k = parse({});
  CHECK(k.dev.empty());
  CHECK(k.debug.level == 0);
  CHECK(k.beam == 0);
  CHECK(k.jit);
  CHECK_FALSE(k.noopt);
  CHECK_FALSE(k.fast_math);
  CHECK(k.cache);
  CHECK(k.cache_max_MB == 512);
  CHECK(k.threads >= 1);
  CHECK(k.compile_threads >= 1);
  CHECK(k.cache_dir.empty());  // no home, no XDG_CACHE_HOME: nowhere to cache
}

TEST_CASE("values come from their variables and an empty one means the default") {
  const Knobs k = parse({"DEV=NULL:amd:gfx1100", "BEAM=4", "JIT=0", "NOOPT=1", "TINY_THREADS=3",
                         "TINY_DATA=/d=e", "TINY_CACHE_MAX_MB=", "UNRELATED=x", "FAST_MATH="});
  CHECK(k.dev == "NULL:amd:gfx1100");
  CHECK(k.beam == 4);
  CHECK_FALSE(k.jit);
  CHECK(k.noopt);
  CHECK(k.threads == 3);
  CHECK(k.data == "/d=e");
  CHECK(k.cache_max_MB == 512);
  CHECK_FALSE(k.fast_math);
}

TEST_CASE("the cache folder follows the XDG rules") {
  CHECK(parse({"HOME=/h"}).cache_dir == "/h/.cache/rt_tiny");
  CHECK(parse({"HOME=/h", "XDG_CACHE_HOME=/x"}).cache_dir == "/x/rt_tiny");
  CHECK(parse({"HOME=/h", "XDG_CACHE_HOME=relative"}).cache_dir == "/h/.cache/rt_tiny");
  CHECK(parse({"HOME=/h", "TINY_CACHE_DIR=/c"}).cache_dir == "/c");
}

TEST_CASE("DEBUG takes a level and path filters") {
  const DebugKnob d = parse({"DEBUG=4,lower/simplify,engine"}).debug;
  CHECK(d.level == 4);
  CHECK(d.paths == std::vector<std::string>{"lower/simplify", "engine"});
}

TEST_CASE("a malformed value is an error that shows the assignment") {
  for (const char* bad : {"DEBUG=abc", "DEBUG=7", "DEBUG=-1", "DEBUG=1x", "BEAM=many", "BEAM=-1",
                          "BEAM=99999999999999999999", "JIT=yes", "NOOPT=2", "TINY_THREADS=2.5",
                          "TINY_CACHE=on", "BEAM= 1"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse({bad}), UsageError);
    CHECK_THROWS_WITH(parse({bad}), Catch::StartsWith(std::string("[env] ") + bad + ":"));
  }
}

TEST_CASE("an unknown TINY_ variable is an error that names the nearest known one") {
  CHECK_THROWS_AS(parse({"TINY_THREAD=2"}), UsageError);
  CHECK_THROWS_WITH(parse({"TINY_THREAD=2"}),
                    Catch::Contains("TINY_THREAD;") && Catch::Contains("TINY_THREADS?"));
  CHECK_THROWS_WITH(parse({"TINY_CASH_DIR=/"}), Catch::Contains("TINY_CACHE_DIR?"));
  CHECK_NOTHROW(parse({"TINYX=1", "tiny_thread=1", "TINY"}));
}

TEST_CASE("scoped knobs override, nest and go away") {
  const bool before = knobs().noopt;
  {
    ScopedKnobs outer({{"NOOPT", before ? "0" : "1"}, {"BEAM", "7"}});
    const Knobs& held = knobs();
    CHECK(held.noopt != before);
    {
      ScopedKnobs inner({{"BEAM", "8"}});
      CHECK(knobs().beam == 8);
      CHECK(knobs().noopt != before);
    }
    CHECK(knobs().beam == 7);
    CHECK(&knobs() == &held);
  }
  CHECK(knobs().noopt == before);
  CHECK_THROWS_WITH(ScopedKnobs({{"NOPT", "1"}}), Catch::Contains("NOOPT?"));
  CHECK_THROWS_AS(ScopedKnobs({{"BEAM", "x"}}), UsageError);
}

TEST_CASE("the table has one documented row a knob and shows the values in force") {
  ScopedKnobs scoped({{"DEBUG", "2,engine"}, {"TINY_THREADS", "5"}});
  std::set<std::string_view> names;
  for (const KnobRow& row : knob_rows()) {
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.doc.empty());
    if (row.name == "DEBUG") {
      CHECK(row.value_text == "2,engine");
      CHECK(row.default_text == "0");
      CHECK_FALSE(row.is_default);
    }
    if (row.name == "TINY_THREADS") CHECK(row.value_text == "5");
  }
  for (const char* name :
       {"DEV", "DEBUG", "BEAM", "JIT", "NOOPT", "PROFILE", "FAST_MATH", "TINY_CACHE_DIR",
        "TINY_CACHE", "TINY_CACHE_MAX_MB", "TINY_THREADS", "TINY_COMPILE_THREADS", "TINY_DATA",
        "TINY_LLVM_PLUGIN", "TINY_RECORD_KERNELS"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("log lines obey the level and the path filter") {
  {
    ScopedKnobs scoped({{"DEBUG", "4,lower/simplify"}});
    CHECK(log_enabled(4, "lower/simplify"));
    CHECK(log_enabled(1, "lower/simplify/fold"));
    CHECK_FALSE(log_enabled(5, "lower/simplify"));
    CHECK_FALSE(log_enabled(1, "lower"));
    CHECK_FALSE(log_enabled(1, "engine"));
  }
  ScopedKnobs scoped({{"DEBUG", "1"}});
  CHECK(log_enabled(1, "anything"));
  CHECK_FALSE(log_enabled(2, "anything"));
}
