// SPDX-License-Identifier: MIT
#include "tests/drivers/amd/fake_kfd.h"

#include "drivers/amd/copy_shader.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/registers.h"
#include "drivers/amd/save_area.h"
#include "drivers/amd/sdma.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace tiny::test {
namespace {

using namespace tiny::amd;
using interpose::Result;

const std::string kTopology = "/sys/devices/virtual/kfd/kfd/topology";
constexpr uint64_t kPool_B = uint64_t{8} << 30;

}  // namespace

std::string node_properties(const FakeGpuOptions& o, uint32_t render_minor) {
  return fmt::format(
      "cpu_cores_count 0\nsimd_count 192\nmem_banks_count 1\ncaches_count 1\nio_links_count 1\n"
      "max_waves_per_simd 16\nlds_size_in_kb 64\nwave_front_size 32\narray_count 12\n"
      "simd_arrays_per_engine 2\ncu_per_simd_array 8\nsimd_per_cu 2\nmax_slots_scratch_cu 32\n"
      "gfx_target_version {}\nvendor_id 4098\ndevice_id 29772\nlocation_id 768\ndomain 0\n"
      "drm_render_minor {}\nnum_sdma_engines 2\nnum_xcc 1\ncapability 671588992\n{}",
      o.gfx_target_version, render_minor, o.extra);
}

void add_cpu_node(interpose::Tree& tree, const std::string& root, uint32_t node) {
  const std::string at = fmt::format("{}/nodes/{}", root, node);
  tree.add_file(at + "/gpu_id", "0\n");
  tree.add_file(at + "/properties", "cpu_cores_count 16\nsimd_count 0\n");
}

void add_gpu_node(interpose::Tree& tree, const std::string& root, uint32_t node, uint32_t gpu_id,
                  uint32_t render_minor, const FakeGpuOptions& o) {
  const std::string at = fmt::format("{}/nodes/{}", root, node);
  constexpr uint64_t kVram_B = uint64_t{24} << 30;
  tree.add_file(at + "/gpu_id", fmt::format("{}\n", gpu_id));
  tree.add_file(at + "/name", "ip discovery\n");
  tree.add_file(at + "/properties", node_properties(o, render_minor));
  tree.add_file(at + "/mem_banks/0/properties",
                fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\nwidth 384\n",
                            o.large_bar ? 1 : 2, kVram_B));
  tree.add_file(at + "/caches/0/properties", "level 2\nsize 6144\n");
  tree.add_file(at + "/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\nflags 0\n");
}

struct FakeKfd::Impl {
  struct Allocation {
    uint64_t va = 0, size_B = 0, offset_B = 0;
    uint32_t flags = 0;
    bool mapped = false;
  };
  struct Queue {
    kfd_ioctl_create_queue_args args{};
    uint64_t read_dw = 0;
    uint64_t* doorbell = nullptr;
    std::array<uint32_t, 1024> registers{};
    std::span<const uint32_t> indirect;  ///< what is left of it
  };
  FakeKfd* self = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<CallLog> log;
  std::map<uint32_t, int> failures;
  std::map<uint64_t, Allocation> allocations;
  std::map<uint32_t, Queue> queues;
  std::map<uint32_t, uint32_t> events;  ///< id → type
  std::map<uint32_t, uint64_t> ages;
  uint64_t next_handle = 1, next_offset = 0;
  uint32_t next_queue = 0, next_signal = 1, next_other = 0x40000000;
  bool page_known = false, vm_bound = false, runtime_enabled = false;
  kfd_hsa_memory_exception_data fault{};
  kfd_hsa_hw_exception_data reset{};
  std::map<std::string, int> packets;
  int pool = -1;
  uint8_t* doorbells = nullptr;
  uint8_t* pool_view = nullptr;  ///< all memory, also what the driver cannot see
  std::shared_ptr<interpose::Tree> kfd_tree, dri_tree, sys_tree;
  std::thread processor;
  std::atomic<bool> stop{false};

  Result ioctl(unsigned long request, void* argument);
  Result call(uint32_t number, void* argument);
  Result create_queue(kfd_ioctl_create_queue_args&);
  Result wait_events(kfd_ioctl_wait_events_args&);
  void run();
  bool step(Queue&);
  bool step_compute(Queue&, std::span<const uint32_t> words, size_t& used);
  bool step_copy(Queue&, std::span<const uint32_t> words, size_t& used);
  void signal(uint32_t event_id);
  bool mapped(uint64_t va, uint64_t size_B);
  void copy(uint64_t dst, uint64_t src, uint64_t size_B);
  uint8_t* translate(uint64_t va);
};

namespace {

class KfdFile : public interpose::File {
 public:
  explicit KfdFile(FakeKfd::Impl& impl) : impl_(impl) {}
  Result ioctl(unsigned long request, void* argument) override {
    return impl_.ioctl(request, argument);
  }
  Result map(const interpose::MapRequest& r) override {
    const bool doorbell = r.offset_B >> 62 == 3;
    // Behind the pool: the flush register's page, then the doorbells.
    void* p = ::mmap(r.address, r.length_B, r.prot, r.flags, impl_.pool,
                     static_cast<off_t>(kPool_B + (doorbell ? 4096 : 0)));
    return p == MAP_FAILED ? -errno : static_cast<Result>(reinterpret_cast<uint64_t>(p));
  }

 private:
  FakeKfd::Impl& impl_;
};

class RenderFile : public interpose::File {
 public:
  explicit RenderFile(FakeKfd::Impl& impl) : impl_(impl) {}
  Result ioctl(unsigned long request, void* argument) override {
    if (request != DRM_IOCTL_AMDGPU_INFO) return -ENOTTY;
    const auto& info = *static_cast<drm_amdgpu_info*>(argument);
    const uint32_t kHz = 100000;
    if (info.query == AMDGPU_INFO_DEV_INFO && info.return_size >= kGpuCounterFreqOffset_B + 4)
      std::memcpy(reinterpret_cast<uint8_t*>(info.return_pointer) + kGpuCounterFreqOffset_B, &kHz,
                  sizeof kHz);
    return 0;
  }
  Result map(const interpose::MapRequest& r) override {
    void* p =
        ::mmap(r.address, r.length_B, r.prot, r.flags, impl_.pool, static_cast<off_t>(r.offset_B));
    return p == MAP_FAILED ? -errno : static_cast<Result>(reinterpret_cast<uint64_t>(p));
  }

 private:
  FakeKfd::Impl& impl_;
};

std::string kfd_name(uint32_t number) {
#define KFD_IOC(NAME, nr, args, direction) \
  if (number == (nr)) return std::string(#NAME).substr(11);
  TINY_KFD_IOCTLS(KFD_IOC)
#undef KFD_IOC
  return fmt::format("ioctl {:#x}", number);
}

}  // namespace

Result FakeKfd::Impl::ioctl(unsigned long request, void* argument) {
  const auto number = static_cast<uint32_t>(_IOC_NR(request));
  std::unique_lock lock(mutex);
  if (number != 0x0c) log.push_back({kfd_name(number), ""});
  if (const auto failing = failures.find(number); failing != failures.end()) {
    const int error = failing->second;
    failures.erase(failing);
    return -error;
  }
  if (number == 0x0c) {
    lock.unlock();
    return wait_events(*static_cast<kfd_ioctl_wait_events_args*>(argument));
  }
  return call(number, argument);
}

Result FakeKfd::Impl::call(uint32_t number, void* argument) {
  switch (number) {
    case 0x01:
      *static_cast<kfd_ioctl_get_version_args*>(argument) = {1, self->minor_version};
      return 0;
    case 0x02:
      return create_queue(*static_cast<kfd_ioctl_create_queue_args*>(argument));
    case 0x03: {
      const uint32_t id = static_cast<kfd_ioctl_destroy_queue_args*>(argument)->queue_id;
      return queues.erase(id) ? 0 : -EINVAL;
    }
    case 0x05: {
      auto& a = *static_cast<kfd_ioctl_get_clock_counters_args*>(argument);
      a.gpu_clock_counter =
          static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count() / 10);
      a.system_clock_freq = 1'000'000'000;
      return 0;
    }
    case 0x08: {
      auto& a = *static_cast<kfd_ioctl_create_event_args*>(argument);
      if (a.event_page_offset && page_known) return -EINVAL;
      if (!page_known && !a.event_page_offset) return -EINVAL;
      page_known = true;
      a.event_id = a.event_type == KFD_IOC_EVENT_SIGNAL ? next_signal++ : next_other++;
      a.event_slot_index = a.event_id;
      events[a.event_id] = a.event_type;
      ages[a.event_id] = 1;
      return 0;
    }
    case 0x09:
      return events.erase(static_cast<kfd_ioctl_destroy_event_args*>(argument)->event_id) ? 0
                                                                                          : -EINVAL;
    case 0x14: {
      auto& a = *static_cast<kfd_ioctl_get_process_apertures_new_args*>(argument);
      auto* node =
          reinterpret_cast<kfd_process_device_apertures*>(a.kfd_process_device_apertures_ptr);
      if (a.num_of_nodes < 1) return -EINVAL;
      *node = {uint64_t{1} << 48,
               (uint64_t{1} << 48) + 0xffffffff,
               uint64_t{2} << 48,
               (uint64_t{2} << 48) + 0xffffffff,
               0x1000000,
               (uint64_t{1} << 47) - 1,
               kGpuId,
               0};
      a.num_of_nodes = 1;
      return 0;
    }
    case 0x15:
      vm_bound = true;
      return 0;
    case 0x16: {
      auto& a = *static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
      if (!vm_bound || a.gpu_id != kGpuId || a.size % 4096 || a.va_addr % 4096) return -EINVAL;
      if (a.flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC && !self->large_bar) return -EINVAL;
      if (next_offset + a.size > kPool_B) return -ENOMEM;
      a.handle = uint64_t{kGpuId} << 32 | next_handle++;
      if (!(a.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)) a.mmap_offset = next_offset;
      allocations[a.handle] = {a.va_addr, a.size, a.mmap_offset, a.flags, false};
      if (!(a.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)) next_offset += a.size;
      log.back().arguments = fmt::format("{} B, flags {:#x}", a.size, a.flags);
      return 0;
    }
    case 0x17: {
      const uint64_t handle = static_cast<kfd_ioctl_free_memory_of_gpu_args*>(argument)->handle;
      return allocations.erase(handle) ? 0 : -EINVAL;
    }
    case 0x18:
    case 0x19: {
      auto& a = *static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument);
      const auto found = allocations.find(a.handle);
      if (found == allocations.end() || a.n_devices < 1) return -EINVAL;
      found->second.mapped = number == 0x18;
      a.n_success = a.n_devices;
      return 0;
    }
    case 0x23:
      static_cast<kfd_ioctl_get_available_memory_args*>(argument)->available =
          kPool_B - next_offset;
      return 0;
    case 0x25:
      if (!queues.empty() || runtime_enabled) return -EBUSY;
      runtime_enabled = true;
      return 0;
    default:
      return -EINVAL;
  }
}

/// The rules of kernels from 6.12 on.
Result FakeKfd::Impl::create_queue(kfd_ioctl_create_queue_args& a) {
  auto exactly = [&](uint64_t address, uint64_t size_B) {
    for (const auto& [handle, m] : allocations)
      if (m.mapped && m.va == address && m.size_B == size_B) return true;
    return false;
  };
  if (!exactly(a.ring_base_address, a.ring_size) || a.ring_size & (a.ring_size - 1)) return -EINVAL;
  for (const uint64_t p : {a.write_pointer_address, a.read_pointer_address})
    if (!exactly(p & ~uint64_t{4095}, 4096)) return -EINVAL;
  if (a.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE) {
    const SaveAreaSizes s = save_area_sizes({.gfx_target_version = 110000,
                                             .simd_count = 192,
                                             .simd_per_cu = 2,
                                             .array_count = 12,
                                             .simd_arrays_per_engine = 2});
    if (a.ctx_save_restore_size != s.cwsr_B || a.ctl_stack_size != s.ctl_stack_B ||
        a.eop_buffer_size != 4096 || !exactly(a.ctx_save_restore_address, s.total_B) ||
        !exactly(a.eop_buffer_address, 4096))
      return -EINVAL;
  }
  a.queue_id = next_queue++;
  const uint64_t slot_B = 8 * (a.queue_id % 1024);
  a.doorbell_offset = KFD_MMAP_TYPE_DOORBELL | uint64_t{kGpuId} << KFD_MMAP_GPU_ID_SHIFT | slot_B;
  Queue& q = queues[a.queue_id];
  q.args = a;
  q.doorbell = reinterpret_cast<uint64_t*>(doorbells + slot_B);
  *q.doorbell = 0;
  log.back().arguments = fmt::format("type {}", a.queue_type);
  return 0;
}

Result FakeKfd::Impl::wait_events(kfd_ioctl_wait_events_args& a) {
  auto* data = reinterpret_cast<kfd_event_data*>(a.events_ptr);
  std::unique_lock lock(mutex);
  auto ready = [&] {
    bool any = false;
    for (uint32_t i = 0; i < a.num_events; ++i) {
      const auto found = events.find(data[i].event_id);
      if (found == events.end()) continue;
      if (found->second == KFD_IOC_EVENT_MEMORY && fault.gpu_id) {
        data[i].memory_exception_data = fault;
        any = true;
      }
      if (found->second == KFD_IOC_EVENT_HW_EXCEPTION && reset.gpu_id) {
        data[i].hw_exception_data = reset;
        any = true;
      }
      const uint64_t seen = data[i].signal_event_data.last_event_age;
      if (found->second == KFD_IOC_EVENT_SIGNAL && seen && seen != ages[data[i].event_id]) {
        data[i].signal_event_data.last_event_age = ages[data[i].event_id];
        any = true;
      }
    }
    return any;
  };
  const bool fired =
      changed.wait_for(lock, std::chrono::milliseconds(std::min(a.timeout, 20u)), ready);
  a.wait_result = fired ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
  if (fired) fault = {}, reset = {};
  return 0;
}

void FakeKfd::Impl::signal(uint32_t event_id) {
  ++ages[event_id];
  changed.notify_all();
}

bool FakeKfd::Impl::mapped(uint64_t va, uint64_t size_B) {
  for (const auto& [handle, m] : allocations)
    if (m.mapped && va >= m.va && va + size_B <= m.va + m.size_B) return true;
  return false;
}

/// Where the host finds what the GPU sees there.
uint8_t* FakeKfd::Impl::translate(uint64_t va) {
  for (const auto& [handle, m] : allocations)
    if (va >= m.va && va < m.va + m.size_B && !(m.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR))
      return pool_view + m.offset_B + (va - m.va);
  return reinterpret_cast<uint8_t*>(va);
}

void FakeKfd::Impl::copy(uint64_t dst, uint64_t src, uint64_t size_B) {
  std::memmove(translate(dst), translate(src), size_B);
}

void FakeKfd::Impl::run() {
  const interpose::PassThrough pass;
  while (!stop) {
    bool moved = false;
    if (!self->processor_stopped) {
      std::lock_guard lock(mutex);
      for (auto& [id, queue] : queues) moved = step(queue) || moved;
    }
    if (!moved) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// One packet; false when there is none, or it waits.
bool FakeKfd::Impl::step(Queue& q) {
  const bool compute = q.args.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE;
  if (!compute && !self->copy_engine_works) return false;
  if (!q.indirect.empty()) {
    size_t used = 0;
    const auto words = q.indirect;
    if (!(compute ? step_compute(q, words, used) : step_copy(q, words, used))) return false;
    q.indirect = words.subspan(used);
    return true;
  }
  const uint64_t rung = std::atomic_ref(*q.doorbell).load();
  auto& write_pointer = *reinterpret_cast<uint64_t*>(q.args.write_pointer_address);
  if (std::atomic_ref(write_pointer).load() < rung)
    throw std::runtime_error("a doorbell rung before the write pointer was stored");
  const uint64_t put = rung / (compute ? 1 : 4);
  if (q.read_dw >= put) return false;
  const size_t size_dw = q.args.ring_size / 4, at = q.read_dw % size_dw;
  const auto* ring = reinterpret_cast<const uint32_t*>(q.args.ring_base_address);
  const std::span words(ring + at, std::min<uint64_t>(size_dw - at, put - q.read_dw));
  size_t used = 0;
  if (!(compute ? step_compute(q, words, used) : step_copy(q, words, used))) return false;
  q.read_dw += used;
  std::atomic_ref(*reinterpret_cast<uint64_t*>(q.args.read_pointer_address))
      .store(q.read_dw * (compute ? 1 : 4));
  return true;
}

bool FakeKfd::Impl::step_compute(Queue& q, std::span<const uint32_t> words, size_t& used) {
  used = pm4::size_dw_of(words[0]);
  if (used == 0 || used > words.size()) throw std::runtime_error("broken packet");
  const uint32_t op = words[0] >> 8 & 0xff;
  if (op == pm4::WAIT_REG_MEM::kOpcode) {
    const auto p = pm4::WAIT_REG_MEM::decode(words);
    const uint32_t v =
        std::atomic_ref(*reinterpret_cast<uint32_t*>(p.mem_poll_addr)).load() & p.mask;
    if (p.function == pm4::FUNCTION::EQUAL ? v != p.reference : v < p.reference) return false;
  } else if (op == pm4::RELEASE_MEM::kOpcode) {
    const auto p = pm4::RELEASE_MEM::decode(words);
    const uint64_t value = p.data_sel == pm4::DATA_SEL::SEND_64_BIT_DATA ? p.data : 12345;
    if (p.int_sel == pm4::INT_SEL::NONE)
      std::atomic_ref(*reinterpret_cast<uint64_t*>(p.address)).store(value);
    else
      signal(p.int_ctxid);
  } else if (op == pm4::SET_SH_REG::kOpcode) {
    std::copy(words.begin() + 2, words.begin() + static_cast<long>(used),
              q.registers.begin() + words[1]);
  } else if (op == pm4::INDIRECT_BUFFER::kOpcode) {
    const auto p = pm4::INDIRECT_BUFFER::decode(words);
    ++packets["INDIRECT_BUFFER"];
    q.indirect = {reinterpret_cast<const uint32_t*>(p.ib_base), p.ib_size};
    return true;
  } else if (op == pm4::DISPATCH_DIRECT::kOpcode) {
    const uint64_t entry =
        (uint64_t{q.registers[regs::COMPUTE_PGM_HI]} << 32 | q.registers[regs::COMPUTE_PGM_LO])
        << 8;
    const auto code = copy_shader_words(*find_generation("gfx1100"));
    uint64_t kernargs;
    std::memcpy(&kernargs, &q.registers[regs::COMPUTE_USER_DATA_0], 8);
    if (mapped(entry, code.size_bytes()) &&
        std::memcmp(reinterpret_cast<void*>(entry), code.data(), code.size_bytes()) == 0) {
      CopyKernargs a;
      std::memcpy(&a, reinterpret_cast<void*>(kernargs), sizeof a);
      copy(a.dst, a.src, a.size_B);
    }
  }
  const std::string text = pm4::to_string(words);
  ++packets[text.substr(0, text.find(' '))];
  return true;
}

bool FakeKfd::Impl::step_copy(Queue& q, std::span<const uint32_t> words, size_t& used) {
  used = sdma::size_dw_of(words[0]);
  if (used == 0 || used > words.size()) throw std::runtime_error("broken packet");
  const uint32_t op = words[0] & 0xff;
  if (op == sdma::POLL_REGMEM::kOpcode) {
    const auto p = sdma::POLL_REGMEM::decode(words);
    const uint32_t v = std::atomic_ref(*reinterpret_cast<uint32_t*>(p.addr)).load() & p.mask;
    if (p.func == sdma::FUNC::EQUAL ? v != p.value : v < p.value) return false;
  } else if (op == sdma::COPY_LINEAR::kOpcode) {
    const auto p = sdma::COPY_LINEAR::decode(words);
    copy(p.dst_addr, p.src_addr, size_t{p.count} + 1);
  } else if (op == sdma::FENCE::kOpcode) {
    const auto p = sdma::FENCE::decode(words);
    bool event_page = false;
    for (const auto& [handle, m] : allocations)
      event_page = event_page || (m.size_B == 32768 && p.addr >= m.va && p.addr < m.va + 32768);
    if (!event_page) std::atomic_ref(*reinterpret_cast<uint32_t*>(p.addr)).store(p.data);
  } else if (op == sdma::TRAP::kOpcode) {
    signal(sdma::TRAP::decode(words).int_context);
  } else if (op == sdma::TIMESTAMP_GET_GLOBAL::kOpcode) {
    std::atomic_ref(
        *reinterpret_cast<uint64_t*>(sdma::TIMESTAMP_GET_GLOBAL::decode(words).write_addr))
        .store(12345);
  } else if (op == sdma::INDIRECT::kOpcode) {
    const auto p = sdma::INDIRECT::decode(words);
    const auto* ring = reinterpret_cast<const uint32_t*>(q.args.ring_base_address);
    if ((&words[0] - ring + 6) % 8 || p.ib_base % 32 || p.ib_size % 8)
      throw std::runtime_error("an unaligned indirect buffer");
    ++packets["INDIRECT"];
    q.indirect = {reinterpret_cast<const uint32_t*>(p.ib_base), p.ib_size};
    return true;
  }
  const std::string text = sdma::to_string(words);
  ++packets[text.substr(0, text.find(' '))];
  return true;
}

FakeKfd::FakeKfd() : impl_(std::make_unique<Impl>()) {
  impl_->self = this;
  impl_->pool = ::memfd_create("vram", MFD_CLOEXEC);
  if (::ftruncate(impl_->pool, static_cast<off_t>(kPool_B + 65536)) != 0)
    throw std::runtime_error("ftruncate");
  impl_->pool_view = static_cast<uint8_t*>(
      ::mmap(nullptr, kPool_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, impl_->pool, 0));
  impl_->doorbells = static_cast<uint8_t*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
                                                  impl_->pool, static_cast<off_t>(kPool_B + 4096)));
  auto open_kfd = [this](const interpose::OpenRequest&) {
    return interpose::Opened{std::make_shared<KfdFile>(*impl_), 0};
  };
  auto open_render = [this](const interpose::OpenRequest&) {
    return interpose::Opened{std::make_shared<RenderFile>(*impl_), 0};
  };
  impl_->kfd_tree = std::make_shared<interpose::Tree>();
  impl_->kfd_tree->add_device("/dev/kfd", makedev(234, 0), open_kfd);
  impl_->dri_tree = std::make_shared<interpose::Tree>();
  impl_->dri_tree->add_device("/dev/dri/renderD128", makedev(226, 128), open_render);
  impl_->sys_tree = std::make_shared<interpose::Tree>();
  impl_->sys_tree->add_file(kTopology + "/generation_id", "2\n");
  add_cpu_node(*impl_->sys_tree, kTopology, 0);
  add_gpu_node(*impl_->sys_tree, kTopology, 1, kGpuId, 128, {});
  interpose::mount("/dev/kfd", impl_->kfd_tree);
  interpose::mount("/dev/dri", impl_->dri_tree);
  interpose::mount(kTopology, impl_->sys_tree);
  impl_->processor = std::thread([this] { impl_->run(); });
}

FakeKfd& FakeKfd::get() {
  static FakeKfd* const fake = new FakeKfd;  // never destroyed: its thread runs to the end
  return *fake;
}

std::vector<FakeKfd::CallLog> FakeKfd::take_log() {
  std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->log, {});
}

std::vector<std::string> FakeKfd::names(const std::vector<CallLog>& log) const {
  std::vector<std::string> out;
  for (const CallLog& c : log) out.push_back(c.name);
  return out;
}

void FakeKfd::fail_next(uint32_t number, int error) {
  std::lock_guard lock(impl_->mutex);
  impl_->failures[number] = error;
}

void FakeKfd::raise_memory_fault(uint64_t va, bool read_only) {
  std::lock_guard lock(impl_->mutex);
  impl_->fault = {};
  impl_->fault.va = va;
  impl_->fault.gpu_id = kGpuId;
  (read_only ? impl_->fault.failure.ReadOnly : impl_->fault.failure.NotPresent) = 1;
  impl_->changed.notify_all();
}

void FakeKfd::raise_reset() {
  std::lock_guard lock(impl_->mutex);
  impl_->reset = {KFD_HW_EXCEPTION_WHOLE_GPU_RESET, KFD_HW_EXCEPTION_GPU_HANG, 1, kGpuId};
  impl_->changed.notify_all();
}

size_t FakeKfd::live_allocations() {
  std::lock_guard lock(impl_->mutex);
  return impl_->allocations.size();
}
size_t FakeKfd::live_queues() {
  std::lock_guard lock(impl_->mutex);
  return impl_->queues.size();
}
size_t FakeKfd::live_events() {
  std::lock_guard lock(impl_->mutex);
  return impl_->events.size();
}
std::map<std::string, int> FakeKfd::packets() {
  std::lock_guard lock(impl_->mutex);
  return impl_->packets;
}

}  // namespace tiny::test
