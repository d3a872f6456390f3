// SPDX-License-Identifier: MIT
// y = a x + y for examples/raw_kernel, in the CPU device's calling convention: called once a group,
// with the arguments laid out as a C struct in the order that the host gave them.
#include <stdint.h>

enum { kGroup = 256 };  // elements a group handles

struct Arguments {
  const float* x;
  float* y;
  float a;
  uint32_t n;
};

void saxpy(const void* kernarg, const int64_t group[3], void* scratch) {
  const struct Arguments* k = kernarg;
  const int64_t begin = group[0] * kGroup, end = begin + kGroup < k->n ? begin + kGroup : k->n;
  for (int64_t i = begin; i < end; ++i) k->y[i] = k->a * k->x[i] + k->y[i];
  (void)scratch;
}
