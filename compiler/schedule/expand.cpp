// SPDX-License-Identifier: MIT
#include "compiler/schedule/expand.h"

#include <rt_tiny/runtime/base/error.h>
#include "compiler/ir/symbolic.h"
#include "compiler/schedule/flatten_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tiny {
namespace {

using ir::Arena;
using ir::Node;
using ir::Op;
using ir::OpKind;

DType accumulator_type(ir::ReduceOp, DType t) {
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
}

/// The fold's neutral element, which is also the value of a fold over nothing.
const Node* identity(Arena& arena, ir::ReduceOp op, DType t) {
  const bool most = op == ir::ReduceOp::min;
  switch (op) {
    case ir::ReduceOp::sum:
      return is_float(t) ? arena.real(0, t) : arena.integer(0, t);
    case ir::ReduceOp::prod:
      return is_float(t) ? arena.real(1, t) : arena.integer(1, t);
    case ir::ReduceOp::max:
    case ir::ReduceOp::min:
      break;
  }
  if (is_float(t)) return arena.real(most ? INFINITY : -INFINITY, t);
  if (t == DType::u64) return arena.integer(most ? -1 : 0, t);
  const ir::Interval all = ir::full_interval(t);
  return arena.integer(most ? all.hi : all.lo, t);
}

const Node* zero(Arena& arena, DType t) {
  return is_float(t) ? arena.real(0, t) : arena.integer(0, t);
}

const Node* fill_value(Arena& arena, const Node* movement) {
  const DType t = movement->dtype();
  if (movement->op() != Op::PAD) return zero(arena, t);
  return is_float(t) ? arena.real(movement->arg().real, t)
                     : arena.integer(movement->arg().value, t);
}

bool is_zero(const Node* n) {
  return n->is_const() && (is_float(n->dtype()) ? n->arg().real == 0 && !std::signbit(n->arg().real)
                                                : n->arg().value == 0);
}

/// Dimensions of kept nodes that cannot be fixed, as their readers are at different positions.
using OwnDimensions = std::map<const Node*, std::vector<char>>;

class Expander {
 public:
  Expander(Arena& arena, const StoredSet& stored, OwnDimensions& own)
      : arena_(arena), stored_(stored), own_(own) {}
  /// A reader disagreed with those before it: `own` knows more now, the draft is of no use.
  bool conflict() const { return conflict_; }

  Draft stores(std::span<const Node* const> roots);
  Draft scatter(const Node* node);

 private:
  /// A value to compute: a tensor node at a position (by number).
  struct Want {
    const Node* node;
    int position;
    bool operator<(const Want& o) const {
      return std::tie(node, position) < std::tie(o.node, o.position);
    }
  };
  /// A Want in progress: its sources are wanted first, then it is finished.
  struct Frame {
    Want want;
    size_t asked = 0;  ///< how many sources have been asked for
    std::vector<Want> sources;
    const Node* inside = nullptr;  ///< movement: where the source is read
    std::vector<int> reduce_axes;
  };

  /// A kept node: the position its array is filled at, with axes of its own.
  struct Keeping {
    Position at;
    int position = -1;
    std::vector<size_t> dimensions;  ///< those with own axes
    std::vector<int> axes;
    int stage = -1;
  };
  const Keeping* keeping(const Want& want);
  Keeping start_keeping(const Node* node, const Position& at);
  bool can_fix(const Node* index, int64_t extent) const;
  const Node* kept_index(const Keeping& k, const ir::Shape& shape, const Position& at);
  const Node* finish_kept(const Frame& frame, Keeping& k);

  const Node* value_at(const Node* node, const Position& at);
  const Node* immediate(const Want& want);
  void open(Frame& frame);
  void open_reduce(Frame& frame);
  bool next_source(Frame& frame, Want* next);
  const Node* finish(const Frame& frame);
  const Node* finish_reduce(const Frame& frame);
  const Node* gathered_index(const Frame& frame, const Node** in_range);
  const Node* load(const Node* tensor, const Position& at);
  const Node* known(const Want& want) const;
  Position domain_position(const ir::Shape& shape);
  int add_axis(int64_t extent);
  int buffer_of(const Node* tensor);
  int number(Position at);
  void add_store(const Node* root, const Node* index, const Node* valid, const Node* value,
                 bool accumulate);
  void find_hazards();
  Draft take();

  struct PositionLess {
    bool operator()(const Position& a, const Position& b) const {
      return std::tie(a.valid, a.index) < std::tie(b.valid, b.index);
    }
  };

  Arena& arena_;
  const StoredSet& stored_;
  Draft draft_;
  std::vector<Position> positions_;
  std::map<Position, int, PositionLess> numbers_;
  std::map<Want, const Node*> values_;
  std::unordered_map<const Node*, int> buffers_;  ///< memory → kernel buffer
  std::unordered_set<const Node*> own_roots_;
  std::map<std::pair<int, const Node*>, bool> loads_;  ///< (buffer, index) loaded
  int domain_number_ = -1;
  OwnDimensions& own_;
  std::unordered_set<const Node*> kept_;
  std::map<const Node*, Keeping> keepings_;
  bool conflict_ = false;
};

int Expander::add_axis(int64_t extent) {
  const int axis = int(draft_.piece.axes.size());
  Axis a;
  a.extent = a.full = extent;
  a.axis_class = axis;
  draft_.piece.axes.push_back(a);
  return axis;
}

int Expander::number(Position at) {
  auto [it, fresh] = numbers_.emplace(std::move(at), int(positions_.size()));
  if (fresh) positions_.push_back(it->first);
  return it->second;
}

Position Expander::domain_position(const ir::Shape& shape) {
  Position at;
  for (const int64_t extent : shape) {
    if (extent == 1) {
      at.index.push_back(arena_.integer(0));
      continue;
    }
    const int axis = add_axis(extent);
    draft_.piece.domain.push_back(axis);
    at.index.push_back(arena_.range(axis, extent));
  }
  return at;
}

int Expander::buffer_of(const Node* tensor) {
  const Node* memory = stored_.memory(tensor);
  auto [it, fresh] = buffers_.emplace(memory, int(draft_.buffers.size()));
  if (fresh) {
    draft_.memories.push_back(memory);
    draft_.buffers.push_back({tensor->dtype(), ir::element_count(tensor->shape()), false, false});
  }
  return it->second;
}

const Node* Expander::load(const Node* tensor, const Position& at) {
  if (ir::element_count(tensor->shape()) == 0) return zero(arena_, tensor->dtype());
  if (at.valid && at.valid->is_int_const(0)) return zero(arena_, tensor->dtype());
  const int buffer = buffer_of(tensor);
  draft_.buffers[buffer].read = true;
  if (std::find(draft_.reads.begin(), draft_.reads.end(), tensor) == draft_.reads.end())
    draft_.reads.push_back(tensor);
  const Node* index = flat_index(arena_, tensor->shape(), at.index);
  std::vector<const Node*> sources{index};
  if (at.valid) {
    sources = {ir::simplify_given(arena_, index, at.valid), at.valid};
  }
  loads_[{buffer, sources[0]}] = true;
  return arena_.build(Op::LOAD, tensor->dtype(), std::move(sources), {.value = buffer});
}

/// What needs no sources, or nullptr.
const Node* Expander::immediate(const Want& want) {
  const Node* node = want.node;
  const Position& at = positions_[want.position];
  if (const Node* constant = uniform_value(node)) return constant;
  const bool own = own_roots_.contains(node);
  if (stored_.has(node) && !own) return load(node, at);
  if (own && want.position != domain_number_) draft_.in_place_hazard = true;
  if (node->op() == Op::IOTA) return arena_.cast(at.index[0], node->dtype());
  if (node->op() == Op::VAR) return node;
  return nullptr;
}

void Expander::open_reduce(Frame& frame) {
  const Node* node = frame.want.node;
  const ir::Shape& shape = node->source(0)->shape();
  const Position& at = positions_[frame.want.position];
  Position inner{{}, at.valid};
  size_t next_kept = 0, next_folded = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto& axes = node->arg().list;
    if (next_folded >= axes.size() || axes[next_folded] != int64_t(i)) {
      inner.index.push_back(at.index[next_kept++]);
      continue;
    }
    ++next_folded;
    if (shape[i] == 1) {
      inner.index.push_back(arena_.integer(0));
      continue;
    }
    const int axis = add_axis(shape[i]);
    frame.reduce_axes.push_back(axis);
    inner.index.push_back(arena_.range(axis, shape[i]));
  }
  frame.sources = {{node->source(0), number(std::move(inner))}};
}

/// The array that is read for this want; nullptr if the node is not kept, or if the want is the
/// element being filled.
const Expander::Keeping* Expander::keeping(const Want& want) {
  if (!kept_.contains(want.node)) return nullptr;
  const Position at = positions_[want.position];
  auto it = keepings_.find(want.node);
  if (it == keepings_.end()) it = keepings_.emplace(want.node, start_keeping(want.node, at)).first;
  const Keeping& k = it->second;
  if (want.position == k.position) return nullptr;
  std::vector<char>& own = own_.at(want.node);
  for (size_t i = 0; i < at.index.size(); ++i) {
    if (own[i] || at.index[i] == k.at.index[i]) continue;
    own[i] = 1;
    conflict_ = true;
  }
  return &k;
}

Expander::Keeping Expander::start_keeping(const Node* node, const Position& at) {
  const ir::Shape& shape = node->shape();
  std::vector<char>& own = own_.try_emplace(node, shape.size(), char{0}).first->second;
  Keeping k;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!own[i] && can_fix(at.index[i], shape[i])) {
      k.at.index.push_back(at.index[i]);
      continue;
    }
    own[i] = 1;
    k.dimensions.push_back(i);
    k.axes.push_back(add_axis(shape[i]));
    k.at.index.push_back(arena_.range(k.axes.back(), shape[i]));
  }
  k.position = number(k.at);
  return k;
}

/// Known where the domain's loops are, and inside the tensor wherever that is.
bool Expander::can_fix(const Node* index, int64_t extent) const {
  ir::AxisSet domain;
  for (const int axis : draft_.piece.domain) domain.add(axis);
  return domain.contains(index->axes()) && index->interval().lo >= 0 &&
         index->interval().hi < extent;
}

const Node* Expander::kept_index(const Keeping& k, const ir::Shape& shape, const Position& at) {
  ir::Shape extents;
  std::vector<const Node*> index;
  for (const size_t i : k.dimensions) {
    extents.push_back(shape[i]);
    index.push_back(at.index[i]);
  }
  return flat_index(arena_, extents, index);
}

/// The value read from the array, whose stage the first reader makes.
const Node* Expander::finish_kept(const Frame& frame, Keeping& k) {
  const Node* node = frame.want.node;
  const Node* value = known(frame.sources[0]);
  ir::AxisSet around = value->axes();
  for (const int axis : k.axes) around.remove(axis);
  if (around == value->axes()) return value;  // the same everywhere
  if (k.stage < 0) {
    k.stage = int(draft_.piece.stages.size());
    Stage stage;
    stage.accumulator = node->dtype();
    stage.value = value;
    stage.placement = Placement::local;
    stage.own_axes = k.axes;
    stage.index = kept_index(k, node->shape(), k.at);
    stage.elements = 1;
    for (const int axis : k.axes) stage.elements *= draft_.piece.axes[axis].extent;
    draft_.piece.stages.push_back(std::move(stage));
  }
  const Position at = positions_[frame.want.position];
  const Node* index = kept_index(k, node->shape(), at);
  std::vector<const Node*> sources{index};
  if (at.valid) sources = {ir::simplify_given(arena_, index, at.valid), at.valid};
  ir::Arg arg{.value = k.stage};
  for (const int axis : around.list()) arg.list.push_back(axis);
  return arena_.make(Op::STAGE, node->dtype(), std::move(sources), std::move(arg));
}

void Expander::open(Frame& frame) {
  const Node* node = frame.want.node;
  if (const Keeping* k = keeping(frame.want)) {
    frame.sources = {{node, k->position}};
    return;
  }
  ++draft_.visited[node];
  if (ir::info(node->op()).kind == OpKind::movement) {
    SourcePosition source = source_position(arena_, node, positions_[frame.want.position]);
    frame.inside = source.inside;
    frame.sources = {{node->source(0), number(std::move(source.at))}};
  } else if (node->op() == Op::REDUCE) {
    open_reduce(frame);
  } else if (node->op() == Op::GATHER) {
    frame.sources = {
        {node->source(1), frame.want.position}};  // the data follows once the index is known
  } else if (node->op() == Op::ASSIGN) {
    frame.sources = {{node->source(1), frame.want.position}};
  } else if (node->op() == Op::SCATTER) {
    frame.sources = {{node->source(0), frame.want.position}};
  } else {
    for (const Node* source : node->sources())
      frame.sources.push_back({source, frame.want.position});
  }
}

const Node* Expander::known(const Want& want) const {
  const auto it = values_.find(want);
  return it == values_.end() ? nullptr : it->second;
}

const Node* Expander::gathered_index(const Frame& frame, const Node** in_range) {
  const Node* node = frame.want.node;
  const int64_t extent = node->source(0)->shape()[node->arg().value];
  const Node* index = arena_.cast(known(frame.sources[0]), DType::i64);
  const Node* condition = arena_.logical_and(arena_.lt(arena_.integer(-1), index),
                                             arena_.lt(index, arena_.integer(extent)));
  *in_range = condition->is_int_const(1) ? nullptr : condition;
  return index;
}

/// The next source to compute, if any is left.
bool Expander::next_source(Frame& frame, Want* next) {
  const Node* node = frame.want.node;
  if (node->op() == Op::GATHER && frame.asked == 1 && frame.sources.size() == 1) {
    const Node* in_range = nullptr;
    Position at = positions_[frame.want.position];
    at.index[node->arg().value] = gathered_index(frame, &in_range);
    at.valid = both(arena_, at.valid, in_range);
    frame.inside = in_range;
    frame.sources.push_back({node->source(0), number(std::move(at))});
  }
  if (frame.asked == frame.sources.size()) return false;
  *next = frame.sources[frame.asked++];
  return true;
}

const Node* Expander::finish_reduce(const Frame& frame) {
  const Node* node = frame.want.node;
  const auto op = ir::ReduceOp(node->arg().value);
  const DType wide = accumulator_type(op, node->dtype());
  const Node* value = arena_.cast(known(frame.sources[0]), wide);
  if (ir::element_count(node->source(0)->shape()) == 0)
    return arena_.cast(identity(arena_, op, wide), node->dtype());
  if (frame.reduce_axes.empty()) return arena_.cast(value, node->dtype());
  ir::AxisSet free = value->axes();
  for (const int axis : frame.reduce_axes) free.remove(axis);
  std::vector<int64_t> axes;
  for (const int axis : free.list()) axes.push_back(axis);
  const int64_t id = int64_t(draft_.piece.stages.size());
  draft_.piece.stages.push_back({op, wide, value, frame.reduce_axes});
  return arena_.cast(arena_.make(Op::STAGE, wide, {}, {.value = id, .list = axes}), node->dtype());
}

const Node* Expander::finish(const Frame& frame) {
  const Node* node = frame.want.node;
  if (const auto it = keepings_.find(node);
      it != keepings_.end() && it->second.position != frame.want.position)
    return finish_kept(frame, it->second);
  if (node->op() == Op::REDUCE) return finish_reduce(frame);
  const Node* last = known(frame.sources.back());
  const OpKind kind = ir::info(node->op()).kind;
  if (kind == OpKind::movement || node->op() == Op::GATHER) {
    const Node* fill = fill_value(arena_, node);
    const bool load_fills = last->op() == Op::LOAD && is_zero(fill);  // LOAD is 0 where not valid
    return frame.inside && !load_fills ? arena_.where(frame.inside, last, fill) : last;
  }
  if (kind == OpKind::tensor) return last;  // CONTIGUOUS, DETACH, COPY, ASSIGN, SCATTER's base
  std::vector<const Node*> sources;
  for (const Want& source : frame.sources) sources.push_back(known(source));
  return arena_.build(node->op(), node->dtype(), std::move(sources), node->arg());
}

const Node* Expander::value_at(const Node* node, const Position& at) {
  const Want wanted{node, number(at)};
  std::vector<Frame> stack;
  auto ask = [&](const Want& want) {
    if (known(want)) return;
    if (const Node* value = immediate(want)) {
      values_[want] = value;
      return;
    }
    stack.push_back({want, 0, {}, nullptr, {}});
    open(stack.back());
  };
  ask(wanted);
  while (!stack.empty()) {
    Want next{};
    if (next_source(stack.back(), &next)) {
      ask(next);
      continue;
    }
    const Node* value = finish(stack.back());
    values_[stack.back().want] = value;
    stack.pop_back();
  }
  return known(wanted);
}

void Expander::add_store(const Node* root, const Node* index, const Node* valid, const Node* value,
                         bool accumulate) {
  const int buffer = buffer_of(root);
  draft_.buffers[buffer].written = true;
  draft_.buffers[buffer].read |= accumulate;
  draft_.piece.stores.push_back({buffer, index, valid, value, accumulate});
  draft_.roots.push_back(root);
}

void Expander::find_hazards() {
  for (const Store& store : draft_.piece.stores)
    for (const auto& [key, loaded] : loads_)
      if (loaded && key.first == store.buffer && key.second != store.index)
        draft_.in_place_hazard = true;
}

Draft Expander::take() {
  flatten_sums(arena_, draft_.piece);
  find_hazards();
  return std::move(draft_);
}

Draft Expander::stores(std::span<const Node* const> roots) {
  own_roots_.insert(roots.begin(), roots.end());
  for (const Node* root : roots)
    if (const auto it = stored_.kept.find(root); it != stored_.kept.end())
      kept_.insert(it->second.begin(), it->second.end());
  const Position at = domain_position(roots[0]->shape());
  domain_number_ = number(at);
  const Node* index = flat_index(arena_, roots[0]->shape(), at.index);
  for (const Node* root : roots) {
    const Node* value = value_at(root, at);
    add_store(root, index, nullptr, value, false);
  }
  return take();
}

Draft Expander::scatter(const Node* node) {
  const Node *index_node = node->source(1), *update = node->source(2);
  const size_t axis = size_t(node->arg().value);
  Position at = domain_position(index_node->shape());
  const Node* index = arena_.cast(value_at(index_node, at), DType::i64);
  const Node* value = value_at(update, at);
  if (at.index[axis]->op() == Op::RANGE)
    draft_.piece.sequential = {int(at.index[axis]->arg().value)};
  const Node* in_range = arena_.logical_and(arena_.lt(arena_.integer(-1), index),
                                            arena_.lt(index, arena_.integer(node->shape()[axis])));
  at.index[axis] = index;
  add_store(node, flat_index(arena_, node->shape(), at.index),
            in_range->is_int_const(1) ? nullptr : in_range, value,
            !node->arg().list.empty() && node->arg().list[0] == 1);
  return take();
}

}  // namespace

const Node* uniform_value(const Node* node) {
  for (;;) {
    switch (node->op()) {
      case Op::CONST:
        return node;
      case Op::RESHAPE:
      case Op::PERMUTE:
      case Op::EXPAND:
      case Op::SHRINK:
      case Op::FLIP:
      case Op::WINDOW:
      case Op::DETACH:
        node = node->source(0);
        break;
      default:
        return nullptr;
    }
  }
}

Draft expand(Arena& arena, const StoredSet& stored, std::span<const Node* const> roots) {
  OwnDimensions own;
  for (;;) {  // each turn adds a dimension
    Expander expander(arena, stored, own);
    Draft draft = expander.stores(roots);
    if (!expander.conflict()) return draft;
  }
}

Draft expand_scatter(Arena& arena, const StoredSet& stored, const Node* scatter) {
  OwnDimensions own;
  return Expander(arena, stored, own).scatter(scatter);
}

}  // namespace tiny
