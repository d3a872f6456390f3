// SPDX-License-Identifier: MIT
#include "compiler/schedule/kernel.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

namespace tiny {

namespace {

using ir::Node;
using ir::Op;

/// Longer expressions get a name and a line of their own.
constexpr size_t kMaxInline = 160;

std::string axis_name(const Piece& p, int64_t a) {
  const std::string& name = p.axes[static_cast<size_t>(a)].name;
  return fmt::format("{}@{}", name.empty() ? "i" : name, a);
}

const char* infix(Op op) {
  switch (op) {
    case Op::ADD:
      return "+";
    case Op::SUB:
      return "-";
    case Op::MUL:
      return "*";
    case Op::FDIV:
      return "/";
    case Op::FLOORDIV:
      return "//";
    case Op::FLOORMOD:
      return "%";
    case Op::CMPLT:
      return "<";
    case Op::CMPLE:
      return "<=";
    case Op::CMPEQ:
      return "==";
    case Op::CMPNE:
      return "!=";
    case Op::AND:
      return "&";
    case Op::OR:
      return "|";
    default:
      return nullptr;
  }
}

/// Prints the expressions of one piece; what is used twice, or long, is named first.
class PiecePrinter {
 public:
  PiecePrinter(const Piece& piece, std::string* out) : p_(piece), out_(*out) {
    const std::vector<const Node*> all = expressions(p_);
    order_ = ir::topological_order(all);
    for (const Node* n : order_)
      for (const Node* s : n->sources()) ++uses_[s];
    for (const Node* n : all) ++uses_[n];
  }

  void run() {
    axes();
    for (size_t i = 0; i < p_.stages.size(); ++i) stage(i);
    for (const Store& s : p_.stores) store(s);
  }

 private:
  std::string text(const Node* root);
  std::string node(const Node* n);
  std::string leaf(const Node* n) const;
  void axes();
  void stage(size_t i);
  void store(const Store& s);
  std::string axis_list(const std::vector<int>& axes) const;

  const Piece& p_;
  std::string& out_;
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, int> uses_;
  std::unordered_map<const Node*, std::string> texts_;
  int names_ = 0;
};

std::string PiecePrinter::axis_list(const std::vector<int>& axes) const {
  std::string s;
  for (int a : axes) s += (s.empty() ? "" : ", ") + axis_name(p_, a);
  return s;
}

void PiecePrinter::axes() {
  constexpr const char* kinds[] = {"loop", "thread", "vector", "unroll", "local"};
  for (size_t a = 0; a < p_.axes.size(); ++a) {
    const Axis& x = p_.axes[a];
    out_ += fmt::format("  axis {} {} {} class {}", axis_name(p_, static_cast<int64_t>(a)),
                        x.extent, kinds[static_cast<size_t>(x.kind)], x.axis_class);
    if (x.full >= 0 && x.full != x.extent) out_ += fmt::format(" full {}", x.full);
    out_ += '\n';
  }
  out_ += fmt::format("  for {}", axis_list(p_.domain));
  if (!p_.sequential.empty()) out_ += fmt::format(" sequential {}", axis_list(p_.sequential));
  out_ += '\n';
}

std::string PiecePrinter::leaf(const Node* n) const {
  switch (n->op()) {
    case Op::CONST:
      return is_float(n->dtype())       ? fmt::format("{}{}", n->arg().real, name(n->dtype()))
             : n->dtype() == DType::i64 ? fmt::format("{}", n->arg().value)
                                        : fmt::format("{}{}", n->arg().value, name(n->dtype()));
    case Op::RANGE:
      return axis_name(p_, n->arg().value);
    case Op::VAR:
      return fmt::format("var{}[{}..{}]", n->arg().value, n->arg().list[0], n->arg().list[1]);
    default:
      return std::string(ir::info(n->op()).name);
  }
}

std::string PiecePrinter::node(const Node* n) {
  const auto arg = [&](size_t i) { return texts_.at(n->source(i)); };
  if (n->op() == Op::LOAD || n->op() == Op::STAGE) {
    std::string s = n->op() == Op::LOAD ? fmt::format("{} b{}", name(n->dtype()), n->arg().value)
                                        : fmt::format("s{}", n->arg().value);
    if (n->sources().empty()) return s;
    return n->sources().size() == 1 ? fmt::format("{}[{}]", s, arg(0))
                                    : fmt::format("{}[{} if {}]", s, arg(0), arg(1));
  }
  if (n->sources().empty()) return leaf(n);
  if (const char* sign = infix(n->op())) return fmt::format("({} {} {})", arg(0), sign, arg(1));
  std::string s(ir::info(n->op()).name);
  if (n->op() == Op::CAST || n->op() == Op::BITCAST) s += fmt::format(":{}", name(n->dtype()));
  for (size_t i = 0; i < n->sources().size(); ++i) s += (i ? ", " : "(") + arg(i);
  return s + ")";
}

std::string PiecePrinter::text(const Node* root) {
  const Node* list[] = {root};
  for (const Node* n : ir::topological_order(list)) {
    if (texts_.count(n)) continue;
    std::string s = node(n);
    const bool shared = !n->sources().empty() && uses_[n] > 1 && n->op() != Op::STAGE;
    if ((shared && s.size() > 8) || s.size() > kMaxInline) {
      out_ += fmt::format("    t{} = {}\n", names_, s);
      s = fmt::format("t{}", names_++);
    }
    texts_.emplace(n, std::move(s));
  }
  return texts_.at(root);
}

void PiecePrinter::stage(size_t i) {
  const Stage& s = p_.stages[i];
  const std::string value = text(s.value);
  if (s.placement == Placement::local) {
    const std::string index = text(s.index), valid = s.valid ? text(s.valid) : "";
    out_ += fmt::format("  s{}[{}]{}{} : local {} = {} {} over {}\n", i, index,
                        valid.empty() ? "" : " if ", valid, s.elements, name(s.accumulator), value,
                        axis_list(s.own_axes));
    return;
  }
  out_ += fmt::format("  s{} : register = {} {} over {} of {}\n", i, name(s.accumulator),
                      name(s.op), axis_list(s.reduce_axes), value);
}

void PiecePrinter::store(const Store& s) {
  const std::string index = text(s.index), valid = s.valid ? text(s.valid) : "";
  const std::string value = text(s.value);
  out_ += fmt::format("  store b{}[{}]{}{} {} {}\n", s.buffer, index, valid.empty() ? "" : " if ",
                      valid, s.accumulate ? "+=" : "=", value);
}

/// What is broken about the parts that only a stage in local memory has.
std::string broken_local(const Piece& p, const Stage& s) {
  if (s.placement == Placement::reg)
    return s.own_axes.empty() && !s.index && !s.valid ? "" : "a stage in a register has an array";
  if (!s.reduce_axes.empty()) return "a stage in local memory folds";
  if (s.own_axes.empty() || s.elements < 1) return "a stage in local memory is no array";
  ir::AxisSet own;
  for (int a : s.own_axes) {
    if (a < 0 || a >= static_cast<int>(p.axes.size())) return "an own axis is missing";
    if (p.axes[static_cast<size_t>(a)].kind == AxisKind::thread) return "an own axis has threads";
    own.add(a);
  }
  if (!s.index || s.index->dtype() != DType::i64) return "a local stage's index is not i64";
  if (s.valid && s.valid->dtype() != DType::boolean) return "a local stage's validity is not bool";
  if (!own.contains(s.valid ? s.index->axes() | s.valid->axes() : s.index->axes()))
    return "a local stage's index depends on other axes than its own";
  return {};
}

/// What is broken about how a stage is read; `listed` holds the axes its other readers gave.
std::string broken_read(const Piece& p, const Node* n,
                        std::unordered_map<int64_t, std::vector<int64_t>>& listed) {
  const int64_t id = n->arg().value;
  if (id < 0 || id >= static_cast<int64_t>(p.stages.size())) return "a STAGE has no stage";
  const Stage& stage = p.stages[static_cast<size_t>(id)];
  if (stage.accumulator != n->dtype()) return "a STAGE has another dtype";
  if ((stage.placement == Placement::reg) != n->sources().empty())
    return "a STAGE has an index and its stage no array, or the other way around";
  ir::AxisSet free = stage.value->axes(), given;
  for (int a : stage.reduce_axes) free.remove(a);
  for (int a : stage.own_axes) free.remove(a);
  for (int64_t a : n->arg().list) given.add(a);
  if (!given.contains(free)) return "a STAGE does not list an axis it depends on";
  for (int a : stage.own_axes)
    if (given.has(a)) return "a STAGE lists an own axis";
  const auto [first, fresh] = listed.emplace(id, n->arg().list);
  if (stage.placement == Placement::local && !fresh && first->second != n->arg().list)
    return "readers of a local stage list different axes";
  return {};
}

/// What is broken about a piece, or an empty text.
std::string broken(const Kernel& k, const Piece& p) {
  if (p.axes.size() > ir::AxisSet::kMaxAxes) return "too many axes";
  const auto is_axis = [&](int64_t a) { return a >= 0 && a < static_cast<int64_t>(p.axes.size()); };
  ir::AxisSet domain, folded, own;
  for (int a : p.domain) {
    if (!is_axis(a) || domain.has(a)) return "a domain axis is missing or twice there";
    domain.add(a);
  }
  for (int a : p.sequential) {
    if (!is_axis(a)) return "a sequential axis is missing";
    if (p.axes[static_cast<size_t>(a)].kind != AxisKind::loop)
      return "a sequential axis is no loop";
  }
  for (const Axis& a : p.axes)
    if (a.extent < 0 || a.full > a.extent) return "an axis has a bad extent";
  for (const Stage& s : p.stages) {
    for (int a : s.reduce_axes) {
      if (!is_axis(a) || domain.has(a)) return "a reduce axis is missing or in the domain";
      folded.add(a);
    }
    if (!s.value || s.value->dtype() != s.accumulator) return "a stage's value has another dtype";
    if (std::string why = broken_local(p, s); !why.empty()) return why;
    for (int a : s.own_axes) {
      if (domain.has(a) || own.has(a)) return "an own axis is in the domain or another stage's";
      own.add(a);
    }
  }
  if (!(own & folded).empty()) return "an own axis is folded";
  for (const Store& s : p.stores) {
    if (s.buffer < 0 || s.buffer >= static_cast<int>(k.buffers.size()))
      return "a store has no buffer";
    const KernelBuffer& b = k.buffers[static_cast<size_t>(s.buffer)];
    if (!b.written) return "a stored buffer is not marked as written";
    if (!s.index || s.index->dtype() != DType::i64) return "a store's index is not i64";
    if (s.valid && s.valid->dtype() != DType::boolean) return "a store's validity is not bool";
    if (!s.value || s.value->dtype() != b.dtype) return "a store's value has another dtype";
    ir::AxisSet used = s.index->axes() | s.value->axes();
    if (s.valid) used = used | s.valid->axes();
    if (!domain.contains(used)) return "a store depends on an axis outside its domain";
  }
  const std::vector<const Node*> all = expressions(p);
  std::unordered_map<int64_t, std::vector<int64_t>> listed;
  for (const Node* n : ir::topological_order(all)) {
    if (n->op() == Op::RANGE &&
        (!is_axis(n->arg().value) ||
         n->arg().list[0] != p.axes[static_cast<size_t>(n->arg().value)].extent))
      return "a RANGE does not match its axis";
    if (n->op() == Op::LOAD) {
      if (n->arg().value < 0 || n->arg().value >= static_cast<int64_t>(k.buffers.size()))
        return "a load has no buffer";
      const KernelBuffer& b = k.buffers[static_cast<size_t>(n->arg().value)];
      if (!b.read || b.dtype != n->dtype()) return "a load does not match its buffer";
    }
    if (n->op() == Op::STAGE)
      if (std::string why = broken_read(p, n, listed); !why.empty()) return why;
  }
  for (size_t i = 0; i < p.stages.size(); ++i) {
    const Node* list[] = {p.stages[i].value};
    for (const Node* n : ir::topological_order(list))
      if (n->op() == Op::STAGE && n->arg().value >= static_cast<int64_t>(i))
        return "a stage reads a later one";
  }
  return {};
}

}  // namespace

bool is_access(const ir::Node* n) {
  return n->op() == ir::Op::LOAD || (n->op() == ir::Op::STAGE && !n->sources().empty());
}

bool contains(const std::vector<int>& list, int axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

std::vector<const ir::Node**> expression_places(Piece& p) {
  std::vector<const ir::Node**> out;
  for (Stage& s : p.stages) {
    out.push_back(&s.value);
    if (s.index) out.push_back(&s.index);
    if (s.valid) out.push_back(&s.valid);
  }
  for (Store& s : p.stores) {
    out.push_back(&s.index);
    if (s.valid) out.push_back(&s.valid);
    out.push_back(&s.value);
  }
  return out;
}

std::vector<const ir::Node*> expressions(const Piece& p) {
  std::vector<const ir::Node*> out;
  for (const Stage& s : p.stages) {
    out.push_back(s.value);
    if (s.index) out.push_back(s.index);
    if (s.valid) out.push_back(s.valid);
  }
  for (const Store& s : p.stores) {
    out.push_back(s.index);
    if (s.valid) out.push_back(s.valid);
    out.push_back(s.value);
  }
  return out;
}

std::string print(const Kernel& k) {
  std::string out = fmt::format("kernel {}\n", k.name);
  for (size_t b = 0; b < k.buffers.size(); ++b)
    out += fmt::format("buffer b{} {} {}{}{}\n", b, name(k.buffers[b].dtype), k.buffers[b].elements,
                       k.buffers[b].read ? " read" : "", k.buffers[b].written ? " written" : "");
  if (k.variables) out += fmt::format("variables {}\n", k.variables);
  for (const Piece& p : k.pieces) {
    out += "piece\n";
    PiecePrinter(p, &out).run();
  }
  return out;
}

void verify(const Kernel& k) {
  for (const Piece& p : k.pieces) {
    const std::string what = broken(k, p);
    CHECK_INVARIANT(what.empty(), what + "\n" + print(k));
  }
}

}  // namespace tiny
