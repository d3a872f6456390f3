// SPDX-License-Identifier: MIT
#include "compiler/ir/rewrite.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/log.h>

#include <algorithm>
#include <numeric>

#include "compiler/ir/text.h"

namespace tiny::ir {

namespace {

constexpr uint64_t kFiringsPerNode = 200;
constexpr uint64_t kFreeFirings = 10000;

class Rewriter {
 public:
  Rewriter(Arena& arena, RewriteState& state)
      : arena_(arena), state_(state), logged_(log_enabled(6, "ir/rewrite")) {}

  const Node* run(const Node* root) {
    push(root);
    while (!stack_.empty()) step();
    return known(root);
  }

 private:
  /// A node on its way: first its sources are finished, then it, or the node that replaces it.
  struct Frame {
    const Node* node;
    const Node* replacement;
    bool opened;
  };

  const Node* known(const Node* n) const {
    return n->id() < state_.final_form.size() ? state_.final_form[n->id()] : nullptr;
  }

  void finish(const Node* n, const Node* form) {
    if (state_.final_form.size() <= n->id())
      state_.final_form.resize(std::max<size_t>(arena_.size(), n->id() + 1));
    state_.final_form[n->id()] = form;
    stack_.pop_back();
  }

  void push(const Node* n) {
    if (known(n)) return;
    ++met_;
    stack_.push_back({n, nullptr, false});
  }

  void step() {
    Frame& top = stack_.back();
    const Node* n = top.node;
    if (const Node* form = known(n)) return finish(n, form);
    if (top.replacement) return finish(n, known(top.replacement));
    if (!top.opened) {
      top.opened = true;
      for (const Node* s : n->sources()) push(s);  // `top` may dangle from here on
      if (stack_.back().node != n) return;
    }
    const Node* next = with_final_sources(n);
    if (next == n) next = fire(n);
    if (next == n) return finish(n, n);
    if (const Node* form = known(next)) return finish(n, form);
    stack_.back().replacement = next;
    push(next);
  }

  const Node* with_final_sources(const Node* n) {
    bool changed = false;
    for (const Node* s : n->sources()) changed |= known(s) != s;
    if (!changed) return n;
    std::vector<const Node*> sources;
    sources.reserve(n->sources().size());
    for (const Node* s : n->sources()) sources.push_back(known(s));
    return arena_.build(n->op(), n->dtype(), std::move(sources), n->arg());
  }

  const Node* fire(const Node* n) {
    for (uint16_t index : state_.rules->of(n->op())) {
      const Rule& rule = state_.rules->rules()[index];
      const Node* after = rule.apply(arena_, n);
      if (!after || after == n) continue;
      ++state_.counts[index];
      ++fired_;
      if (state_.observer) state_.observer(rule, n, after);
      if (logged_)
        log_line("ir/rewrite", fmt::format("{}: {} -> {}", rule.name, pretty(n), pretty(after)));
      CHECK_INVARIANT(fired_ < kFreeFirings + kFiringsPerNode * met_,
                      "[rewrite] budget spent:\n" + describe_counts(state_));
      return after;
    }
    return n;
  }

  Arena& arena_;
  RewriteState& state_;
  bool logged_;
  std::vector<Frame> stack_;
  uint64_t met_ = 0, fired_ = 0;
};

}  // namespace

RuleSet& RuleSet::add(std::initializer_list<Op> roots, Rule rule) {
  for (Op op : roots)
    by_op_[static_cast<size_t>(op)].push_back(static_cast<uint16_t>(rules_.size()));
  rules_.push_back(rule);
  return *this;
}

RewriteState& rewrite_state(Arena& arena, const RuleSet& rules) {
  for (auto& state : arena.rewrites_)
    if (state->rules == &rules) return *state;
  arena.rewrites_.push_back(std::make_unique<RewriteState>());
  RewriteState& state = *arena.rewrites_.back();
  state.rules = &rules;
  state.counts.resize(rules.rules().size());
  return state;
}

std::string describe_counts(const RewriteState& state) {
  std::vector<size_t> order(state.counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return state.counts[a] > state.counts[b]; });
  std::string text;
  for (size_t i : order)
    if (state.counts[i])
      text += fmt::format("{:8} {}\n", state.counts[i], state.rules->rules()[i].name);
  return text;
}

const Node* rewrite(Arena& arena, const RuleSet& rules, const Node* root) {
  return Rewriter(arena, rewrite_state(arena, rules)).run(root);
}

}  // namespace tiny::ir
