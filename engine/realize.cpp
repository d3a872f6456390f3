// SPDX-License-Identifier: MIT
#include "engine/realize.h"

#include <rt_tiny/runtime/base/error.h>
#include "engine/executable.h"
#include "engine/storage.h"
#include "engine/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace tiny::engine {
namespace {

using ir::Node;
using ir::Op;
using ir::Ref;

/// How often each node of the graph is referred to from inside it.
std::unordered_map<const Node*, uint32_t> inner_references(const GraphView& view,
                                                           std::span<Ref* const> roots) {
  std::unordered_map<const Node*, uint32_t> count;
  for (const Node* n : view.order)
    for (const Node* source : n->sources()) ++count[source];
  std::unordered_set<const Ref*> counted;
  for (const Ref* root : roots)
    if (counted.insert(root).second) ++count[root->get()];
  return count;
}

/// Root i may be stored over its target iff nobody outside this graph can still ask for a value
/// that depends on the target's old contents.
std::vector<char> in_place_roots(const GraphView& view, std::span<Ref* const> roots) {
  std::vector<char> allowed(roots.size(), 0);
  const auto assigns = std::any_of(view.roots.begin(), view.roots.end(),
                                   [](const Node* n) { return n->op() == Op::ASSIGN; });
  if (!assigns) return allowed;
  const auto inner = inner_references(view, roots);
  auto seen_outside = [&](const Node* n) {
    const auto it = inner.find(n);
    return n->reference_count() > (it == inner.end() ? 0 : it->second);
  };
  for (size_t i = 0; i < roots.size(); ++i) {
    const Node* root = view.roots[i];
    if (root->op() != Op::ASSIGN || root->source(0)->op() != Op::BUFFER) continue;
    const Node* target = root->source(0);
    std::unordered_set<const Node*> dependents{target};
    bool shared = seen_outside(target) || target->arg().object.use_count() > 1;
    for (const Node* n : view.order) {
      if (shared) break;
      const bool depends =
          std::any_of(n->sources().begin(), n->sources().end(),
                      [&](const Node* s) { return dependents.contains(resolved(s)); });
      if (!depends) continue;
      dependents.insert(n);
      shared = seen_outside(n);
    }
    allowed[i] = !shared;
  }
  return allowed;
}

std::shared_ptr<Device> device_of(const GraphView& view) {
  std::shared_ptr<Device> device;
  for (const Node* leaf : view.leaves) {
    const auto other = storage_of(leaf).buffer.device();
    if (device && other != device)
      throw UsageError(fmt::format("[realize] operands are on {} and {}; move one with to()",
                                   device->name(), other->name()));
    device = other;
  }
  return device ? device : default_device();
}

/// The device a COPY node names.
struct DeviceName : ir::Object {
  explicit DeviceName(std::string n) : name(std::move(n)) {}
  std::string name;
};

void realize_on_one_device(std::span<Ref* const> roots);

/// COPY nodes split a graph by device: each is computed where its source lives, then moved.
void realize_copies(std::span<Ref* const> roots) {
  for (;;) {
    std::vector<const Node*> raw;
    for (const Ref* root : roots) raw.push_back(root->get());
    const GraphView view = view_graph(raw);
    const auto copy_node = std::find_if(view.order.begin(), view.order.end(),
                                        [](const Node* n) { return n->op() == Op::COPY; });
    if (copy_node == view.order.end()) return;
    const Node* node = *copy_node;
    Ref source(resolved(node->source(0)));
    Ref* const pointer = &source;
    realize_on_one_device(std::span(&pointer, 1));
    const Buffer from = storage_of(source.get()).buffer;
    const auto device = open_device(dynamic_cast<const DeviceName&>(*node->arg().object).name);
    Buffer to = device->alloc(from.size_B(), {.tag = "tensor"});
    if (from.size_B() > 0) copy(to, from);
    node->set_realized(make_buffer_node(node->dtype(), node->shape(), std::move(to)));
  }
}

/// Puts the results where the roots were; nodes that live on remember them.
void publish(const GraphView& view, const Executable& exe, const Binding& binding,
             std::span<Ref* const> roots) {
  std::unordered_map<int, Ref> made;  // plan buffer → its node: roots of one value share it
  std::vector<Ref> results;
  for (size_t i = 0; i < roots.size(); ++i) {
    const Node* root = view.roots[i];
    if (root->op() == Op::BUFFER) {
      results.push_back(Ref(root));
      continue;
    }
    Ref& node = made[exe.plan.roots[i]];
    if (!node && exe.plan.buffers[exe.plan.roots[i]].kind == PlanBuffer::Kind::input)
      node = Ref(view.leaves[exe.plan.buffers[exe.plan.roots[i]].slot]);
    if (!node) {
      const bool assigns = root->op() == Op::ASSIGN && root->source(0)->op() == Op::BUFFER;
      const Storage* previous = assigns ? &storage_of(root->source(0)) : nullptr;
      node = make_buffer_node(root->dtype(), root->shape(), binding.buffers[exe.plan.roots[i]],
                              previous);
    }
    root->set_realized(node);
    results.push_back(node);
  }
  for (size_t i = 0; i < roots.size(); ++i) *roots[i] = std::move(results[i]);
}

void realize_on_one_device(std::span<Ref* const> roots) {
  std::vector<const Node*> raw;
  for (const Ref* root : roots) raw.push_back(root->get());
  const GraphView view = view_graph(raw);
  if (std::all_of(view.roots.begin(), view.roots.end(),
                  [](const Node* n) { return n->op() == Op::BUFFER; })) {
    for (size_t i = 0; i < roots.size(); ++i) *roots[i] = Ref(view.roots[i]);
    return;
  }
  const std::shared_ptr<Device> device = device_of(view);
  const auto exe = executable_for(view, device, in_place_roots(view, roots));
  std::vector<Buffer> inputs;
  for (const Node* leaf : view.leaves) inputs.push_back(storage_of(leaf).buffer);
  const Binding binding = bind_memory(*exe, inputs);
  if (!exe->list.empty()) device->submit(exe->list, {.buffers = binding.symbols});
  publish(view, *exe, binding, roots);
}

}  // namespace

Ref buffer_node(DType dtype, const ir::Shape& shape, std::span<const std::byte> data,
                std::string_view device) {
  CHECK_INVARIANT(data.size() == size_t(ir::element_count(shape)) * size_B(dtype),
                  "data does not fill the shape");
  const auto dev = device.empty() ? default_device() : open_device(device);
  Buffer buffer = dev->alloc(data.size(), {.tag = "tensor"});
  if (!data.empty()) buffer.copy_in(data.data(), data.size());
  return make_buffer_node(dtype, shape, std::move(buffer));
}

Ref placeholder(const Ref& buffer) {
  return make_buffer_node(buffer->dtype(), buffer->shape(), storage_of(buffer.get()).buffer);
}

Ref copy_node(const Ref& source, std::string_view device) {
  auto object = std::make_shared<DeviceName>(open_device(device)->name());
  return ir::make(Op::COPY, source->dtype(), {source}, {.object = object});
}

std::string device_name(const Ref& node) {
  if (node->op() == Op::BUFFER) return storage_of(node.get()).buffer.device()->name();
  const Node* const raw[] = {node.get()};
  const GraphView view = view_graph(raw);
  for (auto it = view.order.rbegin(); it != view.order.rend(); ++it)
    if ((*it)->op() == Op::COPY) return dynamic_cast<const DeviceName&>(*(*it)->arg().object).name;
  return device_of(view)->name();
}

void realize(std::span<Ref* const> roots) {
  if (tracing())
    throw UsageError(
        "[realize] a value is needed inside a jit trace; return it from the function instead");
  if (roots.empty()) return;
  const std::lock_guard lock(graph_mutex());
  realize_copies(roots);
  realize_on_one_device(roots);
}

std::vector<std::byte> read(const Ref& buffer) {
  if (tracing())
    throw UsageError(
        "[item] a value is read inside a jit trace; return the tensor from the function instead");
  Buffer memory;
  {
    const std::lock_guard lock(graph_mutex());
    memory = storage_of(buffer.get()).buffer;
  }
  std::vector<std::byte> bytes(memory.size_B());
  if (!bytes.empty()) memory.copy_out(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace tiny::engine
