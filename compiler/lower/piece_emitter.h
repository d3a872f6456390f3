// SPDX-License-Identifier: MIT
// Inside of `emit`: the one piece at a time that becomes a function of linear code. The parts of
// the class are in emit_values.cpp (constants and arithmetic), emit_expressions.cpp (nodes,
// addresses, conditions), emit_loops.cpp (domain, groups, stores) and emit_stages.cpp (folds, local
// arrays).
#pragma once

#include "compiler/lower/affine.h"
#include "compiler/lower/linear.h"

#include <rt_tiny/runtime/base/target.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tiny::lower {

using ir::AxisSet;
using ir::Node;
using ir::Op;

__extension__ typedef __int128 Wide;

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
  bool fenced = false;    ///< what the group's items read of an earlier turn's arrays, they have
  bool unshared = false;  ///< an array was filled since the last barrier
};

inline Scope* resolve(Scope* s) {
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

inline bool maskable(DType t) { return size_B(t) >= 4; }

inline bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

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
  void make_address(Id, Id from);
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
  int64_t items_of(const std::vector<int>& axes) const;
  void number_items(Scope* root);
  Id item_position(int axis, const std::vector<int>& nest);
  void commit_once(const std::vector<PendingStore>&, const std::vector<int>& nest, Scope* at);
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
  std::map<int64_t, Slot> slots_;  ///< by local stage
  void place_slots();
  Memory memory_of(const Node* n) const;
  Memory memory_of(const Slot&, int64_t stage) const;
  int64_t copy_of(const Slot&) const;
  void fill(const Node* n, Scope* at);
  void fill_stage(int64_t stage, Scope* home);
  void barrier(Scope* at);
  void fill_loops(int64_t stage, size_t i, const std::vector<std::vector<int64_t>>& copies,
                  Scope* at);
  void fill_tile(int64_t stage, const std::vector<std::vector<int64_t>>& copies, Scope* at);
};

}  // namespace tiny::lower
