// SPDX-License-Identifier: MIT
// Runs a 0-d expression of required ops over many lanes at once: the tests' fast interpreter.
#pragma once

#include <rt_tiny/runtime/base/dtype.h>

#include <cstring>
#include <unordered_map>
#include <vector>

#include "compiler/ir/arena.h"

namespace tiny::test {

/// How the machine rounds a*b+c; a decomposition has to hold under each.
enum class Products {
  separate,    ///< no fused multiply-add; MULACC rounds twice
  fused,       ///< MULACC rounds once
  contracted,  ///< and so does every ADD or SUB of a MUL
};

/// Elements of one dtype, packed.
struct Lanes {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
  size_t count = 0;

  Lanes() = default;
  Lanes(DType t, size_t n) : dtype(t), bytes(n * size_B(t)), count(n) {}
  template <class T>
  static Lanes of(const std::vector<T>& values) {
    Lanes l(dtype_of<T>, values.size());
    std::memcpy(l.bytes.data(), values.data(), l.bytes.size());
    return l;
  }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  /// Lane i as the interpreter's operand would hold it.
  uint64_t bits(size_t i) const {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data() + i * size_B(dtype), size_B(dtype));
    return v;
  }
  void set_bits(size_t i, uint64_t v) {
    std::memcpy(bytes.data() + i * size_B(dtype), &v, size_B(dtype));
  }
};

/// The input of lane-wise expressions: a LOAD of buffer `slot`.
const ir::Node* lane_input(ir::Arena&, DType, int slot);

/// Value of `root` for every lane of the inputs (by slot). Aborts on ops that are not required.
Lanes evaluate_lanes(const ir::Node* root, const std::vector<Lanes>& inputs, Products);

}  // namespace tiny::test
