// SPDX-License-Identifier: MIT
// The kernel's side of the ioctl interface (Linux 6.12, KFD 1.17): numbers, flags and structs, as
// the model needs them. Written for the model alone; drivers have their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny::models::amd::abi {

enum Nr : unsigned {
  kGetVersion = 0x01,
  kCreateQueue = 0x02,
  kDestroyQueue = 0x03,
  kSetMemoryPolicy = 0x04,
  kGetClockCounters = 0x05,
  kGetProcessApertures = 0x06,
  kUpdateQueue = 0x07,
  kCreateEvent = 0x08,
  kDestroyEvent = 0x09,
  kSetEvent = 0x0a,
  kResetEvent = 0x0b,
  kWaitEvents = 0x0c,
  kSetScratchBackingVa = 0x11,
  kGetTileConfig = 0x12,
  kSetTrapHandler = 0x13,
  kGetProcessAperturesNew = 0x14,
  kAcquireVm = 0x15,
  kAllocMemory = 0x16,
  kFreeMemory = 0x17,
  kMapMemory = 0x18,
  kUnmapMemory = 0x19,
  kSetCuMask = 0x1a,
  kSvm = 0x20,
  kSetXnackMode = 0x21,
  kAvailableMemory = 0x23,
  kRuntimeEnable = 0x25,
};

struct Version {
  uint32_t major, minor;
};
struct CreateQueue {
  uint64_t ring_base_address, write_pointer_address, read_pointer_address, doorbell_offset;
  uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority, queue_id;
  uint64_t eop_buffer_address, eop_buffer_size, ctx_save_restore_address;
  uint32_t ctx_save_restore_size, ctl_stack_size, sdma_engine_id, pad;
};
static_assert(sizeof(CreateQueue) == 96 && offsetof(CreateQueue, eop_buffer_address) == 56 &&
              offsetof(CreateQueue, sdma_engine_id) == 88);
struct DestroyQueue {
  uint32_t queue_id, pad;
};
struct UpdateQueue {
  uint64_t ring_base_address;
  uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};
static_assert(sizeof(UpdateQueue) == 24);
struct SetMemoryPolicy {
  uint64_t alternate_aperture_base, alternate_aperture_size;
  uint32_t gpu_id, default_policy, alternate_policy, pad;
};
static_assert(sizeof(SetMemoryPolicy) == 32);
struct ClockCounters {
  uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_freq;
  uint32_t gpu_id, pad;
};
static_assert(sizeof(ClockCounters) == 40);
struct Apertures {
  uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
  uint32_t gpu_id, pad;
};
static_assert(sizeof(Apertures) == 56);
struct ProcessApertures {
  Apertures apertures[7];
  uint32_t num_of_nodes, pad;
};
static_assert(sizeof(ProcessApertures) == 400);
struct ProcessAperturesNew {
  uint64_t apertures;
  uint32_t num_of_nodes, pad;
};
struct CreateEvent {
  uint64_t event_page_offset;
  uint32_t event_trigger_data, event_type, auto_reset, node_id, event_id, event_slot_index;
};
static_assert(sizeof(CreateEvent) == 32);
struct EventId {
  uint32_t event_id, pad;
};
struct MemoryException {
  uint32_t not_present, read_only, no_execute, imprecise;
  uint64_t va;
  uint32_t gpu_id, error_type;
};
struct HwException {
  uint32_t reset_type, reset_cause, memory_lost, gpu_id;
};
struct EventData {
  union {
    MemoryException memory;
    HwException hw;
    uint64_t last_event_age;
  };
  uint64_t ext;
  uint32_t event_id, pad;
};
static_assert(sizeof(EventData) == 48 && offsetof(EventData, event_id) == 40);
struct WaitEvents {
  uint64_t events_ptr;
  uint32_t num_events, wait_for_all, timeout, wait_result;
};
static_assert(sizeof(WaitEvents) == 24);
struct SetScratchBackingVa {
  uint64_t va_addr;
  uint32_t gpu_id, pad;
};
struct GetTileConfig {
  uint64_t tile_config_ptr, macro_tile_config_ptr;
  uint32_t num_tile_configs, num_macro_tile_configs, gpu_id, gb_addr_config, num_banks, num_ranks;
};
static_assert(sizeof(GetTileConfig) == 40);
struct SetTrapHandler {
  uint64_t tba_addr, tma_addr;
  uint32_t gpu_id, pad;
};
struct AcquireVm {
  uint32_t drm_fd, gpu_id;
};
struct AllocMemory {
  uint64_t va_addr, size, handle, mmap_offset;
  uint32_t gpu_id, flags;
};
static_assert(sizeof(AllocMemory) == 40);
struct FreeMemory {
  uint64_t handle;
};
struct MapMemory {
  uint64_t handle, device_ids_array_ptr;
  uint32_t n_devices, n_success;
};
struct SetCuMask {
  uint32_t queue_id, num_cu_mask;
  uint64_t cu_mask_ptr;
};
struct SvmAttribute {
  uint32_t type, value;
};
struct Svm {
  uint64_t start_addr, size;
  uint32_t op, nattr;
};
struct SetXnackMode {
  int32_t xnack_enabled;
};
struct AvailableMemory {
  uint64_t available;
  uint32_t gpu_id, pad;
};
struct RuntimeEnable {
  uint64_t r_debug;
  uint32_t mode_mask, capabilities_mask;
};
static_assert(sizeof(RuntimeEnable) == 16);

/// At the start of a queue's context save area.
struct SaveAreaHeader {
  uint32_t control_stack_offset, control_stack_size, wave_state_offset, wave_state_size;
  uint32_t debug_offset, debug_size;
  uint64_t err_payload_addr;
  uint32_t err_event_id, reserved;
};
static_assert(sizeof(SaveAreaHeader) == 40);

enum AllocFlag : uint32_t {
  kVram = 1u << 0,
  kGtt = 1u << 1,
  kUserptr = 1u << 2,
  kDoorbell = 1u << 3,
  kMmioRemap = 1u << 4,
  kDomains = 0x1f,
  kContiguous = 1u << 23,
  kExtCoherent = 1u << 24,
  kUncached = 1u << 25,
  kCoherent = 1u << 26,
  kAqlQueueMem = 1u << 27,
  kNoSubstitute = 1u << 28,
  kPublic = 1u << 29,
  kExecutable = 1u << 30,
  kWritable = 1u << 31,
  kAllocFlags = kDomains | 0xff800000u,
};

enum QueueType : uint32_t {
  kCompute = 0,
  kSdma = 1,
  kComputeAql = 2,
  kSdmaXgmi = 3,
  kSdmaByEngine = 4
};

enum EventType : uint32_t {
  kSignalEvent = 0,
  kHwExceptionEvent = 3,
  kDebugEvent = 5,
  kMemoryEvent = 8,
};
constexpr uint32_t kFirstOtherEvent = 0x40000000;
constexpr uint32_t kSignalLimit = 4096;
constexpr uint64_t kUnsignalled = ~0ull;  ///< a slot of the event page
enum WaitResult : uint32_t { kWaitDone = 0, kWaitTimeout = 1, kWaitFail = 2 };

// Offsets for mmap of /dev/kfd.
constexpr uint64_t kMmapDoorbell = 3ull << 62, kMmapEvents = 2ull << 62, kMmapMmio = 0;
constexpr unsigned kMmapGpuIdShift = 46;
constexpr uint64_t kMmapTypeMask = 3ull << 62, kMmapGpuIdMask = 0xffffull << kMmapGpuIdShift;

enum SvmAttr : uint32_t {
  kSvmPreferredLoc = 0,
  kSvmPrefetchLoc = 1,
  kSvmAccess = 2,
  kSvmAccessInPlace = 3,
  kSvmNoAccess = 4,
  kSvmSetFlags = 5,
  kSvmClrFlags = 6,
  kSvmGranularity = 7,
};
enum SvmFlag : uint32_t {
  kSvmHostAccess = 1,
  kSvmCoherent = 2,
  kSvmHiveLocal = 4,
  kSvmGpuRo = 8,
  kSvmGpuExec = 0x10,
  kSvmReadMostly = 0x20,
  kSvmAlwaysMapped = 0x40,
  kSvmExtCoherent = 0x80,
};

// Exception codes of queues; a payload has bit (code - 1) set.
enum Exception : unsigned {
  kWaveAbort = 1,
  kWaveTrap = 2,
  kWaveIllegalInstruction = 4,
  kWaveMemoryViolation = 5,
  kWaveApertureViolation = 6,
  kPacketUnsupported = 22,
};

}  // namespace tiny::models::amd::abi
