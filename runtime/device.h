// SPDX-License-Identifier: MIT
// One accelerator: its target, memory, programs and queues. Knows no vendor.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/target.h>
#include <rt_tiny/runtime/command_list.h>
#include <rt_tiny/runtime/memory.h>
#include <rt_tiny/runtime/program.h>
#include <rt_tiny/runtime/registry.h>
#include <rt_tiny/runtime/timeline.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

class Backend;  // private: runtime/backend.h

/// Made by `open_device`. Safe to use from several threads, in the process that opened it. Buffers,
/// programs and lists keep it alive.
class TINY_API Device : public std::enable_shared_from_this<Device> {
 public:
  Device(std::string name, std::unique_ptr<Backend> backend);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const;  ///< canonical: "CPU:0"
  std::string description() const;  ///< "AMD EPYC …, 16 threads"
  const Target& target() const;

  /// Zero bytes are allowed. Contents are undefined. Throws SystemError when memory is exhausted.
  Buffer alloc(size_t size_B, const AllocOptions& = {});
  /// Foreign memory; it must outlive all buffers and submitted work on it. UsageError where the
  /// device cannot reach host memory.
  Buffer from_host_pointer(void* pointer, size_t size_B);

  std::shared_ptr<Program> load(const Binary&);
  /// Raw code whose arguments are laid out as in a C struct, in the order given to `args`.
  std::shared_ptr<Program> load(std::span<const uint8_t> code, std::string_view name);
  std::shared_ptr<Program> load(std::string_view code, std::string_view name);

  CommandList make_list();
  /// A timeline that lists of any device may wait for and signal, and the host too.
  std::shared_ptr<Timeline> make_timeline(std::string name = "user");
  /// The list may be submitted any number of times. The fence passes when all of it finished.
  Fence submit(const CommandList&, const SubmitArgs& = {});
  /// Waits for everything submitted; throws DeviceFault if any of it failed.
  void synchronize();

  MemoryStats memory_stats() const;
  /// Gives unused memory back to the system.
  void flush_cache();

  struct Impl;  // private: runtime/device_impl.h
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiny
