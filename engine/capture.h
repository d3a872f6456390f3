// SPDX-License-Identifier: MIT
// A traced graph that can be run again with other inputs: what `jit` replays.
#pragma once

#include "compiler/ir/node.h"
#include "engine/executable.h"

#include <memory>
#include <span>
#include <vector>

namespace tiny::engine {

class Capture {
 public:
  /// `inputs`: BUFFER leaves that each run replaces. `roots`: what a run computes. The first
  /// `state_count` roots are ASSIGNs whose targets are BUFFERs: state that a run reads and
  /// advances.
  Capture(std::span<const ir::Ref> inputs, std::span<const ir::Ref> roots, size_t state_count);

  /// Computes the roots. `state[i]` is the current version of root i's variable; it is replaced by
  /// the next one. Old versions that somebody still holds keep their value (they are copied before
  /// an in-place write). Returns the other roots' BUFFERs. Inputs may be state, or each other.
  std::vector<ir::Ref> run(std::span<const ir::Ref> inputs, std::span<ir::Ref* const> state);

  size_t kernel_count() const { return executable_->plan.steps.size(); }

 private:
  /// Where the buffer of a graph leaf comes from in a run.
  struct Leaf {
    enum class Kind : uint8_t { input, state, captured } kind;
    size_t position;   ///< input or state number
    ir::Ref captured;  ///< version at trace time: keeps the variable
  };
  Buffer leaf_buffer(const Leaf&, std::span<const ir::Ref> inputs,
                     std::span<ir::Ref* const> state) const;
  void preserve_shared(std::span<ir::Ref* const> state) const;
  void separate(std::vector<Buffer>& leaves) const;
  std::vector<ir::Ref> publish(const Binding&, std::span<ir::Ref* const> state) const;

  std::shared_ptr<const Executable> executable_;
  Graph graph_;
  std::vector<Leaf> leaves_;
  std::vector<std::pair<DType, ir::Shape>> roots_;
  size_t state_count_;
};

}  // namespace tiny::engine
