// SPDX-License-Identifier: MIT
// NVIDIA: channels (ring, USERD), the usermode doorbell, and which CPU address a GPU address has.
// Layouts: nv_structs of the open kernel modules; submission as in the class headers (GPFIFO entry,
// USERD GPPut at 0x8c, doorbell at usermode+0x90).
#include "tools/decode/nv.h"
#include "tools/trace/watch.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tiny::trace {
namespace {

constexpr std::uint32_t kRmFree = 0x29, kRmAlloc = 0x2b, kRmMapMemory = 0x4e;
constexpr std::uint32_t kUvmMapExternal = 33, kUvmFree = 34, kUvmCreateExternal = 73;
constexpr std::uint64_t kUserdPut = 0x8c;

bool is_usermode(std::uint32_t c) {
  return c == 0xc361 || c == 0xc461 || c == 0xc561 || c == 0xc661 || c == 0xc761;
}
bool is_channel(std::uint32_t c) { return (c & 0xff) == 0x6f && c >= 0xa06f && c != 0xa06c; }
bool is_compute(std::uint32_t c) { return (c & 0xff) == 0xc0 && c >= 0xc3c0; }

using Handle = std::uint64_t;  // client in the high half: handles are the client's own
Handle handle_of(std::uint32_t client, std::uint32_t object) {
  return std::uint64_t{client} << 32 | object;
}

struct CpuMap {
  Handle memory = 0;
  std::uint64_t address = 0, size_B = 0, offset_B = 0;
};
struct GpuMap {
  Handle memory = 0;
  std::uint64_t size_B = 0, offset_B = 0;
};
struct PendingMap {
  Handle memory = 0;
  std::uint64_t offset_B = 0, size_B = 0;
};
struct Channel {
  Handle handle = 0, userd = 0;
  std::uint64_t ring = 0, entries = 0, userd_offset = 0;
  std::uint64_t extended_base = 0;  // as entries left it
  std::uint32_t compute_class = 0, last_put = 0;
  decode::PushbufferWalker walker;
};

class NvWatcher : public Watcher {
 public:
  std::unique_ptr<Watcher> clone() const override { return std::make_unique<NvWatcher>(*this); }

  void after(const DeviceCall& call, NameSink& names) override {
    if (call.call.result < 0) return;
    const decode::Bytes after = call.call.after.empty() ? call.call.before : call.call.after;
    if (call.path.starts_with("/dev/nvidia-uvm")) {
      uvm(call.call.request, after, names);
    } else if ((call.call.request >> 8 & 0xff) == 'F') {
      switch (call.call.request & 0xff) {
        case kRmAlloc:
          return allocated(call.call, after, names);
        case kRmMapMemory:
          return map_asked(after);
        case kRmFree:
          return freed(after);
      }
    }
  }

  bool mapped(const DeviceMap& map, NameSink& names) override {
    const auto pending = pending_.find(map.fd);
    if (pending == pending_.end()) return Watcher::mapped(map, names);
    const PendingMap asked = pending->second;
    pending_.erase(pending);
    cpu_maps_.push_back({asked.memory, map.address, map.size_B, asked.offset_B});
    const auto object = classes_.find(asked.memory);
    const std::uint32_t its_class = object == classes_.end() ? 0 : object->second;
    const bool is_doorbell = is_usermode(its_class);
    names.add(map.address, map.size_B,
              is_doorbell             ? "doorbell"
              : is_channel(its_class) ? "userd"
                                      : "buf");
    return is_doorbell;
  }

  void unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names) override {
    Watcher::unmapped(address, size_B, names);
    std::erase_if(cpu_maps_, [&](const CpuMap& map) {
      return map.address >= address && map.address - address < size_B;
    });
  }

  void rung(const Doorbell*, const Memory& memory, Snapshots& out) override {
    for (auto& [handle, channel] : channels_) submitted(channel, memory, out);
  }

 private:
  void allocated(const decode::IoctlCall& call, decode::Bytes after, NameSink& names) {
    const std::size_t status_at = after.size() >= 48 ? 0x28 : 0x1c;
    if (after.size() < 32 || field<std::uint32_t>(after, status_at) != 0) return;
    const auto client = field<std::uint32_t>(after, 0), parent = field<std::uint32_t>(after, 4);
    const Handle handle = handle_of(client, field<std::uint32_t>(after, 8));
    const auto its_class = field<std::uint32_t>(after, 12);
    classes_[handle] = its_class;
    if (is_compute(its_class)) {
      const auto channel = channels_.find(handle_of(client, parent));
      if (channel != channels_.end()) channel->second.compute_class = its_class;
    }
    const decode::Attachment* params = call.at(field<std::uint64_t>(after, 16));
    if (is_channel(its_class) && params)
      add_channel(handle, client, params->after.empty() ? params->before : params->after, names);
  }

  /// 610 has a word more before hUserdMemory: the handle that we know decides.
  void add_channel(Handle handle, std::uint32_t client, decode::Bytes params, NameSink& names) {
    if (params.size() < 0x50) return;
    const Handle shifted = handle_of(client, field<std::uint32_t>(params, 0x24));
    const bool is_610 = field<std::uint32_t>(params, 0x24) != 0 && classes_.count(shifted) != 0;
    Channel channel;
    channel.handle = handle;
    channel.ring = field<std::uint64_t>(params, 8);
    channel.entries = field<std::uint32_t>(params, 0x10);
    channel.userd = handle_of(client, field<std::uint32_t>(params, is_610 ? 0x24 : 0x20));
    channel.userd_offset = field<std::uint64_t>(params, is_610 ? 0x48 : 0x40);
    if (static_cast<std::uint32_t>(channel.userd) == 0) channel.userd = handle;
    channels_[handle] = channel;
    names.add(channel.ring, channel.entries * 8, "ring");
  }

  void map_asked(decode::Bytes after) {
    if (after.size() < 56 || field<std::uint32_t>(after, 40) != 0) return;
    pending_[field<std::int32_t>(after, 48)] = {
        handle_of(field<std::uint32_t>(after, 0), field<std::uint32_t>(after, 8)),
        field<std::uint64_t>(after, 16), field<std::uint64_t>(after, 24)};
  }

  void freed(decode::Bytes after) {
    if (after.size() < 16 || field<std::uint32_t>(after, 12) != 0) return;
    const Handle handle = handle_of(field<std::uint32_t>(after, 0), field<std::uint32_t>(after, 8));
    classes_.erase(handle);
    channels_.erase(handle);
  }

  void uvm(std::uint32_t request, decode::Bytes after, NameSink& names) {
    const auto base = field<std::uint64_t>(after, 0), size_B = field<std::uint64_t>(after, 8);
    if (request == kUvmCreateExternal) names.add(base, size_B, "buf");
    if (request == kUvmFree) {
      const auto found = gpu_maps_.find(base);
      if (found == gpu_maps_.end()) return;
      names.remove(base, found->second.size_B);
      gpu_maps_.erase(found);
    }
    if (request == kUvmMapExternal && after.size() >= 0x2430) {
      gpu_maps_[base] = {
          handle_of(field<std::uint32_t>(after, 0x2424), field<std::uint32_t>(after, 0x2428)),
          size_B, field<std::uint64_t>(after, 16)};
      names.add(base, size_B, "buf");
    }
  }

  /// Where the CPU sees a byte of memory; 0 where it does not.
  std::uint64_t cpu_of(Handle memory, std::uint64_t offset_B) const {
    for (auto map = cpu_maps_.rbegin(); map != cpu_maps_.rend(); ++map)
      if (map->memory == memory && offset_B >= map->offset_B &&
          offset_B - map->offset_B < map->size_B)
        return map->address + (offset_B - map->offset_B);
    return 0;
  }

  std::uint64_t cpu_address(std::uint64_t gpu_va) const {
    auto after = gpu_maps_.upper_bound(gpu_va);
    if (after != gpu_maps_.begin()) {
      const auto& [base, map] = *--after;
      const std::uint64_t cpu =
          gpu_va - base < map.size_B ? cpu_of(map.memory, map.offset_B + (gpu_va - base)) : 0;
      if (cpu != 0) return cpu;
    }
    return gpu_va;  // unified addressing: mostly the same
  }

  void submitted(Channel& channel, const Memory& memory, Snapshots& out) {
    std::uint32_t put = 0;
    const std::uint64_t userd = cpu_of(channel.userd, channel.userd_offset);
    if (userd == 0 || channel.entries == 0) return;
    if (!memory.read_value(userd + kUserdPut, put) || put >= channel.entries) return;
    while (channel.last_put != put) {
      const std::uint32_t end =
          put > channel.last_put ? put : static_cast<std::uint32_t>(channel.entries);
      entries(channel, channel.last_put, end, memory, out);
      channel.last_put = end == channel.entries ? 0 : end;
    }
  }

  void entries(Channel& channel, std::uint32_t begin, std::uint32_t end, const Memory& memory,
               Snapshots& out) {
    const std::uint64_t address = channel.ring + begin * 8ull;
    const std::size_t at = out.size();
    keep(out, memory, what(channel, Contents::gpfifo, address, (end - begin) * 8ull),
         cpu_address(address));
    if (out.size() == at) return;
    const std::vector<std::uint32_t> words = words_of(out[at].bytes);
    for (const decode::Range& segment : decode::walk_gpfifo(words, channel.extended_base))
      methods(channel, segment, memory, out);
  }

  /// What one GPFIFO entry points to: methods, the QMDs that they launch, and these' constants.
  void methods(Channel& channel, const decode::Range& segment, const Memory& memory,
               Snapshots& out) {
    const std::size_t at = out.size();
    keep(out, memory, what(channel, Contents::pushbuffer, segment.address, segment.size_B),
         cpu_address(segment.address));
    if (out.size() == at) return;
    for (const auto& sent : channel.walker.walk(words_of(out[at].bytes)))
      qmd(channel, sent, memory, out);
  }

  void qmd(const Channel& channel, const decode::QmdReference& sent, const Memory& memory,
           Snapshots& out) {
    const std::size_t at = out.size();
    keep(out, memory, what(channel, Contents::qmd, sent.address, sent.size_B),
         cpu_address(sent.address));
    if (out.size() == at) return;
    const std::uint32_t its_class = sent.compute_class ? sent.compute_class : channel.compute_class;
    out[at].generation = its_class;
    for (const decode::Range& bank : decode::walk_qmd(words_of(out[at].bytes), its_class))
      keep(out, memory, what(channel, Contents::constants, bank.address, bank.size_B),
           cpu_address(bank.address));
  }

  static Snapshot what(const Channel& channel, Contents contents, std::uint64_t address,
                       std::uint64_t size_B) {
    return {contents, address, size_B, channel.compute_class, channel.handle & UINT32_MAX, {}};
  }

  std::map<Handle, std::uint32_t> classes_;
  std::map<Handle, Channel> channels_;
  std::vector<CpuMap> cpu_maps_;
  std::map<std::uint64_t, GpuMap> gpu_maps_;  // by GPU address
  std::map<int, PendingMap> pending_;         // by the descriptor that will be mapped
};

}  // namespace

std::unique_ptr<Watcher> make_nv_watcher() { return std::make_unique<NvWatcher>(); }

}  // namespace tiny::trace
