// SPDX-License-Identifier: MIT
// Kernels for tests, in the CPU entry ABI. Compiled apart to an object that the tests load.
#include <cstdint>

namespace {
template <class T>
T arg(const void* kernarg, int offset_B) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(kernarg) + offset_B, sizeof value);
  return value;
}
constexpr int64_t kGroup = 256;  // elements a group handles
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
}  // namespace

#define KERNEL(name)                                                         \
  extern "C" void name(const void* k, [[maybe_unused]] const int64_t* group, \
                       [[maybe_unused]] void* scratch)

// Raw, laid out as struct {const float* x; float* y; float a; uint32_t n;}: y = a x + y.
KERNEL(saxpy) {
  const auto* x = arg<const float*>(k, 0);
  auto* y = arg<float*>(k, 8);
  const auto a = arg<float>(k, 16);
  const auto n = arg<uint32_t>(k, 20);
  for (int64_t i = group[0] * kGroup; i < least(n, (group[0] + 1) * kGroup); ++i)
    y[i] = a * x[i] + y[i];
}

// {int32_t* out, const int32_t* in, int64 factor, int64 n}: out = in * factor + in's index.
KERNEL(scale) {
  auto* out = arg<int32_t*>(k, 0);
  const auto* in = arg<const int32_t*>(k, 8);
  const auto factor = arg<int64_t>(k, 16), n = arg<int64_t>(k, 24);
  for (int64_t i = group[0] * kGroup; i < least(n, (group[0] + 1) * kGroup); ++i)
    out[i] = static_cast<int32_t>(in[i] * factor + i);
}

// {int32_t* data, int64 n}: data += 1.
KERNEL(increment) {
  auto* data = arg<int32_t*>(k, 0);
  const auto n = arg<int64_t>(k, 8);
  for (int64_t i = group[0] * kGroup; i < least(n, (group[0] + 1) * kGroup); ++i) data[i] += 1;
}

// {int32_t* counts, int64 nx, int64 ny}: counts[z][y][x] += 1 for each group.
KERNEL(mark_group) {
  auto* counts = arg<int32_t*>(k, 0);
  const auto nx = arg<int64_t>(k, 8), ny = arg<int64_t>(k, 16);
  __atomic_fetch_add(&counts[(group[2] * ny + group[1]) * nx + group[0]], 1, __ATOMIC_RELAXED);
}

// {int64_t* out}: sums what it wrote to 4096 B of scratch.
KERNEL(use_scratch) {
  auto* out = arg<int64_t*>(k, 0);
  auto* s = static_cast<volatile int64_t*>(scratch);
  for (int64_t i = 0; i < 512; ++i) s[i] = i + group[0];
  int64_t sum = 0;
  for (int64_t i = 0; i < 512; ++i) sum += s[i];
  out[group[0]] = sum + (reinterpret_cast<uintptr_t>(scratch) % 64 != 0);
}

// {const int32_t* gate, int32_t* out}: waits until the gate opens, then out = 7.
KERNEL(wait_gate) {
  const auto* gate = arg<const int32_t*>(k, 0);
  auto* out = arg<int32_t*>(k, 8);
  while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) == 0) {
  }
  *out = 7;
}

// {int32_t* data, int64 offset in bytes}: writes there.
KERNEL(wild_store) {
  auto* data = arg<char*>(k, 0);
  *reinterpret_cast<volatile int32_t*>(data + arg<int64_t>(k, 8)) = 1;
}

// {int64_t* out, int64 divisor}: integer division, which traps on zero.
KERNEL(divide) {
  auto* out = arg<int64_t*>(k, 0);
  volatile int64_t divisor = arg<int64_t>(k, 8);
  out[0] = 100 / divisor;
}

// {int32_t* data}: never ends its recursion.
static int64_t recurse(volatile int64_t* p, int64_t n) {
  volatile int64_t frame[64];
  frame[n & 63] = n;
  return n < 0 ? *p : recurse(frame, n + 1) + frame[n & 63];
}
KERNEL(overflow_stack) { arg<int64_t*>(k, 0)[0] = recurse(arg<int64_t*>(k, 0), group[0]); }
