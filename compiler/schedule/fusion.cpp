// SPDX-License-Identifier: MIT
#include "compiler/schedule/fusion.h"

#include <algorithm>
#include <optional>

namespace tiny {
namespace {

using ir::Node;
using ir::Op;
using ir::OpKind;

// Longer chains of element-wise ops are cut: code size and compile time grow with them.
constexpr int kMaxDepth = 200;
// An element-wise value this heavy (in op_weight) is worth testing for storage when it is read more
// than once.
constexpr double kHeavy = 3;

// Two kernels' loop nests in one kernel share axes, so that a tile is the best for neither: keeping
// a value instead of storing it must leave at most this part of the time.
constexpr double kWorthKeeping = 0.92;

bool is_elementwise(Op op) {
  const OpKind kind = ir::info(op).kind;
  return kind == OpKind::unary || kind == OpKind::binary || kind == OpKind::compare ||
         kind == OpKind::ternary;
}

/// Ops that are values of other nodes and never worth memory themselves.
bool is_transparent(const Node* n) {
  const OpKind kind = ir::info(n->op()).kind;
  return kind == OpKind::leaf || kind == OpKind::movement || n->op() == Op::DETACH ||
         uniform_value(n);
}

class Fuser {
 public:
  Fuser(ir::Arena& arena, std::span<const Node* const> roots, StoredSet stored,
        const Target& target, FusionOptions options)
      : arena_(arena), target_(target), options_(options), roots_(roots) {
    fusion_.stored = std::move(stored);
    order_ = ir::topological_order(roots);
    for (size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
    for (const Node* n : order_)
      for (const Node* source : n->sources()) users_[source].push_back(n);
  }

  Fusion run() {
    force();
    options_.noopt ? store_every_op() : store_candidates();
    cut_deep_chains();
    draft_all();
    if (!options_.noopt) {
      merge();
      keep_stored();
      keep_repeated();
    }
    return take();
  }

 private:
  void force();
  void store_every_op();
  void store_candidates();
  void cut_deep_chains();
  void draft_all();
  void merge();
  bool try_merge(const Node* candidate);
  bool merged_drafts_gain(const Node* candidate, const std::vector<const Node*>& users,
                          double at_most);
  void keep_stored();
  bool try_keep_stored(const Node* candidate);
  void keep_repeated();
  std::vector<const Node*> repeated_values(const Node* root) const;
  bool try_keep_repeated(const Node* root, const Node* value);
  const Node* epilogue_end(const Node* reduce) const;
  bool read_repeatedly(const Node* n) const;
  std::vector<const Node*> readers(const Node* n) const;
  double cost(const std::vector<Draft>& drafts) const;
  bool possible(const std::vector<Draft>& drafts) const;
  void store(const Node* n) { fusion_.stored.nodes.insert(n); }
  Fusion take();

  ir::Arena& arena_;
  const Target& target_;
  FusionOptions options_;
  std::span<const Node* const> roots_;
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, size_t> rank_;
  std::unordered_map<const Node*, std::vector<const Node*>> users_;
  std::unordered_set<const Node*> forced_;
  Fusion fusion_;
};

void Fuser::force() {
  auto force_one = [&](const Node* n) {
    if (n->op() == Op::PARAM || n->op() == Op::VAR) return;
    forced_.insert(n);
    store(n);
  };
  for (const Node* root : roots_) force_one(root);
  for (const Node* n : order_)
    if (n->op() == Op::CONTIGUOUS || n->op() == Op::SCATTER || n->op() == Op::COPY) force_one(n);
}

void Fuser::store_every_op() {
  for (const Node* n : order_)
    if (!is_transparent(n)) store(n);
}

/// From a reduction up through the element-wise ops that are its only readers: the last one of the
/// same size, where its value is best stored.
const Node* Fuser::epilogue_end(const Node* n) const {
  const int64_t elements = ir::element_count(n->shape());
  for (;;) {
    if (fusion_.stored.has(n)) return n;
    const auto users = users_.find(n);
    if (users == users_.end() || users->second.size() != 1) return n;
    const Node* user = users->second[0];
    const bool passes =
        is_elementwise(user->op()) || user->op() == Op::RESHAPE || user->op() == Op::DETACH;
    if (!passes || ir::element_count(user->shape()) != elements) return n;
    n = user;
  }
}

/// Read through a broadcast, a window or a gather, or by several users.
bool Fuser::read_repeatedly(const Node* n) const {
  const auto users = users_.find(n);
  if (users == users_.end()) return false;
  if (users->second.size() > 1) return true;
  const Node* user = users->second[0];
  while (!is_elementwise(user->op())) {
    if (user->op() == Op::EXPAND || user->op() == Op::WINDOW || user->op() == Op::GATHER)
      return true;
    const auto next = users_.find(user);
    if (next == users_.end() || ir::info(user->op()).kind != OpKind::movement) return false;
    if (next->second.size() > 1) return true;
    user = next->second[0];
  }
  return false;
}

void Fuser::store_candidates() {
  std::unordered_map<const Node*, double>
      weight;  // of the element-wise expression since the last reduction
  for (const Node* n : order_) {
    double w = is_elementwise(n->op()) ? op_weight(n->op()) : 0;
    if (n->op() != Op::REDUCE && !fusion_.stored.has(n))
      for (const Node* source : n->sources()) w += fusion_.stored.has(source) ? 0 : weight[source];
    weight[n] = std::min(w, 1e6);
    if (n->op() == Op::REDUCE)
      store(epilogue_end(n));
    else if (is_elementwise(n->op()) && !uniform_value(n) && weight[n] >= kHeavy &&
             read_repeatedly(n))
      store(n);
  }
}

void Fuser::cut_deep_chains() {
  std::unordered_map<const Node*, int> depth;
  for (const Node* n : order_) {
    int d = 0;
    for (const Node* source : n->sources())
      if (!fusion_.stored.has(source)) d = std::max(d, depth[source]);
    depth[n] = d + 1;
    if (d + 1 >= kMaxDepth && !is_transparent(n)) {
      store(n);
      forced_.insert(n);
    }
  }
}

void Fuser::draft_all() {
  for (const Node* n : order_)
    if (fusion_.stored.nodes.contains(n)) fusion_.drafts[n] = draft_node(arena_, fusion_.stored, n);
}

double Fuser::cost(const std::vector<Draft>& drafts) const {
  double sum = 0;
  for (const Draft& d : drafts) sum += draft_cost(d, target_);
  return sum;
}

bool Fuser::possible(const std::vector<Draft>& drafts) const {
  return std::none_of(drafts.begin(), drafts.end(),
                      [&](const Draft& d) { return draft_obstacle(d, target_) != nullptr; });
}

/// Stored nodes whose drafts load `n`.
std::vector<const Node*> Fuser::readers(const Node* n) const {
  std::vector<const Node*> result;
  for (const auto& [root, drafts] : fusion_.drafts)
    for (const Draft& d : drafts)
      if (std::find(d.reads.begin(), d.reads.end(), n) != d.reads.end()) {
        result.push_back(root);
        break;
      }
  return result;
}

/// Recomputes `candidate` inside its readers if that is cheaper than storing it.
bool Fuser::try_merge(const Node* candidate) {
  const std::vector<const Node*> users = readers(candidate);
  return !users.empty() && merged_drafts_gain(candidate, users, 1);
}

/// Drafts the users with `candidate` no longer stored. Where less than `at_most` of the cost is not
/// reached all stays as it was, but for what users keep.
bool Fuser::merged_drafts_gain(const Node* candidate, const std::vector<const Node*>& users,
                               double at_most) {
  double before = cost(fusion_.drafts.at(candidate));
  for (const Node* user : users) before += cost(fusion_.drafts.at(user));
  fusion_.stored.nodes.erase(candidate);
  std::vector<std::vector<Draft>> merged;
  double after = 0;
  bool accept = true;
  for (const Node* user : users) {
    merged.push_back(draft_node(arena_, fusion_.stored, user));
    after += cost(merged.back());
    accept = possible(merged.back()) && after < before * at_most;
    if (!accept) break;
  }
  if (!accept) {
    store(candidate);
    return false;
  }
  fusion_.drafts.erase(candidate);
  for (size_t i = 0; i < users.size(); ++i) fusion_.drafts[users[i]] = std::move(merged[i]);
  return true;
}

void Fuser::merge() {
  for (const Node* n : order_)
    if (fusion_.stored.nodes.contains(n) && !forced_.contains(n)) try_merge(n);
}

/// Readers first: what a reader keeps may read what its producer would store.
void Fuser::keep_stored() {
  for (auto n = order_.rbegin(); n != order_.rend(); ++n)
    if (fusion_.stored.nodes.contains(*n) && !forced_.contains(*n)) try_keep_stored(*n);
}

/// Keeps `candidate` in the local memory of its readers if that is cheaper than storing it.
bool Fuser::try_keep_stored(const Node* candidate) {
  const std::vector<const Node*> users = readers(candidate);
  if (users.empty()) return false;
  auto& kept = fusion_.stored.kept;
  const auto was = kept;
  const auto own = kept.find(candidate);
  for (const Node* user : users) {
    if (own != kept.end()) {
      const auto more = own->second;
      kept[user].insert(more.begin(), more.end());
    }
    kept[user].insert(candidate);
  }
  kept.erase(candidate);
  if (merged_drafts_gain(candidate, users, kWorthKeeping)) return true;
  kept = was;
  return false;
}

/// Keeps what a kernel would compute again and again.
void Fuser::keep_repeated() {
  for (const Node* root : order_) {
    if (!fusion_.stored.nodes.contains(root)) continue;
    for (const Node* value : repeated_values(root)) try_keep_repeated(root, value);
  }
}

/// What the root's kernel computes at several positions, users first. A cheap op may stand on a
/// costly fold: the kernel's cost says what is worth keeping.
std::vector<const Node*> Fuser::repeated_values(const Node* root) const {
  std::vector<const Node*> values;
  const std::vector<Draft>& drafts = fusion_.drafts.at(root);
  if (drafts.size() != 1 || drafts[0].piece.stages.empty()) return values;
  for (const auto& [n, positions] : drafts[0].visited)
    if (positions > 1 && !is_transparent(n) && op_weight(n->op()) > 0) values.push_back(n);
  std::sort(values.begin(), values.end(),
            [&](const Node* a, const Node* b) { return rank_.at(a) > rank_.at(b); });
  return values;
}

bool Fuser::try_keep_repeated(const Node* root, const Node* value) {
  std::vector<Draft>& drafts = fusion_.drafts.at(root);
  fusion_.stored.kept[root].insert(value);
  std::vector<Draft> keeping = draft_node(arena_, fusion_.stored, root);
  if (possible(keeping) && cost(keeping) < cost(drafts)) {
    drafts = std::move(keeping);
    return true;
  }
  fusion_.stored.kept[root].erase(value);
  return false;
}

Fusion Fuser::take() {
  for (const Node* n : order_)
    if (fusion_.stored.nodes.contains(n)) fusion_.order.push_back(n);
  return std::move(fusion_);
}

}  // namespace

std::vector<Draft> draft_node(ir::Arena& arena, const StoredSet& stored, const Node* n) {
  std::vector<Draft> drafts;
  if (ir::element_count(n->shape()) == 0) return drafts;
  drafts.push_back(expand(arena, stored, std::span(&n, 1)));
  if (n->op() == Op::SCATTER && ir::element_count(n->source(2)->shape()) != 0)
    drafts.push_back(expand_scatter(arena, stored, n));
  return drafts;
}

Fusion fuse(ir::Arena& arena, std::span<const Node* const> roots, StoredSet stored,
            const Target& target, FusionOptions options) {
  return Fuser(arena, roots, std::move(stored), target, options).run();
}

}  // namespace tiny
