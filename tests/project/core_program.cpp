// SPDX-License-Identifier: MIT
// A stranger's program against the installed core: memory of the CPU device, no compiler, no
// tensor.
#include <rt_tiny/runtime/device.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  auto dev = tiny::open_device("CPU");
  std::vector<int32_t> values(1000);
  std::iota(values.begin(), values.end(), 1);
  tiny::Buffer buffer = dev->alloc(values.size() * sizeof(int32_t));
  buffer.write(values);
  std::vector<int32_t> back = buffer.read<int32_t>();
  std::printf("%s sum %d\n", dev->name().c_str(), std::accumulate(back.begin(), back.end(), 0));
}
