// SPDX-License-Identifier: MIT
#include "compiler/opt/heuristic.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/log.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <set>

#include "compiler/opt/actions.h"
#include "compiler/opt/cost.h"
#include "compiler/opt/estimate.h"

namespace tiny {

namespace {

using ir::AxisSet;

/// Below this much work (Work::cost) a second thread costs more than it saves: about 4 us.
constexpr double kThreadedCost = 250e3;
/// Bounds the text of one body, and so the time to compile it.
constexpr double kMaxBody = 160;
constexpr double kMaxElementwiseBody = 40;
/// A short innermost reduce loop is unrolled whole when its copies stay below this.
constexpr int64_t kMaxWholeReduce = 8;
constexpr double kMaxUnrolledFolds = 64;
/// A GPU hides latency with this many work-items on each unit.
constexpr double kItemsPerUnit = 256;
/// Work-items of a group that shares operands, and the positions of the fold for which it copies
/// them at once. Copying pays where so many items read what one has copied.
constexpr int64_t kTileItems = 256, kTileSide = 16, kTileDepth = 16, kTileReaders = 4;
/// Turns of the copying loop that are unrolled, so that their loads are on the way together.
constexpr int64_t kMaxCopyTurns = 8;
/// An operand is packed where it takes at least this part of the second cache, and is read again
/// for so many rows.
constexpr double kPackedPart = 0.5, kPackedRows = 96;
/// Copying an element takes so many cycles; packing must leave at most this part of the time.
constexpr double kPackedElement = 2, kWorthPacking = 0.9;
/// Vector classes that get the full search for a tile.
constexpr size_t kTiledVectors = 3;

/// The fold that most positions are in; nullptr: none.
const Stage* longest_fold(const Piece& p) {
  const Stage* longest = nullptr;
  double most = 0;
  for (const Stage& s : p.stages) {
    if (s.reduce_axes.empty()) continue;
    double positions = 1;
    for (int a : s.value->axes().list())
      positions *= static_cast<double>(p.axes[static_cast<size_t>(a)].extent);
    if (positions > most) most = positions, longest = &s;
  }
  return longest;
}

class PieceTuner {
 public:
  PieceTuner(Kernel& k, size_t piece, const Target& t, bool threaded)
      : k_(k), piece_(piece), t_(t), threaded_(threaded) {}

  /// One work-item a position of the stores, nothing else.
  void run_plain() {
    for (int c : domain_classes())
      if (!is_sequential(c)) act({ActionKind::thread, c, 0, {}});
  }

  void run() {
    merge_neighbours();
    choose_tile();
    order_domain();
    if (!t_.is_cpu) {
      make_work_items();
    } else {
      pack_operands();
      if (threaded_) make_threads();
    }
    for (const Action& a : actions_) act(a);
  }

 private:
  const Piece& p() const { return k_.pieces[piece_]; }
  void act(const Action& a) {
    log_at(6, "opt", "{} piece {}: {}", k_.name, piece_, print(a));
    apply(k_, piece_, a);
  }
  bool try_merge(int outer, int inner);
  void merge_neighbours();
  void choose_tile();
  std::vector<TileChoice> vector_choices(const PieceCost&) const;
  void search_tile(const PieceCost&, const PieceCost::Region&, double body_limit,
                   const TileChoice& start, TileChoice* best, double* least) const;
  bool has_arrays() const;
  bool fills_lanes(const PieceCost&, int axis_class) const;
  void add_vectors(const PieceCost&, TileChoice*) const;
  void tile_other_nests(const PieceCost&, TileChoice*) const;
  bool is_reduce_only(int axis_class) const;
  void unroll_short_reduce(const PieceCost&, const TileChoice&);
  void order_domain();
  int readers(int axis_class) const;
  std::vector<int> shared_classes() const;
  bool is_scarce(int axis_class) const;
  double wanted_items() const { return kItemsPerUnit * static_cast<double>(t_.parallelism); }
  int cheapest_inner(const PieceCost&, const std::vector<int>& classes) const;
  void search_packed(const PieceCost&, double body_limit, double* least);
  std::vector<const ir::Node*> panel_reads(const Stage& fold, int axis_class,
                                           const TileChoice&) const;
  void pack_operands();
  void make_threads();
  void make_work_items();
  void share_reduction();
  std::vector<int> tile_classes() const;
  bool share_tile();
  using Act = std::function<void(const Action&)>;
  bool copy_operands(const Piece&, int64_t items, const Act&) const;
  bool extend(const std::function<bool(const Piece&, const Act&)>& more);
  double blocks_of(int axis_class) const;
  bool is_sequential(int axis_class) const;
  std::vector<int> domain_classes() const;

  Kernel& k_;
  size_t piece_;
  const Target& t_;
  bool threaded_;
  TileChoice choice_;
  std::vector<int> order_;    ///< classes of the domain, outer to inner
  std::vector<int> common_;   ///< leading classes that every stage depends on
  std::set<int64_t> packed_;  ///< buffers whose lanes choice_ wants side by side
  std::vector<Action> actions_;
};

/// Tries actions behind those chosen so far: `more` sees the piece as they leave it, and acts on
/// it. They stay, unless one is refused or `more` returns false.
bool PieceTuner::extend(const std::function<bool(const Piece&, const Act&)>& more) {
  std::vector<Action> actions;
  Kernel copy = k_;
  const Act act = [&](const Action& action) {
    apply(copy, piece_, action);
    actions.push_back(action);
  };
  try {
    for (const Action& action : actions_) act(action);
    if (!more(copy.pieces[piece_], act)) return false;
  } catch (const UsageError&) {
    return false;
  }
  actions_ = std::move(actions);
  return true;
}

bool PieceTuner::is_sequential(int c) const {
  return std::any_of(p().sequential.begin(), p().sequential.end(),
                     [&](int a) { return p().axes[static_cast<size_t>(a)].axis_class == c; });
}

std::vector<int> PieceTuner::domain_classes() const {
  std::vector<int> out;
  for (int a : p().domain) {
    const int c = p().axes[static_cast<size_t>(a)].axis_class;
    if (std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
  }
  return out;
}

/// Times a class occurs among the axes that stages depend on.
int PieceTuner::readers(int c) const {
  int count = 0;
  AxisSet own;
  for (const Stage& s : p().stages)
    for (int a : s.own_axes) own.add(a);
  for (const Stage& s : p().stages) {
    AxisSet free = s.value->axes();
    for (int a : s.reduce_axes) free.remove(a);
    for (int a : (free - own).list()) count += p().axes[static_cast<size_t>(a)].axis_class == c;
  }
  return count;
}

/// The domain's classes that most stages depend on: loops over them can enclose everything.
std::vector<int> PieceTuner::shared_classes() const {
  std::vector<int> classes = domain_classes();
  int most = 0;
  for (int c : classes) most = std::max(most, readers(c));
  std::erase_if(classes, [&](int c) { return readers(c) < most; });
  return classes;
}

/// Are a GPU's work-items so few that each position of the shared classes is needed as one?
bool PieceTuner::is_scarce(int axis_class) const {
  if (t_.is_cpu) return false;
  const std::vector<int> shared = shared_classes();
  double positions = 1;
  for (int a : p().domain)
    if (const Axis& x = p().axes[static_cast<size_t>(a)]; contains(shared, x.axis_class))
      positions *= static_cast<double>(x.extent);
  return contains(shared, axis_class) && positions < wanted_items();
}

bool PieceTuner::try_merge(int outer, int inner) {
  Action a;
  a.kind = ActionKind::merge;
  a.axis_class = outer;
  a.amount = inner;
  try {
    act(a);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

/// Longer axes fill registers better and split more evenly.
void PieceTuner::merge_neighbours() {
  bool again = true;
  while (again) {
    again = false;
    std::vector<std::vector<int>> lists{p().domain};
    for (const Stage& s : p().stages) {
      lists.push_back(s.reduce_axes);
      if (!s.own_axes.empty()) lists.push_back(s.own_axes);
    }
    for (const std::vector<int>& list : lists) {
      for (size_t i = list.size(); i-- > 1 && !again;) {
        const int outer = p().axes[static_cast<size_t>(list[i - 1])].axis_class;
        const int inner = p().axes[static_cast<size_t>(list[i])].axis_class;
        again = outer != inner && try_merge(outer, inner);
      }
      if (again) break;
    }
  }
}

/// Every class that may become lanes, with the cost of that alone; cheapest first.
std::vector<TileChoice> PieceTuner::vector_choices(const PieceCost& cost) const {
  std::vector<std::pair<double, TileChoice>> ranked;
  std::set<int> classes;
  for (const auto& r : cost.regions())
    for (int a : r.axes.list()) classes.insert(cost.class_of(a));
  const int64_t lanes = cost.lanes();
  ranked.emplace_back(cost.cycles({}), TileChoice{});
  for (int c : classes) {
    if (is_scarce(c) || !fills_lanes(cost, c)) continue;
    Kernel copy = k_;
    try {
      apply(copy, piece_, {ActionKind::vector, c, lanes, {}});
    } catch (const UsageError&) {
      continue;
    }
    TileChoice choice;
    choice.vectors = {c};
    choice.lanes = lanes;
    if (has_arrays()) add_vectors(cost, &choice);
    // A reduction over lanes wants a fold at its end: between equals the domain wins.
    ranked.emplace_back(cost.cycles(choice) * (is_reduce_only(c) ? 1.02 : 1), choice);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TileChoice> out;
  for (auto& [cycles, choice] : ranked) out.push_back(std::move(choice));
  return out;
}

bool PieceTuner::fills_lanes(const PieceCost& cost, int axis_class) const {
  int64_t longest = 0;
  for (const Axis& a : p().axes)
    if (a.axis_class == axis_class) longest = std::max(longest, a.extent);
  return cost.lanes() >= 2 && longest >= 2 && 2 * longest >= cost.lanes() &&
         !is_sequential(axis_class);
}

/// Arrays between loop nests let each have lanes of its own: while the estimate gains, one more
/// class becomes lanes.
void PieceTuner::add_vectors(const PieceCost& cost, TileChoice* choice) const {
  std::set<int> classes;
  for (const auto& r : cost.regions())
    for (int a : r.axes.list()) classes.insert(cost.class_of(a));
  std::erase_if(classes, [&](int c) { return !fills_lanes(cost, c); });
  for (;;) {
    TileChoice best = *choice;
    double least = cost.cycles(best);
    for (int c : classes) {
      TileChoice more = *choice;
      more.vectors.push_back(c);
      if (choice->is_vector(c) || !cost.one_vector_a_nest(more)) continue;
      if (const double cycles = cost.cycles(more); cycles < least) least = cycles, best = more;
    }
    if (best.vectors.size() == choice->vectors.size()) return;
    *choice = std::move(best);
  }
}

bool PieceTuner::is_reduce_only(int axis_class) const {
  return std::none_of(p().domain.begin(), p().domain.end(), [&](int a) {
    return p().axes[static_cast<size_t>(a)].axis_class == axis_class;
  });
}

void PieceTuner::search_tile(const PieceCost& cost, const PieceCost::Region& nest, double limit,
                             const TileChoice& start, TileChoice* best, double* least) const {
  constexpr int64_t factors[] = {1, 2, 3, 4, 5, 6, 8, 12};
  const bool arrays = has_arrays();
  std::vector<std::pair<int, int64_t>> classes;  // with the positions left to unroll
  for (int a : nest.axes.list()) {
    const int c = cost.class_of(a);
    const int64_t left =
        start.is_vector(c) ? (cost.extent(a) + start.lanes - 1) / start.lanes : cost.extent(a);
    if (left > 1 && !is_sequential(c) && !is_scarce(c) && start.factor(c) == 1)
      classes.emplace_back(c, left);
  }
  const bool folds_lanes =
      &nest == &cost.hot() && (start.vectors.empty() || is_reduce_only(start.vectors[0]));
  const auto take = [&](TileChoice choice) {
    std::erase_if(choice.unroll, [](const auto& u) { return u.second == 1; });
    if (cost.body_size(choice) > limit && !choice.unroll.empty()) return;
    if (arrays && cost.local_B(choice) > static_cast<double>(t_.local_B)) return;
    double copies = 1;
    for (size_t i = start.unroll.size(); i < choice.unroll.size(); ++i)
      copies *= static_cast<double>(choice.unroll[i].second);
    // Between equals the smaller code wins.
    const double cycles = cost.cycles(choice) * (1 + 0.0002 * copies) * (folds_lanes ? 1.02 : 1);
    if (cycles < *least) *least = cycles, *best = std::move(choice);
  };
  take(start);
  // A GPU's neighbours read one line together: what one item reads alone is no more than a vector.
  if (!t_.is_cpu && !nest.stage) return;
  for (size_t i = 0; i < classes.size(); ++i)
    for (int64_t f : factors) {
      if (f == 1 || f > classes[i].second) continue;
      TileChoice one = start;
      one.unroll.emplace_back(classes[i].first, f);
      take(one);
      for (size_t j = i + 1; j < classes.size(); ++j)
        for (int64_t g : factors) {
          if (g == 1 || g > classes[j].second || f * g > 2 * t_.vector_registers) continue;
          TileChoice two = one;
          two.unroll.push_back({classes[j].first, g});
          take(two);
          for (const auto& [c, left] : classes)  // more of the fold, for fewer turns
            for (int64_t turns : {2, 4}) {
              if (two.factor(c) > 1 || !is_reduce_only(c) || left < 2 * turns) continue;
              TileChoice three = two;
              three.unroll.push_back({c, turns});
              take(three);
            }
        }
    }
}

bool PieceTuner::has_arrays() const {
  return std::any_of(p().stages.begin(), p().stages.end(),
                     [](const Stage& s) { return s.placement == Placement::local; });
}

/// The other loop nests get tiles too, the slowest one first, of the classes that are still loops.
void PieceTuner::tile_other_nests(const PieceCost& cost, TileChoice* choice) const {
  std::vector<const PieceCost::Region*> nests;
  for (const auto& nest : cost.regions())
    if (&nest != &cost.hot()) nests.push_back(&nest);
  while (!nests.empty()) {
    const auto slowest =
        std::max_element(nests.begin(), nests.end(), [&](const auto* a, const auto* b) {
          return cost.region_cycles(*a, *choice) < cost.region_cycles(*b, *choice);
        });
    const PieceCost::Region& nest = **slowest;
    nests.erase(slowest);
    const double limit =
        std::max(nest.stage ? kMaxBody : kMaxElementwiseBody, cost.body_size(*choice));
    double least = cost.cycles(*choice);
    search_tile(cost, nest, limit, TileChoice(*choice), choice, &least);
  }
}

void PieceTuner::choose_tile() {
  const PieceCost cost(k_, p(), t_);
  const std::vector<TileChoice> starts = vector_choices(cost);
  const double limit = cost.hot().stage ? kMaxBody : kMaxElementwiseBody;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(starts.size(), kTiledVectors); ++i) {
    if (!has_arrays()) {
      search_tile(cost, cost.hot(), limit, starts[i], &choice_, &least);
      continue;
    }
    TileChoice tiled;
    double own_least = std::numeric_limits<double>::infinity();
    search_tile(cost, cost.hot(), limit, starts[i], &tiled, &own_least);
    tile_other_nests(cost, &tiled);
    if (const double cycles = cost.cycles(tiled); cycles < least)
      least = cycles, choice_ = std::move(tiled);
  }
  if (t_.is_cpu && !has_arrays()) search_packed(cost, limit, &least);
  for (int c : choice_.vectors) actions_.push_back({ActionKind::vector, c, choice_.lanes, {}});
  for (const auto& [c, f] : choice_.unroll) actions_.push_back({ActionKind::unroll, c, f, {}});
  unroll_short_reduce(cost, choice_);
}

/// A short innermost reduce loop, such as the taps of a convolution, costs more in turns than in
/// work; unrolled, its conditions are constants too.
void PieceTuner::unroll_short_reduce(const PieceCost& cost, const TileChoice& choice) {
  const auto& hot = cost.hot();
  if (!hot.stage || hot.reduce_axes.empty()) return;
  const int a = hot.reduce_axes.back(), c = cost.class_of(a);
  if (choice.is_vector(c) || choice.factor(c) > 1 || !is_reduce_only(c)) return;
  const int64_t n = cost.extent(a);
  TileChoice whole = choice;
  whole.unroll.emplace_back(c, n);
  double copies = 1;
  for (int x : hot.axes.list())
    copies *= static_cast<double>(std::min(whole.factor(cost.class_of(x)), cost.extent(x)));
  if (n < 2 || n > kMaxWholeReduce || copies > kMaxUnrolledFolds) return;
  if (cost.body_size(whole) > 2 * kMaxBody) return;
  actions_.push_back({ActionKind::unroll, c, n, {}});
  choice_.unroll.emplace_back(c, n);
}

/// Of loops that all enclose the hot stage, the innermost is the one that streams least: what does
/// not depend on it stays in the cache.
int PieceTuner::cheapest_inner(const PieceCost& cost, const std::vector<int>& classes) const {
  const auto& hot = cost.hot();
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int c : classes) {
    AxisSet of_class;
    double blocks = 0;
    for (int a : hot.axes.list())
      if (cost.class_of(a) == c && !hot.reduced.has(a)) {
        of_class.add(a);
        blocks = static_cast<double>(cost.extent(a)) / static_cast<double>(choice_.step(c));
      }
    if (of_class.empty() || blocks <= 1) continue;
    double streamed = 0;
    for (const auto& access : hot.accesses) {
      if (access.store || (access.axes & of_class).empty()) continue;
      double copies = 1;
      for (int a : access.axes.list()) {
        const int k = cost.class_of(a);
        if (hot.reduced.has(a)) continue;
        copies *= static_cast<double>(choice_.step(k));
      }
      streamed += copies;
    }
    if (streamed <= least) least = streamed, best = c;  // later ones win ties
  }
  return best;
}

void PieceTuner::order_domain() {
  const PieceCost cost(k_, p(), t_);
  std::vector<int> classes = domain_classes();
  std::stable_sort(classes.begin(), classes.end(),
                   [&](int x, int y) { return readers(x) > readers(y); });
  common_ = shared_classes();
  if (cost.hot().stage && common_.size() > 1) {
    const int inner = cheapest_inner(cost, common_);
    if (inner >= 0) {
      std::erase(common_, inner);
      common_.push_back(inner);
    }
  }
  if (!packed_.empty()) {  // a panel is packed once for all other tiles
    std::erase(common_, choice_.vectors[0]);
    common_.insert(common_.begin(), choice_.vectors[0]);
  }
  std::copy(common_.begin(), common_.end(), classes.begin());
  order_ = classes;
  // Reduce axes that conditions depend on go outside, where the conditions are computed once.
  std::vector<int> reduce;
  const auto& hot = cost.hot();
  for (bool masked : {true, false})
    for (int a : hot.reduce_axes) {
      const int c = cost.class_of(a);
      const bool is_masked = std::any_of(hot.accesses.begin(), hot.accesses.end(),
                                         [&](const auto& access) { return access.masked.has(a); });
      const bool listed = std::find(order_.begin(), order_.end(), c) != order_.end();
      if (is_masked == masked && !listed) reduce.push_back(c);
    }
  std::vector<int> all = order_;
  all.insert(all.end(), reduce.begin(), reduce.end());
  // Inner axes of splits get classes behind all others, so they stay innermost.
  if (!p().sequential.empty() || all.empty()) return;
  actions_.push_back({ActionKind::order, 0, 0, all});
}

/// Reads of a fold that step through a domain class and are repeated for so many tiles of others
/// that a copy of what one tile reads is worth it, where that fits in the second cache.
std::vector<const ir::Node*> PieceTuner::panel_reads(const Stage& fold, int c,
                                                     const TileChoice& choice) const {
  const auto axis = [&](int a) -> const Axis& { return p().axes[static_cast<size_t>(a)]; };
  std::vector<const ir::Node*> reads;
  const ir::Node* list[] = {fold.value};
  for (const ir::Node* n : ir::topological_order(list)) {
    if (n->op() != ir::Op::LOAD) continue;
    double rows = 1, panel_B = static_cast<double>(size_B(n->dtype()));
    bool steps = false;
    for (int a : p().domain) {
      if (!n->axes().has(a)) rows *= static_cast<double>(axis(a).extent);
      steps |= n->axes().has(a) && axis(a).axis_class == c;
    }
    for (int a : n->axes().list()) {
      const int k = axis(a).axis_class;
      panel_B *= contains(fold.reduce_axes, a) ? static_cast<double>(axis(a).extent)
                                               : static_cast<double>(choice.step(k));
    }
    if (steps && rows >= kPackedRows && panel_B <= static_cast<double>(t_.cache_B) / 2)
      reads.push_back(n);
  }
  return reads;
}

/// Lanes of a class along which an operand leaps, had it been packed.
void PieceTuner::search_packed(const PieceCost& cost, double limit, double* least) {
  const Stage* fold = longest_fold(p());
  if (!fold || !cost.hot().stage || p().domain.size() < 2) return;
  for (int c : shared_classes()) {
    if (is_sequential(c) || !fills_lanes(cost, c)) continue;
    TileChoice start;
    start.vectors = {c};
    start.lanes = cost.lanes();
    PieceCost packed = cost;
    std::set<int64_t> buffers;
    double packing = 0;
    for (const ir::Node* n : panel_reads(*fold, c, start)) {
      if (!buffers.insert(n->arg().value).second) continue;
      packed.pack(n->arg().value);
      packing += kPackedElement *
                 static_cast<double>(k_.buffers[static_cast<size_t>(n->arg().value)].elements);
    }
    if (buffers.empty() || !packed.one_vector_a_nest(start)) continue;
    TileChoice tile = start;
    double cycles = std::numeric_limits<double>::infinity();
    search_tile(packed, packed.hot(), limit, start, &tile, &cycles);
    if (cycles + packing >= *least * kWorthPacking) continue;
    *least = cycles + packing;
    choice_ = std::move(tile);
    packed_ = std::move(buffers);
  }
}

/// Panels of what the lanes of a long fold read are copied to where they lie side by side. Large
/// operands that need not be are too: their lines are taken again for each tile of rows, from far.
void PieceTuner::pack_operands() {
  const Stage* fold = longest_fold(p());
  if (!fold || has_arrays() || common_.size() < 2) return;
  const int outer = common_.front();
  if (!choice_.is_vector(outer)) return;
  std::set<int64_t> buffers = packed_;
  for (const ir::Node* n : panel_reads(*fold, outer, choice_)) {
    const KernelBuffer& b = k_.buffers[static_cast<size_t>(n->arg().value)];
    const double all_B = static_cast<double>(b.elements) * static_cast<double>(size_B(b.dtype));
    if (all_B >= static_cast<double>(t_.cache_B) * kPackedPart) buffers.insert(n->arg().value);
  }
  extend([&](const Piece& piece, const Act& act) {
    for (int64_t b : buffers) {
      const int copied = next_class(piece);
      act({ActionKind::keep, outer, b, {}});
      act({ActionKind::vector, copied, choice_.lanes, {}});
    }
    return true;
  });
}

/// Leading loops become threads until there are enough groups.
void PieceTuner::make_threads() {
  const double wanted = 4.0 * static_cast<double>(std::max<uint32_t>(1, t_.parallelism));
  if (t_.parallelism < 2) return;
  double groups = 1;
  for (int c : common_) {
    if (is_sequential(c)) continue;
    const double blocks = blocks_of(c);
    if (blocks < 2) continue;
    actions_.push_back({ActionKind::thread, c, 0, {}});
    groups *= blocks;
    if (groups >= wanted) return;
  }
}

/// Positions of a domain class once its tile is cut off.
double PieceTuner::blocks_of(int c) const {
  double blocks = 1;
  for (int a : p().domain)
    if (p().axes[static_cast<size_t>(a)].axis_class == c) {
      const int64_t step = choice_.step(c);
      blocks = static_cast<double>((p().axes[static_cast<size_t>(a)].extent + step - 1) / step);
    }
  return blocks;
}

/// The items of a group take the longest reduction's innermost axis together, where one item each
/// would leave the device idle. Pieces of one kernel agree on the group's size, so only lone pieces
/// do.
void PieceTuner::share_reduction() {
  const PieceCost cost(k_, p(), t_);
  const PieceCost::Region* longest = nullptr;
  for (const auto& r : cost.regions())
    if (r.stage && !r.reduce_axes.empty() && (!longest || r.volume > longest->volume)) longest = &r;
  if (!longest || k_.pieces.size() > 1) return;
  double items = 1;
  for (int c : common_) items *= blocks_of(c);
  if (items >= wanted_items()) return;
  const int a = longest->reduce_axes.back(), c = cost.class_of(a);
  const int64_t step = choice_.step(c);
  const int64_t left = (cost.extent(a) + step - 1) / step;
  int64_t share = 1;
  while (share < kMaxGroupItems && share * 2 <= left) share *= 2;
  if (share < kWaveItems || is_sequential(c)) return;
  extend([&](const Piece&, const Act& act) {
    act({ActionKind::local, c, share, {}});
    return true;
  });
}

/// The two domain classes whose items share most: all of the hot fold's reads lack one of them.
std::vector<int> PieceTuner::tile_classes() const {
  std::vector<int> classes;
  for (int c : common_)
    if (!is_sequential(c) && blocks_of(c) >= 2) classes.push_back(c);
  if (classes.size() > 2) classes.erase(classes.begin(), classes.end() - 2);
  return classes.size() == 2 ? classes : std::vector<int>{};
}

/// A loop of the fold, and how many of its turns copy operands at once: so many that each item
/// folds kTileDepth positions of what is copied.
struct TileLoop {
  int axis = -1;
  int64_t turns = 0;
};

TileLoop tile_loop(const Piece& p, const Stage& fold) {
  int64_t inner = 1;
  for (int a : fold.reduce_axes)
    if (p.axes[static_cast<size_t>(a)].kind != AxisKind::loop)
      inner *= p.axes[static_cast<size_t>(a)].extent;
  for (size_t i = fold.reduce_axes.size(); i-- > 0;) {
    const int a = fold.reduce_axes[i];
    const Axis& x = p.axes[static_cast<size_t>(a)];
    if (x.kind != AxisKind::loop) continue;
    const int64_t turns = std::max<int64_t>(1, (kTileDepth + inner - 1) / inner);
    if (turns < x.extent) return {a, turns};
    inner *= x.extent;
  }
  return {};
}

/// Buffers that the items of a group had better copy to local memory: many of them read the same.
std::set<int64_t> shared_operands(const Piece& p, const Stage& fold, int loop) {
  std::set<int64_t> buffers;
  const ir::Node* list[] = {fold.value};
  for (const ir::Node* n : ir::topological_order(list)) {
    if (n->op() != ir::Op::LOAD || !n->axes().has(loop)) continue;
    int64_t readers = 1;
    for (int a : p.domain)
      if (const Axis& x = p.axes[static_cast<size_t>(a)];
          x.kind == AxisKind::local && !n->axes().has(a))
        readers *= x.extent;
    if (readers >= kTileReaders) buffers.insert(n->arg().value);
  }
  return buffers;
}

/// The items of a group copy operands of the longest fold, a block at a time; false where nothing
/// is worth it, or the blocks do not fit in local memory with those of a second group. `act`
/// applies to the kernel whose piece this is.
bool PieceTuner::copy_operands(const Piece& piece, int64_t items, const Act& act) const {
  const Stage* fold = longest_fold(piece);
  const TileLoop loop = fold ? tile_loop(piece, *fold) : TileLoop{};
  if (loop.axis < 0) return false;
  const std::set<int64_t> buffers = shared_operands(piece, *fold, loop.axis);
  const int c = piece.axes[static_cast<size_t>(loop.axis)].axis_class;
  if (loop.turns > 1) act({ActionKind::split, c, loop.turns, {}});
  for (int64_t b : buffers) {
    const int copied = next_class(piece);
    act({ActionKind::keep, c, b, {}});
    const int64_t turns = (piece.axes.back().extent + items - 1) / items;
    act({ActionKind::local, copied, items, {}});
    if (turns > 1 && turns <= kMaxCopyTurns) act({ActionKind::unroll, copied, turns, {}});
  }
  uint64_t local_B = 0;
  for (const Stage& s : piece.stages)
    if (s.placement == Placement::local)
      local_B += static_cast<uint64_t>(s.elements) * size_B(s.accumulator);
  return !buffers.empty() && local_B <= t_.local_B / 2;
}

/// The items of a group take neighbouring tiles of two domain classes and read the operands, which
/// they share, from local memory.
bool PieceTuner::share_tile() {
  const std::vector<int> classes = tile_classes();
  if (classes.empty() || has_arrays() || k_.pieces.size() > 1) return false;
  std::vector<Action> tiles;
  int64_t items = 1;
  double groups = 1;
  for (int c : common_) groups *= blocks_of(c);
  for (size_t i = classes.size(); i-- > 0;) {
    const auto blocks = static_cast<uint64_t>(blocks_of(classes[i]));
    const int64_t most = i ? kTileSide : kTileItems / items;
    const int64_t share = std::min(most, static_cast<int64_t>(std::bit_floor(blocks)));
    tiles.push_back({ActionKind::local, classes[i], share, {}});
    items *= share;
  }
  if (items < kWaveItems || groups / static_cast<double>(items) < t_.parallelism / 2.0)
    return false;
  for (int k : common_)
    if (!is_sequential(k)) tiles.push_back({ActionKind::thread, k, 0, {}});
  return extend([&](const Piece& piece, const Act& act) {
    for (const Action& action : tiles) act(action);
    return copy_operands(piece, items, act);
  });
}

/// A GPU wants as many work-items as there are: every loop that all stages share. Where these are
/// few and reductions are long, a group shares one position.
void PieceTuner::make_work_items() {
  if (share_tile()) return;
  share_reduction();
  for (int c : common_)
    if (!is_sequential(c)) actions_.push_back({ActionKind::thread, c, 0, {}});
}

}  // namespace

void optimize(Kernel& kernel, const Target& target, bool noopt) {
  if (noopt && target.is_cpu) return;
  const bool threaded = estimate(kernel).cost >= kThreadedCost;
  for (size_t i = 0; i < kernel.pieces.size(); ++i) {
    PieceTuner tuner(kernel, i, target, threaded);
    noopt ? tuner.run_plain() : tuner.run();
  }
}

}  // namespace tiny
