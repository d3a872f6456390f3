// SPDX-License-Identifier: MIT
#include "compiler/schedule/schedule.h"

#include <rt_tiny/runtime/base/error.h>
#include "compiler/schedule/classes.h"
#include "compiler/schedule/jobs.h"
#include "compiler/schedule/memory_plan.h"
#include "compiler/schedule/renumber.h"
#include "compiler/schedule/split_reduce.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny {
namespace {

using ir::Node;
using ir::Op;

/// "r_512_10_k_784": r where something is reduced, e otherwise; the domain, then what is folded (k)
/// or kept in local memory (l).
std::string kernel_name(const Kernel& kernel) {
  const Piece& piece = kernel.pieces[0];
  std::string name = piece.stages.empty() ? "e" : "r";
  if (!piece.sequential.empty()) name = "scatter";
  for (const int axis : piece.domain) name += fmt::format("_{}", piece.axes[axis].extent);
  for (const Stage& stage : piece.stages) {
    name += stage.placement == Placement::local ? "_l" : "_k";
    for (const int axis : stage.own_axes) name += fmt::format("_{}", piece.axes[axis].extent);
    for (const int axis : stage.reduce_axes) name += fmt::format("_{}", piece.axes[axis].extent);
  }
  if (kernel.pieces.size() > 1) name += fmt::format("_and_{}_more", kernel.pieces.size() - 1);
  constexpr size_t kMaxName = 64;
  return name.size() > kMaxName ? name.substr(0, kMaxName) : name;
}

class Planner {
 public:
  Planner(const ImportedGraph& graph, JobGraph jobs) : graph_(graph), jobs_(std::move(jobs)) {}

  Plan run() {
    number_inputs();
    number_roots();
    for (const int j : jobs_.order()) add_step(jobs_.jobs[j]);
    place_temporaries();
    return std::move(plan_);
  }

 private:
  void number_inputs();
  void number_roots();
  int add_buffer(const Node* n, PlanBuffer::Kind kind, int slot);
  int buffer_of(const Node* memory);
  void add_step(Job& job);
  void append_piece(Draft& draft, Kernel& kernel, PlanStep& step);
  void place_temporaries();

  const ImportedGraph& graph_;
  JobGraph jobs_;
  Plan plan_;
  std::unordered_map<const Node*, int> buffers_;
};

int Planner::add_buffer(const Node* n, PlanBuffer::Kind kind, int slot) {
  PlanBuffer b;
  b.kind = kind;
  b.slot = slot;
  b.dtype = n->dtype();
  b.shape = n->shape();
  plan_.buffers.push_back(std::move(b));
  return buffers_[n] = int(plan_.buffers.size()) - 1;
}

void Planner::number_inputs() {
  for (const Node* n : ir::topological_order(graph_.roots))
    if (n->op() == Op::PARAM) add_buffer(n, PlanBuffer::Kind::input, int(n->arg().value));
}

void Planner::number_roots() {
  for (size_t i = 0; i < graph_.roots.size(); ++i) {
    const Node* root = graph_.roots[i];
    auto it = buffers_.find(root);
    const int id =
        it != buffers_.end() ? it->second : add_buffer(root, PlanBuffer::Kind::output, int(i));
    if (jobs_.in_place.contains(root)) plan_.buffers[id].in_place_of = buffers_.at(root->source(0));
    plan_.roots.push_back(id);
  }
}

int Planner::buffer_of(const Node* memory) {
  const auto it = buffers_.find(memory);
  return it != buffers_.end() ? it->second : add_buffer(memory, PlanBuffer::Kind::temporary, 0);
}

/// Renumbers a draft's buffers into the kernel's.
void Planner::append_piece(Draft& draft, Kernel& kernel, PlanStep& step) {
  std::unordered_map<int64_t, int64_t> renumbered;
  for (size_t i = 0; i < draft.buffers.size(); ++i) {
    const int id = buffer_of(draft.memories[i]);
    auto at = std::find(step.buffers.begin(), step.buffers.end(), id);
    if (at == step.buffers.end()) {
      step.buffers.push_back(id);
      kernel.buffers.push_back(draft.buffers[i]);
      at = step.buffers.end() - 1;
    } else {
      KernelBuffer& b = kernel.buffers[size_t(at - step.buffers.begin())];
      b.read |= draft.buffers[i].read;
      b.written |= draft.buffers[i].written;
    }
    renumbered[int64_t(i)] = at - step.buffers.begin();
  }
  auto renumber = [&](const Node* root) { return renumber_loads(*graph_.arena, root, renumbered); };
  for (const Node** place : expression_places(draft.piece)) *place = renumber(*place);
  for (Store& store : draft.piece.stores) store.buffer = int(renumbered.at(store.buffer));
  assign_axis_classes(*graph_.arena, draft.piece);
  kernel.pieces.push_back(std::move(draft.piece));
}

void Planner::add_step(Job& job) {
  PlanStep step;
  step.kernel.arena = graph_.arena;
  for (Draft& draft : job.drafts) append_piece(draft, step.kernel, step);
  step.kernel.name = kernel_name(step.kernel);
  plan_.steps.push_back(std::move(step));
}

void Planner::place_temporaries() {
  std::vector<Lifetime> lives;
  std::unordered_map<int, size_t> of;
  for (int s = 0; s < int(plan_.steps.size()); ++s)
    for (const int id : plan_.steps[s].buffers) {
      if (plan_.buffers[id].kind != PlanBuffer::Kind::temporary) continue;
      const auto [it, fresh] = of.emplace(id, lives.size());
      if (fresh) lives.push_back({plan_.buffers[id].size_in_B(), s, s, 0});
      lives[it->second].last_step = s;
    }
  plan_.temporary_B = plan_memory(lives);
  for (const auto& [id, life] : of) plan_.buffers[id].offset_B = lives[life].offset_B;
}

}  // namespace

Plan schedule(const ImportedGraph& imported, const Target& target, const ScheduleOptions& options) {
  ImportedGraph graph = imported;
  if (!options.noopt) split_long_reductions(graph, target);
  std::set<const Node*> in_place;
  std::set<const Node*> targets;
  for (size_t i = 0; i < graph.roots.size() && i < options.in_place.size(); ++i) {
    const Node* root = graph.roots[i];
    const bool may =
        options.in_place[i] && root->op() == Op::ASSIGN && root->source(0)->op() == Op::PARAM;
    if (may && targets.insert(root->source(0)).second) in_place.insert(root);
  }
  return Planner(graph,
                 make_jobs(*graph.arena, graph.roots, std::move(in_place), target, {options.noopt}))
      .run();
}

std::string print(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& b = plan.buffers[i];
    static constexpr const char* kKinds[] = {"input", "output", "temporary"};
    text += fmt::format("b{} = {} {} {} {}", i, kKinds[int(b.kind)],
                        b.kind == PlanBuffer::Kind::temporary ? b.offset_B : b.slot, name(b.dtype),
                        ir::to_string(b.shape));
    if (b.in_place_of >= 0) text += fmt::format(" in place of b{}", b.in_place_of);
    text += '\n';
  }
  for (const PlanStep& step : plan.steps) {
    text += "step";
    for (const int id : step.buffers) text += fmt::format(" b{}", id);
    text += '\n' + print(step.kernel);
  }
  return text;
}

}  // namespace tiny
