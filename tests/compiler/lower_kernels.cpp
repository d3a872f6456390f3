// SPDX-License-Identifier: MIT
#include "tests/compiler/lower_kernels.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/ir/scalar.h"
#include "compiler/lower/interpret_kernel.h"
#include "drivers/amd/target.h"
#include "drivers/cpu/target.h"

namespace tiny::test {

KernelBuilder::KernelBuilder(std::string name) {
  kernel.arena = std::make_shared<ir::Arena>();
  kernel.name = std::move(name);
  kernel.pieces.emplace_back();
}

int KernelBuilder::buffer(DType t, int64_t elements, bool read, bool written) {
  kernel.buffers.push_back({t, std::max<int64_t>(elements, 1), read, written});
  return static_cast<int>(kernel.buffers.size()) - 1;
}

const Node* KernelBuilder::axis(int64_t extent, const std::string& name, int axis_class) {
  Axis a;
  const int64_t number = static_cast<int64_t>(piece().axes.size());
  a.extent = a.full = extent;
  a.axis_class = axis_class < 0 ? static_cast<int>(number) : axis_class;
  a.name = name;
  piece().axes.push_back(a);
  return arena().range(number, extent);
}

const Node* KernelBuilder::domain(int64_t extent, const std::string& name, int axis_class) {
  const Node* r = axis(extent, name, axis_class);
  piece().domain.push_back(static_cast<int>(r->arg().value));
  return r;
}

const Node* KernelBuilder::reduced(int64_t extent, const std::string& name, int axis_class) {
  return axis(extent, name, axis_class);
}

const Node* KernelBuilder::load(int b, const Node* index, const Node* valid) {
  ir::Arg arg;
  arg.value = b;
  std::vector<const Node*> sources{index};
  if (valid) sources.push_back(valid);
  return arena().make(Op::LOAD, kernel.buffers[static_cast<size_t>(b)].dtype, sources, arg);
}

const Node* KernelBuilder::stage(ir::ReduceOp op, const Node* value,
                                 std::initializer_list<const Node*> over) {
  Stage s;
  s.op = op;
  s.accumulator = value->dtype();
  s.value = value;
  ir::AxisSet free = value->axes();
  for (const Node* r : over) {
    s.reduce_axes.push_back(static_cast<int>(r->arg().value));
    free.remove(r->arg().value);
  }
  piece().stages.push_back(s);
  ir::Arg arg;
  arg.value = static_cast<int64_t>(piece().stages.size()) - 1;
  for (int a : free.list()) arg.list.push_back(a);
  return arena().make(Op::STAGE, value->dtype(), {}, arg);
}

int64_t KernelBuilder::keep(const Node* value, std::initializer_list<const Node*> own,
                            const Node* index, int64_t elements, const Node* valid) {
  Stage s;
  s.accumulator = value->dtype();
  s.value = value;
  s.placement = Placement::local;
  s.index = index;
  s.valid = valid;
  s.elements = std::max<int64_t>(elements, 1);
  for (const Node* r : own) s.own_axes.push_back(static_cast<int>(r->arg().value));
  piece().stages.push_back(s);
  return static_cast<int64_t>(piece().stages.size()) - 1;
}

const Node* KernelBuilder::kept(int64_t number, const Node* index, const Node* valid) {
  const Stage& s = piece().stages[static_cast<size_t>(number)];
  ir::AxisSet around = s.value->axes();
  for (int a : s.own_axes) around.remove(a);
  ir::Arg arg;
  arg.value = number;
  for (int a : around.list()) arg.list.push_back(a);
  std::vector<const Node*> sources{index};
  if (valid) sources.push_back(valid);
  return arena().make(Op::STAGE, s.accumulator, sources, arg);
}

void KernelBuilder::store(int b, const Node* index, const Node* value, const Node* valid,
                          bool accumulate) {
  piece().stores.push_back({b, index, valid, value, accumulate});
}

const Node* KernelBuilder::op(Op o, std::initializer_list<const Node*> s) {
  const bool compare = ir::info(o).kind == ir::OpKind::compare;
  const std::vector<const Node*> sources(s);
  return op(o, compare ? DType::boolean : sources.back()->dtype(), s);
}

const Node* KernelBuilder::op(Op o, DType t, std::initializer_list<const Node*> s) {
  return arena().make(o, t, s);
}

const Node* KernelBuilder::flat(std::initializer_list<const Node*> at,
                                std::initializer_list<int64_t> inner) {
  const Node* index = *at.begin();
  auto extent = inner.begin();
  for (auto n = at.begin() + 1; n != at.end(); ++n, ++extent)
    index = arena().add(arena().mul(index, i(*extent)), *n);
  return index;
}

Kernel softmax(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("softmax_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int out = b.buffer(DType::f32, rows * columns, false, true);
  const Node* r = b.domain(rows, "r");
  const Node* c = b.domain(columns, "c");
  const Node* c1 = b.reduced(columns, "c", 1);
  const Node* c2 = b.reduced(columns, "c", 1);
  const auto at = [&](const Node* column) { return b.load(x, b.flat({r, column}, {columns})); };
  const Node* m = b.stage(ir::ReduceOp::max, at(c1), {c1});
  const auto e = [&](const Node* column) {
    return b.op(Op::EXP, {b.op(Op::SUB, {at(column), m})});
  };
  const Node* s = b.stage(ir::ReduceOp::sum, e(c2), {c2});
  b.store(out, b.flat({r, c}, {columns}), b.op(Op::FDIV, {e(c), s}));
  return b.kernel;
}

Kernel linear_relu(int64_t m, int64_t n, int64_t k, bool transposed, DType t) {
  KernelBuilder b(fmt::format("linear_m{}_n{}_k{}{}", m, n, k, transposed ? "_t" : ""));
  const int x = b.buffer(t, m * k, true, false);
  const int w = b.buffer(t, k * n, true, false);
  const int bias = b.buffer(DType::f32, n, true, false);
  const int y = b.buffer(DType::f32, m * n, false, true);
  const Node* i = b.domain(m, "m");
  const Node* j = b.domain(n, "n");
  const Node* r = b.reduced(k, "k");
  const Node* weight = b.load(w, transposed ? b.flat({j, r}, {k}) : b.flat({r, j}, {n}));
  const auto wide = [&](const Node* v) {
    return t == DType::f32 ? v : b.op(Op::CAST, DType::f32, {v});
  };
  const Node* product = b.op(Op::MUL, {wide(b.load(x, b.flat({i, r}, {k}))), wide(weight)});
  const Node* s = b.stage(ir::ReduceOp::sum, product, {r});
  const Node* value = b.op(Op::MAX, {b.op(Op::ADD, {s, b.load(bias, j)}), b.f(0)});
  b.store(y, b.flat({i, j}, {n}), value);
  return b.kernel;
}

Kernel conv(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps) {
  const int64_t out = size - taps + 1;
  KernelBuilder b(fmt::format("conv_n{}_i{}_o{}_s{}_k{}", n, ci, co, size, taps));
  const int x = b.buffer(DType::f32, n * ci * size * size, true, false);
  const int w = b.buffer(DType::f32, co * ci * taps * taps, true, false);
  const int y = b.buffer(DType::f32, n * co * out * out, false, true);
  const Node *in = b.domain(n, "n"), *o = b.domain(co, "co");
  const Node *h = b.domain(out, "oh"), *v = b.domain(out, "ow");
  const Node* i = b.reduced(ci, "ci");
  const Node *kh = b.reduced(taps, "kh"), *kw = b.reduced(taps, "kw");
  ir::Arena& a = b.arena();
  const Node* xi = b.load(x, b.flat({in, i, a.add(h, kh), a.add(v, kw)}, {ci, size, size}));
  const Node* wi = b.load(w, b.flat({o, i, kh, kw}, {ci, taps, taps}));
  const Node* s = b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {xi, wi}), {i, kh, kw});
  b.store(y, b.flat({in, o, h, v}, {co, out, out}), s);
  return b.kernel;
}

Kernel conv_grad_input(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps) {
  const int64_t out = size - taps + 1;
  KernelBuilder b(fmt::format("conv_dx_n{}_i{}_o{}_s{}_k{}", n, ci, co, size, taps));
  const int dy = b.buffer(DType::f32, n * co * out * out, true, false);
  const int w = b.buffer(DType::f32, co * ci * taps * taps, true, false);
  const int dx = b.buffer(DType::f32, n * ci * size * size, false, true);
  const Node *in = b.domain(n, "n"), *i = b.domain(ci, "ci");
  const Node *h = b.domain(size, "ih"), *v = b.domain(size, "iw");
  const Node* o = b.reduced(co, "co");
  const Node *kh = b.reduced(taps, "kh"), *kw = b.reduced(taps, "kw");
  ir::Arena& a = b.arena();
  const Node *y = a.sub(h, kh), *z = a.sub(v, kw);
  const auto inside = [&](const Node* p) {
    return a.logical_and(a.lt(b.i(-1), p), a.lt(p, b.i(out)));
  };
  const Node* g =
      b.load(dy, b.flat({in, o, y, z}, {co, out, out}), a.logical_and(inside(y), inside(z)));
  const Node* wi = b.load(w, b.flat({o, i, kh, kw}, {ci, taps, taps}));
  const Node* s = b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {g, wi}), {o, kh, kw});
  b.store(dx, b.flat({in, i, h, v}, {ci, size, size}), s);
  return b.kernel;
}

Kernel conv_grad_weight(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t taps) {
  const int64_t out = size - taps + 1;
  KernelBuilder b(fmt::format("conv_dw_n{}_i{}_o{}_s{}_k{}", n, ci, co, size, taps));
  const int x = b.buffer(DType::f32, n * ci * size * size, true, false);
  const int dy = b.buffer(DType::f32, n * co * out * out, true, false);
  const int dw = b.buffer(DType::f32, co * ci * taps * taps, false, true);
  const Node *o = b.domain(co, "co"), *i = b.domain(ci, "ci");
  const Node *kh = b.domain(taps, "kh"), *kw = b.domain(taps, "kw");
  const Node* in = b.reduced(n, "n");
  const Node *h = b.reduced(out, "oh"), *v = b.reduced(out, "ow");
  ir::Arena& a = b.arena();
  const Node* xi = b.load(x, b.flat({in, i, a.add(h, kh), a.add(v, kw)}, {ci, size, size}));
  const Node* g = b.load(dy, b.flat({in, o, h, v}, {co, out, out}));
  const Node* s = b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {xi, g}), {in, h, v});
  b.store(dw, b.flat({o, i, kh, kw}, {ci, taps, taps}), s);
  return b.kernel;
}

Kernel batch_norm(int64_t n, int64_t c, int64_t pixels) {
  KernelBuilder b(fmt::format("batch_norm_n{}_c{}_p{}", n, c, pixels));
  const int x = b.buffer(DType::f32, n * c * pixels, true, false);
  const int gamma = b.buffer(DType::f32, c, true, false);
  const int y = b.buffer(DType::f32, n * c * pixels, false, true);
  const Node *in = b.domain(n, "n"), *ch = b.domain(c, "c"), *p = b.domain(pixels, "p");
  const Node *n1 = b.reduced(n, "n", 0), *p1 = b.reduced(pixels, "p", 2);
  const Node *n2 = b.reduced(n, "n", 0), *p2 = b.reduced(pixels, "p", 2);
  const auto at = [&](const Node* row, const Node* pixel) {
    return b.load(x, b.flat({row, ch, pixel}, {c, pixels}));
  };
  const Node* scale = b.f(1.0 / static_cast<double>(std::max<int64_t>(1, n * pixels)));
  const Node* mean = b.op(Op::MUL, {b.stage(ir::ReduceOp::sum, at(n1, p1), {n1, p1}), scale});
  const Node* d = b.op(Op::SUB, {at(n2, p2), mean});
  const Node* var =
      b.op(Op::MUL, {b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {d, d}), {n2, p2}), scale});
  const Node* sd = b.op(Op::SQRT, {b.op(Op::ADD, {var, b.f(1e-5)})});
  const Node* out = b.op(Op::FDIV, {b.op(Op::SUB, {at(in, p), mean}), sd});
  b.store(y, b.flat({in, ch, p}, {c, pixels}), b.op(Op::MUL, {out, b.load(gamma, ch)}));
  return b.kernel;
}

Kernel add(int64_t count, DType t) {
  KernelBuilder b(fmt::format("add_{}_{}", name(t), count));
  const int x = b.buffer(t, count, true, false), y = b.buffer(t, count, true, false);
  const int z = b.buffer(t, count, false, true);
  const Node* i = b.domain(count, "i");
  const Node *u = b.load(x, i), *v = b.load(y, i);
  const Node* sum = b.op(Op::ADD, {b.op(Op::MUL, {u, v}), v});
  b.store(z, i, b.op(Op::WHERE, {b.op(Op::CMPLT, {u, v}), b.op(Op::MAX, {sum, u}), sum}));
  return b.kernel;
}

Kernel full_sum(int64_t count, DType t) {
  KernelBuilder b(fmt::format("sum_{}_{}", name(t), count));
  const int x = b.buffer(t, count, true, false), z = b.buffer(t, 1, false, true);
  const Node* i = b.reduced(count, "i");
  b.store(z, b.i(0), b.stage(ir::ReduceOp::sum, b.load(x, i), {i}));
  return b.kernel;
}

Kernel column_sum(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("column_sum_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, columns, false, true);
  const Node* c = b.domain(columns, "c");
  const Node* r = b.reduced(rows, "r");
  b.store(z, c, b.stage(ir::ReduceOp::sum, b.load(x, b.flat({r, c}, {columns})), {r}));
  return b.kernel;
}

Kernel row_sum(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("row_max_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, rows, false, true);
  const Node* r = b.domain(rows, "r");
  const Node* c = b.reduced(columns, "c");
  b.store(z, r, b.stage(ir::ReduceOp::max, b.load(x, b.flat({r, c}, {columns})), {c}));
  return b.kernel;
}

Kernel transpose(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("transpose_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, rows * columns, false, true);
  const Node *r = b.domain(rows, "r"), *c = b.domain(columns, "c");
  b.store(z, b.flat({c, r}, {rows}), b.load(x, b.flat({r, c}, {columns})));
  return b.kernel;
}

Kernel gather(int64_t rows, int64_t width, int64_t picks) {
  KernelBuilder b(fmt::format("gather_r{}_w{}_p{}", rows, width, picks));
  const int id = b.buffer(DType::i64, picks, true, false);
  const int w = b.buffer(DType::f32, rows * width, true, false);
  const int z = b.buffer(DType::f32, picks * width, false, true);
  const Node *t = b.domain(picks, "t"), *e = b.domain(width, "e");
  const Node* row = b.load(id, t);
  ir::Arena& a = b.arena();
  const Node* valid = a.logical_and(a.lt(b.i(-1), row), a.lt(row, b.i(rows)));
  b.store(z, b.flat({t, e}, {width}), b.load(w, b.flat({row, e}, {width}), valid));
  return b.kernel;
}

Kernel scatter_add(int64_t rows, int64_t width, int64_t picks) {
  KernelBuilder b(fmt::format("scatter_r{}_w{}_p{}", rows, width, picks));
  const int id = b.buffer(DType::i64, picks, true, false);
  const int dy = b.buffer(DType::f32, picks * width, true, false);
  const int dw = b.buffer(DType::f32, rows * width, true, true);
  const Node *t = b.domain(picks, "t"), *e = b.domain(width, "e");
  const Node* row = b.load(id, t);
  ir::Arena& a = b.arena();
  const Node* valid = a.logical_and(a.lt(b.i(-1), row), a.lt(row, b.i(rows)));
  b.store(dw, b.flat({row, e}, {width}), b.load(dy, b.flat({t, e}, {width})), valid, true);
  b.piece().sequential = {0};
  return b.kernel;
}

Kernel adam(std::initializer_list<int64_t> sizes) {
  KernelBuilder b(fmt::format("adam_{}", sizes.size()));
  bool first = true;
  for (int64_t n : sizes) {
    if (!std::exchange(first, false)) b.next_piece();
    const int g = b.buffer(DType::f32, n, true, false), m = b.buffer(DType::f32, n, true, true);
    const int v = b.buffer(DType::f32, n, true, true), p = b.buffer(DType::f32, n, true, true);
    const Node* i = b.domain(n, "i");
    const Node* grad = b.load(g, i);
    const auto mix = [&](const Node* old, const Node* now, double keep) {
      return b.op(Op::ADD, {b.op(Op::MUL, {old, b.f(keep)}), b.op(Op::MUL, {now, b.f(1 - keep)})});
    };
    const Node* m1 = mix(b.load(m, i), grad, 0.9);
    const Node* v1 = mix(b.op(Op::ABS, {b.load(v, i)}), b.op(Op::MUL, {grad, grad}), 0.999);
    const Node* d = b.op(Op::ADD, {b.op(Op::SQRT, {v1}), b.f(1e-8)});
    const Node* step = b.op(Op::MUL, {b.op(Op::FDIV, {m1, d}), b.f(1e-3)});
    b.store(m, i, m1);
    b.store(v, i, v1);
    b.store(p, i, b.op(Op::SUB, {b.load(p, i), step}));
  }
  return b.kernel;
}

namespace {

/// Casts both ways, bit ops, divisions and comparisons of one integer type.
Kernel integer_ops(int64_t count, DType t) {
  KernelBuilder b(fmt::format("integers_{}_{}", name(t), count));
  const int x = b.buffer(t, count, true, false), y = b.buffer(t, count, true, false);
  const int z = b.buffer(t, count, false, true), fl = b.buffer(DType::f32, count, false, true);
  const int half = b.buffer(DType::f16, count, false, true);
  const Node* i = b.domain(count, "i");
  const Node *u = b.load(x, i), *v = b.load(y, i);
  const Node* q = b.op(Op::XOR, {b.op(Op::IDIV, {u, v}), b.op(Op::IMOD, {u, v})});
  const Node* s = b.op(Op::SUB, {b.op(Op::SHL, {u, v}), b.op(Op::SHR, {u, v})});
  const Node* m = b.op(Op::MAX, {b.op(Op::NEG, {u}), b.op(Op::AND, {u, b.op(Op::OR, {u, v})})});
  const Node* fd = b.op(Op::ADD, {b.op(Op::FLOORDIV, {u, v}), b.op(Op::FLOORMOD, {u, v})});
  const Node* all = b.op(Op::ADD, {b.op(Op::ADD, {q, s}), b.op(Op::ADD, {m, fd})});
  const Node* odd = b.op(Op::CAST, DType::boolean, {v});
  b.store(z, i, b.op(Op::WHERE, {odd, all, u}));
  b.store(fl, i, b.op(Op::CAST, DType::f32, {u}));
  b.store(half, i,
          b.op(Op::CAST, DType::f16, {b.op(Op::CAST, t, {b.op(Op::CAST, DType::f32, {v})})}));
  return b.kernel;
}

Kernel booleans(int64_t count) {
  KernelBuilder b(fmt::format("booleans_{}", count));
  const int x = b.buffer(DType::boolean, count, true, false);
  const int y = b.buffer(DType::f32, count, true, false);
  const int z = b.buffer(DType::boolean, count, false, true);
  const int u = b.buffer(DType::u8, count, false, true);
  const int any = b.buffer(DType::boolean, 1, false, true);
  const Node* i = b.domain(count, "i");
  const Node* flag = b.load(x, i);
  const Node* big = b.op(Op::CMPLT, {b.f(0.5), b.load(y, i)});
  const Node* both = b.op(Op::AND, {flag, big});
  b.store(z, i, b.op(Op::XOR, {both, b.op(Op::MAX, {flag, b.op(Op::CMPNE, {flag, big})})}));
  b.store(u, i, b.op(Op::CAST, DType::u8, {b.op(Op::CMPLT, {flag, big})}));
  b.next_piece();
  const Node* r = b.reduced(count, "r");
  b.store(any, b.i(0), b.stage(ir::ReduceOp::max, b.load(x, r), {r}));
  return b.kernel;
}

/// Strided and reversed reads, an index as a value, a division in an index, a padded read.
Kernel strange_indices(int64_t count) {
  KernelBuilder b(fmt::format("indices_{}", count));
  const int x = b.buffer(DType::f32, 3 * count, true, false);
  const int z = b.buffer(DType::f32, count, false, true);
  const Node* i = b.domain(count, "i");
  ir::Arena& a = b.arena();
  const Node* strided = b.load(x, a.mul(i, b.i(3)));
  const Node* reversed = b.load(x, a.sub(b.i(count - 1), i));
  const Node* divided = b.load(x, a.floordiv(i, b.i(3)));
  const Node* shifted = a.sub(i, b.i(2));
  const Node* padded = b.load(x, shifted, a.lt(b.i(-1), shifted));
  const Node* number = b.op(Op::CAST, DType::f32, {a.floormod(i, b.i(5))});
  const Node* s = b.op(Op::ADD, {strided, b.op(Op::MUL, {reversed, divided})});
  b.store(z, i, b.op(Op::ADD, {b.op(Op::SUB, {s, padded}), number}));
  return b.kernel;
}

/// A reduction inside another one's expression.
Kernel nested(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("nested_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, 1, false, true);
  const Node *r = b.reduced(rows, "r"), *c = b.reduced(columns, "c");
  const Node* least = b.stage(ir::ReduceOp::min, b.load(x, b.flat({r, c}, {columns})), {c});
  b.store(z, b.i(0), b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {least, least}), {r}));
  return b.kernel;
}

Kernel float_casts(int64_t count, DType from) {
  KernelBuilder b(fmt::format("casts_{}_{}", name(from), count));
  const int x = b.buffer(from, count, true, false);
  const Node* i = b.domain(count, "i");
  const Node* v = b.op(Op::MUL, {b.load(x, i), b.f(10, from)});
  for (int t = 0; t < kDTypeCount; ++t) {
    const DType to = static_cast<DType>(t);
    b.store(b.buffer(to, count, false, true), i, b.op(Op::CAST, to, {v}));
  }
  return b.kernel;
}

/// Rows are kept and read at an offset, beyond their ends too, and backwards.
Kernel kept_window(int64_t rows, int64_t columns, DType t) {
  KernelBuilder b(fmt::format("kept_window_{}_r{}_c{}", name(t), rows, columns));
  const int x = b.buffer(t, rows * columns, true, false);
  const int z = b.buffer(t, rows * columns, false, true);
  const Node *r = b.domain(rows, "r"), *c = b.domain(columns, "c");
  const Node *k = b.reduced(columns, "k"), *tap = b.reduced(3, "tap");
  const Node* v = b.load(x, b.flat({r, k}, {columns}));
  const int64_t row = b.keep(b.op(Op::MAX, {v, b.op(Op::MUL, {v, v})}), {k}, k, columns);
  ir::Arena& a = b.arena();
  const Node* at = a.add(c, a.sub(tap, b.i(1)));
  const Node* inside = a.logical_and(a.lt(b.i(-1), at), a.lt(at, b.i(columns)));
  const DType wide = t == DType::bf16 ? DType::f32 : t;
  const Node* taps = b.op(Op::CAST, wide, {b.kept(row, at, inside)});
  const Node* near = b.op(Op::CAST, t, {b.stage(ir::ReduceOp::max, taps, {tap})});
  const Node* back = b.kept(row, a.sub(b.i(columns - 1), c));
  b.store(z, b.flat({r, c}, {columns}), b.op(Op::WHERE, {a.lt(c, b.i(2)), near, back}));
  return b.kernel;
}

/// A matrix with two own axes a row block; kept as it is, read transposed and folded.
Kernel kept_matrix(int64_t blocks, int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("kept_matrix_n{}_r{}_c{}", blocks, rows, columns));
  const int x = b.buffer(DType::f32, blocks * rows * columns, true, false);
  const int z = b.buffer(DType::f32, blocks * columns * rows, false, true);
  const Node* n = b.domain(blocks, "n");
  const Node *c = b.domain(columns, "c"), *r = b.domain(rows, "r");
  const Node *i = b.reduced(rows, "i"), *j = b.reduced(columns, "j"), *k = b.reduced(rows, "k");
  const Node* v = b.op(Op::EXP, {b.load(x, b.flat({n, i, j}, {rows, columns}))});
  const int64_t e = b.keep(v, {i, j}, b.flat({i, j}, {columns}), rows * columns);
  const Node* sum = b.stage(ir::ReduceOp::sum, b.kept(e, b.flat({k, c}, {columns})), {k});
  const Node* mine = b.kept(e, b.flat({r, c}, {columns}));
  b.store(z, b.flat({n, c, r}, {columns, rows}), b.op(Op::FDIV, {mine, sum}));
  return b.kernel;
}

/// Nothing around the array: filled once, before all rows. Kept again, shifted, in a second one.
Kernel kept_once(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("kept_once_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, columns, true, false);
  const int y = b.buffer(DType::i32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, rows * columns, false, true);
  const Node *r = b.domain(rows, "r"), *c = b.domain(columns, "c");
  const Node *i = b.reduced(columns, "i"), *j = b.reduced(columns, "j");
  ir::Arena& a = b.arena();
  const int64_t first = b.keep(b.op(Op::MUL, {b.load(x, i), b.f(3)}), {i}, i, columns + 1);
  const Node* next = a.add(j, b.i(1));
  const Node* value = b.op(Op::SUB, {b.kept(first, next, a.lt(next, b.i(columns))), b.load(x, j)});
  const int64_t second = b.keep(value, {j}, a.add(j, b.i(2)), columns + 2);
  const Node* pick =
      a.floormod(b.op(Op::CAST, DType::i64, {b.load(y, b.flat({r, c}, {columns}))}), b.i(columns));
  const Node* s = b.op(Op::ADD, {b.kept(second, a.add(pick, b.i(2))), b.kept(first, c)});
  b.store(z, b.flat({r, c}, {columns}), s);
  return b.kernel;
}

/// One row an element of the domain, read at a place that depends on the element.
Kernel kept_diagonal(int64_t count, int64_t width) {
  KernelBuilder b(fmt::format("kept_diagonal_n{}_w{}", count, width));
  const int x = b.buffer(DType::f32, count * width, true, false);
  const int z = b.buffer(DType::f32, count, false, true);
  const Node *i = b.domain(count, "i"), *k = b.reduced(width, "k"), *j = b.reduced(width, "j");
  const Node* v = b.load(x, b.flat({i, k}, {width}));
  const int64_t row = b.keep(b.op(Op::MUL, {v, v}), {k}, k, width);
  const Node* most = b.stage(ir::ReduceOp::max, b.kept(row, j), {j});
  const Node* mine = b.kept(row, b.arena().floormod(i, b.i(width)));
  b.store(z, i, b.op(Op::SUB, {most, mine}));
  return b.kernel;
}

/// An array inside a reduction: one for each turn of it.
Kernel kept_inside(int64_t rows, int64_t columns) {
  KernelBuilder b(fmt::format("kept_inside_r{}_c{}", rows, columns));
  const int x = b.buffer(DType::f32, rows * columns, true, false);
  const int z = b.buffer(DType::f32, 1, false, true);
  const Node* r = b.reduced(rows, "r");
  const Node *c = b.reduced(columns, "c"), *d = b.reduced(columns, "d");
  const Node* v = b.load(x, b.flat({r, c}, {columns}));
  const int64_t row = b.keep(b.op(Op::MUL, {v, v}), {c}, c, columns);
  const Node* back = b.kept(row, b.arena().sub(b.i(columns - 1), d));
  const Node* sum = b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {back, b.kept(row, d)}), {d});
  b.store(z, b.i(0), b.stage(ir::ReduceOp::max, sum, {r}));
  return b.kernel;
}

}  // namespace

Kernel softmax_kept(int64_t rows, int64_t columns, DType t) {
  KernelBuilder b(fmt::format("softmax_kept_{}_r{}_c{}", name(t), rows, columns));
  const int x = b.buffer(t, rows * columns, true, false);
  const int out = b.buffer(t, rows * columns, false, true);
  const Node *r = b.domain(rows, "r"), *c = b.domain(columns, "c");
  const Node *c1 = b.reduced(columns, "c"), *c2 = b.reduced(columns, "c");
  const Node* c3 = b.reduced(columns, "c");
  const auto at = [&](const Node* column) { return b.load(x, b.flat({r, column}, {columns})); };
  const Node* m = b.stage(ir::ReduceOp::max, at(c1), {c1});
  const int64_t e = b.keep(b.op(Op::EXP, {b.op(Op::SUB, {at(c2), m})}), {c2}, c2, columns);
  const Node* s = b.stage(ir::ReduceOp::sum, b.kept(e, c3), {c3});
  b.store(out, b.flat({r, c}, {columns}), b.op(Op::FDIV, {b.kept(e, c), s}));
  return b.kernel;
}

Kernel attention(int64_t heads, int64_t queries, int64_t keys, int64_t width) {
  KernelBuilder b(fmt::format("attention_h{}_q{}_k{}_w{}", heads, queries, keys, width));
  const int q = b.buffer(DType::f32, heads * queries * width, true, false);
  const int k = b.buffer(DType::f32, heads * keys * width, true, false);
  const int v = b.buffer(DType::f32, heads * keys * width, true, false);
  const int o = b.buffer(DType::f32, heads * queries * width, false, true);
  const Node *h = b.domain(heads, "h"), *i = b.domain(queries, "i"), *d = b.domain(width, "d");
  const Node *w = b.reduced(width, "w"), *j0 = b.reduced(keys, "j"), *j1 = b.reduced(keys, "j");
  const Node *j2 = b.reduced(keys, "j"), *j3 = b.reduced(keys, "j"), *j4 = b.reduced(keys, "j");
  const Node* product = b.op(Op::MUL, {b.load(q, b.flat({h, i, w}, {queries, width})),
                                       b.load(k, b.flat({h, j0, w}, {keys, width}))});
  const Node* dot = b.stage(ir::ReduceOp::sum, product, {w});
  const int64_t s = b.keep(b.op(Op::MUL, {dot, b.f(0.125)}), {j0}, j0, keys);
  const Node* m = b.stage(ir::ReduceOp::max, b.kept(s, j1), {j1});
  const int64_t p = b.keep(b.op(Op::EXP, {b.op(Op::SUB, {b.kept(s, j2), m})}), {j2}, j2, keys);
  const Node* z = b.stage(ir::ReduceOp::sum, b.kept(p, j3), {j3});
  const Node* row = b.load(v, b.flat({h, j4, d}, {keys, width}));
  const Node* sum = b.stage(ir::ReduceOp::sum, b.op(Op::MUL, {b.kept(p, j4), row}), {j4});
  b.store(o, b.flat({h, i, d}, {queries, width}), b.op(Op::FDIV, {sum, z}));
  return b.kernel;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto take = [&](auto make, auto... args) {
    out.push_back({make(args...).name, [=] { return make(args...); }});
  };
  for (int64_t n : {1, 3, 7, 10, 17, 100}) {
    take(softmax, n, 10);
    take(softmax, 3, n);
    take(row_sum, 5, n);
    take(column_sum, n, 13);
    take(column_sum, 9, n);
    take(strange_indices, n);
    take(booleans, n);
    for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::u8})
      take(add, n, t);
    take(full_sum, n, DType::f32);
    take(full_sum, n, DType::i64);
    take(transpose, n, 7);
    take(gather, 11, n, 6);
    take(scatter_add, 4, n, 9);
    take(linear_relu, n, 10, 7, false, DType::f32);
    take(linear_relu, 7, n, 17, false, DType::f32);
    take(linear_relu, 10, 17, n, true, DType::f32);
    for (DType t : {DType::f32, DType::f64}) take(softmax_kept, 5, n, t);
    take(softmax_kept, n, 13, DType::f32);
    take(attention, 2, 5, n, 6);
    take(attention, 2, n, 7, 10);
    for (DType t : {DType::f32, DType::i32, DType::u8, DType::bf16}) take(kept_window, 5, n, t);
    take(kept_window, n, 10, DType::f32);
    take(kept_matrix, 3, n, 5);
    take(kept_matrix, 2, 6, n);
    take(kept_once, 5, n);
    take(kept_inside, 4, n);
    take(kept_diagonal, n, 5);
    take(kept_diagonal, 20, n);
  }
  take(linear_relu, 33, 40, 20, false, DType::f32);
  take(linear_relu, 33, 40, 20, true, DType::f16);
  for (DType t : {DType::u8, DType::u16, DType::u32, DType::u64, DType::i8, DType::i16, DType::i32,
                  DType::i64})
    take(integer_ops, 37, t);
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) take(float_casts, 21, t);
  take(conv, 2, 3, 4, 10, 3);
  take(conv, 2, 1, 7, 12, 5);
  take(conv_grad_input, 2, 3, 4, 10, 3);
  take(conv_grad_input, 1, 2, 3, 12, 5);
  take(conv_grad_weight, 3, 2, 4, 10, 3);
  take(batch_norm, 4, 3, 25);
  take(batch_norm, 2, 10, 8);
  take(nested, 5, 19);
  take([] { return adam({1, 10, 100, 17, 8}); });
  return out;
}

Target host_target() { return cpu::host_cpu_target(2); }

Target gfx_target(const std::string& arch) {
  const amd::Generation* generation = amd::find_generation(arch);
  CHECK_INVARIANT(generation, "no such chip: " + arch);
  return amd::amd_target(*generation, 96, 0);
}

Bytes make_buffers(const Kernel& k, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes out;
  for (const KernelBuffer& b : k.buffers) {
    std::vector<uint8_t> bytes(static_cast<size_t>(b.elements) * size_B(b.dtype));
    for (int64_t i = 0; i < b.elements; ++i) {
      const int64_t small = static_cast<int64_t>(random() % 14) - 2;
      ir::Scalar v{ir::wrap(b.dtype, small), static_cast<double>(random() % 1000) / 250.0 - 2.0};
      if (is_float(b.dtype)) v.real = ir::round_to(b.dtype, v.real);
      int64_t bits = v.integer;
      if (is_float(b.dtype)) {
        constexpr DType by_size[] = {DType::u8, DType::u16, DType::u32, DType::u64};
        int log = 0;
        while ((size_t{1} << log) < size_B(b.dtype)) ++log;
        bits = ir::evaluate(Op::BITCAST, b.dtype, by_size[log], {&v, 1}).integer;
      }
      std::memcpy(bytes.data() + static_cast<size_t>(i) * size_B(b.dtype), &bits, size_B(b.dtype));
    }
    out.push_back(std::move(bytes));
  }
  return out;
}

void run_binary(const Binary& binary, Bytes& buffers) {
  const HostCode code = load_host_code(ElfObject(binary.code));
  using Entry = void(const void*, const int64_t*, void*);
  auto* entry = reinterpret_cast<Entry*>(const_cast<void*>(code.symbol(binary.name)));
  std::vector<void*> kernarg;
  for (auto& b : buffers) kernarg.push_back(b.data());
  std::vector<uint8_t> scratch(binary.scratch_B + 2 * 64);
  const size_t start = -reinterpret_cast<uintptr_t>(scratch.data()) & 63;
  const int64_t groups = binary.groups[0].evaluate({});
  for (int64_t g = 0; g < groups; ++g) {
    std::fill(scratch.begin(), scratch.end(), uint8_t{0xa5});  // of no group's values
    const int64_t group[3] = {g, 0, 0};
    entry(kernarg.data(), group, scratch.data() + start);
    for (size_t i = 0; i < scratch.size(); ++i)
      if (i < start || i >= start + binary.scratch_B)
        CHECK_INVARIANT(scratch[i] == 0xa5, binary.name + " wrote outside its scratch memory");
  }
}

namespace {

double as_double(DType t, const uint8_t* p) {
  switch (t) {
    case DType::f32: {
      float v;
      std::memcpy(&v, p, 4);
      return static_cast<double>(v);
    }
    case DType::f64: {
      double v;
      std::memcpy(&v, p, 8);
      return v;
    }
    case DType::f16: {
      Half h;
      std::memcpy(&h, p, 2);
      return static_cast<double>(static_cast<float>(h));
    }
    default: {
      BFloat16 h;
      std::memcpy(&h, p, 2);
      return static_cast<double>(static_cast<float>(h));
    }
  }
}

bool close(DType t, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b) return true;
  const double tolerance = t == DType::f64   ? 1e-12
                           : t == DType::f32 ? 2e-5
                           : t == DType::f16 ? 2e-3
                                             : 2e-2;
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

std::string difference(const Kernel& k, const Bytes& expected, const Bytes& got) {
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    const DType t = k.buffers[b].dtype;
    for (size_t i = 0; i < static_cast<size_t>(k.buffers[b].elements); ++i) {
      const uint8_t* x = expected[b].data() + i * size_B(t);
      const uint8_t* y = got[b].data() + i * size_B(t);
      const bool same = is_float(t) ? close(t, as_double(t, x), as_double(t, y))
                                    : std::memcmp(x, y, size_B(t)) == 0;
      if (same) continue;
      if (is_float(t))
        return fmt::format("{}: buffer {} element {}: expected {}, got {}", k.name, b, i,
                           as_double(t, x), as_double(t, y));
      int64_t u = 0, v = 0;
      std::memcpy(&u, x, size_B(t));
      std::memcpy(&v, y, size_B(t));
      return fmt::format("{}: buffer {} element {}: expected {}, got {}", k.name, b, i, u, v);
    }
  }
  return {};
}

std::string check_compiled(const Kernel& reference, const Kernel& kernel,
                           const CompileOptions& options, uint64_t seed) {
  Bytes expected = make_buffers(reference, seed), got = expected;
  lower::interpret_kernel(reference, expected);
  const Target target = host_target();
  RenderedKernel rendered = render(kernel, target, options);
  const std::string text = rendered.text;
  run_binary(assemble(std::move(rendered), target), got);
  return difference(reference, expected, got);
}

}  // namespace tiny::test
