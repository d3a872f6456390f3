// SPDX-License-Identifier: MIT
// Signs, magnitudes and conversions; what is said of floats holds for every float.
#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

/// -(-x) = x; floats (integers turn negation into a product)
const Node* double_negation(Arena&, const Node* n) {
  const Node* x = n->source(0);
  return x->op() == Op::NEG ? x->source(0) : nullptr;
}

/// |−x| = |x|, ||x|| = |x|
const Node* magnitude_of_signed(Arena& arena, const Node* n) {
  const Node* x = n->source(0);
  if (x->op() == Op::ABS) return x;
  if (x->op() == Op::NEG && is_float(n->dtype()))
    return arena.build(Op::ABS, n->dtype(), {x->source(0)});
  return nullptr;
}

/// |x| = x where x >= 0
const Node* magnitude_of_positive(Arena&, const Node* n) {
  return is_int(n->dtype()) && n->source(0)->interval().lo >= 0 ? n->source(0) : nullptr;
}

/// Does every value of x survive the conversion to t?
bool lossless(const Node* x, DType t) {
  const DType from = x->dtype();
  if (is_float(from)) {
    if (from == t || t == DType::f64) return true;
    return t == DType::f32 && from != DType::f64;
  }
  if (is_float(t)) return false;
  const Interval &i = x->interval(), full = full_interval(t);
  if (from == DType::u64 && i.hi == full_interval(from).hi) return t == DType::u64;
  return i.lo >= full.lo && i.hi <= full.hi;
}

/// cast(cast(x, wide), t) = cast(x, t), wide holds every x
const Node* cast_of_cast(Arena& arena, const Node* n) {
  const Node* middle = n->source(0);
  if (middle->op() != Op::CAST) return nullptr;
  const Node* x = middle->source(0);
  if (!lossless(x, middle->dtype())) return nullptr;
  return arena.cast(x, n->dtype());
}

/// cast(x, bool) = (x != 0); integers
const Node* cast_to_bool(Arena& arena, const Node* n) {
  const Node* x = n->source(0);
  if (n->dtype() != DType::boolean || !is_int(x->dtype())) return nullptr;
  return arena.ne(x, arena.integer(0, x->dtype()));
}

}  // namespace

void add_unary_rules(RuleSet& rules) {
  rules.add({Op::NEG}, {"-(-x) = x", double_negation});
  rules.add({Op::ABS}, {"|-x| = |x|", magnitude_of_signed});
  rules.add({Op::ABS}, {"|x| = x, x >= 0", magnitude_of_positive});
  rules.add({Op::CAST}, {"cast(cast(x, wide), t) = cast(x, t)", cast_of_cast});
  rules.add({Op::CAST}, {"cast(x, bool) = (x != 0)", cast_to_bool});
}

}  // namespace tiny::ir
