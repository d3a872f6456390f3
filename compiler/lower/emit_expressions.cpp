// SPDX-License-Identifier: MIT
#include "compiler/lower/piece_emitter.h"

#include "compiler/lower/emit.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

namespace tiny::lower {
namespace {

/// Conditions nested deeper than this are evaluated at run time.
constexpr int kMaxDecideDepth = 16;

}  // namespace

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

namespace {

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

}  // namespace

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

/// What was computed from an address is one too, into the same memory.
void PieceEmitter::make_address(Id id, Id from) {
  f_.values[static_cast<size_t>(id)].kind = LinearValue::Kind::address;
  f_.values[static_cast<size_t>(id)].in_local = value(from).in_local;
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
  make_address(id, base);
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
    v.in_local = m.number >= static_cast<int>(k_.buffers.size());
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
  make_address(safe, a.base);
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

}  // namespace tiny::lower
