// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/registry.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>

#include "runtime/backend.h"
#include "runtime/process.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <tuple>

namespace tiny {
namespace {

struct Registry {
  std::once_flag builtin_once;
  std::recursive_mutex mutex;
  std::vector<BackendInfo> backends;
  /// By canonical spec and process generation: a child opens its own.
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Device>> open;
};

/// Never destroyed: devices may be opened and closed by static objects.
Registry& storage() {
  static Registry* const r = new Registry;
  return *r;
}

Registry& registry() {
  Registry& r = storage();
  std::call_once(r.builtin_once, [&r] {
    // Held over fork, so that no thread leaves it locked in a child where that thread is not.
    pthread_atfork([] { storage().mutex.lock(); }, [] { storage().mutex.unlock(); },
                   [] { storage().mutex.unlock(); });
    detail::register_builtin_backends(r.backends);
  });
  return r;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string known_vendors(const Registry& r) {
  std::string out;
  for (const BackendInfo& b : r.backends) out += (out.empty() ? "" : ", ") + b.vendor;
  return out;
}

const BackendInfo& find_backend(const Registry& r, std::string_view spec, std::string_view vendor) {
  for (const BackendInfo& b : r.backends)
    if (b.vendor == vendor) return b;
  throw UsageError(
      fmt::format("[open_device] unknown device \"{}\"; known are {}", spec, known_vendors(r)));
}

std::vector<ProbeResult> probe_backend(const BackendInfo& b) noexcept try {
  return b.probe();
} catch (const std::exception& e) {
  return {{b.vendor, false, e.what(), false}};
}

/// The spec of the best present device; empty when there is none.
std::string best_present(const Registry& r) {
  std::vector<const BackendInfo*> order;
  for (const BackendInfo& b : r.backends)
    if (b.rank >= 0) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->rank > b->rank; });
  for (const BackendInfo* b : order)
    for (const ProbeResult& result : probe_backend(*b))
      if (result.present) return result.spec;
  return {};
}

std::string default_spec(const Registry& r) {
  return knobs().dev.empty() ? best_present(r) : knobs().dev;
}

struct Spec {
  const BackendInfo* backend;
  std::string suffix, name;
};

Spec parse_spec(const Registry& r, std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string vendor = upper(text.substr(0, colon));
  const BackendInfo& backend = find_backend(r, text, vendor);
  const std::string_view rest = colon < text.size() ? text.substr(colon + 1) : std::string_view();
  const std::string suffix = backend.canonical(rest);
  return {&backend, suffix, suffix.empty() ? vendor : vendor + ":" + suffix};
}

}  // namespace

void register_backend(BackendInfo info) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  info.vendor = upper(info.vendor);
  const auto found = std::find_if(r.backends.begin(), r.backends.end(),
                                  [&](const BackendInfo& b) { return b.vendor == info.vendor; });
  if (found != r.backends.end())
    *found = std::move(info);
  else
    r.backends.push_back(std::move(info));
}

std::shared_ptr<Device> open_device(std::string_view text) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const Spec spec = parse_spec(r, text);
  auto& slot = r.open[{spec.name, process_generation()}];
  if (auto device = slot.lock()) return device;
  auto device = std::make_shared<Device>(spec.name, spec.backend->open(spec.suffix));
  slot = device;
  return device;
}

std::shared_ptr<Device> default_device() {
  Registry& r = registry();
  std::string spec;
  {
    std::lock_guard lock(r.mutex);
    spec = default_spec(r);
  }
  if (spec.empty()) throw SystemError("[default_device] no device is present");
  return open_device(spec);
}

std::vector<ProbeResult> probe_devices() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::vector<ProbeResult> out;
  for (const BackendInfo& b : r.backends)
    for (ProbeResult& result : probe_backend(b)) out.push_back(std::move(result));
  std::string name;
  try {
    name = parse_spec(r, default_spec(r)).name;
  } catch (const std::exception&) {  // DEV names nothing known: no default
  }
  for (ProbeResult& result : out) result.is_default = result.spec == name;
  return out;
}

}  // namespace tiny
