// SPDX-License-Identifier: MIT
// Kernels-to-be and the order between them: grouping of stores that belong in one kernel, hazards
// of in-place writes.
#pragma once

#include "compiler/schedule/fusion.h"

#include <set>

namespace tiny {

/// One kernel-to-be.
struct Job {
  std::vector<Draft> drafts;
  std::vector<const ir::Node*> roots;  ///< stored nodes it finishes (SCATTER: only in its last job)
  std::set<int> after;                 ///< jobs that must come first
  bool gone = false;                   ///< merged into another
};

struct JobGraph {
  std::vector<Job> jobs;
  std::set<const ir::Node*> in_place;  ///< ASSIGN nodes stored in their target's memory
  std::vector<int> order() const;      ///< live jobs, dependencies first, else by number
};

/// The jobs of a graph. `in_place` ASSIGN roots may overwrite their targets; those that cannot
/// without a hazard (the old value is read elsewhere by what needs the new one, or by the writing
/// kernel at another position) get memory of their own and are missing from the result's
/// `in_place`.
JobGraph make_jobs(ir::Arena&, std::span<const ir::Node* const> roots,
                   std::set<const ir::Node*> in_place, const Target&, FusionOptions);

}  // namespace tiny
