// SPDX-License-Identifier: MIT
#include "compiler/schedule/jobs.h"

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <queue>

namespace tiny {
namespace {

using ir::Node;
using ir::Op;

// One kernel of many small pieces costs one launch; more text than this costs more to compile.
constexpr size_t kMaxPieces = 32;
constexpr size_t kMaxStoresPerPiece = 8;

class JobMaker {
 public:
  JobMaker(ir::Arena& arena, std::span<const Node* const> roots, std::set<const Node*> in_place,
           const Target& target, FusionOptions options)
      : arena_(arena), target_(target), options_(options), roots_(roots) {
    graph_.in_place = std::move(in_place);
  }

  JobGraph run() {
    fuse_without_hazards();
    if (!options_.noopt) {
      group_stores();
      gather_pieces();
    }
    return std::move(graph_);
  }

 private:
  void fuse_without_hazards();
  void set_memory_map();
  void give_up(const Node* assign);
  const Node* assign_in_cycle() const;
  void make();
  void depend();
  void group_stores();
  bool try_group(int into, int from);
  void gather_pieces();
  bool is_last_step(const Job& job) const;
  bool can_gather(int host, int job) const;
  bool independent(const Job& a, const Job& b) const;
  bool path(int from, int to, bool skip_direct) const;
  void absorb(int into, int from);
  static bool scatters(const Job& job);

  ir::Arena& arena_;
  const Target& target_;
  FusionOptions options_;
  std::span<const Node* const> roots_;
  Fusion fusion_;
  JobGraph graph_;
  std::map<const Node*, int> finisher_;  ///< stored node → job that finishes it
};

void JobMaker::set_memory_map() {
  fusion_.stored.memory = [this](const Node* n) {
    return graph_.in_place.contains(n) ? n->source(0) : n;
  };
}

/// Fusion with every permitted in-place write; those with a hazard are given up.
void JobMaker::fuse_without_hazards() {
  set_memory_map();
  fusion_ = fuse(arena_, roots_, fusion_.stored, target_, options_);
  const std::set<const Node*> wanted = graph_.in_place;
  for (const Node* assign : wanted) {
    const auto& drafts = fusion_.drafts.at(assign);
    if (std::any_of(drafts.begin(), drafts.end(), [](const Draft& d) { return d.in_place_hazard; }))
      give_up(assign);
  }
  make();
  while (graph_.order().size() != graph_.jobs.size()) {
    give_up(assign_in_cycle());
    make();
  }
}

/// Gives an ASSIGN memory of its own; whoever named its old place is drafted again.
void JobMaker::give_up(const Node* assign) {
  graph_.in_place.erase(assign);
  for (auto& [node, drafts] : fusion_.drafts) {
    const bool reads = std::any_of(drafts.begin(), drafts.end(), [&](const Draft& d) {
      return std::find(d.reads.begin(), d.reads.end(), assign) != d.reads.end();
    });
    if (node == assign || reads) drafts = draft_node(arena_, fusion_.stored, node);
  }
}

void JobMaker::make() {
  graph_.jobs.clear();
  finisher_.clear();
  for (const Node* n : fusion_.order) {
    const auto& drafts = fusion_.drafts.at(n);
    for (size_t part = 0; part < drafts.size(); ++part) {
      Job job;
      job.drafts.push_back(drafts[part]);
      if (part > 0)
        job.after.insert(int(graph_.jobs.size()) - 1);  // a SCATTER's updates follow its base
      if (part + 1 == drafts.size()) {
        job.roots.push_back(n);
        finisher_[n] = int(graph_.jobs.size());
      }
      graph_.jobs.push_back(std::move(job));
    }
  }
  depend();
}

/// Read-after-write and write-after-read edges.
void JobMaker::depend() {
  for (int j = 0; j < int(graph_.jobs.size()); ++j)
    for (const Draft& draft : graph_.jobs[j].drafts)
      for (const Node* read : draft.reads)
        if (const auto it = finisher_.find(read); it != finisher_.end() && it->second != j)
          graph_.jobs[j].after.insert(it->second);
  for (const Node* assign : graph_.in_place) {
    const auto writer = finisher_.find(assign);
    if (writer == finisher_.end()) continue;
    for (int j = 0; j < int(graph_.jobs.size()); ++j)
      for (const Draft& draft : graph_.jobs[j].drafts)
        if (j != writer->second &&
            std::count(draft.reads.begin(), draft.reads.end(), assign->source(0)))
          graph_.jobs[writer->second].after.insert(j);
  }
}

/// Only in-place writes can make a cycle: the first of those that could not be ordered, by job
/// number (the set is in order of addresses, which differ from run to run).
const Node* JobMaker::assign_in_cycle() const {
  const std::vector<int> order = graph_.order();
  const std::set<int> ordered(order.begin(), order.end());
  const Node* first = nullptr;
  int number = int(graph_.jobs.size());
  for (const Node* assign : graph_.in_place) {
    const auto it = finisher_.find(assign);
    if (it == finisher_.end() || ordered.contains(it->second) || it->second >= number) continue;
    first = assign;
    number = it->second;
  }
  CHECK_INVARIANT(first, "a cycle without in-place writes");
  return first;
}

/// Whether `to` must come after `from`; with skip_direct, through at least one other job.
bool JobMaker::path(int from, int to, bool skip_direct) const {
  std::vector<int> stack;
  std::set<int> seen;
  for (const int before : graph_.jobs[to].after)
    if (!(skip_direct && before == from)) stack.push_back(before);
  while (!stack.empty()) {
    const int j = stack.back();
    stack.pop_back();
    if (j == from) return true;
    if (!seen.insert(j).second) continue;
    for (const int before : graph_.jobs[j].after) stack.push_back(before);
  }
  return false;
}

/// `from` becomes part of `into`: its edges move along.
void JobMaker::absorb(int into, int from) {
  Job &a = graph_.jobs[into], &b = graph_.jobs[from];
  a.roots.insert(a.roots.end(), b.roots.begin(), b.roots.end());
  a.after.insert(b.after.begin(), b.after.end());
  a.after.erase(into);
  a.after.erase(from);
  b.gone = true;
  b.after.clear();
  for (Job& job : graph_.jobs)
    if (job.after.erase(from)) job.after.insert(into);
  a.after.erase(into);
  for (auto& [node, job] : finisher_)
    if (job == from) job = into;
}

/// Its stores are not over the root's own positions.
bool JobMaker::scatters(const Job& job) {
  return std::any_of(job.roots.begin(), job.roots.end(),
                     [](const Node* n) { return n->op() == Op::SCATTER; });
}

/// Stores over one domain that share reads, or where one reads the other at the same position.
bool JobMaker::try_group(int into, int from) {
  Job &a = graph_.jobs[into], &b = graph_.jobs[from];
  if (a.gone || b.gone || a.roots.empty() || b.roots.empty()) return false;
  if (a.drafts.size() != 1 || b.drafts.size() != 1) return false;
  if (a.roots[0]->shape() != b.roots[0]->shape()) return false;
  if (scatters(a) || scatters(b)) return false;
  if (a.roots.size() + b.roots.size() > kMaxStoresPerPiece) return false;
  const auto& reads = a.drafts[0].reads;
  const bool related =
      b.after.contains(into) ||
      std::any_of(b.drafts[0].reads.begin(), b.drafts[0].reads.end(), [&](const Node* n) {
        return std::find(reads.begin(), reads.end(), n) != reads.end();
      });
  if (!related || path(into, from, true) || path(from, into, false)) return false;
  std::vector<const Node*> roots = a.roots;
  roots.insert(roots.end(), b.roots.begin(), b.roots.end());
  Draft both = expand(arena_, fusion_.stored, roots);
  if (both.in_place_hazard || draft_obstacle(both, target_)) return false;
  if (draft_cost(both, target_) >=
      draft_cost(a.drafts[0], target_) + draft_cost(b.drafts[0], target_))
    return false;
  a.drafts[0] = std::move(both);
  absorb(into, from);
  return true;
}

void JobMaker::group_stores() {
  const std::vector<int> order = graph_.order();
  for (size_t j = 1; j < order.size(); ++j)
    for (size_t i = j; i-- > 0;)
      if (try_group(order[i], order[j])) break;
}

bool JobMaker::independent(const Job& a, const Job& b) const {
  auto touches = [](const Job& job, const Node* memory) {
    return std::any_of(job.drafts.begin(), job.drafts.end(), [&](const Draft& d) {
      return std::find(d.memories.begin(), d.memories.end(), memory) != d.memories.end();
    });
  };
  auto conflicts = [&](const Job& writer, const Job& other) {
    for (const Draft& d : writer.drafts)
      for (size_t i = 0; i < d.buffers.size(); ++i)
        if (d.buffers[i].written && touches(other, d.memories[i])) return true;
    return false;
  };
  return !conflicts(a, b) && !conflicts(b, a);
}

/// Nothing in the graph reads what the job stores, and it reduces nothing.
bool JobMaker::is_last_step(const Job& job) const {
  if (job.drafts.empty() || job.roots.empty() || scatters(job)) return false;
  for (const Draft& d : job.drafts)
    if (!d.piece.stages.empty()) return false;
  for (const Job& other : graph_.jobs)
    for (const Draft& d : other.drafts)
      for (const Node* root : job.roots)
        if (!other.gone && &other != &job && std::count(d.reads.begin(), d.reads.end(), root))
          return false;
  return true;
}

/// Element-wise jobs whose results only leave the graph (an optimizer's step over many tensors)
/// become pieces of one kernel, as far as order and memory allow.
void JobMaker::gather_pieces() {
  std::vector<int> hosts;
  for (const int j : graph_.order()) {
    Job& job = graph_.jobs[j];
    if (!is_last_step(job)) continue;
    const auto host =
        std::find_if(hosts.begin(), hosts.end(), [&](int h) { return can_gather(h, j); });
    if (host == hosts.end()) {
      hosts.push_back(j);
      continue;
    }
    Job& into = graph_.jobs[*host];
    for (Draft& d : job.drafts) into.drafts.push_back(std::move(d));
    absorb(*host, j);
  }
}

bool JobMaker::can_gather(int host, int job) const {
  const Job &a = graph_.jobs[host], &b = graph_.jobs[job];
  size_t buffers = 0;
  for (const Job* j : {&a, &b})
    for (const Draft& d : j->drafts) buffers += d.buffers.size();
  return a.drafts.size() + b.drafts.size() <= kMaxPieces && buffers <= target_.max_buffers &&
         independent(a, b) && !path(host, job, false) && !path(job, host, false);
}

}  // namespace

std::vector<int> JobGraph::order() const {
  std::vector<std::vector<int>> next(jobs.size());
  std::vector<size_t> waiting(jobs.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int j = 0; j < int(jobs.size()); ++j) {
    if (jobs[j].gone) continue;
    waiting[j] = jobs[j].after.size();
    for (const int before : jobs[j].after) next[before].push_back(j);
    if (waiting[j] == 0) ready.push(j);
  }
  std::vector<int> result;
  while (!ready.empty()) {
    const int j = ready.top();
    ready.pop();
    result.push_back(j);
    for (const int after : next[j])
      if (--waiting[after] == 0) ready.push(after);
  }
  return result;
}

JobGraph make_jobs(ir::Arena& arena, std::span<const Node* const> roots,
                   std::set<const Node*> in_place, const Target& target, FusionOptions options) {
  return JobMaker(arena, roots, std::move(in_place), target, options).run();
}

}  // namespace tiny
