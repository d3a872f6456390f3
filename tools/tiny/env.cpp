// SPDX-License-Identifier: MIT
// `tiny env`: the knob table with the values in force.
#include "tools/tiny/commands.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <algorithm>
#include <string_view>

namespace tiny::tool {
namespace {

std::string_view shown(std::string_view text) { return text.empty() ? "-" : text; }

}  // namespace

int run_env(std::span<const std::string>) {
  const std::vector<KnobRow> rows = knob_rows();
  size_t name = 4, value = 5, preset = 7;
  for (const KnobRow& row : rows) {
    name = std::max(name, row.name.size());
    value = std::max(value, shown(row.value_text).size());
    preset = std::max(preset, shown(row.default_text).size());
  }
  fmt::print("  {:<{}}  {:<{}}  {:<{}}  MEANING\n", "NAME", name, "VALUE", value, "DEFAULT",
             preset);
  for (const KnobRow& row : rows)
    fmt::print("{} {:<{}}  {:<{}}  {:<{}}  {}\n", row.is_default ? ' ' : '*', row.name, name,
               shown(row.value_text), value, shown(row.default_text), preset, row.doc);
  fmt::print("* differs from the default\n");
  return 0;
}

}  // namespace tiny::tool
