// SPDX-License-Identifier: MIT
#include "compiler/schedule/classes.h"

#include "compiler/ir/symbolic.h"

#include <algorithm>
#include <unordered_set>

namespace tiny {
namespace {

using ir::Arena;
using ir::Node;
using ir::Op;

std::vector<const Node*> loads_of(std::span<const Node* const> roots) {
  std::vector<const Node*> loads;
  for (const Node* n : ir::topological_order(roots))
    if (n->op() == Op::LOAD) loads.push_back(n);
  return loads;
}

/// Axes already classed, with the loads seen so far.
class Classes {
 public:
  Classes(Arena& arena, Piece& piece) : arena_(arena), piece_(piece) {}

  void run() {
    for (const int axis : piece_.domain) open(axis);
    std::vector<const Node*> stored;
    for (const Store& store : piece_.stores) stored.push_back(store.value);
    learn(stored);
    for (size_t i = piece_.stages.size(); i-- > 0;) class_stage(piece_.stages[i]);
  }

 private:
  static const std::vector<int>& loops_of(const Stage& stage) {
    return stage.placement == Placement::local ? stage.own_axes : stage.reduce_axes;
  }

  void open(int axis) {
    piece_.axes[axis].axis_class = next_++;
    classed_.push_back(axis);
  }

  void learn(std::span<const Node* const> values) {
    for (const Node* load : loads_of(values)) known_.insert(load);
  }

  /// Every reduce axis replaced by a classed axis: does some load become a known one?
  void class_stage(const Stage& stage) {
    const std::vector<const Node*> loads = loads_of(std::span(&stage.value, 1));
    for (const int axis : loops_of(stage)) {
      const int partner = partner_of(axis, stage, loads);
      if (partner < 0)
        open(axis);
      else {
        piece_.axes[axis].axis_class = piece_.axes[partner].axis_class;
        classed_.push_back(axis);
      }
    }
    learn(std::span(&stage.value, 1));
  }

  int partner_of(int axis, const Stage& stage, std::span<const Node* const> loads) {
    const int64_t extent = piece_.axes[axis].extent;
    const Node* range = arena_.range(axis, extent);
    for (const int other : classed_) {
      if (piece_.axes[other].extent != extent || stage.value->axes().has(other)) continue;
      for (const Node* load : loads) {
        if (!load->axes().has(axis)) continue;
        if (known_.contains(ir::substitute(arena_, load, {{range, arena_.range(other, extent)}})))
          return other;
      }
    }
    return -1;
  }

  Arena& arena_;
  Piece& piece_;
  int next_ = 0;
  std::vector<int> classed_;
  std::unordered_set<const Node*> known_;
};

}  // namespace

void assign_axis_classes(Arena& arena, Piece& piece) { Classes(arena, piece).run(); }

}  // namespace tiny
