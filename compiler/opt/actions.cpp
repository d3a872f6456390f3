// SPDX-License-Identifier: MIT
#include "compiler/opt/actions.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "compiler/ir/symbolic.h"
#include "compiler/opt/keep.h"

namespace tiny {

namespace {

using ir::Arena;
using ir::AxisSet;
using ir::Node;
using ir::Op;

enum class Arguments : uint8_t { none, amount, list };
struct Row {
  std::string_view name;
  Arguments arguments;
};
constexpr Row kActions[] = {
#define ACTION(name, arguments, meaning) {#name, Arguments::arguments},
#include "compiler/opt/actions.def"
#undef ACTION
};

/// Wide enough for any register file; bounds what one action may multiply the code by.
constexpr int64_t kMaxLanes = 64, kMaxUnroll = 64;

int64_t most_of(AxisKind kind) {
  switch (kind) {
    case AxisKind::vector:
      return kMaxLanes;
    case AxisKind::unroll:
      return kMaxUnroll;
    case AxisKind::local:
      return kMaxGroupItems;
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

[[noreturn]] void refuse(const Action& a, const std::string& why) {
  throw UsageError(fmt::format("[action] {}: {}", print(a), why));
}

bool is_stage_axis(const Piece& p, int a) {
  return std::any_of(p.stages.begin(), p.stages.end(), [&](const Stage& s) {
    return contains(s.reduce_axes, a) || contains(s.own_axes, a);
  });
}

/// Rewrites every expression of a piece; one memo, sources before users, no recursion.
class Rewriter {
 public:
  explicit Rewriter(Arena& arena) : arena_(arena) {}
  virtual ~Rewriter() = default;

  void run(Piece& p) {
    for (Stage& s : p.stages) {
      s.value = rewrite(s.value);
      if (s.index) s.index = ir::simplify(arena_, rewrite(s.index));
      if (s.valid) s.valid = rewrite(s.valid);
    }
    for (Store& s : p.stores) {
      s.index = ir::simplify(arena_, rewrite(s.index));
      if (s.valid) s.valid = rewrite(s.valid);
      s.value = rewrite(s.value);
    }
  }

 protected:
  using Sources = std::vector<const Node*>;
  virtual const Node* change(const Node* n, Sources sources) = 0;

  const Node* rebuild(const Node* n, Sources sources) {
    if (std::equal(sources.begin(), sources.end(), n->sources().begin())) return n;
    return arena_.build(n->op(), n->dtype(), std::move(sources), n->arg());
  }

  Arena& arena_;

 private:
  const Node* rewrite(const Node* root) {
    if (auto it = done_.find(root); it != done_.end()) return it->second;
    const Node* list[] = {root};
    for (const Node* n : ir::topological_order(list)) {
      if (done_.count(n)) continue;
      Sources sources;
      for (const Node* s : n->sources()) sources.push_back(done_.at(s));
      done_.emplace(n, change(n, std::move(sources)));
    }
    return done_.at(root);
  }

  std::unordered_map<const Node*, const Node*> done_;
};

/// RANGE(outer) becomes RANGE(outer) * factor + RANGE(inner); a guard goes to every access.
class Splitter : public Rewriter {
 public:
  Splitter(Arena& arena, int axis, int inner, int64_t extent, int64_t factor)
      : Rewriter(arena), axis_(axis), inner_(inner) {
    const int64_t outer = (extent + factor - 1) / factor;
    position_ = arena.add(arena.mul(arena.range(axis, outer), arena.integer(factor)),
                          arena.range(inner, factor));
    if (outer * factor != extent) guard_ = arena.lt(position_, arena.integer(extent));
  }
  const Node* guard() const { return guard_; }

 private:
  const Node* change(const Node* n, Sources s) override {
    if (n->op() == Op::RANGE) return n->arg().value == axis_ ? position_ : n;
    if (is_access(n)) guard(n, s);
    if (n->op() == Op::STAGE) return stage(n, std::move(s));
    if (n->op() != Op::LOAD || !n->axes().has(axis_)) return rebuild(n, std::move(s));
    return arena_.make(Op::LOAD, n->dtype(), std::move(s), n->arg());
  }

  /// An access that steps through the axis is bounded by its old extent.
  void guard(const Node* n, Sources& s) {
    const bool steps = std::any_of(n->sources().begin(), n->sources().end(),
                                   [&](const Node* source) { return source->axes().has(axis_); });
    if (!steps) return;
    s[0] = ir::simplify(arena_, s[0]);
    if (guard_ && s.size() == 1)
      s.push_back(guard_);
    else if (guard_)
      s[1] = arena_.logical_and(s[1], guard_);
  }

  const Node* stage(const Node* n, Sources s) {
    ir::Arg arg = n->arg();
    if (std::find(arg.list.begin(), arg.list.end(), axis_) != arg.list.end()) {
      arg.list.push_back(inner_);
      std::sort(arg.list.begin(), arg.list.end());
    }
    return arena_.make(Op::STAGE, n->dtype(), std::move(s), std::move(arg));
  }

  int axis_, inner_;
  const Node* position_;
  const Node* guard_ = nullptr;
};

const Node* fold_identity(Arena& arena, const Stage& s) {
  const DType t = s.accumulator;
  const double inf = std::numeric_limits<double>::infinity();
  const ir::Interval full = ir::full_interval(t);
  switch (s.op) {
    case ir::ReduceOp::sum:
      return is_float(t) ? arena.real(0, t) : arena.integer(0, t);
    case ir::ReduceOp::prod:
      return is_float(t) ? arena.real(1, t) : arena.integer(1, t);
    case ir::ReduceOp::max:
      return is_float(t) ? arena.real(-inf, t) : arena.integer(full.lo, t);
    default:
      return is_float(t) ? arena.real(inf, t) : arena.integer(t == DType::u64 ? -1 : full.hi, t);
  }
}

/// Is the stage a sum of what is zero where the guard of a split is false? Accesses that step
/// through the split axis are: they have the guard.
bool adds_nothing_outside(const Stage& s, int inner) {
  if (s.op != ir::ReduceOp::sum) return false;
  std::unordered_map<const Node*, bool> zero;
  const Node* list[] = {s.value};
  for (const Node* n : ir::topological_order(list)) {
    const auto& sources = n->sources();
    const auto is_zero = [&](const Node* source) { return zero.at(source); };
    switch (n->op()) {
      case Op::LOAD:
      case Op::STAGE:
        zero[n] = sources.size() > 1 && sources[1]->axes().has(inner);
        break;
      case Op::MUL:  // of two zeros: one times infinity is none
      case Op::ADD:
      case Op::SUB:
      case Op::NEG:
      case Op::CAST:
        zero[n] = std::all_of(sources.begin(), sources.end(), is_zero);
        break;
      default:
        zero[n] = false;
    }
  }
  return zero.at(s.value);
}

void split_axis(Arena& arena, Piece& p, int a, int64_t factor, int inner_class, AxisKind kind) {
  Axis& outer = p.axes[static_cast<size_t>(a)];
  const int64_t extent = outer.extent, full = outer.full < 0 ? extent : outer.full;
  const int inner = static_cast<int>(p.axes.size());
  Splitter splitter(arena, a, inner, extent, factor);
  splitter.run(p);
  Axis fresh;
  fresh.extent = fresh.full = factor;
  fresh.kind = kind;
  fresh.axis_class = inner_class;
  fresh.name = outer.name + ".i";
  outer.extent = (extent + factor - 1) / factor;
  outer.full = full / factor;
  p.axes.push_back(fresh);
  const auto insert = [&](std::vector<int>& list) {
    auto it = std::find(list.begin(), list.end(), a);
    if (it == list.end()) return false;
    list.insert(it + 1, inner);
    return true;
  };
  const Node* guard = splitter.guard();
  if (insert(p.domain) && guard)
    for (Store& s : p.stores) s.valid = s.valid ? arena.logical_and(s.valid, guard) : guard;
  for (Stage& s : p.stages) {
    if (insert(s.reduce_axes) && guard && !adds_nothing_outside(s, inner))
      s.value = arena.where(guard, s.value, fold_identity(arena, s));
    if (insert(s.own_axes) && guard) s.valid = s.valid ? arena.logical_and(s.valid, guard) : guard;
  }
  insert(p.sequential);
}

std::vector<int> axes_of_class(const Piece& p, int axis_class) {
  std::vector<int> out;
  for (size_t a = 0; a < p.axes.size(); ++a) {
    const int axis = static_cast<int>(a);
    if (p.axes[a].axis_class == axis_class && p.axes[a].kind == AxisKind::loop &&
        (contains(p.domain, axis) || is_stage_axis(p, axis)))
      out.push_back(axis);
  }
  return out;
}

int vector_count(const Piece& p, const AxisSet& axes) {
  int count = 0;
  for (int a : axes.list()) count += p.axes[static_cast<size_t>(a)].kind == AxisKind::vector;
  return count;
}

/// A value has the lanes of one axis at most.
bool one_vector_axis(const Piece& p) {
  std::vector<const Node*> roots;
  AxisSet domain;
  for (int a : p.domain) domain.add(a);
  if (vector_count(p, domain) > 1) return false;
  for (const Stage& s : p.stages) {
    AxisSet axes = s.value->axes();
    for (int a : s.reduce_axes) axes.add(a);
    for (int a : s.own_axes) axes.add(a);
    if (vector_count(p, axes) > 1) return false;
    roots.push_back(s.value);
  }
  for (const Store& s : p.stores) roots.push_back(s.value);  // they may read arrays
  for (const Node* n : ir::topological_order(roots))
    if (vector_count(p, n->axes()) > 1) return false;
  return true;
}

int64_t items_of(const Piece& p, const std::vector<int>& nest) {
  int64_t items = 1;
  for (int a : nest)
    if (const Axis& x = p.axes[static_cast<size_t>(a)]; x.kind == AxisKind::local)
      items *= x.extent;
  return items;
}

/// Why a group's items cannot work together, or nullptr. They fold together, so none of them may
/// want a fold of its own; they share arrays, so none of them may want its own array.
const char* group_obstacle(const Piece& p) {
  AxisSet local;
  for (size_t a = 0; a < p.axes.size(); ++a)
    if (p.axes[a].kind == AxisKind::local) local.add(static_cast<int64_t>(a));
  if (items_of(p, p.domain) > kMaxGroupItems) return "too many work-items in a group";
  for (const Stage& s : p.stages) {
    if (std::max(items_of(p, s.reduce_axes), items_of(p, s.own_axes)) > kMaxGroupItems)
      return "too many work-items in a group";
    AxisSet free = s.value->axes() & local;
    for (int a : s.reduce_axes) free.remove(a);
    if (items_of(p, s.reduce_axes) > 1 && !free.empty())
      return "the work-items of a group would not fold together";
    for (int a : s.own_axes) free.remove(a);
    if (s.placement == Placement::local && !free.empty())
      return "the work-items of a group would not share an array";
  }
  return nullptr;
}

void split(Arena& arena, Piece& p, const Action& a, AxisKind kind) {
  const std::vector<int> axes = axes_of_class(p, a.axis_class);
  if (axes.empty()) refuse(a, "no loop axis of this class");
  if (a.amount < 1) refuse(a, "the factor is below 1");
  if (a.amount > most_of(kind)) refuse(a, fmt::format("the factor exceeds {}", most_of(kind)));
  const bool folds_in_halves = kind == AxisKind::vector || kind == AxisKind::local;
  if (folds_in_halves && (a.amount < 2 || (a.amount & (a.amount - 1)) != 0))
    refuse(a, "lanes and work-items are a power of two, at least 2");
  if (p.axes.size() + axes.size() > AxisSet::kMaxAxes) refuse(a, "too many axes");
  int64_t longest = 0;
  for (int axis : axes) {
    longest = std::max(longest, p.axes[static_cast<size_t>(axis)].extent);
    if (kind != AxisKind::loop && contains(p.sequential, axis))
      refuse(a, "a sequential axis runs one by one");
  }
  // A short axis may fill part of a register: the rest is masked.
  if (a.amount > (folds_in_halves ? 2 * longest : longest))
    refuse(a, fmt::format("the axis has only {} positions", longest));
  const int inner_class = next_class(p);
  for (int axis : axes) split_axis(arena, p, axis, a.amount, inner_class, kind);
  if (kind == AxisKind::vector && !one_vector_axis(p))
    refuse(a, "a value would have lanes of two axes");
  if (const char* why = group_obstacle(p)) refuse(a, why);
}

void keep(Arena& arena, Piece& p, const Action& a) {
  if (const std::string why = keep_reads(arena, p, a.axis_class, a.amount); !why.empty())
    refuse(a, why);
  if (const char* why = group_obstacle(p)) refuse(a, why);
  if (!one_vector_axis(p)) refuse(a, "a value would have lanes of two axes");
}

void make_threads(Piece& p, const Action& a) {
  bool any = false;
  for (int axis : axes_of_class(p, a.axis_class)) {
    if (!contains(p.domain, axis)) continue;
    if (contains(p.sequential, axis)) refuse(a, "a sequential axis runs in one thread");
    p.axes[static_cast<size_t>(axis)].kind = AxisKind::thread;
    any = true;
  }
  if (!any) refuse(a, "no domain axis of this class is a loop");
}

void reorder(Piece& p, const Action& a) {
  const auto rank = [&](int axis) {
    const int c = p.axes[static_cast<size_t>(axis)].axis_class;
    return std::find(a.order.begin(), a.order.end(), c) - a.order.begin();
  };
  for (int c : a.order)
    if (std::none_of(p.axes.begin(), p.axes.end(),
                     [&](const Axis& x) { return x.axis_class == c; }))
      refuse(a, fmt::format("no axis of class {}", c));
  const auto sort = [&](std::vector<int>& list) {
    std::stable_sort(list.begin(), list.end(), [&](int x, int y) { return rank(x) < rank(y); });
  };
  const auto sequential_part = [&] {
    std::vector<int> out;
    for (int axis : p.domain)
      if (contains(p.sequential, axis)) out.push_back(axis);
    return out;
  };
  const std::vector<int> before = sequential_part();
  sort(p.domain);
  if (sequential_part() != before) refuse(a, "sequential axes keep their order");
  for (Stage& s : p.stages) {
    sort(s.reduce_axes);
    sort(s.own_axes);
  }
}

/// outer * stride * extent + inner * stride is merged * stride: the only way the pair may occur.
class Merger : public Rewriter {
 public:
  Merger(Arena& arena, int outer, int inner, int64_t outer_extent, int64_t inner_extent)
      : Rewriter(arena), outer_(outer), inner_(inner), extent_(inner_extent) {
    merged_ = arena.range(outer, outer_extent * inner_extent);
  }
  bool ok = true;

  /// Index expressions are sums of terms; null when the pair does not step as one.
  const Node* index(const Node* n) {
    if (!touches(n)) return n;
    ir::LinearTerms sum = ir::linear_terms(n);
    int64_t outer = 0, inner = 0;
    std::erase_if(sum.terms, [&](const ir::Term& t) {
      const bool range = t.node->op() == Op::RANGE;
      if (range && t.node->arg().value == outer_) return outer = t.coefficient, true;
      if (range && t.node->arg().value == inner_) return inner = t.coefficient, true;
      if (touches(t.node) && !is_access(t.node)) ok = false;
      return false;
    });
    if (outer != inner * extent_) ok = false;
    if (!ok) return n;
    const Node* rest = ir::build_sum(arena_, sum);
    return ir::simplify(arena_, arena_.add(rest, arena_.mul(merged_, arena_.integer(inner))));
  }

 private:
  bool touches(const Node* n) const { return n->axes().has(outer_) || n->axes().has(inner_); }
  bool steps(const Node* n) const {
    return std::any_of(n->sources().begin(), n->sources().end(),
                       [&](const Node* s) { return touches(s); });
  }

  const Node* change(const Node* n, Sources s) override {
    if (is_access(n) && steps(n)) {
      if (s.size() > 1 && touches(n->source(1))) ok = false;
      // An index within the index would have been rewritten already.
      if (s[0] != n->source(0) && has_load(n->source(0))) ok = false;
      if (!ok) return n;
      s[0] = index(n->source(0));
      if (n->op() == Op::STAGE) return stage(n, std::move(s));
      return arena_.make(Op::LOAD, n->dtype(), std::move(s), n->arg());
    }
    if (n->op() == Op::RANGE || !touches(n)) return n;
    if (n->op() == Op::STAGE) return stage(n, std::move(s));
    return rebuild(n, std::move(s));
  }

  const Node* stage(const Node* n, Sources s) {
    ir::Arg arg = n->arg();
    const auto has = [&](int a) {
      return std::find(arg.list.begin(), arg.list.end(), a) != arg.list.end();
    };
    if (has(outer_) != has(inner_)) ok = false;
    std::erase(arg.list, inner_);
    return arena_.make(Op::STAGE, n->dtype(), std::move(s), std::move(arg));
  }

  static bool has_load(const Node* n) {
    const Node* list[] = {n};
    for (const Node* m : ir::topological_order(list))
      if (is_access(m)) return true;
    return false;
  }

  int outer_, inner_;
  int64_t extent_;
  const Node* merged_;
};

/// After the rewrite no expression may still read the two ranges by themselves.
bool reads_stale_range(const Piece& p, int outer, int inner, int64_t merged_extent) {
  for (const Node* n : ir::topological_order(expressions(p))) {
    if (n->op() != Op::RANGE) continue;
    if (n->arg().value == inner) return true;
    if (n->arg().value == outer && n->arg().list[0] != merged_extent) return true;
  }
  return false;
}

/// The neighbours of the two classes in one list of axes; false if there are none.
bool find_pair(const Piece& p, const std::vector<int>& list, const Action& a,
               std::pair<int, int>* pair) {
  int outer = -1, inner = -1;
  const auto class_of = [&](int axis) { return p.axes[static_cast<size_t>(axis)].axis_class; };
  for (size_t i = 0; i < list.size(); ++i) {
    if (class_of(list[i]) == a.axis_class) {
      if (outer >= 0 || i + 1 == list.size() || class_of(list[i + 1]) != a.amount)
        refuse(a, "the axes are not neighbours");
      outer = list[i];
    }
    if (class_of(list[i]) == a.amount) {
      if (inner >= 0 || outer < 0) refuse(a, "the axes are not neighbours");
      inner = list[i];
    }
  }
  *pair = {outer, inner};
  return outer >= 0 && inner >= 0;
}

void merge_pair(Arena& arena, Piece& p, const Action& a, int outer, int inner) {
  Axis& x = p.axes[static_cast<size_t>(outer)];
  Axis& y = p.axes[static_cast<size_t>(inner)];
  const auto whole = [](const Axis& z) {
    return z.kind == AxisKind::loop && (z.full < 0 || z.full == z.extent);
  };
  if (!whole(x) || !whole(y)) refuse(a, "an axis is no whole loop");
  if (contains(p.sequential, outer) != contains(p.sequential, inner))
    refuse(a, "one of the axes is sequential");
  Merger merger(arena, outer, inner, x.extent, y.extent);
  for (Store& s : p.stores)
    if (s.valid && (s.valid->axes().has(outer) || s.valid->axes().has(inner)))
      refuse(a, "a validity depends on the axes");
  for (const Stage& s : p.stages)
    if (s.valid && (s.valid->axes().has(outer) || s.valid->axes().has(inner)))
      refuse(a, "a validity depends on the axes");
  std::vector<std::pair<const Node**, const Node*>> indices;
  for (Stage& s : p.stages)
    if (s.index) indices.emplace_back(&s.index, s.index);
  for (Store& s : p.stores) indices.emplace_back(&s.index, s.index);
  merger.run(p);
  for (const auto& [place, before] : indices)
    if (before->axes().has(outer) || before->axes().has(inner)) *place = merger.index(before);
  const int64_t extent = x.extent * y.extent;
  x.extent = x.full = extent;
  y.extent = y.full = 1;
  std::erase(p.domain, inner);
  for (Stage& s : p.stages) {
    std::erase(s.reduce_axes, inner);
    std::erase(s.own_axes, inner);
  }
  std::erase(p.sequential, inner);
  if (!merger.ok || reads_stale_range(p, outer, inner, extent))
    refuse(a, "an access does not step through both as one");
}

void merge(Arena& arena, Piece& p, const Action& a) {
  if (a.axis_class == a.amount) refuse(a, "the classes are the same");
  std::vector<std::pair<int, int>> pairs;
  std::pair<int, int> pair;
  if (find_pair(p, p.domain, a, &pair)) pairs.push_back(pair);
  for (const Stage& s : p.stages)
    for (const std::vector<int>& list : {s.reduce_axes, s.own_axes})
      if (find_pair(p, list, a, &pair) &&
          std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
        pairs.push_back(pair);
  if (pairs.empty()) refuse(a, "no axes of these classes are neighbours");
  for (const auto& [outer, inner] : pairs) merge_pair(arena, p, a, outer, inner);
}

int64_t parse_number(std::string_view text, std::string_view whole) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(fmt::format("[action] \"{}\": \"{}\" is not a number", whole, text));
  return v;
}

}  // namespace

int next_class(const Piece& p) {
  int next = 0;
  for (const Axis& a : p.axes) next = std::max(next, a.axis_class + 1);
  return next;
}

std::string print(const Action& a) {
  const Row& row = kActions[static_cast<size_t>(a.kind)];
  switch (row.arguments) {
    case Arguments::none:
      return fmt::format("{}({})", row.name, a.axis_class);
    case Arguments::amount:
      return fmt::format("{}({}, {})", row.name, a.axis_class, a.amount);
    default:
      return fmt::format("{}({})", row.name, fmt::join(a.order, ", "));
  }
}

Action parse_action(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')')
    throw UsageError(fmt::format("[action] \"{}\" is not NAME(numbers)", text));
  const std::string_view name = text.substr(0, open);
  std::vector<int64_t> numbers;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    numbers.push_back(parse_number(rest.substr(0, comma), text));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  for (size_t k = 0; k < std::size(kActions); ++k) {
    if (kActions[k].name != name) continue;
    Action a;
    a.kind = static_cast<ActionKind>(k);
    const Arguments arguments = kActions[k].arguments;
    if (arguments != Arguments::list &&
        numbers.size() != (arguments == Arguments::none ? size_t{1} : size_t{2}))
      throw UsageError(fmt::format("[action] \"{}\" has a wrong number of arguments", text));
    if (arguments == Arguments::list)
      a.order.assign(numbers.begin(), numbers.end());
    else
      a.axis_class = static_cast<int>(numbers[0]);
    if (arguments == Arguments::amount) a.amount = numbers[1];
    return a;
  }
  throw UsageError(fmt::format("[action] no action is named \"{}\"", name));
}

void apply(Kernel& k, size_t piece, const Action& a) {
  if (piece >= k.pieces.size()) refuse(a, "no such piece");
  Piece p = k.pieces[piece];
  switch (a.kind) {
    case ActionKind::split:
      split(*k.arena, p, a, AxisKind::loop);
      break;
    case ActionKind::vector:
      split(*k.arena, p, a, AxisKind::vector);
      break;
    case ActionKind::unroll:
      split(*k.arena, p, a, AxisKind::unroll);
      break;
    case ActionKind::local:
      split(*k.arena, p, a, AxisKind::local);
      break;
    case ActionKind::keep:
      keep(*k.arena, p, a);
      break;
    case ActionKind::thread:
      make_threads(p, a);
      break;
    case ActionKind::order:
      reorder(p, a);
      break;
    case ActionKind::merge:
      merge(*k.arena, p, a);
      break;
  }
  k.pieces[piece] = std::move(p);
}

}  // namespace tiny
