// SPDX-License-Identifier: MIT
#include "compiler/lower/piece_emitter.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace tiny::lower {

/// Whole positions first, then the ragged rest, where guards are evaluated.
std::vector<Segment> PieceEmitter::segments(int a) const {
  const Axis& x = axis(a);
  const int64_t full = x.full < 0 ? x.extent : std::min(x.full, x.extent);
  std::vector<Segment> out;
  if (full > 0) out.push_back({0, full});
  if (full < x.extent) out.push_back({full, x.extent});
  return out;
}

std::vector<Id> PieceEmitter::turn_once(int a, Scope* parent, int64_t at,
                                        const std::vector<Id>& carried, const Body& body) {
  Scope& s = scopes_.emplace_back();
  s.parent = parent;
  s.axis = a;
  s.depth = parent->depth + 1;
  s.fixed = true;
  s.lo = s.hi = at;
  std::vector<Id> next = body(&s, carried);
  std::move(s.block.begin(), s.block.end(), std::back_inserter(parent->block));
  s.block.clear();
  s.joined = parent;
  return next;
}

std::vector<Id> PieceEmitter::loop(int a, Scope* parent, const Segment& seg,
                                   std::vector<Id> carried, const Body& body) {
  if (seg.begin < 0 && seg.hi == seg.lo + 1) return turn_once(a, parent, seg.lo, carried, body);
  Scope& s = scopes_.emplace_back();
  s.parent = parent;
  s.axis = a;
  s.depth = parent->depth + 1;
  s.lo = seg.lo;
  s.hi = seg.hi - 1;
  auto l = std::make_unique<Loop>();
  l->nonempty = seg.begin < 0;
  l->begin = seg.begin < 0 ? index_constant(seg.lo) : seg.begin;
  l->end = seg.end < 0 ? index_constant(seg.hi) : seg.end;
  l->index = s.index = add_value({}, &s);
  std::vector<Id> current;
  for (Id init : carried) {
    current.push_back(add_value(value(init), &s));
    f_.values.back().kind = LinearValue::Kind::computed;
  }
  const std::vector<Id> next = body(&s, current);
  std::vector<Id> results;
  for (size_t i = 0; i < carried.size(); ++i) {
    results.push_back(add_value(value(current[i]), parent));
    l->carried.push_back(
        {carried[i], current[i], splat(next[i], value(current[i]).lanes), results[i]});
  }
  l->body = std::move(s.block);
  s.block.clear();
  Instruction i;
  i.code = Code::loop;
  i.loop = std::move(l);
  parent->block.push_back(std::move(i));
  return results;
}

std::vector<Id> PieceEmitter::all_turns(int a, Scope* parent, std::vector<Id> carried,
                                        const Body& body) {
  for (const Segment& seg : segments(a)) carried = loop(a, parent, seg, std::move(carried), body);
  return carried;
}

void PieceEmitter::domain(size_t i, Scope* at, Id group) {
  if (i == p_.domain.size()) return tile(at);
  const int a = p_.domain[i];
  if (kind(a) == AxisKind::unroll || kind(a) == AxisKind::vector) return domain(i + 1, at, group);
  if (kind(a) == AxisKind::thread) return thread_loop(i, at, group);
  if (kind(a) == AxisKind::local) return place(i, at, item_position(a, p_.domain), group);
  all_turns(a, at, {}, [&](Scope* s, const std::vector<Id>&) {
    domain(i + 1, s, group);
    return std::vector<Id>{};
  });
}

/// Group g runs positions [g*chunk, (g+1)*chunk), cut at the axis's end.
void PieceEmitter::thread_loop(size_t i, Scope* at, Id group) {
  const int a = p_.domain[i];
  const int64_t groups = thread_groups_.at(a), extent = axis(a).extent;
  const int64_t chunk = (extent + groups - 1) / groups;
  int64_t inner = 1;  // groups of the thread axes further in
  for (size_t j = i + 1; j < p_.domain.size(); ++j)
    if (kind(p_.domain[j]) == AxisKind::thread) inner *= thread_groups_.at(p_.domain[j]);
  const auto op = [&](Op o, Id x, int64_t y, bool plain = false) {
    return alu(o, DType::i64, {x, index_constant(y)}, &scopes_.front(), plain);
  };
  Id mine = group;
  if (inner > 1) {
    mine = op(Op::IDIV, group, inner, true);
    group = op(Op::IMOD, group, inner, true);
  } else {
    group = index_constant(0);  // all further thread axes are in one piece
  }
  if (!t_.is_cpu) return place(i, at, mine, group);
  const Id begin = op(Op::MUL, mine, chunk);
  const Id end = op(Op::MIN, op(Op::ADD, begin, chunk), extent);
  const auto body = [&](Scope* s, const std::vector<Id>&) {
    domain(i + 1, s, group);
    return std::vector<Id>{};
  };
  for (Segment seg : segments(a)) {
    seg.begin = seg.lo == 0 ? begin : op(Op::MAX, begin, seg.lo);
    seg.end = seg.hi == extent ? end : op(Op::MIN, end, seg.hi);
    loop(a, at, seg, {}, body);
  }
}

/// A work-item has one position of an axis that it shares with others: no loop, and ragged ends are
/// guarded.
std::vector<Id> PieceEmitter::at_position(int a, Scope* at, Id position, std::vector<Id> carried,
                                          const Body& body) {
  Scope& s = scopes_.emplace_back();
  s.parent = at;
  s.axis = a;
  s.depth = at->depth + 1;
  s.lo = 0;
  s.hi = axis(a).extent - 1;
  s.index = position;
  std::vector<Id> next = body(&s, carried);
  std::move(s.block.begin(), s.block.end(), std::back_inserter(at->block));
  s.block.clear();
  s.joined = at;
  return next;
}

void PieceEmitter::place(size_t i, Scope* at, Id position, Id group) {
  at_position(p_.domain[i], at, position, {}, [&](Scope* s, const std::vector<Id>&) {
    domain(i + 1, s, group);
    return std::vector<Id>{};
  });
}

std::vector<std::vector<int64_t>> PieceEmitter::positions(const std::vector<int>& axes) const {
  std::vector<std::vector<int64_t>> out{{}};
  for (int a : axes) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& p : out)
      for (int64_t x = 0; x < axis(a).extent; ++x) {
        longer.push_back(p);
        longer.back().push_back(x);
      }
    out = std::move(longer);
  }
  return out;
}

void PieceEmitter::move_to(const std::vector<int>& axes, const std::vector<int64_t>& position) {
  for (size_t i = 0; i < axes.size(); ++i) coordinate_[static_cast<size_t>(axes[i])] = position[i];
}

void PieceEmitter::tile(Scope* at) {
  live_.clear();
  for (const auto& position : positions(tile_axes_)) {
    move_to(tile_axes_, position);
    const bool dead = std::all_of(p_.stores.begin(), p_.stores.end(), [&](const Store& s) {
      return s.valid && decide(s.valid, at) == false;
    });
    if (!dead) live_.push_back(position);
  }
  const auto live = live_;
  std::vector<std::pair<const Store*, Id>> values;
  for (const auto& position : live) {
    move_to(tile_axes_, position);
    for (const Store& s : p_.stores) {
      const bool dead = s.valid && decide(s.valid, at) == false;
      values.emplace_back(&s, dead ? -1 : eval(s.value, at));
    }
  }
  std::vector<PendingStore> stores;
  int lane_axis = -1;
  for (int a : p_.domain)
    if (kind(a) == AxisKind::vector) lane_axis = a;
  for (size_t i = 0; i < values.size(); ++i) {
    move_to(tile_axes_, live[i / p_.stores.size()]);
    if (values[i].second < 0) continue;
    const Store& s = *values[i].first;
    const KernelBuffer& b = k_.buffers[static_cast<size_t>(s.buffer)];
    prepare({{s.buffer, b.dtype, b.elements}, s.index, s.valid, s.accumulate, lane_axis},
            values[i].second, at, stores);
  }
  commit_once(stores, p_.domain, at);
}

/// Items that a nest leaves idle have come along, and must not store.
void PieceEmitter::commit_once(const std::vector<PendingStore>& stores,
                               const std::vector<int>& nest, Scope* at) {
  const int64_t items = items_of(nest);
  if (items == f_.items) {
    for (const PendingStore& s : stores) commit(s, at);
    return;
  }
  Scope inside;
  inside.parent = at;
  for (const PendingStore& s : stores) commit(s, &inside);
  branch(alu(Op::CMPLT, DType::boolean, {f_.item, index_constant(items)}, &scopes_.front()),
         std::move(inside.block), at);
}

void PieceEmitter::branch(Id condition, Block body, Scope* at) {
  Instruction b;
  b.code = Code::branch;
  b.args = {condition};
  b.loop = std::make_unique<Loop>();
  b.loop->body = std::move(body);
  at->block.push_back(std::move(b));
}

void PieceEmitter::prepare(const Destination& s, Id v, Scope* at, std::vector<PendingStore>& out) {
  const int lane_axis = s.lane_axis;
  if (lane_axis < 0) return prepare_lane(s, v, at, out);
  const Node* valid = s.valid && decide(s.valid, at) ? nullptr : s.valid;
  const Affine& a = affine_of(s.index);
  const bool masked = valid && valid->axes().has(lane_axis);
  const bool side_by_side = s.memory.scale > 1;
  const bool contiguous = side_by_side || (!a.tangled(lane_axis) && a.coefficient(lane_axis) == 1);
  const int lanes = static_cast<int>(axis(lane_axis).extent);
  if (contiguous && (!masked || maskable(s.memory.dtype))) {
    PendingStore p{s.memory.dtype,  s.accumulate, address(s.memory, s.index, at, lane_axis),
                   splat(v, lanes), -1,           lanes};
    if (valid) p.valid = eval(valid, at);
    out.push_back(p);
    return;
  }
  for (int64_t k = 0; k < lanes; ++k) {
    lane_ = k;
    prepare_lane(s, extract(v, k), at, out);
  }
  lane_ = -1;
}

void PieceEmitter::prepare_lane(const Destination& s, Id v, Scope* at,
                                std::vector<PendingStore>& out) {
  PendingStore p{s.memory.dtype, s.accumulate, {}, v, -1, 1};
  if (s.valid) {
    const auto c = decide(s.valid, at);
    if (c == false) return;
    if (!c) p.valid = eval(s.valid, at);
  }
  p.address = address(s.memory, s.index, at, -1);
  out.push_back(p);
}

void PieceEmitter::commit(const PendingStore& p, Scope* at) {
  const bool masked = p.valid >= 0 && value(p.valid).lanes > 1;
  const bool branched = p.valid >= 0 && !masked;
  Scope inside;
  inside.parent = at;
  Scope* where = branched ? &inside : at;
  const DType t = p.dtype;
  Id v = p.value;
  if (p.accumulate) {
    Instruction i;
    i.code = Code::load;
    i.args = {p.address.base};
    if (masked) i.args.push_back(p.valid);
    i.offset = p.address.offset;
    v = alu(Op::ADD, t, {push(where, std::move(i), t, p.lanes), v}, where);
  }
  Instruction i;
  i.code = Code::store;
  i.args = {p.address.base, v};
  if (masked) i.args.push_back(p.valid);
  i.offset = p.address.offset;
  where->block.push_back(std::move(i));
  if (branched) branch(p.valid, std::move(inside.block), at);
}

}  // namespace tiny::lower
