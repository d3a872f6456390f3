// SPDX-License-Identifier: MIT
#include "compiler/ir/linear.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/ir/scalar.h"

namespace tiny::ir {

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
/// Beyond this a wide range is not worth knowing, and sums of several stay inside 128 bits.
constexpr Wide kAbsurd = Wide(1) << 100;

int innermost_axis(const Node* n) {
  const AxisSet& a = n->axes();
  if (a.words[1]) return 127 - std::countl_zero(a.words[1]);
  return a.words[0] ? 63 - std::countl_zero(a.words[0]) : -1;
}

int64_t times(DType t, int64_t a, int64_t b) {
  return wrap(t, static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
}

int64_t sum(DType t, int64_t a, int64_t b) {
  return wrap(t, static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)));
}

bool term_before(const Term& a, const Term& b) { return comes_before(a.node, b.node); }

/// Sorts, merges equal terms, drops zeros.
void normalise(LinearTerms& l) {
  if (!std::is_sorted(l.terms.begin(), l.terms.end(), term_before))
    std::stable_sort(l.terms.begin(), l.terms.end(), term_before);
  size_t kept = 0;
  for (size_t i = 0; i < l.terms.size();) {
    Term t = l.terms[i++];
    while (i < l.terms.size() && l.terms[i].node == t.node)
      t.coefficient = sum(l.dtype, t.coefficient, l.terms[i++].coefficient);
    if (t.coefficient != 0) l.terms[kept++] = t;
  }
  l.terms.resize(kept);
}

/// Walks two sorted term lists in step: `take(node, coefficient in a, coefficient in b)`.
template <class Take>
void zip(const LinearTerms& a, const LinearTerms& b, Take take) {
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const Term* x = i < a.terms.size() ? &a.terms[i] : nullptr;
    const Term* y = j < b.terms.size() ? &b.terms[j] : nullptr;
    if (x && y && x->node == y->node) {
      take(x->node, x->coefficient, y->coefficient);
      ++i, ++j;
    } else if (!y || (x && term_before(*x, *y))) {
      take(x->node, x->coefficient, int64_t{0});
      ++i;
    } else {
      take(y->node, int64_t{0}, y->coefficient);
      ++j;
    }
  }
}

}  // namespace

int64_t LinearTerms::coefficient_of(const Node* n) const {
  for (const Term& t : terms)
    if (t.node == n) return t.coefficient;
  return 0;
}

bool comes_before(const Node* a, const Node* b) {
  if (a == b) return false;
  const int x = innermost_axis(a), y = innermost_axis(b);
  if (x != y) return x < y;
  return a->hash() < b->hash();
}

LinearTerms linear_terms(const Node* root) {
  LinearTerms out;
  out.dtype = root->dtype();
  std::vector<Term> stack{{root, 1}};
  while (!stack.empty()) {
    const auto [n, c] = stack.back();
    stack.pop_back();
    if (n->is_const()) {
      out.constant = sum(out.dtype, out.constant, times(out.dtype, c, n->arg().value));
    } else if (n->op() == Op::ADD) {
      stack.push_back({n->source(1), c});
      stack.push_back({n->source(0), c});
    } else if (n->op() == Op::SUB) {
      stack.push_back({n->source(1), times(out.dtype, c, -1)});
      stack.push_back({n->source(0), c});
    } else if (n->op() == Op::NEG) {
      stack.push_back({n->source(0), times(out.dtype, c, -1)});
    } else if (n->op() == Op::MUL && n->source(1)->is_const()) {
      stack.push_back({n->source(0), times(out.dtype, c, n->source(1)->arg().value)});
    } else {
      out.terms.push_back({n, c});
    }
  }
  normalise(out);
  return out;
}

const Node* build_sum(Arena& arena, const LinearTerms& l) {
  const Node* total = nullptr;
  for (const Term& t : l.terms) {
    const Node* product = arena.mul(t.node, arena.integer(t.coefficient, l.dtype));
    total = total ? arena.add(total, product) : product;
  }
  const Node* constant = arena.integer(l.constant, l.dtype);
  return total ? arena.add(total, constant) : constant;
}

LinearTerms plus(const LinearTerms& a, const LinearTerms& b, int64_t factor) {
  LinearTerms out;
  out.dtype = a.dtype;
  out.constant = sum(a.dtype, a.constant, times(a.dtype, b.constant, factor));
  zip(a, b, [&](const Node* n, int64_t x, int64_t y) {
    const int64_t c = sum(a.dtype, x, times(a.dtype, y, factor));
    if (c != 0) out.terms.push_back({n, c});
  });
  return out;
}

std::optional<LinearTerms> scaled(const LinearTerms& l, int64_t factor) {
  LinearTerms out = l;
  if (__builtin_mul_overflow(l.constant, factor, &out.constant)) return std::nullopt;
  for (Term& t : out.terms)
    if (__builtin_mul_overflow(t.coefficient, factor, &t.coefficient)) return std::nullopt;
  if (factor == 0) out.terms.clear();
  return out;
}

std::optional<LinearTerms> difference(const LinearTerms& a, const LinearTerms& b) {
  LinearTerms out;
  out.dtype = a.dtype;
  bool overflow = __builtin_sub_overflow(a.constant, b.constant, &out.constant);
  zip(a, b, [&](const Node* n, int64_t x, int64_t y) {
    int64_t c = 0;
    overflow |= __builtin_sub_overflow(x, y, &c);
    if (c != 0) out.terms.push_back({n, c});
  });
  if (overflow) return std::nullopt;
  return out;
}

std::optional<LinearTerms> divided(const LinearTerms& l, int64_t divisor) {
  LinearTerms out = l;
  if (l.constant % divisor != 0) return std::nullopt;
  out.constant /= divisor;
  for (Term& t : out.terms) {
    if (t.coefficient % divisor != 0) return std::nullopt;
    t.coefficient /= divisor;
  }
  return out;
}

std::optional<WideRange> wide_range(const LinearTerms& l) {
  WideRange r{l.constant, l.constant};
  for (const Term& t : l.terms) {
    const Interval& i = t.node->interval();
    if (l.dtype == DType::u64 && i.hi == kMax) return std::nullopt;
    const Wide a = Wide(t.coefficient) * i.lo, b = Wide(t.coefficient) * i.hi;
    r.lo += std::min(a, b);
    r.hi += std::max(a, b);
    if (r.lo < -kAbsurd || r.hi > kAbsurd) return std::nullopt;
  }
  return r;
}

bool fits(DType dtype, Wide v) {
  const Interval full = full_interval(dtype);
  return v >= full.lo && v <= full.hi;
}

bool exact(const LinearTerms& l) {
  const auto r = wide_range(l);
  return r && fits(l.dtype, r->lo) && fits(l.dtype, r->hi);
}

int64_t floor_div(int64_t a, int64_t b) {
  return static_cast<int64_t>(floor_div(Wide(a), Wide(b)));
}
int64_t floor_mod(int64_t a, int64_t b) {
  return static_cast<int64_t>(Wide(a) - floor_div(Wide(a), Wide(b)) * b);
}

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t common_divisor(const LinearTerms& l, int64_t with) {
  uint64_t g =
      static_cast<uint64_t>(with < 0 ? -static_cast<uint64_t>(with) : static_cast<uint64_t>(with));
  for (const Term& t : l.terms) {
    const uint64_t c = static_cast<uint64_t>(t.coefficient);
    g = std::gcd(g, t.coefficient < 0 ? -c : c);
  }
  return g > static_cast<uint64_t>(kMax) ? 1 : static_cast<int64_t>(g);
}

}  // namespace tiny::ir
