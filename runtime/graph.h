// SPDX-License-Identifier: MIT
// Captured lists, replayed by patching what a run changes.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/command_list.h>

#include <memory>
#include <span>
#include <vector>

namespace tiny {

/// Lists encoded once, as one. Command and argument memory exists twice, so that replay n+1 is
/// patched and queued while n runs; replay n+2 waits for n. Move-only; keeps buffers and device
/// alive.
class TINY_API Graph {
 public:
  Graph() = default;
  Graph(const std::shared_ptr<Device>&, std::span<const CommandList> lists);
  Graph(const std::shared_ptr<Device>& device, const CommandList& list)
      : Graph(device, std::span<const CommandList>(&list, 1)) {}
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;

  Fence replay(const SubmitArgs& = {});
  explicit operator bool() const { return device_ != nullptr; }
  size_t size() const { return list_.size(); }

 private:
  std::shared_ptr<Device> device_;
  CommandList list_;
};

}  // namespace tiny
