// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/knobs.h>

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

namespace tiny {
namespace {

constexpr int kMaxDebugLevel = 6;

[[noreturn]] void reject(std::string_view name, std::string_view text, std::string_view want) {
  throw UsageError(fmt::format("[env] {}={}: {}", name, text, want));
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void parse_value(std::string_view, std::string_view text, std::string& out) { out = text; }

void parse_value(std::string_view name, std::string_view text, bool& out) {
  if (text != "0" && text != "1") reject(name, text, "expected 0 or 1");
  out = text == "1";
}

void parse_value(std::string_view name, std::string_view text, int& out) {
  auto value = to_int(text);
  if (!value || *value < 0) reject(name, text, "expected a whole number, 0 or more");
  out = *value;
}

void parse_value(std::string_view name, std::string_view text, DebugKnob& out) {
  const size_t comma = std::min(text.find(','), text.size());
  auto level = to_int(text.substr(0, comma));
  if (!level || *level < 0 || *level > kMaxDebugLevel)
    reject(name, text, "expected a level 0..6, then optional paths: DEBUG=4,lower/simplify");
  out = DebugKnob{*level, {}};
  for (size_t at = comma; at < text.size();) {
    const size_t end = std::min(text.find(',', at + 1), text.size());
    if (end > at + 1) out.paths.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
}

std::string to_text(const std::string& value) { return value; }
std::string to_text(bool value) { return value ? "1" : "0"; }
std::string to_text(int value) { return std::to_string(value); }
std::string to_text(const DebugKnob& value) {
  std::string text = std::to_string(value.level);
  for (const std::string& path : value.paths) text += "," + path;
  return text;
}

/// Sets one knob from text; false if no row has this name.
bool assign(Knobs& values, std::string_view name, std::string_view text) {
#define KNOB(type, member, row_name, default_text, doc)                                   \
  if (name == row_name) {                                                                 \
    const std::string_view chosen = text.empty() ? std::string_view(default_text) : text; \
    parse_value(row_name, chosen, values.member);                                         \
    return true;                                                                          \
  }
#include <rt_tiny/runtime/base/knobs.def>
#undef KNOB
  return false;
}

Knobs default_knobs() {
  Knobs values;
#define KNOB(type, member, row_name, default_text, doc) assign(values, row_name, "");
#include <rt_tiny/runtime/base/knobs.def>
#undef KNOB
  return values;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string_view nearest_name(std::string_view name) {
  std::string_view best;
  size_t best_distance = SIZE_MAX;
#define KNOB(type, member, row_name, default_text, doc)              \
  if (size_t d = edit_distance(name, row_name); d < best_distance) { \
    best_distance = d;                                               \
    best = row_name;                                                 \
  }
#include <rt_tiny/runtime/base/knobs.def>
#undef KNOB
  return best;
}

[[noreturn]] void reject_unknown(std::string_view name) {
  throw UsageError(fmt::format("[env] unknown variable {}; did you mean {}? `tiny env` lists all",
                               name, nearest_name(name)));
}

int core_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string find_variable(const char* const* environment, std::string_view name) {
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
  }
  return "";
}

/// Empty if there is no home at all: then nothing is cached.
std::string default_cache_dir(const char* const* environment) {
  // The XDG base directory specification: relative paths are to be ignored.
  if (std::string base = find_variable(environment, "XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/rt_tiny";
  const std::string home = find_variable(environment, "HOME");
  return home.empty() ? "" : home + "/.cache/rt_tiny";
}

void resolve_defaults(Knobs& values, const char* const* environment) {
  if (values.threads == 0) values.threads = core_count();
  if (values.compile_threads == 0) values.compile_threads = core_count();
  if (values.cache_dir.empty()) values.cache_dir = default_cache_dir(environment);
}

std::atomic<const Knobs*> g_override{nullptr};

/// Keeps every override alive, so that a worker thread never reads a freed one.
const Knobs* retain(Knobs values) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const Knobs>> kept;
  std::lock_guard lock(mutex);
  kept.push_back(std::make_unique<const Knobs>(std::move(values)));
  return kept.back().get();
}

Knobs with_overrides(
    std::initializer_list<std::pair<std::string_view, std::string_view>> overrides) {
  Knobs values = knobs();
  for (auto [name, text] : overrides)
    if (!assign(values, name, text)) reject_unknown(name);
  resolve_defaults(values, environ);
  return values;
}

}  // namespace

Knobs parse_knobs(const char* const* environment) {
  Knobs values = default_knobs();
  for (const char* const* entry = environment; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!assign(values, name, text.substr(equals + 1)) && name.starts_with("TINY_"))
      reject_unknown(name);
  }
  resolve_defaults(values, environment);
  return values;
}

const Knobs& knobs() {
  if (const Knobs* values = g_override.load(std::memory_order_acquire)) return *values;
  // Never destroyed: worker threads may log while static objects die. A throw is retried.
  static const Knobs* const from_environment = new Knobs(parse_knobs(environ));
  return *from_environment;
}

std::vector<KnobRow> knob_rows() {
  const Knobs& values = knobs();
  Knobs defaults = default_knobs();
  resolve_defaults(defaults, environ);
  std::vector<KnobRow> rows;
#define KNOB(type, member, row_name, default_value, row_doc)                \
  rows.push_back({row_name, row_doc, default_value, to_text(values.member), \
                  to_text(values.member) == to_text(defaults.member)});
#include <rt_tiny/runtime/base/knobs.def>
#undef KNOB
  return rows;
}

ScopedKnobs::ScopedKnobs(
    std::initializer_list<std::pair<std::string_view, std::string_view>> overrides)
    : ScopedKnobs(with_overrides(overrides)) {}

ScopedKnobs::ScopedKnobs(Knobs values)
    : previous_(g_override.exchange(retain(std::move(values)), std::memory_order_acq_rel)) {}

ScopedKnobs::~ScopedKnobs() { g_override.store(previous_, std::memory_order_release); }

}  // namespace tiny
