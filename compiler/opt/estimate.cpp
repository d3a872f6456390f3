// SPDX-License-Identifier: MIT
#include "compiler/opt/estimate.h"

#include <algorithm>
#include <map>

namespace tiny {

namespace {

using ir::Node;
using ir::Op;

/// In units of one addition.
double weight(const Node* n) {
  switch (n->op()) {
    case Op::EXP:
    case Op::EXP2:
    case Op::LOG:
    case Op::LOG2:
    case Op::SIN:
    case Op::COS:
    case Op::TANH:
    case Op::ERF:
      return 15;
    case Op::POW:
    case Op::FMOD:
    case Op::THREEFRY:
      return 40;
    case Op::FDIV:
    case Op::SQRT:
    case Op::IDIV:
    case Op::IMOD:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
      return 4;
    default:
      return 1;
  }
}

bool is_arithmetic(const Node* n) {
  const ir::OpKind k = ir::info(n->op()).kind;
  return k == ir::OpKind::unary || k == ir::OpKind::binary || k == ir::OpKind::compare ||
         k == ir::OpKind::ternary;
}

double volume(const Piece& p, const ir::AxisSet& axes) {
  double v = 1;
  for (int a : axes.list()) v *= static_cast<double>(p.axes[static_cast<size_t>(a)].extent);
  return v;
}

}  // namespace

double op_weight(const Node* n) { return is_arithmetic(n) ? weight(n) : 0; }

Work estimate(const Kernel& k, const Piece& p) {
  std::vector<const Node*> roots;
  Work w;
  std::map<int, double> touched;
  for (const Stage& s : p.stages) {
    roots.push_back(s.value);
    ir::AxisSet axes = s.value->axes();
    for (int a : s.reduce_axes) axes.add(a);
    for (int a : s.own_axes) axes.add(a);
    const double folds = volume(p, axes);
    w.cost += folds;
    if (s.placement == Placement::reg && is_float(s.accumulator)) w.flops += folds;
  }
  ir::AxisSet domain;
  for (int a : p.domain) domain.add(a);
  for (const Store& s : p.stores) {
    roots.insert(roots.end(), {s.index, s.value});
    if (s.valid) roots.push_back(s.valid);
    touched[s.buffer] += volume(p, domain);
    w.cost += volume(p, domain);
  }
  for (const Node* n : ir::topological_order(roots)) {
    const double times = volume(p, n->axes());
    if (n->op() == Op::LOAD) {
      touched[static_cast<int>(n->arg().value)] += times;
      w.cost += times;
    } else if (is_arithmetic(n)) {
      const bool floating = is_float(n->dtype()) || is_float(n->source(0)->dtype());
      if (floating && n->op() != Op::CAST && n->op() != Op::BITCAST && n->op() != Op::WHERE)
        w.flops += times;
      if (floating || n->dtype() != DType::i64) w.cost += times * weight(n);
    }
  }
  for (const auto& [b, count] : touched) {
    const KernelBuffer& buffer = k.buffers[static_cast<size_t>(b)];
    const double passes = buffer.read && buffer.written ? 2 : 1;
    w.bytes += std::min(count, passes * static_cast<double>(buffer.elements)) *
               static_cast<double>(size_B(buffer.dtype));
  }
  return w;
}

Work estimate(const Kernel& k) {
  Work total;
  for (const Piece& p : k.pieces) {
    const Work w = estimate(k, p);
    total.flops += w.flops;
    total.bytes += w.bytes;
    total.cost += w.cost;
  }
  return total;
}

}  // namespace tiny
