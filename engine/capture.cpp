// SPDX-License-Identifier: MIT
#include "engine/capture.h"

#include <rt_tiny/runtime/base/error.h>
#include "engine/storage.h"

#include <algorithm>
#include <unordered_map>

namespace tiny::engine {
namespace {

using ir::Node;
using ir::Op;
using ir::Ref;

bool overlap(const Buffer& a, const Buffer& b) {
  return a.allocation() == b.allocation() && a.size_B() > 0 && b.size_B() > 0 &&
         a.offset_B() < b.offset_B() + b.size_B() && b.offset_B() < a.offset_B() + a.size_B();
}

Buffer duplicate(const Buffer& source) {
  Buffer twin = source.device()->alloc(source.size_B(), {.tag = "tensor"});
  CommandList list = source.device()->make_list();
  list.copy(twin, source);
  source.device()->submit(list);
  return twin;
}

}  // namespace

Capture::Capture(std::span<const Ref> inputs, std::span<const Ref> roots, size_t state_count)
    : state_count_(state_count) {
  std::vector<const Node*> raw;
  for (const Ref& root : roots) {
    raw.push_back(root.get());
    roots_.emplace_back(root->dtype(), root->shape());
  }
  const GraphView view = view_graph(raw);
  std::shared_ptr<Device> device = default_device();
  for (const Node* leaf : view.leaves) {
    device = storage_of(leaf).buffer.device();
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const Ref& r) { return r.get() == leaf; });
    const auto state = std::find_if(raw.begin(), raw.begin() + long(state_count),
                                    [&](const Node* root) { return root->source(0) == leaf; });
    if (input != inputs.end())
      leaves_.push_back({Leaf::Kind::input, size_t(input - inputs.begin()), {}});
    else if (state != raw.begin() + long(state_count))
      leaves_.push_back({Leaf::Kind::state, size_t(state - raw.begin()), {}});
    else
      leaves_.push_back({Leaf::Kind::captured, 0, Ref(leaf)});
  }
  std::vector<char> in_place(roots.size(), 0);
  std::fill(in_place.begin(), in_place.begin() + long(state_count), char(1));
  executable_ = executable_for(view, device, in_place);
  if (!executable_->list.empty()) graph_ = Graph(device, executable_->list);
}

Buffer Capture::leaf_buffer(const Leaf& leaf, std::span<const Ref> inputs,
                            std::span<Ref* const> state) const {
  if (leaf.kind == Leaf::Kind::input) return storage_of(inputs[leaf.position].get()).buffer;
  if (leaf.kind == Leaf::Kind::state) return storage_of(state[leaf.position]->get()).buffer;
  const Storage& traced = storage_of(leaf.captured.get());
  const auto newest = traced.variable->newest();
  return newest ? newest->buffer : traced.buffer;
}

/// State whose current version somebody else holds too: they get a copy, the run may overwrite.
void Capture::preserve_shared(std::span<Ref* const> state) const {
  for (size_t i = 0; i < state_count_; ++i) {
    const bool in_place = executable_->plan.buffers[executable_->plan.roots[i]].in_place_of >= 0;
    const Ref& current = *state[i];
    if (!in_place || (current->reference_count() == 1 && current->arg().object.use_count() == 1))
      continue;
    Storage& old = storage_of(current.get());
    Buffer memory = old.buffer;
    old.buffer = duplicate(memory);
    *state[i] = make_buffer_node(current->dtype(), current->shape(), std::move(memory), &old);
  }
}

/// A leaf that shares memory with state that is overwritten in place reads a copy made before.
void Capture::separate(std::vector<Buffer>& leaves) const {
  for (const PlanBuffer& output : executable_->plan.buffers) {
    if (output.in_place_of < 0) continue;
    const size_t own = size_t(executable_->plan.buffers[output.in_place_of].slot);
    for (size_t i = 0; i < leaves.size(); ++i)
      if (i != own && overlap(leaves[i], leaves[own])) leaves[i] = duplicate(leaves[i]);
  }
}

std::vector<Ref> Capture::run(std::span<const Ref> inputs, std::span<Ref* const> state) {
  CHECK_INVARIANT(state.size() == state_count_, "wrong number of state tensors");
  const std::lock_guard lock(graph_mutex());
  preserve_shared(state);
  std::vector<Buffer> leaves;
  for (const Leaf& leaf : leaves_) leaves.push_back(leaf_buffer(leaf, inputs, state));
  separate(leaves);
  Binding binding = bind_memory(*executable_, leaves);
  for (const int id :
       executable_->plan.roots)  // a root that is just an input: its value before the run
    if (executable_->plan.buffers[id].kind == PlanBuffer::Kind::input)
      binding.buffers[id] = duplicate(binding.buffers[id]);
  if (graph_) graph_.replay({.buffers = binding.symbols});
  return publish(binding, state);
}

/// One node a plan buffer, so that no two versions share memory.
std::vector<Ref> Capture::publish(const Binding& binding, std::span<Ref* const> state) const {
  std::unordered_map<int, Ref> made;
  std::vector<Ref> results;
  for (size_t i = 0; i < roots_.size(); ++i) {
    const int id = executable_->plan.roots[i];
    const Storage* previous = i < state_count_ ? &storage_of(state[i]->get()) : nullptr;
    Ref& node = made[id];
    if (!node || previous)
      node = make_buffer_node(roots_[i].first, roots_[i].second, binding.buffers[id], previous);
    if (previous)
      *state[i] = node;
    else
      results.push_back(node);
  }
  return results;
}

}  // namespace tiny::engine
