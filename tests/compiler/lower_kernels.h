// SPDX-License-Identifier: MIT
// Hand-built kernels for the tests of opt, lower and render, and how to run and compare them.
#pragma once

#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/target.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/schedule/kernel.h"

namespace tiny::test {

using ir::Node;
using ir::Op;
using Bytes = std::vector<std::vector<uint8_t>>;

/// Builds one piece of a kernel; expressions read as they are written.
class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name);

  int buffer(DType, int64_t elements, bool read, bool written);
  void next_piece() { kernel.pieces.emplace_back(); }
  /// A domain axis; its class is its number unless stated.
  const Node* domain(int64_t extent, const std::string& name, int axis_class = -1);
  /// An axis that only stages use.
  const Node* reduced(int64_t extent, const std::string& name, int axis_class = -1);

  const Node* load(int buffer, const Node* index, const Node* valid = nullptr);
  const Node* stage(ir::ReduceOp, const Node* value, std::initializer_list<const Node*> over);
  /// Keeps `value` in local memory at `index` for each position of the axes `own`; its number.
  int64_t keep(const Node* value, std::initializer_list<const Node*> own, const Node* index,
               int64_t elements, const Node* valid = nullptr);
  /// What stage `number` keeps at `index`.
  const Node* kept(int64_t number, const Node* index, const Node* valid = nullptr);
  void store(int buffer, const Node* index, const Node* value, const Node* valid = nullptr,
             bool accumulate = false);
  const Node* op(Op, std::initializer_list<const Node*> sources);
  const Node* op(Op, DType, std::initializer_list<const Node*> sources);
  const Node* i(int64_t v) { return arena().integer(v); }
  const Node* f(double v, DType t = DType::f32) { return arena().real(v, t); }
  /// Row-major index: positions and the extents of all but the first.
  const Node* flat(std::initializer_list<const Node*> at, std::initializer_list<int64_t> inner);
  ir::Arena& arena() { return *kernel.arena; }
  Piece& piece() { return kernel.pieces.back(); }

  Kernel kernel;

 private:
  const Node* axis(int64_t extent, const std::string& name, int axis_class);
};

struct Sample {
  std::string name;
  std::function<Kernel()> make;
};
/// The kernels every path is tested with.
std::vector<Sample> samples();

Kernel softmax(int64_t rows, int64_t columns);
/// Operands of this dtype, sum and result in f32.
Kernel linear_relu(int64_t m, int64_t n, int64_t k, bool transposed_weight,
                   DType operands = DType::f32);
/// Valid convolution, stride 1.
Kernel conv(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps);
Kernel conv_grad_input(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps);
Kernel conv_grad_weight(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps);
Kernel batch_norm(int64_t n, int64_t c, int64_t pixels);
Kernel add(int64_t count, DType);
Kernel full_sum(int64_t count, DType = DType::f32);
Kernel column_sum(int64_t rows, int64_t columns);
Kernel row_sum(int64_t rows, int64_t columns);
Kernel transpose(int64_t rows, int64_t columns);
Kernel gather(int64_t rows, int64_t width, int64_t picks);
Kernel scatter_add(int64_t rows, int64_t width, int64_t picks);
Kernel adam(std::initializer_list<int64_t> sizes);
// With stages in local memory.
Kernel softmax_kept(int64_t rows, int64_t columns, DType = DType::f32);
Kernel attention(int64_t heads, int64_t queries, int64_t keys, int64_t width);

Target host_target();
/// An AMD GPU of this architecture ("gfx1100"), to compile for.
Target gfx_target(const std::string& arch);
/// A buffer set with contents that suit the kernel: small numbers, indices in range and a few out.
Bytes make_buffers(const Kernel&, uint64_t seed);
/// Loads the binary and runs all its groups, each on `buffers` as they are.
void run_binary(const Binary&, Bytes& buffers);
/// Empty if equal: integers exactly, floats to rounding; else the first difference.
std::string difference(const Kernel&, const Bytes& expected, const Bytes& got);
/// Compiles, runs and compares with the interpreter; empty or what went wrong.
std::string check_compiled(const Kernel& reference, const Kernel& kernel, const CompileOptions&,
                           uint64_t seed);

}  // namespace tiny::test
