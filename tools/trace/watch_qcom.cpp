// SPDX-License-Identifier: MIT
// Qualcomm: KGSL and msm submit by ioctl, so the command buffers are kept before the call. Which
// CPU address a GPU address has comes from the allocation calls and the mappings.
#include "tools/decode/qcom.h"
#include "tools/trace/attach.h"
#include "tools/trace/watch.h"

#include <algorithm>
#include <map>

namespace tiny::trace {
namespace {

// _IOC numbers of msm_kgsl.h (type 9) and msm_drm.h (type 'd', from 0x40).
constexpr std::uint32_t kKgsl = 9, kDrm = 'd';
constexpr std::uint32_t kGetProperty = 0x02, kMapUserMem = 0x15, kGpumemAllocId = 0x34,
                        kGpuobjAlloc = 0x45, kGpuobjFree = 0x46, kGpuobjInfo = 0x47;
constexpr std::uint32_t kMsmGetParam = 0x40, kMsmGemNew = 0x42, kMsmGemInfo = 0x43;
constexpr std::uint32_t kMsmChipId = 3;
constexpr std::uint32_t kPropertyDeviceInfo = 1;
constexpr std::size_t kMaxReferences = 256;  // of one submission
constexpr int kMaxDepth = 4;                 // indirect buffers in indirect buffers

using Kind = decode::AdrenoReference::Kind;

struct Object {
  std::uint64_t gpu_address = 0, cpu_address = 0, size_B = 0, mmap_offset = 0;
};

class QcomWatcher : public Watcher {
 public:
  std::unique_ptr<Watcher> clone() const override { return std::make_unique<QcomWatcher>(*this); }

  void before(const DeviceCall& call, const Memory& memory, Snapshots& out) override {
    const decode::IoctlCall& c = call.call;
    const bool is_kgsl = call.path.starts_with("/dev/kgsl");
    // The context or queue id, where the submission has it.
    const auto queue = field<std::uint32_t>(c.before, is_kgsl ? 56 : 36);
    for (const decode::CommandBuffer& buffer :
         is_kgsl ? decode::kgsl_command_buffers(c.request, c.before, c.attachments)
                 : decode::msm_command_buffers(c.request, c.before, c.attachments))
      command(buffer, queue, memory, out);
  }

  void after(const DeviceCall& call, NameSink& names) override {
    if (call.call.result < 0) return;
    const decode::Bytes args = call.call.after.empty() ? call.call.before : call.call.after;
    const std::uint32_t type = call.call.request >> 8 & 0xff, number = call.call.request & 0xff;
    if (type == kKgsl) kgsl(number, call.call, args, names);
    if (type == kDrm && call.call.request >> 16 != 0) msm(number, args, names);
  }

  bool mapped(const DeviceMap& map, NameSink& names) override {
    names.add(map.address, map.size_B, "buf");
    const bool is_kgsl = map.path.starts_with("/dev/kgsl");
    for (auto& [id, object] : objects_) {
      // KGSL maps object `id` at offset id << 12; msm at the offset that GEM_INFO gave.
      const bool is_it = is_kgsl ? map.offset_B == std::uint64_t{id} << 12
                                 : object.mmap_offset == map.offset_B && map.offset_B != 0;
      if (!is_it) continue;
      object.cpu_address = map.address;
      object.size_B = std::max(object.size_B, map.size_B);
      if (is_kgsl && object.gpu_address == 0) object.gpu_address = map.address;  // USE_CPU_MAP
    }
    return false;
  }

  void unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names) override {
    Watcher::unmapped(address, size_B, names);
    for (auto& [id, object] : objects_)
      if (object.cpu_address >= address && object.cpu_address - address < size_B)
        object.cpu_address = 0;
  }

 private:
  void kgsl(std::uint32_t number, const decode::IoctlCall& call, decode::Bytes args,
            NameSink& names) {
    if (number == kGetProperty && field<std::uint32_t>(args, 0) == kPropertyDeviceInfo) {
      const decode::Attachment* info = call.at(field<std::uint64_t>(args, 8));
      if (info)
        chip_id_ = field<std::uint32_t>(info->after.empty() ? info->before : info->after, 4);
    }
    if (number == kGpuobjAlloc)
      objects_[field<std::uint32_t>(args, 32)] = {0, 0, field<std::uint64_t>(args, 0), 0};
    if (number == kGpumemAllocId)
      tell(field<std::uint32_t>(args, 0), field<std::uint64_t>(args, 24),
           field<std::uint64_t>(args, 8), names);
    if (number == kGpuobjInfo)
      tell(field<std::uint32_t>(args, 40), field<std::uint64_t>(args, 0),
           field<std::uint64_t>(args, 16), names);
    if (number == kMapUserMem)
      names.add(field<std::uint64_t>(args, 8), field<std::uint64_t>(args, 16), "buf");
    if (number == kGpuobjFree) forget(field<std::uint32_t>(args, 16), names);
  }

  void msm(std::uint32_t number, decode::Bytes args, NameSink& names) {
    if (number == kMsmGetParam && args.size() == 24 && field<std::uint32_t>(args, 4) == kMsmChipId)
      chip_id_ = field<std::uint64_t>(args, 8) & UINT32_MAX;
    if (number == kMsmGemNew && args.size() == 16)
      objects_[field<std::uint32_t>(args, 12)] = {0, 0, field<std::uint64_t>(args, 0), 0};
    if (number != kMsmGemInfo || args.size() != 24) return;
    const auto handle = field<std::uint32_t>(args, 0), info = field<std::uint32_t>(args, 4);
    const auto value = field<std::uint64_t>(args, 8);
    if (info == 0) objects_[handle].mmap_offset = value;
    if (info == 1 || info == 4) tell(handle, value, objects_[handle].size_B, names);
  }

  void tell(std::uint32_t id, std::uint64_t gpu_address, std::uint64_t size_B, NameSink& names) {
    Object& object = objects_[id];
    object.size_B = std::max(object.size_B, size_B);
    if (gpu_address == 0) return;
    object.gpu_address = gpu_address;
    names.add(gpu_address, object.size_B, "buf");
  }

  void forget(std::uint32_t id, NameSink& names) {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    names.remove(found->second.gpu_address, found->second.size_B);
    objects_.erase(found);
  }

  std::uint64_t cpu_address(std::uint64_t gpu_va) const {
    for (const auto& [id, object] : objects_)
      if (object.cpu_address != 0 && gpu_va >= object.gpu_address &&
          gpu_va - object.gpu_address < object.size_B)
        return object.cpu_address + (gpu_va - object.gpu_address);
    return gpu_va;
  }

  void command(const decode::CommandBuffer& buffer, std::uint64_t queue, const Memory& memory,
               Snapshots& out) {
    const auto object = objects_.find(buffer.handle);
    std::uint64_t gpu = buffer.address;
    if (gpu == 0 && object != objects_.end()) gpu = object->second.gpu_address + buffer.offset_B;
    const std::uint64_t cpu = buffer.address == 0 && object != objects_.end()
                                  ? object->second.cpu_address + buffer.offset_B
                                  : cpu_address(gpu);
    follow(out, memory, {Contents::adreno, gpu, buffer.size_B, chip_id_, queue, {}}, cpu);
  }

  /// Keeps a command buffer and what it refers to.
  void follow(Snapshots& out, const Memory& memory, Snapshot first, std::uint64_t cpu) {
    std::size_t next = out.size();
    keep(out, memory, std::move(first), cpu);
    for (int depth = 0; depth < kMaxDepth; ++depth)
      for (const std::size_t end = out.size(); next < end; ++next) {
        if (out[next].contents != Contents::adreno) continue;
        const Snapshot parent = out[next];
        for (const auto& reference : decode::adreno_references(words_of(parent.bytes))) {
          if (out.size() - end > kMaxReferences) return;
          const bool is_commands = reference.kind == Kind::indirect_buffer;
          keep(out, memory,
               {is_commands ? Contents::adreno : Contents::raw,
                reference.range.address,
                reference.range.size_B,
                chip_id_,
                parent.queue,
                {}},
               cpu_address(reference.range.address));
        }
      }
  }

  std::map<std::uint32_t, Object> objects_;  // by KGSL id or GEM handle
  std::uint64_t chip_id_ = 0;
};

}  // namespace

std::unique_ptr<Watcher> make_qcom_watcher() { return std::make_unique<QcomWatcher>(); }

std::vector<decode::Range> follow_qcom_kgsl(std::uint32_t request, decode::Bytes argument,
                                            std::span<const decode::Attachment> known) {
  return decode::follow_kgsl(request, argument, known);
}

std::vector<decode::Range> follow_qcom_msm(std::uint32_t request, decode::Bytes argument,
                                           std::span<const decode::Attachment> known) {
  return decode::follow_msm(request, argument, known);
}

}  // namespace tiny::trace
