// SPDX-License-Identifier: MIT
// The knob table: every environment variable, read once and checked. Nobody else calls getenv.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiny {

/// DEBUG=level[,path...]. With paths, only lines whose path begins with one of them are printed.
struct TINY_API DebugKnob {
  int level = 0;
  std::vector<std::string> paths;
};

/// The values in force. One member per row of knobs.def; 0 threads are already resolved to cores
/// and an empty cache_dir to its default.
// clang-format off: it does not see that KNOB ends a member
struct TINY_API Knobs {
#define KNOB(type, member, name, default_text, doc) type member{};
#include <rt_tiny/runtime/base/knobs.def>
#undef KNOB
};
// clang-format on

/// The values in force; reads the environment at the first call. Throws UsageError on an unknown
/// TINY_* variable and on a malformed value: "[env] DEBUG=abc: …".
TINY_API const Knobs& knobs();

/// Reads a null-terminated array of NAME=VALUE, such as `environ`. Throws as knobs() does.
TINY_API Knobs parse_knobs(const char* const* environment);

/// One row for `tiny env`.
struct TINY_API KnobRow {
  std::string_view name, doc;
  std::string default_text;  ///< as a user would write it
  std::string value_text;    ///< the value in force
  bool is_default = true;
};
TINY_API std::vector<KnobRow> knob_rows();

/// Overrides values in this process while it lives, for tests: ScopedKnobs k({{"NOOPT", "1"}}).
/// Nest them like brackets. References from knobs() stay valid, but keep the values they had.
class TINY_API ScopedKnobs {
 public:
  explicit ScopedKnobs(
      std::initializer_list<std::pair<std::string_view, std::string_view>> overrides);
  explicit ScopedKnobs(Knobs values);
  ~ScopedKnobs();
  ScopedKnobs(const ScopedKnobs&) = delete;
  ScopedKnobs& operator=(const ScopedKnobs&) = delete;

 private:
  const Knobs* previous_;
};

}  // namespace tiny
