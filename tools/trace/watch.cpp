// SPDX-License-Identifier: MIT
#include "tools/trace/watch.h"

#include <algorithm>
#include <cstring>

namespace tiny::trace {
namespace {

constexpr std::size_t kMaxSnapshot_B = 4u << 20;

// Requests that only msm has (msm_drm.h): GET_PARAM, SUBMIT, SUBMITQUEUE_NEW. DRM_IOCTL_VERSION of
// both has the name's length at 24 and its address at 32.
constexpr std::uint32_t kMsmOnly[] = {0xc0186440, 0xc0486446, 0xc00c644a};
constexpr std::uint32_t kDrmVersion = 0xc0406400;

}  // namespace

void Watcher::before(const DeviceCall&, const Memory&, Snapshots&) {}
void Watcher::after(const DeviceCall&, NameSink&) {}
bool Watcher::mapped(const DeviceMap& map, NameSink& names) {
  names.add(map.address, map.size_B, "buf");
  return false;
}
void Watcher::unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names) {
  names.remove(address, size_B);
}
void Watcher::rung(const Doorbell*, const Memory&, Snapshots&) {}

void keep(Snapshots& out, const Memory& memory, Snapshot what, std::uint64_t cpu_address) {
  const std::uint64_t wanted_B = std::min<std::uint64_t>(what.wanted_B, kMaxSnapshot_B);
  what.bytes = memory.read(cpu_address, wanted_B);
  if (!what.bytes.empty()) out.push_back(std::move(what));
}

std::vector<std::uint32_t> words_of(decode::Bytes bytes) {
  std::vector<std::uint32_t> out(bytes.size() / 4);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * 4);
  return out;
}

void DrmDrivers::see(const DeviceCall& call) {
  if (!call.path.starts_with("/dev/dri/")) return;
  bool msm =
      std::find(std::begin(kMsmOnly), std::end(kMsmOnly), call.call.request) != std::end(kMsmOnly);
  if (call.call.request == kDrmVersion) {
    const decode::Attachment* name = call.call.at(field<std::uint64_t>(call.call.before, 32));
    const decode::Bytes text = name && name->after.size() >= 3 ? name->after : decode::Bytes{};
    msm = text.size() >= 3 && std::memcmp(text.data(), "msm", 3) == 0;
  }
  if (msm) msm_.insert(std::string(call.path));
}

Watchers::Watchers()
    : amd_(make_amd_watcher()), nv_(make_nv_watcher()), qcom_(make_qcom_watcher()) {}

Watchers::Watchers(const Watchers& other)
    : amd_(other.amd_->clone()), nv_(other.nv_->clone()), qcom_(other.qcom_->clone()) {}

/// /dev/dri belongs to AMD's and Qualcomm's drivers alike: the amdgpu calls that matter go to
/// /dev/kfd, and msm's numbers are told apart by the watcher.
Watcher* Watchers::of(std::string_view path) {
  if (path == "/dev/kfd") return amd_.get();
  if (path.starts_with("/dev/nvidia")) return nv_.get();
  if (path.starts_with("/dev/kgsl") || path.starts_with("/dev/dri/")) return qcom_.get();
  return nullptr;
}

void Watchers::before(const DeviceCall& call, const Memory& memory, Snapshots& out) {
  if (Watcher* watcher = of(call.path)) watcher->before(call, memory, out);
}

void Watchers::after(const DeviceCall& call, NameSink& names) {
  if (Watcher* watcher = of(call.path)) watcher->after(call, names);
}

bool Watchers::mapped(const DeviceMap& map, NameSink& names) {
  Watcher* watcher = of(map.path);
  return watcher && watcher->mapped(map, names);
}

void Watchers::unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names) {
  for (Watcher* watcher : {amd_.get(), nv_.get(), qcom_.get()})
    watcher->unmapped(address, size_B, names);
}

void Watchers::rung(const Doorbell* bell, const Memory& memory, Snapshots& out) {
  for (Watcher* watcher : {amd_.get(), nv_.get(), qcom_.get()}) watcher->rung(bell, memory, out);
}

}  // namespace tiny::trace
