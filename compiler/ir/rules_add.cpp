// SPDX-License-Identifier: MIT
// Sums of integers: canonical order, like terms, and quotients that meet their remainders.
#include "compiler/ir/rules.h"

namespace tiny::ir {

namespace {

const Node* changed(const Node* before, const Node* after) {
  return after == before ? nullptr : after;
}

/// a - b = a + -1*b and -a = -1*a; unsigned keeps its subtraction, whose interval is better.
const Node* subtraction(Arena& arena, const Node* n) {
  if (!is_signed_int(n->dtype())) return nullptr;
  return changed(n, build_sum(arena, linear_terms(n)));
}

/// c1*x + k1 + c2*x + k2 = (c1+c2)*x + (k1+k2), terms in canonical order.
const Node* canonical_sum(Arena& arena, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  return changed(n, build_sum(arena, linear_terms(n)));
}

/// What x // b looks like once simplified, as (sum, divisor): (u//e + k) // b = (u + k*e) // (e*b).
struct Quotient {
  LinearTerms dividend;
  int64_t divisor;
};

std::vector<Quotient> quotient_forms(const LinearTerms& x, int64_t b) {
  std::vector<Quotient> forms{{x, b}};
  if (x.terms.size() != 1 || x.terms[0].coefficient != 1) return forms;
  const Node* q = x.terms[0].node;
  const int64_t e = q->op() == Op::FLOORDIV ? positive_constant(q->source(1)) : 0;
  int64_t divisor = 0, shift = 0;
  if (!e || __builtin_mul_overflow(e, b, &divisor) || __builtin_mul_overflow(e, x.constant, &shift))
    return forms;
  LinearTerms u = linear_terms(q->source(0));
  if (!exact(u) || __builtin_add_overflow(u.constant, shift, &u.constant)) return forms;
  forms.push_back({std::move(u), divisor});
  return forms;
}

/// w with t = x//b + w, where t is a quotient of the same kind; null when it is not.
std::optional<LinearTerms> offset_from_quotient(const Node* t, const std::vector<Quotient>& forms) {
  if (t->op() != Op::FLOORDIV) return std::nullopt;
  const int64_t divisor = positive_constant(t->source(1));
  for (const Quotient& form : forms) {
    if (divisor != form.divisor || !exact(form.dividend)) continue;
    const LinearTerms z = linear_terms(t->source(0));
    if (!exact(z)) continue;
    const auto gap = difference(z, form.dividend);
    if (!gap) continue;
    if (auto w = divided(*gap, divisor)) return w;
  }
  return std::nullopt;
}

/// A term c * (x % b) of a sum, b a positive constant, x exact.
struct Remainder {
  LinearTerms x;
  int64_t b;
};

std::optional<Remainder> remainder_of(const Term& t) {
  if (t.node->op() != Op::FLOORMOD) return std::nullopt;
  const int64_t b = positive_constant(t.node->source(1));
  if (!b) return std::nullopt;
  Remainder r{linear_terms(t.node->source(0)), b};
  if (!exact(r.x)) return std::nullopt;
  return r;
}

LinearTerms without(const LinearTerms& l, size_t i, size_t j) {
  LinearTerms out = l;
  out.terms.erase(out.terms.begin() + static_cast<ptrdiff_t>(std::max(i, j)));
  out.terms.erase(out.terms.begin() + static_cast<ptrdiff_t>(std::min(i, j)));
  return out;
}

/// Something congruent to l modulo b without the remainders that b makes superfluous:
/// c*(x % m) = c*x (mod b) where b divides c*m.
LinearTerms without_inner_remainders(LinearTerms l, int64_t b) {
  for (size_t i = 0; i < l.terms.size();) {
    const Term t = l.terms[i];
    const auto r = remainder_of(t);
    if (!r || Wide(t.coefficient) * r->b % b != 0) {
      ++i;
      continue;
    }
    l.terms.erase(l.terms.begin() + static_cast<ptrdiff_t>(i));
    l = plus(l, r->x, t.coefficient);
    i = 0;
  }
  return l;
}

/// Is z = x (mod b), for exact sums?
bool congruent(const LinearTerms& z, const LinearTerms& x, int64_t b) {
  const auto gap = difference(without_inner_remainders(z, b), without_inner_remainders(x, b));
  return gap && divided(*gap, b);
}

/// b*t + x%b, where t is a quotient that matches: z where t = z//b and z = x (mod b), or x + b*w
/// where t = x//b + w in another form. Null when t does not match.
std::optional<LinearTerms> met_by(const Node* t, const Remainder& r,
                                  const std::vector<Quotient>& forms) {
  if (t->op() != Op::FLOORDIV) return std::nullopt;
  if (positive_constant(t->source(1)) == r.b) {
    LinearTerms z = linear_terms(t->source(0));
    if (exact(z) && congruent(z, r.x, r.b)) return z;
  }
  const auto w = offset_from_quotient(t, forms);
  if (!w) return std::nullopt;
  return plus(r.x, *w, r.b);
}

/// c*b*(z//b) + c*(x%b) = c*z, z = x (mod b)
const Node* quotient_meets_remainder(Arena& arena, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  const LinearTerms sum = linear_terms(n);
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const int64_t c = sum.terms[i].coefficient;
    const auto r = remainder_of(sum.terms[i]);
    int64_t wanted = 0;
    if (!r || __builtin_mul_overflow(c, r->b, &wanted)) continue;
    const auto forms = quotient_forms(r->x, r->b);
    for (size_t j = 0; j < sum.terms.size(); ++j) {
      if (sum.terms[j].coefficient != wanted) continue;
      const auto met = met_by(sum.terms[j].node, *r, forms);
      if (met) return build_sum(arena, plus(without(sum, i, j), *met, c));
    }
  }
  return nullptr;
}

/// (y % b) where y = x//a + w + rest: the dividend of the joint remainder, a*rest + a*w + x.
std::optional<LinearTerms> joint_dividend(const LinearTerms& y, const Remainder& inner) {
  const auto forms = quotient_forms(inner.x, inner.b);
  for (const Term& t : y.terms) {
    if (t.coefficient != 1) continue;
    const auto w = offset_from_quotient(t.node, forms);
    if (!w) continue;
    LinearTerms rest = y;
    std::erase_if(rest.terms, [&](const Term& s) { return s.node == t.node; });
    const auto outer = scaled(plus(rest, *w), inner.b);
    if (!outer) continue;
    LinearTerms joint = plus(*outer, inner.x);
    if (exact(joint)) return joint;
  }
  return std::nullopt;
}

/// c*a*((x//a + rest) % b) + c*(x%a) = c*((x + a*rest) % (a*b))
const Node* remainders_nest(Arena& arena, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  const LinearTerms sum = linear_terms(n);
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const auto inner = remainder_of(sum.terms[i]);
    int64_t wanted = 0;
    if (!inner || __builtin_mul_overflow(sum.terms[i].coefficient, inner->b, &wanted)) continue;
    for (size_t j = 0; j < sum.terms.size(); ++j) {
      if (i == j || sum.terms[j].coefficient != wanted) continue;
      const auto outer = remainder_of(sum.terms[j]);
      int64_t modulus = 0;
      if (!outer || __builtin_mul_overflow(inner->b, outer->b, &modulus)) continue;
      if (!fits(n->dtype(), modulus)) continue;
      const auto joint = joint_dividend(outer->x, *inner);
      if (!joint) continue;
      const Node* mod =
          arena.floormod(build_sum(arena, *joint), arena.integer(modulus, n->dtype()));
      LinearTerms one;
      one.dtype = n->dtype();
      one.terms = {{mod, 1}};
      return build_sum(arena, plus(without(sum, i, j), one, sum.terms[i].coefficient));
    }
  }
  return nullptr;
}

/// The sum with terms i and j replaced by c * node and c2 * w.
const Node* replaced(Arena& arena, const LinearTerms& sum, size_t i, size_t j, const Term& with,
                     const LinearTerms& w, int64_t c2) {
  LinearTerms one;
  one.dtype = sum.dtype;
  one.terms = {{with.node, 1}};
  return build_sum(arena, plus(plus(without(sum, i, j), one, with.coefficient), w, c2));
}

/// (e*(x%m) + y) // d + (e*m/d)*(x//m) = (e*x + y) // d, d divides e*m
const Node* quotient_absorbs_remainder(Arena& arena, const Node* n) {
  if (!is_int(n->dtype())) return nullptr;
  const LinearTerms sum = linear_terms(n);
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Node* q = sum.terms[i].node;
    const int64_t d = q->op() == Op::FLOORDIV ? positive_constant(q->source(1)) : 0;
    if (!d) continue;
    const LinearTerms z = linear_terms(q->source(0));
    if (!exact(z)) continue;
    for (const Term& inner : z.terms) {
      const auto r = remainder_of(inner);
      const Wide multiple = r ? Wide(inner.coefficient) * r->b : 1;
      if (multiple % d != 0) continue;
      const Wide wanted = Wide(sum.terms[i].coefficient) * (multiple / d);
      LinearTerms whole = z;
      std::erase_if(whole.terms, [&](const Term& t) { return t.node == inner.node; });
      whole = plus(whole, r->x, inner.coefficient);
      if (!exact(whole)) continue;
      const auto forms = quotient_forms(r->x, r->b);
      for (size_t j = 0; j < sum.terms.size(); ++j) {
        if (sum.terms[j].coefficient != wanted || i == j) continue;
        const auto w = offset_from_quotient(sum.terms[j].node, forms);
        if (!w) continue;
        const Node* joint = arena.floordiv(build_sum(arena, whole), arena.integer(d, n->dtype()));
        return replaced(arena, sum, i, j, {joint, sum.terms[i].coefficient}, *w,
                        sum.terms[j].coefficient);
      }
    }
  }
  return nullptr;
}

}  // namespace

void add_sum_rules(RuleSet& rules) {
  rules.add({Op::SUB, Op::NEG}, {"a - b = a + -1*b", subtraction});
  rules.add({Op::ADD}, {"c*x + d*x = (c+d)*x, sorted", canonical_sum});
  rules.add({Op::ADD}, {"a*(z//a) + x%a = z, z = x (mod a)", quotient_meets_remainder});
  rules.add({Op::ADD},
            {"(e*(x%m) + y)//d + (e*m/d)*(x//m) = (e*x + y)//d", quotient_absorbs_remainder});
  rules.add({Op::ADD}, {"a*((x//a)%b) + x%a = x%(a*b)", remainders_nest});
}

}  // namespace tiny::ir
