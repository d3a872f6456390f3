// SPDX-License-Identifier: MIT
#include "frontend/gradient.h"

#include <fmt/format.h>
#include <algorithm>

#include <unordered_map>

namespace tiny {

using namespace detail;
using ir::Node;
using ir::Op;

namespace {

/// The link of a marker (cell.h), or null for every other node.
const GradLink* link_of(const Node& n) {
  if (n.op() != Op::DETACH || !n.arg().object) return nullptr;
  return dynamic_cast<const GradLink*>(n.arg().object.get());
}

/// Where gradients go from a node: a marker leads to its history, a plain DETACH nowhere.
std::vector<const Node*> ways(const Node& n) {
  if (!is_float(n.dtype())) return {};
  if (n.op() == Op::DETACH) {
    const GradLink* link = link_of(n);
    return link && link->history ? std::vector<const Node*>{link->history.get()}
                                 : std::vector<const Node*>{};
  }
  return {n.sources().begin(), n.sources().end()};
}

/// The part of a graph that gradients can flow through, sources before users.
class Tape {
 public:
  explicit Tape(const ir::Ref& root) { visit(root.get()); }

  struct Entry {
    const Node* node;
    std::vector<int> ways;  // positions of ways(node); -1: no floating value there
    bool needed = false;    // leads to something asked for
    Tensor gradient;
  };

  int find(const Node* n) const {
    const auto it = position_.find(n);
    return it == position_.end() ? -1 : it->second;
  }
  std::vector<Entry>& entries() { return entries_; }

  /// Marks what leads to an entry already needed.
  void spread_need() {
    for (Entry& e : entries_)
      for (int w : e.ways) e.needed |= w >= 0 && entries_[static_cast<size_t>(w)].needed;
  }

  /// Runs the rules from the root down; `keep` entries' gradients stay.
  void run(const Tensor& upstream, const std::vector<bool>& keep) {
    entries_.back().gradient = upstream;
    for (size_t i = entries_.size(); i-- > 0;) {
      Entry& e = entries_[i];
      if (!e.needed || !e.gradient.defined()) continue;
      propagate(e);
      if (!keep[i]) e.gradient = {};
    }
  }

 private:
  void visit(const Node* root) {
    struct Frame {
      const Node* node;
      std::vector<const Node*> ways;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    stack.push_back({root, ways(*root)});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.ways.size()) {
        const Node* n = top.ways[top.next++];
        if (is_float(n->dtype()) && !position_.count(n)) stack.push_back({n, ways(*n)});
        continue;
      }
      if (!position_.count(top.node)) append(top.node, top.ways);
      stack.pop_back();
    }
  }

  void append(const Node* node, const std::vector<const Node*>& sources) {
    Entry e;
    e.node = node;
    for (const Node* s : sources) e.ways.push_back(is_float(s->dtype()) ? position_.at(s) : -1);
    position_.emplace(node, static_cast<int>(entries_.size()));
    entries_.push_back(std::move(e));
  }

  void propagate(const Entry& e) {
    if (e.ways.empty()) return;
    std::vector<bool> wanted;
    for (int w : e.ways) wanted.push_back(w >= 0 && entries_[static_cast<size_t>(w)].needed);
    const std::vector<Tensor> parts = e.node->op() == Op::DETACH
                                          ? std::vector<Tensor>{e.gradient}
                                          : source_gradients(*e.node, e.gradient, wanted);
    for (size_t k = 0; k < parts.size(); ++k) {
      if (!wanted[k] || !parts[k].defined()) continue;
      Tensor& sum = entries_[static_cast<size_t>(e.ways[k])].gradient;
      sum = sum.defined() ? sum + parts[k] : parts[k];
    }
  }

  std::vector<Entry> entries_;
  std::unordered_map<const Node*, int> position_;
};

/// The nodes a tensor may appear as in graphs built from it: its marker, its value, its history.
std::vector<const Node*> appearances(const Tensor& t) {
  std::vector<const Node*> nodes;
  const Tensor::Cell& c = *t.cell();
  if (c.marker) nodes.push_back(c.marker.get());
  if (c.link && c.link->history) nodes.push_back(c.link->history.get());
  if (!c.link) nodes.push_back(c.value.get());
  return nodes;
}

Tensor default_upstream(std::string_view op, const Tensor& output, const Tensor& given) {
  if (!given.defined()) {
    if (output.numel() != 1)
      fail(op, fmt::format("the output has shape {}: give its gradient, or reduce it to one number",
                           text(output.shape())));
    return constant_tensor(output.shape(), output.dtype(), 1);
  }
  if (given.shape() != output.shape() || given.dtype() != output.dtype())
    fail(op, fmt::format("gradient {} {} for an output {} {}", name(given.dtype()),
                         text(given.shape()), name(output.dtype()), text(output.shape())));
  return given;
}

void require_differentiable(std::string_view op, const Tensor& output) {
  require_defined(op, output);
  if (!is_float(output.dtype()))
    fail(op, fmt::format("the output is {} {}: only floating values have gradients",
                         name(output.dtype()), text(output.shape())));
  if (!output.requires_grad())
    fail(op, "the output does not depend on any tensor that requires grad");
}

void accumulate(Tensor leaf, const Tensor& gradient, bool keep_graph) {
  Tensor sum = leaf.grad().defined() ? leaf.grad() + gradient : gradient;
  leaf.set_grad(keep_graph ? sum : sum.detach());
  note_gradient(leaf);
}

}  // namespace

namespace detail {

std::vector<LeafGradient> leaf_gradients(const Tensor& output, const Tensor& upstream) {
  Tape tape(use(output));
  std::vector<bool> keep(tape.entries().size(), false);
  std::vector<std::shared_ptr<Tensor::Cell>> cells(keep.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    const GradLink* link = link_of(*tape.entries()[i].node);
    if (!link || link->history) continue;
    cells[i] = link->leaf.lock();
    keep[i] = tape.entries()[i].needed = cells[i] && cells[i]->requires_grad;
  }
  tape.spread_need();
  tape.run(upstream, keep);
  std::vector<LeafGradient> result;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i] && tape.entries()[i].gradient.defined())
      result.push_back({Tensor(cells[i]), tape.entries()[i].gradient});
  return result;
}

std::vector<Tensor> input_gradients(const Tensor& output, const Tensor& upstream,
                                    const std::vector<Tensor>& inputs) {
  Tape tape(use(output));
  std::vector<bool> keep(tape.entries().size(), false);
  std::vector<std::vector<size_t>> places(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    for (const Node* n : appearances(inputs[k]))
      if (const int at = tape.find(n); at >= 0) places[k].push_back(static_cast<size_t>(at));
    // A leaf whose value changed since: older markers name the same cell.
    for (size_t i = 0; inputs[k].cell()->link && i < keep.size(); ++i) {
      const GradLink* link = link_of(*tape.entries()[i].node);
      const bool seen = std::find(places[k].begin(), places[k].end(), i) != places[k].end();
      if (link && link == inputs[k].cell()->link.get() && !seen) places[k].push_back(i);
    }
    // Of a marker and its own history, the marker hands on to the history: count it once.
    if (inputs[k].cell()->link && inputs[k].cell()->link->history) {
      const int at = tape.find(inputs[k].cell()->link->history.get());
      if (at >= 0) places[k] = {static_cast<size_t>(at)};
    }
    for (size_t i : places[k]) keep[i] = tape.entries()[i].needed = true;
  }
  tape.spread_need();
  tape.run(upstream, keep);
  std::vector<Tensor> result(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    for (size_t i : places[k]) {
      const Tensor& g = tape.entries()[i].gradient;
      if (g.defined()) result[k] = result[k].defined() ? result[k] + g : g;
    }
  return result;
}

}  // namespace detail

void Tensor::backward() const { backward(BackwardOptions{}); }

void Tensor::backward(const BackwardOptions& o) const {
  require_differentiable("backward", *this);
  if (cell_->spent) fail("backward", "ran already; pass retain_graph to run it again");
  const Tensor upstream = default_upstream("backward", *this, o.gradient);
  for (const LeafGradient& g : leaf_gradients(*this, upstream)) {
    accumulate(g.leaf, g.gradient, o.create_graph);
    g.leaf.cell()->loss = cell_;
  }
  const bool is_leaf = cell_->link && !cell_->link->history;
  if (o.retain_graph || o.create_graph || is_leaf) return;
  cell_->spent = true;
  // The way back is no longer needed; let the graph of a realized loss go.
  if (cell_->link) {
    cell_->link = std::make_shared<GradLink>();
    cell_->marker = {};
  }
}

std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs,
                         const Tensor& output_gradient) {
  require_differentiable("grad", output);
  for (const Tensor& t : inputs) require_float("grad", t);
  std::vector<Tensor> result =
      input_gradients(output, default_upstream("grad", output, output_gradient), inputs);
  for (size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = inputs[i].zeros_like();
  return result;
}

std::function<std::vector<Tensor>(const std::vector<Tensor>&)> grad(
    std::function<Tensor(const std::vector<Tensor>&)> fn) {
  return [fn = std::move(fn)](const std::vector<Tensor>& arguments) {
    std::vector<Tensor> own;  // not the caller's cells: their requires_grad stays what it is
    for (const Tensor& t : arguments) {
      require_float("grad", t);
      if (t.requires_grad()) {  // stay differentiable in what the caller differentiates
        own.push_back(build(Op::CONTIGUOUS, t.dtype(), t));
      } else {
        own.push_back(t.detach().requires_grad_());
      }
    }
    const Tensor output = fn(own);
    if (!output.requires_grad()) {
      std::vector<Tensor> zeros;
      for (const Tensor& t : own) zeros.push_back(t.zeros_like());
      return zeros;
    }
    return tiny::grad(output, own);
  };
}

std::function<Tensor(const Tensor&)> grad(std::function<Tensor(const Tensor&)> fn) {
  auto many = grad(std::function<Tensor(const std::vector<Tensor>&)>(
      [fn = std::move(fn)](const std::vector<Tensor>& x) { return fn(x[0]); }));
  return [many = std::move(many)](const Tensor& x) { return many({x})[0]; };
}

}  // namespace tiny
