// SPDX-License-Identifier: MIT
// AMD: the queues of /dev/kfd. At a doorbell (or when a write pointer moved) keeps the new part of
// the ring, the indirect buffers it names, and of AQL packets the kernel's descriptor and
// arguments. Layouts: kfd_ioctl.h, amd_hsa_kernel_code.h, hsa.h (kfd_structs, amd_kd).

#include <algorithm>
#include <fstream>
#include <map>

#include "tools/decode/amd.h"
#include "tools/trace/attach.h"
#include "tools/trace/watch.h"

namespace tiny::trace {
namespace {

// Numbers of the calls; structures grow, so the size in the request does not matter.
constexpr std::uint32_t kCreateQueue = 0x02, kDestroyQueue = 0x03, kCreateEvent = 0x08,
                        kAllocMemory = 0x16, kFreeMemory = 0x17;
constexpr std::uint32_t kFlagDoorbell = 1u << 3;  // KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL
constexpr std::uint32_t kTypeSdma = 1, kTypeAql = 2, kTypeXgmi = 3, kTypeSdmaById = 4;
constexpr std::uint64_t kMmapDoorbell = 3, kMmapEvents = 2;  // bits 63:62 of an mmap offset
constexpr std::uint64_t kAqlPacket_B = 64, kDescriptor_B = 64, kUnknownKernarg_B = 256;
constexpr std::uint32_t kAqlVendor = 0, kAqlDispatch = 2;  // hsa_packet_type_t
constexpr std::size_t kMaxBuffers = 64;                    // of one submission

enum class Kind : std::uint8_t { pm4, sdma, aql };

struct Queue {
  Kind kind = Kind::pm4;
  std::uint64_t ring = 0, ring_B = 0, wptr_address = 0, doorbell_offset = 0;
  std::uint64_t last = 0;  // write pointer at the last look, in units
  std::uint64_t generation = 0;
  std::uint32_t gpu_id = 0;
  std::uint64_t unit_B() const { return kind == Kind::pm4 ? 4 : kind == Kind::sdma ? 1 : 64; }
};
struct Buffer {
  std::uint64_t address = 0, size_B = 0;
};
struct DoorbellPages {
  std::uint64_t address = 0, size_B = 0;
  std::uint64_t gpu_bits = 0;  // bits 61:46 of the offset
};

std::uint64_t gpu_bits(std::uint64_t offset_B) { return offset_B >> 46 & 0xffff; }

class AmdWatcher : public Watcher {
 public:
  std::unique_ptr<Watcher> clone() const override { return std::make_unique<AmdWatcher>(*this); }

  void after(const DeviceCall& call, NameSink& names) override {
    const decode::IoctlCall& c = call.call;
    if (c.result < 0 || (c.request >> 8 & 0xff) != 'K') return;
    const decode::Bytes args = c.after.empty() ? c.before : c.after;
    switch (c.request & 0xff) {
      case kCreateQueue:
        return create_queue(args, names);
      case kDestroyQueue:
        queues_.erase(field<std::uint32_t>(args, 0));
        return;
      case kAllocMemory:
        return allocated(args, names);
      case kFreeMemory:
        return freed(field<std::uint64_t>(args, 0), names);
      case kCreateEvent:
        return event_page(field<std::uint64_t>(c.before, 0), names);
    }
  }

  bool mapped(const DeviceMap& map, NameSink& names) override {
    const std::uint64_t type = map.offset_B >> 62;
    if (type == kMmapDoorbell) {
      names.add(map.address, map.size_B, "doorbell");
      doorbells_.push_back({map.address, map.size_B, gpu_bits(map.offset_B)});
      return true;
    }
    names.add(map.address, map.size_B, type == kMmapEvents ? "eventpage" : "buf");
    return false;
  }

  void unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names) override {
    Watcher::unmapped(address, size_B, names);
    std::erase_if(doorbells_, [&](const DoorbellPages& pages) {
      return pages.address >= address && pages.address - address < size_B;
    });
  }

  void rung(const Doorbell* bell, const Memory& memory, Snapshots& out) override {
    for (auto& [id, queue] : queues_) {
      std::uint64_t wptr = 0;
      if (bell && is_of(*bell, queue))
        wptr = queue.kind == Kind::aql ? bell->value + 1 : bell->value;
      else if (bell || !memory.read_value(queue.wptr_address, wptr))
        continue;
      submitted(id, queue, wptr, memory, out);
    }
  }

 private:
  void create_queue(decode::Bytes args, NameSink& names) {
    if (args.size() < 56) return;
    const auto type = field<std::uint32_t>(args, 40);
    Queue queue;
    queue.kind = type == kTypeAql                                                  ? Kind::aql
                 : type == kTypeSdma || type == kTypeXgmi || type == kTypeSdmaById ? Kind::sdma
                                                                                   : Kind::pm4;
    queue.ring = field<std::uint64_t>(args, 0);
    queue.wptr_address = field<std::uint64_t>(args, 8);
    queue.doorbell_offset = field<std::uint64_t>(args, 24);
    queue.ring_B = field<std::uint32_t>(args, 32);
    queue.gpu_id = field<std::uint32_t>(args, 36);
    queue.generation = gfx_target_version(queue.gpu_id);
    queues_[field<std::uint32_t>(args, 52)] = queue;
    names.add(queue.ring, queue.ring_B, "ring");
  }

  void allocated(decode::Bytes args, NameSink& names) {
    const Buffer buffer{field<std::uint64_t>(args, 0), field<std::uint64_t>(args, 8)};
    buffers_[field<std::uint64_t>(args, 16)] = buffer;
    const bool is_doorbell = field<std::uint32_t>(args, 36) & kFlagDoorbell;
    names.add(buffer.address, buffer.size_B, is_doorbell ? "doorbell" : "buf");
  }

  void freed(std::uint64_t handle, NameSink& names) {
    const auto found = buffers_.find(handle);
    if (found == buffers_.end()) return;
    names.remove(found->second.address, found->second.size_B);
    buffers_.erase(found);
  }

  /// The first CREATE_EVENT brings the handle of the page that events are signalled in.
  void event_page(std::uint64_t handle, NameSink& names) {
    const auto found = buffers_.find(handle);
    if (handle != 0 && found != buffers_.end())
      names.add(found->second.address, found->second.size_B, "eventpage");
  }

  /// A doorbell's place in its pages is in the low bits of the queue's doorbell_offset; its high
  /// bits are an mmap offset, which names the GPU.
  bool is_of(const Doorbell& bell, const Queue& queue) const {
    for (const DoorbellPages& pages : doorbells_)
      if (bell.address >= pages.address && bell.address - pages.address < pages.size_B)
        return gpu_bits(queue.doorbell_offset) == pages.gpu_bits && pages.size_B != 0 &&
               queue.doorbell_offset % pages.size_B == bell.address - pages.address;
    return false;
  }

  void submitted(std::uint32_t id, Queue& queue, std::uint64_t wptr, const Memory& memory,
                 Snapshots& out) {
    const std::uint64_t unit_B = queue.unit_B(), units = queue.ring_B / unit_B;
    if (units == 0 || wptr <= queue.last) return;  // the same value may be rung twice
    std::uint64_t from = std::max(queue.last, wptr - std::min(wptr, units));
    queue.last = wptr;
    while (from < wptr) {  // twice where it wraps
      const std::uint64_t at = from % units, count = std::min(wptr - from, units - at);
      ring_part(id, queue, queue.ring + at * unit_B, count * unit_B, memory, out);
      from += count;
    }
  }

  void ring_part(std::uint32_t id, const Queue& queue, std::uint64_t address, std::uint64_t size_B,
                 const Memory& memory, Snapshots& out) {
    const std::size_t first = out.size();
    const Contents contents = queue.kind == Kind::pm4    ? Contents::pm4
                              : queue.kind == Kind::sdma ? Contents::sdma
                                                         : Contents::aql;
    keep(out, memory, {contents, address, size_B, queue.generation, id, {}}, address);
    for (std::size_t i = first; i < out.size() && i < first + kMaxBuffers; ++i)
      if (out[i].contents == Contents::aql)
        follow_aql(id, queue, std::vector<std::byte>(out[i].bytes), memory, out);
      else if (out[i].contents == Contents::pm4 || out[i].contents == Contents::sdma)
        follow_stream(Snapshot(out[i]), memory, out);
  }

  static void follow_stream(const Snapshot& stream, const Memory& memory, Snapshots& out) {
    const auto gfx = decode::gfx_of_target(static_cast<std::uint32_t>(stream.generation));
    const decode::Gfx known = gfx.value_or(decode::Gfx::gfx11);  // the IB packet is the same in all
    const std::vector<std::uint32_t> words = words_of(stream.bytes);
    const decode::StreamWalk walk = stream.contents == Contents::pm4
                                        ? decode::walk_pm4(words, known)
                                        : decode::walk_sdma(words, decode::sdma_of(known));
    for (const decode::IndirectBuffer& ib : walk.indirect_buffers)
      keep(out, memory,
           {stream.contents, ib.address, ib.size_dw * 4ull, stream.generation, stream.queue, {}},
           ib.address);
  }

  static void follow_aql(std::uint32_t id, const Queue& queue, const std::vector<std::byte>& ring,
                         const Memory& memory, Snapshots& out) {
    for (std::size_t at = 0; at + kAqlPacket_B <= ring.size(); at += kAqlPacket_B) {
      const decode::Bytes packet = decode::Bytes(ring).subspan(at, kAqlPacket_B);
      const std::uint32_t type = field<std::uint16_t>(packet, 0) & 0xff;
      // AMD_AQL_FORMAT_PM4_IB: the second word is the PM4 packet that jumps to the buffer.
      if (type == kAqlVendor && field<std::uint16_t>(packet, 2) == 1)
        follow_stream(
            {Contents::pm4, 0, 0, queue.generation, id, {packet.begin() + 4, packet.begin() + 20}},
            memory, out);
      if (type == kAqlDispatch) follow_dispatch(id, queue, packet, memory, out);
    }
  }

  static void follow_dispatch(std::uint32_t id, const Queue& queue, decode::Bytes packet,
                              const Memory& memory, Snapshots& out) {
    const auto kernel = field<std::uint64_t>(packet, 32),
               kernarg = field<std::uint64_t>(packet, 40);
    const std::size_t before = out.size();
    keep(out, memory, {Contents::descriptor, kernel, kDescriptor_B, queue.generation, id, {}},
         kernel);
    const std::uint64_t told_B =
        out.size() > before ? field<std::uint32_t>(out[before].bytes, 8) : kUnknownKernarg_B;
    if (kernarg != 0 && told_B != 0)
      keep(out, memory, {Contents::kernarg, kernarg, told_B, queue.generation, id, {}}, kernarg);
  }

  std::map<std::uint32_t, Queue> queues_;
  std::map<std::uint64_t, Buffer> buffers_;  // by handle
  std::vector<DoorbellPages> doorbells_;
};

}  // namespace

std::unique_ptr<Watcher> make_amd_watcher() { return std::make_unique<AmdWatcher>(); }

std::vector<decode::Range> follow_amd_call(std::uint32_t request, decode::Bytes argument,
                                           std::span<const decode::Attachment> known) {
  return decode::follow_amd(request, argument, known);
}

std::uint64_t gfx_target_version(std::uint32_t gpu_id) {
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  for (int node = 0; node < 256; ++node) {
    const std::string folder = nodes + std::to_string(node);
    std::ifstream id_file(folder + "/gpu_id");
    std::uint32_t id = 0;
    if (!id_file) return 0;
    if (!(id_file >> id) || id != gpu_id) continue;
    std::ifstream properties(folder + "/properties");
    std::string key;
    std::uint64_t value = 0;
    while (properties >> key >> value)
      if (key == "gfx_target_version") return value;
  }
  return 0;
}

}  // namespace tiny::trace
