// SPDX-License-Identifier: MIT
// Expression nodes: immutable {op, dtype, sources, argument} with derived shape, hash and interval.
//
// Two owners share one node type. Tensor graphs hold reference-counted nodes through `Ref`;
// a compile job holds interned nodes in an `Arena` (arena.h), where equality is pointer equality.
#pragma once

#include <rt_tiny/runtime/base/dtype.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiny::ir {

enum class Op : uint8_t {
#define OP(name, kind, sources, dtypes, required, meaning) name,
#include "compiler/ir/ops.def"
#undef OP
};

enum class OpKind : uint8_t { leaf, unary, binary, compare, ternary, movement, tensor, kernel };
enum class DTypeRule : uint8_t { leaf, same, compare, where, cast, index };
struct OpInfo {
  std::string_view name;
  OpKind kind;
  int sources;  ///< -1: varies
  DTypeRule dtypes;
  bool required;
  std::string_view meaning;
};
const OpInfo& info(Op);
int op_count();

enum class ReduceOp : uint8_t { sum, prod, max, min };
std::string_view name(ReduceOp);
/// The binary op that folds two elements.
Op fold_op(ReduceOp);

using Shape = std::vector<int64_t>;
int64_t element_count(const Shape&);
std::string to_string(const Shape&);  ///< "(2, 3)"

/// Anything a leaf points at; the IR only keeps it alive and compares identity.
struct Object {
  virtual ~Object() = default;
};

/// What an op needs beyond its sources; ops.def says which field means what.
struct Arg {
  int64_t value = 0;
  double real = 0;
  std::vector<int64_t> list{};
  std::shared_ptr<Object> object{};
  bool operator==(const Arg&) const;  ///< reals by bits
};

/// Closed range of an integer expression's value; the full range where nothing is known.
struct Interval {
  int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();
  bool is_point() const { return lo == hi; }
  bool operator==(const Interval&) const = default;
};

/// Set of loop axes; axes are numbered below kMaxAxes inside one kernel piece.
struct AxisSet {
  static constexpr int kMaxAxes = 128;
  uint64_t words[2] = {0, 0};
  bool has(int64_t axis) const { return words[axis >> 6] >> (axis & 63) & 1; }
  void add(int64_t axis) { words[axis >> 6] |= uint64_t(1) << (axis & 63); }
  void remove(int64_t axis) { words[axis >> 6] &= ~(uint64_t(1) << (axis & 63)); }
  bool empty() const { return (words[0] | words[1]) == 0; }
  AxisSet operator|(const AxisSet& o) const {
    return {{words[0] | o.words[0], words[1] | o.words[1]}};
  }
  AxisSet operator&(const AxisSet& o) const {
    return {{words[0] & o.words[0], words[1] & o.words[1]}};
  }
  AxisSet operator-(const AxisSet& o) const {
    return {{words[0] & ~o.words[0], words[1] & ~o.words[1]}};
  }
  bool contains(const AxisSet& o) const { return (o - *this).empty(); }
  bool operator==(const AxisSet&) const = default;
  std::vector<int> list() const;
};

class Node;
/// Adds or drops one reference; dropping the last frees iteratively (graphs are 10^5 deep).
void retain(const Node*);
void release(const Node*);

/// Shared handle to a reference-counted node.
class Ref {
 public:
  Ref() = default;
  explicit Ref(const Node* n) : node_(n) {
    if (n) retain(n);
  }
  Ref(const Ref& o) : Ref(o.node_) {}
  Ref(Ref&& o) noexcept : node_(std::exchange(o.node_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~Ref() {
    if (node_) release(node_);
  }
  const Node* get() const { return node_; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Ref& o) const { return node_ == o.node_; }

 private:
  const Node* node_ = nullptr;
};

class Node {
 public:
  Op op() const { return op_; }
  DType dtype() const { return dtype_; }
  const Arg& arg() const { return arg_; }
  const Shape& shape() const { return shape_; }
  std::span<const Node* const> sources() const { return sources_; }
  const Node* source(size_t i) const { return sources_[i]; }
  /// Structural hash: op, dtype, argument (not the object's identity) and the sources' hashes.
  uint64_t hash() const { return hash_; }
  /// Integer and bool nodes: what values are possible. Others: the full range.
  const Interval& interval() const { return interval_; }
  /// Loop axes this value depends on (kernel expressions).
  const AxisSet& axes() const { return axes_; }
  /// Position in its arena, in order of creation: index for side tables. 0 outside arenas.
  uint32_t id() const { return id_; }
  uint32_t reference_count() const { return references_.load(std::memory_order_acquire); }
  /// The BUFFER that holds this tensor node's value once it was computed, else nullptr. Whoever
  /// still holds the node (gradient history, an unrealized expression) reads it from there.
  const Node* realized() const { return realized_.load(std::memory_order_acquire); }
  /// The first caller wins; the node keeps the buffer alive.
  void set_realized(const Ref& buffer) const;
  bool is_const() const { return op_ == Op::CONST; }
  /// CONST of an integer or bool with this value.
  bool is_int_const(int64_t v) const {
    return op_ == Op::CONST && !is_float(dtype_) && arg_.value == v;
  }

 private:
  friend class Arena;
  friend Ref make(Op, DType, std::vector<Ref>, Arg);
  friend void retain(const Node*);
  friend void release(const Node*);
  Node(Op, DType, std::vector<const Node*> sources, Arg, uint64_t hash);
  static uint64_t hash_of(Op, DType, std::span<const Node* const> sources, const Arg&);

  Op op_;
  DType dtype_;
  uint32_t id_ = 0;
  mutable std::atomic<uint32_t> references_{0};
  mutable std::atomic<const Node*> realized_{nullptr};
  std::vector<const Node*> sources_;
  Arg arg_;
  Shape shape_;
  Interval interval_;
  AxisSet axes_;
  uint64_t hash_ = 0;
};

/// A reference-counted node. Aborts on a broken rule of ops.def: callers validate user input first.
Ref make(Op, DType, std::vector<Ref> sources, Arg = {});

/// A CONST's argument in its one form: integers wrapped, reals rounded to the dtype.
Arg normal_constant(DType, Arg);
/// Why these parts break a rule of ops.def on arity or dtypes; empty when they do not.
std::string broken_rule(Op, DType, std::span<const Node* const> sources);
/// Why the op's shape rule does not take them; empty when it does. Asks for a kept arity.
std::string broken_shape(Op, std::span<const Node* const> sources, const Arg&);
/// CHECKs that no rule on arity or dtypes is broken.
void require_rules(Op, DType, std::span<const Node* const> sources);

/// The shape a node of this op would have; CHECKs the op's shape rule.
Shape infer_shape(Op, std::span<const Node* const> sources, const Arg&);
/// The interval of an integer op from its sources' intervals (interval.cpp).
Interval infer_interval(Op, DType, std::span<const Node* const> sources, const Arg&);
/// All values a dtype can hold, as far as int64 reaches.
Interval full_interval(DType);

/// Reachable nodes, sources before users, each once; iterative. With `resolve`, each source counts
/// as the node it names; the roots are taken as they are.
std::vector<const Node*> topological_order(std::span<const Node* const> roots,
                                           const Node* (*resolve)(const Node*) = nullptr);

}  // namespace tiny::ir
