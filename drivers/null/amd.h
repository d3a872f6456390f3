// SPDX-License-Identifier: MIT
// NULL for AMD chips: code is loaded and lists are encoded as the AMD driver does, patched, checked
// and dropped.
#pragma once

#include "drivers/amd/encoder.h"
#include "drivers/amd/generation.h"
#include "drivers/null/backend.h"

#include <memory>
#include <vector>

namespace tiny::null {

class NullAmdBackend : public NullBackend {
 public:
  explicit NullAmdBackend(const amd::Generation&);

  std::shared_ptr<ProgramCode> load(const Binary&) override;
  std::unique_ptr<EncodedList> encode(const ListPlan&) override;
  void submit(EncodedList&, const Submission&) override;
  bool has_timestamps() const override { return false; }

 private:
  const amd::Generation& generation_;
  amd::EncodeContext context_;
  std::vector<uint64_t> tickets_;  ///< of the submission at hand
};

}  // namespace tiny::null
