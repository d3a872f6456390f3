// SPDX-License-Identifier: MIT
#include "compiler/schedule/split_reduce.h"

#include <algorithm>
#include <unordered_map>

namespace tiny {
namespace {

using ir::Arena;
using ir::Node;
using ir::Op;
using ir::Shape;

constexpr int64_t kLong = 1 << 15;  // elements folded into one; below it a second launch costs more
constexpr int64_t kMaxPartials = 256;

/// The largest divisor of n up to kMaxPartials; 1 if n has none above 1.
int64_t partial_count(int64_t n) {
  for (int64_t d = std::min(kMaxPartials, n / 2); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

/// x reshaped so that axis `axis` becomes (outer, inner).
const Node* split_axis(Arena& arena, const Node* x, size_t axis, int64_t outer) {
  Shape shape = x->shape();
  shape[axis] /= outer;
  shape.insert(shape.begin() + long(axis), outer);
  return arena.make(Op::RESHAPE, x->dtype(), {x}, {.list = shape});
}

/// `reduce` over source `x` in two steps, or nullptr where that would not help.
const Node* split(Arena& arena, const Node* reduce, const Node* x, const Target& target) {
  const int64_t results = ir::element_count(reduce->shape());
  const int64_t elements = ir::element_count(x->shape());
  if (results >= int64_t(target.parallelism) || results == 0 || elements / results < kLong)
    return nullptr;
  std::vector<int64_t> axes = reduce->arg().list;
  const size_t axis = size_t(axes[0]);
  const int64_t extent = x->shape()[axis];
  const int64_t outer = axes.size() > 1 && extent <= kMaxPartials ? extent : partial_count(extent);
  if (outer <= 1) return nullptr;
  // Axis `axis` becomes (axis: outer, axis + 1: inner); all but the outer part is folded first.
  const Node* parts = split_axis(arena, x, axis, outer);
  std::vector<int64_t> inner{int64_t(axis) + 1};
  for (size_t i = 1; i < axes.size(); ++i) inner.push_back(axes[i] + 1);
  const Node* partial =
      arena.make(Op::REDUCE, x->dtype(), {parts}, {.value = reduce->arg().value, .list = inner});
  return arena.make(Op::REDUCE, x->dtype(), {partial},
                    {.value = reduce->arg().value, .list = {int64_t(axis)}});
}

}  // namespace

void split_long_reductions(ImportedGraph& graph, const Target& target) {
  std::unordered_map<const Node*, const Node*> mapped;
  for (const Node* n : ir::topological_order(graph.roots)) {
    std::vector<const Node*> sources;
    for (const Node* source : n->sources()) sources.push_back(mapped.at(source));
    const Node* replacement = nullptr;
    if (n->op() == Op::REDUCE && n->dtype() != DType::f16 &&
        n->dtype() != DType::bf16)  // partials keep full width
      replacement = split(*graph.arena, n, sources[0], target);
    if (!replacement)
      replacement = graph.arena->make(n->op(), n->dtype(), std::move(sources), n->arg());
    mapped[n] = replacement;
  }
  for (const Node*& root : graph.roots) root = mapped.at(root);
}

}  // namespace tiny
