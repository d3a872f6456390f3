// SPDX-License-Identifier: MIT
#include "compiler/lower/decompose.h"

#include <rt_tiny/runtime/base/error.h>

#include <unordered_map>

#include "compiler/lower/decompose_ops.h"

namespace tiny::lower {

namespace {

using ir::Op;

Value required(const Builder& b, Op op, DType result, std::span<const Value> s) {
  std::vector<const ir::Node*> sources;
  for (const Value& v : s) sources.push_back(v.node);
  return {&b, b.arena.build(op, result, std::move(sources))};
}

Value decompose_unary(Op op, Value x) {
  switch (op) {
    case Op::ABS:
      return absolute(x);
    case Op::EXP:
      return exp(x);
    case Op::EXP2:
      return exp2(x);
    case Op::LOG:
      return log(x);
    case Op::LOG2:
      return log2(x);
    case Op::SIN:
      return sin(x);
    case Op::COS:
      return cos(x);
    case Op::TANH:
      return tanh(x);
    case Op::ERF:
      return erf(x);
    case Op::FLOOR:
      return floor(x);
    case Op::CEIL:
      return ceil(x);
    default:
      CHECK_INVARIANT(op == Op::ROUND, std::string(ir::info(op).name) + " has no decomposition");
      return round_half_even(x);
  }
}

Value decompose_binary(Op op, Value a, Value b) {
  switch (op) {
    case Op::FLOORDIV:
      return floor_divide(a, b);
    case Op::FLOORMOD:
      return floor_remainder(a, b);
    case Op::FMOD:
      return fmod(a, b);
    case Op::POW:
      return is_float(a.dtype()) ? pow(a, b) : integer_power(a, b);
    case Op::MIN:
      return minimum(a, b);
    case Op::THREEFRY:
      return threefry(a, b);
    default:
      CHECK_INVARIANT(op == Op::CMPLE, std::string(ir::info(op).name) + " has no decomposition");
      return less_equal(a, b);
  }
}

/// Whether this op on f16 or bf16 is arithmetic that the target leaves to f32.
bool through_single(const Target& target, Op op, DType t) {
  if (t != DType::f16 && t != DType::bf16) return false;
  if (op == Op::WHERE || op == Op::CAST || op == Op::BITCAST) return false;
  const bool native = t == DType::f16 ? target.has_f16_math : target.has_bf16_math;
  return !native || !ir::info(op).required;
}

/// The op on f32 operands, rounded back: one rounding an op, whether fused or not.
Value in_single(const Builder& b, Op op, DType result, std::span<const Value> s) {
  std::vector<Value> wide;
  for (const Value& v : s) wide.push_back(convert(v, DType::f32));
  if (result == DType::boolean) return decompose_op(b, op, result, wide);
  return convert(decompose_op(b, op, DType::f32, wide), result);
}

bool element_wise(const ir::Node* n) {
  switch (ir::info(n->op()).kind) {
    case ir::OpKind::unary:
    case ir::OpKind::binary:
    case ir::OpKind::compare:
    case ir::OpKind::ternary:
      return true;
    default:
      return false;
  }
}

/// Leaves, loads and stages keep their kind; only their sources change.
Value rebuild(const Builder& b, const ir::Node* n, std::vector<const ir::Node*> sources) {
  CHECK_INVARIANT(ir::info(n->op()).required,
                  std::string(ir::info(n->op()).name) + " inside a kernel expression");
  return {&b, b.arena.make(n->op(), n->dtype(), std::move(sources), n->arg())};
}

using Memo = std::unordered_map<const ir::Node*, const ir::Node*>;

const ir::Node* rewrite(const Builder& b, const ir::Node* n, const Memo& memo) {
  std::vector<const ir::Node*> sources;
  std::vector<Value> operands;
  for (const ir::Node* s : n->sources()) {
    sources.push_back(memo.at(s));
    operands.push_back({&b, sources.back()});
  }
  if (!element_wise(n)) return rebuild(b, n, std::move(sources)).node;
  return decompose_op(b, n->op(), n->dtype(), operands).node;
}

}  // namespace

Value decompose_op(const Builder& b, Op op, DType result, std::span<const Value> s) {
  if (through_single(b.target, op, s[0].dtype())) return in_single(b, op, result, s);
  if (op == Op::CAST) return convert(s[0], result);
  if (ir::info(op).required) return required(b, op, result, s);
  return s.size() == 1 ? decompose_unary(op, s[0]) : decompose_binary(op, s[0], s[1]);
}

std::vector<const ir::Node*> decompose(ir::Arena& arena, std::span<const ir::Node* const> roots,
                                       const Target& target) {
  const Builder builder{arena, target};
  Memo memo;
  for (const ir::Node* n : ir::topological_order(roots)) memo.emplace(n, rewrite(builder, n, memo));
  std::vector<const ir::Node*> results;
  for (const ir::Node* root : roots) results.push_back(memo.at(root));
  return results;
}

const ir::Node* decompose(ir::Arena& arena, const ir::Node* root, const Target& target) {
  return decompose(arena, std::span(&root, 1), target).front();
}

}  // namespace tiny::lower
