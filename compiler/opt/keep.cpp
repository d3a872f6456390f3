// SPDX-License-Identifier: MIT
#include "compiler/opt/keep.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/symbolic.h"
#include "compiler/opt/actions.h"

namespace tiny {

namespace {

using ir::Arena;
using ir::AxisSet;
using ir::Node;
using ir::Op;

/// Rows of an array that work-items share are this much longer than they need be: those that fill
/// it column by column then reach different banks of a GPU's local memory.
constexpr int64_t kRowPadding_B = 16;

const Axis& axis_of(const Piece& p, int a) { return p.axes[static_cast<size_t>(a)]; }

/// Loops around a stage's folding, outer to inner: those of the domain, then its own.
std::vector<int> loops_of(const Piece& p, const Stage& s) {
  std::vector<int> loops;
  for (const std::vector<int>* list : {&p.domain, &s.reduce_axes})
    for (int a : *list)
      if (axis_of(p, a).kind == AxisKind::loop || axis_of(p, a).kind == AxisKind::thread)
        loops.push_back(a);
  return loops;
}

/// The loop of this class around a stage's folding; -1: none.
int loop_of(const Piece& p, const Stage& s, int axis_class) {
  for (int a : loops_of(p, s))
    if (axis_of(p, a).axis_class == axis_class) return a;
  return -1;
}

/// Axes that walk one block: those of the read that are not around the loop.
struct Block {
  std::vector<int> axes;
  std::string problem;
};

Block block_of(const Piece& p, const Stage& s, int loop, const Node* read) {
  Block block;
  AxisSet around;
  bool inside = false;
  for (int a : loops_of(p, s)) {
    if (!inside || axis_of(p, a).kind == AxisKind::thread) around.add(a);
    inside |= a == loop;
  }
  for (int a : read->axes().list()) {
    if (!contains(p.domain, a) && !contains(s.reduce_axes, a))
      block.problem = "a read steps through an array";
    if (!around.has(a)) block.axes.push_back(a);
  }
  if (block.axes.empty()) block.problem = "nothing of the buffer is read twice";
  return block;
}

/// Outermost what steps farthest in the buffer, so that neighbours on the new axis read neighbours.
void sort_by_stride(Arena& arena, const Node* index, std::vector<int>* axes) {
  const auto stride = [&](int a) {
    const auto form = ir::linear_in(arena, index, a);
    return form ? std::abs(form->coefficient) : 0;
  };
  std::stable_sort(axes->begin(), axes->end(), [&](int x, int y) { return stride(x) > stride(y); });
}

/// Where each axis of the block steps in the array: lanes innermost, then what work-items and
/// copies of the body walk, in rows; outside the folded axes, a row each.
struct Layout {
  std::vector<std::pair<int, int64_t>> strides;
  int64_t elements = 1;
};

Layout layout_of(const Piece& p, const Stage& s, const std::vector<int>& axes, DType dtype) {
  const auto rank = [&](int a) {
    if (axis_of(p, a).kind == AxisKind::vector) return 0;
    if (contains(s.reduce_axes, a)) return 3;
    return axis_of(p, a).kind == AxisKind::local ? 1 : 2;
  };
  std::vector<int> inner_first(axes.rbegin(), axes.rend());
  std::stable_sort(inner_first.begin(), inner_first.end(),
                   [&](int x, int y) { return rank(x) < rank(y); });
  Layout layout;
  bool wants_padding = std::any_of(axes.begin(), axes.end(), [&](int a) { return rank(a) == 1; });
  for (int a : inner_first) {
    if (rank(a) == 3 && std::exchange(wants_padding, false))
      layout.elements += kRowPadding_B / static_cast<int64_t>(size_B(dtype));
    layout.strides.emplace_back(a, layout.elements);
    layout.elements *= axis_of(p, a).extent;
  }
  return layout;
}

/// Numbers of stages from `first` on go up by one, to make room.
void make_room(Arena& arena, Piece& p, int64_t first) {
  std::unordered_map<const Node*, const Node*> moved;
  const std::vector<const Node*> all = expressions(p);
  for (const Node* n : ir::topological_order(all)) {
    if (n->op() == Op::RANGE) continue;
    std::vector<const Node*> sources;
    bool changed = n->op() == Op::STAGE && n->arg().value >= first;
    for (const Node* source : n->sources()) {
      const auto it = moved.find(source);
      changed |= it != moved.end();
      sources.push_back(it == moved.end() ? source : it->second);
    }
    if (!changed) continue;
    ir::Arg arg = n->arg();
    if (n->op() == Op::STAGE && arg.value >= first) ++arg.value;
    moved.emplace(n, arena.make(n->op(), n->dtype(), std::move(sources), std::move(arg)));
  }
  for (const Node** place : expression_places(p))
    if (const auto it = moved.find(*place); it != moved.end()) *place = it->second;
}

/// One new axis over the whole block; each of the block's axes as a part of its position.
int open_axis(Arena& arena, Piece& p, const std::vector<int>& axes,
              std::unordered_map<const Node*, const Node*>* positions) {
  const int fresh = static_cast<int>(p.axes.size());
  Axis walk;
  walk.axis_class = next_class(p);
  walk.name = "keep";
  for (int a : axes) walk.extent *= axis_of(p, a).extent;
  walk.full = walk.extent;
  const Node* at = arena.range(fresh, walk.extent);
  int64_t inner = walk.extent;
  for (int a : axes) {
    const int64_t extent = axis_of(p, a).extent;
    inner /= extent;
    const Node* part =
        arena.floormod(arena.floordiv(at, arena.integer(inner)), arena.integer(extent));
    positions->emplace(arena.range(a, extent), ir::simplify(arena, part));
  }
  p.axes.push_back(walk);
  return fresh;
}

const Node* sum_of(Arena& arena, const Layout& layout, const Piece& p) {
  const Node* sum = arena.integer(0);
  for (const auto& [a, stride] : layout.strides)
    sum = arena.add(sum, arena.mul(arena.range(a, axis_of(p, a).extent), arena.integer(stride)));
  return ir::simplify(arena, sum);
}

/// Reads that are written as `read` are, in stages from `first` on, become reads of the array.
void keep_one(Arena& arena, Piece& p, size_t user, const Node* read, std::vector<int> axes) {
  sort_by_stride(arena, read->source(0), &axes);
  const Layout layout = layout_of(p, p.stages[user], axes, read->dtype());
  const Node* place = sum_of(arena, layout, p);
  std::unordered_map<const Node*, const Node*> positions;
  Stage array;
  array.placement = Placement::local;
  array.accumulator = read->dtype();
  array.elements = layout.elements;
  array.own_axes = {open_axis(arena, p, axes, &positions)};
  array.value = ir::simplify(arena, ir::substitute(arena, read, positions));
  array.index = ir::simplify(arena, ir::substitute(arena, place, positions));
  ir::Arg arg;
  arg.value = static_cast<int64_t>(user);
  for (int a : read->axes().list())
    if (!contains(axes, a)) arg.list.push_back(a);
  const Node* kept = arena.make(Op::STAGE, read->dtype(), {place}, std::move(arg));
  Stage& s = p.stages[user];
  s.value = ir::substitute(arena, s.value, {{read, kept}});
  p.stages.insert(p.stages.begin() + static_cast<std::ptrdiff_t>(user), std::move(array));
}

/// A read of the buffer that steps through the loop; nullptr: none (left).
const Node* find_read(const Stage& s, int64_t buffer, int loop) {
  const Node* list[] = {s.value};
  for (const Node* n : ir::topological_order(list))
    if (n->op() == Op::LOAD && n->arg().value == buffer && n->axes().has(loop)) return n;
  return nullptr;
}

}  // namespace

std::string keep_reads(Arena& arena, Piece& p, int axis_class, int64_t buffer) {
  bool any = false;
  for (size_t user = 0; user < p.stages.size(); ++user) {
    const int loop = loop_of(p, p.stages[user], axis_class);
    if (loop < 0 || p.stages[user].placement != Placement::reg) continue;
    while (const Node* read = find_read(p.stages[user], buffer, loop)) {
      const Block block = block_of(p, p.stages[user], loop, read);
      if (!block.problem.empty()) return block.problem;
      if (p.axes.size() >= AxisSet::kMaxAxes) return "too many axes";
      make_room(arena, p, static_cast<int64_t>(user));
      // Its own stages may have been renumbered within the read.
      keep_one(arena, p, user, find_read(p.stages[user], buffer, loop), block.axes);
      ++user;
      any = true;
    }
  }
  return any ? "" : "no fold inside a loop of this class reads the buffer";
}

}  // namespace tiny
