// SPDX-License-Identifier: MIT
// A program for ROCr, compiled against its headers by tools/rocm_clients: an AQL barrier, copies to
// the GPU and back (shader or SDMA), or a dispatch from a code object. Prints "correct" at the end.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = "?";
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

struct Machine {
  hsa_agent_t cpu{}, gpu{};
  hsa_amd_memory_pool_t system{}, kernarg{}, vram{};
  hsa_queue_t* queue = nullptr;
};

hsa_status_t find_agent(hsa_agent_t agent, void* data) {
  auto& m = *static_cast<Machine*>(data);
  hsa_device_type_t type;
  CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  (type == HSA_DEVICE_TYPE_GPU ? m.gpu : m.cpu) = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t find_cpu_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto& m = *static_cast<Machine*>(data);
  uint32_t flags = 0;
  hsa_amd_segment_t segment;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
    m.kernarg = pool;
  else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
    m.system = pool;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t find_gpu_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto& m = *static_cast<Machine*>(data);
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) m.vram = pool;
  return HSA_STATUS_SUCCESS;
}

Machine open_machine() {
  Machine m;
  CHECK(hsa_init());
  CHECK(hsa_iterate_agents(find_agent, &m));
  if (m.gpu.handle == 0) {
    std::fprintf(stderr, "no GPU\n");
    std::exit(1);
  }
  CHECK(hsa_amd_agent_iterate_memory_pools(m.cpu, find_cpu_pool, &m));
  CHECK(hsa_amd_agent_iterate_memory_pools(m.gpu, find_gpu_pool, &m));
  CHECK(hsa_queue_create(m.gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                         &m.queue));
  return m;
}

template <class T>
T* allocate(const Machine& m, hsa_amd_memory_pool_t pool, size_t count) {
  void* at = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &at));
  const hsa_agent_t agents[] = {m.cpu, m.gpu};
  CHECK(hsa_amd_agents_allow_access(2, agents, nullptr, at));
  return static_cast<T*>(at);
}

/// Puts a packet into the queue; the header comes last.
void submit(const Machine& m, const void* packet, uint16_t header) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(m.queue, 1);
  auto* slot = static_cast<char*>(m.queue->base_address) + index % m.queue->size * 64;
  std::memcpy(slot + 2, static_cast<const char*>(packet) + 2, 62);
  __atomic_store_n(reinterpret_cast<uint16_t*>(slot), header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(m.queue->doorbell_signal, int64_t(index));
}

void wait(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
}

constexpr uint16_t header_of(unsigned type) {
  return uint16_t(type | 1u << HSA_PACKET_HEADER_BARRIER |
                  unsigned(HSA_FENCE_SCOPE_SYSTEM) << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  unsigned(HSA_FENCE_SCOPE_SYSTEM) << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

bool barrier(const Machine& m) {
  hsa_signal_t signal;
  CHECK(hsa_signal_create(1, 0, nullptr, &signal));
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = signal;
  submit(m, &packet, header_of(HSA_PACKET_TYPE_BARRIER_AND));
  wait(signal);
  const bool done = hsa_signal_load_relaxed(signal) == 0;
  CHECK(hsa_signal_destroy(signal));
  return done;
}

void copy(const Machine& m, void* to, hsa_agent_t to_agent, const void* from,
          hsa_agent_t from_agent, size_t size) {
  (void)m;
  hsa_signal_t signal;
  CHECK(hsa_signal_create(1, 0, nullptr, &signal));
  CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, signal));
  wait(signal);
  CHECK(hsa_signal_destroy(signal));
}

bool copies(const Machine& m) {
  constexpr size_t kMax = 4097;
  auto* in = allocate<uint8_t>(m, m.system, kMax);
  auto* out = allocate<uint8_t>(m, m.system, kMax);
  auto* device = allocate<uint8_t>(m, m.vram, kMax + 64);
  for (size_t size :
       {size_t(1), size_t(3), size_t(64), size_t(255), size_t(1000), size_t(4096), kMax}) {
    for (size_t i = 0; i < kMax; ++i) {
      in[i] = uint8_t(i * 7 + size);
      out[i] = 0xee;
    }
    copy(m, device + 5, m.gpu, in, m.cpu, size);
    copy(m, out, m.cpu, device + 5, m.gpu, size);
    if (std::memcmp(in, out, size) != 0 || (size < kMax && out[size] != 0xee)) {
      std::fprintf(stderr, "copy of %zu bytes is wrong\n", size);
      return false;
    }
  }
  return true;
}

/// Kernel "axpy": (float a, float* x, float* y, n implied): y[i] = a * x[i] + y[i].
bool dispatch(const Machine& m, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  CHECK(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, m.gpu, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  hsa_executable_symbol_t symbol;
  CHECK(hsa_executable_get_symbol_by_name(executable, "axpy.kd", &m.gpu, &symbol));
  hsa_kernel_dispatch_packet_t packet{};
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &packet.kernel_object));
  CHECK(hsa_executable_symbol_get_info(symbol,
                                       HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                       &packet.private_segment_size));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &packet.group_segment_size));
  constexpr unsigned kCount = 1024;
  auto* x = allocate<float>(m, m.vram, kCount);
  auto* y = allocate<float>(m, m.vram, kCount);
  auto* host = allocate<float>(m, m.system, kCount);
  for (unsigned i = 0; i < kCount; ++i) host[i] = float(i);
  copy(m, x, m.gpu, host, m.cpu, kCount * 4);
  copy(m, y, m.gpu, host, m.cpu, kCount * 4);
  struct Arguments {
    float* x;
    float* y;
    float a;
  };
  auto* arguments = allocate<Arguments>(m, m.kernarg, 1);
  *arguments = {x, y, 3.0f};
  packet.setup = 1;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = kCount;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernarg_address = arguments;
  CHECK(hsa_signal_create(1, 0, nullptr, &packet.completion_signal));
  const uint16_t setup = packet.setup;
  std::memcpy(reinterpret_cast<char*>(&packet) + 2, &setup, 2);
  submit(m, &packet, header_of(HSA_PACKET_TYPE_KERNEL_DISPATCH));
  wait(packet.completion_signal);
  CHECK(hsa_signal_destroy(packet.completion_signal));
  copy(m, host, m.cpu, y, m.gpu, kCount * 4);
  for (unsigned i = 0; i < kCount; ++i)
    if (host[i] != 4.0f * float(i)) {
      std::fprintf(stderr, "y[%u] = %g\n", i, double(host[i]));
      return false;
    }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const Machine m = open_machine();
  bool good = false;
  if (what == "barrier") good = barrier(m);
  if (what == "copy") good = copies(m);
  if (what == "dispatch" && argc > 2) good = dispatch(m, argv[2]);
  CHECK(hsa_queue_destroy(m.queue));
  CHECK(hsa_shut_down());
  std::puts(good ? "correct" : "wrong");
  return good ? 0 : 1;
}
