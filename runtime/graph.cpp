// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/graph.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/device.h>

#include "runtime/list_state.h"

namespace tiny {

Graph::Graph(const std::shared_ptr<Device>& device, std::span<const CommandList> lists)
    : device_(device), list_(device->make_list()) {
  ListState& whole = *list_.state();
  whole.indirect = true;
  for (const CommandList& list : lists) {
    if (!list.state() || list.state()->device != device)
      throw UsageError("[graph] a list of another device");
    const ListState& part = *list.state();
    if (&part != &*lists.front().state()) whole.append(BarrierCommand{});
    for (const Command& command : part.commands) whole.append(command);
    whole.user_commands += part.user_commands;
    whole.buffer_slots = std::max(whole.buffer_slots, part.buffer_slots);
    whole.variable_slots = std::max(whole.variable_slots, part.variable_slots);
    if (whole.slot_min_B.size() < part.slot_min_B.size())
      whole.slot_min_B.resize(part.slot_min_B.size());
    for (size_t i = 0; i < part.slot_min_B.size(); ++i)
      whole.slot_min_B[i] = std::max(whole.slot_min_B[i], part.slot_min_B[i]);
  }
}

Fence Graph::replay(const SubmitArgs& args) {
  if (!device_) throw UsageError("[replay] the graph is empty");
  return device_->submit(list_, args);
}

}  // namespace tiny
