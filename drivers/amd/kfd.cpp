// SPDX-License-Identifier: MIT
// The one file of this driver that calls ioctl, and only through the C library.
#include "drivers/amd/kfd.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/log.h>

#include "runtime/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace tiny::amd {
namespace {

constexpr uint64_t kEventPage_B = KFD_SIGNAL_EVENT_LIMIT * 8;
constexpr uint64_t kDefaultClock_Hz = 100'000'000;

#define KFD_IOC(NAME, number, args, direction) \
  constexpr unsigned long NAME = _IOC(direction, AMDKFD_IOCTL_BASE, number, sizeof(args));
TINY_KFD_IOCTLS(KFD_IOC)
#undef KFD_IOC

std::string_view name_of(unsigned long request) {
  switch (request) {
#define KFD_IOC(NAME, number, args, direction) \
  case NAME:                                   \
    return #NAME;
    TINY_KFD_IOCTLS(KFD_IOC)
#undef KFD_IOC
    default:
      return "ioctl";
  }
}

template <class... Args>
[[noreturn]] void fail(unsigned long request, int err, const std::string& hint,
                       fmt::format_string<Args...> format, Args&&... args) {
  throw_system_error(
      fmt::format("{}({})", name_of(request), fmt::format(format, std::forward<Args>(args)...)),
      err, hint);
}

std::string open_hint(int err) {
  switch (err) {
    case EACCES:
      return "this user may not open /dev/kfd: join the groups `render` and `video`, and log in "
             "again";
    case EPERM:
    case EINVAL:
      return "in a container, pass the devices in: --device=/dev/kfd --device=/dev/dri";
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return "no amdgpu kernel driver with compute support is loaded";
    case EAGAIN:
      return "the GPU is being reset; try again";
    default:
      return "";
  }
}

std::string queue_hint(int err, const QueueExpectation& expected) {
  switch (err) {
    case EINVAL:
      return fmt::format(
          "the kernel checks sizes: the save area and control stack must be what the node says "
          "({}), the ring a power of two and exactly its buffer, the pointer page exactly one "
          "page, the end-of-pipe buffer 4096 B. Its reason: echo 'file kfd_queue.c +p' > "
          "/sys/kernel/debug/dynamic_debug/control",
          expected.node);
    case ENOMEM:
      return "no queue slots, doorbells or GART space left; close other programs on this GPU";
    case ESRCH:
      return "the process has no address space on this GPU (ACQUIRE_VM missing)";
    default:
      return "";
  }
}

}  // namespace

void* reserve_addresses(uint64_t size_B) {
  void* p = ::mmap(nullptr, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw_system_error(fmt::format("mmap({} B, PROT_NONE)", size_B), errno);
  return p;
}

std::shared_ptr<Kfd> Kfd::open() {
  static std::mutex mutex;
  static std::map<uint64_t, std::shared_ptr<Kfd>>* const by_process =
      new std::map<uint64_t, std::shared_ptr<Kfd>>;  // never destroyed: see the class
  std::lock_guard lock(mutex);
  auto& slot = (*by_process)[process_generation()];
  if (!slot) slot = std::shared_ptr<Kfd>(new Kfd);
  return slot;
}

Kfd::Kfd() {
  const int fd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_system_error("open(/dev/kfd)", errno, open_hint(errno));
  fd_ = Fd(fd);
  kfd_ioctl_get_version_args version{};
  if (const int err = call(AMDKFD_IOC_GET_VERSION, &version))
    fail(AMDKFD_IOC_GET_VERSION, err, "", "");
  if (version.major_version != KFD_IOCTL_MAJOR_VERSION)
    throw SystemError(fmt::format("/dev/kfd speaks version {}.{}, this driver 1.x",
                                  version.major_version, version.minor_version));
  minor_ = version.minor_version;
  log_at(2, "amd/kfd", "version 1.{}", minor_);
}

Kfd::~Kfd() = default;

OwnedEvent::~OwnedEvent() {
  if (kfd_) kfd_->destroy_event(event_);
}

/// 0 or errno. A signal interrupts some calls; a reset in progress refuses them for a while.
int Kfd::call(unsigned long request, void* args) const noexcept {
  constexpr int kTries = 100;
  for (int again = 0;;) {
    if (::ioctl(fd_.get(), request, args) >= 0) return 0;
    const int err = errno;
    if (err == EINTR) continue;
    if (err != EAGAIN || ++again == kTries) return err;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int Kfd::bind_gpu(uint32_t gpu_id, uint32_t render_minor) {
  std::lock_guard lock(mutex_);
  Fd& render = render_[gpu_id];
  if (render) return render.get();
  const std::string path = fmt::format("/dev/dri/renderD{}", render_minor);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw_system_error(fmt::format("open({})", path), errno, open_hint(errno));
  Fd opened(fd);
  kfd_ioctl_acquire_vm_args args{static_cast<uint32_t>(fd), gpu_id};
  if (const int err = call(AMDKFD_IOC_ACQUIRE_VM, &args))
    fail(AMDKFD_IOC_ACQUIRE_VM, err,
         err == EBUSY ? "another library of this process bound the GPU through its own file" : "",
         "{}, gpu_id {:#x}", path, gpu_id);
  render = std::move(opened);
  return render.get();
}

void Kfd::enable_runtime() {
  std::lock_guard lock(mutex_);
  if (runtime_enabled_ || minor_ < 13) return;
  runtime_enabled_ = true;
  kfd_ioctl_runtime_enable_args args{
      .r_debug = 0, .mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK, .capabilities_mask = 0};
  // EBUSY: another runtime of this process did. Without it queues run, with poorer fault reports.
  if (const int err = call(AMDKFD_IOC_RUNTIME_ENABLE, &args))
    log_at(2, "amd/kfd", "RUNTIME_ENABLE: {}", std::strerror(err));
}

kfd_process_device_apertures Kfd::apertures(uint32_t gpu_id) const {
  std::vector<kfd_process_device_apertures> nodes(64);
  kfd_ioctl_get_process_apertures_new_args args{reinterpret_cast<uint64_t>(nodes.data()),
                                                static_cast<uint32_t>(nodes.size()), 0};
  if (const int err = call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args))
    fail(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, err, "", "{} nodes", nodes.size());
  nodes.resize(std::min<size_t>(args.num_of_nodes, nodes.size()));
  for (const auto& node : nodes)
    if (node.gpu_id == gpu_id) return node;
  throw SystemError(fmt::format("the kernel gives this process no apertures on GPU {:#x}", gpu_id));
}

std::optional<KfdAllocation> Kfd::allocate(uint32_t gpu_id, uint64_t va, uint64_t size_B,
                                           uint32_t flags, uint64_t user_pointer) const {
  kfd_ioctl_alloc_memory_of_gpu_args args{};
  args.va_addr = va;
  args.size = size_B;
  args.mmap_offset = user_pointer;
  args.gpu_id = gpu_id;
  args.flags = flags;
  const int err = call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
  if (err == ENOMEM) return std::nullopt;
  if (err) {
    const bool pinned = flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
    fail(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, err,
         pinned && err == EFAULT ? "only anonymous memory can be imported, no mapped files" : "",
         "gpu_id {:#x}, va {:#x}, {} B, flags {:#x}", gpu_id, va, size_B, flags);
  }
  return KfdAllocation{args.handle, args.mmap_offset};
}

void Kfd::free(uint64_t handle) const noexcept {
  kfd_ioctl_free_memory_of_gpu_args args{handle};
  if (const int err = call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args))
    log_at(1, "amd/kfd", "FREE_MEMORY_OF_GPU({:#x}): {}", handle, std::strerror(err));
}

void Kfd::map(uint64_t handle, std::span<const uint32_t> gpu_ids) const {
  kfd_ioctl_map_memory_to_gpu_args args{handle, reinterpret_cast<uint64_t>(gpu_ids.data()),
                                        static_cast<uint32_t>(gpu_ids.size()), 0};
  if (const int err = call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args))
    fail(AMDKFD_IOC_MAP_MEMORY_TO_GPU, err, "", "handle {:#x}, {} of {} GPUs done", handle,
         args.n_success, args.n_devices);
}

void Kfd::unmap(uint64_t handle, std::span<const uint32_t> gpu_ids) const noexcept {
  kfd_ioctl_unmap_memory_from_gpu_args args{handle, reinterpret_cast<uint64_t>(gpu_ids.data()),
                                            static_cast<uint32_t>(gpu_ids.size()), 0};
  if (const int err = call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args))
    log_at(1, "amd/kfd", "UNMAP_MEMORY_FROM_GPU({:#x}): {}", handle, std::strerror(err));
}

uint64_t Kfd::available_B(uint32_t gpu_id) const noexcept {
  if (minor_ < 9) return 0;
  kfd_ioctl_get_available_memory_args args{0, gpu_id, 0};
  return call(AMDKFD_IOC_AVAILABLE_MEMORY, &args) == 0 ? args.available : 0;
}

void Kfd::create_queue(kfd_ioctl_create_queue_args& args, const QueueExpectation& expected) const {
  if (const int err = call(AMDKFD_IOC_CREATE_QUEUE, &args))
    fail(AMDKFD_IOC_CREATE_QUEUE, err, queue_hint(err, expected),
         "type {}, gpu_id {:#x}, ring {:#x} {} B, pointers {:#x} {:#x}, eop {} B, save area {} B, "
         "control stack {} B",
         args.queue_type, args.gpu_id, args.ring_base_address, args.ring_size,
         args.write_pointer_address, args.read_pointer_address, args.eop_buffer_size,
         args.ctx_save_restore_size, args.ctl_stack_size);
}

void Kfd::destroy_queue(uint32_t queue_id) const noexcept {
  kfd_ioctl_destroy_queue_args args{queue_id, 0};
  if (const int err = call(AMDKFD_IOC_DESTROY_QUEUE, &args))
    log_at(1, "amd/kfd", "DESTROY_QUEUE({}): {}", queue_id, std::strerror(err));
}

void* Kfd::map_doorbells(uint64_t doorbell_offset, uint64_t page_B) const {
  void* p = ::mmap(nullptr, page_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                   static_cast<off_t>(doorbell_offset & ~(page_B - 1)));
  if (p == MAP_FAILED)
    throw_system_error(fmt::format("mmap(/dev/kfd, doorbells, offset {:#x})", doorbell_offset),
                       errno);
  ::madvise(p, page_B, MADV_DONTFORK);
  return p;
}

void* Kfd::map_registers(void* at, uint64_t size_B, uint64_t mmap_offset) const noexcept {
  void* p = ::mmap(at, size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get(),
                   static_cast<off_t>(mmap_offset));
  if (p == MAP_FAILED) return nullptr;
  ::madvise(p, size_B, MADV_DONTFORK);
  return p;
}

/// 4096 slots of 8 bytes, which the kernel fills with ones: ids are written there by the GPU.
void Kfd::make_event_page(uint32_t gpu_id) {
  if (event_page_.handle == 0) {
    void* va = reserve_addresses(kEventPage_B);
    const auto address = reinterpret_cast<uint64_t>(va);
    constexpr uint32_t kFlags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                                KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
                                KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE |
                                KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
    const auto allocation = allocate(gpu_id, address, kEventPage_B, kFlags);
    if (!allocation) throw SystemError("no memory for the event page");
    event_page_ = {allocation->handle, address, {}};
  }
  auto& mapped = event_page_.gpu_ids;
  if (std::find(mapped.begin(), mapped.end(), gpu_id) != mapped.end()) return;
  map(event_page_.handle, std::span(&gpu_id, 1));
  mapped.push_back(gpu_id);
}

KfdEvent Kfd::create_event(uint32_t type, uint32_t gpu_id) {
  std::lock_guard lock(mutex_);
  make_event_page(gpu_id);
  kfd_ioctl_create_event_args args{};
  args.event_page_offset = page_announced_ ? 0 : event_page_.handle;
  args.event_type = type;
  args.auto_reset = 1;
  if (const int err = call(AMDKFD_IOC_CREATE_EVENT, &args))
    fail(AMDKFD_IOC_CREATE_EVENT, err, err == ENOSPC ? "a process has 4096 signal events" : "",
         "type {}, page {:#x}", type, args.event_page_offset);
  page_announced_ = true;
  const bool has_slot = type == KFD_IOC_EVENT_SIGNAL;
  return {args.event_id, has_slot ? event_page_.address + 8 * uint64_t{args.event_slot_index} : 0};
}

void Kfd::destroy_event(const KfdEvent& event) const noexcept {
  kfd_ioctl_destroy_event_args args{event.id, 0};
  if (const int err = call(AMDKFD_IOC_DESTROY_EVENT, &args))
    log_at(1, "amd/kfd", "DESTROY_EVENT({}): {}", event.id, std::strerror(err));
}

uint32_t Kfd::wait_events(std::span<kfd_event_data> events, uint32_t timeout_ms) const noexcept {
  kfd_ioctl_wait_events_args args{};
  args.events_ptr = reinterpret_cast<uint64_t>(events.data());
  args.num_events = static_cast<uint32_t>(events.size());
  args.timeout = timeout_ms;
  if (const int err = call(AMDKFD_IOC_WAIT_EVENTS, &args)) {
    log_at(1, "amd/kfd", "WAIT_EVENTS: {}", std::strerror(err));
    return KFD_IOC_WAIT_RESULT_FAIL;
  }
  return args.wait_result;
}

kfd_ioctl_get_clock_counters_args Kfd::clocks(uint32_t gpu_id) const {
  kfd_ioctl_get_clock_counters_args args{};
  args.gpu_id = gpu_id;
  if (const int err = call(AMDKFD_IOC_GET_CLOCK_COUNTERS, &args))
    fail(AMDKFD_IOC_GET_CLOCK_COUNTERS, err, "", "gpu_id {:#x}", gpu_id);
  return args;
}

uint64_t Kfd::clock_Hz(int render_fd) const noexcept {
  alignas(8) uint8_t info[kGpuCounterFreqOffset_B + 4] = {};
  drm_amdgpu_info args{};
  args.return_pointer = reinterpret_cast<uint64_t>(info);
  args.return_size = sizeof info;
  args.query = AMDGPU_INFO_DEV_INFO;
  uint32_t kHz = 0;
  if (::ioctl(render_fd, DRM_IOCTL_AMDGPU_INFO, &args) == 0)
    std::memcpy(&kHz, info + kGpuCounterFreqOffset_B, sizeof kHz);
  return kHz ? uint64_t{kHz} * 1000 : kDefaultClock_Hz;
}

}  // namespace tiny::amd
