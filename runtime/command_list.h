// SPDX-License-Identifier: MIT
// Recorded work: verbs with symbolic arguments and the set of buffers they touch. Nothing is
// visible to the device before submit.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/memory.h>
#include <rt_tiny/runtime/program.h>
#include <rt_tiny/runtime/timeline.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tiny {

class Device;
struct ListState;  // private: runtime/list_state.h

/// What a submit binds: the values of buffer and variable symbols, and extra fences to wait for.
/// Views: they need to live only during the call.
struct TINY_API SubmitArgs {
  std::span<const Buffer> buffers{};
  std::span<const int64_t> variables{};
  std::span<const Fence> waits{};
};

/// Memory a list touches: a fixed slice or a symbol.
struct TINY_API Touched {
  Buffer buffer;      ///< empty for a symbol
  uint32_t slot = 0;  ///< symbol
  bool read = false, written = false;
};

/// Commands take effect in recorded order as far as anyone can tell: where a command touches memory
/// that an earlier one writes (or writes what it reads) a barrier is put between them, and only
/// independent neighbours overlap. Symbols are taken to alias everything. A handle: copies name the
/// same list. Recording is for one thread at a time; submitting is safe from several.
class TINY_API CommandList {
 public:
  /// Empty handle; use Device::make_list.
  CommandList();
  explicit CommandList(std::shared_ptr<ListState> state);

  /// The commands after it start when the fence has passed.
  void wait(const Fence&);
  /// Advances the fence's timeline (Device::make_timeline) once all commands before it finished.
  void signal(const Fence&);
  /// Everything before is finished and visible to everything after.
  void barrier();
  /// Writes the device's clock, 64-bit nanoseconds, to 8-aligned memory, once all commands before
  /// it finished.
  void timestamp(const Buffer& dst);
  void dispatch(const std::shared_ptr<Program>&, const LaunchShape&, const Arguments&);
  /// Launch shape from the program's Binary; its expressions see the variable arguments in order.
  void dispatch(const std::shared_ptr<Program>&, const Arguments&);
  /// Same size; same device.
  void copy(const Buffer& dst, const Buffer& src);
  void copy(const Symbol& dst, const Buffer& src);
  void copy(const Buffer& dst, const Symbol& src);

  size_t size() const;  ///< recorded commands, own barriers included
  bool empty() const { return size() == 0; }
  /// The buffers touched, one entry an allocation or symbol slot.
  std::vector<Touched> touched() const;
  const std::shared_ptr<ListState>& state() const { return state_; }

 private:
  std::shared_ptr<ListState> state_;
};

}  // namespace tiny
