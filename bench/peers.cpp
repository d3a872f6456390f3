// SPDX-License-Identifier: MIT
#include "bench/peers.h"

#include <dlfcn.h>

namespace tiny::bench {

namespace {

template <class F>
F* function_of(const char* library, const char* name) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle ? reinterpret_cast<F*>(::dlsym(handle, name)) : nullptr;
}

}  // namespace

bool openblas_matmul(const Matmul& s, const float* a, const float* b, float* c) {
  // cblas.h: CblasRowMajor, CblasNoTrans, CblasTrans.
  constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  using Sgemv =
      void(int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  static const auto gemm = function_of<Sgemm>("libopenblas.so.0", "cblas_sgemm");
  static const auto gemv = function_of<Sgemv>("libopenblas.so.0", "cblas_sgemv");
  if (!gemm || !gemv) return false;
  const int m = int(s.m), n = int(s.n), k = int(s.k);
  const int lda = s.a_transposed ? m : k, ldb = s.b_transposed ? k : n;
  if (n == 1)
    gemv(kRowMajor, s.a_transposed ? kTransposed : kPlain, s.a_transposed ? k : m,
         s.a_transposed ? m : k, 1, a, lda, b, 1, 0, c, 1);
  else if (m == 1)
    gemv(kRowMajor, s.b_transposed ? kPlain : kTransposed, s.b_transposed ? n : k,
         s.b_transposed ? k : n, 1, b, ldb, a, 1, 0, c, 1);
  else
    gemm(kRowMajor, s.a_transposed ? kTransposed : kPlain, s.b_transposed ? kTransposed : kPlain, m,
         n, k, 1, a, lda, b, ldb, 0, c, n);
  return true;
}

bool onednn_matmul(const Matmul& s, const float* a, const float* b, float* c) {
  using Sgemm = int(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t,
                    const float*, int64_t, float, float*, int64_t);
  static const auto gemm = function_of<Sgemm>("libdnnl.so.2", "dnnl_sgemm");
  if (!gemm) return false;
  return gemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', s.m, s.n, s.k, 1, a,
              s.a_transposed ? s.m : s.k, b, s.b_transposed ? s.k : s.n, 0, c, s.n) == 0;
}

}  // namespace tiny::bench
