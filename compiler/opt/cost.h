// SPDX-License-Identifier: MIT
// A closed-form estimate of the time of one piece under a choice of vector class and unroll
// factors, in cycles of one core: loads, arithmetic, chains and registers of the innermost body.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/schedule/kernel.h"

namespace tiny {

struct TileChoice {
  std::vector<int> vectors;  ///< classes that are lanes; one loop nest has one of them at most
  int64_t lanes = 1;
  std::vector<std::pair<int, int64_t>> unroll;  ///< class and factor
  int64_t factor(int axis_class) const;
  bool is_vector(int axis_class) const;
  /// Positions that one body takes of an axis of the class: copies, times lanes.
  int64_t step(int axis_class) const;
};

class PieceCost {
 public:
  /// The piece has loop axes only.
  PieceCost(const Kernel&, const Piece&, const Target&);

  double cycles(const TileChoice&) const;
  /// From here on reads of the buffer count as reads of a packed copy.
  void pack(int64_t buffer);
  /// Copies of the body times its instructions, where that is largest.
  double body_size(const TileChoice&) const;
  /// No loop nest would have lanes of two axes.
  bool one_vector_a_nest(const TileChoice&) const;
  /// Local memory that the arrays of the piece's stages take.
  double local_B(const TileChoice&) const;
  /// Lanes of one register for the widest type that is computed with; 1: no vectors.
  int64_t lanes() const { return lanes_; }

  /// What is computed in one loop nest: a stage, the filling of an array, or the stores.
  struct Access {
    ir::AxisSet axes, contiguous, strided, masked;  ///< along which axes it steps how
    ir::AxisSet far;  ///< strided beyond a cache line; known where stages are in local memory
    std::vector<std::pair<int, double>> steps_B;  ///< how far a step of an axis goes
    bool near = false;                            ///< everything it reads fits in the first cache
    bool packed = false;  ///< read from a copy in which lanes lie side by side
    int64_t buffer = -1;  ///< of a LOAD
    bool store = false;
    double weight = 1;  ///< in 4-byte lanes' worth
  };
  struct Region {
    ir::AxisSet axes, reduced;
    std::vector<int> reduce_axes;
    std::vector<Access> accesses;
    double arithmetic = 0;  ///< additions' worth for one position
    double volume = 0;
    bool stage = false;  ///< a fold
  };
  const std::vector<Region>& regions() const { return regions_; }
  /// The region that most positions are in.
  const Region& hot() const;
  double region_cycles(const Region&, const TileChoice&) const;
  double line_cycles(const Region&, const TileChoice&) const;
  double streamed_B(const Region&, const TileChoice&) const;
  int64_t extent(int axis) const { return p_.axes[static_cast<size_t>(axis)].extent; }
  int class_of(int axis) const { return p_.axes[static_cast<size_t>(axis)].axis_class; }

 private:
  void add_region(Region, const std::vector<const ir::Node*>& values);
  Access access(const ir::Node* index, const ir::Node* valid, const ir::AxisSet& axes) const;
  Access read(const ir::Node* n, const ir::AxisSet& axes) const;

  const Kernel& k_;
  const Piece& p_;
  const Target& t_;
  int64_t lanes_ = 1;
  bool arrays_ = false;  ///< some stage is in local memory
  std::vector<Region> regions_;
};

}  // namespace tiny
