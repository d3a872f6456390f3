// SPDX-License-Identifier: MIT
// Floor division and remainder by positive constants: congruence, gcd, mixed radix, nesting.
#include <algorithm>

#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

/// x // d or x % d with x an exact sum and d a positive constant.
struct Division {
  LinearTerms x;
  int64_t d;
};

std::optional<Division> division(const Node* n) {
  const int64_t d = positive_constant(n->source(1));
  if (!d) return std::nullopt;
  Division out{linear_terms(n->source(0)), d};
  if (!exact(out.x)) return std::nullopt;
  return out;
}

const Node* quotient_node(Arena& arena, const LinearTerms& x, int64_t d) {
  return arena.floordiv(build_sum(arena, x), arena.integer(d, x.dtype));
}

const Node* remainder_node(Arena& arena, const LinearTerms& x, int64_t d) {
  return arena.floormod(build_sum(arena, x), arena.integer(d, x.dtype));
}

/// The one quotient of every value of x by d; null when there are several.
std::optional<Wide> only_quotient(const LinearTerms& x, int64_t d) {
  const auto r = wide_range(x);
  if (!r) return std::nullopt;
  const Wide q = floor_div(r->lo, Wide(d));
  if (q != floor_div(r->hi, Wide(d))) return std::nullopt;
  return q;
}

/// Coefficients modulo d, in [0, d); those of terms in `negative` (bits by position) less d.
LinearTerms residue(const LinearTerms& x, int64_t d, uint32_t negative = 0) {
  LinearTerms out;
  out.dtype = x.dtype;
  out.constant = x.constant;
  for (const Term& t : x.terms) {
    const int64_t c = floor_mod(t.coefficient, d);
    if (c == 0) continue;
    const bool below = out.terms.size() < 32 && negative >> out.terms.size() & 1;
    out.terms.push_back({t.node, below ? c - d : c});
  }
  return out;
}

/// The choice of `negative` that makes every residue as small as can be.
uint32_t nearest_to_zero(const LinearTerms& x, int64_t d) {
  const LinearTerms positive = residue(x, d);
  uint32_t nearest = 0;
  for (size_t i = 0; i < std::min<size_t>(positive.terms.size(), 32); ++i)
    if (positive.terms[i].coefficient > d - positive.terms[i].coefficient) nearest |= 1u << i;
  return nearest;
}

/// x = d*a + r with r between q*d and q*d + d - 1 for one q: what r is, and that q.
struct Congruent {
  LinearTerms r;
  int64_t q = 0;
};

/// Tries every choice of signs of the residues while they are few.
std::optional<Congruent> congruent(const LinearTerms& x, int64_t d) {
  constexpr size_t kMostTerms = 5;
  const size_t count = residue(x, d).terms.size();
  const uint32_t nearest = nearest_to_zero(x, d);
  const uint32_t choices = count <= kMostTerms ? 1u << count : 1;
  for (uint32_t flipped = 0; flipped < choices; ++flipped) {
    LinearTerms r = residue(x, d, nearest ^ flipped);
    const auto q = only_quotient(r, d);
    if (q && fits(DType::i64, *q)) return Congruent{std::move(r), static_cast<int64_t>(*q)};
  }
  return std::nullopt;
}

/// (d*a + r) // d = a + q, q*d <= r < q*d + d
const Node* quotient_by_congruence(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  const auto c = congruent(div->x, div->d);
  if (!c) return nullptr;
  const auto multiple = difference(div->x, c->r);
  if (!multiple) return nullptr;
  auto a = divided(*multiple, div->d);
  if (!a || __builtin_add_overflow(a->constant, c->q, &a->constant)) return nullptr;
  return build_sum(arena, *a);
}

/// (d*a + r) % d = r - q*d, q*d <= r < q*d + d
const Node* remainder_by_congruence(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  auto c = congruent(div->x, div->d);
  int64_t multiple = 0;
  if (!c || __builtin_mul_overflow(c->q, div->d, &multiple) ||
      __builtin_sub_overflow(c->r.constant, multiple, &c->r.constant))
    return nullptr;
  return build_sum(arena, c->r);
}

/// (d*a + x + k) // d = a + (x + k%d) // d + k//d
const Node* multiples_leave_quotient(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  LinearTerms inside, outside;
  inside.dtype = outside.dtype = n->dtype();
  inside.constant = floor_mod(div->x.constant, div->d);
  outside.constant = floor_div(div->x.constant, div->d);
  for (const Term& t : div->x.terms) {
    if (t.coefficient % div->d == 0)
      outside.terms.push_back({t.node, t.coefficient / div->d});
    else
      inside.terms.push_back(t);
  }
  if ((outside.terms.empty() && outside.constant == 0) || !exact(inside)) return nullptr;
  return arena.add(quotient_node(arena, inside, div->d), build_sum(arena, outside));
}

/// (d*a + c*x + k) % d = ((c%d)*x + k%d) % d
const Node* multiples_leave_remainder(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  LinearTerms r = residue(div->x, div->d);
  r.constant = floor_mod(r.constant, div->d);
  if (!exact(r)) return nullptr;
  const Node* after = remainder_node(arena, r, div->d);
  return after == n ? nullptr : after;
}

/// x = g*a + r where r stays in [0, g).
struct Split {
  LinearTerms a, r;
};

/// The split of x at g whose rest is `c.r`, up to q multiples of g.
std::optional<Split> split_at(const LinearTerms& x, int64_t g, const Congruent& c) {
  const auto multiple = difference(x, c.r);
  if (!multiple) return std::nullopt;
  auto a = divided(*multiple, g);
  int64_t offset = 0;
  if (!a || __builtin_add_overflow(a->constant, c.q, &a->constant) ||
      __builtin_mul_overflow(c.q, g, &offset))
    return std::nullopt;
  Split s{std::move(*a), c.r};
  if (__builtin_sub_overflow(s.r.constant, offset, &s.r.constant)) return std::nullopt;
  if (s.a.terms.empty() || !exact(s.a)) return std::nullopt;
  return s;
}

/// Terms divisible by g on one side, the others whole on the other; null where those are too wide.
std::optional<Split> split_whole(const LinearTerms& x, int64_t g) {
  Congruent c;
  c.r.dtype = x.dtype;
  c.r.constant = x.constant;
  for (const Term& t : x.terms)
    if (t.coefficient % g != 0) c.r.terms.push_back(t);
  const auto q = only_quotient(c.r, g);
  if (!q || !fits(DType::i64, *q)) return std::nullopt;
  c.q = static_cast<int64_t>(*q);
  return split_at(x, g, c);
}

/// Common factors of d with the coefficients, largest first: radixes at which x may split.
std::vector<int64_t> radixes(const LinearTerms& x, int64_t d) {
  std::vector<int64_t> found;
  for (const Term& t : x.terms) {
    LinearTerms one;
    one.terms = {t};
    const int64_t g = common_divisor(one, d);
    if (g > 1 && g < d) found.push_back(g);
  }
  if (const int64_t g = common_divisor(x, d); g > 1 && g < d) found.push_back(g);
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// (g*a + r) // (g*e) = a // e, 0 <= r < g
const Node* quotient_by_radix(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  for (int64_t g : radixes(div->x, div->d)) {
    auto s = split_whole(div->x, g);
    if (const auto c = s ? std::nullopt : congruent(div->x, g)) s = split_at(div->x, g, *c);
    if (s) return quotient_node(arena, s->a, div->d / g);
  }
  return nullptr;
}

/// (g*a + r) % (g*e) = g*(a % e) + r, 0 <= r < g
const Node* remainder_by_radix(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  const LinearTerms x = residue(div->x, div->d, nearest_to_zero(div->x, div->d));
  for (int64_t g : radixes(x, div->d)) {
    const auto s = split_whole(x, g);
    if (!s) continue;
    const Node* high =
        arena.mul(remainder_node(arena, s->a, div->d / g), arena.integer(g, n->dtype()));
    return arena.add(high, build_sum(arena, s->r));
  }
  return nullptr;
}

/// (x//a + k) // b = (x + k*a) // (a*b)
const Node* nested_quotient(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div || div->x.terms.size() != 1 || div->x.terms[0].coefficient != 1) return nullptr;
  const Node* inner = div->x.terms[0].node;
  if (inner->op() != Op::FLOORDIV) return nullptr;
  const int64_t a = positive_constant(inner->source(1));
  int64_t shift = 0, divisor = 0;
  if (!a || __builtin_mul_overflow(a, div->x.constant, &shift) ||
      __builtin_mul_overflow(a, div->d, &divisor) || !fits(n->dtype(), divisor))
    return nullptr;
  LinearTerms x = linear_terms(inner->source(0));
  if (!exact(x) || __builtin_add_overflow(x.constant, shift, &x.constant) || !exact(x))
    return nullptr;
  return quotient_node(arena, x, divisor);
}

/// (x % (a*b)) // a = (x // a) % b
const Node* quotient_of_remainder(Arena& arena, const Node* n) {
  const Node* mod = n->source(0);
  const int64_t a = positive_constant(n->source(1));
  if (!a || mod->op() != Op::FLOORMOD) return nullptr;
  const int64_t m = positive_constant(mod->source(1));
  if (!m || m % a != 0) return nullptr;
  const Node* q = arena.floordiv(mod->source(0), n->source(1));
  return arena.floormod(q, arena.integer(m / a, n->dtype()));
}

/// (c*(x % m) + y) % d = (c*x + y) % d, d divides c*m
const Node* inner_remainder_leaves(Arena& arena, const Node* n) {
  const auto div = division(n);
  if (!div) return nullptr;
  for (const Term& t : div->x.terms) {
    if (t.node->op() != Op::FLOORMOD) continue;
    const int64_t m = positive_constant(t.node->source(1));
    if (!m || Wide(t.coefficient) * m % div->d != 0) continue;
    const LinearTerms inside = linear_terms(t.node->source(0));
    if (!exact(inside)) continue;
    LinearTerms one;
    one.dtype = n->dtype();
    one.terms = {{t.node, 1}};
    const LinearTerms whole = plus(plus(div->x, one, -t.coefficient), inside, t.coefficient);
    if (exact(whole)) return remainder_node(arena, whole, div->d);
  }
  return nullptr;
}

/// x // -d = (-x) // d
const Node* negative_divisor(Arena& arena, const Node* n) {
  const Node* d = n->source(1);
  if (!d->is_const() || !is_signed_int(n->dtype()) || d->arg().value >= 0) return nullptr;
  const LinearTerms x = linear_terms(n->source(0));
  if (!exact(x) || !fits(n->dtype(), -Wide(d->arg().value))) return nullptr;
  const auto minus = scaled(x, -1);
  if (!minus || !exact(*minus)) return nullptr;
  return quotient_node(arena, *minus, -d->arg().value);
}

bool non_negative(const Node* n) { return n->interval().lo >= 0; }

/// idiv(x, y) = x // y, x >= 0, y >= 0
const Node* truncated_quotient(Arena& arena, const Node* n) {
  if (!non_negative(n->source(0)) || !non_negative(n->source(1))) return nullptr;
  return arena.floordiv(n->source(0), n->source(1));
}

/// imod(x, y) = x % y, x >= 0, y >= 0
const Node* truncated_remainder(Arena& arena, const Node* n) {
  if (!non_negative(n->source(0)) || !non_negative(n->source(1))) return nullptr;
  return arena.floormod(n->source(0), n->source(1));
}

}  // namespace

void add_division_rules(RuleSet& rules) {
  rules.add({Op::FLOORDIV}, {"(d*a + r)//d = a + q, q*d <= r < (q+1)*d", quotient_by_congruence});
  rules.add({Op::FLOORDIV}, {"(d*a + x)//d = a + x//d", multiples_leave_quotient});
  rules.add({Op::FLOORDIV}, {"(g*a + r)//(g*e) = a//e, 0 <= r < g", quotient_by_radix});
  rules.add({Op::FLOORDIV}, {"(x//a + k)//b = (x + k*a)//(a*b)", nested_quotient});
  rules.add({Op::FLOORDIV}, {"(x % (a*b))//a = (x//a) % b", quotient_of_remainder});
  rules.add({Op::FLOORDIV}, {"x // -d = (-x)//d", negative_divisor});
  rules.add({Op::FLOORMOD}, {"(d*a + r)%d = r - q*d, q*d <= r < (q+1)*d", remainder_by_congruence});
  rules.add({Op::FLOORMOD}, {"(c*x + k)%d = ((c%d)*x + k%d)%d", multiples_leave_remainder});
  rules.add({Op::FLOORMOD}, {"(c*(x%m) + y)%d = (c*x + y)%d, d | c*m", inner_remainder_leaves});
  rules.add({Op::FLOORMOD}, {"(g*a + r)%(g*e) = g*(a%e) + r, 0 <= r < g", remainder_by_radix});
  rules.add({Op::IDIV}, {"idiv(x, y) = x//y, x >= 0, y >= 0", truncated_quotient});
  rules.add({Op::IMOD}, {"imod(x, y) = x%y, x >= 0, y >= 0", truncated_remainder});
}

}  // namespace tiny::ir
