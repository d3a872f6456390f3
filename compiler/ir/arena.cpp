// SPDX-License-Identifier: MIT
#include "compiler/ir/arena.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/rewrite.h"
#include "compiler/ir/scalar.h"

namespace tiny::ir {

namespace {

bool commutes(Op op) {
  switch (op) {
    case Op::ADD:
    case Op::MUL:
    case Op::MAX:
    case Op::MIN:
    case Op::AND:
    case Op::OR:
    case Op::XOR:
    case Op::CMPEQ:
    case Op::CMPNE:
      return true;
    default:
      return false;
  }
}

bool is_zero(const Node* n) { return n->is_int_const(0); }
bool is_one(const Node* n) { return n->is_int_const(1); }
/// All bits set: true, or -1 in the dtype.
bool is_ones(const Node* n) {
  return n->is_const() && !is_float(n->dtype()) && n->arg().value == wrap(n->dtype(), -1);
}
bool is_real(const Node* n, double v) {
  return n->is_const() && is_float(n->dtype()) &&
         std::bit_cast<uint64_t>(n->arg().real) == std::bit_cast<uint64_t>(v);
}

/// Float identities that hold for every x, NaN, infinities and -0 included.
const Node* float_identity(Op op, const Node* a, const Node* b) {
  switch (op) {
    case Op::ADD:
      return is_real(b, -0.0) ? a : nullptr;
    case Op::SUB:
      return is_real(b, 0.0) ? a : nullptr;
    case Op::MUL:
    case Op::FDIV:
      return is_real(b, 1.0) ? a : nullptr;
    default:
      return nullptr;
  }
}

/// Identities of integers and bool whose result is an operand; constants stand on the right.
const Node* integer_identity(Op op, const Node* a, const Node* b) {
  const bool boolean = a->dtype() == DType::boolean;
  switch (op) {
    case Op::ADD:
      if (boolean && a == b) return a;
      return is_zero(b) ? a : nullptr;
    case Op::SUB:
    case Op::SHL:
    case Op::SHR:
    case Op::XOR:
      return is_zero(b) ? a : nullptr;
    case Op::MUL:
      if (boolean && a == b) return a;
      return is_one(b) ? a : nullptr;
    case Op::IDIV:
    case Op::FLOORDIV:
      return is_one(b) ? a : nullptr;
    case Op::MAX:
    case Op::MIN:
      return a == b ? a : nullptr;
    case Op::AND:
      return a == b || is_ones(b) ? a : nullptr;
    case Op::OR:
      return a == b || is_zero(b) ? a : nullptr;
    default:
      return nullptr;
  }
}

bool all_constant(const std::vector<const Node*>& sources) {
  return !sources.empty() &&
         std::all_of(sources.begin(), sources.end(), [](const Node* n) { return n->is_const(); });
}

/// Ops folded at build time on float constants: those every target rounds alike.
bool exact_on_floats(Op op) {
  switch (op) {
    case Op::NEG:
    case Op::ABS:
    case Op::ADD:
    case Op::SUB:
    case Op::MUL:
    case Op::FDIV:
    case Op::MAX:
    case Op::MIN:
    case Op::SQRT:
    case Op::TRUNC:
    case Op::FLOOR:
    case Op::CEIL:
    case Op::ROUND:
    case Op::CAST:
    case Op::BITCAST:
    case Op::WHERE:
      return true;
    default:
      return info(op).kind == OpKind::compare;
  }
}

bool foldable(Op op, DType dtype, const std::vector<const Node*>& sources) {
  const OpKind kind = info(op).kind;
  if (kind != OpKind::unary && kind != OpKind::binary && kind != OpKind::compare &&
      kind != OpKind::ternary)
    return false;
  if (op == Op::MULACC) return false;
  const bool floats = is_float(dtype) || is_float(sources.back()->dtype());
  return all_constant(sources) && (!floats || exact_on_floats(op));
}

}  // namespace

Arena::Arena() = default;

Arena::~Arena() {
  for (const Node* n : nodes_) delete n;
}

bool Arena::matches(const Node& n, Op op, DType dtype, const std::vector<const Node*>& sources,
                    const Arg& arg) const {
  return n.op() == op && n.dtype() == dtype && n.sources_ == sources && n.arg() == arg;
}

void Arena::grow() {
  std::vector<Node*> bigger(std::max<size_t>(1024, table_.size() * 2));
  const size_t mask = bigger.size() - 1;
  for (Node* n : nodes_) {
    size_t slot = n->hash() & mask;
    while (bigger[slot]) slot = (slot + 1) & mask;
    bigger[slot] = n;
  }
  table_.swap(bigger);
}

const Node* Arena::make(Op op, DType dtype, std::vector<const Node*> sources, Arg arg) {
  require_rules(op, dtype, sources);
  return intern(op, dtype, std::move(sources), std::move(arg));
}

const Node* Arena::intern(Op op, DType dtype, std::vector<const Node*> sources, Arg arg) {
  if (op == Op::CONST) arg = normal_constant(dtype, std::move(arg));
  if (nodes_.size() * 2 >= table_.size()) grow();
  const uint64_t hash = Node::hash_of(op, dtype, sources, arg);
  const size_t mask = table_.size() - 1;
  size_t slot = hash & mask;
  for (; table_[slot]; slot = (slot + 1) & mask)
    if (table_[slot]->hash() == hash && matches(*table_[slot], op, dtype, sources, arg))
      return table_[slot];
  Node* node = new Node(op, dtype, std::move(sources), std::move(arg), hash);
  node->references_.store(1, std::memory_order_relaxed);  // the arena's own, until it is destroyed
  node->id_ = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  table_[slot] = node;
  return node;
}

std::vector<const Node*> Arena::import(std::span<const Node* const> roots) {
  std::unordered_map<const Node*, const Node*> inside;
  for (const Node* n : topological_order(roots)) {
    std::vector<const Node*> sources;
    sources.reserve(n->sources().size());
    for (const Node* s : n->sources()) sources.push_back(inside.at(s));
    inside.emplace(n, make(n->op(), n->dtype(), std::move(sources), n->arg()));
  }
  std::vector<const Node*> imported;
  imported.reserve(roots.size());
  for (const Node* root : roots) imported.push_back(inside.at(root));
  return imported;
}

const Node* Arena::build(Op op, DType dtype, std::vector<const Node*> s, Arg arg) {
  if (s.size() == 2 && commutes(op) && s[0]->is_const() && !s[1]->is_const()) std::swap(s[0], s[1]);
  require_rules(op, dtype, s);
  const OpKind kind = info(op).kind;
  if (kind == OpKind::leaf || kind == OpKind::kernel)
    return intern(op, dtype, std::move(s), std::move(arg));
  if (foldable(op, dtype, s)) {
    Scalar operands[3];
    for (size_t i = 0; i < s.size(); ++i) operands[i] = {s[i]->arg().value, s[i]->arg().real};
    const Scalar v = evaluate(op, s.back()->dtype(), dtype, {operands, s.size()});
    return is_float(dtype) ? real(v.real, dtype) : integer(v.integer, dtype);
  }
  if (!is_float(dtype) && s[0]->shape().empty()) {
    const Interval i = infer_interval(op, dtype, s, arg);
    if (i.is_point()) return integer(i.lo, dtype);
  }
  if (kind == OpKind::binary) {
    const Node* same =
        is_float(dtype) ? float_identity(op, s[0], s[1]) : integer_identity(op, s[0], s[1]);
    if (same) return same;
  }
  if (op == Op::WHERE) {
    if (s[0]->is_const()) return s[s[0]->arg().value ? 1 : 2];
    if (s[1] == s[2]) return s[1];
  }
  if ((op == Op::CAST || op == Op::BITCAST) && s[0]->dtype() == dtype) return s[0];
  return intern(op, dtype, std::move(s), std::move(arg));
}

const Node* Arena::integer(int64_t value, DType dtype) {
  Arg arg;
  arg.value = value;
  return intern(Op::CONST, dtype, {}, std::move(arg));
}

const Node* Arena::real(double value, DType dtype) {
  Arg arg;
  arg.real = value;
  return intern(Op::CONST, dtype, {}, std::move(arg));
}

const Node* Arena::boolean(bool value) { return integer(value, DType::boolean); }

const Node* Arena::range(int64_t axis, int64_t extent) {
  Arg arg;
  arg.value = axis;
  arg.list = {extent};
  return make(Op::RANGE, DType::i64, {}, std::move(arg));
}

const Node* Arena::add(const Node* a, const Node* b) { return build(Op::ADD, a->dtype(), {a, b}); }
const Node* Arena::sub(const Node* a, const Node* b) { return build(Op::SUB, a->dtype(), {a, b}); }
const Node* Arena::mul(const Node* a, const Node* b) { return build(Op::MUL, a->dtype(), {a, b}); }
const Node* Arena::floordiv(const Node* a, const Node* b) {
  return build(Op::FLOORDIV, a->dtype(), {a, b});
}
const Node* Arena::floormod(const Node* a, const Node* b) {
  return build(Op::FLOORMOD, a->dtype(), {a, b});
}
const Node* Arena::min(const Node* a, const Node* b) { return build(Op::MIN, a->dtype(), {a, b}); }
const Node* Arena::max(const Node* a, const Node* b) { return build(Op::MAX, a->dtype(), {a, b}); }
const Node* Arena::lt(const Node* a, const Node* b) {
  return build(Op::CMPLT, DType::boolean, {a, b});
}
const Node* Arena::le(const Node* a, const Node* b) {
  return build(Op::CMPLE, DType::boolean, {a, b});
}
const Node* Arena::eq(const Node* a, const Node* b) {
  return build(Op::CMPEQ, DType::boolean, {a, b});
}
const Node* Arena::ne(const Node* a, const Node* b) {
  return build(Op::CMPNE, DType::boolean, {a, b});
}
const Node* Arena::logical_and(const Node* a, const Node* b) {
  return build(Op::AND, DType::boolean, {a, b});
}
const Node* Arena::logical_or(const Node* a, const Node* b) {
  return build(Op::OR, DType::boolean, {a, b});
}
const Node* Arena::logical_not(const Node* a) {
  return build(Op::XOR, DType::boolean, {a, boolean(true)});
}
const Node* Arena::where(const Node* condition, const Node* yes, const Node* no) {
  return build(Op::WHERE, yes->dtype(), {condition, yes, no});
}
const Node* Arena::cast(const Node* x, DType dtype) { return build(Op::CAST, dtype, {x}); }

}  // namespace tiny::ir
