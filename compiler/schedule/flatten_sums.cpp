// SPDX-License-Identifier: MIT
#include "compiler/schedule/flatten_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace tiny {
namespace {

using ir::Arena;
using ir::Node;
using ir::Op;

/// How many places read each node.
std::unordered_map<const Node*, int> reader_counts(const Piece& piece) {
  std::unordered_map<const Node*, int> count;
  const std::vector<const Node*> roots = expressions(piece);
  for (const Node* root : roots) ++count[root];
  for (const Node* n : ir::topological_order(roots))
    for (const Node* source : n->sources()) ++count[source];
  return count;
}

bool is_zero(const Node* n) {
  return n->is_const() && (is_float(n->dtype()) ? n->arg().real == 0 && !std::signbit(n->arg().real)
                                                : n->arg().value == 0);
}

/// `value` as (condition ? STAGE : 0), or STAGE alone with no condition.
struct Addend {
  const Node* stage;
  const Node* condition;
};
std::optional<Addend> addend_of(const Node* value) {
  const auto in_register = [](const Node* n) {
    return n->op() == Op::STAGE && n->sources().empty();
  };
  if (in_register(value)) return Addend{value, nullptr};
  if (value->op() != Op::WHERE || !is_zero(value->source(2))) return {};
  const Node* inner = value->source(1);
  return in_register(inner) ? std::optional(Addend{inner, value->source(0)}) : std::nullopt;
}

/// One merge, if there is one to make; the inner stage stays behind without readers.
bool merge_one(Arena& arena, Piece& piece) {
  const auto readers = reader_counts(piece);
  for (Stage& outer : piece.stages) {
    const std::optional<Addend> addend = addend_of(outer.value);
    if (outer.placement != Placement::reg || outer.op != ir::ReduceOp::sum || !addend) continue;
    const Stage& inner = piece.stages[size_t(addend->stage->arg().value)];
    if (inner.op != ir::ReduceOp::sum || inner.accumulator != outer.accumulator) continue;
    if (readers.at(addend->stage) != 1 || readers.at(outer.value) != 1) continue;
    outer.value = addend->condition
                      ? arena.where(addend->condition, inner.value, outer.value->source(2))
                      : inner.value;
    outer.reduce_axes.insert(outer.reduce_axes.end(), inner.reduce_axes.begin(),
                             inner.reduce_axes.end());
    return true;
  }
  return false;
}

void renumber(Arena& arena, Piece& piece, const std::unordered_map<int64_t, int64_t>& ids) {
  std::unordered_map<const Node*, const Node*> moved;
  for (const Node* n : ir::topological_order(expressions(piece))) {
    std::vector<const Node*> sources;
    for (const Node* source : n->sources()) sources.push_back(moved.at(source));
    ir::Arg arg = n->arg();
    if (n->op() == Op::STAGE) {
      arg.value = ids.at(arg.value);
      moved[n] = arena.make(Op::STAGE, n->dtype(), std::move(sources), std::move(arg));
      continue;
    }
    const bool same = std::equal(sources.begin(), sources.end(), n->sources().begin());
    moved[n] = same ? n : arena.build(n->op(), n->dtype(), std::move(sources), std::move(arg));
  }
  for (const Node** place : expression_places(piece)) *place = moved.at(*place);
}

/// Drops stages nobody reads. Axes that no stage folds any more stay in the table, unused.
void drop_unread(Arena& arena, Piece& piece) {
  std::vector<char> read(piece.stages.size(), 0);
  std::vector<const Node*> roots;
  for (const Store& store : piece.stores) {
    roots.push_back(store.index);
    roots.push_back(store.value);
    if (store.valid) roots.push_back(store.valid);
  }
  for (size_t id = piece.stages.size() + 1; id-- > 0;) {  // stores, then stages from last to first
    for (const Node* n : ir::topological_order(roots))
      if (n->op() == Op::STAGE) read[size_t(n->arg().value)] = 1;
    roots.clear();
    if (id > 0 && read[id - 1]) roots.push_back(piece.stages[id - 1].value);
  }
  std::vector<Stage> kept;
  std::unordered_map<int64_t, int64_t> ids;
  for (size_t id = 0; id < piece.stages.size(); ++id) {
    if (!read[id]) continue;
    ids[int64_t(id)] = int64_t(kept.size());
    kept.push_back(std::move(piece.stages[id]));
  }
  piece.stages = std::move(kept);
  renumber(arena, piece, ids);
}

}  // namespace

void flatten_sums(Arena& arena, Piece& piece) {
  bool merged = false;
  while (merge_one(arena, piece)) merged = true;
  if (merged) drop_unread(arena, piece);
}

}  // namespace tiny
