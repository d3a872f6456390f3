// SPDX-License-Identifier: MIT
#include "compiler/lower/emit.h"

#include "compiler/lower/affine.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace tiny::lower {

namespace {

using ir::AxisSet;
using ir::Node;
using ir::Op;

__extension__ typedef __int128 Wide;

/// Groups a thread axis is cut into, for each thread: the slower one then has less left to do.
constexpr int64_t kGroupsPerThread = 4;
/// Independent accumulators a reduction wants when its tile is small: latency 4, two units.
constexpr int64_t kChains = 8;
/// A local array has at least so many elements: a vector may be read at its start.
constexpr int64_t kLeastElements = 64;
constexpr int64_t kSlotAlign_B = 64;
/// Conditions nested deeper than this are evaluated at run time.
constexpr int kMaxDecideDepth = 16;

struct Key {
  const Node* node;
  uint64_t coordinates;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& k) const {
    return std::hash<const void*>()(k.node) ^ (k.coordinates * 0x9e3779b97f4a7c15ull);
  }
};

/// One open loop. `fixed`: it runs once, so the position is a constant and the block joins the
/// parent's.
struct Scope {
  Scope* parent = nullptr;
  Scope* joined = nullptr;
  int axis = -1, depth = 0;
  bool fixed = false;
  int64_t lo = 0, hi = 0;  ///< bounds of the position, both included
  Id index = -1;
  Block block;
  std::unordered_map<Key, Id, KeyHash> memo;
  std::set<std::pair<int64_t, int64_t>> filled;  ///< local stage, copy: its array is complete
};

Scope* resolve(Scope* s) {
  while (s->joined) s = s->joined;
  return s;
}

/// Positions [lo, hi) of an axis; begin and end are values where they depend on the group.
struct Segment {
  int64_t lo, hi;
  Id begin = -1, end = -1;
};

struct Address {
  Id base;
  int64_t offset;
};

/// An array that is read or written: a kernel buffer, or what a local stage keeps. Element i of
/// the latter is at shift + i * scale: lanes of the other axes lie side by side.
struct Memory {
  int number;  ///< buffers, then local stages
  DType dtype;
  int64_t elements;
  int64_t scale = 1, shift = 0;
};

/// A store whose value, address and condition are known; `lanes` > 1 is contiguous.
struct PendingStore {
  DType dtype;
  bool accumulate;
  Address address;
  Id value, valid = -1;
  int lanes = 1;
};

/// id * coefficient, defined at this depth of loops.
struct Term {
  int depth;
  Id id;
  int64_t coefficient;
};

bool maskable(DType t) { return size_B(t) >= 4; }

class PieceEmitter {
 public:
  PieceEmitter(const Kernel& kernel, const Piece& piece, const Target& target);
  Function run();

 private:
  using Body = std::function<std::vector<Id>(Scope*, const std::vector<Id>&)>;

  // values
  Id add_value(LinearValue v, Scope* where);
  Id push(Scope* where, Instruction instruction, DType dtype, int lanes);
  Id constant(DType, int64_t integer, double real, int lanes = 1);
  Id index_constant(int64_t v) { return constant(DType::i64, v, 0); }
  Id zero(DType t, int lanes) { return constant(t, 0, 0, lanes); }
  Id progression(DType, int64_t start, int64_t stride, int lanes);
  Id splat(Id value, int lanes);
  Id extract(Id value, int64_t lane);
  Id alu(Op, DType, std::vector<Id> args, Scope* where, bool plain = false);
  Id widened(Op, DType, const std::vector<Id>& args, Scope* where);
  Id identity(const Stage&, int lanes);
  const LinearValue& value(Id id) const { return f_.values[static_cast<size_t>(id)]; }
  Scope* scope_of(Id id) { return resolve(value_scope_[static_cast<size_t>(id)]); }

  // axes
  const Axis& axis(int a) const { return p_.axes[static_cast<size_t>(a)]; }
  /// A CPU's group has one item, which walks what others would share.
  AxisKind kind(int a) const {
    const AxisKind k = axis(a).kind;
    return t_.is_cpu && k == AxisKind::local ? AxisKind::loop : k;
  }
  int vector_axis(const Node*) const;
  int lanes_of(const Node* n) const;
  static Scope* find_scope(int64_t axis, Scope* at);
  static Scope* home(const AxisSet& axes, Scope* at);
  static Scope* home(const Node* n, Scope* at) { return home(n->axes(), at); }
  uint64_t coordinate_key(const Node* n) const;
  std::optional<int64_t> fixed_position(int64_t axis, Scope* at) const;

  // expressions
  Id eval(const Node* root, Scope* at);
  bool known(const Node* n, Scope* at, Id* out);
  void remember(const Node* n, Scope* at, Id v);
  bool push_missing(const Node* n, Scope* at, std::vector<const Node*>& todo);
  Id emit_node(const Node* n, Scope* at);
  Id emit_alu(const Node* n, Scope* at);
  Id emit_range(const Node* n, Scope* at);
  Id emit_load(const Node* n, Scope* at);
  Id load(const Memory&, Address, int lanes, Id mask, Scope* where);
  Id guarded_load(const Memory&, Address, int lanes, Id valid, Scope* where);
  Id gather(const Node* n, Scope* at);
  std::vector<Term> moving_terms(const Affine&, Scope* at, int skip_axis, int64_t* constant);
  Id total(const std::vector<Term>&);
  Id compare_lanes(const Node* n, Scope* at);
  Address address(const Memory&, const Node* index, Scope* at, int skip_axis);
  Id scaled(Id v, int64_t coefficient);
  Id step(DType, Id base, Id distance);
  const Affine& affine_of(const Node* n);

  // conditions
  std::optional<bool> decide(const Node* n, Scope* at, int depth = 0);
  bool range_of(const Affine&, Scope* at, Wide* lo, Wide* hi) const;

  // loops and stages
  std::vector<Segment> segments(int a) const;
  std::vector<Id> loop(int a, Scope* parent, const Segment&, std::vector<Id> carried,
                       const Body& body);
  std::vector<Id> turn_once(int a, Scope* parent, int64_t at, const std::vector<Id>& carried,
                            const Body& body);
  std::vector<Id> all_turns(int a, Scope* parent, std::vector<Id> carried, const Body& body);
  void domain(size_t i, Scope* at, Id group);
  void thread_loop(size_t i, Scope* at, Id group);
  void place(size_t i, Scope* at, Id position, Id group);
  std::vector<Id> at_position(int axis, Scope* at, Id position, std::vector<Id> carried,
                              const Body& body);
  int64_t groups_of(int axis) const;
  void number_items(Scope* root);
  std::vector<std::vector<int64_t>> positions(const std::vector<int>& axes) const;
  void move_to(const std::vector<int>& axes, const std::vector<int64_t>& position);
  void tile(Scope* at);
  /// What a Store and the filling of a local stage have in common.
  struct Destination {
    Memory memory;
    const Node *index, *valid;
    bool accumulate;
    int lane_axis;
  };
  void prepare(const Destination&, Id value, Scope* at, std::vector<PendingStore>& out);
  void prepare_lane(const Destination&, Id value, Scope* at, std::vector<PendingStore>& out);
  void commit(const PendingStore&, Scope* at);
  void branch(Id condition, Block body, Scope* at);
  std::vector<std::vector<int64_t>> live_positions(const std::vector<int>& axes) const;
  void emit_stage(const Node* n, Scope* at);
  Id folded(Code code, const Stage& s, Id v, Scope* where);
  Id group_folded(const Stage& s, Id v, Scope* where);
  std::vector<Id> reduce(const Stage&, size_t i, Scope* at, std::vector<Id> carried);
  std::vector<Id> reduce_body(const Stage&, Scope* at, std::vector<Id> carried);
  Id fold(const Stage&, Id accumulator, Scope* at);

  const Kernel& k_;
  const Piece& p_;
  const Target& t_;
  Function f_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> value_scope_;
  std::map<std::tuple<DType, int64_t, uint64_t, int>, Id> constants_;
  std::map<std::pair<Id, int>, Id> splats_;
  std::map<std::pair<Id, int64_t>, Id> scaled_, extracts_;
  std::map<std::pair<Id, Id>, Id> steps_, sums_;
  std::map<int, Id> bases_;
  std::unordered_map<const Node*, Affine> affines_;
  AxisSet unroll_, vector_;
  std::vector<int64_t> coordinate_;
  bool one_item_stores_ = false;
  int64_t lane_ = -1;  ///< position on the vector axis where one lane is evaluated at a time
  std::vector<int> tile_axes_;
  std::vector<std::vector<int64_t>> live_;  ///< positions on tile_axes_ that store something
  std::map<int, int64_t> thread_groups_;

  // The stage being folded, one entry a nesting level.
  struct Folding {
    std::vector<int> axes;                        ///< unrolled axes of the result
    std::vector<std::vector<int64_t>> positions;  ///< on them, one accumulator (chain) each
    std::vector<int> reduce_axes;                 ///< unrolled reduce axes
    std::vector<int> loops;
    int64_t chains = 1;
  };
  std::vector<Folding> folding_;

  /// Where a local stage's arrays lie: one for each position of the unrolled axes around it.
  struct Slot {
    AxisSet around;             ///< axes the arrays differ in
    std::vector<int> unrolled;  ///< of those, the unrolled ones
    int lane_axis = -1;         ///< of those, the vector
    int64_t lanes = 1, copies = 1;
    int64_t copy_elements = 0;  ///< of one array, all lanes
    int64_t elements = 0, offset_B = 0;
  };
  std::unordered_map<int64_t, Slot> slots_;  ///< by local stage
  void place_slots();
  Memory memory_of(const Node* n) const;
  Memory memory_of(const Slot&, int64_t stage) const;
  int64_t copy_of(const Slot&) const;
  void fill(const Node* n, Scope* at);
  void fill_loops(int64_t stage, size_t i, const std::vector<std::vector<int64_t>>& copies,
                  Scope* at);
  void fill_tile(int64_t stage, const std::vector<std::vector<int64_t>>& copies, Scope* at);
};

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

// ---- values

Id PieceEmitter::add_value(LinearValue v, Scope* where) {
  f_.values.push_back(v);
  value_scope_.push_back(where);
  return static_cast<Id>(f_.values.size() - 1);
}

Id PieceEmitter::push(Scope* where, Instruction instruction, DType dtype, int lanes) {
  LinearValue v;
  v.dtype = dtype;
  v.lanes = lanes;
  instruction.result = add_value(v, where);
  const Id id = instruction.result;
  where->block.push_back(std::move(instruction));
  return id;
}

Id PieceEmitter::constant(DType t, int64_t integer, double real, int lanes) {
  const auto key = std::make_tuple(t, integer, std::bit_cast<uint64_t>(real), lanes);
  if (auto it = constants_.find(key); it != constants_.end()) return it->second;
  LinearValue v;
  v.kind = LinearValue::Kind::constant;
  v.dtype = t;
  v.lanes = lanes;
  v.integer = integer;
  v.real = real;
  return constants_[key] = add_value(v, &scopes_.front());
}

/// The constant vector start, start + stride, ...
Id PieceEmitter::progression(DType t, int64_t start, int64_t stride, int lanes) {
  LinearValue v;
  v.kind = LinearValue::Kind::constant;
  v.dtype = t;
  v.lanes = lanes;
  v.integer = start;
  v.stride = stride;
  return add_value(v, &scopes_.front());
}

Id PieceEmitter::splat(Id id, int lanes) {
  if (value(id).lanes == lanes) return id;
  CHECK_INVARIANT(value(id).lanes == 1, "a vector met one of another width");
  const LinearValue v = value(id);
  if (v.kind == LinearValue::Kind::constant) return constant(v.dtype, v.integer, v.real, lanes);
  if (auto it = splats_.find({id, lanes}); it != splats_.end()) return it->second;
  Instruction i;
  i.code = Code::splat;
  i.args = {id};
  return splats_[{id, lanes}] = push(scope_of(id), std::move(i), v.dtype, lanes);
}

Id PieceEmitter::extract(Id id, int64_t lane) {
  const LinearValue v = value(id);
  if (v.lanes == 1) return id;
  if (v.kind == LinearValue::Kind::constant)
    return constant(v.dtype, v.integer + lane * v.stride, v.real);
  if (auto it = extracts_.find({id, lane}); it != extracts_.end()) return it->second;
  Instruction i;
  i.code = Code::extract;
  i.args = {id};
  i.offset = lane;
  return extracts_[{id, lane}] = push(scope_of(id), std::move(i), v.dtype, 1);
}

bool keeps_halves(Op op) { return op == Op::CAST || op == Op::BITCAST || op == Op::WHERE; }
bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

/// f16 and bf16 arithmetic: in f32, rounded after each op.
Id PieceEmitter::widened(Op op, DType t, const std::vector<Id>& args, Scope* where) {
  std::vector<Id> wide;
  for (Id a : args) wide.push_back(alu(Op::CAST, DType::f32, {a}, where));
  const Id result = alu(op, is_half(t) ? DType::f32 : t, wide, where);
  return is_half(t) ? alu(Op::CAST, t, {result}, where) : result;
}

Id PieceEmitter::alu(Op op, DType t, std::vector<Id> args, Scope* where, bool plain) {
  if (!keeps_halves(op) && is_half(value(args[0]).dtype)) return widened(op, t, args, where);
  if (op == Op::AND && t == DType::boolean)
    for (int k : {0, 1}) {
      const LinearValue& v = value(args[static_cast<size_t>(k)]);
      if (v.kind == LinearValue::Kind::constant && v.integer == 1 && v.lanes == 1)
        return args[static_cast<size_t>(1 - k)];
    }
  int lanes = 1;
  for (Id a : args) lanes = std::max(lanes, value(a).lanes);
  for (Id& a : args) a = splat(a, lanes);
  Instruction i;
  i.op = op;
  i.args = std::move(args);
  i.offset = plain;
  return push(where, std::move(i), t, lanes);
}

Id PieceEmitter::identity(const Stage& s, int lanes) {
  const DType t = s.accumulator;
  const double inf = std::numeric_limits<double>::infinity();
  const ir::Interval full = ir::full_interval(t);
  switch (s.op) {
    case ir::ReduceOp::sum:
      return constant(t, 0, 0, lanes);
    case ir::ReduceOp::prod:
      return is_float(t) ? constant(t, 0, 1, lanes) : constant(t, 1, 0, lanes);
    case ir::ReduceOp::max:
      return is_float(t) ? constant(t, 0, -inf, lanes) : constant(t, full.lo, 0, lanes);
    case ir::ReduceOp::min:
      break;
  }
  return is_float(t) ? constant(t, 0, inf, lanes)
                     : constant(t, t == DType::u64 ? -1 : full.hi, 0, lanes);
}

// ---- axes

int PieceEmitter::vector_axis(const Node* n) const {
  const AxisSet set = n->axes() & vector_;
  if (set.empty()) return -1;
  return set.words[0] ? std::countr_zero(set.words[0]) : 64 + std::countr_zero(set.words[1]);
}

int PieceEmitter::lanes_of(const Node* n) const {
  const int v = lane_ < 0 ? vector_axis(n) : -1;
  return v < 0 ? 1 : static_cast<int>(axis(v).extent);
}

Scope* PieceEmitter::find_scope(int64_t axis, Scope* at) {
  while (at && at->axis != axis) at = at->parent;
  return at;
}

Scope* PieceEmitter::home(const AxisSet& axes, Scope* at) {
  while (at->parent && !axes.has(at->axis)) at = at->parent;
  return at;
}

uint64_t PieceEmitter::coordinate_key(const Node* n) const {
  uint64_t key = 0;
  const AxisSet set = n->axes() & unroll_;
  for (int w = 0; w < 2; ++w)
    for (uint64_t bits = set.words[w]; bits; bits &= bits - 1) {
      const size_t a = static_cast<size_t>(w * 64 + std::countr_zero(bits));
      key = key * static_cast<uint64_t>(p_.axes[a].extent) + static_cast<uint64_t>(coordinate_[a]);
    }
  if (lane_ >= 0 && vector_axis(n) >= 0)
    key = key * 1024 + static_cast<uint64_t>(lane_) + 1;
  else
    key = key * 1024;
  return key;
}

std::optional<int64_t> PieceEmitter::fixed_position(int64_t a, Scope* at) const {
  if (unroll_.has(a)) return coordinate_[static_cast<size_t>(a)];
  if (vector_.has(a)) return lane_ >= 0 ? std::optional(lane_) : std::nullopt;
  Scope* s = find_scope(a, at);
  if (s && s->fixed) return s->lo;
  return std::nullopt;
}

// ---- expressions

bool PieceEmitter::known(const Node* n, Scope* at, Id* out) {
  Scope* h = home(n, at);
  auto it = h->memo.find({n, coordinate_key(n)});
  if (it == h->memo.end()) return false;
  if (out) *out = it->second;
  return true;
}

void PieceEmitter::remember(const Node* n, Scope* at, Id v) {
  home(n, at)->memo[{n, coordinate_key(n)}] = v;
}

/// Iterative: fused chains of element-wise ops are long.
Id PieceEmitter::eval(const Node* root, Scope* at) {
  Id result = -1;
  if (known(root, at, &result)) return result;
  std::vector<const Node*> todo{root};
  while (!todo.empty()) {
    const Node* n = todo.back();
    if (known(n, at, &result) || push_missing(n, at, todo)) {
      if (n == todo.back()) todo.pop_back();
      continue;
    }
    remember(n, at, emit_node(n, at));
    todo.pop_back();
  }
  CHECK_INVARIANT(known(root, at, &result), "an expression was not emitted");
  return result;
}

/// Pushes the operands that n needs first. Loads and stages evaluate their own.
bool PieceEmitter::push_missing(const Node* n, Scope* at, std::vector<const Node*>& todo) {
  if (n->op() == Op::LOAD || n->op() == Op::STAGE) return false;
  if (n->dtype() == DType::boolean && decide(n, at)) return false;
  const bool comparison = ir::info(n->op()).kind == ir::OpKind::compare;
  if (comparison && n->source(0)->dtype() == DType::i64 && lanes_of(n) > 1) return false;
  const size_t before = todo.size();
  size_t skip = 3;
  if (n->op() == Op::WHERE)
    if (auto c = decide(n->source(0), at)) skip = *c ? 2 : 1;
  for (size_t i = n->sources().size(); i-- > 0;) {
    if (skip < 3 && (i == 0 || i == skip)) continue;
    if (!known(n->source(i), at, nullptr)) todo.push_back(n->source(i));
  }
  return todo.size() > before;
}

Id PieceEmitter::emit_node(const Node* n, Scope* at) {
  if (n->dtype() == DType::boolean && n->op() != Op::LOAD && n->op() != Op::STAGE)
    if (auto c = decide(n, at)) return constant(DType::boolean, *c, 0);
  switch (n->op()) {
    case Op::CONST:
      return constant(n->dtype(), n->arg().value, n->arg().real);
    case Op::RANGE:
      return emit_range(n, at);
    case Op::VAR: {
      Instruction i;
      i.code = Code::variable;
      i.offset = n->arg().value;
      return push(&scopes_.front(), std::move(i), DType::i64, 1);
    }
    case Op::LOAD:
      return emit_load(n, at);
    case Op::STAGE: {
      if (!n->sources().empty()) return emit_load(n, at);
      if (lane_ >= 0) {
        const int64_t lane = std::exchange(lane_, -1);
        const Id all = eval(n, at);
        lane_ = lane;
        return extract(all, lane);
      }
      emit_stage(n, at);
      Id id = -1;
      CHECK_INVARIANT(known(n, at, &id), "a stage was read at a position that nothing stores");
      return id;
    }
    default:
      return emit_alu(n, at);
  }
}

Id PieceEmitter::emit_range(const Node* n, Scope* at) {
  const int64_t a = n->arg().value;
  if (auto p = fixed_position(a, at)) return index_constant(*p);
  if (vector_.has(a)) {
    return progression(DType::i64, 0, 1, static_cast<int>(axis(static_cast<int>(a)).extent));
  }
  Scope* s = find_scope(a, at);
  CHECK_INVARIANT(s, "axis " + std::to_string(a) + " is read outside its loop");
  return s->index;
}

bool within(const Node* n, int64_t lo, int64_t hi) {
  return n->interval().lo >= lo && n->interval().hi <= hi;
}

/// Divisions of what is not negative and shifts that stay in range need no care at run time.
bool is_plain(const Node* n) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  switch (n->op()) {
    case Op::IDIV:
    case Op::IMOD:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
      return within(n->source(0), 0, most) && within(n->source(1), 1, most);
    case Op::SHL:
    case Op::SHR:
      return within(n->source(1), 0, static_cast<int64_t>(size_B(n->dtype())) * 8 - 1);
    default:
      return false;
  }
}

Id PieceEmitter::emit_alu(const Node* n, Scope* at) {
  CHECK_INVARIANT(emittable(n->op()),
                  "op " + std::string(ir::info(n->op()).name) + " was not decomposed");
  if (n->op() == Op::WHERE)
    if (auto c = decide(n->source(0), at)) return eval(n->source(*c ? 1 : 2), at);
  if (ir::info(n->op()).kind == ir::OpKind::compare)
    if (const Id id = compare_lanes(n, at); id >= 0) return id;
  std::vector<Id> args;
  for (const Node* s : n->sources()) args.push_back(eval(s, at));
  return alu(n->op(), n->dtype(), std::move(args), home(n, at), is_plain(n));
}

const Affine& PieceEmitter::affine_of(const Node* n) {
  auto it = affines_.find(n);
  if (it == affines_.end()) it = affines_.emplace(n, affine(n)).first;
  return it->second;
}

Id PieceEmitter::scaled(Id v, int64_t coefficient) {
  if (coefficient == 1) return v;
  auto [it, fresh] = scaled_.try_emplace({v, coefficient}, -1);
  if (fresh) {
    const Id product = alu(Op::MUL, DType::i64, {v, index_constant(coefficient)}, scope_of(v));
    scaled_[{v, coefficient}] = product;
    return product;
  }
  return it->second;
}

Id PieceEmitter::step(DType dtype, Id base, Id distance) {
  auto [it, fresh] = steps_.try_emplace({base, distance}, -1);
  if (!fresh) return it->second;
  Scope* a = scope_of(base);
  Scope* b = scope_of(distance);
  Instruction i;
  i.code = Code::address;
  i.args = {base, distance};
  const Id id = push(a->depth > b->depth ? a : b, std::move(i), dtype, 1);
  f_.values[static_cast<size_t>(id)].kind = LinearValue::Kind::address;
  return it->second = id;
}

/// The terms that vary at run time, outermost first; what is known goes to the constant.
std::vector<Term> PieceEmitter::moving_terms(const Affine& a, Scope* at, int skip_axis,
                                             int64_t* constant) {
  std::vector<Term> terms;
  for (const auto& [n, c] : a.terms) {
    if (n->op() == Op::RANGE) {
      if (n->arg().value == skip_axis) continue;
      if (auto p = fixed_position(n->arg().value, at)) {
        *constant += c * *p;
        continue;
      }
    }
    const Id id = eval(n, at);
    const LinearValue& v = value(id);
    CHECK_INVARIANT(v.lanes == 1, "an index has lanes");
    if (v.kind == LinearValue::Kind::constant)
      *constant += c * v.integer;
    else
      terms.push_back({scope_of(id)->depth, id, c});
  }
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
    return std::tie(x.depth, x.id, x.coefficient) < std::tie(y.depth, y.id, y.coefficient);
  });
  return terms;
}

/// Terms are added outermost first, so that each loop adds only what it moves.
Address PieceEmitter::address(const Memory& m, const Node* index, Scope* at, int skip_axis) {
  const Affine a = affine_of(index);
  Address out{-1, a.constant};
  const std::vector<Term> terms = moving_terms(a, at, skip_axis, &out.offset);
  out.offset = out.offset * m.scale + m.shift;
  auto [it, fresh] = bases_.try_emplace(m.number, -1);
  if (fresh) {
    LinearValue v;
    v.kind = LinearValue::Kind::address;
    v.dtype = m.dtype;
    it->second = add_value(v, &scopes_.front());
  }
  out.base = it->second;
  for (const Term& t : terms)
    out.base = step(m.dtype, out.base, scaled(t.id, t.coefficient * m.scale));
  return out;
}

/// The terms' sum as an i64 value.
Id PieceEmitter::total(const std::vector<Term>& terms) {
  Id sum = -1;
  for (const Term& t : terms) {
    const Id part = scaled(t.id, t.coefficient);
    if (sum < 0) {
      sum = part;
      continue;
    }
    auto [it, fresh] = sums_.try_emplace({sum, part}, -1);
    if (fresh) {
      Scope* x = scope_of(sum);
      Scope* y = scope_of(part);
      it->second = alu(Op::ADD, DType::i64, {sum, part}, x->depth > y->depth ? x : y);
    }
    sum = it->second;
  }
  return sum < 0 ? index_constant(0) : sum;
}

/// A comparison of sums that differ by c from lane to lane: one 32-bit scalar against a constant
/// vector. -1 where it has another form or needs more bits.
Id PieceEmitter::compare_lanes(const Node* n, Scope* at) {
  const int v = lane_ < 0 ? vector_axis(n) : -1;
  if (v < 0 || n->source(0)->dtype() != DType::i64) return -1;
  const Affine d = difference(n->source(0), n->source(1));
  Wide lo = 0, hi = 0;
  constexpr int64_t limit = int64_t{1} << 29;
  if (d.tangled(v) || !range_of(d, at, &lo, &hi) || lo < -limit || hi > limit) return -1;
  const int64_t c = d.coefficient(v), lanes = axis(v).extent;
  if (std::abs(c) > limit / lanes || std::abs(d.constant) > limit) return -1;
  int64_t offset = d.constant;
  const std::vector<Term> terms = moving_terms(d, at, v, &offset);
  if (std::abs(offset) > 2 * limit) return -1;
  const Id sum = total(terms);
  const Id narrow = value(sum).kind == LinearValue::Kind::constant
                        ? constant(DType::i32, value(sum).integer, 0)
                        : alu(Op::CAST, DType::i32, {sum}, scope_of(sum));
  const Id other = progression(DType::i32, -offset, -c, static_cast<int>(lanes));
  return alu(n->op(), DType::boolean, {narrow, other}, home(n, at));
}

Id PieceEmitter::load(const Memory& m, Address a, int lanes, Id mask, Scope* where) {
  Instruction i;
  i.code = Code::load;
  i.args = {a.base};
  if (mask >= 0) i.args.push_back(mask);
  i.offset = a.offset;
  return push(where, std::move(i), m.dtype, lanes);
}

/// Reads the buffer's first elements where the condition is false: a buffer is never empty.
Id PieceEmitter::guarded_load(const Memory& m, Address a, int lanes, Id valid, Scope* where) {
  Instruction i;
  i.code = Code::choose;
  i.args = {valid, a.base, bases_.at(m.number)};
  i.offset = a.offset;
  const Id safe = push(where, std::move(i), m.dtype, 1);
  f_.values[static_cast<size_t>(safe)].kind = LinearValue::Kind::address;
  const Id raw = load(m, {safe, 0}, lanes, -1, where);
  return alu(Op::WHERE, m.dtype, {valid, raw, zero(m.dtype, 1)}, where);
}

Id PieceEmitter::gather(const Node* n, Scope* at) {
  const int64_t lanes = lanes_of(n);
  Instruction i;
  i.code = Code::pack;
  for (int64_t k = 0; k < lanes; ++k) {
    lane_ = k;
    i.args.push_back(eval(n, at));
  }
  lane_ = -1;
  return push(home(n, at), std::move(i), n->dtype(), static_cast<int>(lanes));
}

/// LOAD, and STAGE of a local stage, whose array is filled first.
Id PieceEmitter::emit_load(const Node* n, Scope* at) {
  if (n->op() == Op::STAGE) fill(n, at);
  const Memory m = memory_of(n);
  const Node* index = n->source(0);
  const Node* valid = n->sources().size() > 1 ? n->source(1) : nullptr;
  if (valid)
    if (auto c = decide(valid, at)) {
      if (!*c) return zero(n->dtype(), 1);
      valid = nullptr;
    }
  Scope* where = home(n, at);
  const int v = lane_ < 0 ? vector_axis(n) : -1;
  const int lanes = lanes_of(n);
  const bool masked = valid && v >= 0 && valid->axes().has(v);
  const bool side_by_side =
      n->op() == Op::STAGE && v >= 0 && v == slots_.at(n->arg().value).lane_axis;
  if (v >= 0 && !masked && !side_by_side && !index->axes().has(v)) {  // v's part was decided
    const Address a = address(m, index, at, -1);
    return valid ? guarded_load(m, a, 1, eval(valid, at), where) : load(m, a, 1, -1, where);
  }
  if (v >= 0) {
    const Affine& a = affine_of(index);
    const bool steps = index->axes().has(v);
    const bool contiguous = side_by_side ? !steps : (!a.tangled(v) && a.coefficient(v) == 1);
    const bool small = m.elements < lanes;
    if (!contiguous || (masked && !maskable(n->dtype())) || (valid && !masked && small))
      return gather(n, at);
    const Address start = address(m, index, at, v);
    if (valid) {
      const Id condition = eval(valid, at);  // one for all lanes once a part is decided
      if (value(condition).lanes == 1 && !small)
        return guarded_load(m, start, lanes, condition, where);
      return load(m, start, lanes, splat(condition, lanes), where);
    }
    return load(m, start, lanes, -1, where);
  }
  const Address a = address(m, index, at, -1);
  return valid ? guarded_load(m, a, 1, eval(valid, at), where) : load(m, a, 1, -1, where);
}

// ---- conditions

bool PieceEmitter::range_of(const Affine& a, Scope* at, Wide* lo, Wide* hi) const {
  *lo = *hi = a.constant;
  for (const auto& [n, c] : a.terms) {
    ir::Interval i = n->interval();
    if (n->op() == Op::RANGE) {
      if (auto p = fixed_position(n->arg().value, at))
        i = {*p, *p};
      else if (Scope* s = find_scope(n->arg().value, at))
        i = {s->lo, s->hi};
    }
    if (i.lo == std::numeric_limits<int64_t>::min() || i.hi == std::numeric_limits<int64_t>::max())
      return false;
    *lo += Wide(c) * (c > 0 ? i.lo : i.hi);
    *hi += Wide(c) * (c > 0 ? i.hi : i.lo);
  }
  const Wide limit = std::numeric_limits<int64_t>::max();
  return *lo > -limit && *hi < limit;
}

/// Is the condition the same at every position this place in the code stands for?
std::optional<bool> PieceEmitter::decide(const Node* n, Scope* at, int depth) {
  if (n->interval().is_point()) return n->interval().lo != 0;
  if (depth > kMaxDecideDepth) return std::nullopt;
  if ((n->op() == Op::AND || n->op() == Op::OR) && n->dtype() == DType::boolean) {
    const bool absorbing = n->op() == Op::OR;
    const auto a = decide(n->source(0), at, depth + 1), b = decide(n->source(1), at, depth + 1);
    if ((a && *a == absorbing) || (b && *b == absorbing)) return absorbing;
    if (a && b) return !absorbing;
    return std::nullopt;
  }
  if (n->op() == Op::XOR && n->dtype() == DType::boolean && n->source(1)->is_const()) {
    const auto a = decide(n->source(0), at, depth + 1);
    return a ? std::optional(*a != (n->source(1)->arg().value != 0)) : std::nullopt;
  }
  const bool comparison = ir::info(n->op()).kind == ir::OpKind::compare;
  if (!comparison || n->source(0)->dtype() != DType::i64) return std::nullopt;
  Wide lo = 0, hi = 0;
  if (!range_of(difference(n->source(0), n->source(1)), at, &lo, &hi)) return std::nullopt;
  switch (n->op()) {
    case Op::CMPLT:
      if (hi < 0) return true;
      if (lo >= 0) return false;
      break;
    case Op::CMPLE:
      if (hi <= 0) return true;
      if (lo > 0) return false;
      break;
    default:
      if (lo > 0 || hi < 0) return n->op() == Op::CMPNE;
      if (lo == 0 && hi == 0) return n->op() == Op::CMPEQ;
  }
  return std::nullopt;
}

// ---- loops

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
  if (kind(a) == AxisKind::local) return place(i, at, f_.item, group);
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
  if (!one_item_stores_) {
    for (const PendingStore& s : stores) commit(s, at);
    return;
  }
  Scope inside;
  inside.parent = at;
  for (const PendingStore& s : stores) commit(s, &inside);
  branch(alu(Op::CMPEQ, DType::boolean, {f_.item, index_constant(0)}, &scopes_.front()),
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

// ---- stages

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
  if (kind(a) == AxisKind::local) return at_position(a, at, f_.item, std::move(carried), inside);
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
    slot.offset_B = f_.scratch_B;
    const int64_t size = slot.elements * static_cast<int64_t>(size_B(s.accumulator));
    f_.scratch_B += (size + kSlotAlign_B - 1) / kSlotAlign_B * kSlotAlign_B;
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

/// Fills the arrays of n's stage that are not filled yet, in the block of the deepest loop around
/// all its readers.
void PieceEmitter::fill(const Node* n, Scope* at) {
  const int64_t stage = n->arg().value;
  const Slot& slot = slots_.at(stage);
  Scope* h = home(slot.around, at);
  if (h->filled.count({stage, copy_of(slot)})) return;
  const int64_t lane = std::exchange(lane_, -1);
  const std::vector<int64_t> saved = coordinate_;
  std::vector<std::vector<int64_t>> missing;
  for (const auto& position : live_positions(slot.unrolled)) {
    move_to(slot.unrolled, position);
    if (h->filled.emplace(stage, copy_of(slot)).second) missing.push_back(position);
  }
  fill_loops(stage, 0, missing, h);
  coordinate_ = saved;
  lane_ = lane;
  CHECK_INVARIANT(h->filled.count({stage, copy_of(slot)}),
                  "a local stage was read at a position that nothing stores");
}

void PieceEmitter::fill_loops(int64_t stage, size_t i,
                              const std::vector<std::vector<int64_t>>& copies, Scope* at) {
  const std::vector<int>& axes = p_.stages[static_cast<size_t>(stage)].own_axes;
  while (i < axes.size() && kind(axes[i]) != AxisKind::loop) ++i;
  if (i == axes.size()) return fill_tile(stage, copies, at);
  all_turns(axes[i], at, {}, [&](Scope* inner, const std::vector<Id>&) {
    fill_loops(stage, i + 1, copies, inner);
    return std::vector<Id>{};
  });
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
  for (const PendingStore& p : stores) commit(p, at);
}

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

/// Where an axis is shared by the items of a group they are numbered, and only one of them makes
/// the stores that none of them has a position for.
void PieceEmitter::number_items(Scope* root) {
  for (size_t a = 0; a < p_.axes.size(); ++a)
    if (kind(static_cast<int>(a)) == AxisKind::local) f_.items = p_.axes[a].extent;
  if (f_.items == 1) return;
  f_.item = add_value({}, root);
  one_item_stores_ = std::none_of(p_.domain.begin(), p_.domain.end(),
                                  [&](int a) { return kind(a) == AxisKind::local; });
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

}  // namespace

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
