// SPDX-License-Identifier: MIT
#include "compiler/ir/verify.h"

#include <rt_tiny/runtime/base/error.h>

#include "compiler/ir/text.h"

namespace tiny::ir {

namespace {

AxisSet axes_of(const Node* n) {
  AxisSet axes;
  if (n->op() == Op::RANGE) axes.add(n->arg().value);
  if (n->op() == Op::STAGE)
    for (int64_t a : n->arg().list) axes.add(a);
  for (const Node* s : n->sources()) axes = axes | s->axes();
  return axes;
}

std::string complaint(const Node* n) {
  if (std::string why = broken_rule(n->op(), n->dtype(), n->sources()); !why.empty()) return why;
  if (std::string why = broken_shape(n->op(), n->sources(), n->arg()); !why.empty()) return why;
  if (n->shape() != infer_shape(n->op(), n->sources(), n->arg()))
    return "shape is not its sources'";
  if (!(n->interval() == infer_interval(n->op(), n->dtype(), n->sources(), n->arg())))
    return "interval is not its sources'";
  if (!(n->axes() == axes_of(n))) return "axes are not its sources'";
  if (n->is_const() && !(normal_constant(n->dtype(), n->arg()) == n->arg()))
    return "constant is not in normal form";
  if (n->interval().lo > n->interval().hi) return "empty interval";
  return {};
}

/// One extent an axis: two RANGEs of one axis must agree.
std::string axis_conflict(std::span<const Node* const> order) {
  const Node* seen[AxisSet::kMaxAxes] = {};
  for (const Node* n : order) {
    if (n->op() != Op::RANGE) continue;
    const Node*& first = seen[n->arg().value];
    if (first && first->arg().list != n->arg().list)
      return "one axis with two extents:\n" + print(first) + print(n);
    first = n;
  }
  return {};
}

}  // namespace

std::string find_broken(std::span<const Node* const> roots) {
  const auto order = topological_order(roots);
  for (const Node* n : order)
    if (const std::string why = complaint(n); !why.empty()) return why + "\n" + print(n);
  return axis_conflict(order);
}

void verify(std::span<const Node* const> roots) {
  const std::string broken = find_broken(roots);
  CHECK_INVARIANT(broken.empty(), "[verify] " + broken);
}

void verify(const Node* root) {
  const Node* roots[] = {root};
  verify(roots);
}

}  // namespace tiny::ir
