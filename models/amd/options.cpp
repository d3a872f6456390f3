// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <charconv>
#include <functional>
#include <map>
#include <string_view>

#include "models/amd/model.h"
#include "models/amd/profile.h"

namespace tiny::models::amd {
namespace {

uint64_t number(std::string_view name, std::string_view text) {
  uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size())
    throw UsageError(fmt::format("[model] {}={}: not a number", name, text));
  return value;
}

constexpr unsigned kMaxGpus = 16;
constexpr uint64_t kMaxVram_MiB = 1 << 20;
constexpr uint64_t kMaxDelay_us = 10'000'000;
constexpr uint64_t kAny = UINT64_MAX;

using Set = std::function<void(Options&, uint64_t)>;
struct Number {
  Set set;
  uint64_t min = 0, max = kAny;
};

const std::map<std::string_view, Number>& numbers() {
  static const auto& all = *new std::map<std::string_view, Number>{
      {"gpus", {[](Options& o, uint64_t v) { o.gpus = unsigned(v); }, 0, kMaxGpus}},
      {"hidden", {[](Options& o, uint64_t v) { o.hidden.push_back(unsigned(v)); }, 0, kMaxGpus}},
      {"no-render",
       {[](Options& o, uint64_t v) { o.without_render_node.push_back(unsigned(v)); }, 0, kMaxGpus}},
      {"vram", {[](Options& o, uint64_t v) { o.vram_B = v << 20; }, 1, kMaxVram_MiB}},
      {"seed", {[](Options& o, uint64_t v) { o.seed = v; }}},
      {"delay", {[](Options& o, uint64_t v) { o.delay_us = unsigned(v); }, 0, kMaxDelay_us}},
  };
  return all;
}

void check_gpus(std::string_view name, const std::vector<unsigned>& numbers, unsigned gpus) {
  for (const unsigned gpu : numbers)
    if (gpu >= gpus)
      throw UsageError(fmt::format("[model] {}={}: there are {} GPUs, from 0", name, gpu, gpus));
}

const std::map<std::string_view, Set>& switches() {
  static const auto& all = *new std::map<std::string_view, Set>{
      {"small-bar", [](Options& o, uint64_t) { o.large_bar = false; }},
      {"no-sysfs-sizes", [](Options& o, uint64_t) { o.sysfs_sizes = false; }},
      {"no-atomics64", [](Options& o, uint64_t) { o.no_atomics64 = true; }},
      {"no-races", [](Options& o, uint64_t) { o.race_checks = false; }},
      {"no-shaders", [](Options& o, uint64_t) { o.shaders = false; }},
      {"quiet", [](Options& o, uint64_t) { o.print = false; }},
      {"strict", [](Options& o, uint64_t) { o.strict = true; }},
      {"stats", [](Options& o, uint64_t) { o.print_stats = true; }},
  };
  return all;
}

void apply(Options& options, std::string_view item) {
  const size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  if (equals == std::string_view::npos) {
    const auto at = switches().find(name);
    if (at == switches().end()) throw UsageError(fmt::format("[model] unknown option {}", item));
    return at->second(options, 0);
  }
  const auto at = numbers().find(name);
  if (at == numbers().end()) throw UsageError(fmt::format("[model] unknown option {}", item));
  const auto& [set, min, max] = at->second;
  const uint64_t value = number(name, item.substr(equals + 1));
  if (value < min || value > max)
    throw UsageError(fmt::format("[model] {}: not within {} and {}", item, min, max));
  set(options, value);
}

}  // namespace

Options parse_options(const std::string& text) {
  Options options;
  std::string_view rest = text;
  options.target = rest.substr(0, rest.find(','));
  profile(options.target);  // throws for an unknown one
  while (rest.find(',') != std::string_view::npos) {
    rest.remove_prefix(rest.find(',') + 1);
    apply(options, rest.substr(0, rest.find(',')));
  }
  check_gpus("hidden", options.hidden, options.gpus);
  check_gpus("no-render", options.without_render_node, options.gpus);
  return options;
}

}  // namespace tiny::models::amd
