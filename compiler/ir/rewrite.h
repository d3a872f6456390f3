// SPDX-License-Identifier: MIT
// The rewriter: applies a rule set bottom-up until no rule fires. Iterative, memoised, counted.
//
// A rule looks at one node whose sources are already in final form and returns an equal node, or
// null. Rules are grouped by the op they look at, so a node only meets rules that may apply.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/arena.h"

namespace tiny::ir {

struct Rule {
  const char* name;  ///< the law, as algebra
  const Node* (*apply)(Arena&, const Node*);
};

/// Rules by root op, tried in the order in which they were added.
class RuleSet {
 public:
  RuleSet& add(std::initializer_list<Op> roots, Rule);
  std::span<const uint16_t> of(Op op) const { return by_op_[static_cast<size_t>(op)]; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
  std::array<std::vector<uint16_t>, 128> by_op_;
};

/// What an arena remembers of one rule set.
struct RewriteState {
  const RuleSet* rules = nullptr;
  std::vector<const Node*> final_form;  ///< by Node::id; null where not known yet
  std::vector<uint64_t> counts;         ///< firings by rule
  /// Sees every firing; tests compare both sides here.
  std::function<void(const Rule&, const Node* before, const Node* after)> observer;
};
RewriteState& rewrite_state(Arena&, const RuleSet&);

/// "12 x + 0 = x\n…": the rules that fired, most frequent first.
std::string describe_counts(const RewriteState&);

/// The final form of `root`. A firing budget (a multiple of the nodes met) turns rules that chase
/// each other into a failed CHECK that shows the counters. Each firing is printed at DEBUG=6.
const Node* rewrite(Arena&, const RuleSet&, const Node* root);

}  // namespace tiny::ir
