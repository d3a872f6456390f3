// SPDX-License-Identifier: MIT
// The kernel's structs and numbers for /dev/kfd and, where we need it, the render node: our own
// copy in the kernel's spelling (include/uapi/linux/kfd_ioctl.h, ABI 1.17; amdgpu_drm.h), because
// the headers of a system may be older than the kernel that runs. Only what the driver uses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny::amd {

// ---- numbers ---------------------------------------------------------------------------------

inline constexpr uint32_t AMDKFD_IOCTL_BASE = 0x4b;
inline constexpr uint32_t KFD_IOCTL_MAJOR_VERSION = 1;

/// KFD_IOC(NAME, number, struct, direction): direction as in _IOC, 1 write, 2 read, 3 both.
#define TINY_KFD_IOCTLS(KFD_IOC)                                                                   \
  KFD_IOC(AMDKFD_IOC_GET_VERSION, 0x01, kfd_ioctl_get_version_args, 2)                             \
  KFD_IOC(AMDKFD_IOC_CREATE_QUEUE, 0x02, kfd_ioctl_create_queue_args, 3)                           \
  KFD_IOC(AMDKFD_IOC_DESTROY_QUEUE, 0x03, kfd_ioctl_destroy_queue_args, 3)                         \
  KFD_IOC(AMDKFD_IOC_GET_CLOCK_COUNTERS, 0x05, kfd_ioctl_get_clock_counters_args, 3)               \
  KFD_IOC(AMDKFD_IOC_CREATE_EVENT, 0x08, kfd_ioctl_create_event_args, 3)                           \
  KFD_IOC(AMDKFD_IOC_DESTROY_EVENT, 0x09, kfd_ioctl_destroy_event_args, 1)                         \
  KFD_IOC(AMDKFD_IOC_SET_EVENT, 0x0a, kfd_ioctl_set_event_args, 1)                                 \
  KFD_IOC(AMDKFD_IOC_WAIT_EVENTS, 0x0c, kfd_ioctl_wait_events_args, 3)                             \
  KFD_IOC(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, 0x14, kfd_ioctl_get_process_apertures_new_args, 3) \
  KFD_IOC(AMDKFD_IOC_ACQUIRE_VM, 0x15, kfd_ioctl_acquire_vm_args, 1)                               \
  KFD_IOC(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, 0x16, kfd_ioctl_alloc_memory_of_gpu_args, 3)             \
  KFD_IOC(AMDKFD_IOC_FREE_MEMORY_OF_GPU, 0x17, kfd_ioctl_free_memory_of_gpu_args, 1)               \
  KFD_IOC(AMDKFD_IOC_MAP_MEMORY_TO_GPU, 0x18, kfd_ioctl_map_memory_to_gpu_args, 3)                 \
  KFD_IOC(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, 0x19, kfd_ioctl_unmap_memory_from_gpu_args, 3)         \
  KFD_IOC(AMDKFD_IOC_AVAILABLE_MEMORY, 0x23, kfd_ioctl_get_available_memory_args, 3)               \
  KFD_IOC(AMDKFD_IOC_RUNTIME_ENABLE, 0x25, kfd_ioctl_runtime_enable_args, 3)

// ---- structs ---------------------------------------------------------------------------------

struct kfd_ioctl_get_version_args {
  uint32_t major_version;
  uint32_t minor_version;
};
static_assert(sizeof(kfd_ioctl_get_version_args) == 8);

struct kfd_ioctl_create_queue_args {
  uint64_t ring_base_address;
  uint64_t write_pointer_address;
  uint64_t read_pointer_address;
  uint64_t doorbell_offset;  // from the kernel
  uint32_t ring_size;
  uint32_t gpu_id;
  uint32_t queue_type;
  uint32_t queue_percentage;
  uint32_t queue_priority;
  uint32_t queue_id;  // from the kernel
  uint64_t eop_buffer_address;
  uint64_t eop_buffer_size;
  uint64_t ctx_save_restore_address;
  uint32_t ctx_save_restore_size;
  uint32_t ctl_stack_size;
  uint32_t sdma_engine_id;  // since 1.17; the kernel goes by the number of the call, not its size
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_create_queue_args) == 96);

inline constexpr uint32_t KFD_IOC_QUEUE_TYPE_COMPUTE = 0;
inline constexpr uint32_t KFD_IOC_QUEUE_TYPE_SDMA = 1;
inline constexpr uint32_t KFD_MAX_QUEUE_PERCENTAGE = 100;
inline constexpr uint32_t KFD_MIN_QUEUE_RING_SIZE = 1024;

struct kfd_ioctl_destroy_queue_args {
  uint32_t queue_id;
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_destroy_queue_args) == 8);

struct kfd_ioctl_get_clock_counters_args {
  uint64_t gpu_clock_counter;
  uint64_t cpu_clock_counter;
  uint64_t system_clock_counter;
  uint64_t system_clock_freq;
  uint32_t gpu_id;  // to the kernel
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_get_clock_counters_args) == 40);

struct kfd_ioctl_create_event_args {
  uint64_t event_page_offset;  // first call: handle of the event page
  uint32_t event_trigger_data;
  uint32_t event_type;
  uint32_t auto_reset;
  uint32_t node_id;
  uint32_t event_id;          // from the kernel
  uint32_t event_slot_index;  // from the kernel
};
static_assert(sizeof(kfd_ioctl_create_event_args) == 32);

inline constexpr uint32_t KFD_IOC_EVENT_SIGNAL = 0;
inline constexpr uint32_t KFD_IOC_EVENT_HW_EXCEPTION = 3;
inline constexpr uint32_t KFD_IOC_EVENT_MEMORY = 8;
inline constexpr uint32_t KFD_SIGNAL_EVENT_LIMIT = 4096;

struct kfd_ioctl_destroy_event_args {
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_destroy_event_args) == 8);

struct kfd_ioctl_set_event_args {
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_set_event_args) == 8);

struct kfd_memory_exception_failure {
  uint32_t NotPresent;
  uint32_t ReadOnly;
  uint32_t NoExecute;
  uint32_t imprecise;
};
struct kfd_hsa_memory_exception_data {
  kfd_memory_exception_failure failure;
  uint64_t va;
  uint32_t gpu_id;
  uint32_t ErrorType;  // 0 no RAS error, 1 SRAM ECC, 2 link sync flood, 3 hang
};
static_assert(sizeof(kfd_hsa_memory_exception_data) == 32);

struct kfd_hsa_hw_exception_data {
  uint32_t reset_type;  // KFD_HW_EXCEPTION_*_RESET
  uint32_t reset_cause;
  uint32_t memory_lost;
  uint32_t gpu_id;
};
static_assert(sizeof(kfd_hsa_hw_exception_data) == 16);
inline constexpr uint32_t KFD_HW_EXCEPTION_WHOLE_GPU_RESET = 0;
inline constexpr uint32_t KFD_HW_EXCEPTION_PER_ENGINE_RESET = 1;
inline constexpr uint32_t KFD_HW_EXCEPTION_GPU_HANG = 0;
inline constexpr uint32_t KFD_HW_EXCEPTION_ECC = 1;

struct kfd_hsa_signal_event_data {
  uint64_t last_event_age;  // to and from the kernel, since 1.14
};

struct kfd_event_data {
  union {
    kfd_hsa_memory_exception_data memory_exception_data;
    kfd_hsa_hw_exception_data hw_exception_data;
    kfd_hsa_signal_event_data signal_event_data;
  };
  uint64_t kfd_event_data_ext;
  uint32_t event_id;  // to the kernel
  uint32_t pad;
};
static_assert(sizeof(kfd_event_data) == 48 && offsetof(kfd_event_data, event_id) == 40);

struct kfd_ioctl_wait_events_args {
  uint64_t events_ptr;
  uint32_t num_events;
  uint32_t wait_for_all;
  uint32_t timeout;  // ms
  uint32_t wait_result;
};
static_assert(sizeof(kfd_ioctl_wait_events_args) == 24);
inline constexpr uint32_t KFD_IOC_WAIT_RESULT_COMPLETE = 0;
inline constexpr uint32_t KFD_IOC_WAIT_RESULT_TIMEOUT = 1;
inline constexpr uint32_t KFD_IOC_WAIT_RESULT_FAIL = 2;

struct kfd_process_device_apertures {
  uint64_t lds_base;
  uint64_t lds_limit;
  uint64_t scratch_base;
  uint64_t scratch_limit;
  uint64_t gpuvm_base;
  uint64_t gpuvm_limit;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(kfd_process_device_apertures) == 56);

struct kfd_ioctl_get_process_apertures_new_args {
  uint64_t kfd_process_device_apertures_ptr;
  uint32_t num_of_nodes;  // to the kernel: room; from it: how many
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_get_process_apertures_new_args) == 16);

struct kfd_ioctl_acquire_vm_args {
  uint32_t drm_fd;
  uint32_t gpu_id;
};
static_assert(sizeof(kfd_ioctl_acquire_vm_args) == 8);

struct kfd_ioctl_alloc_memory_of_gpu_args {
  uint64_t va_addr;
  uint64_t size;
  uint64_t handle;       // from the kernel
  uint64_t mmap_offset;  // USERPTR: to the kernel, the address; else from it
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(kfd_ioctl_alloc_memory_of_gpu_args) == 40);

inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_VRAM = 1u << 0;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_GTT = 1u << 1;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_USERPTR = 1u << 2;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL = 1u << 3;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP = 1u << 4;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED = 1u << 25;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_COHERENT = 1u << 26;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE = 1u << 28;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC = 1u << 29;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE = 1u << 30;
inline constexpr uint32_t KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE = 1u << 31;

struct kfd_ioctl_free_memory_of_gpu_args {
  uint64_t handle;
};
static_assert(sizeof(kfd_ioctl_free_memory_of_gpu_args) == 8);

struct kfd_ioctl_map_memory_to_gpu_args {
  uint64_t handle;
  uint64_t device_ids_array_ptr;
  uint32_t n_devices;
  uint32_t n_success;  // both ways: a call that was interrupted goes on from here
};
static_assert(sizeof(kfd_ioctl_map_memory_to_gpu_args) == 24);

struct kfd_ioctl_unmap_memory_from_gpu_args {
  uint64_t handle;
  uint64_t device_ids_array_ptr;
  uint32_t n_devices;
  uint32_t n_success;
};
static_assert(sizeof(kfd_ioctl_unmap_memory_from_gpu_args) == 24);

struct kfd_ioctl_get_available_memory_args {
  uint64_t available;  // from the kernel
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(kfd_ioctl_get_available_memory_args) == 16);

struct kfd_ioctl_runtime_enable_args {
  uint64_t r_debug;
  uint32_t mode_mask;
  uint32_t capabilities_mask;  // from the kernel
};
static_assert(sizeof(kfd_ioctl_runtime_enable_args) == 16);
inline constexpr uint32_t KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK = 1;

/// At the start of a queue's context save area; the kernel reads the last members when it reports
/// an exception of the queue.
struct kfd_context_save_area_header {
  struct {
    uint32_t control_stack_offset;
    uint32_t control_stack_size;
    uint32_t wave_state_offset;
    uint32_t wave_state_size;
  } wave_state;
  uint32_t debug_offset;
  uint32_t debug_size;
  uint64_t err_payload_addr;  // gets a mask of 1 << (exception code - 1)
  uint32_t err_event_id;
  uint32_t reserved1;
};
static_assert(sizeof(kfd_context_save_area_header) == 40 &&
              offsetof(kfd_context_save_area_header, err_payload_addr) == 24);

/// Exception codes of the error payload (kfd_dbg_trap_exception_code).
#define TINY_KFD_EXCEPTIONS(EC)                               \
  EC(EC_QUEUE_WAVE_ABORT, 1)                                  \
  EC(EC_QUEUE_WAVE_TRAP, 2)                                   \
  EC(EC_QUEUE_WAVE_MATH_ERROR, 3)                             \
  EC(EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION, 4)                    \
  EC(EC_QUEUE_WAVE_MEMORY_VIOLATION, 5)                       \
  EC(EC_QUEUE_WAVE_APERTURE_VIOLATION, 6)                     \
  EC(EC_QUEUE_PACKET_DISPATCH_DIM_INVALID, 16)                \
  EC(EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID, 17) \
  EC(EC_QUEUE_PACKET_DISPATCH_CODE_INVALID, 18)               \
  EC(EC_QUEUE_PACKET_RESERVED, 19)                            \
  EC(EC_QUEUE_PACKET_UNSUPPORTED, 20)                         \
  EC(EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID, 21)    \
  EC(EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID, 22)           \
  EC(EC_QUEUE_PACKET_VENDOR_UNSUPPORTED, 23)                  \
  EC(EC_QUEUE_PREEMPTION_ERROR, 30)                           \
  EC(EC_DEVICE_MEMORY_VIOLATION, 33)                          \
  EC(EC_DEVICE_RAS_ERROR, 34)                                 \
  EC(EC_DEVICE_FATAL_HALT, 35)

// ---- mmap of /dev/kfd (amdkfd/kfd_priv.h): type in bits 63:62, gpu_id in 61:46
// -------------------

inline constexpr uint64_t KFD_MMAP_TYPE_SHIFT = 62;
inline constexpr uint64_t KFD_MMAP_GPU_ID_SHIFT = 46;
inline constexpr uint64_t KFD_MMAP_TYPE_DOORBELL = uint64_t{3} << KFD_MMAP_TYPE_SHIFT;
inline constexpr uint64_t KFD_MMAP_TYPE_MMIO = 0;

// ---- sysfs (kfd_sysfs.h)
// -------------------------------------------------------------------------

inline constexpr uint32_t HSA_CAP_DOORBELL_TYPE_TOTALBITS_SHIFT = 12;
inline constexpr uint32_t HSA_CAP_DOORBELL_TYPE_TOTALBITS_MASK = 0x3000;
inline constexpr uint32_t HSA_CAP_DOORBELL_TYPE_2_0 = 2;
inline constexpr uint32_t HSA_MEM_HEAP_TYPE_FB_PUBLIC = 1;
inline constexpr uint32_t HSA_MEM_HEAP_TYPE_FB_PRIVATE = 2;
inline constexpr uint32_t HSA_IOLINK_FLAGS_NO_ATOMICS_64_BIT = 1 << 3;

// ---- DRM
// -----------------------------------------------------------------------------------------

struct drm_amdgpu_info {
  uint64_t return_pointer;
  uint32_t return_size;
  uint32_t query;
  uint32_t unused[4];  // arguments of other queries
};
static_assert(sizeof(drm_amdgpu_info) == 32);
inline constexpr uint32_t DRM_IOCTL_AMDGPU_INFO = 0x40206445;
inline constexpr uint32_t AMDGPU_INFO_DEV_INFO = 0x16;
/// drm_amdgpu_info_device::gpu_counter_freq, in kHz. We ask for no more than its first 32 bytes.
inline constexpr size_t kGpuCounterFreqOffset_B = 28;

}  // namespace tiny::amd
