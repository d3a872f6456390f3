// SPDX-License-Identifier: MIT
// nv_probe STEP: runs one small piece of work through NVIDIA's driver API, checks the result and
// says in one line how it went. What goes to the kernel meanwhile is for a tracer to record.
// Needs the C++ library and libdl only, so that nv_capture can compile it on the spot.
#include "tools/nv_capture/cuda_driver.h"
#include "tools/nv_capture/kernels.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace tiny::nv_capture {
namespace {

constexpr int kPassed = 0, kFailed = 1, kUsage = 2, kSkipped = 77;
constexpr unsigned kBlock = 256;

/// Why a step ends early.
struct Stop {
  bool is_skip;
  std::string reason;
};

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

void check(const Driver& driver, Result result, const char* what) {
  if (result == 0) return;
  const char* name = nullptr;
  driver.get_error_name(result, &name);
  throw Stop{false, text("%s: %s (%d)", what, name ? name : "unknown error", result)};
}

/// libcuda with device 0 and its primary context current.
class Gpu {
 public:
  explicit Gpu(const std::string& library) {
    if (const std::string missing = load_driver(library, driver_); !missing.empty())
      throw Stop{true, missing};
    constexpr Result kNoDevice = 100;
    const Result result = driver_.init(0);
    if (result == kNoDevice) throw Stop{true, "cuInit: CUDA_ERROR_NO_DEVICE"};
    check(result, "cuInit");
    int count = 0;
    check(driver_.device_get_count(&count), "cuDeviceGetCount");
    if (count == 0) throw Stop{true, "no device"};
    check(driver_.device_get(&device_, 0), "cuDeviceGet");
    check(driver_.primary_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
    check(driver_.ctx_set_current(context_), "cuCtxSetCurrent");
  }
  ~Gpu() {
    if (context_) driver_.primary_release(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver* operator->() const { return &driver_; }
  const Driver& driver() const { return driver_; }
  void check(Result result, const char* what) const { nv_capture::check(driver_, result, what); }

  int attribute(int which) const {
    int value = 0;
    check(driver_.device_get_attribute(&value, which, device_), "cuDeviceGetAttribute");
    return value;
  }
  DeviceId device() const { return device_; }

 private:
  Driver driver_;
  DeviceId device_ = 0;
  Context* context_ = nullptr;
};

/// Device memory for `count` elements.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const Gpu& gpu, std::size_t count) : gpu_(gpu), count_(count) {
    gpu.check(gpu->mem_alloc(&address_, count * sizeof(T)), "cuMemAlloc");
  }
  ~DeviceArray() { gpu_->mem_free(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  DeviceAddress address() const { return address_; }
  std::size_t size_B() const { return count_ * sizeof(T); }
  void write(const std::vector<T>& values) const {
    gpu_.check(gpu_->memcpy_htod(address_, values.data(), size_B()), "cuMemcpyHtoD");
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    gpu_.check(gpu_->memcpy_dtoh(values.data(), address_, size_B()), "cuMemcpyDtoH");
    return values;
  }

 private:
  const Gpu& gpu_;
  std::size_t count_;
  DeviceAddress address_ = 0;
};

/// Pinned host memory.
class PinnedWords {
 public:
  PinnedWords(const Gpu& gpu, std::size_t count) : gpu_(gpu), count_(count) {
    void* memory = nullptr;
    gpu.check(gpu->mem_host_alloc(&memory, count * 4, 0), "cuMemHostAlloc");
    words_ = static_cast<std::uint32_t*>(memory);
  }
  ~PinnedWords() { gpu_->mem_free_host(words_); }
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;

  std::uint32_t* begin() const { return words_; }
  std::uint32_t* end() const { return words_ + count_; }

 private:
  const Gpu& gpu_;
  std::size_t count_;
  std::uint32_t* words_ = nullptr;
};

class OwnedStream {
 public:
  explicit OwnedStream(const Gpu& gpu) : gpu_(gpu) {
    gpu.check(gpu->stream_create(&stream_, 0), "cuStreamCreate");
  }
  ~OwnedStream() { gpu_->stream_destroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  Stream* get() const { return stream_; }
  void wait() const { gpu_.check(gpu_->stream_synchronize(stream_), "cuStreamSynchronize"); }

 private:
  const Gpu& gpu_;
  Stream* stream_ = nullptr;
};

/// A loaded kernel.
class Program {
 public:
  Program(const Gpu& gpu, const Kernel& kernel) : gpu_(gpu), name_(kernel.name) {
    gpu.check(gpu->module_load_data(&module_, kernel.ptx), "cuModuleLoadData");
    gpu.check(gpu->module_get_function(&function_, module_, kernel.name), "cuModuleGetFunction");
  }
  ~Program() { gpu_->module_unload(module_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Function* function() const { return function_; }
  void launch(unsigned blocks, unsigned shared_B, Stream* stream, std::vector<void*> args) const {
    gpu_.check(gpu_->launch_kernel(function_, blocks, 1, 1, kBlock, 1, 1, shared_B, stream,
                                   args.data(), nullptr),
               name_);
  }
  void wait() const { gpu_.check(gpu_->ctx_synchronize(), name_); }

 private:
  const Gpu& gpu_;
  const char* name_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
};

/// The first element that is not what it should be ends the step.
template <typename T, typename Expected>
void verify(const char* what, const T* values, std::size_t count, Expected expected) {
  for (std::size_t i = 0; i < count; ++i)
    if (const T wanted = expected(i); values[i] != wanted)
      throw Stop{false, text("%s: element %zu is %.9g, not %.9g", what, i,
                             static_cast<double>(values[i]), static_cast<double>(wanted))};
}

// ---- Steps: each returns what is worth a word when all went well ----

std::string init(const Gpu& gpu) {
  int version = 0;
  gpu.check(gpu->driver_get_version(&version), "cuDriverGetVersion");
  char name[128] = {};
  gpu.check(gpu->device_get_name(name, sizeof name - 1, gpu.device()), "cuDeviceGetName");
  std::size_t memory_B = 0;
  gpu.check(gpu->device_total_mem(&memory_B, gpu.device()), "cuDeviceTotalMem");
  return text("%s sm_%d%d %d SMs %zu MiB CUDA %d.%d", name, gpu.attribute(kComputeMajor),
              gpu.attribute(kComputeMinor), gpu.attribute(kMultiprocessorCount), memory_B >> 20,
              version / 1000, version % 1000 / 10);
}

std::string vector_add(const Gpu& gpu) {
  constexpr unsigned kCount = 10'000;  // no multiple of a block
  std::vector<float> a(kCount), b(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 0.5f * static_cast<float>(i % 7);
  }
  const DeviceArray<float> da(gpu, kCount), db(gpu, kCount), dc(gpu, kCount);
  da.write(a);
  db.write(b);
  const Program program(gpu, kVectorAdd);
  DeviceAddress pa = da.address(), pb = db.address(), pc = dc.address();
  unsigned n = kCount;
  program.launch((kCount + kBlock - 1) / kBlock, 0, nullptr, {&pa, &pb, &pc, &n});
  program.wait();
  const std::vector<float> c = dc.read();
  verify("c", c.data(), c.size(), [&](std::size_t i) { return a[i] + b[i]; });
  return text("%u floats", kCount);
}

std::string local_memory(const Gpu& gpu) {
  constexpr unsigned kBlocks = 4, kWords = 4096;
  unsigned mask = 0x5a5;
  const Program program(gpu, kLocalMemory);
  int local_B = 0;
  gpu.check(gpu->func_get_attribute(&local_B, kFunctionLocalSize, program.function()),
            "cuFuncGetAttribute");
  const DeviceArray<std::uint32_t> out(gpu, kBlocks * kBlock);
  DeviceAddress pout = out.address();
  program.launch(kBlocks, 0, nullptr, {&pout, &mask});
  program.wait();
  std::uint32_t sum = 0;  // of thread 0; thread i has i + 1 times as much
  for (std::uint32_t j = 0; j < kWords; ++j) sum += (2 * (j ^ mask) + 1) * (j + 1);
  const auto values = out.read();
  verify("out", values.data(), values.size(),
         [&](std::size_t i) { return static_cast<std::uint32_t>(i + 1) * sum; });
  return text("%d B of local memory a thread", local_B);
}

std::string shared_memory(const Gpu& gpu) {
  constexpr int kWanted_B = 200 << 10;
  constexpr unsigned kBlocks = 4;
  const int limit_B = gpu.attribute(kSharedPerBlockOptIn);
  const int size_B = std::min(kWanted_B, limit_B);
  unsigned words = static_cast<unsigned>(size_B) / 4;
  const Program program(gpu, kSharedMemory);
  gpu.check(gpu->func_set_attribute(program.function(), kFunctionMaxDynamicShared, size_B),
            "cuFuncSetAttribute");
  const DeviceArray<std::uint32_t> out(gpu, kBlocks * kBlock);
  DeviceAddress pout = out.address();
  program.launch(kBlocks, words * 4, nullptr, {&pout, &words});
  program.wait();
  const auto values = out.read();
  verify("out", values.data(), values.size(), [&](std::size_t index) {
    const auto block = static_cast<std::uint32_t>(index / kBlock);
    std::uint32_t sum = 0;
    for (auto i = static_cast<std::uint32_t>(index % kBlock); i < words; i += kBlock)
      sum += (words - 1 - i) * 2654435761u + block;
    return sum;
  });
  return size_B == kWanted_B
             ? text("%d KiB of shared memory a block", size_B >> 10)
             : text("%d KiB of shared memory a block, all that this GPU has", size_B >> 10);
}

/// A stream capture of two launches as something to launch.
class CapturedGraph {
 public:
  template <typename Record>
  CapturedGraph(const Gpu& gpu, Stream* stream, Record record) : gpu_(gpu) {
    gpu.check(gpu->stream_begin_capture(stream, kCaptureGlobal), "cuStreamBeginCapture");
    record();
    gpu.check(gpu->stream_end_capture(stream, &graph_), "cuStreamEndCapture");
    gpu.check(gpu->graph_instantiate(&exec_, graph_, 0), "cuGraphInstantiateWithFlags");
  }
  ~CapturedGraph() {
    if (exec_) gpu_->graph_exec_destroy(exec_);
    if (graph_) gpu_->graph_destroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch(Stream* stream) const {
    gpu_.check(gpu_->graph_launch(exec_, stream), "cuGraphLaunch");
  }

 private:
  const Gpu& gpu_;
  Graph* graph_ = nullptr;
  GraphExec* exec_ = nullptr;
};

std::string graph(const Gpu& gpu) {
  constexpr unsigned kCount = 5'000, kLaunches = 3;
  constexpr unsigned kBlocks = (kCount + kBlock - 1) / kBlock;
  std::vector<std::uint32_t> x(kCount);
  for (unsigned i = 0; i < kCount; ++i) x[i] = i * i + 7;
  const DeviceArray<std::uint32_t> dx(gpu, kCount), dy(gpu, kCount);
  dx.write(x);
  const Program first(gpu, kGraphFirst), second(gpu, kGraphSecond);
  const OwnedStream stream(gpu);
  DeviceAddress px = dx.address(), py = dy.address();
  unsigned n = kCount;
  const CapturedGraph captured(gpu, stream.get(), [&] {
    first.launch(kBlocks, 0, stream.get(), {&px, &n});
    second.launch(kBlocks, 0, stream.get(), {&px, &py, &n});
  });
  for (unsigned i = 0; i < kLaunches; ++i) captured.launch(stream.get());
  stream.wait();
  for (unsigned i = 0; i < kLaunches; ++i)
    for (std::uint32_t& value : x) value = 3 * value + 1;
  const auto y = dy.read();
  verify("y", y.data(), y.size(), [&](std::size_t i) { return x[i] ^ x[kCount - 1 - i]; });
  return text("two kernels, %u launches", kLaunches);
}

std::string copies(const Gpu& gpu) {
  constexpr std::size_t kCount = 256 << 10;
  const auto pattern = [](std::size_t i) {
    return static_cast<std::uint32_t>(i * 2654435761u + 1);
  };
  const auto shifted = [](std::size_t i) { return static_cast<std::uint32_t>(i * 40503u + 5); };
  const DeviceArray<std::uint32_t> a(gpu, kCount), b(gpu, kCount);
  // Pageable, both ways, by way of a copy on the device.
  std::vector<std::uint32_t> pageable(kCount);
  for (std::size_t i = 0; i < kCount; ++i) pageable[i] = pattern(i);
  a.write(pageable);
  gpu.check(gpu->memset_d32(b.address(), 0xdeadbeef, kCount), "cuMemsetD32");
  const auto filled = b.read();
  verify("fill", filled.data(), kCount, [](std::size_t) { return 0xdeadbeefu; });
  gpu.check(gpu->memcpy_dtod(b.address(), a.address(), a.size_B()), "cuMemcpyDtoD");
  const auto copied = b.read();
  verify("pageable", copied.data(), kCount, pattern);
  // The same with pinned memory on a stream.
  const OwnedStream stream(gpu);
  const PinnedWords source(gpu, kCount), target(gpu, kCount);
  for (std::size_t i = 0; i < kCount; ++i) source.begin()[i] = shifted(i);
  std::fill(target.begin(), target.end(), 0u);
  gpu.check(gpu->memcpy_htod_async(a.address(), source.begin(), a.size_B(), stream.get()),
            "cuMemcpyHtoDAsync");
  gpu.check(gpu->memcpy_dtod_async(b.address(), a.address(), a.size_B(), stream.get()),
            "cuMemcpyDtoDAsync");
  gpu.check(gpu->memcpy_dtoh_async(target.begin(), b.address(), b.size_B(), stream.get()),
            "cuMemcpyDtoHAsync");
  stream.wait();
  verify("pinned", target.begin(), kCount, shifted);
  return text("%zu KiB, pageable and pinned", kCount * 4 >> 10);
}

struct Step {
  const char* name;
  std::string (*run)(const Gpu&);
};
constexpr Step kSteps[] = {{"init", init},
                           {"vector_add", vector_add},
                           {"local_memory", local_memory},
                           {"shared_memory", shared_memory},
                           {"graph", graph},
                           {"copies", copies}};

int report(const char* step, const char* verdict, const std::string& detail, int status) {
  std::printf("%s %s %s\n", step, verdict, detail.c_str());
  std::fflush(stdout);
  return status;
}

int run(const Step& step, const std::string& library) {
  try {
    std::string detail;
    {
      const Gpu gpu(library);
      detail = step.run(gpu);
    }
    return report(step.name, "PASS", detail, kPassed);
  } catch (const Stop& stop) {
    return report(step.name, stop.is_skip ? "SKIP" : "FAIL", stop.reason,
                  stop.is_skip ? kSkipped : kFailed);
  } catch (const std::exception& error) {
    return report(step.name, "FAIL", error.what(), kFailed);
  }
}

int usage() {
  std::fputs("usage: nv_probe [--libcuda FILE] STEP | --list-steps | --list-symbols\n", stderr);
  return kUsage;
}

int list_steps() {
  for (const Step& step : kSteps) std::puts(step.name);
  return kPassed;
}

int list_symbols() {
  for (const std::string& name : driver_symbols()) std::puts(name.c_str());
  return kPassed;
}

int main_of(std::vector<std::string> arguments) {
  std::string library = "libcuda.so.1";
  if (arguments.size() == 3 && arguments[0] == "--libcuda") {
    library = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.size() != 1) return usage();
  if (arguments[0] == "--list-steps") return list_steps();
  if (arguments[0] == "--list-symbols") return list_symbols();
  for (const Step& step : kSteps)
    if (arguments[0] == step.name) return run(step, library);
  return usage();
}

}  // namespace
}  // namespace tiny::nv_capture

int main(int argc, char** argv) {
  return tiny::nv_capture::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
