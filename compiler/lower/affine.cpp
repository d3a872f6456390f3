// SPDX-License-Identifier: MIT
#include "compiler/lower/affine.h"

#include <algorithm>

namespace tiny::lower {

namespace {

using ir::Node;
using ir::Op;

/// Shared sums could be walked exponentially often; beyond this they are terms as they stand.
constexpr int kMaxSteps = 4096;

int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

void add_term(Affine& out, const Node* n, int64_t coefficient) {
  for (auto& [term, c] : out.terms)
    if (term == n) {
      c = wrapping_add(c, coefficient);
      return;
    }
  out.terms.emplace_back(n, coefficient);
}

void flatten(Affine& out, const Node* root, int64_t scale) {
  std::vector<std::pair<const Node*, int64_t>> todo{{root, scale}};
  for (int steps = 0; !todo.empty(); ++steps) {
    const auto [n, c] = todo.back();
    todo.pop_back();
    const bool open = steps < kMaxSteps && n->dtype() == DType::i64;
    if (n->is_const()) {
      out.constant = wrapping_add(out.constant, wrapping_mul(c, n->arg().value));
    } else if (open && n->op() == Op::ADD) {
      todo.emplace_back(n->source(1), c);
      todo.emplace_back(n->source(0), c);
    } else if (open && n->op() == Op::SUB) {
      todo.emplace_back(n->source(1), wrapping_mul(c, -1));
      todo.emplace_back(n->source(0), c);
    } else if (open && n->op() == Op::NEG) {
      todo.emplace_back(n->source(0), wrapping_mul(c, -1));
    } else if (open && n->op() == Op::MUL && n->source(1)->is_const()) {
      todo.emplace_back(n->source(0), wrapping_mul(c, n->source(1)->arg().value));
    } else if (open && n->op() == Op::MUL && n->source(0)->is_const()) {
      todo.emplace_back(n->source(1), wrapping_mul(c, n->source(0)->arg().value));
    } else {
      add_term(out, n, c);
    }
  }
}

void drop_zeros(Affine& out) {
  std::erase_if(out.terms, [](const auto& t) { return t.second == 0; });
}

}  // namespace

int64_t Affine::coefficient(int64_t axis) const {
  for (const auto& [n, c] : terms)
    if (n->op() == Op::RANGE && n->arg().value == axis) return c;
  return 0;
}

bool Affine::tangled(int64_t axis) const {
  return std::any_of(terms.begin(), terms.end(), [&](const auto& t) {
    return t.first->op() != Op::RANGE && t.first->axes().has(axis);
  });
}

Affine affine(const Node* n) {
  Affine out;
  flatten(out, n, 1);
  drop_zeros(out);
  return out;
}

Affine difference(const Node* a, const Node* b) {
  Affine out;
  flatten(out, a, 1);
  flatten(out, b, -1);
  drop_zeros(out);
  return out;
}

}  // namespace tiny::lower
