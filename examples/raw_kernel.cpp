// SPDX-License-Identifier: MIT
// A kernel of one's own on a device: no compiler, no tensors. Needs librt_tiny_core alone.
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/device.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  auto dev = tiny::open_device(argc > 1 ? argv[1] : "CPU:0");
  auto saxpy = dev->load(tiny::read_file(argc > 2 ? argv[2] : SAXPY_OBJECT), "saxpy");
  constexpr uint32_t n = 1 << 20;
  auto x = dev->alloc(n * sizeof(float)), y = dev->alloc(n * sizeof(float));
  x.fill(1.0f);
  y.fill(2.0f);
  auto list = dev->make_list();
  list.dispatch(saxpy, {.groups = {n / 256}, .group_size = {256}}, tiny::args(x, y, 3.0f, n));
  dev->submit(list).wait();                        // throws DeviceFault if the kernel failed
  std::printf("y[0] = %g\n", y.read<float>()[0]);  // 5
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "raw_kernel: %s\n", e.what());
  return 1;
}
