// SPDX-License-Identifier: MIT
// A program in HIP, built whole by hipcc (tools/rocm_clients): device code from AMD's compiler and
// device libraries, launches and copies by AMD's runtime. Prints "correct" at the end.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int kCount = 5000, kGroup = 256, kGroups = (kCount + kGroup - 1) / kGroup;

__global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

/// A sum a group, in shared memory; the sum of all by an atomic.
__global__ void sum(const int* x, int* groups, int* total, int n) {
  __shared__ int part[kGroup];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  for (int width = kGroup / 2; width > 0; width /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < width) part[threadIdx.x] += part[threadIdx.x + width];
  }
  if (threadIdx.x == 0) {
    groups[blockIdx.x] = part[0];
    atomicAdd(total, part[0]);
  }
}

/// Lanes leave the loop at different times.
__global__ void collatz(int* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = unsigned(i) + 1;
  int count = 0;
  for (; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
  steps[i] = count;
}

__global__ void mathematics(const float* x, float* f, double* d, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  f[i] = expf(-x[i]) + sinf(x[i]) / sqrtf(x[i] + 1.0f);
  d[i] = log(double(x[i]) + 1.0) / (1.0 + double(x[i]) * x[i]);
}

/// Neighbours' values without memory.
__global__ void rotate(const int* in, int* out) {
  out[threadIdx.x] = __shfl(in[threadIdx.x], (threadIdx.x + 1) % 32, 32);
}

/// The first two dimensions of groups and items.
__global__ void positions(int* out, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * width + x] = 1000 * y + x;
}

/// A private array that is indexed by what only the GPU knows: scratch memory, which the runtime
/// gives to a queue when a dispatch first asks for it.
__global__ void histogram(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int count[64];
  for (int k = 0; k < 64; ++k) count[k] = 0;
  for (int k = 0; k < 100; ++k) ++count[in[(i + k * k) % n] & 63];
  int best = 0;
  for (int k = 0; k < 64; ++k)
    if (count[k] > count[best]) best = k;
  out[i] = best * 1000 + count[best];
}

/// Shared memory whose size the launch gives; 64-bit atomics in it and outside; half precision.
__global__ void reverse(const __half* in, __half* out, unsigned long long* total) {
  extern __shared__ __half values[];
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  values[threadIdx.x] = __hadd(in[threadIdx.x], in[threadIdx.x]);
  __syncthreads();
  atomicAdd(&sum, 0x100000001ull * threadIdx.x);
  out[threadIdx.x] = __hmul(values[blockDim.x - 1 - threadIdx.x], __float2half(0.25f));
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(total, sum);
}

template <class T>
T* on_gpu(const std::vector<T>& values) {
  T* at = nullptr;
  CHECK(hipMalloc(&at, values.size() * sizeof(T)));
  CHECK(hipMemcpy(at, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return at;
}

template <class T>
std::vector<T> from_gpu(T* at, int count) {
  std::vector<T> out(count);
  CHECK(hipMemcpy(out.data(), at, count * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(at));
  return out;
}

bool same(const char* what, double expected, double got, double tolerance) {
  if (std::fabs(expected - got) <= tolerance * std::fmax(1.0, std::fabs(expected))) return true;
  std::fprintf(stderr, "%s: expected %.9g, got %.9g\n", what, expected, got);
  return false;
}

bool check_axpy() {
  std::vector<float> x(kCount);
  for (int i = 0; i < kCount; ++i) x[i] = float(i) / 4;
  float *dx = on_gpu(x), *dy = on_gpu(x);
  axpy<<<kGroups, kGroup>>>(3.0f, dx, dy, kCount);
  CHECK(hipGetLastError());
  bool good = true;
  const std::vector<float> y = from_gpu(dy, kCount);
  for (int i = 0; i < kCount && good; ++i) good = same("axpy", i, y[i], 0);
  CHECK(hipFree(dx));
  return good;
}

bool check_sum() {
  std::vector<int> x(kCount);
  int expected = 0;
  for (int i = 0; i < kCount; ++i) expected += x[i] = i * 31 % 101;
  int *dx = on_gpu(x), *groups = on_gpu(std::vector<int>(kGroups, -1)), *total = nullptr;
  CHECK(hipMalloc(&total, sizeof(int)));
  CHECK(hipMemset(total, 0, sizeof(int)));
  sum<<<kGroups, kGroup>>>(dx, groups, total, kCount);
  CHECK(hipGetLastError());
  int added = 0;
  for (int part : from_gpu(groups, kGroups)) added += part;
  CHECK(hipFree(dx));
  return same("sum of groups", expected, added, 0) &
         same("atomic sum", expected, from_gpu(total, 1)[0], 0);
}

bool check_collatz() {
  int* steps = on_gpu(std::vector<int>(kCount, -1));
  collatz<<<kGroups, kGroup>>>(steps, kCount);
  CHECK(hipGetLastError());
  const std::vector<int> got = from_gpu(steps, kCount);
  bool good = true;
  for (int i = 0; i < kCount && good; ++i) {
    int count = 0;
    for (unsigned v = unsigned(i) + 1; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
    good = same("collatz", count, got[i], 0);
  }
  return good;
}

bool check_mathematics() {
  std::vector<float> x(kCount);
  for (int i = 0; i < kCount; ++i) x[i] = float(i) / 100;
  float *dx = on_gpu(x), *df = on_gpu(std::vector<float>(kCount));
  double* dd = on_gpu(std::vector<double>(kCount));
  mathematics<<<kGroups, kGroup>>>(dx, df, dd, kCount);
  CHECK(hipGetLastError());
  const std::vector<float> f = from_gpu(df, kCount);
  const std::vector<double> d = from_gpu(dd, kCount);
  CHECK(hipFree(dx));
  bool good = true;
  for (int i = 0; i < kCount && good; ++i) {
    const double v = x[i];
    good = same("f32", std::exp(-v) + std::sin(v) / std::sqrt(v + 1), f[i], 1e-6) &&
           same("f64", std::log(v + 1) / (1 + v * v), d[i], 1e-14);
  }
  return good;
}

bool check_rotate() {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[i] = i * i;
  int *in = on_gpu(x), *out = on_gpu(std::vector<int>(64));
  rotate<<<1, 64>>>(in, out);
  CHECK(hipGetLastError());
  const std::vector<int> got = from_gpu(out, 64);
  CHECK(hipFree(in));
  bool good = true;
  for (int i = 0; i < 64; ++i) good &= same("rotate", x[i / 32 * 32 + (i + 1) % 32], got[i], 0);
  return good;
}

bool check_positions() {
  int* at = on_gpu(std::vector<int>(48 * 20, -1));
  positions<<<dim3(3, 5), dim3(16, 4)>>>(at, 48);
  CHECK(hipGetLastError());
  const std::vector<int> got = from_gpu(at, 48 * 20);
  bool good = true;
  for (int i = 0; i < 48 * 20; ++i) good &= same("position", i / 48 * 1000 + i % 48, got[i], 0);
  return good;
}

bool check_histogram() {
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i * i % 1009;
  int *din = on_gpu(in), *out = on_gpu(std::vector<int>(kCount, -1));
  bool good = true;
  histogram<<<kGroups, kGroup>>>(din, out, kCount);
  CHECK(hipGetLastError());
  const std::vector<int> got = from_gpu(out, kCount);
  CHECK(hipFree(din));
  for (int i = 0; i < kCount && good; ++i) {
    int count[64] = {}, best = 0;
    for (int k = 0; k < 100; ++k) ++count[in[(i + k * k) % kCount] & 63];
    for (int k = 0; k < 64; ++k)
      if (count[k] > count[best]) best = k;
    good = same("histogram", best * 1000 + count[best], got[i], 0);
  }
  return good;
}

bool check_reverse() {
  constexpr int kItems = 192;
  std::vector<__half> in(kItems);
  for (int i = 0; i < kItems; ++i) in[i] = __float2half(float(i));
  __half *din = on_gpu(in), *out = on_gpu(std::vector<__half>(kItems));
  unsigned long long* total = on_gpu(std::vector<unsigned long long>(1, 5));
  reverse<<<1, kItems, kItems * sizeof(__half)>>>(din, out, total);
  CHECK(hipGetLastError());
  const std::vector<__half> got = from_gpu(out, kItems);
  CHECK(hipFree(din));
  bool good = true;
  for (int i = 0; i < kItems; ++i)
    good &= same("reverse", (kItems - 1 - i) * 0.5, __half2float(got[i]), 0);
  const unsigned long long expected = 0x100000001ull * (kItems * (kItems - 1) / 2);
  if (from_gpu(total, 1)[0] == expected) return good;
  std::fprintf(stderr, "64-bit atomics are wrong\n");
  return false;
}

/// Copies and kernels of two streams, the second waiting for the first through an event.
bool check_streams() {
  constexpr size_t kBytes = 3 << 20;
  hipStream_t first, second;
  hipEvent_t event;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreate(&second));
  CHECK(hipEventCreate(&event));
  unsigned char *host, *back, *gpu, *other;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), kBytes, 0));
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&back), kBytes, 0));
  CHECK(hipMalloc(reinterpret_cast<void**>(&gpu), kBytes));
  CHECK(hipMalloc(reinterpret_cast<void**>(&other), kBytes));
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<unsigned char>(i * 7 + i / 251);
  CHECK(hipMemcpyAsync(gpu, host, kBytes, hipMemcpyHostToDevice, first));
  CHECK(hipEventRecord(event, first));
  CHECK(hipStreamWaitEvent(second, event, 0));
  CHECK(hipMemcpyAsync(other, gpu, kBytes, hipMemcpyDeviceToDevice, second));
  CHECK(hipMemsetAsync(other + 100, 0x5a, 1000, second));
  CHECK(hipMemcpyAsync(back, other, kBytes, hipMemcpyDeviceToHost, second));
  CHECK(hipStreamSynchronize(second));
  bool good = true;
  for (size_t i = 0; i < kBytes && good; ++i)
    good = same("stream", i >= 100 && i < 1100 ? 0x5a : host[i], back[i], 0);
  CHECK(hipEventDestroy(event));
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  for (unsigned char* at : {host, back}) CHECK(hipHostFree(at));
  for (unsigned char* at : {gpu, other}) CHECK(hipFree(at));
  return good;
}

}  // namespace

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s, %d CUs\n", properties.gcnArchName, properties.multiProcessorCount);
  const bool good = check_axpy() & check_sum() & check_collatz() & check_mathematics() &
                    check_rotate() & check_positions() & check_histogram() & check_reverse() &
                    check_streams();
  std::puts(good ? "correct" : "wrong");
  return good ? 0 : 1;
}
