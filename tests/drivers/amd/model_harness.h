// SPDX-License-Identifier: MIT
// What tests of the driver on the device model share: the machine, kernels, buffers.
#pragma once

#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/device.h>

#include "models/amd/model.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace model_test {

using namespace tiny;
namespace model = tiny::models::amd;

/// One a process: the driver keeps the kernel's files for ever.
model::Model& machine();

inline std::vector<int32_t> iota(size_t n, int32_t first = 0) {
  std::vector<int32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

inline Buffer ints(const std::shared_ptr<Device>& dev, const std::vector<int32_t>& values) {
  Buffer b = dev->alloc(values.size() * 4, {.tag = "ints"});
  b.write(values);
  return b;
}

/// One of tests/data/amd/kernels.cl. With variables, the last one is the number of elements.
inline Binary kernel(const std::string& name, uint32_t buffers, uint32_t variables = 0,
                     uint32_t threads = 256) {
  Binary b;
  b.name = name;
  b.code = read_file(TINY_AMD_DATA "/kernels_" TINY_AMD_TARGET ".o");
  for (uint32_t i = 0; i < buffers + variables; ++i)
    b.args.push_back(
        {i < buffers ? ArgSlot::Kind::buffer : ArgSlot::Kind::variable, i * 8, i < buffers, true});
  b.kernarg_B = (buffers + variables) * 8;
  b.group_size = {threads, 1, 1};
  if (variables) {
    using Code = LaunchExpr::Code;
    b.groups[0] = LaunchExpr({{Code::variable, variables - 1},
                              {Code::constant, 255},
                              {Code::add, 0},
                              {Code::constant, 256},
                              {Code::floordiv, 0}});
  }
  return b;
}

}  // namespace model_test
