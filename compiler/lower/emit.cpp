// SPDX-License-Identifier: MIT
#include "compiler/lower/emit.h"

#include "compiler/lower/piece_emitter.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>

namespace tiny::lower {

PieceEmitter::PieceEmitter(const Kernel& kernel, const Piece& piece, const Target& target)
    : k_(kernel), p_(piece), t_(target), coordinate_(piece.axes.size(), 0) {
  for (size_t a = 0; a < p_.axes.size(); ++a) {
    if (p_.axes[a].kind == AxisKind::unroll) unroll_.add(static_cast<int64_t>(a));
    if (p_.axes[a].kind == AxisKind::vector) vector_.add(static_cast<int64_t>(a));
  }
  for (int a : p_.domain)
    if (kind(a) == AxisKind::unroll) tile_axes_.push_back(a);
  place_slots();
}

namespace {

/// Groups a thread axis is cut into, for each thread: the slower one then has less left to do.
constexpr int64_t kGroupsPerThread = 4;

}  // namespace

/// Into how many groups a thread axis is cut, beside the f_.groups of those before it. A GPU gives
/// each position its own work-item.
int64_t PieceEmitter::groups_of(int a) const {
  const int64_t extent = axis(a).extent;
  if (!t_.is_cpu) return extent;  // a position a work-item, or a group where items are numbered
  const int64_t wanted = kGroupsPerThread * std::max<int64_t>(1, t_.parallelism);
  const int64_t most = std::max<int64_t>(1, (wanted + f_.groups - 1) / f_.groups);
  const int64_t chunk = (extent + most - 1) / most;
  return chunk ? (extent + chunk - 1) / chunk : 1;
}

/// Work-items that have a position of their own in a loop nest.
int64_t PieceEmitter::items_of(const std::vector<int>& nest) const {
  int64_t items = 1;
  for (int a : nest)
    if (kind(a) == AxisKind::local) items *= axis(a).extent;
  return items;
}

/// A group has the items that its largest nest wants; the others leave some idle.
void PieceEmitter::number_items(Scope* root) {
  f_.items = items_of(p_.domain);
  for (const Stage& s : p_.stages)
    f_.items = std::max({f_.items, items_of(s.reduce_axes), items_of(s.own_axes)});
  if (!t_.is_cpu && !slots_.empty()) f_.items = std::max(f_.items, kWaveItems);
  if (f_.items > 1) f_.item = add_value({}, root);
}

/// This item's position on one of a nest's local axes, which number its items together.
Id PieceEmitter::item_position(int a, const std::vector<int>& nest) {
  int64_t inner = 1;
  for (size_t i = nest.size(); i-- > 0 && nest[i] != a;)
    if (kind(nest[i]) == AxisKind::local) inner *= axis(nest[i]).extent;
  const auto op = [&](Op o, Id x, int64_t y) {
    return alu(o, DType::i64, {x, index_constant(y)}, &scopes_.front(), true);
  };
  Id position = f_.item;
  if (inner > 1) position = op(Op::IDIV, position, inner);
  if (inner * axis(a).extent < f_.items) position = op(Op::IMOD, position, axis(a).extent);
  return position;
}

Function PieceEmitter::run() {
  scopes_.emplace_back();
  Scope* root = &scopes_.front();
  f_.group = add_value({}, root);
  number_items(root);
  for (int a : p_.domain) {
    if (kind(a) != AxisKind::thread) continue;
    thread_groups_[a] = std::max<int64_t>(1, groups_of(a));
    f_.groups *= thread_groups_[a];
  }
  domain(0, root, f_.group);
  f_.body = std::move(root->block);
  for (const auto& [number, id] : bases_) {
    if (number >= static_cast<int>(k_.buffers.size())) {
      const int64_t stage = number - static_cast<int>(k_.buffers.size());
      f_.locals.push_back({id, slots_.at(stage).offset_B});
      continue;
    }
    f_.buffers.push_back(number);
    f_.bases.push_back(id);
  }
  return std::move(f_);
}

bool emittable(Op op) {
  switch (op) {
    case Op::ABS:
    case Op::FLOOR:
    case Op::CEIL:
    case Op::ROUND:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
    case Op::MIN:
    case Op::CMPLE:
      return true;
    default:
      return ir::info(op).required;
  }
}

namespace {

/// What pieces with numbered items ask for; else whole waves, as many as the largest piece fills.
int64_t work_group_size(const LinearCode& code) {
  int64_t items = 1, numbered = 0;
  for (const Function& f : code.pieces) {
    items = std::max(items, f.groups);
    if (f.item < 0) continue;
    CHECK_INVARIANT(numbered == 0 || numbered == f.items, "pieces want groups of different sizes");
    numbered = f.items;
  }
  if (numbered) return numbered;
  return std::min(kMaxGroupItems, (items + kWaveItems - 1) / kWaveItems * kWaveItems);
}

}  // namespace

LinearCode emit(const Kernel& kernel, const Target& target) {
  LinearCode code;
  code.name = kernel.name;
  code.buffers = kernel.buffers;
  code.variables = kernel.variables;
  for (const Piece& p : kernel.pieces) code.pieces.push_back(PieceEmitter(kernel, p, target).run());
  if (!target.is_cpu) code.group_size = work_group_size(code);
  return code;
}

}  // namespace tiny::lower
