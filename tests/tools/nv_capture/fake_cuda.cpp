// SPDX-License-Identifier: MIT
// A libcuda of the functions that nv_probe calls, on this machine's memory. Kernels are known by
// name and written anew, from what tools/nv_capture/kernels.h says they do. With FAKE_BROKEN a
// vector addition errs, local memory cannot be launched, shared memory crashes, a graph hangs.
#include <fcntl.h>
#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#ifndef FAKE_BROKEN
#define FAKE_BROKEN 0
#endif

namespace {

constexpr int kOk = 0, kInvalidValue = 1, kNotFound = 500, kLaunchFailed = 719;

struct Function {
  std::string name;
};
struct Module {
  std::string ptx;
  std::deque<Function> functions{};
};
struct Launch {
  const Function* function;
  unsigned blocks, threads, shared_B;
  std::vector<std::uint64_t> args;
};
struct Graph {
  std::vector<Launch> nodes;
};
struct Stream {
  Graph* capture = nullptr;
};

template <typename T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

std::size_t argument_count(const std::string& name) {
  if (name == "vector_add") return 4;
  return name == "graph_second" ? 3 : 2;
}

int vector_add(const Launch& launch) {
  const auto count = static_cast<std::uint32_t>(launch.args[3]);
  for (std::uint32_t i = 0; i < count && i < launch.blocks * launch.threads; ++i)
    at<float>(launch.args[2])[i] = at<float>(launch.args[0])[i] + at<float>(launch.args[1])[i];
  if (FAKE_BROKEN) at<float>(launch.args[2])[count - 1] += 1;
  return kOk;
}

int local_memory(const Launch& launch) {
  if (FAKE_BROKEN) return kLaunchFailed;
  std::vector<std::uint32_t> scratch(4096);
  for (std::uint32_t thread = 0; thread < launch.blocks * launch.threads; ++thread) {
    for (std::uint32_t j = 0; j < 4096; ++j) scratch[j] = (thread + 1) * (2 * j + 1);
    std::uint32_t sum = 0;
    for (std::uint32_t j = 0; j < 4096; ++j)
      sum += scratch[(j ^ static_cast<std::uint32_t>(launch.args[1])) % 4096] * (j + 1);
    at<std::uint32_t>(launch.args[0])[thread] = sum;
  }
  return kOk;
}

int shared_memory(const Launch& launch) {
  if (FAKE_BROKEN) std::abort();
  const auto words = static_cast<std::uint32_t>(launch.args[1]);
  if (words * 4 != launch.shared_B) return kInvalidValue;
  std::vector<std::uint32_t> shared(words);
  for (std::uint32_t block = 0; block < launch.blocks; ++block) {
    for (std::uint32_t i = 0; i < words; ++i) shared[i] = i * 2654435761u + block;
    for (std::uint32_t thread = 0; thread < launch.threads; ++thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = thread; i < words; i += launch.threads) sum += shared[words - 1 - i];
      at<std::uint32_t>(launch.args[0])[block * launch.threads + thread] = sum;
    }
  }
  return kOk;
}

int graph_first(const Launch& launch) {
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(launch.args[1]); ++i)
    at<std::uint32_t>(launch.args[0])[i] = at<std::uint32_t>(launch.args[0])[i] * 3 + 1;
  return kOk;
}

int graph_second(const Launch& launch) {
  const auto count = static_cast<std::uint32_t>(launch.args[2]);
  const auto* x = at<std::uint32_t>(launch.args[0]);
  for (std::uint32_t i = 0; i < count; ++i)
    at<std::uint32_t>(launch.args[1])[i] = x[i] ^ x[count - 1 - i];
  return kOk;
}

int run(const Launch& launch) {
  const std::string& name = launch.function->name;
  if (name == "vector_add") return vector_add(launch);
  if (name == "local_memory") return local_memory(launch);
  if (name == "shared_memory") return shared_memory(launch);
  if (name == "graph_first") return graph_first(launch);
  return name == "graph_second" ? graph_second(launch) : kNotFound;
}

int copy(void* to, const void* from, std::size_t size) {
  std::memcpy(to, from, size);
  return kOk;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// Looks for the driver, as the real one does, and goes on without it.
int cuInit(unsigned) {
  const int fd = ::open("/dev/nvidiactl", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return kOk;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kOk;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER";
  return kOk;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return kOk;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return kOk;
}
int cuDeviceGetName(char* name, int size, int) {
  // With an id in it, which must not get into a capture.
  std::strncpy(name, "Fake 01234567-89ab-cdef-0123-456789abcdef", static_cast<std::size_t>(size));
  return kOk;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kSharedPerBlockOptIn = 97;
  *value = attribute == kSharedPerBlockOptIn ? 227 << 10 : 9;
  return kOk;
}
int cuDeviceTotalMem_v2(std::size_t* size, int) {
  *size = std::size_t{1} << 30;
  return kOk;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = context;
  return kOk;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kOk; }
int cuCtxSetCurrent(void*) { return kOk; }
int cuCtxSynchronize() { return kOk; }
int cuModuleLoadData(Module** module, const void* image) {
  *module = new Module{static_cast<const char*>(image)};
  return kOk;
}
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  if (module->ptx.find(std::string(".entry ") + name + "(") == std::string::npos) return kNotFound;
  *function = &module->functions.emplace_back(Function{name});
  return kOk;
}
int cuModuleUnload(Module* module) {
  delete module;
  return kOk;
}
int cuFuncSetAttribute(Function*, int, int) { return kOk; }
int cuFuncGetAttribute(int* value, int, Function*) {
  *value = 16384;
  return kOk;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  *address = reinterpret_cast<std::uint64_t>(std::calloc(1, size));
  return kOk;
}
int cuMemFree_v2(std::uint64_t address) {
  std::free(at<void>(address));
  return kOk;
}
int cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  *memory = std::malloc(size);
  return kOk;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  return kOk;
}
int cuMemsetD32_v2(std::uint64_t address, unsigned value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) at<unsigned>(address)[i] = value;
  return kOk;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size) {
  return copy(at<void>(to), from, size);
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size) {
  return copy(to, at<void>(from), size);
}
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t size) {
  return copy(at<void>(to), at<void>(from), size);
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t size, Stream*) {
  return copy(at<void>(to), from, size);
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t size, Stream*) {
  return copy(to, at<void>(from), size);
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t size, Stream*) {
  return copy(at<void>(to), at<void>(from), size);
}
int cuStreamCreate(Stream** stream, unsigned) {
  *stream = new Stream;
  return kOk;
}
int cuStreamSynchronize(Stream*) { return kOk; }
int cuStreamDestroy_v2(Stream* stream) {
  delete stream;
  return kOk;
}
int cuLaunchKernel(Function* function, unsigned blocks, unsigned, unsigned, unsigned threads,
                   unsigned, unsigned, unsigned shared_B, Stream* stream, void** params, void**) {
  Launch launch{function, blocks, threads, shared_B, {}};
  const std::size_t count = argument_count(function->name);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, params[i], i + 1 < count ? 8 : 4);  // the last one is an u32
    launch.args.push_back(value);
  }
  if (!stream || !stream->capture) return run(launch);
  stream->capture->nodes.push_back(std::move(launch));
  return kOk;
}
int cuStreamBeginCapture_v2(Stream* stream, int) {
  stream->capture = new Graph;
  return kOk;
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  *graph = std::exchange(stream->capture, nullptr);
  return kOk;
}
int cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  *exec = new Graph(*graph);
  return kOk;
}
int cuGraphLaunch(Graph* exec, Stream*) {
  if (FAKE_BROKEN) sleep(60);
  for (const Launch& launch : exec->nodes)
    if (const int result = run(launch); result != kOk) return result;
  return kOk;
}
int cuGraphExecDestroy(Graph* exec) {
  delete exec;
  return kOk;
}
int cuGraphDestroy(Graph* graph) {
  delete graph;
  return kOk;
}
}
#pragma GCC visibility pop
