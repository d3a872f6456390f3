// SPDX-License-Identifier: MIT
#include "compiler/opt/cost.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_set>

#include "compiler/ir/linear.h"
#include "compiler/opt/estimate.h"

namespace tiny {

namespace {

using ir::AxisSet;
using ir::Node;
using ir::Op;

// Of the x86 cores the numbers were taken on (Zen 3 to 5): two vector operations, two vector loads
// and one store a cycle, latency 4.
constexpr double kUnits = 2, kLoads = 2, kLatency = 4;
/// A lane of a gather: its address, its load, its insertion.
constexpr double kGatheredLane = 1.5;
/// A load behind a condition of its own.
constexpr double kGuarded = 5;
/// A masked vector load.
constexpr double kMaskedVector = 4;
/// The same where each lane is in another cache line, of rows that often share a set. Counted in
/// pieces with arrays only, whose nests may have lanes of columns while others have lanes of rows.
constexpr double kFarLane = 10;
constexpr int64_t kFar = 16;  ///< elements
/// Bytes a cycle from beyond the second cache.
constexpr double kFarB = 8;
/// A cache line from the second cache.
constexpr double kLine = 2;
constexpr double kLine_B = 64;
constexpr double kTurn = 1.5;  ///< a loop's own work
constexpr int64_t kWantedChains = 8;

}  // namespace

bool TileChoice::is_vector(int axis_class) const {
  return std::find(vectors.begin(), vectors.end(), axis_class) != vectors.end();
}

int64_t TileChoice::factor(int axis_class) const {
  int64_t f = 1;
  for (const auto& [c, x] : unroll)
    if (c == axis_class) f *= x;
  return f;
}

int64_t TileChoice::step(int axis_class) const {
  return factor(axis_class) * (is_vector(axis_class) ? lanes : 1);
}

PieceCost::PieceCost(const Kernel& k, const Piece& p, const Target& t) : k_(k), p_(p), t_(t) {
  arrays_ = std::any_of(p.stages.begin(), p.stages.end(),
                        [](const Stage& s) { return s.placement == Placement::local; });
  size_t widest = 1;
  const auto widen = [&](DType d) {
    widest = std::max(widest, d == DType::f16 || d == DType::bf16 ? size_t{4} : size_B(d));
  };
  std::vector<const Node*> values;
  for (const Stage& s : p_.stages) values.push_back(s.value);
  for (const Store& s : p_.stores) values.push_back(s.value);
  std::unordered_set<const Node*> indices;
  const std::vector<const Node*> order = ir::topological_order(values);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {  // users before sources
    const Node* n = *it;
    const bool inside = indices.count(n) || is_access(n);
    if (inside || n->dtype() == DType::i64)
      for (const Node* s : n->sources()) indices.insert(s);
    if (!indices.count(n) && n->op() != Op::RANGE && n->op() != Op::CONST) widen(n->dtype());
  }
  for (const Store& s : p_.stores) widen(k_.buffers[static_cast<size_t>(s.buffer)].dtype);
  lanes_ = std::max<int64_t>(1, t_.vector_B / static_cast<int64_t>(std::max(widest, size_t{1})));
  lanes_ = std::min<int64_t>(lanes_, 32);
  if (t_.vector_B < 8) lanes_ = 1;

  for (const Stage& s : p_.stages) {
    Region r;
    r.axes = s.value->axes();
    if (s.placement == Placement::local) {
      for (int a : s.own_axes) r.axes.add(a);
      Access a = access(s.index, s.valid, r.axes);
      a.store = true;
      a.axes = r.axes;
      r.accesses.push_back(a);
      add_region(std::move(r), {s.value});
      continue;
    }
    r.stage = true;
    r.reduce_axes = s.reduce_axes;
    for (int a : s.reduce_axes) r.axes.add(a), r.reduced.add(a);
    // A product under a sum is one operation with it, which region_cycles counts.
    const bool fused = s.op == ir::ReduceOp::sum && s.value->op() == Op::MUL && t_.has_fma &&
                       is_float(s.accumulator);
    r.arithmetic = fused ? -op_weight(s.value) : 0;
    add_region(std::move(r), {s.value});
  }
  Region r;
  for (int a : p_.domain) r.axes.add(a);
  values.clear();
  for (const Store& s : p_.stores) {
    values.push_back(s.value);
    Access a = access(s.index, s.valid, r.axes);
    a.store = true;
    a.axes = r.axes;
    r.accesses.push_back(a);
  }
  add_region(std::move(r), values);
}

PieceCost::Access PieceCost::access(const Node* index, const Node* valid,
                                    const AxisSet& axes) const {
  Access out;
  out.axes = index->axes();
  const ir::LinearTerms sum = ir::linear_terms(index);
  for (int a : (index->axes() & axes).list()) {
    int64_t coefficient = 0;
    bool tangled = false;
    for (const ir::Term& t : sum.terms) {
      if (t.node->op() == Op::RANGE && t.node->arg().value == a)
        coefficient = t.coefficient;
      else if (t.node->axes().has(a))
        tangled = true;
    }
    if (!tangled && coefficient == 1)
      out.contiguous.add(a);
    else if (tangled || coefficient != 0)
      out.strided.add(a);
    out.steps_B.emplace_back(a,
                             tangled ? kLine_B : 4.0 * static_cast<double>(std::abs(coefficient)));
    if (arrays_ && !tangled && std::abs(coefficient) >= kFar) out.far.add(a);
  }
  if (valid) {
    out.masked = valid->axes();
    out.axes = out.axes | valid->axes();
  }
  return out;
}

/// LOAD, or STAGE of a local stage: lanes of the axes around its arrays lie side by side, unless
/// the index steps through them too.
PieceCost::Access PieceCost::read(const Node* n, const AxisSet& axes) const {
  Access out = access(n->source(0), n->sources().size() > 1 ? n->source(1) : nullptr, axes);
  const bool array = n->op() == Op::STAGE;
  const auto number = static_cast<size_t>(n->arg().value);
  const int64_t elements = array ? p_.stages[number].elements : k_.buffers[number].elements;
  if (!array) out.buffer = n->arg().value;
  out.near = static_cast<uint64_t>(elements) * size_B(n->dtype()) <= t_.local_B / 2;
  if (n->op() == Op::STAGE)
    for (int64_t a : n->arg().list) {
      out.axes.add(a);
      if (!n->source(0)->axes().has(a)) out.contiguous.add(a);
    }
  return out;
}

void PieceCost::add_region(Region r, const std::vector<const Node*>& values) {
  r.volume = 1;
  for (int a : r.axes.list()) r.volume *= static_cast<double>(extent(a));
  for (const Node* n : ir::topological_order(values)) {
    if (is_access(n)) {
      r.accesses.push_back(read(n, r.axes));
      continue;
    }
    const double w = op_weight(n);
    if (w == 0 || (n->dtype() == DType::i64 && !r.stage && n->axes().empty())) continue;
    double share = 1;  // what does not vary in every axis is hoisted
    for (int a : (r.axes - n->axes()).list()) share /= static_cast<double>(extent(a));
    r.arithmetic += w * share;
  }
  regions_.push_back(std::move(r));
}

const PieceCost::Region& PieceCost::hot() const {
  return *std::max_element(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) {
    return a.volume * (a.arithmetic + 1) < b.volume * (b.arithmetic + 1);
  });
}

/// Time of the lines that one body takes anew, as the innermost loop of a fold leaps from line to
/// line.
double PieceCost::line_cycles(const Region& r, const TileChoice& c) const {
  const auto step_of = [&](int a) { return c.step(class_of(a)); };
  int innermost = -1;
  AxisSet masked;  // conditions are computed outside
  for (const Access& a : r.accesses) masked = masked | a.masked;
  for (bool outside : {true, false})
    for (int a : r.reduce_axes) {
      if (masked.has(a) == outside && step_of(a) < extent(a)) innermost = a;
    }
  if (innermost < 0 || !t_.is_cpu) return 0;
  double lines = 0;
  for (const Access& a : r.accesses) {
    if (a.store || a.near || a.packed) continue;
    const auto turn = std::find_if(a.steps_B.begin(), a.steps_B.end(),
                                   [&](const auto& step) { return step.first == innermost; });
    if (turn == a.steps_B.end()) continue;
    double taken = static_cast<double>(step_of(innermost)) * std::min(1.0, turn->second / kLine_B);
    for (const auto& [x, step_B] : a.steps_B) {
      if (x == innermost || step_B == turn->second) continue;  // the next turn takes them again
      const int k = class_of(x);
      const int64_t copies = std::min(c.factor(k), extent(x)) * (c.is_vector(k) ? c.lanes : 1);
      taken *= std::max(1.0, static_cast<double>(copies) * std::min(1.0, step_B / kLine_B));
    }
    lines += taken;
  }
  return lines * kLine;
}

/// What one whole fold of a tile reads, each byte once: axes that step alike share a window.
double PieceCost::streamed_B(const Region& r, const TileChoice& c) const {
  double sum_B = 0;
  for (const Access& a : r.accesses) {
    if (a.store || a.near) continue;
    std::map<double, double> positions;  // by step
    for (const auto& [x, step_B] : a.steps_B) {
      const int k = class_of(x);
      const int64_t copies = std::min(c.step(k), extent(x));
      positions[step_B] += static_cast<double>(r.reduced.has(x) ? extent(x) : copies) - 1;
    }
    double read_B = 4;
    for (const auto& [step_B, count] : positions) read_B *= count + 1;
    sum_B += read_B;
  }
  return sum_B;
}

double PieceCost::region_cycles(const Region& r, const TileChoice& c) const {
  double turns = 1, tile = 1, reduce_copies = 1;
  int vector_axis = -1;
  for (int a : r.axes.list()) {
    const int k = class_of(a);
    int64_t step = std::min(c.factor(k), extent(a));
    if (c.is_vector(k)) {
      vector_axis = a;
      step = std::min(c.factor(k), (extent(a) + c.lanes - 1) / c.lanes) * c.lanes;
    }
    turns *= static_cast<double>((extent(a) + step - 1) / std::max<int64_t>(step, 1));
    const double copies = static_cast<double>(c.is_vector(k) ? step / c.lanes : step);
    (r.reduced.has(a) ? reduce_copies : tile) *= copies;
  }
  const auto copies_of = [&](const AxisSet& axes) {
    double n = 1;
    for (int a : (axes & r.axes).list()) {
      const int k = class_of(a);
      int64_t f = std::min(c.factor(k), extent(a));
      if (c.is_vector(k)) f = std::min(c.factor(k), (extent(a) + c.lanes - 1) / c.lanes);
      n *= static_cast<double>(f);
    }
    return n;
  };
  double ragged = 0;  // part of the vectors along the axis that are not whole
  if (vector_axis >= 0 && extent(vector_axis) % c.lanes != 0)
    ragged = 1.0 / static_cast<double>((extent(vector_axis) + c.lanes - 1) / c.lanes);
  double loads = 0, stores = 0, held = 0, largest = 0;
  for (const Access& a : r.accesses) {
    const double copies = copies_of(a.axes);
    double each = 1;
    if (a.packed) {
      each = 1;
    } else if (vector_axis >= 0 && a.axes.has(vector_axis)) {
      if (a.strided.has(vector_axis))
        each = (a.far.has(vector_axis) ? kFarLane : kGatheredLane) * static_cast<double>(c.lanes);
      else if (a.contiguous.has(vector_axis) && !a.masked.has(vector_axis))
        each += ragged * (kMaskedVector - 1);
      else if (a.masked.has(vector_axis))
        each = a.contiguous.has(vector_axis) ? kMaskedVector
                                             : kGatheredLane * static_cast<double>(c.lanes);
    } else if (!a.masked.empty()) {
      each = kGuarded;
    }
    // Hoisted out of the reduce loops it does not vary in.
    double share = 1;
    for (int x : (r.reduced - a.axes).list())
      share /= static_cast<double>(std::max<int64_t>(1, extent(x) / c.factor(class_of(x))));
    if (a.store) {
      stores += copies * each;
    } else {
      loads += copies * each * share;
      // The body takes one position of the unrolled fold after the other.
      const double at_once = copies / copies_of(a.axes & r.reduced);
      held += at_once;
      largest = std::max(largest, at_once);
    }
  }
  const double body = tile * reduce_copies;
  double chains = 1, latency = 0;
  if (r.stage) {
    chains = std::clamp(static_cast<double>(kWantedChains) / tile, 1.0, reduce_copies);
    latency = kLatency * reduce_copies / chains;
  }
  double cycles = std::max({body * r.arithmetic / kUnits + (r.stage ? body / kUnits : 0),
                            loads / kLoads, stores, latency, line_cycles(r, c)});
  const double registers = (r.stage ? tile * chains : tile) + held - largest + 1;
  const double spilled = registers - static_cast<double>(t_.vector_registers);
  if (r.stage && spilled > 0) cycles += 3 * spilled;
  double total = turns * (cycles + kTurn);
  if (r.stage && t_.is_cpu) {
    double folds = turns;  // whole ones: each reads all it needs
    for (int a : r.reduce_axes) {
      const int64_t step = c.step(class_of(a));
      folds /= static_cast<double>((extent(a) + step - 1) / step);
    }
    if (const double read_B = streamed_B(r, c); read_B > static_cast<double>(t_.cache_B))
      total = std::max(total, folds * read_B / kFarB);
  }
  if (r.stage && vector_axis >= 0 && r.reduced.has(vector_axis)) {
    double outputs = 1;  // lanes are folded once for each
    for (int a : (r.axes - r.reduced).list()) outputs *= static_cast<double>(extent(a));
    total += outputs * 8;
  }
  return total;
}

void PieceCost::pack(int64_t buffer) {
  for (Region& r : regions_)
    for (Access& a : r.accesses) a.packed |= a.buffer == buffer;
}

double PieceCost::cycles(const TileChoice& c) const {
  double sum = 0;
  for (const Region& r : regions_) sum += region_cycles(r, c);
  return sum;
}

bool PieceCost::one_vector_a_nest(const TileChoice& c) const {
  return std::all_of(regions_.begin(), regions_.end(), [&](const Region& r) {
    int count = 0;
    for (int a : r.axes.list()) count += c.is_vector(class_of(a));
    return count <= 1;
  });
}

double PieceCost::local_B(const TileChoice& c) const {
  double sum = 0;
  for (const Stage& s : p_.stages) {
    if (s.placement != Placement::local) continue;
    double bytes = static_cast<double>(s.elements) * static_cast<double>(size_B(s.accumulator));
    AxisSet around = s.value->axes();
    for (int a : s.own_axes) around.remove(a);
    for (int a : around.list()) {
      const int k = class_of(a);
      bytes *= static_cast<double>(std::min(c.factor(k), extent(a)));
      if (c.is_vector(k)) bytes *= static_cast<double>(c.lanes);
    }
    sum += bytes;
  }
  return sum;
}

double PieceCost::body_size(const TileChoice& c) const {
  double most = 0;
  for (const Region& r : regions_) {
    double copies = 1;
    for (int a : r.axes.list())
      copies *= static_cast<double>(std::min(c.factor(class_of(a)), extent(a)));
    most = std::max(most, copies * (r.arithmetic + static_cast<double>(r.accesses.size()) + 1));
  }
  return most;
}

}  // namespace tiny
