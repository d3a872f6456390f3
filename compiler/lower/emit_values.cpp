// SPDX-License-Identifier: MIT
#include "compiler/lower/piece_emitter.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

namespace tiny::lower {
namespace {

bool keeps_halves(Op op) { return op == Op::CAST || op == Op::BITCAST || op == Op::WHERE; }

}  // namespace

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

}  // namespace tiny::lower
