// SPDX-License-Identifier: MIT
#include "compiler/schedule/index_map.h"

#include <rt_tiny/runtime/base/error.h>
#include "compiler/ir/symbolic.h"

namespace tiny {
namespace {

using ir::Arena;
using ir::Node;
using ir::Op;
using ir::Shape;

/// Axes [a, a_end) of the one shape hold the same elements in the same order as [b, b_end) of the
/// other.
struct AxisGroup {
  size_t a, a_end, b, b_end;
};

/// The finest partition of a reshape: digits of one group never mix with another's.
std::vector<AxisGroup> reshape_groups(const Shape& a, const Shape& b) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    AxisGroup group{i, i, j, j};
    int64_t pa = i < a.size() ? a[i++] : 1, pb = j < b.size() ? b[j++] : 1;
    while (pa != pb) {
      if (pa < pb)
        pa *= a[i++];
      else
        pb *= b[j++];
    }
    group.a_end = i;
    group.b_end = j;
    groups.push_back(group);
  }
  return groups;
}

const Node* flatten(Arena& arena, std::span<const int64_t> shape,
                    std::span<const Node* const> index) {
  const Node* flat = arena.integer(0);
  for (size_t i = 0; i < shape.size(); ++i)
    flat = arena.add(arena.mul(flat, arena.integer(shape[i])), index[i]);
  return ir::simplify(arena, flat);
}

void unflatten(Arena& arena, std::span<const int64_t> shape, const Node* flat, const Node** index) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const Node* digit = arena.floordiv(flat, arena.integer(stride));
    if (i > 0) digit = arena.floormod(digit, arena.integer(shape[i]));
    index[i] = shape[i] == 1 ? arena.integer(0) : ir::simplify(arena, digit);
    stride *= shape[i];
  }
}

void reshape(Arena& arena, const Shape& from, const Shape& to, const Position& at, Position& out) {
  out.index.resize(from.size());
  if (ir::element_count(from) == 0) {  // nothing is ever read; any in-range-looking index does
    for (const Node*& index : out.index) index = arena.integer(0);
    return;
  }
  for (const AxisGroup& g : reshape_groups(from, to)) {
    const std::span source(from.data() + g.a, g.a_end - g.a);
    const std::span result(to.data() + g.b, g.b_end - g.b);
    const std::span index(at.index.data() + g.b, g.b_end - g.b);
    if (source.size() == 1 && result.size() == 1)
      out.index[g.a] = index[0];
    else
      unflatten(arena, source, flatten(arena, result, index), out.index.data() + g.a);
  }
}

/// (x - shift) / step where that is whole and in [0, extent); returns the condition or nullptr.
const Node* divide_back(Arena& arena, const Node* x, const Node* shift, int64_t step,
                        int64_t extent, const Node** quotient) {
  const Node* offset = ir::simplify(arena, arena.sub(x, shift));
  const Node* whole = nullptr;
  if (step != 1) whole = arena.eq(arena.floormod(offset, arena.integer(step)), arena.integer(0));
  *quotient = ir::simplify(arena, arena.floordiv(offset, arena.integer(step)));
  const Node* not_below = arena.lt(arena.integer(-1), offset);
  const Node* not_above = arena.lt(*quotient, arena.integer(extent));
  return both(arena, whole, both(arena, not_below, not_above));
}

}  // namespace

const Node* both(Arena& arena, const Node* a, const Node* b) {
  if (a) a = ir::simplify(arena, a);
  if (b) b = ir::simplify(arena, b);
  if (a && a->is_int_const(1)) a = nullptr;
  if (b && b->is_int_const(1)) b = nullptr;
  if (!a || !b || a == b) return a ? a : b;
  return arena.logical_and(a, b);
}

const Node* flat_index(Arena& arena, const Shape& shape, std::span<const Node* const> index) {
  return flatten(arena, shape, index);
}

SourcePosition source_position(Arena& arena, const Node* node, const Position& at) {
  const Shape& from = node->source(0)->shape();
  const std::vector<int64_t>& list = node->arg().list;
  const size_t rank = from.size();
  SourcePosition out{{{}, at.valid}, nullptr};
  std::vector<const Node*>& index = out.at.index;
  auto constrain = [&](const Node* condition) { out.inside = both(arena, out.inside, condition); };
  switch (node->op()) {
    case Op::RESHAPE:
      reshape(arena, from, node->shape(), at, out.at);
      break;
    case Op::PERMUTE:
      index.resize(rank);
      for (size_t i = 0; i < rank; ++i) index[list[i]] = at.index[i];
      break;
    case Op::EXPAND:
      index = at.index;
      for (size_t i = 0; i < rank; ++i)
        if (from[i] == 1) index[i] = arena.integer(0);
      break;
    case Op::SHRINK:
      for (size_t i = 0; i < rank; ++i)
        index.push_back(
            ir::simplify(arena, arena.add(arena.mul(at.index[i], arena.integer(list[2 * rank + i])),
                                          arena.integer(list[i]))));
      break;
    case Op::PAD:
      index.resize(rank);
      for (size_t i = 0; i < rank; ++i)
        constrain(divide_back(arena, at.index[i], arena.integer(list[i]), list[2 * rank + i] + 1,
                              from[i], &index[i]));
      break;
    case Op::FLIP:
      index = at.index;
      for (size_t i = 0; i < rank; ++i)
        if (list[i])
          index[i] = ir::simplify(arena, arena.sub(arena.integer(from[i] - 1), at.index[i]));
      break;
    case Op::WINDOW: {
      const size_t axis = size_t(node->arg().value);
      index = at.index;
      index.erase(index.begin() + long(axis) + 1);
      index[axis] =
          ir::simplify(arena, arena.add(arena.mul(at.index[axis], arena.integer(list[1])),
                                        arena.mul(at.index[axis + 1], arena.integer(list[2]))));
      break;
    }
    case Op::UNWINDOW: {
      const size_t axis = size_t(node->arg().value);
      index = at.index;
      const Node* shift = arena.mul(at.index[axis + 1], arena.integer(list[2]));
      constrain(divide_back(arena, at.index[axis], shift, list[1], from[axis], &index[axis]));
      break;
    }
    default:
      CHECK_INVARIANT(false, "not a movement op: " + std::string(ir::info(node->op()).name));
  }
  out.at.valid = both(arena, at.valid, out.inside);
  return out;
}

}  // namespace tiny
