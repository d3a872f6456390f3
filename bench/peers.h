// SPDX-License-Identifier: MIT
// The libraries that benchmarks compare with, opened at run time: where one is missing its column
// is empty.
#pragma once

#include <cstdint>

namespace tiny::bench {

/// Row-major c[m, n] = a[m, k] * b[k, n]; a and b may be stored transposed.
struct Matmul {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

/// Computes with OpenBLAS, or oneDNN; false where the library is not there.
bool openblas_matmul(const Matmul&, const float* a, const float* b, float* c);
bool onednn_matmul(const Matmul&, const float* a, const float* b, float* c);

}  // namespace tiny::bench
