// SPDX-License-Identifier: MIT
#include "compiler/lower/piece_emitter.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <set>

namespace tiny::lower {
namespace {

/// Independent accumulators a reduction wants when its tile is small: latency 4, two units.
constexpr int64_t kChains = 8;
/// A local array has at least so many elements: a vector may be read at its start.
constexpr int64_t kLeastElements = 64;
constexpr int64_t kSlotAlign_B = 64;

}  // namespace

/// Positions on unrolled axes that some store needs: those of the tile are projected.
std::vector<std::vector<int64_t>> PieceEmitter::live_positions(const std::vector<int>& axes) const {
  std::set<std::vector<int64_t>> wanted;
  std::vector<std::pair<size_t, size_t>> shared;  // place in axes, place in tile_axes_
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < tile_axes_.size(); ++j)
      if (axes[i] == tile_axes_[j]) shared.emplace_back(i, j);
  for (const auto& p : live_) {
    std::vector<int64_t> projected;
    for (auto [i, j] : shared) projected.push_back(p[j]);
    wanted.insert(std::move(projected));
  }
  std::vector<std::vector<int64_t>> out;
  for (const auto& p : positions(axes)) {
    std::vector<int64_t> projected;
    for (auto [i, j] : shared) projected.push_back(p[i]);
    if (wanted.count(projected)) out.push_back(p);
  }
  return out;
}

void PieceEmitter::emit_stage(const Node* n, Scope* at) {
  const Stage& s = p_.stages[static_cast<size_t>(n->arg().value)];
  Scope* h = home(n, at);
  const std::vector<int64_t> saved = coordinate_;
  Folding fold;
  bool over_lanes = false, over_items = false;
  for (int a : (n->axes() & unroll_).list()) fold.axes.push_back(a);
  for (const auto& p : live_positions(fold.axes)) {
    move_to(fold.axes, p);
    if (!known(n, at, nullptr)) fold.positions.push_back(p);
  }
  int64_t copies = 1;
  for (int a : s.reduce_axes) {
    if (kind(a) == AxisKind::unroll) {
      fold.reduce_axes.push_back(a);
      copies *= axis(a).extent;
    } else if (kind(a) == AxisKind::vector) {
      over_lanes = true;
    } else {
      over_items |= kind(a) == AxisKind::local;
      fold.loops.push_back(a);
    }
  }
  const int64_t tile = static_cast<int64_t>(fold.positions.size());
  fold.chains = std::max<int64_t>(1, std::min(copies, kChains / std::max<int64_t>(tile, 1)));
  int lanes = lanes_of(s.value);
  for (int a : s.reduce_axes)
    if (kind(a) == AxisKind::vector) lanes = static_cast<int>(axis(a).extent);
  const int64_t chains = fold.chains;
  const auto places = fold.positions;
  const auto axes = fold.axes;
  std::vector<Id> carried(static_cast<size_t>(tile * chains), identity(s, lanes));
  folding_.push_back(std::move(fold));
  carried = reduce(s, 0, h, std::move(carried));
  folding_.pop_back();
  for (size_t j = 0; j < places.size(); ++j) {
    move_to(axes, places[j]);
    Id v = carried[j * static_cast<size_t>(chains)];
    for (int64_t c = 1; c < chains; ++c)
      v = alu(ir::fold_op(s.op), s.accumulator,
              {v, carried[j * static_cast<size_t>(chains) + static_cast<size_t>(c)]}, h);
    if (over_lanes && value(v).lanes > 1) v = folded(Code::fold, s, v, h);
    if (over_items) v = group_folded(s, v, h);
    remember(n, at, v);
  }
  coordinate_ = saved;
}

std::vector<Id> PieceEmitter::reduce(const Stage& s, size_t i, Scope* at, std::vector<Id> carried) {
  if (i == folding_.back().loops.size()) return reduce_body(s, at, std::move(carried));
  const int a = folding_.back().loops[i];
  const Body inside = [&](Scope* inner, const std::vector<Id>& current) {
    return reduce(s, i + 1, inner, current);
  };
  if (kind(a) == AxisKind::local)
    return at_position(a, at, item_position(a, s.reduce_axes), std::move(carried), inside);
  return all_turns(a, at, std::move(carried), inside);
}

/// The fold over what v has several of: its lanes, or the work-items of the group.
Id PieceEmitter::folded(Code code, const Stage& s, Id v, Scope* where) {
  Instruction i;
  i.code = code;
  i.op = ir::fold_op(s.op);
  i.args = {v};
  return push(where, std::move(i), s.accumulator, 1);
}

/// Work-items exchange scalars.
Id PieceEmitter::group_folded(const Stage& s, Id v, Scope* where) {
  const int lanes = value(v).lanes;
  if (const int64_t items = items_of(s.reduce_axes); items < f_.items) {
    const Id mine =
        alu(Op::CMPLT, DType::boolean, {f_.item, index_constant(items)}, &scopes_.front());
    v = alu(Op::WHERE, s.accumulator, {mine, v, identity(s, lanes)}, where);
  }
  if (lanes == 1) return folded(Code::group_fold, s, v, where);
  Instruction i;
  i.code = Code::pack;
  for (int k = 0; k < lanes; ++k)
    i.args.push_back(folded(Code::group_fold, s, extract(v, k), where));
  return push(where, std::move(i), s.accumulator, lanes);
}

std::vector<Id> PieceEmitter::reduce_body(const Stage& s, Scope* at, std::vector<Id> carried) {
  const Folding fold_now = folding_.back();  // a nested stage may grow the list
  size_t chain = 0;
  for (const auto& r : positions(fold_now.reduce_axes)) {
    for (size_t j = 0; j < fold_now.positions.size(); ++j) {
      move_to(fold_now.reduce_axes, r);
      move_to(fold_now.axes, fold_now.positions[j]);
      Id& acc = carried[j * static_cast<size_t>(fold_now.chains) + chain];
      acc = fold(s, acc, at);
    }
    chain = (chain + 1) % static_cast<size_t>(fold_now.chains);
  }
  return carried;
}

Id PieceEmitter::fold(const Stage& s, Id acc, Scope* at) {
  const Node* v = s.value;
  while (v->op() == Op::WHERE) {
    const auto c = decide(v->source(0), at);
    if (!c) break;
    v = v->source(*c ? 1 : 2);
  }
  if (s.op == ir::ReduceOp::sum && v->op() == Op::MUL && is_float(v->dtype()) &&
      !is_half(v->dtype())) {
    const Id a = eval(v->source(0), at), b = eval(v->source(1), at);
    return alu(Op::MULACC, s.accumulator, {a, b, acc}, at);
  }
  const Id x = eval(v, at);
  return alu(ir::fold_op(s.op), s.accumulator, {acc, x}, at);
}

// ---- stages in local memory

/// Arrays of all local stages that are read, one behind the other.
void PieceEmitter::place_slots() {
  for (const Node* n : ir::topological_order(expressions(p_))) {
    if (n->op() != Op::STAGE || n->sources().empty()) continue;
    auto [it, fresh] = slots_.try_emplace(n->arg().value);
    if (fresh)
      for (int64_t a : n->arg().list) it->second.around.add(a);
  }
  for (size_t id = 0; id < p_.stages.size(); ++id) {
    const auto it = slots_.find(static_cast<int64_t>(id));
    if (it == slots_.end()) continue;
    const Stage& s = p_.stages[id];
    Slot& slot = it->second;
    for (int a : slot.around.list()) {
      if (kind(a) == AxisKind::unroll) {
        slot.unrolled.push_back(a);
        slot.copies *= axis(a).extent;
      } else if (kind(a) == AxisKind::vector) {
        slot.lane_axis = a;
        slot.lanes = axis(a).extent;
      }
    }
    slot.copy_elements = s.elements * slot.lanes;
    slot.elements = std::max(kLeastElements, slot.copy_elements * slot.copies);
    slot.offset_B = f_.local_B;
    const int64_t size = slot.elements * static_cast<int64_t>(size_B(s.accumulator));
    f_.local_B += (size + kSlotAlign_B - 1) / kSlotAlign_B * kSlotAlign_B;
  }
}

int64_t PieceEmitter::copy_of(const Slot& slot) const {
  int64_t copy = 0;
  for (int a : slot.unrolled) copy = copy * axis(a).extent + coordinate_[static_cast<size_t>(a)];
  return copy;
}

Memory PieceEmitter::memory_of(const Slot& slot, int64_t stage) const {
  return {static_cast<int>(k_.buffers.size()) + static_cast<int>(stage),
          p_.stages[static_cast<size_t>(stage)].accumulator, slot.elements, slot.lanes,
          copy_of(slot) * slot.copy_elements};
}

Memory PieceEmitter::memory_of(const Node* n) const {
  if (n->op() == Op::LOAD) {
    const KernelBuffer& b = k_.buffers[static_cast<size_t>(n->arg().value)];
    return {static_cast<int>(n->arg().value), b.dtype, b.elements};
  }
  const Slot& slot = slots_.at(n->arg().value);
  Memory m = memory_of(slot, n->arg().value);
  if (lane_ >= 0 && slot.lane_axis >= 0) m.shift += lane_;
  return m;
}

void PieceEmitter::barrier(Scope* at) {
  Instruction i;
  i.code = Code::barrier;
  at->block.push_back(std::move(i));
}

/// Fills the array that n reads unless it is filled, in the block of the deepest loop around all
/// its readers. Between filling and reading an array all items of the group meet.
void PieceEmitter::fill(const Node* n, Scope* at) {
  const int64_t stage = n->arg().value;
  const Slot& slot = slots_.at(stage);
  Scope* h = home(slot.around, at);
  if (!h->filled.count({stage, copy_of(slot)})) {
    // Those of the same loop come along, so that one barrier does for all.
    for (const auto& [other, its] : slots_)
      if (other == stage || (f_.item >= 0 && its.around == slot.around)) fill_stage(other, h);
    CHECK_INVARIANT(h->filled.count({stage, copy_of(slot)}),
                    "a local stage was read at a position that nothing stores");
  }
  if (std::exchange(h->unshared, false)) barrier(resolve(h));
}

void PieceEmitter::fill_stage(int64_t stage, Scope* h) {
  const Slot& slot = slots_.at(stage);
  if (f_.item >= 0 && !std::exchange(h->fenced, true)) barrier(resolve(h));
  const int64_t lane = std::exchange(lane_, -1);
  const std::vector<int64_t> saved = coordinate_;
  std::vector<std::vector<int64_t>> missing;
  for (const auto& position : live_positions(slot.unrolled)) {
    move_to(slot.unrolled, position);
    if (h->filled.emplace(stage, copy_of(slot)).second) missing.push_back(position);
  }
  if (!missing.empty()) {
    fill_loops(stage, 0, missing, h);
    h->unshared = f_.item >= 0;
  }
  coordinate_ = saved;
  lane_ = lane;
}

void PieceEmitter::fill_loops(int64_t stage, size_t i,
                              const std::vector<std::vector<int64_t>>& copies, Scope* at) {
  const std::vector<int>& axes = p_.stages[static_cast<size_t>(stage)].own_axes;
  const auto walked = [&](int a) {
    return kind(a) == AxisKind::loop || kind(a) == AxisKind::local;
  };
  while (i < axes.size() && !walked(axes[i])) ++i;
  if (i == axes.size()) return fill_tile(stage, copies, at);
  const int a = axes[i];
  const Body inside = [&](Scope* inner, const std::vector<Id>&) {
    fill_loops(stage, i + 1, copies, inner);
    return std::vector<Id>{};
  };
  if (kind(a) == AxisKind::local)
    at_position(a, at, item_position(a, axes), {}, inside);
  else
    all_turns(a, at, {}, inside);
}

void PieceEmitter::fill_tile(int64_t stage, const std::vector<std::vector<int64_t>>& copies,
                             Scope* at) {
  const Stage& s = p_.stages[static_cast<size_t>(stage)];
  const Slot& slot = slots_.at(stage);
  std::vector<int> unrolled;
  int lane_axis = slot.lane_axis;
  for (int a : s.own_axes) {
    if (kind(a) == AxisKind::unroll) unrolled.push_back(a);
    if (kind(a) == AxisKind::vector) lane_axis = a;
  }
  struct Ready {
    const std::vector<int64_t>*copy, *own;
    Id value;
  };
  std::vector<Ready> ready;
  const std::vector<std::vector<int64_t>> own_positions = positions(unrolled);
  for (const auto& own : own_positions) {
    move_to(unrolled, own);
    if (s.valid && decide(s.valid, at) == false) continue;
    for (const auto& copy : copies) {
      move_to(slot.unrolled, copy);
      ready.push_back({&copy, &own, eval(s.value, at)});
    }
  }
  std::vector<PendingStore> stores;
  for (const Ready& r : ready) {
    move_to(slot.unrolled, *r.copy);
    move_to(unrolled, *r.own);
    prepare({memory_of(slot, stage), s.index, s.valid, false, lane_axis}, r.value, at, stores);
  }
  commit_once(stores, s.own_axes, at);
}

}  // namespace tiny::lower
