// SPDX-License-Identifier: MIT
// /dev/kfd: the ioctls, as Linux 6.12 checks them. Requests are told apart by number, and structs
// of any size are taken (the rest is zero), because both sides grow.
#include "models/amd/chip.h"
#include "models/amd/sysfs.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

using interpose::Result;

uint64_t monotonic_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

bool power_of_2(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// ---- simple ones

Result get_version(Kernel& k, abi::Version& a) {
  a = {1, k.options.kfd_minor};
  return 0;
}

Result set_memory_policy(Kernel& k, abi::SetMemoryPolicy& a) {
  if (a.default_policy > 1 || a.alternate_policy > 1)
    return k.refuse(EINVAL, "SET_MEMORY_POLICY: unknown policy");
  return k.gpu_by_id(a.gpu_id) ? 0 : k.refuse(EINVAL, "SET_MEMORY_POLICY: unknown gpu_id");
}

Result get_clock_counters(Kernel& k, abi::ClockCounters& a) {
  // An unknown gpu_id only leaves the GPU's counter 0, as in the kernel.
  a.gpu_clock_counter = k.gpu_by_id(a.gpu_id) ? gpu_clock() : 0;
  a.cpu_clock_counter = monotonic_ns(CLOCK_MONOTONIC_RAW);
  a.system_clock_counter = monotonic_ns(CLOCK_BOOTTIME);
  a.system_clock_freq = 1'000'000'000;
  return 0;
}

abi::Apertures apertures_of(const Gpu& gpu) {
  constexpr uint64_t k4G = 4ull << 30;
  return {kLdsAperture,     kLdsAperture + k4G - 1,
          kScratchAperture, kScratchAperture + k4G - 1,
          kGpuVmBase,       kGpuVmLimit,
          gpu.id,           0};
}

std::vector<Gpu*> visible_gpus(Kernel& k) {
  std::vector<Gpu*> all;
  for (auto& gpu : k.gpus) {
    const auto& hidden = k.options.hidden;
    if (std::find(hidden.begin(), hidden.end(), gpu->index) == hidden.end())
      all.push_back(gpu.get());
  }
  return all;
}

Result get_apertures(Kernel& k, abi::ProcessApertures& a) {
  const auto gpus = visible_gpus(k);
  a.num_of_nodes = uint32_t(std::min<size_t>(gpus.size(), 7));
  for (uint32_t i = 0; i < a.num_of_nodes; ++i) a.apertures[i] = apertures_of(*gpus[i]);
  return 0;
}

Result get_apertures_new(Kernel& k, abi::ProcessAperturesNew& a) {
  const auto gpus = visible_gpus(k);
  if (a.num_of_nodes == 0) {
    a.num_of_nodes = uint32_t(gpus.size());
    return 0;
  }
  auto* const out = reinterpret_cast<abi::Apertures*>(a.apertures);
  if (!out) return -EFAULT;
  a.num_of_nodes = uint32_t(std::min<size_t>(a.num_of_nodes, gpus.size()));
  for (uint32_t i = 0; i < a.num_of_nodes; ++i) out[i] = apertures_of(*gpus[i]);
  return 0;
}

Result set_scratch_backing(Kernel& k, abi::SetScratchBackingVa& a) {
  return k.gpu_by_id(a.gpu_id) ? 0 : -EINVAL;
}

Result get_tile_config(Kernel& k, abi::GetTileConfig& a) {
  if (!k.gpu_by_id(a.gpu_id)) return -EINVAL;
  a.gb_addr_config = 0x444;
  a.num_banks = 8;
  a.num_ranks = 1;
  const uint32_t tiles = std::min(a.num_tile_configs, 32u),
                 macros = std::min(a.num_macro_tile_configs, 16u);
  if (a.tile_config_ptr) std::memset(reinterpret_cast<void*>(a.tile_config_ptr), 0, tiles * 4);
  if (a.macro_tile_config_ptr)
    std::memset(reinterpret_cast<void*>(a.macro_tile_config_ptr), 0, macros * 4);
  a.num_tile_configs = tiles;
  a.num_macro_tile_configs = macros;
  return 0;
}

Result set_trap_handler(Kernel& k, abi::SetTrapHandler& a) {
  Gpu* const gpu = k.gpu_by_id(a.gpu_id);
  if (!gpu) return k.refuse(EINVAL, "SET_TRAP_HANDLER: unknown gpu_id");
  return gpu->vm_description ? 0 : k.refuse(ESRCH, "SET_TRAP_HANDLER: before ACQUIRE_VM");
}

Result set_xnack(Kernel& k, abi::SetXnackMode& a) {
  if (a.xnack_enabled < 0) {
    a.xnack_enabled = 0;
    return 0;
  }
  if (a.xnack_enabled) return k.refuse(EPERM, "SET_XNACK_MODE: this GPU cannot retry faults");
  return 0;
}

Result available_memory(Kernel& k, abi::AvailableMemory& a) {
  Gpu* const gpu = k.gpu_by_id(a.gpu_id);
  if (!gpu) return k.refuse(EINVAL, "AVAILABLE_MEMORY: unknown gpu_id");
  const uint64_t all = vram_of(k.options, k.prof);
  a.available = all - std::min(all, gpu->vram_used_B);
  return 0;
}

Result runtime_enable(Kernel& k, abi::RuntimeEnable& a) {
  if (a.mode_mask & ~3u) return k.refuse(EINVAL, "RUNTIME_ENABLE: unknown mode");
  a.capabilities_mask = 0;
  if (!(a.mode_mask & 1)) {
    k.runtime_enabled = false;
    return 0;
  }
  if (k.runtime_enabled) return k.refuse(EBUSY, "RUNTIME_ENABLE: already enabled");
  for (auto& gpu : k.gpus)
    if (!gpu->queues.empty())
      return k.refuse(EBUSY, "RUNTIME_ENABLE: after the first CREATE_QUEUE");
  k.runtime_enabled = true;
  return 0;
}

Result acquire_vm(Kernel& k, abi::AcquireVm& a);

// ---- memory

/// The reason why an allocation is refused, or "".
std::string check_alloc(const Kernel& k, const abi::AllocMemory& a) {
  const uint32_t domain = a.flags & abi::kDomains;
  if (!power_of_2(domain))
    return "exactly one of VRAM, GTT, USERPTR, DOORBELL, MMIO_REMAP is needed";
  if (a.flags & ~abi::kAllocFlags) return "unknown flags";
  if (a.size == 0) return "size 0";
  if (a.va_addr % kPage_B != 0) return "va_addr is not page aligned";
  if (a.va_addr < kGpuVmBase || a.va_addr + a.size - 1 > kGpuVmLimit ||
      a.va_addr + a.size < a.va_addr)
    return "va_addr is outside the GPU's address space";
  if (domain == abi::kVram && (a.flags & abi::kPublic) && !k.options.large_bar)
    return "PUBLIC VRAM needs a large BAR";
  if (domain == abi::kDoorbell && a.size != kDoorbellSlice_B) return "doorbells are 8192 bytes";
  if (domain == abi::kMmioRemap && a.size != kPage_B) return "MMIO_REMAP is 4096 bytes";
  if (domain == abi::kUserptr && (a.mmap_offset == 0 || a.mmap_offset % kPage_B != 0))
    return "USERPTR needs a page aligned CPU address in mmap_offset";
  return "";
}

bool readable(uint64_t address, uint64_t size_B) {
  std::vector<unsigned char> resident((size_B + kPage_B - 1) / kPage_B);
  return ::mincore(reinterpret_cast<void*>(address), size_B, resident.data()) == 0;
}

Result back(Kernel& k, Gpu& gpu, Bo& bo, const abi::AllocMemory& a) {
  switch (bo.domain) {
    case Domain::vram: {
      // To ask for more than there is is no mistake: nothing to report.
      if (gpu.vram_used_B + bo.size_B > vram_of(k.options, k.prof)) return -ENOMEM;
      if (!k.file.allocate(bo)) return -ENOMEM;
      gpu.vram_used_B += bo.size_B;
      return 0;
    }
    case Domain::gtt:
      return k.file.allocate(bo) ? 0 : -ENOMEM;
    case Domain::userptr:
      if (!readable(a.mmap_offset, bo.size_B))
        return k.refuse(
            EFAULT, fmt::format("ALLOC_MEMORY_OF_GPU: no user memory at 0x{:x}", a.mmap_offset));
      bo.host = reinterpret_cast<std::byte*>(a.mmap_offset);
      return 0;
    case Domain::doorbell:
      bo.host = gpu.doorbells.host;
      return 0;
    case Domain::mmio:
      bo.host = gpu.mmio.host;
      return 0;
  }
  return -EINVAL;
}

Domain domain_of(uint32_t flags) {
  if (flags & abi::kVram) return Domain::vram;
  if (flags & abi::kGtt) return Domain::gtt;
  if (flags & abi::kUserptr) return Domain::userptr;
  return flags & abi::kDoorbell ? Domain::doorbell : Domain::mmio;
}

Result alloc_memory(Kernel& k, abi::AllocMemory& a) {
  Gpu* const gpu = k.gpu_by_id(a.gpu_id);
  if (!gpu) return k.refuse(EINVAL, "ALLOC_MEMORY_OF_GPU: unknown gpu_id");
  const std::string why = check_alloc(k, a);
  if (!why.empty())
    return k.refuse(
        EINVAL, fmt::format("ALLOC_MEMORY_OF_GPU va 0x{:x} size 0x{:x} flags 0x{:x}: {}", a.va_addr,
                            a.size, a.flags, why));
  if (!gpu->vm_description) return k.refuse(ESRCH, "ALLOC_MEMORY_OF_GPU: before ACQUIRE_VM");
  auto bo = std::make_shared<Bo>();
  bo->gpu = gpu->index;
  bo->flags = a.flags;
  bo->va = a.va_addr;
  bo->size_B = (a.size + kPage_B - 1) / kPage_B * kPage_B;
  bo->domain = domain_of(a.flags);
  if (const Result error = back(k, *gpu, *bo, a)) return error;
  bo->handle = uint64_t(gpu->id) << 32 | k.next_handle++;
  if (bo->domain == Domain::doorbell || bo->domain == Domain::mmio) {
    bo->mmap_offset = (bo->domain == Domain::doorbell ? abi::kMmapDoorbell : abi::kMmapMmio) |
                      uint64_t(gpu->id) << abi::kMmapGpuIdShift;
  } else {
    bo->mmap_offset = k.next_mmap_offset;
    k.next_mmap_offset += bo->size_B;
  }
  a.handle = bo->handle;
  a.mmap_offset = bo->mmap_offset;
  k.bos[bo->handle] = std::move(bo);
  return 0;
}

Result free_memory(Kernel& k, abi::FreeMemory& a) {
  const auto bo = k.bo(a.handle);
  if (!bo)
    return k.refuse(EINVAL, fmt::format("FREE_MEMORY_OF_GPU: unknown handle 0x{:x}", a.handle));
  if (bo->queues)
    return k.refuse(EBUSY,
                    fmt::format("FREE_MEMORY_OF_GPU: 0x{:x} belongs to a live queue", bo->va));
  if (!bo->mapped.empty())
    return k.refuse(EBUSY, fmt::format("FREE_MEMORY_OF_GPU: 0x{:x} is still mapped", bo->va));
  if (k.event_page == bo) return k.refuse(EBUSY, "FREE_MEMORY_OF_GPU: the event page is in use");
  k.free_bo(bo);
  return 0;
}

/// Device ids from user memory, from n_success on.
Result each_device(Kernel& k, abi::MapMemory& a, const char* name,
                   const std::function<Result(Bo&, Gpu&)>& act) {
  const auto bo = k.bo(a.handle);
  if (!bo) return k.refuse(EINVAL, fmt::format("{}: unknown handle 0x{:x}", name, a.handle));
  if (a.n_devices == 0) return k.refuse(EINVAL, fmt::format("{}: n_devices 0", name));
  if (a.n_success > a.n_devices)
    return k.refuse(EINVAL, fmt::format("{}: n_success > n_devices", name));
  const auto* const ids = reinterpret_cast<const uint32_t*>(a.device_ids_array_ptr);
  if (!ids) return -EFAULT;
  for (; a.n_success < a.n_devices; ++a.n_success) {
    Gpu* const gpu = k.gpu_by_id(ids[a.n_success]);
    if (!gpu)
      return k.refuse(EINVAL, fmt::format("{}: unknown gpu_id 0x{:x}", name, ids[a.n_success]));
    if (const Result error = act(*bo, *gpu)) return error;
  }
  return 0;
}

Result map_one(Kernel& k, Bo& bo, Gpu& gpu) {
  if (!gpu.vm_description) return k.refuse(ESRCH, "MAP_MEMORY_TO_GPU: before ACQUIRE_VM");
  if (std::find(bo.mapped.begin(), bo.mapped.end(), gpu.index) != bo.mapped.end()) return 0;
  GpuRange range;
  range.va = bo.va;
  range.size_B = bo.size_B;
  range.host = bo.host;
  range.writable = bo.flags & abi::kWritable;
  range.executable = bo.flags & abi::kExecutable;
  range.uncached = (bo.flags & (abi::kUncached | abi::kCoherent | abi::kExtCoherent)) != 0 ||
                   bo.domain == Domain::doorbell || bo.domain == Domain::mmio;
  range.bo = k.bo(bo.handle);
  if (!gpu.memory.map.add(range))
    return k.refuse(EINVAL, fmt::format("MAP_MEMORY_TO_GPU: something is mapped at 0x{:x}+0x{:x}",
                                        bo.va, bo.size_B));
  bo.mapped.push_back(gpu.index);
  gpu.memory.forget_translations();
  return 0;
}

Result map_memory(Kernel& k, abi::MapMemory& a) {
  return each_device(k, a, "MAP_MEMORY_TO_GPU",
                     [&](Bo& bo, Gpu& gpu) { return map_one(k, bo, gpu); });
}

Result unmap_memory(Kernel& k, abi::MapMemory& a) {
  return each_device(k, a, "UNMAP_MEMORY_FROM_GPU", [&](Bo& bo, Gpu& gpu) -> Result {
    if (bo.queues && bo.gpu == gpu.index)
      return k.refuse(EBUSY,
                      fmt::format("UNMAP_MEMORY_FROM_GPU: 0x{:x} belongs to a live queue", bo.va));
    k.unmap_bo(bo, gpu);
    return 0;
  });
}

/// Shared virtual memory: host memory that chosen GPUs may use. Only what maps matters here.
Result svm(Kernel& k, abi::Svm& a, const abi::SvmAttribute* attributes) {
  if (a.start_addr % kPage_B || a.size % kPage_B || a.size == 0)
    return k.refuse(EINVAL,
                    fmt::format("SVM: 0x{:x}+0x{:x} is not in pages", a.start_addr, a.size));
  if (a.op > 1) return k.refuse(EINVAL, "SVM: unknown operation");
  if (a.op == 1) return 0;  // GET_ATTR: what was asked stays as it was
  uint32_t set = 0, clear = 0;
  std::vector<Gpu*> access;
  for (uint32_t i = 0; i < a.nattr; ++i) {
    const auto [type, value] = attributes[i];
    if (type > abi::kSvmGranularity)
      return k.refuse(EINVAL, fmt::format("SVM: unknown attribute {}", type));
    if (type == abi::kSvmSetFlags) set = value;
    if (type == abi::kSvmClrFlags) clear = value;
    if (type != abi::kSvmAccess && type != abi::kSvmAccessInPlace) continue;
    Gpu* const gpu = k.gpu_by_id(value);
    if (!gpu) return k.refuse(EINVAL, fmt::format("SVM: unknown gpu_id 0x{:x}", value));
    access.push_back(gpu);
  }
  const uint32_t flags = set & ~clear;
  if (flags & abi::kSvmAlwaysMapped) {
    access.clear();
    for (auto& gpu : k.gpus) access.push_back(gpu.get());
  }
  if (!readable(a.start_addr, a.size))
    return k.refuse(EFAULT, fmt::format("SVM: no user memory at 0x{:x}", a.start_addr));
  for (Gpu* gpu : access) {
    GpuRange range;
    range.va = a.start_addr;
    range.size_B = a.size;
    range.host = reinterpret_cast<std::byte*>(a.start_addr);
    range.writable = !(flags & abi::kSvmGpuRo);
    range.executable = flags & abi::kSvmGpuExec;
    range.uncached = true;
    if (gpu->svm.count(a.start_addr)) gpu->memory.map.remove(a.start_addr);
    if (!gpu->memory.map.add(range))
      return k.refuse(EADDRINUSE, fmt::format("SVM: 0x{:x} is mapped by a buffer", a.start_addr));
    gpu->svm[a.start_addr] = {a.size, flags};
    gpu->memory.forget_translations();
  }
  return 0;
}

// ---- events

Result create_event(Kernel& k, abi::CreateEvent& a) {
  if (a.event_page_offset != 0) {
    if (k.events.has_page()) return k.refuse(EINVAL, "CREATE_EVENT: the event page is set already");
    const auto bo = k.bo(a.event_page_offset);
    if (!bo) return k.refuse(EINVAL, "CREATE_EVENT: event_page_offset is no handle");
    if (bo->domain != Domain::gtt)
      return k.refuse(EINVAL, "CREATE_EVENT: the event page is not GTT");
    k.events.set_page(reinterpret_cast<uint64_t*>(bo->host), bo->size_B);
    k.event_page = bo;
  }
  const bool signal = a.event_type == abi::kSignalEvent || a.event_type == abi::kDebugEvent;
  if (a.event_type > abi::kMemoryEvent) return k.refuse(EINVAL, "CREATE_EVENT: unknown type");
  if (signal && !k.events.has_page())
    return k.refuse(EINVAL, "CREATE_EVENT: a signal event before there is an event page");
  const int error = k.events.create(a);
  return error ? k.refuse(-error, "CREATE_EVENT: all signal slots are in use") : 0;
}

Result unknown_event(Kernel& k, int error, const char* name, uint32_t id) {
  return error ? k.refuse(-error,
                          fmt::format("{}: event {} is unknown, or no signal event", name, id))
               : 0;
}

// ---- queues

std::string hex_pair(uint64_t given, uint64_t expected) {
  return fmt::format("0x{:x}, expected 0x{:x}", given, expected);
}

/// Kernels from 6.12 on: the buffer must begin there and have exactly this size.
std::string acquire_buffer(Gpu& gpu, const char* what, uint64_t va, uint64_t size_B, bool svm_too,
                           std::vector<std::shared_ptr<Bo>>& vital) {
  const GpuRange* range = gpu.memory.map.find(va);
  if (!range) return fmt::format("{} at 0x{:x} is not mapped on this GPU", what, va);
  if (!range->bo) {
    if (svm_too && range->va <= va && va + size_B <= range->end()) return "";
    return fmt::format("{} at 0x{:x} is shared virtual memory, not a buffer", what, va);
  }
  if (range->va != va / kPage_B * kPage_B)
    return fmt::format("{} begins at 0x{:x}, but its buffer at 0x{:x}", what, va, range->va);
  if (range->size_B != size_B)
    return fmt::format("{} is in a buffer of size {}", what, hex_pair(range->size_B, size_B));
  vital.push_back(range->bo);
  return "";
}

std::string check_compute(Gpu& gpu, const abi::CreateQueue& a,
                          std::vector<std::shared_ptr<Bo>>& vital) {
  const Profile& p = gpu.profile;
  if (a.eop_buffer_address == 0) return "no EOP buffer";
  if (a.eop_buffer_size != kPage_B)
    return "eop_buffer_size is " + hex_pair(a.eop_buffer_size, kPage_B);
  std::string why =
      acquire_buffer(gpu, "the EOP buffer", a.eop_buffer_address, kPage_B, false, vital);
  if (!why.empty()) return why;
  if (a.ctl_stack_size != p.ctl_stack_B())
    return "ctl_stack_size is " + hex_pair(a.ctl_stack_size, p.ctl_stack_B());
  if (a.ctx_save_restore_size != p.cwsr_B())
    return "ctx_save_restore_size is " + hex_pair(a.ctx_save_restore_size, p.cwsr_B());
  return acquire_buffer(gpu, "the context save area", a.ctx_save_restore_address, p.cwsr_buffer_B(),
                        true, vital);
}

std::string check_queue(Gpu& gpu, const abi::CreateQueue& a,
                        std::vector<std::shared_ptr<Bo>>& vital) {
  constexpr uint32_t kMinRing_B = 1024, kMinSdmaRing_B = 4096, kMaxSdmaRing_B = 16 << 20;
  const bool sdma = a.queue_type != abi::kCompute && a.queue_type != abi::kComputeAql;
  if (a.queue_type > abi::kSdmaByEngine)
    return fmt::format("queue_type {} is unknown", a.queue_type);
  if (a.queue_type == abi::kSdmaXgmi) return "this GPU has no XGMI engines";
  if ((a.queue_percentage & 0xff) > 100)
    return fmt::format("queue_percentage {}", a.queue_percentage);
  if (a.queue_priority > 15) return fmt::format("queue_priority {}", a.queue_priority);
  if (!power_of_2(a.ring_size)) return fmt::format("ring_size {} is no power of 2", a.ring_size);
  if (a.ring_size < (sdma ? kMinSdmaRing_B : kMinRing_B) || (sdma && a.ring_size > kMaxSdmaRing_B))
    return fmt::format("ring_size {}", a.ring_size);
  if (a.ring_base_address % 256 != 0) return "the ring is not aligned to 256 bytes";
  if (a.write_pointer_address % 8 || a.read_pointer_address % 8)
    return "a pointer is not 8-byte aligned";
  std::string why =
      acquire_buffer(gpu, "the write pointer", a.write_pointer_address, kPage_B, false, vital);
  if (why.empty())
    why = acquire_buffer(gpu, "the read pointer", a.read_pointer_address, kPage_B, false, vital);
  if (why.empty())
    why = acquire_buffer(gpu, "the ring", a.ring_base_address,
                         (a.ring_size + kPage_B - 1) / kPage_B * kPage_B, false, vital);
  if (why.empty() && vital.front()->domain == Domain::vram)
    why = "the write pointer is in VRAM, not in GTT";
  if (why.empty() && !sdma) why = check_compute(gpu, a, vital);
  return why;
}

/// A process's doorbells: compute from the start, SDMA in the range the hardware routes to it.
int free_doorbell(const Gpu& gpu, bool sdma) {
  constexpr unsigned kSdmaFirst = 0x100, kSdmaEnd = 0x200, kAll = kDoorbellSlice_B / 8;
  const auto used = [&](unsigned i) {
    const auto* slot = reinterpret_cast<uint64_t*>(gpu.doorbells.host) + i;
    return std::any_of(gpu.queues.begin(), gpu.queues.end(),
                       [&](const auto& q) { return q->doorbell == slot; });
  };
  for (unsigned i = sdma ? kSdmaFirst : 0; i < (sdma ? kSdmaEnd : kAll); ++i) {
    if (!sdma && i >= kSdmaFirst && i < kSdmaEnd) continue;
    if (!used(i)) return int(i);
  }
  return -1;
}

Result create_queue(Kernel& k, abi::CreateQueue& a) {
  Gpu* const gpu = k.gpu_by_id(a.gpu_id);
  if (!gpu) return k.refuse(EINVAL, "CREATE_QUEUE: unknown gpu_id");
  if (!gpu->vm_description) return k.refuse(ESRCH, "CREATE_QUEUE: before ACQUIRE_VM");
  std::vector<std::shared_ptr<Bo>> vital;
  const std::string why = check_queue(*gpu, a, vital);
  if (!why.empty()) return k.refuse(EINVAL, "CREATE_QUEUE: " + why);
  const bool sdma = a.queue_type != abi::kCompute && a.queue_type != abi::kComputeAql;
  const auto count = std::count_if(gpu->queues.begin(), gpu->queues.end(),
                                   [&](const auto& q) { return q->sdma() == sdma; });
  constexpr unsigned kComputeQueues = 128;
  if (unsigned(count) >=
      (sdma ? k.prof.sdma_engines * k.prof.sdma_queues_per_engine : kComputeQueues))
    return k.refuse(ENOMEM, "CREATE_QUEUE: no hardware queue is left");
  const int index = free_doorbell(*gpu, sdma);
  if (index < 0) return k.refuse(ENOMEM, "CREATE_QUEUE: no doorbell is left");
  a.queue_id = k.next_queue++;
  a.doorbell_offset =
      abi::kMmapDoorbell | uint64_t(gpu->id) << abi::kMmapGpuIdShift | uint64_t(index) * 8;
  auto queue = std::make_unique<Queue>(*gpu, a);
  queue->doorbell = reinterpret_cast<uint64_t*>(gpu->doorbells.host) + index;
  std::atomic_ref<uint64_t>(*queue->doorbell).store(kNotRung);
  for (const auto& bo : vital) ++bo->queues;
  queue->vital = std::move(vital);
  gpu->queues.push_back(std::move(queue));
  k.start_thread();
  k.work.notify_all();
  return 0;
}

Result destroy_queue(Kernel& k, abi::DestroyQueue& a) {
  Queue* const queue = k.queue_by_id(a.queue_id);
  if (!queue) return k.refuse(EINVAL, fmt::format("DESTROY_QUEUE: unknown queue {}", a.queue_id));
  for (const auto& bo : queue->vital) --bo->queues;
  auto& queues = queue->gpu.queues;
  std::erase_if(queues, [&](const auto& q) { return q.get() == queue; });
  return 0;
}

Result update_queue(Kernel& k, abi::UpdateQueue& a) {
  Queue* const queue = k.queue_by_id(a.queue_id);
  if (!queue) return k.refuse(EINVAL, fmt::format("UPDATE_QUEUE: unknown queue {}", a.queue_id));
  if ((a.queue_percentage & 0xff) > 100 || a.queue_priority > 15)
    return k.refuse(EINVAL, "UPDATE_QUEUE: percentage or priority");
  if (a.ring_size != 0 && !power_of_2(a.ring_size))
    return k.refuse(EINVAL, "UPDATE_QUEUE: ring_size is no power of 2");
  queue->mapped = a.ring_size != 0 && (a.queue_percentage & 0xff) != 0;
  if (a.ring_size != 0 && (a.ring_base_address != queue->args.ring_base_address ||
                           a.ring_size != queue->args.ring_size))
    return k.refuse(EINVAL, "UPDATE_QUEUE: moving a ring is not modelled");
  return 0;
}

Result set_cu_mask(Kernel& k, abi::SetCuMask& a) {
  if (!k.queue_by_id(a.queue_id)) return k.refuse(EINVAL, "SET_CU_MASK: unknown queue");
  return a.num_cu_mask % 32 == 0 && a.num_cu_mask ? 0 : k.refuse(EINVAL, "SET_CU_MASK: mask size");
}

// ---- files

class KfdFile : public interpose::File {
 public:
  explicit KfdFile(Kernel& kernel) : kernel_(kernel) {
    CallerLock lock(kernel_);
    ++kernel_.open_files;
  }
  Result ioctl(unsigned long request, void* argument) override {
    if (forked_) return -EBADF;
    return kernel_.kfd_ioctl(request, argument);
  }
  Result map(const interpose::MapRequest& request) override {
    return forked_ ? -EBADF : kernel_.kfd_map(request);
  }
  void release() override {
    if (forked_) return;
    CallerLock lock(kernel_);
    if (--kernel_.open_files == 0) kernel_.release_process();
  }
  void forked_child() override { forked_ = true; }

 private:
  Kernel& kernel_;
  std::atomic<bool> forked_ = false;
};

class RenderFile : public interpose::File {
 public:
  RenderFile(Kernel& kernel, unsigned gpu) : kernel_(kernel), gpu_(gpu) {}
  Result ioctl(unsigned long request, void* argument) override {
    if (forked_) return -EBADF;
    return kernel_.drm_ioctl(*kernel_.gpus[gpu_], request, argument);
  }
  Result map(const interpose::MapRequest& request) override {
    return forked_ ? -EBADF : kernel_.drm_map(*kernel_.gpus[gpu_], request);
  }
  void forked_child() override { forked_ = true; }
  unsigned gpu() const { return gpu_; }

 private:
  Kernel& kernel_;
  unsigned gpu_;
  std::atomic<bool> forked_ = false;
};

Result acquire_vm(Kernel& k, abi::AcquireVm& a) {
  Gpu* const gpu = k.gpu_by_id(a.gpu_id);
  if (!gpu) return k.refuse(EINVAL, "ACQUIRE_VM: unknown gpu_id");
  const interpose::DescriptorInfo info = interpose::descriptor(int(a.drm_fd));
  const auto* const file = dynamic_cast<const RenderFile*>(info.file.get());
  if (!file || file->gpu() != gpu->index)
    return k.refuse(EINVAL, "ACQUIRE_VM: drm_fd is not this GPU's render node");
  if (gpu->vm_description == info.description) return 0;
  if (gpu->vm_description)
    return k.refuse(EBUSY, "ACQUIRE_VM: the process's VM is another open of the render node");
  gpu->vm_description = info.description;
  return 0;
}

/// The user's struct, of whatever size, and the kernel's.
class Argument {
 public:
  Argument(unsigned long request, void* user)
      : user_(user), user_B_(_IOC_SIZE(request)), out_(_IOC_DIR(request) & _IOC_READ) {}
  template <class T>
  Result with(const std::function<Result(T&)>& act) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!user_) return -EFAULT;
    T value{};
    std::memcpy(static_cast<void*>(&value), user_, std::min(user_B_, sizeof value));
    const Result result = act(value);
    if (out_) std::memcpy(user_, &value, std::min(user_B_, sizeof value));
    return result;
  }

 private:
  void* user_;
  size_t user_B_;
  bool out_;
};

}  // namespace

interpose::Result Kernel::kfd_ioctl(unsigned long request, void* argument) {
  CallerLock lock(*this);
  ++stats.ioctls;
  if (_IOC_TYPE(request) != 'K')
    return refuse(ENOTTY, fmt::format("ioctl 0x{:x} on /dev/kfd", request));
  const unsigned nr = _IOC_NR(request);
  if (const int error = injected('K', nr)) return error;
  Kernel& k = *this;
  Argument arg(request, argument);
  const auto call = [&]<class T>(Result (*act)(Kernel&, T&)) {
    return arg.with<T>([&](T& value) { return act(k, value); });
  };
  switch (nr) {
    case abi::kGetVersion:
      return call(get_version);
    case abi::kCreateQueue:
      return call(create_queue);
    case abi::kDestroyQueue:
      return call(destroy_queue);
    case abi::kSetMemoryPolicy:
      return call(set_memory_policy);
    case abi::kGetClockCounters:
      return call(get_clock_counters);
    case abi::kGetProcessApertures:
      return call(get_apertures);
    case abi::kUpdateQueue:
      return call(update_queue);
    case abi::kCreateEvent:
      return call(create_event);
    case abi::kDestroyEvent:
      return arg.with<abi::EventId>([&](abi::EventId& a) {
        return unknown_event(k, events.destroy(a.event_id), "DESTROY_EVENT", a.event_id);
      });
    case abi::kSetEvent:
      return arg.with<abi::EventId>([&](abi::EventId& a) {
        return unknown_event(k, events.set(a.event_id), "SET_EVENT", a.event_id);
      });
    case abi::kResetEvent:
      return arg.with<abi::EventId>([&](abi::EventId& a) {
        return unknown_event(k, events.reset(a.event_id), "RESET_EVENT", a.event_id);
      });
    case abi::kWaitEvents:
      return arg.with<abi::WaitEvents>([&](abi::WaitEvents& a) -> Result {
        if (!a.events_ptr && a.num_events) return -EFAULT;
        return events.wait(lock.lock(), a);
      });
    case abi::kSetScratchBackingVa:
      return call(set_scratch_backing);
    case abi::kGetTileConfig:
      return call(get_tile_config);
    case abi::kSetTrapHandler:
      return call(set_trap_handler);
    case abi::kGetProcessAperturesNew:
      return call(get_apertures_new);
    case abi::kAcquireVm:
      return call(acquire_vm);
    case abi::kAllocMemory:
      return call(alloc_memory);
    case abi::kFreeMemory:
      return call(free_memory);
    case abi::kMapMemory:
      return call(map_memory);
    case abi::kUnmapMemory:
      return call(unmap_memory);
    case abi::kSetCuMask:
      return call(set_cu_mask);
    case abi::kSvm:
      return arg.with<abi::Svm>([&](abi::Svm& a) {
        const auto* attributes =
            reinterpret_cast<const abi::SvmAttribute*>(static_cast<char*>(argument) + 24);
        return svm(k, a, attributes);
      });
    case abi::kSetXnackMode:
      return call(set_xnack);
    case abi::kAvailableMemory:
      if (options.kfd_minor < 9) break;
      return call(available_memory);
    case abi::kRuntimeEnable:
      if (options.kfd_minor < 13) break;
      return call(runtime_enable);
  }
  return refuse(EINVAL, fmt::format("ioctl number 0x{:x} is not modelled", nr));
}

interpose::Result Kernel::kfd_map(const interpose::MapRequest& request) {
  CallerLock lock(*this);
  const uint64_t type = request.offset_B & abi::kMmapTypeMask;
  const auto id = uint32_t((request.offset_B & abi::kMmapGpuIdMask) >> abi::kMmapGpuIdShift);
  Gpu* const gpu = gpu_by_id(id);
  if (!gpu) return refuse(EINVAL, fmt::format("mmap of /dev/kfd: unknown gpu_id 0x{:x}", id));
  const Bo* bo = nullptr;
  if (type == abi::kMmapDoorbell) bo = &gpu->doorbells;
  if (type == abi::kMmapMmio) bo = &gpu->mmio;
  if (!bo) return refuse(EINVAL, "mmap of /dev/kfd: type is not modelled");
  if (request.length_B != bo->size_B)
    return refuse(EINVAL,
                  fmt::format("mmap of /dev/kfd: length {}, not {}", request.length_B, bo->size_B));
  void* const at = ::mmap(request.address, request.length_B, request.prot, request.flags, file.fd(),
                          off_t(bo->file_offset_B));
  return at == MAP_FAILED ? -errno : Result(reinterpret_cast<uintptr_t>(at));
}

void Kernel::add_devices() {
  constexpr unsigned kKfdMajor = 234, kDrmMajor = 226;
  tree->add_device("/dev/kfd", makedev(kKfdMajor, 0), [this](const interpose::OpenRequest&) {
    if (const int error = injected('o', 0)) return interpose::Opened{nullptr, -error};
    return interpose::Opened{std::make_shared<KfdFile>(*this), 0};
  });
  for (unsigned gpu = 0; gpu < options.gpus; ++gpu) {
    const auto& without = options.without_render_node;
    if (std::find(without.begin(), without.end(), gpu) != without.end()) continue;
    const unsigned minor = kFirstRenderMinor + gpu;
    tree->add_device(fmt::format("/dev/dri/renderD{}", minor), makedev(kDrmMajor, minor),
                     [this, gpu](const interpose::OpenRequest&) {
                       if (const int error = injected('o', 1))
                         return interpose::Opened{nullptr, -error};
                       return interpose::Opened{std::make_shared<RenderFile>(*this, gpu), 0};
                     });
  }
}

}  // namespace tiny::models::amd
