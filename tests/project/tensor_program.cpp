// SPDX-License-Identifier: MIT
// A stranger's program against the installed library: a gradient, from tensor to machine code, and
// a look at the same device through the core, whose state must be the library's own.
#include <rt_tiny/rt_tiny.h>
#include <rt_tiny/runtime/registry.h>

#include <cstdio>

int main() {
  tiny::Tensor x = tiny::Tensor::arange(5, tiny::DType::f32);
  x.requires_grad_();
  tiny::Tensor y = (x * x).sum();
  y.backward();
  std::printf("sum %g gradient %g\n", y.item<float>(), x.grad().sum().item<float>());
  std::printf("%s\n", tiny::default_device()->name().c_str());
}
