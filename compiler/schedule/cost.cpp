// SPDX-License-Identifier: MIT
#include "compiler/schedule/cost.h"

#include <algorithm>
#include <unordered_map>

namespace tiny {
namespace {

using ir::AxisSet;
using ir::Node;
using ir::Op;

constexpr double kLaunch_ns = 2000;  // encode, hand over, join
constexpr double kByte_ns = 0.1;     // 10 GB/s, all cores together
constexpr double kInstruction_ns =
    0.25;  // one vector instruction on one core: 4 a ns at best, dependent code less
constexpr double kMaskedLoad = 6;  // a mask a lane, computed, and no sharing between taps
constexpr int kMaxAxes = 40;       // splits multiply them; AxisSet has 128
constexpr int kMaxStages = 16;
constexpr double kFill = 24;       // instructions to start filling an array and to start reading it
constexpr double kRefills = 4;     // groups a thread runs, each of which fills what all share
constexpr uint64_t kTileRows = 4;  // outer positions whose folds share a tile's loads
constexpr double kSharedByTile = 8;  // register tiles reuse a value that lacks a loop's axis

/// The parts of a piece that run as one loop nest: each stage, and all stores together.
struct Nest {
  AxisSet outer;       ///< axes fixed while the nest runs once
  AxisSet all;         ///< outer and its own loops
  bool fills = false;  ///< an array in local memory
  std::vector<const Node*> values;
};

std::vector<Nest> nests(const Piece& piece) {
  std::vector<Nest> result;
  for (const Stage& stage : piece.stages) {
    const bool fills = stage.placement == Placement::local;
    Nest nest{free_axes(stage), free_axes(stage), fills, {stage.value}};
    for (const int axis : stage.reduce_axes) nest.all.add(axis);
    for (const int axis : stage.own_axes) nest.all.add(axis);
    result.push_back(std::move(nest));
  }
  Nest stores;
  for (const int axis : piece.domain) stores.outer.add(axis);
  stores.all = stores.outer;
  for (const Store& store : piece.stores) {
    stores.values.push_back(store.value);
    stores.values.push_back(store.index);
    if (store.valid) stores.values.push_back(store.valid);
  }
  result.push_back(std::move(stores));
  return result;
}

/// Index arithmetic is strength-reduced away; what depends on data is not.
bool is_data(const Node* n) {
  return n->dtype() != DType::i64 || n->op() == Op::LOAD || n->op() == Op::STAGE;
}

/// Vector instructions for one evaluation. An array in local memory costs its accesses, no bytes.
double instructions_of(const Node* n) {
  if (!is_access(n)) return op_weight(n->op());
  return n->sources().size() == 2 ? kMaskedLoad : 1;
}

struct NestWork {
  double instructions = 0;
  std::unordered_map<int64_t, double> loads;  ///< buffer → evaluations
};

NestWork work_of(const Piece& piece, const Nest& nest, const Target& target) {
  NestWork work;
  const double all = iterations(piece, nest.all);
  const double lanes = std::max(1.0, target.vector_B / 4.0);
  if (nest.fills) work.instructions += all / lanes + iterations(piece, nest.outer) * kFill;
  for (const Node* n : ir::topological_order(nest.values)) {
    if (!is_data(n) || n->is_const() || n->op() == Op::RANGE) continue;
    // A value that lacks some loop's axis is hoisted where loops allow, else shared by the tile.
    const double own = iterations(piece, n->axes());
    const bool hoists = nest.outer.contains(n->axes()) || n->axes() == nest.all;
    const double evaluations = hoists ? own : std::max(own, all / kSharedByTile);
    work.instructions += evaluations * instructions_of(n) / lanes;
    if (n->op() == Op::LOAD) work.loads[n->arg().value] += own;
  }
  return work;
}

/// Groups that can work at the same time on a nest: only axes of the stores' domain are divided.
double parallel(const Piece& piece, const Nest& nest, const Target& target) {
  AxisSet domain;
  for (const int axis : piece.domain) domain.add(axis);
  for (const int axis : piece.sequential) domain.remove(axis);
  const double most = target.parallelism, groups = iterations(piece, nest.outer & domain);
  if (nest.fills && most > 1 && groups < most * kRefills) return std::max(1.0, groups) / kRefills;
  return std::min(most, std::max(1.0, groups));
}

/// Local memory for the arrays of a piece: where folds fill one, of several outer positions at
/// once.
uint64_t local_B(const Piece& piece) {
  uint64_t kept_B = 0;
  AxisSet own;
  for (const Stage& stage : piece.stages) {
    if (stage.placement != Placement::local) continue;
    kept_B += uint64_t(stage.elements) * size_B(stage.accumulator);
    for (const int axis : stage.own_axes) own.add(axis);
  }
  const bool folds = std::any_of(piece.stages.begin(), piece.stages.end(), [&](const Stage& s) {
    return s.placement == Placement::reg && !(free_axes(s) & own).empty();
  });
  return folds ? kept_B * kTileRows : kept_B;
}

}  // namespace

double op_weight(Op op) {
  switch (op) {
    case Op::EXP:
    case Op::EXP2:
    case Op::LOG:
    case Op::LOG2:
      return 14;
    case Op::SIN:
    case Op::COS:
      return 30;
    case Op::TANH:
    case Op::ERF:
      return 20;
    case Op::POW:
      return 40;
    case Op::THREEFRY:
      return 120;
    case Op::FDIV:
    case Op::SQRT:
      return 4;
    case Op::IDIV:
    case Op::IMOD:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
    case Op::FMOD:
      return 20;
    case Op::STAGE:
    case Op::VAR:
      return 0;
    default:
      return 1;
  }
}

double iterations(const Piece& piece, const AxisSet& axes) {
  double count = 1;
  for (const int axis : axes.list()) count *= double(piece.axes[axis].extent);
  return count;
}

AxisSet free_axes(const Stage& stage) {
  AxisSet free = stage.value->axes();
  for (const int axis : stage.reduce_axes) free.remove(axis);
  for (const int axis : stage.own_axes) free.remove(axis);
  return free;
}

double draft_cost(const Draft& draft, const Target& target) {
  double time_ns = kLaunch_ns;
  std::vector<char> touched(draft.buffers.size(), 0);
  for (const Nest& nest : nests(draft.piece)) {
    const NestWork work = work_of(draft.piece, nest, target);
    time_ns += work.instructions * kInstruction_ns / parallel(draft.piece, nest, target);
    const double runs = iterations(draft.piece, nest.outer);
    for (const auto& [buffer, evaluations] : work.loads) {
      const KernelBuffer& b = draft.buffers[buffer];
      const double bytes =
          std::min<double>(evaluations, double(b.elements)) * double(size_B(b.dtype));
      const bool cached = touched[buffer] && bytes / runs < double(target.cache_B) / 2;
      if (!cached) time_ns += bytes * kByte_ns;
      touched[buffer] = 1;
    }
  }
  for (const KernelBuffer& b : draft.buffers)
    if (b.written) time_ns += double(b.elements) * double(size_B(b.dtype)) * kByte_ns;
  return time_ns;
}

const char* draft_obstacle(const Draft& draft, const Target& target) {
  const Piece& piece = draft.piece;
  if (piece.axes.size() > kMaxAxes) return "too many axes";
  if (piece.stages.size() > kMaxStages) return "too many stages";
  if (draft.buffers.size() > target.max_buffers) return "too many buffers";
  const uint64_t kept_B = local_B(piece);
  if (kept_B > 0 && !target.is_cpu)
    return "arrays in local memory, which only a CPU's threads keep";
  if (kept_B > target.local_B) return "arrays that do not fit in local memory";
  AxisSet domain;
  for (const int axis : piece.domain) domain.add(axis);
  std::vector<AxisSet> chain;
  for (const Stage& stage : piece.stages) {
    const AxisSet free = free_axes(stage);
    if (domain.contains(free)) {
      chain.push_back(free);
      continue;
    }
    // Inside another stage's reduction: every loop around it must be one of its own axes.
    for (const Stage& outer : piece.stages) {
      AxisSet around = free_axes(outer);
      bool inside = false;
      const bool fills = outer.placement == Placement::local;
      for (const int axis : fills ? outer.own_axes : outer.reduce_axes) {
        around.add(axis);
        inside |= free.has(axis);
      }
      if (inside && !free.contains(around)) return "a reduction repeated inside another";
      double folded = 1;
      for (const int axis : stage.reduce_axes) folded *= double(piece.axes[axis].extent);
      if (inside && !fills && folded > 64 && iterations(piece, free) * folded > 65536)
        return "a long reduction inside another";
    }
  }
  std::sort(chain.begin(), chain.end(),
            [&](const AxisSet& a, const AxisSet& b) { return a.list().size() < b.list().size(); });
  for (size_t i = 1; i < chain.size(); ++i)
    if (!chain[i].contains(chain[i - 1])) return "stages over different axes";
  return nullptr;
}

}  // namespace tiny
